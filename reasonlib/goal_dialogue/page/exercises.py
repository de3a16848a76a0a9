"""Graded exercises of the four chapters on goal-oriented dialogue.

Each check tries what a student wrote on cases that it draws from a seed and answers with a `checks.Result`.

Axes: B turns, D width.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping
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
QUESTIONS = {"cuisine": CUISINE, "location": PLACE, "number": NUMBER, "price": PRICE}


@exercise(
    title="Ask for what is missing",
    minutes=10,
    points=1,
    hint="The questions have a fixed order: cuisine, location, number of people, price.",
)
def check_next_question(answer: Callable[..., Any], seed: int) -> None:
    """Check ``next_question(known)``: what a system says once the user has given the slots in `slots`.

    ``slots`` maps ``cuisine``, ``location``, ``number`` and ``price`` to what the user said; a slot that is
    not known is missing. The answer is one of the system's five sentences.
    """
    full = {"cuisine": "thai", "location": "rome", "number": "six", "price": "cheap"}
    cases: list[tuple[dict[str, str], str]] = [
        ({}, "nothing is known yet"),
        ({"price": "cheap"}, "the price came first, but the order of the questions does not change"),
        ({"cuisine": "thai"}, "the cuisine is known"),
        ({"location": "rome", "cuisine": "thai"}, "two slots are known"),
        ({"number": "six", "cuisine": "thai", "price": "cheap"}, "only the location is missing"),
        ({"number": "six", "cuisine": "thai", "location": "rome"}, "only the price is missing"),
        (full, "nothing is missing: the system starts its search"),
    ]
    draw = random.Random(seed)
    for _ in range(20):
        chosen = draw.sample(list(full), draw.randint(0, 4))
        values = ["british", "madrid", "eight", "moderate", *full.values()]
        known = {slot: draw.choice(values) for slot in chosen}
        cases.append((known, f"known are {', '.join(chosen) or 'no slots'}, whatever their values"))
    for slots, why in cases:
        right = next((question for slot, question in QUESTIONS.items() if slot not in slots), LOOK)
        given = dict(slots)
        expect_equal(answer(given), right, f"for {slots}: {why}")
        expect(given == slots, "leave the dictionary as it was")


@exercise(
    title="Whole dialogues",
    minutes=5,
    points=1,
    hint="A dialogue counts if every response in it is right: all(...) of a list.",
)
def check_whole_dialogues(answer: Callable[..., Any], seed: int) -> None:
    """Check ``whole_dialogues(right)``: the share of dialogues in which every response is right.

    ``right`` holds a list for each dialogue, with a truth value for each response.
    """
    cases = [
        ([[True, True], [True, False]], "one of two dialogues has no mistake"),
        ([[True] * 9 + [False], [True]], "nine right responses of ten are not enough"),
        ([[False], [False, True]], "each has a mistake"),
        ([[True]], "the only one is right"),
    ]
    draw = random.Random(seed)
    for _ in range(20):
        made = [[draw.random() < 0.8 for _ in range(draw.randint(1, 6))] for _ in range(draw.randint(1, 7))]
        cases.append((made, "every dialogue counts once, long or short"))
    for right, why in cases:
        share = sum(map(all, right)) / len(right)
        got = answer([list(dialogue) for dialogue in right])
        expect_close(got, share, f"for {right} the share is {share:.3g}: {why}", what="the share")


@exercise(
    title="The most similar candidate",
    minutes=15,
    points=2,
    hint="Divide the shared weight by the length of the candidate; the input's length is the same for all.",
)
def check_most_alike(answer: Callable[..., Any], seed: int) -> None:
    """Check ``most_alike(said, candidates, weight)``: the candidate with the largest cosine of weighed words.

    ``said`` is what was said, ``weight`` maps words to their weights; a word that is not in it weighs
    nothing. Of several candidates as alike, the first is given.
    """
    weight = {"in": 0.1, "paris": 2.0, "rome": 2.0, "a": 0.1, "table": 1.0, "phone": 1.5, "is": 0.1}
    cases = [
        ("a table in rome", ["in paris", "in rome"], "the first shares no rome"),
        (
            "in rome",
            ["rome is in a table phone", "in rome"],
            "both share the same words, but the first has many others: divide by its length",
        ),
        ("a is in", ["a in is", "paris"], "paris is not shared at all"),
        ("the phone in rome", ["in a is", "phone"], "one rare word weighs more than three common ones"),
        ("unheard words", ["in rome", "in paris"], "nothing is shared: the first one"),
        ("rome", ["nowhere", "rome"], "a candidate whose words all have weight 0 has length 0"),
        (
            "rome paris",
            ["rome paris table phone", "rome is a in"],
            "the length is the root of the summed squares of the weights, not the number of words",
        ),
        (
            "rome in",
            ["rome table", "in rome a is the of"],
            "a word with weight 0 adds no length",
        ),
    ]
    draw = random.Random(seed)
    for _ in range(30):
        said = " ".join(draw.sample([*weight, "please"], 4))
        candidates = [" ".join(draw.sample([*weight, "you"], draw.randint(1, 5))) for _ in range(4)]
        cases.append((said, candidates, "another candidate has a larger cosine"))
    for said, candidates, why in cases:
        alike = [_cosine(said, candidate, weight) for candidate in candidates]
        best = max(alike)
        if sum(abs(value - best) < 1e-9 for value in alike) > 1 and best > 0:
            continue  # a tie that rounding decides
        right = candidates[alike.index(best)]
        expect_equal(answer(said, list(candidates), dict(weight)), right, f"after {said!r}: {why}")


def _cosine(said: str, candidate: str, weight: Mapping[str, float]) -> float:
    words = set(candidate.split())
    length = sum(weight.get(word, 0.0) ** 2 for word in words) ** 0.5
    both = sum(weight.get(word, 0.0) ** 2 for word in words & set(said.split()))
    return both / length if length else 0.0


# Chapter "Three memory networks" ----------------------------------------------------------------------------


@exercise(
    title="Write the match feature",
    minutes=15,
    points=2,
    hint="Split both at spaces; an entity counts for its type only where both texts contain it.",
)
def check_match_feature(answer: Callable[..., Any], seed: int) -> None:
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
    cases = [
        (heard, "api_call thai rome six cheap", "thai was never said, rome and cheap were"),
        (heard, "where should it be", "no entity in the candidate"),
        (heard, "rome or paris", "two words of one type"),
        (heard, "rome rome cheap", "a word that the candidate repeats counts each time"),
        (
            ["in rome", "hello", "good day", "ok"],
            "rome",
            "the first sentence of a dialogue counts as the last",
        ),
        (["a_phone"], "here it is a_address", "of the same restaurant, but another word and another type"),
        (["romeo and i"], "in rome", "romeo does not count as rome: compare whole words"),
        ([], "rome", "nothing was said"),
    ]
    draw = random.Random(seed)
    words = [*types, "in", "please", "romeo"]
    for _ in range(20):
        dialogue = [" ".join(draw.choices(words, k=draw.randint(1, 4))) for _ in range(draw.randint(1, 5))]
        cases.append(
            (dialogue, " ".join(draw.choices(words, k=5)), "each word of the candidate that was said")
        )
    for dialogue, candidate, why in cases:
        said = {word for sentence in dialogue for word in sentence.split()}
        right = Counter(types[word] for word in candidate.split() if word in types and word in said)
        got = answer(list(dialogue), candidate, dict(types))
        expect(isinstance(got, dict), "return a dictionary, such as {'location': 1}")
        got = {kind: count for kind, count in got.items() if count}
        expect_equal(got, dict(right), f"for {candidate!r} after {dialogue}: {why}")


@exercise(
    title="One gate",
    minutes=10,
    points=2,
    hint="The gate is a sigmoid of the state alone; it weighs what was read against the state.",
)
def check_gate(answer: Callable[..., Any], seed: int) -> None:
    """Check ``gate(state, output, weight, bias)``: the next state of a gated hop (eq. 3.10 and 3.11).

    ``state`` and ``output`` are (B, D), ``weight`` (D, D), ``bias`` (D,). The answer is (B, D).
    """
    generator = torch.Generator().manual_seed(5 + 100 * seed)
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
            "the bias is left out of the gate": (
                output * (state @ weight.T).sigmoid() + state * (1 - (state @ weight.T).sigmoid())
            ),
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
    title="Mix two tables",
    minutes=10,
    points=2,
    hint="Each new table keeps a share z of the old one, column by column, and takes the rest from another.",
)
def check_tie(answer: Callable[..., Any], seed: int) -> None:
    """Check ``tie(keys, values, fresh, z)``: the tables A and C of the next hop (eq. 3.12 and 3.13).

    ``keys``, ``values`` and ``fresh`` are (V, D): A and C of this hop, and the unconstrained C of the next.
    ``z`` is (D,). The answer is a pair of (V, D).
    """
    generator = torch.Generator().manual_seed(7 + 100 * seed)
    keys, values, fresh = torch.randn(3, 5, 4, generator=generator)
    z = torch.rand(4, generator=generator)
    got = answer(keys.clone(), values.clone(), fresh.clone(), z.clone())
    expect(isinstance(got, (tuple, list)) and len(got) == 2, "return a pair: the next A and the next C")
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
def check_break_tagger(answer: Callable[..., Any], seed: int) -> None:
    """Check ``break_tagger(tag, word)``: a word one letter away from `word` that gets another type.

    ``tag`` maps a word to its type. The answer is the new word, or an empty one where no change of one letter
    (put in, left out or exchanged, all of them ``a`` to ``z``) changes the type.
    """
    asked = 0
    draw = random.Random(seed)
    marked, letter = draw.sample("bcdfghjklmnpqrstvwxz", 2)

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

    def by_start(word: str) -> str:
        return "price" if word.startswith(marked) else "cuisine"

    def by_letter(word: str) -> str:
        return "price" if letter in word[:3] else "location"

    cases: list[tuple[Callable[[str], str], str, bool]] = [
        (by_ending, "spanish", True),
        (by_ending, "chinese", True),
        (by_length, "eight", True),
        (by_length, "cheaper", True),
        (by_sound, "rome", True),
        (by_start, "italian", True),
        (by_letter, "eeeaaoo", True),
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
def check_lstm_step(answer: Callable[..., Any], seed: int) -> None:
    """Check ``lstm_step(x, h, cell, W, b)``: the output and the state after one step (eq. 4.1 to 4.7).

    ``x`` is (B, I), ``h`` and ``cell`` are (B, H). ``W`` and ``b`` map ``f``, ``i``, ``c`` and ``o`` to a
    matrix (H, H + I) and a bias (H,). The answer is a pair of (B, H): h and C.
    """
    generator = torch.Generator().manual_seed(11 + 100 * seed)
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
    expect(isinstance(got, (tuple, list)) and len(got) == 2, "return a pair: the output h and the state C")
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
def check_beside(answer: Callable[..., Any], seed: int) -> None:
    """Check ``beside(words, tags, A, T)``: the vector of one sentence (eq. 4.8 to 4.13).

    ``words`` and ``tags`` hold the number of each word and of its tag; ``A`` is (V, D) and ``T`` (G, D). The
    answer is (2 D,).
    """
    generator = torch.Generator().manual_seed(13 + 100 * seed)
    table, types = torch.randn(9, 3, generator=generator), torch.randn(5, 3, generator=generator)
    draw = random.Random(seed)
    some = [draw.randrange(9) for _ in range(5)]
    for words, kinds in (([1, 4, 4, 8], [1, 1, 1, 3]), ([2], [4]), (some, [word % 5 for word in some])):
        first, second = table[words].sum(0), types[kinds].sum(0)
        expect_close(
            answer(torch.tensor(words), torch.tensor(kinds), table.clone(), types.clone()),
            torch.cat([first, second]),
            "the vector is not right",
            wrong={
                "that adds the two sums; they stand side by side": first + second,
                "the words come first": torch.cat([second, first]),
                "sum over the words, do not average them": torch.cat([first, second]) / len(words),
                "a word that occurs twice counts twice": torch.cat(
                    [table[sorted(set(words))].sum(0), types[sorted(set(kinds))].sum(0)]
                ),
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
def check_template(answer: Callable[..., Any], seed: int) -> None:
    """Check ``template(response, said, common)``: the response with a gap for every name it repeats.

    ``said`` is the list of sentences of the dialogue so far, ``common`` a set of words that are never names.
    The answer is a pair: the response with ``_`` for each name, and the list of names in order.
    """
    common = {"api_call", "in", "a", "for", "please", "here", "it", "is", "table", "what", "you"}
    cases = [
        (
            "api_call thai rome six cheap",
            ["a cheap table in rome", "thai please", "for six"],
            "all four were said",
        ),
        ("here it is x_phone", ["x has x_phone"], "the number was stored"),
        ("here it is x_phone", ["x please"], "x_phone was never said: no name to copy"),
        ("for six in rome", [], "nothing was said"),
        ("rome rome", ["in rome"], "each time is a gap of its own"),
        ("romes", ["in rome"], "compare whole words"),
        ("rome", ["in romes"], "compare whole words: romes is said, rome is not"),
        ("a table in rome", ["a table in rome please"], "a, table and in are said, too, but they are common"),
    ]
    draw = random.Random(seed)
    words = [*sorted(common), "rome", "paris", "thai", "six", "romes"]
    for _ in range(20):
        said = [" ".join(draw.choices(words, k=4)) for _ in range(draw.randint(1, 3))]
        cases.append((" ".join(draw.choices(words, k=6)), said, "names are what was said and is not common"))
    for response, said, why in cases:
        names = {word for sentence in said for word in sentence.split()} - common
        gaps = " ".join("_" if word in names else word for word in response.split())
        got = answer(response, list(said), set(common))
        expect(
            isinstance(got, (tuple, list)) and len(got) == 2,
            "return a pair: the template and the list of names",
        )
        right = (gaps, [word for word in response.split() if word in names])
        expect_equal((got[0], list(got[1])), right, f"for {response!r} after {said}: {why}")


@exercise(
    title="The bound for word vectors",
    minutes=10,
    points=1,
    hint="Collect every word the system said in training; a response counts if it contains no other.",
)
def check_bound(answer: Callable[..., Any], seed: int) -> None:
    """Check ``bound(training, test)``: the share of test responses whose words were all said in training.

    Both are lists of responses.
    """
    cases = [
        (["in rome", "the phone"], ["the rome", "in paris"], "words may come from several responses"),
        (["a_phone"], ["a_phone", "b_phone"], "b_phone is another word"),
        (["hello"], ["hello", "hello", "hello you", "hello"], "every response counts, repeated or not"),
        (["romeo"], ["rome"], "compare whole words"),
    ]
    draw = random.Random(seed)
    words = ["in", "rome", "paris", "the", "phone", "is", "romes"]
    for _ in range(20):
        two = [[" ".join(draw.choices(words, k=draw.randint(1, 3))) for _ in range(4)] for _ in "ab"]
        cases.append((two[0], two[1], "every word of a response must have been said"))
    for training, test, why in cases:
        heard = {word for response in training for word in response.split()}
        share = sum(heard.issuperset(response.split()) for response in test) / len(test)
        got = answer(list(training), list(test))
        expect_close(
            got, share, f"for {test} after {training} the share is {share:.3g}: {why}", what="the share"
        )


@exercise(
    title="Describe a name by its mentions",
    minutes=15,
    points=2,
    hint="Start from zeros, one row for each name, and add each mention to the row of its name (index_add).",
)
def check_describe(answer: Callable[..., Any], seed: int) -> None:
    """Check ``describe(mentions, names, count)``: the description of every name.

    ``mentions`` is (M, D), what each mention says; ``names`` (M,) the number of the name it mentions, from 0
    to ``count`` - 1. The answer is (count, D): the sum over the mentions of each name.
    """
    generator = torch.Generator().manual_seed(17 + 100 * seed)
    mentions = torch.randn(9, 3, generator=generator)
    names = torch.cat([torch.tensor([0, 2, 2, 1]), torch.randint(3, (5,), generator=generator)])
    right = torch.stack([mentions[names == number].sum(0) for number in range(4)])
    last = torch.stack([mentions[names == number][-1:].sum(0) for number in range(4)])
    first = torch.stack([mentions[names == number][:1].sum(0) for number in range(4)])
    mean = right / torch.bincount(names, minlength=4).clamp(min=1)[:, None]
    expect_close(
        answer(mentions.clone(), names.clone(), 4),
        right,
        "the descriptions are not right",
        wrong={
            "only one mention of each name is kept: add the mentions, do not assign them": last,
            "the first mention of each name is kept and the others are lost: add them all": first,
            "add the mentions, do not average them": mean,
            "every name gets the sum of all mentions: add each to the row of its own name": (
                mentions.sum(0).expand(4, -1)
            ),
            "a name without mentions has a row of zeros, too: there are `count` rows": right[:3],
        },
        what="the descriptions",
    )
