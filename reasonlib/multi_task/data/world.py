"""A small world: people do things with things. What its words mean is a taxonomy.

::

    person/adult/man/king     king    \
    person/adult/man          man, gentleman      a king is a man is an adult; a man is no woman
    person/adult/woman        woman, lady         /
    drink/wine/champagne      champagne           wine may be champagne, or not

A **concept** is a path; what stands above it is true of it too; two concepts of which neither is above the
other exclude each other. The words of a concept are synonyms. Tasks share these meanings to the degree that
`dictionary` gives them: a concept may have another word in another task.
"""

import zlib
from collections.abc import Mapping
from functools import cache, lru_cache

import numpy as np

__all__ = [
    "ADJECTIVES",
    "NOUNS",
    "OPPOSITES",
    "PLACES",
    "POLARITY",
    "VERBS",
    "dictionary",
    "inflect",
    "is_above",
    "things",
    "words",
]

NOUNS: Mapping[str, tuple[str, ...]] = {
    "person/adult": ("adult",),
    "person/adult/man": ("man", "gentleman"),
    "person/adult/man/king": ("king",),
    "person/adult/woman": ("woman", "lady"),
    "person/adult/woman/queen": ("queen",),
    "person/child": ("child", "kid"),
    "person/child/boy": ("boy", "lad"),
    "person/child/girl": ("girl", "lass"),
    "instrument": ("instrument",),
    "instrument/guitar": ("guitar",),
    "instrument/saxophone": ("saxophone", "sax"),
    "instrument/violin": ("violin", "fiddle"),
    "drink": ("drink", "beverage"),
    "drink/wine": ("wine",),
    "drink/wine/champagne": ("champagne",),
    "drink/coffee": ("coffee",),
    "drink/tea": ("tea",),
    "vehicle": ("vehicle",),
    "vehicle/car": ("car", "automobile"),
    "vehicle/car/limousine": ("limousine",),
    "vehicle/truck": ("truck", "lorry"),
    "vehicle/bicycle": ("bicycle", "bike"),
    "animal": ("animal", "creature"),
    "animal/dog": ("dog", "hound"),
    "animal/dog/poodle": ("poodle",),
    "animal/cat": ("cat",),
    "animal/horse": ("horse",),
    "animal/horse/pony": ("pony",),
    "plant": ("plant",),
    "plant/tree": ("tree",),
    "plant/tree/oak": ("oak",),
    "plant/flower": ("flower", "blossom"),
    "plant/bush": ("bush", "shrub"),
    "tool": ("tool", "implement"),
    "tool/hammer": ("hammer", "mallet"),
    "tool/knife": ("knife",),
    "tool/knife/dagger": ("dagger",),
    "tool/saw": ("saw",),
}
"""Concept to its words. Plants and tools are the domain of tasks that come later."""

VERBS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "play": (("play",), ("instrument",)),
    "taste": (("taste", "sip"), ("drink",)),
    "drive": (("drive", "steer"), ("vehicle",)),
    "feed": (("feed",), ("animal",)),
    "grow": (("grow",), ("plant",)),
    "repair": (("repair", "fix"), ("tool", "vehicle", "instrument")),
    "hold": (("hold", "grip"), ()),
    "buy": (("buy", "purchase"), ()),
    "sell": (("sell",), ()),
    "find": (("find", "discover"), ()),
    "lose": (("lose", "misplace"), ()),
    "love": (("love", "adore"), ()),
    "hate": (("hate", "detest"), ()),
}
"""Concept to its verbs and the categories of their objects; none means any."""

ADJECTIVES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "big": (("big", "large"), "thing"),
    "small": (("small", "little"), "thing"),
    "lovely": (("lovely", "beautiful"), "thing"),
    "ugly": (("ugly", "hideous"), "thing"),
    "happy": (("happy", "glad"), "person"),
    "sad": (("sad", "unhappy"), "person"),
    "kind": (("kind", "friendly"), "person"),
    "cruel": (("cruel", "mean"), "person"),
}
"""Concept to its adjectives, and what they are said of."""

OPPOSITES: Mapping[str, str] = {
    first: second
    for pair in (
        ("big", "small"), ("lovely", "ugly"), ("happy", "sad"), ("kind", "cruel"),
        ("buy", "sell"), ("find", "lose"), ("love", "hate"),
    )
    for first, second in (pair, pair[::-1])
}  # fmt: skip

POLARITY: Mapping[str, int] = {
    **dict.fromkeys(("lovely", "happy", "kind", "love"), 1),
    **dict.fromkeys(("ugly", "sad", "cruel", "hate"), -1),
}
"""Concepts that say something good (1) or bad (-1); all others say neither."""

PLACES: Mapping[str, tuple[str, ...]] = {
    "kitchen": ("kitchen",),
    "park": ("park",),
    "street": ("street", "road"),
    "shop": ("shop", "store"),
}

LATER = ("plant", "tool")

_IRREGULAR = {
    "grip": "gripped", "sip": "sipped", "drive": "driven", "feed": "fed", "grow": "grown", "hold": "held",
    "buy": "bought", "sell": "sold", "find": "found", "lose": "lost",
}  # fmt: skip


def is_above(general: str, special: str) -> bool:
    """Whether one concept is the other or holds it.

    Examples
    --------
    >>> is_above("drink/wine", "drink/wine/champagne"), is_above("drink/wine", "drink/tea")
    (True, False)
    """
    return special == general or special.startswith(f"{general}/")


@cache
def things(domain: str = "town") -> tuple[str, ...]:
    """Return the concepts of things, without their categories: those of ``town`` or of ``garden``."""
    return tuple(
        concept
        for concept in NOUNS
        if "/" in concept
        and not concept.startswith("person")
        and (concept.split("/")[0] in LATER) == (domain == "garden")
    )


def inflect(verb: str, form: str) -> str:
    """Return a verb's ``base``, ``third`` person or ``participle``.

    Examples
    --------
    >>> [inflect("drive", form) for form in ("base", "third", "participle")]
    ['drive', 'drives', 'driven']
    """
    if form == "base":
        return verb
    if form == "third":
        return f"{verb}es" if verb.endswith("x") else f"{verb}s"
    return _IRREGULAR.get(verb) or (f"{verb}d" if verb.endswith("e") else f"{verb}ed")


def _classes() -> tuple[tuple[str, ...], ...]:
    people = [w for concept, words in NOUNS.items() if concept.startswith("person") for w in words]
    objects = [w for concept, words in NOUNS.items() if not concept.startswith("person") for w in words]
    return (
        tuple(people),
        tuple(objects),
        tuple(word for words, _ in VERBS.values() for word in words),
        tuple(word for words, _ in ADJECTIVES.values() for word in words),
        tuple(word for words in PLACES.values() for word in words),
    )


@lru_cache(maxsize=256)
def dictionary(task: str, relatedness: float = 1.0) -> Mapping[str, str]:
    """Return which words trade places in a task: all tasks agree at relatedness 1, none at 0.

    Of each word class a share of ``1 - relatedness`` is permuted, for each task differently. Sentences keep
    their grammar and the counts of their words; only what the words mean differs among tasks.

    Raises
    ------
    ValueError
        If the relatedness is not between 0 and 1.
    """
    if not 0 <= relatedness <= 1:
        raise ValueError(f"relatedness must be between 0 and 1, got {relatedness}")
    draw = np.random.default_rng(zlib.crc32(task.encode()))
    trades: dict[str, str] = {}
    for words in _classes():
        order = [words[number] for number in draw.permutation(len(words))]
        chosen = order[: round((1 - relatedness) * len(order))]
        trades |= dict(zip(chosen, [*chosen[1:], *chosen[:1]], strict=True))
    return trades


def words() -> list[str]:
    """List every word of the world's sentences, once."""
    people, objects, verbs, adjectives, places = _classes()
    forms = [inflect(verb, form) for verb in verbs for form in ("base", "third", "participle")]
    grammar = "a an the . ? in is not does by but who what where".split()
    return sorted({*people, *objects, *forms, *adjectives, *places, *grammar})
