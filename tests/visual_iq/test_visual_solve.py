"""Rules read back from panels: right on our problems, on made-up ones, and without being told the rules."""

import numpy as np
import pytest

from reasonlib.errors import UserError
from reasonlib.visual_iq.data.distractors import DISTRACTORS
from reasonlib.visual_iq.data.example import CONTEXT, GOVERNED, KEYS, RULES, Problems
from reasonlib.visual_iq.data.example import configuration_index as index_of
from reasonlib.visual_iq.data.majority_vote import count_votes, majority_vote
from reasonlib.visual_iq.data.rule_solver import consistent_candidates, infer, infer_rules, solve
from reasonlib.visual_iq.data.simulator import simulate
from reasonlib.visual_iq.data.soundness import candidates_differ, check_problems

NUMBER = 250


@pytest.fixture(
    scope="module", params=[(key, answers) for key in KEYS for answers in DISTRACTORS], ids="/".join
)
def problems(request):
    key, answers = request.param
    return simulate(key, NUMBER, seed=11, answers=answers)


def untold(problems):
    """The same without a word on its rules, and with the target hidden."""
    return Problems(
        problems.configuration,
        problems.entities,
        np.zeros_like(problems.uniformity),
        np.full_like(problems.rules, -1),
        np.zeros_like(problems.target),
    )


def test_exactly_the_right_candidate_follows(problems):
    follows = consistent_candidates(untold(problems))
    assert (follows.sum(1) == 1).all()
    assert (follows.argmax(1) == problems.target).all()
    assert (solve(untold(problems)) == problems.target).all()
    check_problems(problems)


def test_eight_different_candidates(problems):
    assert candidates_differ(problems).all()


def test_the_rules_are_those_it_was_drawn_from(problems):
    inferred = infer_rules(untold(problems))
    same = (inferred == problems.rules).all(-1)
    assert same[:, :, 1].all()
    assert same.mean() > 0.98  # rows one and two may follow another rule as well
    opened = infer(problems).open
    assert same[~opened].mean() > 0.99


def test_the_kinds_of_rules_are_enough_to_find_their_steps(problems):
    without_steps = Problems(**{**vars(problems), "rules": problems.rules * np.array([1, 1, 0], np.int8)})
    reading = infer(without_steps, named=True)
    assert (reading.follows.argmax(1) == problems.target).all()
    assert (reading.rules == problems.rules).all(-1).mean() > 0.999


def test_order_of_candidates_does_not_matter(problems):
    order = np.random.default_rng(0).permutation(8)
    entities = problems.entities.copy()
    entities[:, CONTEXT:] = entities[:, CONTEXT + order]
    turned = Problems(**{**vars(problems), "entities": entities})
    assert (consistent_candidates(turned) == consistent_candidates(problems)[:, order]).all()
    assert (count_votes(turned) == count_votes(problems)[:, order]).all()


def test_angles_do_not_matter(problems):
    entities = problems.entities.copy()
    entities[..., 3] = np.where(entities[..., 0] > 0, 7 - entities[..., 3], 0)
    turned = Problems(**{**vars(problems), "entities": entities})
    assert (consistent_candidates(turned) == consistent_candidates(problems)).all()


# Made by hand -----------------------------------------------------------------------------------------------


def by_hand(title, panels):
    """One problem from lists of ``(slot, type, size, colour)``, eight panels and any candidates."""
    entities = np.zeros((1, 16, 9, 4), np.int8)
    for index in range(16):
        for slot, *look in panels[min(index, len(panels) - 1)]:
            entities[0, index, slot, :3] = look
    return Problems(
        np.array([index_of(title)], np.int8),
        entities,
        np.zeros((1, 2), np.int8),
        np.full((1, 2, 4, 3), -1, np.int8),
        np.zeros(1, np.int8),
    )


def lone(sizes, colours=(0,) * 8, types=(1,) * 8):
    """Eight panels of one figure in the middle, and eight candidates of each size but its own."""
    looks = list(zip(types, sizes, colours, strict=False))
    return [[(0, *look)] for look in looks]


def words(rule):
    kind, governed, value = rule
    return RULES[kind], GOVERNED[governed], value


def test_a_size_that_grows():
    panels = lone((0, 1, 2, 3, 4, 5, 2, 3)) + [[(0, 1, size, 0)] for size in (0, 1, 2, 3, 4, 5, 5, 5)]
    problem = by_hand("Center", panels)
    reading = infer(problem)
    assert words(reading.rules[0, 0, 2]) == ("progression", "size", 1)
    assert np.flatnonzero(reading.follows[0]).tolist() == [4]
    assert not reading.open[0]


def test_two_rules_at_once_leave_it_open():
    """Sizes 0, 1, 2 twice: growth by one, or a sum. Then 1, 2: growth says 3, the sum 4."""
    panels = lone((0, 1, 2, 0, 1, 2, 1, 2)) + [[(0, 1, size, 0)] for size in (0, 1, 2, 3, 4, 5, 5, 5)]
    reading = infer(by_hand("Center", panels))
    assert reading.open[0]
    assert np.flatnonzero(reading.follows[0]).tolist() == [3, 4]


def test_white_twice_is_no_sum():
    panels = lone((1,) * 8, colours=(0, 0, 0, 0, 0, 0, 3, 3)) + [[(0, 1, 1, colour)] for colour in range(8)]
    reading = infer(by_hand("Center", panels))
    assert np.flatnonzero(reading.follows[0]).tolist() == [3]


def test_three_sets_of_slots_take_turns_and_carry_their_figures():
    """Entities go with the sets in an order that rows one and two show."""
    first, second, third = (0, 1), (1, 2), (3, 2)  # slots, in the order of the figures

    def panel(slots, types):
        return [(slot, kind, 2, 4) for slot, kind in zip(slots, types, strict=True)]

    rows = [
        *(panel(slots, (1, 2)) for slots in (first, second, third)),
        *(panel(slots, (3, 4)) for slots in (second, third, first)),
        *(panel(slots, (5, 1)) for slots in (third, first)),
    ]
    candidates = [panel(second, (5, 1)), panel(second, (1, 5)), panel(first, (5, 1)), panel(third, (5, 1))]
    reading = infer(by_hand("2x2Grid", rows + candidates + [panel(second, (5, 5))] * 4))
    assert words(reading.rules[0, 0, 0]) == ("distribute three", "position", 0)
    assert np.flatnonzero(reading.follows[0]).tolist() == [0]


def test_a_union_of_slots_says_more_than_a_sum_of_numbers():
    def panel(*slots):
        return [(slot, 1, 2, 4) for slot in slots]

    rows = [
        *(panel(0), panel(1), panel(0, 1)),
        *(panel(2), panel(3), panel(2, 3)),
        *(panel(0), panel(2)),
    ]
    candidates = [panel(0, 2), panel(0, 1), panel(1, 2), panel(3), *[panel(0, 1, 2)] * 4]
    reading = infer(by_hand("2x2Grid", rows + candidates))
    assert words(reading.rules[0, 0, 0]) == ("arithmetic", "position", 1)
    assert np.flatnonzero(reading.follows[0]).tolist() == [0]


def test_figures_under_no_rule():
    panels = lone((0, 1, 5, 3, 3, 0, 2, 2)) + [[(0, 1, 3, 0)]] * 8
    problem = by_hand("Center", panels)
    assert solve(problem)[0] == -1
    assert (infer_rules(problem)[0, 1] == -1).all()


# Votes ------------------------------------------------------------------------------------------------------

LEAST = {"distribute_four": 0.87, "distribute_nine": 0.87}


@pytest.mark.parametrize("key", KEYS)
def test_a_vote_solves_raven_and_guesses_on_i_raven(key):
    raven, fair = (simulate(key, 1500, seed=5, answers=answers) for answers in ("raven", "i-raven"))
    assert (majority_vote(raven) == raven.target).mean() > LEAST.get(key, 0.98)
    assert (majority_vote(fair) == fair.target).mean() == pytest.approx(1 / 8, abs=0.03)


def test_a_vote_still_helps_on_raven_fair():
    """Candidates grow from the right one, so it keeps some lead: chance is 0.125."""
    problems = Problems.concatenate([simulate(key, 400, seed=5, answers="raven-fair") for key in KEYS])
    assert 0.15 < (majority_vote(problems) == problems.target).mean() < 0.35


def test_a_vote_never_sees_the_question():
    problems = simulate("O-IG", 50, seed=1, answers="i-raven")  # all candidates have as many votes
    hidden = problems.entities.copy()
    hidden[:, :CONTEXT] = 0
    blind = Problems(**{**vars(problems), "entities": hidden})
    assert (majority_vote(blind, seed=3) == majority_vote(problems, seed=3)).all()
    assert (majority_vote(problems, seed=3) != majority_vote(problems, seed=4)).any()


# Unsound problems -------------------------------------------------------------------------------------------


def spoiled(change):
    problems = simulate("Center", 3, seed=2)
    change(problems)
    return problems


def twins(problems):
    wrong = [candidate for candidate in range(8) if candidate != problems.target[1]][:2]
    problems.entities[1, CONTEXT + wrong[0]] = problems.entities[1, CONTEXT + wrong[1]]


def mistaken(problems):
    problems.target[2] = (problems.target[2] + 1) % 8


def ruined(problems):
    problems.entities[0, 0, 0, 0] = problems.entities[0, 0, 0, 0] % 5 + 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (twins, "problem 1: two of its candidates look the same"),
        (mistaken, r"problem 2: candidate \d is right, but the rules allow \d"),
        (ruined, "problem 0: no candidate follows the rules of its first two rows"),
    ],
)
def test_a_problem_that_is_not_sound(change, message):
    with pytest.raises(UserError, match=message):
        check_problems(spoiled(change))
