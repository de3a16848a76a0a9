"""Graded exercises of the four chapters on goal-oriented dialogue.

Each check tries what a student wrote on cases of its own and answers with a `checks.Result`.

Axes: B turns, D width.
"""

from collections.abc import Callable
from typing import Any

import torch

from reasonlib.goal_dialogue.data.example import TYPES
from reasonlib.grading.checks import exercise, expect, expect_close, expect_equal

__all__ = [
    "check_beside",
    "check_bound",
    "check_break_tagger",
    "check_describe",
    "check_gate",
    "check_lstm_step",
    "check_match_feature",
    "check_most_alike",
    "check_next_question",
    "check_template",
    "check_tie",
    "check_whole_dialogues",
]


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
    """Check ``next_question(known)``: what a system says once the user has given the slots in `slots`.

    ``slots`` maps ``cuisine``, ``location``, ``number`` and ``price`` to what the user said; a slot that is
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
        (full, LOOK, "nothing is missing: the system starts its search"),
    ]
    for slots, right, why in cases:
        given = dict(slots)
        expect_equal(answer(given), right, f"for {slots}: {why}")
        expect(given == slots, "leave the dictionary as it was")


@exercise(
    title="Whole dialogues",
    minutes=5,
    points=1,
    hint="A dialogue counts if every response in it is right: all(...) of a list.",
)
def check_whole_dialogues(answer: Callable[..., Any]) -> None:
    """Check ``whole_dialogues(right)``: the share of dialogues in which every response is right.

    ``right`` holds a list for each dialogue, with a truth value for each response.
    """
    cases: list[tuple[list[list[bool]], float, str]] = [
        ([[True, True], [True, False]], 0.5, "one of two dialogues has no mistake"),
        ([[True] * 9 + [False], [True]], 0.5, "nine right responses of ten make no dialogue right"),
        ([[False], [False, True]], 0.0, "each has a mistake"),
        ([[True]], 1.0, "the only one is right"),
    ]
    for right, share, why in cases:
        expect_equal(answer([list(dialogue) for dialogue in right]), share, f"for {right}: {why}")


@exercise(
    title="The candidate most alike",
    minutes=15,
    points=2,
    hint="Divide the shared weight by the length of the candidate; the input's length is the same for all.",
)
def check_most_alike(answer: Callable[..., Any]) -> None:
    """Check ``most_alike(said, candidates, weight)``: the candidate with the largest cosine of weighed words.

    ``said`` is what was said, ``weight`` maps words to their weights; a word that is not in it weighs
    nothing. Of several candidates as alike, the first is given.
    """
    weight = {"in": 0.1, "paris": 2.0, "rome": 2.0, "a": 0.1, "table": 1.0, "phone": 1.5, "is": 0.1}
    cases: list[tuple[str, list[str], str, str]] = [
        ("a table in rome", ["in paris", "in rome"], "in rome", "they share rome as well"),
        (
            "in rome",
            ["rome is in a table phone", "in rome"],
            "in rome",
            "both share the same words, but the first holds many others: divide by its length",
        ),
        ("a is in", ["a in is", "paris"], "a in is", "paris is not shared at all"),
        (
            "the phone in rome",
            ["in a is", "phone"],
            "phone",
            "one rare word weighs more than three common ones",
        ),
        ("unheard words", ["in rome", "in paris"], "in rome", "nothing is shared: the first one"),
        (
            "rome",
            ["nowhere", "rome"],
            "rome",
            "a candidate without a word that weighs anything has no length",
        ),
    ]
    for said, candidates, right, why in cases:
        expect_equal(answer(said, list(candidates), dict(weight)), right, f"after {said!r}: {why}")


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
        (
            ["a_phone"],
            "here it is a_address",
            {},
            "of the same restaurant, but another word and another type",
        ),
        (["romeo and i"], "in rome", {}, "romeo does not count as rome: compare whole words"),
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
    generator = torch.Generator().manual_seed(5)
    state, output = torch.randn(2, 3, 4, generator=generator)
    weight, bias = torch.randn(4, 4, generator=generator), torch.randn(4, generator=generator)
    gate = (state @ weight.T + bias).sigmoid()
    expect_close(
        answer(state.clone(), output.clone(), weight.clone(), bias.clone()),
        output * gate + state * (1 - gate),
        "the mixture is not right",
        wrong={
            "the two are swapped: a gate at 1 takes what was read, a gate at 0 keeps the state": (
                state * gate + output * (1 - gate)
            ),
            "that is the plain update u + o; the gate keeps the state only as far as it is closed": output
            + state,
            "the gate is a sigmoid of W u + b: apply the sigmoid": (
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


@exercise(
    title="Between two ties",
    minutes=10,
    points=2,
    hint="Each new table keeps a share z of the old one, column by column, and takes the rest from another.",
)
def check_tie(answer: Callable[..., Any]) -> None:
    """Check ``tie(keys, values, fresh, z)``: the tables A and C of the next hop (eq. 3.12 and 3.13).

    ``keys``, ``values`` and ``fresh`` are (V, D): A and C of this hop, and the unconstrained C of the next.
    ``z`` is (D,). The answer is a pair of (V, D).
    """
    generator = torch.Generator().manual_seed(7)
    keys, values, fresh = torch.randn(3, 5, 4, generator=generator)
    z = torch.rand(4, generator=generator)
    got = answer(keys.clone(), values.clone(), fresh.clone(), z.clone())
    expect(isinstance(got, tuple) and len(got) == 2, "return a pair: the next A and the next C")
    expect_close(
        got[0],
        keys * z + values * (1 - z),
        "the next A is not right",
        wrong={
            "the two are swapped: with z = 1 all hops have the same A": keys * (1 - z) + values * z,
            "where z is small, the next A takes the values table of this hop; fresh is for the next C": keys
            * z
            + fresh * (1 - z),
        },
        what="the next A",
    )
    expect_close(
        got[1],
        values * z + fresh * (1 - z),
        "the next C is not right",
        wrong={
            "that is the equation as printed, which changes nothing: its last term is the fresh table": (
                values
            ),
            "the two are swapped: with z = 1 all hops have the same C": values * (1 - z) + fresh * z,
        },
        what="the next C",
    )


# Chapter "Paragraph vectors and key tags" -------------------------------------------------------------------


def _neighbours(word: str, other: str) -> bool:
    """Tell whether one letter put in, left out or exchanged makes one word the other."""
    if len(word) == len(other):
        return sum(a != b for a, b in zip(word, other, strict=True)) == 1
    short, long = sorted((word, other), key=len)
    return len(long) - len(short) == 1 and any(
        long[:index] + long[index + 1 :] == short for index in range(len(long))
    )


@exercise(
    title="Break the tagger",
    minutes=20,
    points=3,
    hint="Try every letter at every position, and call the tagger each time.",
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
            f"there is a word one letter from {word!r} with another type; return it (also insert and "
            f"delete letters)",
        )
        expect(_neighbours(word, got), f"{got!r} is not one letter away from {word!r}")
        expect(tag(got) != tag(word), f"the tagger still says {tag(word)} of {got!r}")
    expect(asked > 0, "ask the tagger: call tag(word)")


@exercise(
    title="One LSTM cell",
    minutes=15,
    points=2,
    hint="Join h and x, in this order; three sigmoids, one tanh; the new state, then the output.",
)
def check_lstm_step(answer: Callable[..., Any]) -> None:
    """Check ``lstm_step(x, h, cell, W, b)``: the output and the state after one step (eq. 4.1 to 4.7).

    ``x`` is (B, I), ``h`` and ``cell`` are (B, H). ``W`` and ``b`` map ``f``, ``i``, ``c`` and ``o`` to a
    matrix (H, H + I) and a bias (H,). The answer is a pair of (B, H): h and C.
    """
    generator = torch.Generator().manual_seed(11)
    x, h = torch.randn(2, 3, generator=generator), torch.randn(2, 4, generator=generator)
    old = torch.randn(2, 4, generator=generator)
    weights = {name: torch.randn(4, 7, generator=generator) for name in "fico"}
    biases = {name: torch.randn(4, generator=generator) for name in "fico"}

    def step(first: torch.Tensor, second: torch.Tensor, bias: dict[str, torch.Tensor]) -> tuple[Any, Any]:
        given = {name: torch.cat([first, second], 1) @ weights[name].T + bias[name] for name in "fico"}
        new = old * given["f"].sigmoid() + given["i"].sigmoid() * given["c"].tanh()
        return given["o"].sigmoid() * new.tanh(), new

    (right_h, right_c), (swapped_h, swapped_c) = step(h, x, biases), step(x, h, biases)
    shown_h, shown_c = step(h, x, {**biases, "c": biases["i"], "o": biases["i"]})
    got = answer(x.clone(), h.clone(), old.clone(), dict(weights), dict(biases))
    expect(isinstance(got, tuple) and len(got) == 2, "return a pair: the output h and the state C")
    printed = "these are the biases as printed in the source, b_i three times; each gate has its own"
    joined = "h comes first in [h, x]"
    expect_close(
        got[1], right_c, "the new state is not right", wrong={joined: swapped_c, printed: shown_c}, what="C"
    )
    expect_close(
        got[0],
        right_h,
        "the output is not right",
        wrong={
            joined: swapped_h,
            printed: shown_h,
            "apply tanh to the state before the output gate": right_h / right_c.tanh() * right_c,
        },
        what="h",
    )


@exercise(
    title="Words and tags side by side",
    minutes=10,
    points=1,
    hint="Pick the rows, sum over the sentence, and join the two sums along the width.",
)
def check_beside(answer: Callable[..., Any]) -> None:
    """Check ``beside(words, tags, A, T)``: the vector of one sentence (eq. 4.8 to 4.13).

    ``words`` and ``tags`` hold the number of each word and of its tag; ``A`` is (V, D) and ``T`` (G, D). The
    answer is (2 D,).
    """
    generator = torch.Generator().manual_seed(13)
    table, types = torch.randn(9, 3, generator=generator), torch.randn(5, 3, generator=generator)
    for words, kinds in (([1, 4, 4, 8], [1, 1, 1, 3]), ([2], [4])):
        first, second = table[words].sum(0), types[kinds].sum(0)
        expect_close(
            answer(torch.tensor(words), torch.tensor(kinds), table.clone(), types.clone()),
            torch.cat([first, second]),
            "the vector is not right",
            wrong={
                "that adds the two sums; they stand side by side": first + second,
                "the words come first": torch.cat([second, first]),
                "sum over the words, do not average them": torch.cat([first, second]) / len(words),
            },
            what="the vector",
        )


# Chapter "Out-of-vocabulary names" --------------------------------------------------------------------------


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


@exercise(
    title="How far words reach",
    minutes=10,
    points=1,
    hint="Collect every word the system said in training; a response counts if it holds no other.",
)
def check_bound(answer: Callable[..., Any]) -> None:
    """Check ``bound(training, test)``: the share of test responses whose words were all said in training.

    Both are lists of responses.
    """
    cases: list[tuple[list[str], list[str], float, str]] = [
        (["in rome", "the phone"], ["the rome", "in paris"], 0.5, "words may come from several responses"),
        (["a_phone"], ["a_phone", "b_phone"], 0.5, "b_phone is another word"),
        (["hello"], ["hello", "hello", "hello you", "hello"], 0.75, "every response counts, repeated or not"),
        (["romeo"], ["rome"], 0.0, "compare whole words"),
    ]
    for training, test, right, why in cases:
        expect_equal(answer(list(training), list(test)), right, f"for {test} after {training}: {why}")


@exercise(
    title="Known by its mentions",
    minutes=15,
    points=2,
    hint="Start from zeros, one row a name, and add each mention to the row of its name (index_add).",
)
def check_describe(answer: Callable[..., Any]) -> None:
    """Check ``describe(mentions, names, count)``: the description of every name.

    ``mentions`` is (M, D), what each mention says; ``names`` (M,) the number of the name it mentions, from 0
    to ``count`` - 1. The answer is (count, D): the sum over the mentions of each name.
    """
    generator = torch.Generator().manual_seed(17)
    mentions = torch.randn(6, 3, generator=generator)
    names = torch.tensor([0, 2, 2, 1, 2, 0])
    right = torch.stack([mentions[names == number].sum(0) for number in range(4)])
    last = torch.stack([mentions[names == number][-1:].sum(0) for number in range(4)])
    mean = right / torch.tensor([2.0, 1, 3, 1])[:, None]
    expect_close(
        answer(mentions.clone(), names.clone(), 4),
        right,
        "the descriptions are not right",
        wrong={
            "only one mention of each name is kept: add the mentions, do not assign them": last,
            "add the mentions, do not average them": mean,
        },
        what="the descriptions",
    )
