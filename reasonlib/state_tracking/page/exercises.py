"""Graded exercises of the chapters on dialogue state tracking.

Each check tries what a student wrote on cases that it draws from a seed and answers with a `checks.Result`.
"""

import math
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import torch

from reasonlib.grading.checks import exercise, expect, expect_close, expect_equal
from reasonlib.state_tracking.data.metrics import score
from reasonlib.state_tracking.data.ontology import DONTCARE, PAIRS
from reasonlib.state_tracking.data.simulator import SimulatorConfig, simulate
from reasonlib.state_tracking.models.encoder import ds_mask
from reasonlib.state_tracking.models.pretrained import from_pretrained
from reasonlib.state_tracking.models.span import OPEN

__all__ = [
    "check_block_mask",
    "check_breaking_dialogue",
    "check_ceiling",
    "check_extremes",
    "check_first_errors",
    "check_gated",
    "check_joint_goal",
    "check_order_gap",
    "check_reach",
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


@exercise(
    title="Pull two metrics apart",
    minutes=15,
    points=2,
    hint="A turn with one wrong pair counts like a turn with thirty: pack the errors, then spread them.",
)
def check_extremes(answer: Callable[..., Any], seed: int) -> None:
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


@exercise(
    title="Test that order means nothing",
    minutes=15,
    points=2,
    hint="`tokens[order]` exchanges two rows, if `order` does. What puts the output rows back in order?",
)
def check_order_gap(answer: Callable[..., Any], seed: int) -> None:
    """Check ``order_gap(encode, tokens, words)``: how much the order of DS tokens changes their outputs.

    ``encode(tokens, words)`` returns one vector (D,) for each of the ``tokens`` (N, D) before ``words``
    (T, D). The gap is the largest absolute difference of a number, over all exchanges of two tokens, between
    the outputs for the exchanged tokens, put back in order, and the outputs for the tokens as they are.
    """
    draw = torch.Generator().manual_seed(40 + seed)
    for kind in ("none", "mean", *("last place", "positions", "mask") * 2):
        encode = _toy_encoder(kind, draw)
        tokens, words = (torch.randn(count, 4, generator=draw, dtype=torch.float64) for count in (5, 6))
        gaps = _gaps(encode, tokens, words)
        about = {
            "positions": "this encoder adds a position to every DS token",
            "last place": "this encoder treats only the last place differently: try every pair of tokens",
            "mask": "in this encoder a DS token attends to no DS token after it",
            "none": "this encoder ignores the order of DS tokens: the gap must be zero up to rounding",
            "mean": "this encoder gives every token the same output, a mean: the gap must be zero",
        }
        expect_close(
            answer(encode, tokens.clone(), words.clone()),
            gaps.abs().max(),
            about[kind],
            wrong={
                "put the outputs back in order before you compare: each token with itself": (
                    _gaps(encode, tokens, words, back=False).abs().max()
                ),
            }
            if kind == "none"
            else {
                "try every pair of tokens, not the first two alone": gaps[0].abs().max(),
                "return the largest difference, not the mean": gaps.abs().mean(),
                "a difference may be negative: take its absolute value": gaps.max(),
            },
            what="the gap",
        )


def _toy_encoder(kind: str, draw: torch.Generator) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """Make one layer of attention over five DS tokens and words, width 4; `kind` says how order matters."""
    query, key, value = (torch.randn(4, 4, generator=draw, dtype=torch.float64) for _ in range(3))
    places = torch.randn(5, 4, generator=draw, dtype=torch.float64)
    if kind == "last place":
        places[:-1] = 0
    elif kind != "positions":
        places[:] = 0

    def encode(tokens: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        inputs = torch.cat([tokens + places, words])
        scores = (inputs @ query) @ (inputs @ key).T / 2
        if kind == "mask":
            later = torch.ones(len(tokens), len(tokens)).triu(1).bool()
            scores[: len(tokens), : len(tokens)].masked_fill_(later, -torch.inf)
        outputs = (inputs + scores.softmax(1) @ inputs @ value)[: len(tokens)]
        return outputs.mean(0).expand(len(tokens), -1) if kind == "mean" else outputs

    return encode


def _gaps(
    encode: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    tokens: torch.Tensor,
    words: torch.Tensor,
    *,
    back: bool = True,
) -> torch.Tensor:
    """Return the differences (exchanges, N, D) that each exchange of two of N tokens makes."""
    plain, gaps = encode(tokens, words), []
    for one, other in combinations(range(len(tokens)), 2):
        order = list(range(len(tokens)))
        order[one], order[other] = other, one
        outputs = encode(tokens[order], words)
        gaps.append((outputs[order] if back else outputs) - plain)
    return torch.stack(gaps)


@exercise(
    title="Find the ceiling of a closed list",
    minutes=20,
    points=3,
    hint="Collect the values that each pair has in training; a turn needs all its values.",
)
def check_ceiling(answer: Callable[..., Any], seed: int) -> None:
    """Check ``ceiling(train, test, copied)``: the highest joint goal accuracy that a tracker can reach.

    ``train`` is a list of states. ``test`` is a list of (text, state): the words of the dialogue so far, and
    its state. For pairs in ``copied`` the tracker can predict every run of whole words of the text, for all
    others the values that the pair has in training. It can predict none and dontcare for every pair.
    """
    cases = [(*_BY_HAND, "the cases are few enough to go through by hand")]
    for unseen in (False, True):
        train = [dict(turn.state) for dialogue in simulate(30, seed=seed) for turn in dialogue.turns]
        test, config = [], SimulatorConfig(unseen=unseen)
        for dialogue in simulate(6, seed=90 + seed, config=config):
            text = ""
            for turn in dialogue.turns:
                text = f"{text} {turn.system} {turn.user}".strip()
                test.append((text, dict(turn.state)))
        cases.append((train, test, "simulated dialogues"))
    designs = {
        "with no pair copied": (),
        "with all pairs copied": PAIRS,
        "with names, foods, places and times copied": tuple(PAIRS[number] for number in OPEN),
    }
    for train, test, about in cases:
        for design, copied in designs.items():
            mistakes = {
                "a list belongs to one pair: a value seen in another pair is not on it": {"pooled": True},
                "a value is whole words: 2 is not said in 12:15": {"whole": False},
                "the words of a value must follow one another in the text": {"run": False},
                "a copied pair has no list: its value must be in the text": {"either": True},
                "dontcare can always be predicted": {"dontcare": False},
                "count turns, not values: one value out of reach makes the turn wrong": {"turns": False},
            }
            wrong = {hint: _ceiling(train, test, copied, **change) for hint, change in mistakes.items()}
            wrong["the pairs in `copied` are not chosen from the list"] = _ceiling(train, test, ())
            wrong["the pairs outside `copied` are chosen from the list"] = _ceiling(train, test, PAIRS)
            expect_close(
                answer([dict(state) for state in train], [(t, dict(s)) for t, s in test], copied),
                _ceiling(train, test, copied),
                f"{design}, a different share of the turns can be right; {about}",
                wrong=wrong,
                what="the ceiling",
            )


_BY_HAND: tuple[list[dict[str, str]], list[tuple[str, dict[str, str]]]] = (
    [
        {"hotel-name": "copper inn", "hotel-parking": "yes", "hotel-book people": "3"},
        {"taxi-destination": "quiet inn", "train-day": "friday"},
    ],
    [
        ("hello .", {}),
        ("a room with parking please .", {"hotel-parking": "yes"}),
        ("i want to stay at quiet inn .", {"hotel-name": "quiet inn"}),
        ("can i stay at quiet inn ?", {"hotel-name": "quiet inn"}),
        ("i do not mind the price .", {"hotel-pricerange": DONTCARE}),
        ("the price does not matter .", {"hotel-pricerange": DONTCARE}),
        ("any price is fine .", {"hotel-pricerange": DONTCARE}),
        *[("we arrive at 12:15 , for both of us .", {"hotel-book people": "2"})] * 4,
        *[("is the inn quiet ? yes . then there .", {"hotel-name": "quiet inn"})] * 5,
        *[("on friday , with parking .", {"train-day": "friday", "hotel-parking": "yes"})] * 6,
        *[("for 3 people , on monday .", {"hotel-book people": "3", "train-day": "monday"})] * 7,
        *[("copper inn , this time on sunday .", {"hotel-name": "copper inn", "train-day": "sunday"})] * 8,
    ],
)


def _ceiling(
    train: Sequence[Mapping[str, str]],
    test: Sequence[tuple[str, Mapping[str, str]]],
    copied: Collection[str],
    *,
    pooled: bool = False,
    whole: bool = True,
    run: bool = True,
    either: bool = False,
    dontcare: bool = True,
    turns: bool = True,
) -> float:
    """Return the ceiling of `check_ceiling`; every keyword that is not its default is a plausible mistake."""
    listed = {(pair, value) for state in train for pair, value in state.items()}
    values = {value for _, value in listed}

    def within_reach(pair: str, value: str, text: str) -> bool:
        on_list = value in values if pooled else (pair, value) in listed
        said = f" {value} " in f" {text} " if whole else value in text
        if not run:
            said = set(value.split()) <= set(text.split())
        if value == DONTCARE and dontcare:
            return True
        if pair in copied:
            return said or (either and on_list)
        return on_list

    right = [[within_reach(pair, value, text) for pair, value in state.items()] for text, state in test]
    if not turns:
        return float(np.mean([one for turn in right for one in turn]))
    return float(np.mean([all(turn) for turn in right]))


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
    title="Follow a value through the layers",
    minutes=15,
    points=2,
    hint="Two layers are two steps along the mask: multiply matrices, and let each token keep what it has.",
)
def check_reach(answer: Callable[..., Any], seed: int) -> None:
    """Check ``reach(allowed, layers)``: which inputs a token's output can depend on after several layers.

    ``allowed`` (S, S) is bool, true where a query (row) may attend to a key (column), in every layer. Each
    layer adds to a token what it reads, so that a token also keeps what it has. The answer (S, S) is bool,
    true where the output of the row's token can depend on the input of the column's token.
    """
    draw = torch.Generator().manual_seed(60 + seed)
    blocked = ds_mask(torch.ones(1, 2, dtype=torch.bool), 3, blocked=True)[0, 0] == 0
    cases = [
        (blocked, 1, "with slots blocked and one layer, no slot reaches another slot"),
        (blocked, 2, "with slots blocked and two layers, words pass on what a slot has"),
        (
            torch.ones(4, dtype=torch.bool).diag(-1),
            3,
            "each token reads the one before it",
        ),
    ]
    for layers in (1, 2, 3, 4):
        sparse = torch.rand(9, 9, generator=draw) < 0.15
        cases.append((sparse, layers, f"with this mask of nine tokens and {layers} layers"))
    for allowed, layers, about in cases:
        kept = allowed | torch.eye(len(allowed), dtype=torch.bool)
        right = _paths(kept, layers) > 0
        expect_close(
            answer(allowed.clone(), layers),
            right.float(),
            f"{about}: some tokens are reached that cannot be, or the reverse",
            wrong={
                "this is what one layer reaches: each further layer passes it on": kept.float(),
                "a token keeps what it has, even where it may not attend to itself": (
                    _paths(allowed, layers) > 0
                ).float(),
                "one layer is one step: this takes a step too many": (_paths(kept, layers + 1) > 0).float(),
                "one layer is one step: this takes a step too few": (_paths(kept, layers - 1) > 0).float(),
                "this is transposed: the row is the token whose output is asked for": right.T.float(),
                "one path is enough: return true or false, not the number of paths": _paths(kept, layers),
            },
            what="the matrix",
        )


def _paths(steps: torch.Tensor, layers: int) -> torch.Tensor:
    """Count the paths of `layers` steps from each row to each column."""
    return torch.linalg.matrix_power(steps.float(), layers)


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
