"""Teacher's edition of `state_tracking`: solutions, wrong answers, and what each of them teaches."""

from functools import partial
from itertools import combinations

import torch

from reasonlib.grading.edition import Mistake, Solved
from reasonlib.state_tracking.data.ontology import PAIRS

TAKEN = [
    ("", "i need a place to eat in the north ."),
    ("how about silver oven ? it is in the north .", "okay , let us take it ."),
]


def joint_goal(predicted, labels, right=lambda state, label: state == label):
    return sum(map(right, predicted, labels)) / len(labels)


def slot_accuracy(predicted, labels):
    pairs = 30
    wrong = sum(
        len({*s, *t}) - sum(s.get(p) == t.get(p) for p in {*s, *t})
        for s, t in zip(predicted, labels, strict=True)
    )
    return 1 - wrong / (pairs * len(labels))


def first_errors(predicted, labels, *, missing=True, cumulative=False):
    wrong = new = 0
    before = set()
    for state, label in zip(predicted, labels, strict=True):
        pairs = {*state, *label} if missing else {*state}
        errors = {(pair, state.get(pair)) for pair in pairs if state.get(pair) != label.get(pair)}
        wrong, new = wrong + bool(errors), new + bool(errors - before)
        before = before | errors if cumulative else errors
    return wrong, new


def every_wrong_turn(predicted, labels):
    wrong, _ = first_errors(predicted, labels)
    return wrong, wrong


def first_of_wrong_turns(predicted, labels):
    wrong = [state != label for state, label in zip(predicted, labels, strict=True)]
    return sum(wrong), sum(now and not before for before, now in zip([False, *wrong], wrong, strict=False))


def with_errors(state, count, pairs=PAIRS):
    return {**state, **dict.fromkeys(pairs[:count], "wrong")}


def extremes(labels, errors):
    turns, pairs = len(labels), len(PAIRS)
    packed = [with_errors(s, max(0, min(pairs, errors - pairs * t))) for t, s in enumerate(labels)]
    shares = [errors // turns + (turn < errors % turns) for turn in range(turns)]
    return packed, list(map(with_errors, labels, shares))


def extremes_of_filled_pairs(labels, errors):
    _, spread = extremes(labels, errors)
    packed = list(labels)
    for turn in sorted(range(len(labels)), key=lambda turn: -len(labels[turn])):
        filled = min(errors, len(labels[turn]))
        packed[turn] = with_errors(labels[turn], filled, list(labels[turn]))
        errors -= filled
    return packed, spread


def extremes_two_a_turn(labels, errors):
    packed, _ = extremes(labels, errors)
    shares = [max(0, min(2, errors - 2 * turn)) for turn in range(len(labels))]
    shares[0] += errors - sum(shares)
    return packed, list(map(with_errors, labels, shares))


def order_gap(encode, tokens, words, *, exchanges=None, back=True, size=lambda gap: gap.abs().max()):
    plain, gaps = encode(tokens, words), []
    for i, j in exchanges or combinations(range(len(tokens)), 2):
        order = list(range(len(tokens)))
        order[i], order[j] = j, i
        outputs = encode(tokens[order], words)
        gaps.append((outputs[order] if back else outputs) - plain)
    return float(size(torch.stack(gaps)))


def ceiling(train, test, copied, *, pooled=False, substring=False, either=False, dontcare=True, turns=True):
    listed = {(pair, value) for state in train for pair, value in state.items()}
    values = {value for _, value in listed}

    def possible(pair, value, text):
        if value == "dontcare" and dontcare:
            return True
        on_list = value in values if pooled else (pair, value) in listed
        in_text = value in text if substring else f" {value} " in f" {text} "
        if pair in copied:
            return in_text or (either and on_list)
        return on_list

    right = [[possible(pair, value, text) for pair, value in state.items()] for text, state in test]
    shares = [all(turn) for turn in right] if turns else [reachable for turn in right for reachable in turn]
    return sum(shares) / len(shares)


def gated(gates, values, *, threshold=0.0):
    return torch.where(gates > threshold, values.argmax(2), 0)


def block_mask(slots, words, *, words_see_slots=True, diagonal=True):
    allowed = torch.ones(slots + words, slots + words, dtype=torch.bool)
    allowed[:slots, :slots] = torch.eye(slots, dtype=torch.bool) if diagonal else False
    if not words_see_slots:
        allowed[slots:, :slots] = False
    return allowed


def reach(allowed, layers, *, keep=True):
    step = (allowed | torch.eye(len(allowed), dtype=torch.bool) if keep else allowed).float()
    return torch.linalg.matrix_power(step, layers) > 0


def number_of_paths(allowed, layers):
    return torch.linalg.matrix_power(allowed.float() + torch.eye(len(allowed)) * ~allowed, layers)


EDITION = {
    "joint_goal": Solved(
        joint_goal,
        [
            Mistake(slot_accuracy, "this is slot accuracy", "most pairs are empty, and right for free"),
            Mistake(
                lambda p, t: joint_goal(p, t, lambda s, label: label.items() <= s.items()),
                "predicted and has no value",
                "a value too many is an error",
            ),
            Mistake(
                lambda p, t: joint_goal(p, t, lambda s, label: s.items() <= label.items()),
                "a pair that is missing|makes the turn wrong, too",
                "silence is an error",
            ),
            Mistake(
                lambda p, t: joint_goal(p, t, lambda s, label: s.keys() == label.keys()),
                "their values must be right",
                "finding the slot is half of it",
            ),
            Mistake(
                lambda p, t: sum(map(dict.__eq__, p, t)),
                "not a number of turns",
                "shares compare, counts do not",
            ),
        ],
    ),
    "first_errors": Solved(
        first_errors,
        [
            Mistake(every_wrong_turn, "every wrong turn is counted as new", "an error stays in the state"),
            Mistake(first_of_wrong_turns, "four turns are wrong", "a second error hides behind a first one"),
            Mistake(partial(first_errors, missing=False), "missing|turns are wrong", "silence is an error"),
            Mistake(
                partial(first_errors, cumulative=True), "new again|turns are wrong", "an error can come back"
            ),
        ],
    ),
    "extremes": Solved(
        extremes,
        [
            Mistake(lambda *a: extremes(*a)[::-1], "the lists are exchanged", "which metric is to be high"),
            Mistake(
                extremes_of_filled_pairs,
                "in its empty pairs, too|wrong pairs in all",
                "a value that should not be there is an error",
            ),
            Mistake(extremes_two_a_turn, "no turn a second error", "one error is enough to lose a turn"),
            Mistake(
                lambda labels, errors: extremes(labels, min(errors, len(labels))),
                "wrong pairs in all",
                "a turn can have more than one error",
            ),
            Mistake(
                lambda labels, errors: ([{}] * len(labels),) * 2,
                "wrong pairs in all",
                "only equal slot accuracies make the comparison fair",
            ),
        ],
    ),
    "order_gap": Solved(
        order_gap,
        [
            Mistake(
                partial(order_gap, back=False),
                "put the outputs back",
                "outputs that move with their inputs are not outputs that stay",
            ),
            Mistake(
                partial(order_gap, exchanges=[(0, 1)]),
                "not the first two alone",
                "one exchange without effect proves nothing about the others",
            ),
            Mistake(
                partial(order_gap, size=lambda gap: gap.abs().mean()),
                "not the mean",
                "a mean dilutes what happens in one place",
            ),
            Mistake(partial(order_gap, size=torch.max), "take its absolute value", "a difference has a sign"),
        ],
    ),
    "ceiling": Solved(
        ceiling,
        [
            Mistake(
                partial(ceiling, pooled=True),
                "a list belongs to one pair",
                "a name that one pair knows is new to another",
            ),
            Mistake(
                partial(ceiling, substring=True), "whole words", "a span is made of tokens, not of letters"
            ),
            Mistake(
                partial(ceiling, either=True),
                "a copied pair has no list",
                "why yes and no are better chosen than copied",
            ),
            Mistake(
                partial(ceiling, dontcare=False),
                "dontcare can always be predicted",
                "dontcare is on every list",
            ),
            Mistake(
                partial(ceiling, turns=False),
                "count turns, not values",
                "joint goal accuracy needs all values of a turn",
            ),
            Mistake(
                lambda train, test, copied: ceiling(train, test, ()),
                "the pairs in `copied` are not chosen",
                "what a pointer into the dialogue adds",
            ),
        ],
    ),
    "gated": Solved(
        gated,
        [
            Mistake(lambda gates, values: values.argmax(2), "the gate is not used", "why there is a gate"),
            Mistake(partial(gated, threshold=0.5), "a logit above zero", "logits are not probabilities"),
            Mistake(
                lambda gates, values: torch.where(gates > 0, 0, values.argmax(2)),
                "the wrong way round",
                "what an open gate lets through",
            ),
        ],
    ),
    "block_mask": Solved(
        block_mask,
        [
            Mistake(
                lambda s, w: torch.ones(s + w, s + w, dtype=torch.bool),
                "nothing is blocked",
                "what is to be blocked",
            ),
            Mistake(
                partial(block_mask, diagonal=False), "still attends to itself", "a token needs its own state"
            ),
            Mistake(
                partial(block_mask, words_see_slots=False), "words still attend", "which square is blocked"
            ),
            Mistake(
                lambda *a: ~block_mask(*a), "true means that a query may attend", "two conventions of masks"
            ),
        ],
    ),
    "reach": Solved(
        reach,
        [
            Mistake(
                lambda allowed, layers: reach(allowed, 1),
                "what one layer reaches",
                "a mask blocks one step, not the way round",
            ),
            Mistake(
                partial(reach, keep=False),
                "a token keeps what it has",
                "the residual connection is a path, too",
            ),
            Mistake(
                lambda allowed, layers: reach(allowed, layers + 1),
                "a step too many",
                "the first layer is the first step",
            ),
            Mistake(
                lambda *a: reach(*a).T, "transposed", "queries are rows: information goes from column to row"
            ),
            Mistake(number_of_paths, "one path is enough", "possible is not how often"),
        ],
    ),
    "breaking_dialogue": Solved(
        lambda: (
            [*TAKEN, ("is there anything else ?", "can you get me there ?")],
            "restaurant-name",
            "taxi-destination",
        ),
        [
            Mistake(
                lambda: (
                    [*TAKEN, ("is there anything else ?", "i need a taxi to silver oven .")],
                    "restaurant-name",
                    "taxi-destination",
                ),
                "refer to it instead",
                "copying is easy, inheriting is not",
            ),
            Mistake(lambda: (TAKEN, "restaurant-name", "no-pair"), "among the 30", "the ontology is fixed"),
            Mistake(
                lambda: (
                    [*TAKEN, ("is there anything else ?", "can you get me there ?")],
                    "restaurant-name",
                    "train-day",
                ),
                "the same kind of value",
                "a slot that cannot inherit breaks nothing",
            ),
            Mistake(
                lambda: (
                    [*TAKEN, ("is there anything else ?", "i need a taxi to that restaurant .")],
                    "restaurant-name",
                    "taxi-destination",
                ),
                "the tracker is right",
                "what the tracker learned to inherit",
            ),
            Mistake(
                lambda: (
                    [*TAKEN, ("", "can you get me there by zeppelin ?")],
                    "restaurant-name",
                    "taxi-destination",
                ),
                "does not know by, zeppelin|know zeppelin",
                "a word that was never seen tells nothing",
            ),
        ],
        open="the answer takes no argument: it is a dialogue of the student's own",
    ),
}
