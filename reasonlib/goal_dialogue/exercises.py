"""Graded exercises of the four chapters on goal-oriented dialogue.

Each check tries what a student wrote on cases of its own and answers with a `reasonlib.check.Result`.

Axes: B turns, D width.
"""

from collections.abc import Callable
from typing import Any

import torch

from reasonlib.check import exercise, expect, expect_close, expect_equal
from reasonlib.goal_dialogue.dialogue import TYPES

__all__ = ["check_break_tagger", "check_gate", "check_match_feature", "check_next_question", "check_template"]


# Chapter "A dialogue as memory" -----------------------------------------------------------------------------

CUISINE, PLACE, NUMBER, PRICE, LOOK = (
    "any preference on a type of cuisine",
    "where should it be",
    "how many people would be in your party",
    "which price range are looking for",
    "ok let me look into some options for you",
)


@exercise(
    title="Ask for what is missing",
    minutes=10,
    points=1,
    hint="The questions have a fixed order: cuisine, location, number of people, price.",
)
def check_next_question(answer: Callable[..., Any]) -> None:
    """Check ``next_question(known)``: what a system says once the user has given the slots in `known`.

    ``known`` maps ``cuisine``, ``location``, ``number`` and ``price`` to what the user said; a slot that is
    not known is missing. The answer is one of the system's five sentences.
    """
    full = {"cuisine": "thai", "location": "rome", "number": "six", "price": "cheap"}
    cases = [
        ({}, CUISINE, "nothing is known yet"),
        ({"price": "cheap"}, CUISINE, "the price came first, but the order of the questions does not change"),
        ({"cuisine": "thai"}, PLACE, "the cuisine is known"),
        ({"location": "rome", "cuisine": "thai"}, NUMBER, "two slots are known"),
        ({"number": "six", "cuisine": "thai", "price": "cheap"}, PLACE, "only the location is missing"),
        ({"number": "six", "cuisine": "thai", "location": "rome"}, PRICE, "only the price is missing"),
        (full, LOOK, "nothing is missing: the system sets to work"),
    ]
    for known, right, why in cases:
        given = dict(known)
        expect_equal(answer(given), right, f"for {known}: {why}")
        expect(given == known, "leave the dictionary as it was")


# Chapter "Three memory networks" ----------------------------------------------------------------------------


@exercise(
    title="Write the match feature",
    minutes=15,
    points=2,
    hint="Split both at spaces; an entity counts for its type only where both texts hold it.",
)
def check_match_feature(answer: Callable[..., Any]) -> None:
    """Check ``match_feature(dialogue, candidate, types)``: how often each type of entity matches.

    ``dialogue`` is a list of sentences, ``candidate`` one, ``types`` maps entities to their types. The answer
    maps each type that matches to the number of the candidate's words that are entities of that type and
    occur in the dialogue.
    """
    types = {
        "thai": "cuisine",
        "rome": "location",
        "paris": "location",
        "cheap": "price",
        "a_phone": "phone",
        "a_address": "address",
    }
    heard = ["a table in rome please", "something cheap", "in paris or rome"]
    cases: list[tuple[list[str], str, dict[str, int], str]] = [
        (
            heard,
            "api_call thai rome six cheap",
            {"location": 1, "price": 1},
            "thai was never said, rome and cheap were",
        ),
        (heard, "where should it be", {}, "no entity in the candidate"),
        (heard, "rome or paris", {"location": 2}, "two words of one type"),
        (["a_phone"], "here it is a_address", {}, "of the right place, but another word and another type"),
        (["romeo and i"], "in rome", {}, "rome is no part of romeo: compare whole words"),
        ([], "rome", {}, "nothing was said"),
    ]
    for dialogue, candidate, right, why in cases:
        got = answer(list(dialogue), candidate, dict(types))
        expect(isinstance(got, dict), "return a dictionary, such as {'location': 1}")
        got = {kind: count for kind, count in got.items() if count}
        expect_equal(got, right, f"for {candidate!r} after {dialogue}: {why}")


@exercise(
    title="One gate",
    minutes=10,
    points=2,
    hint="The gate is a sigmoid of the state alone; it weighs what was read against the state.",
)
def check_gate(answer: Callable[..., Any]) -> None:
    """Check ``gate(state, output, weight, bias)``: the next state of a gated hop (eq. 3.10 and 3.11).

    ``state`` and ``output`` are (B, D), ``weight`` (D, D), ``bias`` (D,). The answer is (B, D).
    """
    draw = torch.Generator().manual_seed(5)
    state, output = torch.randn(2, 3, 4, generator=draw)
    weight, bias = torch.randn(4, 4, generator=draw), torch.randn(4, generator=draw)
    gate = (state @ weight.T + bias).sigmoid()
    expect_close(
        answer(state.clone(), output.clone(), weight.clone(), bias.clone()),
        output * gate + state * (1 - gate),
        "the mixture is not right",
        wrong={
            "the two are exchanged: an open gate takes what was read, a closed one keeps the state": (
                state * gate + output * (1 - gate)
            ),
            "that is the plain hop: the state is kept only as far as the gate is closed": output + state,
            "the gate is a sigmoid of W u + b: do not forget to squash it": (
                output * (state @ weight.T + bias) + state * (1 - (state @ weight.T + bias))
            ),
            "the weights are transposed: row i of the matrix makes unit i of the gate": (
                output * (state @ weight + bias).sigmoid() + state * (1 - (state @ weight + bias).sigmoid())
            ),
            "the gate reads the state, not what was read from memory": (
                output * (output @ weight.T + bias).sigmoid()
                + state * (1 - (output @ weight.T + bias).sigmoid())
            ),
        },
        what="the next state",
    )


# Chapter "Two ideas about words" ----------------------------------------------------------------------------


def _neighbours(word: str, other: str) -> bool:
    """Tell whether one letter put in, left out or exchanged makes one word the other."""
    if len(word) == len(other):
        return sum(a != b for a, b in zip(word, other, strict=True)) == 1
    short, long = sorted((word, other), key=len)
    return len(long) - len(short) == 1 and any(
        long[:place] + long[place + 1 :] == short for place in range(len(long))
    )


@exercise(
    title="Break the tagger",
    minutes=20,
    points=3,
    hint="Try every letter in every place, and ask the tagger each time.",
)
def check_break_tagger(answer: Callable[..., Any]) -> None:
    """Check ``break_tagger(tag, word)``: a word one letter away from `word` that gets another type.

    ``tag`` maps a word to its type. The answer is the new word, or an empty one where no change of one letter
    (put in, left out or exchanged, all of them ``a`` to ``z``) changes the type.
    """
    asked = 0

    def by_ending(word: str) -> str:
        nonlocal asked
        asked += 1
        return "cuisine" if word.endswith(("ese", "ish", "ian")) else "location"

    def by_length(word: str) -> str:
        return "price" if len(word) == 6 else "number"

    def deaf(word: str) -> str:
        return "rating"

    def by_sound(word: str) -> str:
        return TYPES[2] if word == "roma" else "location"

    cases: list[tuple[Callable[[str], str], str, bool]] = [
        (by_ending, "spanish", True),
        (by_ending, "chinese", True),
        (by_length, "eight", True),
        (by_length, "cheaper", True),
        (by_sound, "rome", True),
        (deaf, "five", False),
    ]
    for tag, word, possible in cases:
        got = answer(tag, word)
        if not possible:
            expect(got == "", f"nothing changes what this tagger says of {word!r}: return an empty word")
            continue
        expect(
            isinstance(got, str) and got,
            f"there is a word one letter from {word!r} with another type; return it (try letters put in and "
            f"left out, too)",
        )
        expect(_neighbours(word, got), f"{got!r} is not one letter away from {word!r}")
        expect(tag(got) != tag(word), f"the tagger still says {tag(word)} of {got!r}")
    expect(asked > 0, "ask the tagger: call tag(word)")


# Chapter "Past the wall" ------------------------------------------------------------------------------------


@exercise(
    title="A response with gaps",
    minutes=15,
    points=2,
    hint="A word is a name here if it was said before in the dialogue and is not in `common`.",
)
def check_template(answer: Callable[..., Any]) -> None:
    """Check ``template(response, said, common)``: the response with a gap for every name it repeats.

    ``said`` is the list of sentences of the dialogue so far, ``common`` a set of words that are never names.
    The answer is a pair: the response with ``_`` for each name, and the list of names in order.
    """
    common = {"api_call", "in", "a", "for", "please", "here", "it", "is", "table", "what", "you"}
    cases: list[tuple[str, list[str], tuple[str, list[str]], str]] = [
        (
            "api_call thai rome six cheap",
            ["a cheap table in rome", "thai please", "for six"],
            ("api_call _ _ _ _", ["thai", "rome", "six", "cheap"]),
            "all four were said",
        ),
        ("here it is x_phone", ["x has x_phone"], ("here it is _", ["x_phone"]), "the number was stored"),
        (
            "here it is x_phone",
            ["x please"],
            ("here it is x_phone", []),
            "x_phone was never said: no name to copy",
        ),
        ("for six in rome", [], ("for six in rome", []), "nothing was said"),
        ("rome rome", ["in rome"], ("_ _", ["rome", "rome"]), "each time is a gap of its own"),
        ("romes", ["in rome"], ("romes", []), "compare whole words"),
    ]
    for response, said, right, why in cases:
        got = answer(response, list(said), set(common))
        expect(isinstance(got, tuple) and len(got) == 2, "return a pair: the template and the list of names")
        expect_equal((got[0], list(got[1])), right, f"for {response!r} after {said}: {why}")
