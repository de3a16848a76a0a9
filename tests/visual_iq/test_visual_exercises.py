"""Every exercise turns the stub away with its hint, passes its solution, and knows a plausible mistake."""

import copy

import numpy as np
import pytest
import torch

from reasonlib.grading import checks
from reasonlib.visual_iq.data.example import ANGLES
from reasonlib.visual_iq.page import exercises

ALL = checks.exercises("visual_iq")


def row_rules(rows, *, both=True):
    chosen = rows if both else rows[:1]
    found = set()
    if all(len(set(row)) == 1 for row in chosen):
        found.add("constant")
    steps = {step for a, b, c in chosen for step in (b - a, c - b)}
    if len(steps) == 1 and 0 not in steps:
        found.add("progression")
    if all(a + b == c for a, b, c in chosen) or all(a - b == c for a, b, c in chosen):
        found.add("arithmetic")
    first, second = rows
    if len(set(first)) == 3 and set(first) == set(second) and first != second:
        found.add("distribute three")
    return found


def overlap(ours, theirs, *, union=True):
    low = torch.maximum(ours[:, None, :2], theirs[None, :, :2])
    high = torch.minimum(ours[:, None, 2:], theirs[None, :, 2:])
    inside = (high - low).clamp(min=0).prod(-1)
    area = [(boxes[:, 2:] - boxes[:, :2]).prod(-1) for boxes in (ours, theirs)]
    return inside / (area[0][:, None] + area[1][None] - (inside if union else 0))


def angle_ceiling(fold, *, groups=True):
    seen = len({angle * fold % 360 for angle in ANGLES})
    return seen / len(ANGLES) if groups else 1 / fold


def contrast(features, h, *, axis=1):
    return features - h(features.sum(axis, keepdim=True))


def without_contrast(model, *, apart=True):
    other = copy.deepcopy(model) if apart else model
    other.contrast = torch.nn.Identity()
    return other


def vote(candidates, *, angles=False):
    seen = (candidates if angles else candidates[:, :, :3]).reshape(8, -1)
    filled = candidates[:, :, 0] > 0
    columns = [*seen.T.tolist(), [tuple(row) for row in filled], filled.sum(1).tolist()]
    columns.append([tuple(row) for row in seen])
    agree = sum(np.array([[a == b for b in column] for a in column]).sum(1) for column in columns)
    return int(agree.argmax()) if not angles else int(agree.argmin())


def border(problems, seed, *, carriers=3):
    draw = np.random.default_rng(seed)
    levels = np.zeros((len(problems), 16), dtype=int)
    for one, target in enumerate(problems.target):
        three = draw.permutation(4)[:3]
        turn = draw.choice([1, 2])
        square = np.stack([np.roll(three, turn * row) for row in range(3)]).ravel()
        others = draw.permutation([c for c in range(8) if c != target])
        levels[one, :8] = square[:8]
        levels[one, [8 + target, *(8 + others[:carriers])]] = square[8]
        wrong = [level for level in range(4) if level != square[8]]
        levels[one, 8 + others[carriers:]] = draw.choice(wrong, 7 - carriers)
    return levels


# the name, its solution, a mistake, and what the student is told of it
TRIED = {
    "row_rules": (row_rules, lambda rows: row_rules(rows, both=False), "row"),
    "overlap": (overlap, lambda a, b: overlap(a, b, union=False), "twice"),
    "angle_ceiling": (angle_ceiling, lambda fold: angle_ceiling(fold, groups=False), "look different"),
    "contrast": (contrast, lambda x, h: contrast(x, h, axis=0), "the second axis"),
    "without_contrast": (
        without_contrast,
        lambda model: without_contrast(model, apart=False),
        "change a copy of it",
    ),
    "vote": (vote, lambda candidates: vote(candidates, angles=True), "of RAVEN's problems"),
    "border": (border, lambda problems, seed: border(problems, seed, carriers=2), "four of the eight"),
}


def test_every_exercise_is_tried():
    assert {one.name for one in ALL} == set(TRIED)


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_stub_solution_mistake(one):
    solution, mistake, told = TRIED[one.name]
    assert one(checks.stub()).untouched
    assert one(solution).passed, one(solution).message
    found = one(mistake)
    assert not found.passed and not found.untouched
    assert told in found.message


class Changed(torch.nn.Module):
    """In the place of the contrast: zeros, or the common part itself."""

    def __init__(self, contrast, kind):
        super().__init__()
        self.contrast, self.kind = contrast, kind

    def forward(self, features):
        common = features - self.contrast(features)
        return {"nothing": 0 * features, "common": common, "same": features - common}[self.kind]


@pytest.mark.parametrize(
    ("kind", "told"),
    [("nothing", "nothing reaches"), ("common", "only what was subtracted"), ("same", "still contrasts")],
)
def test_contrast_put_out_in_the_wrong_way(kind, told):
    def wrong(model):
        other = copy.deepcopy(model)
        other.contrast = Changed(other.contrast, kind)
        return other

    assert told in exercises.check_without_contrast(wrong).message


def test_what_is_no_reasoner():
    assert "return a Reasoner, not int" in exercises.check_without_contrast(lambda model: 3).message
