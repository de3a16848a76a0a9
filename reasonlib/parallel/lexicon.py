"""The words of two small languages: English words on the source side, invented ones on the target side.

A target noun belongs to one of three classes, and nothing in its form or in the source word shows which; its
article, adjective and pronoun do. A target verb ends in the class of its subject.
"""

__all__ = [
    "ADJECTIVES",
    "ARTICLES",
    "CLASSES",
    "GREETINGS",
    "INTRANSITIVE",
    "NAMES",
    "OBJECT_PRONOUNS",
    "PERSON_PRONOUNS",
    "PLACES",
    "POLITENESS",
    "SCENES",
    "THINGS",
    "TITLES",
    "TRANSITIVE",
]

CLASSES = ("o", "a", "u")
"""Endings of the three noun classes; people are of class ``o`` or ``a``."""

ARTICLES = {"o": "lo", "a": "la", "u": "lu"}
OBJECT_PRONOUNS = {"o": "ro", "a": "ra", "u": "ru"}
PERSON_PRONOUNS = {"o": "elo", "a": "ela"}

THINGS: dict[str, tuple[str, str]] = {
    "lamp": ("kandel", "o"), "box": ("skat", "o"), "letter": ("brev", "o"), "chair": ("stol", "o"),
    "bottle": ("flask", "o"), "hat": ("kapel", "o"), "coat": ("mantel", "o"), "ring": ("anel", "o"),
    "cup": ("tas", "a"), "book": ("libr", "a"), "knife": ("kutel", "a"), "map": ("kart", "a"),
    "table": ("mes", "a"), "clock": ("horlog", "a"), "shirt": ("kamis", "a"), "bag": ("bors", "a"),
    "key": ("klav", "u"), "car": ("vagon", "u"), "picture": ("bild", "u"), "radio": ("radion", "u"),
    "bed": ("lekt", "u"), "drum": ("tambur", "u"), "phone": ("fon", "u"), "boat": ("bark", "u"),
}  # fmt: skip
"""Source noun to target noun and class."""

NAMES: dict[str, tuple[str, str]] = {
    "tom": ("tom", "o"), "paul": ("pavel", "o"), "john": ("johan", "o"), "peter": ("petar", "o"),
    "leo": ("leon", "o"), "max": ("maksim", "o"), "mary": ("marja", "a"), "anna": ("ana", "a"),
    "lucy": ("lusija", "a"), "ruth": ("rut", "a"), "emma": ("ema", "a"), "clara": ("klara", "a"),
}  # fmt: skip
"""Source name to target name and class."""

ADJECTIVES = {
    "old": "vek", "new": "nov", "small": "mal", "big": "grand",
    "red": "rub", "heavy": "pes", "clean": "pur", "broken": "romp",
}  # fmt: skip

TRANSITIVE = {
    "found": "trov", "washed": "lav", "sold": "vend", "hid": "kash", "bought": "kup", "moved": "mov",
    "carried": "port", "fixed": "repar", "lost": "perd", "kept": "gard", "opened": "otvor", "drew": "pint",
}  # fmt: skip
"""Source verb in the past tense to target stem."""

INTRANSITIVE = {
    "slept": "dorm", "sang": "kant", "waited": "zhd", "laughed": "rid", "cried": "plak", "danced": "tans",
}  # fmt: skip

PLACES = {"at home": "domi", "outside": "fori", "upstairs": "supri", "nearby": "prosi"}

POLITENESS = {"plain": ("tu", "as"), "polite": ("vos", "este")}
"""Form of address to the pronoun and the ending of the verb."""

TITLES = {
    "sir": ("gospod", "polite"), "madam": ("gospa", "polite"),
    "doctor": ("doktor", "polite"), "professor": ("profesor", "polite"),
    "friend": ("amik", "plain"), "dear": ("milo", "plain"),
    "kid": ("detko", "plain"), "mate": ("drug", "plain"),
}  # fmt: skip

GREETINGS = {
    "good morning": "bon jutro",
    "good evening": "bon vecher",
    "listen": "slush",
    "excuse me": "pardon",
}

SCENES = {
    "snow fell outside": "fori nev padu", "the wind blew all night": "tut noch vent suflu",
    "it rained again": "denov pluvu", "the street was quiet": "ulic kvietu",
    "an hour passed": "ena hor pasu", "nothing else happened": "nish altru evenu",
}  # fmt: skip
"""Sentences that mention nobody and nothing that a later sentence could mean."""
