"""Distributions of problems: counted right, and the same as the public generators'."""

import math

import numpy as np
import pytest

from reasonlib.visual_iq.data.distractors import DISTRACTORS
from reasonlib.visual_iq.data.example import CONFIGURATIONS, KEYS, Problems
from reasonlib.visual_iq.data.majority_vote import majority_vote
from reasonlib.visual_iq.data.simulator import simulate
from reasonlib.visual_iq.data.simulator_fit import (
    answer_table,
    compare,
    distances_to_public,
    modified_attributes,
    public_marginals,
    question_table,
)
from reasonlib.visual_iq.models.naive_bayes import MIXED, candidate_features, choose

NUMBER = 700


@pytest.fixture(scope="module")
def ours():
    return {
        answers: Problems.concatenate([simulate(key, NUMBER, seed=21, answers=answers) for key in KEYS])
        for answers in DISTRACTORS
    }


def test_each_problem_counts_once(ours):
    for table in (question_table(ours["raven"]), answer_table(ours["raven"])):
        assert set(table) == set(KEYS)
        for measures in table.values():
            for histogram in measures.values():
                assert math.fsum(histogram.values()) == pytest.approx(NUMBER)


def test_what_the_table_holds():
    table = question_table(simulate("2x2Grid", 50, seed=1))["distribute_four"]
    words = ("uniformity", "number", "type", "size", "colour", "angle")
    groups = ("number/position", "type", "size", "colour")
    assert set(table) == {f"Grid {word}" for word in words} | {
        f"Grid {kind} {group}" for kind in ("rule", "step") for group in groups
    }
    assert "size progression +1" in table["Grid step size"]
    assert set(table["Grid number"]) == {"1", "2", "3", "4"}


def test_the_public_counts_are_whole():
    counts = public_marginals()
    assert set(counts["answers"]) == set(counts["source"]) == set(DISTRACTORS)
    total = sum(sum(by_layout.values()) for by_layout in counts["problems"].values())
    assert total >= 7000
    for key in KEYS:
        many = sum(counts["problems"][answers][key] for answers in DISTRACTORS)
        for histogram in counts["questions"][key].values():
            assert math.fsum(histogram.values()) == pytest.approx(many, abs=0.5)


def test_our_questions_are_like_the_public_ones(ours):
    distances = compare(question_table(ours["raven"]), public_marginals()["questions"])
    measures = 14 * sum(len(configuration.components) for configuration in CONFIGURATIONS)
    assert len(distances) == measures
    assert all(comparison.distance <= 3.5 * comparison.chance + 0.001 for comparison in distances)
    expected = sum(comparison.chance for comparison in distances)
    assert sum(comparison.distance for comparison in distances) < 1.1 * expected


@pytest.mark.parametrize("answers", DISTRACTORS)
def test_our_answers_are_like_the_public_ones(ours, answers):
    distances = compare(answer_table(ours[answers]), public_marginals()["answers"][answers])
    assert len(distances) == 3 * len(KEYS)
    assert all(comparison.distance <= 3.5 * comparison.chance + 0.001 for comparison in distances)
    assert sum(comparison.distance for comparison in distances) < 1.1 * sum(
        comparison.chance for comparison in distances
    )


@pytest.mark.parametrize("answers", DISTRACTORS)
def test_a_vote_scores_as_on_the_public_ones(ours, answers):
    right = majority_vote(ours[answers]) == ours[answers].target
    for index, key in enumerate(KEYS):
        score = right[ours[answers].configuration == index].mean()
        theirs = public_marginals()["vote"][answers][key]
        many = public_marginals()["problems"][answers][key]
        error = math.sqrt(max(score * (1 - score), 0.01) * (1 / many + 1 / NUMBER))
        assert abs(score - theirs) < 4 * error


def test_a_shifted_distribution_is_noticed(ours):
    table = question_table(ours["raven"])
    bent = {key: {measure: dict(histogram) for measure, histogram in table[key].items()} for key in table}
    rule = bent["center_single"]["Grid rule size"]
    rule["size constant"] *= 2
    first = compare(bent, public_marginals()["questions"])[0]
    assert (first.configuration, first.measure) == ("center_single", "Grid rule size")
    assert first.distance > 4 * first.chance


def test_what_candidates_change():
    problems = simulate("L-R", 40, seed=2)
    changes = modified_attributes(problems)
    looks = ("type", "size", "colour")
    assert set(changes) == {f"{side} {look}" for side in ("Left", "Right") for look in looks}
    for mask in changes.values():
        assert not mask[np.arange(40), problems.target].any()


def test_configurations_are_told_apart():
    mixed = Problems.concatenate([simulate("L-R", 4), simulate("U-D", 4)])
    with pytest.raises(ValueError, match="problems must be of one configuration"):
        modified_attributes(mixed)


def test_questions_and_answers_against_the_public_ones():
    comparisons = distances_to_public(simulate("U-D", 200, seed=4), "i-raven")
    assert {comparison.configuration for comparison in comparisons} == {"up_center_single_down_center_single"}
    assert {"changed", "Up rule size", "Down colour"} <= {comparison.measure for comparison in comparisons}
    assert [comparison.distance for comparison in comparisons] == sorted(
        (comparison.distance for comparison in comparisons), reverse=True
    )
    with pytest.raises(ValueError, match="answers must be one of raven, i-raven, raven-fair, got 'all'"):
        distances_to_public(simulate("U-D", 2), "all")


def test_looks_of_a_candidate():
    problem = simulate("2x2Grid", 1, seed=0)[0:1]
    problem.entities[0, 8:] = 0
    problem.entities[0, 8, :2] = [[2, 3, 7, 1], [2, 4, 7, 5]]  # two squares, of two sizes and one colour
    ((here, shown),) = candidate_features(problem)
    assert here.tolist() == [0] and shown.shape == (1, 8, 4)
    assert shown[0, 0].tolist() == [2, 2, MIXED, 7]
    assert shown[0, 1, 0] == 0


def test_one_who_counts_finds_motley_candidates_and_never_looks_at_the_target():
    drawn = simulate("3x3Grid", 1200, seed=4, answers="raven-fair")
    train_set, test_set = drawn[:900], drawn[900:]
    chosen = choose(test_set, train_set)
    assert (chosen == test_set.target).mean() > 0.4
    test_set.target[:] = 0
    assert np.array_equal(choose(test_set, train_set), chosen)
    even = simulate("L-R", 1200, seed=4, answers="i-raven")
    assert (choose(even[900:], even[:900]) == even.target[900:]).mean() < 0.25
