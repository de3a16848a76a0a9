"""Graded exercises of the chapters on dialogue state tracking.

Each check tries what a student wrote on cases that it draws from a seed and answers with a `checks.Result`.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from reasonlib.grading.checks import exercise, expect, expect_close, expect_equal
from reasonlib.state_tracking.data.metrics import score
from reasonlib.state_tracking.data.ontology import PAIRS
from reasonlib.state_tracking.models.encoder import ds_mask
from reasonlib.state_tracking.models.pretrained import from_pretrained

__all__ = [
    "check_block_mask",
    "check_breaking_dialogue",
    "check_first_errors",
    "check_gated",
    "check_joint_goal",
]

STATES = [
    ({"hotel-area": "north"}, {"hotel-area": "north"}),
    ({"hotel-area": "north"}, {"hotel-area": "north", "hotel-stars": "4"}),
    ({"hotel-area": "north", "train-day": "friday"}, {"hotel-area": "north"}),
    ({}, {}),
    ({"hotel-area": "east"}, {"hotel-area": "north"}),
]


# Chapter "What the user wants, turn by turn" ---------------------------------------------------------------


@exercise(
    title="Write the metric of every table",
    minutes=10,
    points=2,
    hint="A turn counts only if the two dictionaries are equal.",
)
def check_joint_goal(answer: Callable[..., Any], seed: int) -> None:
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


@exercise(
    title="What joint goal accuracy hides",
    minutes=15,
    points=2,
    hint="Compare the wrong pairs of a turn with the wrong pairs of the turn before.",
)
def check_first_errors(answer: Callable[..., Any], seed: int) -> None:
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


# Chapter "A token for every slot" ---------------------------------------------------------------------------


@exercise(
    title="The gate decides",
    minutes=5,
    points=1,
    hint="`torch.where` chooses between the best candidate and 0.",
)
def check_gated(answer: Callable[..., Any], seed: int) -> None:
    """Check ``gated(gates, values)``: the predicted candidate of every pair.

    ``gates`` (B, P) holds logits, ``values`` (B, P, N) the candidates' logits; candidate 0 is none. Where the
    gate's probability is at most one half the answer is 0, whatever the values say.
    """
    draw = torch.Generator().manual_seed(3 + 100 * seed)
    gates, values = torch.randn(4, 30, generator=draw), torch.randn(4, 30, 5, generator=draw)
    best = values.argmax(2)
    expect_close(
        answer(gates.clone(), values.clone()),
        torch.where(gates > 0, best, 0),
        "a closed gate makes the value none, an open one leaves the best candidate",
        wrong={
            "the gate is not used": best,
            "a probability above one half is a logit above zero, not above one half": torch.where(
                gates > 0.5, best, 0
            ),
            "the gate is the wrong way round": torch.where(gates > 0, 0, best),
        },
    )


# Chapter "Do slots exchange information?" -----------------------------------------------------------------


@exercise(
    title="Block the attention among slots",
    minutes=10,
    points=2,
    hint="Start with everything allowed; forbid the square of the slot tokens except its diagonal.",
)
def check_block_mask(answer: Callable[..., Any], seed: int) -> None:
    """Check ``block_mask(slots, words)``, a bool matrix (S, S): true where a query may look.

    S is slots + words. Slot tokens come first. A slot token sees itself and all words, and no other slot
    token; a word sees all.
    """
    draw = random.Random(seed)
    for slots, words in ((3, 4), (1, 2), (draw.randint(5, 30), draw.randint(3, 40))):
        allowed = ds_mask(torch.ones(1, words, dtype=torch.bool), slots, blocked=True)[0, 0] == 0
        free = torch.ones(slots + words, slots + words, dtype=torch.bool)
        itself = allowed.clone()
        itself[range(slots), range(slots)] = False
        apart = allowed.clone()
        apart[slots:, :slots] = False
        expect_equal(
            torch.as_tensor(answer(slots, words)).tolist(),
            allowed.tolist(),
            f"with {slots} slot tokens and {words} words, a query attends where it must not, or the reverse",
            wrong={
                "nothing is blocked": free.tolist() if slots > 1 else None,
                "true means that a query may attend, not that it must not": (~allowed).tolist(),
                "a slot token attends to the words, too, not to itself alone": _alone(slots, words).tolist(),
                "a slot token still attends to itself": itself.tolist(),
                "words still attend to slot tokens: only slot to slot is blocked": apart.tolist(),
            },
        )


def _alone(slots: int, words: int) -> torch.Tensor:
    mask = torch.ones(slots + words, slots + words, dtype=torch.bool)
    mask[:slots] = torch.eye(slots, slots + words, dtype=torch.bool)
    return mask


@exercise(
    title="A dialogue that breaks inheritance",
    minutes=20,
    points=3,
    hint="Refer to a slot as the simulator never does: after a change of mind, or by the order of visits.",
)
def check_breaking_dialogue(answer: Callable[..., Any]) -> None:
    """Check ``breaking_dialogue()``: turns, a source pair, a pair that should inherit from it.

    It returns ``(turns, source, pair)``: turns are (system, user) texts of two turns or more; after the last,
    the bundled tracker has the right value in `source` and another one, or none, in `pair`. The last user
    turn must not say the value, and every word must be one that the tracker knows.
    """
    returned = answer()
    expect(
        isinstance(returned, (tuple, list)) and len(returned) == 3,
        "return three things: the turns, the source pair, and the pair that should inherit",
    )
    turns, source, pair = returned
    expect(
        source in PAIRS and pair in PAIRS and source != pair, "both pairs must be among the 30, and differ"
    )
    expect(len(turns) >= 2, "the reference must come after the value: give two turns or more")
    tracker = from_pretrained()
    words = {word for turn in turns for text in turn for word in text.lower().split()}
    unknown = sorted(words - set(tracker.tokenizer.get_vocab()))
    expect(not unknown, f"the tracker does not know {', '.join(unknown[:3])}: use words of the simulator")
    before, after = _states(tracker, turns)
    expect(source in before, f"{source} must have a value before the last turn; the tracker has {before}")
    value = before[source]
    expect(value not in turns[-1][1], f"the last turn says {value!r} itself: refer to it instead")
    expect(after.get(source) == value, f"{source} changed in the last turn: keep it as it was")
    expect(after.get(pair) != value, f"the tracker is right: {pair} is {value!r}. Refer to it in another way")


def _states(tracker: Any, turns: Sequence[Sequence[str]]) -> tuple[dict[str, str], dict[str, str]]:
    said = [(str(system), str(user)) for system, user in turns]
    return tracker.track(said[:-1]).state, tracker.track(said).state
