"""How two words of the small world relate, and what follows for sentences that differ in them."""

from collections.abc import Mapping

from reasonlib.multi_task.data.world import ADJECTIVES, NOUNS, OPPOSITES, VERBS, inflect, is_above

__all__ = ["TRUTHS", "changed_word", "concept_of", "relation"]

TRUTHS: Mapping[str, Mapping[str, str]] = {
    "synonym": {"inference": "entailment", "entailment": "entailment", "paraphrase": "paraphrase"},
    "general": {"inference": "entailment", "entailment": "entailment", "paraphrase": "different"},
    "special": {"inference": "neutral", "entailment": "not entailment", "paraphrase": "different"},
    "excluded": {"inference": "contradiction", "entailment": "not entailment", "paraphrase": "different"},
}
"""From how the second word relates to the first to the right answers of three heads."""


def concept_of(word: str) -> str | None:
    """Return the concept of a word, in any of its forms; None for a word that has none.

    Examples
    --------
    >>> concept_of("sips"), concept_of("champagne"), concept_of("the")
    ('taste', 'drink/wine/champagne', None)
    """
    for concept, words in NOUNS.items():
        if word in words:
            return concept
    for concept, (words, _) in ADJECTIVES.items():
        if word in words:
            return concept
    for concept, (words, _) in VERBS.items():
        if any(word == inflect(verb, form) for verb in words for form in ("base", "third", "participle")):
            return concept
    return None


def relation(first: str, second: str) -> str | None:
    """Return how the second word relates to the first: a key of `TRUTHS`, or None.

    Examples
    --------
    >>> relation("champagne", "wine"), relation("wine", "tea"), relation("sad", "unhappy")
    ('general', 'excluded', 'synonym')
    """
    first_concept, second_concept = concept_of(first), concept_of(second)
    if first_concept is None or second_concept is None or first == second:
        return None
    if first_concept == second_concept:
        return "synonym"
    if OPPOSITES.get(first_concept) == second_concept:
        return "excluded"
    if (
        first_concept not in NOUNS
        or second_concept not in NOUNS
        or first_concept.split("/")[0] != second_concept.split("/")[0]
    ):
        return None
    if is_above(second_concept, first_concept):
        return "general"
    return "special" if is_above(first_concept, second_concept) else "excluded"


def changed_word(first: str, second: str) -> tuple[str, str] | None:
    """Return the only word in which two sentences differ, in both; None if there is not exactly one.

    ``a`` and ``an`` count as the same word.
    """
    first_words, second_words = (
        ["a" if word == "an" else word for word in text.lower().split()] for text in (first, second)
    )
    if len(first_words) != len(second_words):
        return None
    changes = [(a, b) for a, b in zip(first_words, second_words, strict=True) if a != b]
    return changes[0] if len(changes) == 1 else None
