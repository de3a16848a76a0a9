"""The slots of a request, read from what a person types.

The systems of this topic learned the language of simulated users: small letters, no punctuation, one wish at
a time. People type "Table 4 2 in Itallian place, not too pricey... actually 6". `hear` reads that::

    text --> words (small letters, no punctuation) --> names, numbers, prices, dishes --> Heard
                                                       one misspelt letter is forgiven in a name

A later wish takes the place of an earlier one. Nothing is learned here: it is a list of words, and rules.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from reasonlib.display.typed import nearest, readable
from reasonlib.goal_dialogue.data.world import SLOTS

__all__ = ["Heard", "hear", "plain_words"]

NUMBERS = dict(
    zip(
        "one two three four five six seven eight nine ten eleven twelve".split(),
        range(1, 13),
        strict=True,
    )
)
WORD_OF = {number: word for word, number in NUMBERS.items()}

PRICES = {
    "cheap": "cheap cheaper cheapest inexpensive affordable economical budget cheaply bargain",
    "moderate": "moderate moderately medium midrange reasonable reasonably average mid-range mid-priced",
    "expensive": "expensive fancy posh upscale upmarket luxury luxurious pricey costly high-end splurge",
}
PRICE_OF = {word: price for price, words in PRICES.items() for word in words.split()}
DEAR = "expensive|fancy|posh|pricey|costly"
PRICE_PHRASES = {
    r"\b(money|price)( is|'s|s)? (is )?no (object|concern|issue|problem)\b": "expensive",
    r"\b(fine dining|high end|top end|no expense spared)\b": "expensive",
    r"\b(mid|middle|medium)[ -](range|priced?|budget)\b": "moderate",
    r"\bmoderate budget\b": "moderate",
    r"\b(low|small|tight) (cost|budget|price)\b": "cheap",
    r"\b(budget is (tight|small|low)|short of money|break the bank)\b": "cheap",
    rf"\b(not|nothing|isn't|isnt) (too|so|very|that|overly) ({DEAR})\b": "moderate",
    rf"\b(not|nothing|isn't|isnt|no) ({DEAR})\b": "cheap",
    r"\b(don't|dont|not) (want to |wanna )?(spend|pay) (too )?much\b": "cheap",
    r"\b(don't|dont|not) care about (the )?(price|money)\b": "",
    r"\b(not|nothing) (too )?cheap\b": "moderate",
}
DISHES = {
    "italian": "pizza pasta risotto lasagna lasagne gnocchi",
    "indian": "curry tandoori biryani dosa",
    "spanish": "tapas paella gazpacho",
    "japanese": "sushi ramen sashimi tempura",
    "french": "baguette croissant ratatouille bouillabaisse",
    "vietnamese": "pho banh",
    "korean": "kimchi bibimbap",
}
DISH_OF = {dish: cuisine for cuisine, dishes in DISHES.items() for dish in dishes.split()}

OTHER_CUISINES = frozenset(
    """
    mexican greek chinese german turkish american lebanese moroccan ethiopian brazilian portuguese
    russian polish swedish persian peruvian vegan vegetarian kosher halal caribbean cuban argentinian
    mediterranean african asian european scandinavian hungarian austrian belgian dutch irish scottish
    burgers burger
    """.split()
)
"""Kinds of food that people ask for; the restaurants of this world serve none of them unless it says so."""

COMMON = frozenset(
    """
    a about above actually after again all also am an and any anything are area around as ask at away
    back be because been before being best better big book booking both bring but by call can change
    child children city close colleagues come could couple day dear dinner do does doing done dont eat
    else even evening every fancy few find fine first food for friday friend friends from get give go
    going good great group guests had has have having he hello help her here hey hi him his home hour
    hours how husband i if i'd i'll i'm in instead is it its just kind know large later let lets light
    like little looking lot love lovely lunch make many may maybe me meal might mind monday money more
    morning most much my name near need new next nice night no noon not nothing now object of off ok
    okay on only open or order other our out over own party people person persons place places plan
    please pls plz possible prefer price priced prices put quick range rather really request reservation
    reserve restaurant restaurants right room sat saturday say seat seats see she should side sir small
    so some somebody someone something somewhere soon sorry sound spot starving sunday table take thank
    thanks that the their them then there these they thin think this those thought thoughts thursday
    time to today together tomorrow tonight too total town try tuesday two under until up us very wait
    want wanted was way we wednesday week well went were what when where which who why wife will wish
    with without woman would year yes yet you your yours madam kindly gathering mood advance case
    general particular front seating style budget tight meeting birthday celebration date brunch
    breakfast supper lunchtime private quiet peace hurry afternoon centre center neighbourhood
    neighborhood centrum minutes minute half quarter four six eight than pairs pair soul hear dine
    romance cone cheat cheer chat heap fought fright sight late hungry weekend summer winter
    """.split()
)
"""Words that are never taken for a misspelt name, nor for a city."""

TIMES = re.compile(
    r"\b(at|by|around|from|until) \d{1,2}([:.]\d\d)?( ?(am|pm|o'?clock|h))?\b(?! ?(people|ppl|persons|pers))"
    r"|\b\d{1,2}([:.]\d\d) ?(am|pm)?\b|\b\d{1,2} ?(am|pm|o'?clock)\b"
)


@dataclass(frozen=True, kw_only=True)
class Heard:
    """What was understood of one line.

    Attributes
    ----------
    slots
        Slot to value; of several values for a slot, the last one said.
    lacking
        What was wished for that the knowledge base does not have, by slot, as it was typed.
    words
        The line in small letters without punctuation, as simulated users speak.
    unread
        Words in other scripts, which nothing here reads.
    """

    slots: Mapping[str, str] = field(default_factory=dict)
    lacking: Mapping[str, str] = field(default_factory=dict)
    words: str = ""
    unread: tuple[str, ...] = ()


def plain_words(text: str) -> str:
    """Write a line as simulated users do: small letters, single spaces, no punctuation around words.

    >>> plain_words("Hello, there!  A table -- please.")
    'hello there a table please'
    """
    text = readable(text).text.lower()
    words = (word.strip(".,;:!?\"'()[]{}<>*+=/\\|~`^&%$#@-\u201c\u201d\u2026") for word in text.split())
    return " ".join(word for word in words if any(map(str.isalnum, word)))


def hear(text: str, types: Mapping[str, str], *, requested_slot: str = "") -> Heard:
    """Read the wishes off a line.

    Parameters
    ----------
    text
        A line that somebody typed.
    types
        Entity to type, as `KnowledgeBase.types` gives it.
    requested_slot
        The slot that the system asked for last; a bare "4" answers it.
    """
    typed = readable(text)
    text = typed.text
    marks = r"[/+,;:()|&.!?\n]+"  # between words; a full stop inside a number stays
    spaced = re.sub(
        rf"{marks}(?=\s|$|[a-z])|(?<=[a-z]){marks}(?=\d)|(?<=\d){marks}(?=[a-z])", " ", text.lower()
    )
    words = plain_words(spaced).split()
    line = " ".join(words)
    names = {name for name, kind in types.items() if kind in SLOTS}
    slots: dict[str, str] = {}
    lacking: dict[str, str] = {}
    _hear_names(words, types, names, slots, lacking)
    _hear_price(line, words, names, slots)
    _hear_number(TIMES.sub(" ", line), names, slots, lacking, requested_slot=requested_slot)
    if "location" not in slots and (city := _other_city(text, words, names, requested_slot=requested_slot)):
        lacking["location"] = city
    if requested_slot == "cuisine" and not slots and not lacking and len(words) <= 3:
        rest = [word for word in words if word not in COMMON and word not in ("cuisine", "preference")]
        if rest:
            lacking["cuisine"] = " ".join(rest)
    return Heard(slots=slots, lacking=lacking, words=plain_words(text), unread=typed.foreign)


def _hear_names(
    words: list[str],
    types: Mapping[str, str],
    names: set[str],
    slots: dict[str, str],
    lacking: dict[str, str],
) -> None:
    """Find cuisines and locations: by name, by dish, or with one letter wrong."""
    type_of = {name: types[name] for name in names if types[name] in ("cuisine", "location")}
    before = ""
    for word in words:
        word = word.removesuffix("'s")
        if before == "not":  # "Rome, not Paris"
            before = word
            continue
        before = word
        name = word if word in type_of else DISH_OF.get(word, "") or _misspelt(word, type_of)
        if name in type_of:
            slots[type_of[name]] = name
            lacking.pop(type_of[name], None)
        elif word in OTHER_CUISINES:
            lacking["cuisine"] = word
            slots.pop("cuisine", None)


def _hear_price(line: str, words: list[str], names: set[str], slots: dict[str, str]) -> None:
    """Find the price: the last word or phrase that says one."""
    matches: list[tuple[int, str]] = []
    taken = line
    for pattern, price in PRICE_PHRASES.items():
        for match in re.finditer(pattern, taken):
            matches.append((match.start(), price))
            taken = taken[: match.start()] + "_" * len(match[0]) + taken[match.end() :]
    start = 0
    for word in taken.split():
        start = taken.index(word, start)
        price = PRICE_OF.get(word, "") or PRICE_OF.get(_misspelt(word, PRICE_OF), "")
        verb = word == "fancy" and re.search(r"\b(i|we|you) fancy\b", taken)  # "I fancy a curry"
        if price and not verb:
            matches.append((start, price))
        start += len(word)
    matches = [pair for pair in matches if pair[1]]
    if matches and max(matches)[1] in names:
        slots["price"] = max(matches)[1]


def _hear_number(
    line: str, names: set[str], slots: dict[str, str], lacking: dict[str, str], *, requested_slot: str
) -> None:
    """Find how many people: the last number that counts them."""
    number = rf"(\d{{1,3}}|{'|'.join(NUMBERS)}|foru|fuor|tow|eigth|eihgt)"
    people = r"(people|peoples|persons?|pers|ppl|pax|guests?|friends|adults|diners|seats|of us|of them)"
    line = re.sub(rf"\b(\d{{1,3}}){people}\b", r"\1 \2", line)  # "8ppl"
    matches: list[tuple[int, int]] = []
    typos = {"foru": 4, "fuor": 4, "tow": 2, "eigth": 8, "eihgt": 8}

    def count(text: str) -> int:
        return int(text) if text.isdecimal() else NUMBERS.get(text, 0) or typos.get(text, 0)

    for pattern, more in (
        (rf"\b(?:for|4|of|us|be|be a|are|we're|were|actually|make (?:it|that)|say|x) {number}\b", 0),
        (rf"\bx{number}\b", 0),
        (rf"\b{number} {people}\b", 0),
        (rf"\b(?:with|and) {number} (?:other|others|friends|colleagues|mates|more)\b", 1),
        (rf"\bmy {number} (?:friends|colleagues|mates|kids|children) and (?:i|me|myself)\b", 1),
    ):
        for match in re.finditer(pattern, line):
            following = line[match.end(1) :].split()[:1]
            if following == ["of"] and more == 0 and "of us" not in match[0]:
                continue
            if match[0].startswith("4 ") and more == 0 and following[:1] == ["people"]:
                continue
            matches.append((match.start(1), count(match[1]) + more))
    for match in re.finditer(
        r"\b(?:my|a) (?:wife|husband|girlfriend|boyfriend|gf|bf|partner|fiancee?)\b|\ba couple\b", line
    ):
        if not re.search(r"\b(kids|children|friends|parents)\b", line):
            matches.append((match.start(), 2))
    larger = [
        (start, value)
        for start, value in matches
        if re.search(r"\b(with|my) \S+ (friends|colleagues|mates|others?)", line[max(0, start - 5) :])
    ]
    plain = [pair for pair in matches if pair not in larger]
    matches = plain if plain and larger else matches
    if not matches:
        bare = [match for match in re.finditer(rf"\b{number}\b", line) if match[1] != "one"]
        if bare and (requested_slot == "number" or len(line.split()) <= 12 or bare[-1][1].isalpha()):
            matches = [(bare[-1].start(), count(bare[-1][1]))]
    if not matches:
        return
    value = max(matches)[1]
    name = WORD_OF.get(value, "")
    if name in names:
        slots["number"] = name
    else:
        lacking["number"] = str(value)


def _other_city(text: str, words: list[str], names: set[str], *, requested_slot: str) -> str:
    """Name the place that was asked for and is no location of the knowledge base; empty if there is none."""
    known_words = COMMON | names | set(PRICE_OF) | set(DISH_OF) | OTHER_CUISINES | set(NUMBERS)
    known_words |= {"cuisine", "cuisines", "dishes", "dining", "table's", "moderat"}
    for position, word in enumerate(words[:-1]):
        if (
            word not in ("in", "near", "at")
            or words[position + 1] in known_words
            or words[position + 1][:1].isdigit()
        ):
            if word == "in" and words[position + 1] == "new" and len(words) > position + 2:
                return f"New {words[position + 2].capitalize()}"
            continue
        city = [words[position + 1]]
        return " ".join(part.capitalize() for part in city)
    if requested_slot == "location":
        rest = [word for word in words if word not in known_words]
        if rest and len(words) <= 4:
            return " ".join(word.capitalize() for word in rest)
    return ""


def _misspelt(word: str, names: Iterable[str]) -> str:
    """Find the name that is one letter away; ordinary words are none."""
    return "" if word in COMMON else nearest(word, names)
