"""Exercises of the chapter "Three memory networks".

Axes: B turns, D width.
"""

import random
from collections import Counter

import torch

from reasonlib.grading.checks import Answer, exercise, expect, expect_close, expect_equal, hint

__all__ = ["check_gate", "check_match_feature", "check_tie"]


@exercise(title="Write the match feature", minutes=15, points=2)
@hint("Split both at spaces; an entity counts for its type only where both texts contain it.")
def check_match_feature(answer: Answer, seed: int) -> None:
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
    sentences = ["a table in rome please", "something cheap", "in paris or rome"]
    cases = [
        (sentences, "api_call thai rome six cheap", "thai was never said, rome and cheap were"),
        (sentences, "where should it be", "no entity in the candidate"),
        (sentences, "rome or paris", "two words of one type"),
        (sentences, "rome rome cheap", "a word that the candidate repeats counts each time"),
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
        dialogue_words = {word for sentence in dialogue for word in sentence.split()}
        right = Counter(types[word] for word in candidate.split() if word in types and word in dialogue_words)
        result = answer(list(dialogue), candidate, dict(types))
        expect(isinstance(result, dict), "return a dictionary, such as {'location': 1}")
        result = {kind: count for kind, count in result.items() if count}
        expect_equal(result, dict(right), f"for {candidate!r} after {dialogue}: {why}")


@exercise(title="One gate", minutes=10, points=2)
@hint("The gate is a sigmoid of the state alone; it weighs what was read against the state.")
def check_gate(answer: Answer, seed: int) -> None:
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


@exercise(title="Mix two tables", minutes=10, points=2)
@hint("Each new table keeps a share z of the old one, column by column, and takes the rest from another.")
def check_tie(answer: Answer, seed: int) -> None:
    """Check ``tie(keys, values, fresh, z)``: the tables A and C of the next hop (eq. 3.12 and 3.13).

    ``keys``, ``values`` and ``fresh`` are (V, D): A and C of this hop, and the unconstrained C of the next.
    ``z`` is (D,). The answer is a pair of (V, D).
    """
    generator = torch.Generator().manual_seed(7 + 100 * seed)
    keys, values, fresh = torch.randn(3, 5, 4, generator=generator)
    z = torch.rand(4, generator=generator)
    result = answer(keys.clone(), values.clone(), fresh.clone(), z.clone())
    expect(isinstance(result, (tuple, list)) and len(result) == 2, "return a pair: the next A and the next C")
    expect_close(
        result[0],
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
        result[1],
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
