"""Teacher's edition of `state_tracking`: solutions, wrong answers, and what each of them teaches."""

import torch

from reasonlib.grading.edition import Mistake, Solved

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


def gated(gates, values, *, threshold=0.0):
    return torch.where(gates > threshold, values.argmax(2), 0)


def block_mask(slots, words, *, words_see_slots=True, diagonal=True):
    allowed = torch.ones(slots + words, slots + words, dtype=torch.bool)
    allowed[:slots, :slots] = torch.eye(slots, dtype=torch.bool) if diagonal else False
    if not words_see_slots:
        allowed[slots:, :slots] = False
    return allowed


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
            Mistake(
                lambda *a: first_errors(*a, missing=False), "missing|turns are wrong", "silence is an error"
            ),
            Mistake(
                lambda *a: first_errors(*a, cumulative=True),
                "new again|turns are wrong",
                "an error can come back",
            ),
        ],
    ),
    "gated": Solved(
        gated,
        [
            Mistake(lambda gates, values: values.argmax(2), "the gate is not used", "why there is a gate"),
            Mistake(
                lambda *a: gated(*a, threshold=0.5), "a logit above zero", "logits are not probabilities"
            ),
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
                lambda *a: block_mask(*a, diagonal=False),
                "still attends to itself",
                "a token needs its own state",
            ),
            Mistake(
                lambda *a: block_mask(*a, words_see_slots=False),
                "words still attend",
                "which square is blocked",
            ),
            Mistake(
                lambda *a: ~block_mask(*a), "true means that a query may attend", "two conventions of masks"
            ),
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
                    [*TAKEN, ("is there anything else ?", "i need a taxi to that restaurant .")],
                    "restaurant-name",
                    "taxi-destination",
                ),
                "the tracker is right",
                "what the tracker learnt to inherit",
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
