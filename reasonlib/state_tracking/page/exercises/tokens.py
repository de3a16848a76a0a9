"""Exercises of the chapter "A token for every slot"."""

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations

import numpy as np
import torch

from reasonlib.grading.checks import Answer, exercise, expect_close, hint
from reasonlib.state_tracking.data.ontology import DONTCARE, PAIRS
from reasonlib.state_tracking.data.simulator import SimulatorConfig, simulate
from reasonlib.state_tracking.models.span import OPEN

__all__ = ["check_ceiling", "check_gated", "check_order_gap"]


@exercise(title="The gate decides", minutes=5, points=1)
@hint("`torch.where` chooses between the best candidate and 0.")
def check_gated(answer: Answer, seed: int) -> None:
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


@exercise(title="Test that order means nothing", minutes=15, points=2)
@hint("`tokens[order]` exchanges two rows, if `order` does. What puts the output rows back in order?")
def check_order_gap(answer: Answer, seed: int) -> None:
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
    for i, j in combinations(range(len(tokens)), 2):
        order = list(range(len(tokens)))
        order[i], order[j] = j, i
        outputs = encode(tokens[order], words)
        gaps.append((outputs[order] if back else outputs) - plain)
    return torch.stack(gaps)


@exercise(title="Find the ceiling of a closed list", minutes=20, points=3)
@hint("Collect the values that each pair has in training; a turn needs all its values.")
def check_ceiling(answer: Answer, seed: int) -> None:
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
            wrong = {message: _ceiling(train, test, copied, **change) for message, change in mistakes.items()}
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
        in_text = f" {value} " in f" {text} " if whole else value in text
        if not run:
            in_text = set(value.split()) <= set(text.split())
        if value == DONTCARE and dontcare:
            return True
        if pair in copied:
            return in_text or (either and on_list)
        return on_list

    right = [[within_reach(pair, value, text) for pair, value in state.items()] for text, state in test]
    if not turns:
        return float(np.mean([reachable for turn in right for reachable in turn]))
    return float(np.mean([all(turn) for turn in right]))
