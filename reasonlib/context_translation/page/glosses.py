"""What the words of the invented target language mean, for a reader who has never seen it."""

from reasonlib.parallel import lexicon

__all__ = ["glosses"]

CLASS = {"o": "o-class", "a": "a-class", "u": "u-class"}


def glosses() -> dict[str, str]:
    """Map every target word to its meaning in a few words.

    Examples
    --------
    >>> meanings = glosses()
    >>> meanings["ro"], meanings["veko"], meanings["lavia"]
    ('it (o-class)', 'old', 'washed')
    """
    meanings = {
        "esto": "was", "esta": "was", "estu": "was", "pos": "then", "e": "and", ".": "", ",": "", "?": "",
    }  # fmt: skip
    for kind, word in lexicon.ARTICLES.items():
        meanings[word] = f"the ({CLASS[kind]})"
    for kind, word in lexicon.OBJECT_PRONOUNS.items():
        meanings[word] = f"it ({CLASS[kind]})"
    for kind, word in lexicon.PERSON_PRONOUNS.items():
        meanings[word] = {"o": "he", "a": "she"}[kind]
    for source, (word, _) in (lexicon.THINGS | lexicon.NAMES | lexicon.TITLES).items():
        meanings[word] = source
    for source, stem in lexicon.ADJECTIVES.items():
        meanings |= {stem + kind: source for kind in lexicon.CLASSES}
    forms = [ending for _, ending in lexicon.POLITENESS.values()]
    for source, stem in (lexicon.TRANSITIVE | lexicon.INTRANSITIVE).items():
        meanings |= {f"{stem}i{kind}": source for kind in lexicon.CLASSES}
        meanings |= {stem + ending: source for ending in forms}
    for form, (word, _) in lexicon.POLITENESS.items():
        meanings[word] = f"you ({form})"
    meanings |= {word: source for source, word in lexicon.PLACES.items()}
    return meanings
