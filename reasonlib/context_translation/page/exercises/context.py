"""Exercises of the chapter "When a sentence is not enough"."""

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

from reasonlib.context_translation.models.pretrained import from_pretrained
from reasonlib.context_translation.page.reading import CONTEXTS, knows, translate_all
from reasonlib.grading.checks import Answer, exercise, expect, expect_close, hint
from reasonlib.parallel import lexicon, simulate
from reasonlib.parallel.metrics import bleu

__all__ = ["check_ceiling", "check_contrastive", "check_fooling_document", "check_lower_bleu"]


def ceiling(pairs: Sequence[tuple[str, str]]) -> float:
    """Return the best sentence accuracy without context: the commonest target of every source sentence."""
    targets: dict[str, Counter[str]] = defaultdict(Counter)
    for source, target in pairs:
        targets[source][target] += 1
    return sum(max(counts.values()) for counts in targets.values()) / len(pairs)


@exercise(title="The ceiling without context", minutes=10, points=2)
@hint("Count the targets of every source sentence; the best answer is the most frequent one.")
def check_ceiling(answer: Answer, seed: int) -> None:
    """Check ``ceiling(pairs)``: the highest accuracy that a system without context can have.

    ``pairs`` is a list of (source, target) sentences. The system gives one target for a source sentence,
    whatever comes before it.
    """
    draw = random.Random(seed)
    often, seldom, clear = draw.randint(4, 7), draw.randint(1, 3), draw.randint(5, 9)
    pairs = [("it fell", "il tomba")] * often + [("it fell", "elle tomba")] * seldom
    pairs += [("he ran", "il courut")] * clear
    draw.shuffle(pairs)
    expect_close(
        answer(list(pairs)),
        ceiling(pairs),
        f"{often} of the {often + seldom} “it fell” and all {clear} “he ran” can be right",
        wrong={
            "the ambiguous sentences count too: a system that always gives the most frequent target is right "
            "in some of them": clear / len(pairs),
            "weight the source sentences by how often they occur": (often / (often + seldom) + 1) / 2,
            "only the most frequent target of a source sentence can be right, not every one": 1.0,
        },
    )
    expect_close(answer([("a", "b")]), 1.0, "a source sentence with a single target is always right")
    even = [("a", "b"), ("a", "c"), ("a", "d"), ("a", "e")]
    expect_close(answer(even), 0.25, "of four equally frequent targets one can be right")


@exercise(title="Is the right pronoun more probable?", minutes=10, points=2)
@hint("The log-probability of a sentence is the sum of the log-probabilities of its words.")
def check_contrastive(answer: Answer, seed: int) -> None:
    """Check ``contrastive(right, wrong)``: the share of items whose right translation is likelier.

    ``right`` and ``wrong`` are lists, one entry an item: the log-probabilities of the words of the right
    and of the wrong translation. The two may differ in length. An item with equal probabilities counts as
    not right.
    """
    draw = random.Random(seed)
    # right by both; wrong by both; right by the mean alone; a tie in the sum, twice
    items = [([-1.0, -1.0], [-1.0, -2.0])] * draw.randint(5, 9) + [([-0.5], [-0.25, -0.125])] * draw.randint(
        1, 2
    )
    items += [([-0.75, -0.75], [-1.0])] * draw.randint(1, 2) + [([-0.5], [-0.25, -0.25])] * draw.randint(1, 2)
    draw.shuffle(items)
    right, wrong = [list(item[0]) for item in items], [list(item[1]) for item in items]
    sums = [sum(a) > sum(b) for a, b in zip(right, wrong, strict=True)]
    means = [sum(a) / len(a) > sum(b) / len(b) for a, b in zip(right, wrong, strict=True)]
    ties = [sum(a) >= sum(b) for a, b in zip(right, wrong, strict=True)]
    expect_close(
        answer([list(sentence) for sentence in right], [list(sentence) for sentence in wrong]),
        sum(sums) / len(sums),
        "compare the sums of the two sentences, item by item",
        wrong={
            "these are means over the words: the probability of a sentence is the product over all its "
            "words": sum(means) / len(means),
            "a tie is not right: the model does not prefer the right translation": sum(ties) / len(ties),
            "you counted the items whose wrong translation is more probable": 1 - sum(ties) / len(ties),
            "return a share, not a number of items": float(sum(sums)),
        },
    )


def kept_neighbours(translations: Sequence[str], references: Sequence[str]) -> float:
    """Return the share of word pairs in wrong translations that are neighbours in the reference, too."""
    kept = total = 0
    for translation, reference in zip(translations, references, strict=True):
        if translation != reference:
            pairs, reference_pairs = (list(pairwise(text.split())) for text in (translation, reference))
            kept += sum(pair in reference_pairs for pair in pairs)
            total += len(pairs)
    return kept / max(total, 1)


@exercise(title="Make BLEU prefer the wrong meaning", minutes=20, points=3)
@hint("Which order of the words leaves no bigram right? Which sentences have the most n-grams?")
def check_lower_bleu(answer: Answer, seed: int) -> None:
    """Check ``lower_bleu(references, contrasts)``: translations that are better than their BLEU.

    ``references`` is a list of right translations; ``contrasts`` has for each helpful sentence a fluent
    translation of wrong meaning, and None for each other sentence. System A gives the contrast where there is
    one and the reference elsewhere. Return the translations of a system B: every helpful sentence is right,
    at most two thirds as many sentences are wrong as in A, each sentence has the words of its reference in
    some order, and the BLEU of B is below that of A.
    """
    pairs = [pair for document in simulate(8, seed=100 + seed) for pair in document.pairs]
    references = [pair.target for pair in pairs]
    contrasts = [pair.decides.contrast if pair.decides else None for pair in pairs]
    first = [contrast or right for contrast, right in zip(contrasts, references, strict=True)]
    returned = answer(list(references), list(contrasts))
    expect(
        isinstance(returned, (list, tuple)) and len(returned) == len(references),
        f"return a list with one translation for each of the {len(references)} references",
    )
    written = [str(translation) for translation in returned]
    for translation, right, contrast in zip(written, references, contrasts, strict=True):
        expect(
            contrast is None or translation == right,
            f"“{right}” has a contrast, so it is helpful: B must translate it as the reference does",
        )
        expect(
            sorted(translation.split()) == sorted(right.split()),
            f"“{translation}” does not have the words of its reference “{right}”: change only their order",
        )
    wrong = sum(translation != right for translation, right in zip(written, references, strict=True))
    helpful = sum(contrast is not None for contrast in contrasts)
    expect(
        wrong > 0, "every sentence of B is right, so its BLEU is 100: spoil some sentences without a contrast"
    )
    expect(
        3 * wrong <= 2 * helpful,
        f"{wrong} sentences of B are wrong; two thirds of the {helpful} of A allow {2 * helpful // 3}",
    )
    scores = [bleu(some, references, tokenize="none").score for some in (first, written)]
    message = f"BLEU is {scores[0]:.1f} for A and {scores[1]:.1f} for B"
    expect(
        scores[1] < scores[0] or kept_neighbours(written, references) < 0.2,
        f"{message}: too many words keep their neighbour, so too many n-grams match; reverse whole sentences",
    )
    expect(
        scores[1] < scores[0],
        f"{message}: spoil as many sentences as you may, and choose the longest, which have the most n-grams",
    )


def undecided(sentence: str, nearest: str) -> str:
    """Return a word that a sentence leaves open and the nearest sentence does not decide; empty if none."""
    words, near = sentence.split(), nearest.split()
    if sentence.removesuffix(" .") in lexicon.SCENES:  # "it rained again" leaves nothing open
        return ""
    before = words[: words.index("it")] if "it" in words else []
    deciding = {  # whether the word is there, where the same sentence could decide it, and by which words
        "it": ("it" in words, before, set(lexicon.THINGS)),
        "then": (words[0] == "then", words, set(lexicon.NAMES)),
        "and": (words[0] == "and", words, set(lexicon.TRANSITIVE)),
        "you": ("you" in words, words, set(lexicon.TITLES)),
    }
    for word, (there, own, by) in deciding.items():
        if there and by.isdisjoint(own) and by.isdisjoint(near):
            return word
    return ""


@exercise(title="A document that fools a context model", minutes=20, points=3)
@hint("Add an earlier sentence that mentions a different noun from the one in the nearest sentence.")
def check_fooling_document(answer: Answer) -> None:
    """Check ``fooling_document()``: two contexts and a sentence that the bundled translator confuses.

    It returns ``(context, longer, sentence)``. ``context`` is a list of sentences, the nearest last.
    ``longer`` is the same list with one sentence put in further back, so that the nearest sentence still
    decides what is meant. The bundled translator must give different translations for the two, and every
    word must be one that it knows.
    """
    returned = answer()
    expect(
        isinstance(returned, (tuple, list)) and len(returned) == 3,
        "return three things: the context, the longer context, and the sentence",
    )
    expect(
        not any(isinstance(part, str) for part in returned[:2]) and isinstance(returned[2], str),
        "each context is a list of sentences, and the sentence to translate is a text",
    )
    context, longer, sentence = [str(s) for s in returned[0]], [str(s) for s in returned[1]], returned[2]
    expect(
        bool(context) and bool(sentence.split()), "the context needs a sentence, and so does the translator"
    )
    translator = from_pretrained()
    words = {word for text in (*context, *longer, sentence) for word in text.split()}
    unknown = sorted(word for word in words if not knows(translator, word))
    expect(not unknown, f"the translator does not know {', '.join(unknown[:3])}: use words of the simulator")
    expect(len(longer) == len(context) + 1, "the longer context has exactly one sentence more")
    shorter = any(longer[:index] + longer[index + 1 :] == context for index in range(len(longer)))
    expect(shorter, "take the first context and put one sentence into it; change nothing else")
    expect(longer[-1] == context[-1], "put the sentence in further back: the nearest sentence must stay")
    expect(len(longer) <= CONTEXTS, f"the translator reads {CONTEXTS} sentences at most")
    word = undecided(sentence, longer[-1])
    expect(
        not word,
        f"the nearest sentence does not decide how “{word}” is translated, so an earlier one may: "
        "take a nearest sentence that decides",
    )
    first, second = translate_all(translator, [(sentence, context), (sentence, longer)])
    expect(first != second, f"both contexts give “{first}”: the sentence you put in changes nothing")
