"""Teacher's edition of `visual_iq`: solutions, wrong answers, and what each of them teaches."""

import copy

import numpy as np
import torch

from reasonlib.grading.edition import Mistake, Solved
from reasonlib.visual_iq.data.example import ANGLES


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


def one_rule(rows, order=("constant", "progression", "arithmetic", "distribute three")):
    """Stop at the first rule that fits."""
    found = row_rules(rows)
    return {next(rule for rule in order if rule in found)} if found else set()


def mixed_arithmetic(rows):
    found = row_rules(rows)
    if all(a + b == c or a - b == c for a, b, c in rows):
        found.add("arithmetic")
    return found


def any_order(rows):
    found = row_rules(rows)
    if len(set(rows[0])) == 3 and set(rows[0]) == set(rows[1]):
        found.add("distribute three")
    return found


def unclipped(ours, theirs):
    low = torch.maximum(ours[:, None, :2], theirs[None, :, :2])
    high = torch.minimum(ours[:, None, 2:], theirs[None, :, 2:])
    inside = (high - low).prod(-1)
    area = [(boxes[:, 2:] - boxes[:, :2]).prod(-1) for boxes in (ours, theirs)]
    return inside / (area[0][:, None] + area[1][None] - inside)


class Changed(torch.nn.Module):
    """In the place of the contrast: zeros, or the common part itself."""

    def __init__(self, contrast, kind):
        super().__init__()
        self.contrast, self.kind = contrast, kind

    def forward(self, features):
        """Return zeros, the common part, or what the contrast returns."""
        common = features - self.contrast(features)
        return {"nothing": 0 * features, "common": common, "same": features - common}[self.kind]


def contrast_changed(kind):
    def without(model):
        other = copy.deepcopy(model)
        other.contrast = Changed(other.contrast, kind)
        return other

    return without


def one_square(problems, seed):
    """Lay the same square out in all problems."""
    levels = border(problems, seed)
    square = np.array([0, 1, 2, 1, 2, 0, 2, 0, 1])
    right = levels[np.arange(len(problems)), 8 + problems.target]
    levels[:, 8:] = np.where(levels[:, 8:] == right[:, None], square[8], 3)
    levels[:, :8] = square[:8]
    return levels


def rows_repeat(problems, seed):
    levels = border(problems, seed)
    levels[:, 3:6] = levels[:, :3]
    return levels


def first_four(problems, seed):
    """Let the first candidates carry the right level, not drawn ones."""
    levels = border(problems, seed)
    for one, target in enumerate(problems.target):
        right = levels[one, 8 + target]
        carry = [target, *[c for c in range(8) if c != target][:3]]
        levels[one, 8:] = np.where(levels[one, 8:] == right, (right + 1) % 4, levels[one, 8:])
        levels[one, [8 + c for c in carry]] = right
    return levels


EDITION = {
    "row_rules": Solved(
        row_rules,
        [
            Mistake(lambda rows: row_rules(rows, both=False), "row", "a rule explains both rows"),
            Mistake(one_rule, "can be arithmetic, too|two rules may", "rules do not exclude each other"),
            Mistake(mixed_arithmetic, "a sum in one row and a difference", "one rule, not one a row"),
            Mistake(any_order, "the order of the three levels must change", "a Latin square shifts"),
            Mistake(lambda rows: list(row_rules(rows)), "return a set", "a set has no order"),
        ],
    ),
    "overlap": Solved(
        overlap,
        [
            Mistake(lambda a, b: overlap(a, b, union=False), "twice", "what the union counts"),
            Mistake(unclipped, "clip the sides", "two negative sides make a positive area"),
            Mistake(lambda a, b: overlap(a, b).T, "the axes are exchanged", "a row for each of ours"),
            Mistake(lambda a, b: overlap(a, a), "must have shape|share", "two lists of boxes"),
        ],
    ),
    "angle_ceiling": Solved(
        angle_ceiling,
        [
            Mistake(
                lambda fold: angle_ceiling(fold, groups=False),
                "not every fold",
                "eight angles, not all angles",
            ),
            Mistake(
                lambda fold: 8 * angle_ceiling(fold), "how many look different", "a share is a number up to 1"
            ),
            Mistake(
                lambda fold: len({angle % fold for angle in ANGLES}) / 8,
                "the turn is 360 / fold",
                "turns and degrees",
            ),
            Mistake(
                lambda fold: {3: 1.0, 4: 0.5, 5: 1.0, 6: 0.5}.get(fold, 1.0),
                "look different|360 / fold",
                "right for the shapes shown alone",
            ),
        ],
    ),
    "contrast": Solved(
        contrast,
        [
            Mistake(
                lambda x, h: contrast(x, h, axis=0), "the second axis", "which axis holds the candidates"
            ),
            Mistake(lambda x, h: x - h(x.mean(1, keepdim=True)), "not the mean", "the source sums"),
            Mistake(lambda x, h: x - h(x).sum(1, keepdim=True), "h comes after the sum", "h is not linear"),
            Mistake(lambda x, h: 2 * x - contrast(x, h), "do not add", "what is common is taken away"),
        ],
    ),
    "without_contrast": Solved(
        without_contrast,
        [
            Mistake(
                lambda model: without_contrast(model, apart=False), "change a copy", "models are mutable"
            ),
            Mistake(contrast_changed("nothing"), "nothing reaches", "an ablation removes one thing"),
            Mistake(contrast_changed("common"), "only what was subtracted", "which part is kept"),
            Mistake(contrast_changed("same"), "still contrasts", "a copy alone changes nothing"),
            Mistake(lambda model: 3, "return a Reasoner, not int", "an interface is part of the task"),
        ],
    ),
    "vote": Solved(
        vote,
        [
            Mistake(
                lambda candidates: vote(candidates, angles=True),
                "of RAVEN's problems",
                "noise is not evidence",
            ),
            Mistake(lambda candidates: 0, "compare the candidates", "chance is one in eight"),
            Mistake(
                lambda candidates: int((candidates == candidates[:1]).sum((1, 2)).argmax()),
                "of RAVEN's problems",
                "the first candidate is not the standard",
            ),
            Mistake(lambda candidates: 8, "0 to 7", "positions count from 0"),
        ],
    ),
    "border": Solved(
        border,
        [
            Mistake(
                lambda *a: border(*a, carriers=2), "four of the eight", "how an answer gives itself away"
            ),
            Mistake(lambda problems, seed: border(problems, 0), "another seed", "a seed is an argument"),
            Mistake(one_square, "choices of three levels", "each problem draws anew"),
            Mistake(rows_repeat, "a column repeats", "a Latin square has columns, too"),
            Mistake(first_four, "must be drawn, too|must be drawn too", "positions are evidence"),
        ],
    ),
}
