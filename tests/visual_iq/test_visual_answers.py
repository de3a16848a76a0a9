"""Three ways to be wrong: what each changes, and how much of the answer it gives away."""

import numpy as np
import pytest

from reasonlib.visual_iq.data import distractors
from reasonlib.visual_iq.data.distractors import DISTRACTORS
from reasonlib.visual_iq.data.example import CONFIGURATIONS, GOVERNED, KEYS
from reasonlib.visual_iq.data.grammar import CONSTANT, root_range
from reasonlib.visual_iq.data.modifications import MODIFIABLE, count_alternatives
from reasonlib.visual_iq.data.simulator import simulate
from reasonlib.visual_iq.data.simulator_fit import modified_attributes

NUMBER = 300
SINGLE = [key for key in KEYS if "distribute" not in key]


@pytest.fixture(scope="module", params=KEYS)
def key(request):
    return request.param


def changes(problems):
    """How many attributes of the answer each of the wrong candidates has otherwise: (N, 7)."""
    modified = np.stack(list(modified_attributes(problems).values())).sum(0)
    return modified[np.arange(8) != problems.target[:, None]].reshape(-1, 7)


def test_raven_changes_one_attribute(key):
    many = changes(simulate(key, NUMBER, seed=8))
    if key in SINGLE:
        assert (many == 1).all()
    else:  # a new number brings new figures
        assert (many >= 1).all()
        assert (many == 1).mean() > 0.5


def test_i_raven_makes_all_eight_combinations(key):
    problems = simulate(key, NUMBER, seed=8, answers="i-raven")
    modified = np.stack(list(modified_attributes(problems).values()))  # (attributes, N, 8)
    if key in SINGLE:
        assert (np.sort(modified.sum(0), axis=1) == [0, 1, 1, 1, 2, 2, 2, 3]).all()
        assert np.isin(modified.sum(2), (0, 4)).all()


def test_every_value_of_i_raven_stands_in_four_candidates():
    problems = simulate("L-R", NUMBER, seed=8, answers="i-raven")
    for attribute in range(3):
        for slot in range(2):
            levels = problems.entities[:, 8:, slot, attribute]
            alike = (levels[:, :, None] == levels[:, None]).sum(2)
            assert ((alike == 8) | (alike == 4)).all()


def test_raven_fair_grows_from_any_candidate():
    many = changes(simulate("L-R", NUMBER, seed=8, answers="raven-fair"))
    assert many.max() > 2
    assert (many == 1).any(1).all()  # the first grows from the right one
    problems = simulate("L-R", NUMBER, seed=8, answers="raven-fair")
    slots = problems.entities[:, 8:, :2, :3].reshape(NUMBER, 8, -1)
    apart = (slots[:, :, None] != slots[:, None]).sum(3) + 9 * np.eye(8, dtype=int)
    assert (apart.min(2) == 1).all()  # each has a neighbour one change away


def test_the_right_answer_is_no_part_of_what_is_drawn():
    problems = simulate("O-IG", 200, seed=1)
    other = simulate("O-IG", 200, seed=1, answers="raven-fair")
    assert (problems.answer == other.answer).all()


@pytest.mark.parametrize("name", DISTRACTORS)
def test_wrong_levels_are_within_the_ranges(key, name):
    problems = simulate(key, NUMBER, seed=8, answers=name)
    configuration = CONFIGURATIONS[problems.configuration[0]]
    candidates = problems.entities[:, 8:]
    for component, slots in zip(configuration.components, configuration.component_slices, strict=True):
        filled = candidates[:, :, slots, 0] > 0
        assert filled.sum(2).min() >= component.number[0]
        assert filled.sum(2).max() <= component.number[1]
        for group in (1, 2, 3):
            levels = candidates[:, :, slots, group - 1][filled]
            low, high = root_range(component, group)
            assert levels.min() >= low
            assert levels.max() <= high


def rule(governed, kind=1):
    rules = np.zeros((1, 1, 4, 3), np.int8)
    rules[..., 0, :] = (kind, GOVERNED.index(governed), 1)
    rules[0, 0, 1:, 0] = CONSTANT
    return rules


@pytest.mark.parametrize(
    ("rules", "uniformity", "expected"),
    [
        (rule("number"), 0, [9, 0, 0, 0, 0]),  # looks are noise, positions are free
        (rule("number"), 3, [9, 0, 4, 5, 9]),
        (rule("position"), 0, [9, 5, 4, 5, 9]),  # a turn copies the figures
        (rule("position", kind=2), 0, [9, 5, 0, 0, 0]),  # a union makes new ones
        (rule("number/position", kind=0), 0, [9, 5, 4, 5, 9]),
    ],
)
def test_what_can_be_wrong(rules, uniformity, expected):
    counts = count_alternatives(1, rules, np.full((1, 1), uniformity), [np.array([2])])
    assert counts[0, 0].tolist() == expected
    assert len(expected) == len(MODIFIABLE)


@pytest.mark.parametrize("key", [key for key in KEYS if key.endswith("out_center_single")])
def test_the_outer_figure_never_changes_its_colour(key):
    for name in DISTRACTORS:
        assert not modified_attributes(simulate(key, NUMBER, seed=8, answers=name))["Out colour"].any()


def test_public_names():
    assert all(hasattr(distractors, name) for name in distractors.__all__)
