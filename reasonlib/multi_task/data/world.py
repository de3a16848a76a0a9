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
    "person": ("person",),
    "person/adult": ("adult",),
    "person/adult/man": ("man", "gentleman"),
    "person/adult/man/king": ("king",),
    "person/adult/man/waiter": ("waiter",),
    "person/adult/woman": ("woman", "lady"),
    "person/adult/woman/queen": ("queen",),
    "person/adult/woman/nun": ("nun",),
    "person/child": ("child", "kid"),
    "person/child/boy": ("boy", "lad"),
    "person/child/boy/prince": ("prince",),
    "person/child/girl": ("girl", "lass"),
    "person/child/girl/princess": ("princess",),
    "instrument": ("instrument",),
    "instrument/guitar": ("guitar",),
    "instrument/guitar/ukulele": ("ukulele",),
    "instrument/saxophone": ("saxophone", "sax"),
    "instrument/violin": ("violin", "fiddle"),
    "instrument/drum": ("drum",),
    "drink": ("drink", "beverage"),
    "drink/wine": ("wine",),
    "drink/wine/champagne": ("champagne",),
    "drink/coffee": ("coffee",),
    "drink/coffee/espresso": ("espresso",),
    "drink/tea": ("tea",),
    "drink/juice": ("juice",),
    "vehicle": ("vehicle",),
    "vehicle/car": ("car", "automobile"),
    "vehicle/car/limousine": ("limousine",),
    "vehicle/truck": ("truck", "lorry"),
    "vehicle/bicycle": ("bicycle", "bike"),
    "vehicle/boat": ("boat", "ship"),
    "animal": ("animal", "creature"),
    "animal/dog": ("dog", "hound"),
    "animal/dog/poodle": ("poodle",),
    "animal/cat": ("cat",),
    "animal/horse": ("horse",),
    "animal/horse/pony": ("pony",),
    "animal/rabbit": ("rabbit", "bunny"),
    "text": ("text",),
    "text/book": ("book",),
    "text/book/novel": ("novel",),
    "text/letter": ("letter",),
    "text/newspaper": ("newspaper", "gazette"),
    "text/poem": ("poem",),
    "text/poem/sonnet": ("sonnet",),
    "plant": ("plant",),
    "plant/tree": ("tree",),
    "plant/tree/oak": ("oak",),
    "plant/flower": ("flower", "blossom"),
    "plant/flower/rose": ("rose",),
    "plant/bush": ("bush", "shrub"),
    "plant/vine": ("vine",),
    "tool": ("tool", "implement"),
    "tool/hammer": ("hammer", "mallet"),
    "tool/knife": ("knife",),
    "tool/knife/dagger": ("dagger",),
    "tool/saw": ("saw",),
    "tool/drill": ("drill",),
}
"""Concept to its words. Plants and tools are the domain of tasks that come later."""

VERBS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "play": (("play", "perform"), ("instrument",)),
    "drink": (("sip", "taste"), ("drink",)),
    "drive": (("drive", "steer"), ("vehicle",)),
    "pet": (("pet", "stroke"), ("animal",)),
    "feed": (("feed",), ("animal",)),
    "read": (("read", "study"), ("text",)),
    "grow": (("grow", "cultivate"), ("plant",)),
    "repair": (("repair", "fix"), ("tool", "vehicle")),
    "hold": (("hold", "grip"), ("instrument", "drink", "text", "tool", "animal", "plant")),
    "buy": (("buy", "purchase"), ()),
    "sell": (("sell",), ()),
    "find": (("find", "discover"), ()),
    "lose": (("lose", "misplace"), ()),
    "love": (("love", "adore"), ()),
    "hate": (("hate", "detest"), ()),
    "paint": (("paint",), ()),
}
"""Concept to its verbs and the categories of their objects; none means any."""

ADJECTIVES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "big": (("big", "large"), "thing"),
    "small": (("small", "little"), "thing"),
    "new": (("new", "modern"), "thing"),
    "ancient": (("ancient", "antique"), "thing"),
    "lovely": (("lovely", "beautiful"), "thing"),
    "ugly": (("ugly", "hideous"), "thing"),
    "superb": (("superb", "wonderful"), "thing"),
    "awful": (("awful", "terrible"), "thing"),
    "happy": (("happy", "glad"), "person"),
    "sad": (("sad", "unhappy"), "person"),
    "kind": (("kind", "friendly"), "person"),
    "cruel": (("cruel", "mean"), "person"),
    "clever": (("clever", "smart"), "person"),
    "foolish": (("foolish", "silly"), "person"),
    "rich": (("rich", "wealthy"), "person"),
    "poor": (("poor", "needy"), "person"),
}
"""Concept to its adjectives, and what they are said of."""

OPPOSITES: Mapping[str, str] = {
    first: second
    for pair in (
        ("big", "small"), ("new", "ancient"), ("lovely", "ugly"), ("superb", "awful"), ("happy", "sad"),
        ("kind", "cruel"), ("clever", "foolish"), ("rich", "poor"),
        ("buy", "sell"), ("find", "lose"), ("love", "hate"),
    )
    for first, second in (pair, pair[::-1])
}  # fmt: skip

POLARITY: Mapping[str, int] = {
    **dict.fromkeys(("lovely", "superb", "happy", "kind", "clever", "love"), 1),
    **dict.fromkeys(("ugly", "awful", "sad", "cruel", "foolish", "hate"), -1),
}
"""Concepts that say something good (1) or bad (-1); all others say neither."""

PLACES: Mapping[str, tuple[str, ...]] = {
    "kitchen": ("kitchen",),
    "garden": ("garden", "yard"),
    "park": ("park",),
    "street": ("street", "road"),
    "shop": ("shop", "store"),
    "school": ("school",),
    "hotel": ("hotel", "inn"),
}

LATER = ("plant", "tool")

_IRREGULAR = {
    "grip": "gripped", "pet": "petted", "sip": "sipped", "drive": "driven", "read": "read", "feed": "fed",
    "grow": "grown", "hold": "held", "buy": "bought", "sell": "sold", "find": "found", "lose": "lost",
    "study": "studied",
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
    >>> [inflect("study", form) for form in ("base", "third", "participle")]
    ['study', 'studies', 'studied']
    """
    if form == "base":
        return verb
    if form == "third":
        if verb.endswith("dy"):
            return f"{verb[:-1]}ies"
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
