"""Teacher's edition of `visual_iq`: solutions, wrong answers, and what each of them teaches."""

import copy
import itertools
from functools import partial

import numpy as np
import torch

from reasonlib.grading.edition import Mistake, Solved
from reasonlib.visual_iq.data.example import ANGLES


def row_rules(rows, *, both=True):
    chosen = rows if both else rows[:1]
    rules = set()
    if all(len(set(row)) == 1 for row in chosen):
        rules.add("constant")
    steps = {step for a, b, c in chosen for step in (b - a, c - b)}
    if len(steps) == 1 and 0 not in steps:
        rules.add("progression")
    if all(a + b == c for a, b, c in chosen) or all(a - b == c for a, b, c in chosen):
        rules.add("arithmetic")
    first, second = rows
    if len(set(first)) == 3 and set(first) == set(second) and first != second:
        rules.add("distribute three")
    return rules


def overlap(ours, theirs, *, union=True):
    low = torch.maximum(ours[:, None, :2], theirs[None, :, :2])
    high = torch.minimum(ours[:, None, 2:], theirs[None, :, 2:])
    inside = (high - low).clamp(min=0).prod(-1)
    area = [(boxes[:, 2:] - boxes[:, :2]).prod(-1) for boxes in (ours, theirs)]
    return inside / (area[0][:, None] + area[1][None] - (inside if union else 0))


def angle_ceiling(fold, *, groups=True):
    count = len({angle * fold % 360 for angle in ANGLES})
    return count / len(ANGLES) if groups else 1 / fold


def contrast(features, h, *, axis=1):
    return features - h(features.sum(axis, keepdim=True))


def without_contrast(model, *, apart=True):
    other = copy.deepcopy(model) if apart else model
    other.contrast = torch.nn.Identity()
    return other


def vote(candidates, *, angles=False):
    levels = (candidates if angles else candidates[:, :, :3]).reshape(8, -1)
    filled = candidates[:, :, 0] > 0
    columns = [*levels.T.tolist(), [tuple(row) for row in filled], filled.sum(1).tolist()]
    columns.append([tuple(row) for row in levels])
    agree = sum(np.array([[a == b for b in column] for a in column]).sum(1) for column in columns)
    return int(agree.argmax()) if not angles else int(agree.argmin())


def border(problems, seed, *, carriers=3, alike=True):
    draw = np.random.default_rng(seed)
    levels = np.zeros((len(problems), 16), dtype=int)
    for index, target in enumerate(problems.target):
        three = draw.permutation(4)[:3]
        turn = draw.choice([1, 2])
        square = np.stack([np.roll(three, turn * row) for row in range(3)]).ravel()
        others = draw.permutation([c for c in range(8) if c != target])
        levels[index, :8] = square[:8]
        levels[index, [8 + target, *(8 + others[:carriers])]] = square[8]
        wrong = [level for level in range(4) if level != square[8]]
        levels[index, 8 + others[carriers:]] = draw.choice(wrong, None if alike else 7 - carriers)
    return levels


def answer_set(right, levels, seed):
    draw = np.random.default_rng(seed)
    pairs = [(r, (r + draw.integers(1, n)) % n) for r, n in zip(right, levels, strict=True)]
    order = draw.permutation(8)
    return np.array(list(itertools.product(*pairs)))[order], int(order.argmin())


def keep_best(overlaps, scores, threshold):
    kept = []
    for box in scores.argsort(descending=True).tolist():
        if not any(overlaps[box, other] > threshold for other in kept):
            kept.append(box)
    return kept


def twin(panel):
    other = panel.copy()
    filled = np.flatnonzero(panel[:, 0] > 0)
    for attribute in range(3):
        different = filled[panel[filled, attribute] != panel[filled[0], attribute]]
        if len(different):
            pair = [filled[0], different[0]]
            other[pair, attribute] = panel[pair[::-1], attribute]
            return other
    return other


def preferred_share(candidates, right):
    change = candidates - candidates[right]
    above, below = (change > 0).any(0), (change < 0).any(0)
    return 0.0 if (above & below).any() else 0.5 ** (above | below).sum()


def other_questions(entities, configuration):
    result = entities.copy()
    for layout in np.unique(configuration):
        members = np.flatnonzero(configuration == layout)
        result[members, :8] = entities[np.roll(members, 1), :8]
    return result


def one_change(right, levels, seed):
    """Make the candidates as RAVEN does: each wrong one changes one attribute."""
    draw = np.random.default_rng(seed)
    changes = [(a, level) for a in range(3) for level in range(levels[a]) if level != right[a]]
    candidates = np.array([right] * 8)
    for row, (a, level) in enumerate(draw.permutation(changes)[:7], 1):
        candidates[row, a] = level
    order = draw.permutation(8)
    return candidates[order], int(order.argmin())


def in_order(right, levels, seed):
    candidates, target = answer_set(right, levels, seed)
    order = [target, *[c for c in range(8) if c != target]]
    return candidates[order], 0


def next_level(right, levels, seed):
    """Take the next level for the wrong one, not a drawn one."""
    pairs = [(r, (r + 1) % n) for r, n in zip(right, levels, strict=True)]
    order = np.random.default_rng(seed).permutation(8)
    return np.array(list(itertools.product(*pairs)))[order], int(order.argmin())


def all_together(right, levels, seed):
    """Change the three attributes together: each is balanced, and the candidates repeat."""
    candidates, target = answer_set(right, levels, seed)
    wrong = candidates[(candidates != right).all(1)][0]
    turn = np.arange(8) % 2 == target % 2
    return np.where(turn[:, None], right, wrong), target


def any_better(overlaps, scores, threshold):
    """Let dropped boxes drop others, too."""
    better = scores[None, :] > scores[:, None]
    kept = ~((overlaps > threshold) & better).any(1)
    return [box for box in scores.argsort(descending=True).tolist() if kept[box]]


def other_slots(panel):
    """Move an entity to an empty slot, or remove one where all slots are filled."""
    other = panel.copy()
    full = np.flatnonzero(panel[:, 0] > 0)[0]
    empty = np.flatnonzero(panel[:, 0] == 0)
    if len(empty):
        other[empty[0]] = panel[full]
    other[full] = 0
    return other


def other_level(panel):
    other = panel.copy()
    full = np.flatnonzero(panel[:, 0] > 0)[0]
    other[full, 1] = (panel[full, 1] + 1) % 6
    return other


def other_angles(panel):
    other = panel.copy()
    other[:, 3] = np.where(panel[:, 0] > 0, (panel[:, 3] + 1) % 8, 0)
    return other


def one_sided(candidates, right):
    """Count the attributes that differ, and forget that levels may lie on both sides."""
    return 0.5 ** (candidates != candidates[right]).any(0).sum()


def highest_only(candidates, right):
    """Let each weight be above zero."""
    return float((candidates <= candidates[right]).all())


def always_three(candidates, right):
    return 0.0 if preferred_share(candidates, right) == 0 else 0.5**3


def each_candidate(candidates, right):
    return 0.0 if preferred_share(candidates, right) == 0 else 0.5**7


def any_layout(entities, configuration):
    return np.concatenate([np.roll(entities[:, :8], 1, axis=0), entities[:, 8:]], 1)


def no_question(entities, configuration):
    result = entities.copy()
    result[:, :8] = 0
    return result


def own_question(entities, configuration):
    """Shuffle within a layout, so that some problems keep their own."""
    draw = np.random.default_rng(0)
    result = entities.copy()
    for layout in np.unique(configuration):
        members = np.flatnonzero(configuration == layout)
        order = draw.permutation(members)
        order[0] = members[0]
        result[members, :8] = entities[order, :8]
    return result


def panel_by_panel(entities, configuration):
    """Take each panel of a question from another problem."""
    result = entities.copy()
    for layout in np.unique(configuration):
        members = np.flatnonzero(configuration == layout)
        for panel in range(8):
            result[members, panel] = entities[np.roll(members, panel + 1), panel]
    return result


def one_rule(rows, order=("constant", "progression", "arithmetic", "distribute three")):
    """Stop at the first rule that fits."""
    rules = row_rules(rows)
    return {next(rule for rule in order if rule in rules)} if rules else set()


def mixed_arithmetic(rows):
    rules = row_rules(rows)
    if all(a + b == c or a - b == c for a, b, c in rows):
        rules.add("arithmetic")
    return rules


def any_order(rows):
    rules = row_rules(rows)
    if len(set(rows[0])) == 3 and set(rows[0]) == set(rows[1]):
        rules.add("distribute three")
    return rules


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
    for index, target in enumerate(problems.target):
        right = levels[index, 8 + target]
        carry = [target, *[c for c in range(8) if c != target][:3]]
        levels[index, 8:] = (right + 1) % 4
        levels[index, [8 + c for c in carry]] = right
    return levels


EDITION = {
    "row_rules": Solved(
        row_rules,
        [
            Mistake(partial(row_rules, both=False), "row", "a rule explains both rows"),
            Mistake(one_rule, "can be arithmetic, too|two rules may", "rules do not exclude each other"),
            Mistake(mixed_arithmetic, "a sum in one row and a difference", "one rule, not one a row"),
            Mistake(any_order, "the order of the three levels must change", "a Latin square shifts"),
            Mistake(lambda rows: list(row_rules(rows)), "return a set", "a set has no order"),
        ],
    ),
    "answer_set": Solved(
        answer_set,
        [
            Mistake(
                one_change,
                "must show two levels|a vote would count",
                "RAVEN's way: a vote finds what the others share",
            ),
            Mistake(in_order, "stands at place 0", "a place is evidence"),
            Mistake(next_level, "all 4 other levels", "a fixed distance is evidence"),
            Mistake(all_together, "two of your candidates are equal", "eight combinations, not two"),
            Mistake(
                lambda right, levels, seed: answer_set(right, levels, 0),
                "another seed",
                "a seed is an argument",
            ),
        ],
    ),
    "overlap": Solved(
        overlap,
        [
            Mistake(partial(overlap, union=False), "twice", "what the union counts"),
            Mistake(unclipped, "clip the sides", "two negative sides make a positive area"),
            Mistake(lambda a, b: overlap(a, b).T, "the axes are exchanged", "a row for each of ours"),
            Mistake(lambda a, b: overlap(a, a), "must have shape|share", "two lists of boxes"),
        ],
    ),
    "keep_best": Solved(
        keep_best,
        [
            Mistake(any_better, "must not drop others", "the order of decisions is part of the rule"),
            Mistake(
                lambda overlaps, scores, threshold: keep_best(overlaps, -scores, threshold),
                "from the highest score down",
                "which of two boxes survives",
            ),
            Mistake(lambda *a: sorted(keep_best(*a)), "the highest score first", "a list has an order"),
            Mistake(
                lambda overlaps, scores, threshold: scores.argmax().reshape(1),
                "the highest score alone",
                "one box for each object, not one in all",
            ),
            Mistake(
                lambda overlaps, scores, threshold: overlaps > threshold,
                "a list of the numbers",
                "an interface is part of the task",
            ),
        ],
    ),
    "angle_ceiling": Solved(
        angle_ceiling,
        [
            Mistake(partial(angle_ceiling, groups=False), "not every fold", "eight angles, not all angles"),
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
            Mistake(partial(contrast, axis=0), "the second axis", "which axis holds the candidates"),
            Mistake(lambda x, h: x - h(x.mean(1, keepdim=True)), "not the mean", "the source sums"),
            Mistake(lambda x, h: x - h(x).sum(1, keepdim=True), "h comes after the sum", "h is not linear"),
            Mistake(lambda x, h: 2 * x - contrast(x, h), "do not add", "what is common is taken away"),
        ],
    ),
    "without_contrast": Solved(
        without_contrast,
        [
            Mistake(partial(without_contrast, apart=False), "change a copy", "models are mutable"),
            Mistake(contrast_changed("nothing"), "nothing reaches", "an ablation removes one thing"),
            Mistake(contrast_changed("common"), "only what was subtracted", "which part is kept"),
            Mistake(contrast_changed("same"), "still contrasts", "a copy alone changes nothing"),
            Mistake(lambda model: 3, "return a Reasoner, not int", "an interface is part of the task"),
        ],
    ),
    "twin": Solved(
        twin,
        [
            Mistake(other_slots, "fill the same slots", "one of the streams is that of positions"),
            Mistake(other_level, "show each size equally often", "a sum keeps which levels occur"),
            Mistake(other_angles, "the type, size or colour", "angles are noise"),
            Mistake(lambda panel: panel, "what the panel shows", "two panels, not one"),
            Mistake(
                lambda panel: panel[panel[:, 0] > 0], "of shape (9, 4)", "a table has a row for each slot"
            ),
        ],
    ),
    "vote": Solved(
        vote,
        [
            Mistake(partial(vote, angles=True), "of RAVEN's problems", "noise is not evidence"),
            Mistake(lambda candidates: 0, "compare the candidates", "chance is one in eight"),
            Mistake(
                lambda candidates: int((candidates == candidates[:1]).sum((1, 2)).argmax()),
                "of RAVEN's problems",
                "the first candidate is not the standard",
            ),
            Mistake(lambda candidates: 8, "0 to 7", "positions count from 0"),
        ],
    ),
    "preferred_share": Solved(
        preferred_share,
        [
            Mistake(one_sided, "look at both sides", "what lies in the middle is never extreme"),
            Mistake(
                highest_only, "may be below zero|half of the draws", "a preference for little is one, too"
            ),
            Mistake(always_three, "decides nothing", "only what differs matters"),
            Mistake(each_candidate, "do not lose independently", "one weight judges many candidates"),
            Mistake(
                lambda candidates, right: 1 / 8,
                "look at both sides|decides nothing",
                "chance is the mean, not the rule",
            ),
        ],
    ),
    "other_questions": Solved(
        other_questions,
        [
            Mistake(any_layout, "of its own layout", "change one thing at a time"),
            Mistake(no_question, "an empty question", "inputs unlike those of training prove little"),
            Mistake(own_question, "keeps its own question", "a permutation has fixed points"),
            Mistake(panel_by_panel, "that of no problem", "a question is a whole, with its rules"),
            Mistake(
                lambda entities, configuration: np.roll(entities, 1, axis=0),
                "the candidates must stay",
                "what is tested is the link between the two",
            ),
        ],
    ),
    "border": Solved(
        border,
        [
            Mistake(partial(border, carriers=2), "four of the eight", "how an answer gives itself away"),
            Mistake(partial(border, alike=False), "share one wrong level", "what is most common is evidence"),
            Mistake(lambda problems, seed: border(problems, 0), "another seed", "a seed is an argument"),
            Mistake(one_square, "choices of three levels", "each problem draws anew"),
            Mistake(rows_repeat, "a column repeats", "a Latin square has columns, too"),
            Mistake(first_four, "must be drawn, too|must be drawn too", "positions are evidence"),
        ],
    ),
}
