"""Exercises of the chapter "What the user wants, turn by turn"."""

import math
import random
from collections.abc import Mapping

import numpy as np

from reasonlib.grading.checks import Answer, exercise, expect, expect_close, expect_equal, hint
from reasonlib.state_tracking.data.metrics import score
from reasonlib.state_tracking.data.ontology import PAIRS
from reasonlib.state_tracking.data.simulator import simulate

__all__ = ["check_extremes", "check_first_errors", "check_joint_goal"]

STATES = [
    ({"hotel-area": "north"}, {"hotel-area": "north"}),
    ({"hotel-area": "north"}, {"hotel-area": "north", "hotel-stars": "4"}),
    ({"hotel-area": "north", "train-day": "friday"}, {"hotel-area": "north"}),
    ({}, {}),
    ({"hotel-area": "east"}, {"hotel-area": "north"}),
]


@exercise(title="Write joint goal accuracy", minutes=10, points=2)
@hint("A turn counts only if the two dictionaries are equal.")
def check_joint_goal(answer: Answer, seed: int) -> None:
    """Check ``joint_goal(predicted, labels)``: the share of turns whose whole state is right.

    Both are lists of dictionaries from pair to value, one a turn; a pair without a value is absent.
    """
    drawn = _dialogue(random.Random(seed), turns=40)
    for predicted, labels in (drawn, [list(side) for side in zip(*STATES, strict=True)]):
        right = score(predicted, labels)
        of_labels = [
            all(state.get(pair) == value for pair, value in label.items())
            for state, label in zip(predicted, labels, strict=True)
        ]
        of_predicted = [
            all(label.get(pair) == value for pair, value in state.items())
            for state, label in zip(predicted, labels, strict=True)
        ]
        pairs = [state.keys() == label.keys() for state, label in zip(predicted, labels, strict=True)]
        expect_close(
            answer([dict(state) for state in predicted], [dict(state) for state in labels]),
            right.joint_goal,
            "a turn counts if every pair is right: none missing, none too many, none with another value",
            wrong={
                "this is slot accuracy: it counts each pair of each turn": right.slot,
                "a pair that is predicted and has no value makes the turn wrong, too": float(
                    np.mean(of_labels)
                ),
                "a pair that is missing makes the turn wrong, too": float(np.mean(of_predicted)),
                "the same pairs are not enough: their values must be right, too": float(np.mean(pairs)),
                "return a share, not a number of turns": right.joint_goal * len(labels),
            },
            what="the share",
        )
    expect_close(answer([{}], [{}]), 1.0, "a turn without any value, predicted as such, is right")


def _dialogue(draw: random.Random, turns: int) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Draw labels that grow and change from turn to turn, and predictions with mistakes that stay a while."""
    values = {"hotel-area": ["north", "east"], "hotel-stars": ["3", "4"], "train-day": ["friday", "monday"]}
    labels: list[dict[str, str]] = []
    predicted: list[dict[str, str]] = []
    label: dict[str, str] = {}
    error: dict[str, str] = {}
    for _ in range(turns):
        pair = draw.choice(list(values))
        label = {**label, pair: draw.choice(values[pair])}
        if draw.random() < 0.4:
            pair = draw.choice(list(values))
            error = {pair: draw.choice([*values[pair], ""])}
        elif draw.random() < 0.5:
            error = {}
        labels.append(dict(label))
        predicted.append({pair: value for pair, value in {**label, **error}.items() if value})
    return predicted, labels


@exercise(title="What joint goal accuracy hides", minutes=15, points=2)
@hint("Compare the wrong pairs of a turn with the wrong pairs of the turn before.")
def check_first_errors(answer: Answer, seed: int) -> None:
    """Check ``first_errors(predicted, labels)`` for the turns of one dialogue.

    It returns two counts: how many turns are wrong, and how many of them have an error that the turn before
    did not have (another pair, or another wrong value of the same pair).
    """
    labels = [{"hotel-area": "north"}] * 2 + [{"hotel-area": "north", "hotel-stars": "4"}] * 3
    predicted = [
        {"hotel-area": "east"},
        {"hotel-area": "east"},
        {"hotel-area": "east", "hotel-stars": "4"},
        {"hotel-area": "east", "hotel-stars": "3"},
        {"hotel-area": "north", "hotel-stars": "4"},
    ]
    expect_equal(
        tuple(answer([dict(s) for s in predicted], [dict(s) for s in labels])),
        (4, 2),
        "four turns are wrong; new errors are the area at turn 0 and the stars at turn 3",
        wrong={
            "every wrong turn is counted as new: an error that was there the turn before is old": (4, 4),
            "the last turn is right": (5, 2),
        },
    )
    missing: list[dict[str, str]] = [{}, {}]
    expect_equal(
        tuple(answer(missing, [{"hotel-area": "north"}] * 2)),
        (2, 1),
        "a value that is missing is an error, too, and it is new only once",
    )
    back = [{"hotel-area": area} for area in ("east", "north", "east")]
    expect_equal(
        tuple(answer(back, [{"hotel-area": "north"}] * 3)),
        (2, 2),
        "three turns, of which the first and the last are wrong: an error that comes back is new again",
    )
    draw = random.Random(seed)
    for _ in range(20):
        predicted, labels = _dialogue(draw, turns=draw.randint(3, 8))
        wrong = [state != label for state, label in zip(predicted, labels, strict=True)]
        errors = [_errors(state, label) for state, label in zip(predicted, labels, strict=True)]
        new = sum(bool(now - before) for before, now in zip([set(), *errors], errors, strict=False))
        starts = sum(now and not before for before, now in zip([False, *wrong], wrong, strict=False))
        expect_equal(
            tuple(answer([dict(s) for s in predicted], [dict(s) for s in labels])),
            (sum(wrong), new),
            f"for {predicted} with the labels {labels}: {sum(wrong)} turns are wrong, {new} with a new error",
            wrong={}
            if starts == new
            else {
                "a wrong turn after a wrong turn may have a new error: compare the errors, not the turns": (
                    sum(wrong),
                    starts,
                )
            },
        )


def _errors(state: Mapping[str, str], label: Mapping[str, str]) -> set[tuple[str, str | None]]:
    return {(pair, state.get(pair)) for pair in {*state, *label} if state.get(pair) != label.get(pair)}


@exercise(title="Pull two metrics apart", minutes=15, points=2)
@hint("A turn with one wrong pair counts like a turn with thirty: pack the errors, then spread them.")
def check_extremes(answer: Answer, seed: int) -> None:
    """Check ``extremes(labels, errors)``: two lists of predicted states, each with `errors` wrong pairs.

    The first has the highest joint goal accuracy possible with that many errors, the second the lowest. A
    pair is wrong in a turn if its value is missing, if it has another value, or if it should have none.
    """
    draw = random.Random(seed)
    labels = [dict(turn.state) for dialogue in simulate(4, seed=70 + seed) for turn in dialogue.turns]
    turns = len(labels)
    for errors in (draw.randint(5, 12), 30 * draw.randint(2, 3) + draw.randint(1, 9), turns + 3):
        returned = answer([dict(state) for state in labels], errors)
        expect(
            isinstance(returned, (tuple, list)) and len(returned) == 2,
            "return two lists of states: the one with the higher joint goal accuracy first",
        )
        wrong = []
        for name, predicted in zip(("first", "second"), returned, strict=True):
            expect(
                len(predicted) == turns, f"the {name} list must have a state for each of the {turns} turns"
            )
            unknown = sorted({pair for state in predicted for pair in state} - set(PAIRS))
            expect(not unknown, f"the {name} list has {unknown[:1]}: use only pairs of `PAIRS`")
            scores = score(predicted, labels)
            count = round((1 - scores.slot) * turns * len(PAIRS))
            expect(
                count == errors,
                f"the {name} list has {count} wrong pairs in all, not {errors}: a missing value, another"
                " value and a value too many are one error each",
            )
            wrong.append(round((1 - scores.joint_goal) * turns))
        fewest, most = math.ceil(errors / len(PAIRS)), min(errors, turns)
        expect(wrong != [most, fewest], "the lists are exchanged: the higher joint goal accuracy comes first")
        expect(
            wrong[0] == fewest,
            f"{errors} errors fit into {fewest} turns, and the first list has {wrong[0]} wrong turns: fill a"
            " turn with errors, in its empty pairs, too, before you begin another",
        )
        expect(
            wrong[1] == most,
            f"{errors} errors can spoil {most} turns, and the second list has {wrong[1]} wrong turns: give no"
            " turn a second error before each has one",
        )
