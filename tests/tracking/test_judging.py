"""The rule: ties, single runs and straddling intervals decide nothing, and errors stay at the stated rate."""

import math
import random
import re
from itertools import product

import numpy as np
import pytest
from scipy import stats

from reasonlib.tracking.judging import VERDICTS, doubt, holm, judge, p_value
from reasonlib.tracking.samples import Error, Sample
from reasonlib.tracking.significance import Comparison, bar, difference, level, nearness, no_loss

DECIDED = {"reproduced", "contradicted", "exceeded"}
MIRROR = {"reproduced": "contradicted", "contradicted": "reproduced", "inconclusive": "inconclusive"}
DRAWS = 2000


def sample(*values, **fields):
    """Runs of a random system with seeds 0, 1, ..."""
    return Sample(values=tuple(map(float, values)), seeds=tuple(range(len(values))), **fields)


def exact(value, **fields):
    """One run of a deterministic system."""
    return sample(value, deterministic=True, **fields)


def verdict(*comparisons, same=True, **options):
    return judge(comparisons, same_conditions=same, **options)


# The table in the docstring


def comparison(kind="difference", p_for=0.5, p_against=0.5, **fields):
    return Comparison(
        kind=kind, estimate=0, low=0, high=0, p_for=p_for, p_against=p_against, **{"enough": True, **fields}
    )


CASES = {
    "every one holds beyond chance": [
        [comparison(p_for=0.01, p_against=0.99)],
        [comparison("level", p_for=0.04, p_against=1)],
        [comparison("level", p_for=0.04, p_against=1), comparison(p_for=0.01, p_against=0.99)],
        [comparison("level", 0.0, 1.0, exact=True)],
    ],
    "a level fails beyond chance, on the better side": [
        [comparison("level", p_for=1, p_against=0.01, better=True)],
        [comparison("level", 1, 0.01, better=True), comparison(p_for=0.2, p_against=0.8)],
    ],
    "any other fails beyond chance": [
        [comparison(p_for=0.99, p_against=0.01)],
        [comparison("level", p_for=1, p_against=0.01)],
        [comparison("bar", p_for=1, p_against=0.01, better=True)],
        [comparison("level", 1, 0.001, better=True), comparison(p_for=0.999, p_against=0.001)],
        [comparison("difference", 1.0, 0.0, exact=True)],
    ],
    "fewer than three runs of a random system": [
        [comparison(p_for=0.0, p_against=1, enough=False)],
        [comparison(p_for=0.0), comparison("level", 0.0, enough=False)],
    ],
    "a tie": [
        [comparison(p_for=1.0, p_against=1.0, tie=True)],
        [comparison(p_for=1.0, p_against=1.0, tie=True, exact=True)],
    ],
    "an interval that holds both answers": [
        [comparison(p_for=0.2, p_against=0.8)],
        [comparison("level", p_for=0.2, p_against=0.3)],
        [comparison("level", p_for=0.01, p_against=1), comparison(p_for=0.2, p_against=0.8)],
    ],
    "nothing was measured, or nothing to compare with": [[]],
}


def test_the_rule_is_what_its_docstring_says():
    lines = [re.split(r"\s{2,}", line.strip()) for line in judge.__doc__.splitlines()]
    start, end = (i for i, line in enumerate(lines) if len(line) == 3 and line[1].startswith("===")), None
    marks = [i for i, line in enumerate(lines) if line[0].startswith("=====")]
    assert len(marks) == 3, (start, end)
    table = {line[0]: line[1:] for line in lines[marks[1] + 1 : marks[2]]}
    assert table.keys() == CASES.keys()
    assert {word for pair in table.values() for word in pair} == set(VERDICTS)
    for said, (same, other) in table.items():
        for comparisons in CASES[said]:
            assert judge(comparisons, same_conditions=True) == same, said
            assert judge(comparisons, same_conditions=False) == other, said


def test_a_correction_can_only_take_a_verdict_back():
    lead = difference(sample(0.8, 0.81, 0.82), sample(0.7, 0.71, 0.73))
    assert verdict(lead) == "reproduced"
    assert verdict(lead, adjusted=0.04) == "reproduced"
    assert verdict(lead, adjusted=0.06) == "inconclusive"
    assert doubt([lead]).startswith("significant by itself, but not after correction")


def test_a_lead_that_is_clearly_too_small_is_said_to_be_small():
    small = difference(sample(0.80, 0.81, 0.82), sample(0.80, 0.812, 0.817), by=0.1)
    assert verdict(small) == "inconclusive"
    assert doubt([small]).startswith("the difference is smaller than asked for")
    wide = difference(sample(0.6, 0.8, 1.0), sample(0.7, 0.6, 0.9), by=0.1)
    assert doubt([wide]) == "the interval includes values for and against"


# Properties


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("same", [True, False])
def test_one_or_two_runs_of_a_random_system_never_decide(count, same):
    draw = random.Random(count)
    for _ in range(50):
        few = sample(*(draw.random() for _ in range(count)))
        many = sample(*(draw.random() for _ in range(5)))
        assert verdict(level(few, 0.5, tolerance=draw.random()), same=same) == "inconclusive"
        assert verdict(bar(few, draw.random()), same=same) == "inconclusive"
        assert verdict(difference(few, many), same=same) == "inconclusive"
        assert verdict(difference(many, few), same=same) == "inconclusive"
        assert verdict(difference(exact(9), few), same=same) == "inconclusive"
        for compare in (nearness, no_loss):
            by = draw.random()
            assert verdict(compare(few, many, by=by), same=same) == "inconclusive"
            assert verdict(compare(many, few, by=by), same=same) == "inconclusive"
            assert verdict(compare(exact(9), few, by=by), same=same) == "inconclusive"
    assert doubt([difference(few, many)]) == "fewer than 3 runs of a system that varies from run to run"


@pytest.mark.parametrize("value", [0.0, 0.3, 1.0, 1e6])
def test_a_tie_is_never_an_ordering(value):
    nearly = value * (1 + 1e-8)
    for first, second in [
        (exact(value), exact(value)),
        (exact(value), exact(nearly)),
        (sample(value, value, value), sample(value, value, value)),
        (sample(value, value, value), sample(nearly, nearly, nearly)),
    ]:
        for comparison in (difference(first, second), difference(second, first)):
            assert verdict(comparison) == "inconclusive"
            assert doubt([comparison]) == "a tie"


def draw_sample(draw, counts, shared, **given):
    """Some measurements of a system, with seeds that another system shares or without."""
    values = tuple(0.5 + draw.normal(0.03 * draw.normal(), 0.01, size=draw.integers(*counts)))
    return Sample(values=values, seeds=tuple(range(len(values))) if shared else (), **given)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("examples", [None, 500])
def test_a_straddling_interval_never_decides_and_swapping_sides_mirrors_the_verdict(shared, examples):
    draw = np.random.default_rng(2016)
    other = {"reproduced": "supported", "contradicted": "challenged", "inconclusive": "inconclusive"}
    seen = set()
    for _ in range(200):
        given = {"examples": examples, "drawn": examples is not None}
        sides = [draw_sample(draw, (1, 7), shared, **given) for _ in range(2)]
        there, back = difference(*sides), difference(*reversed(sides))
        if there.low is not None and there.low <= 0 <= there.high:
            assert verdict(there) == "inconclusive"
        assert verdict(back) == MIRROR[verdict(there)]
        assert verdict(there, same=False) == other[verdict(there)]
        seen.add(verdict(there))
    assert seen == set(MIRROR)


@pytest.mark.parametrize("shared", [True, False])
def test_what_is_close_enough_and_what_is_no_worse_never_decide_with_a_straddling_interval(shared):
    """Near is the same both ways; "no worse by more than" and "better by more than" are never both so."""
    draw = np.random.default_rng(1987)
    by = 0.02
    seen = {"near": set(), "no loss": set()}
    for _ in range(400):
        first, second = (draw_sample(draw, (3, 9), shared) for _ in range(2))
        near, kept = nearness(first, second, by=by), no_loss(first, second, by=by)
        assert verdict(near) == verdict(nearness(second, first, by=by))
        if verdict(near) == "contradicted":
            assert near.low > by or near.high < -by
        if -by <= near.low <= near.high <= by:
            assert verdict(near) == "reproduced"
        if kept.low <= -by <= kept.high:
            assert verdict(kept) == "inconclusive"
        elif kept.low > -by:
            assert verdict(kept) == "reproduced"
        else:
            assert verdict(kept) == "contradicted"
        ahead = verdict(difference(second, first, by=by))
        assert (ahead == "reproduced") == (verdict(kept) == "contradicted")
        seen["near"].add(verdict(near))
        seen["no loss"].add(verdict(kept))
    assert all(words == set(MIRROR) for words in seen.values())


def test_equal_rows_are_as_good_as_each_other_and_neither_is_better():
    for first, second in [(exact(0.5), exact(0.5)), (sample(*[0.3] * 4), sample(*[0.3] * 4))]:
        assert (
            verdict(no_loss(first, second, by=0.02))
            == verdict(nearness(first, second, by=0.02))
            == "reproduced"
        )
        assert verdict(difference(first, second)) == "inconclusive"
    behind = no_loss(exact(0.48), exact(0.5), by=0.02)
    assert verdict(behind) == "reproduced"  # by no more than that
    assert verdict(no_loss(exact(0.479), exact(0.5), by=0.02)) == "contradicted"


@pytest.mark.parametrize("lead", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize("compare", [nearness, no_loss])
def test_more_seeds_do_not_turn_a_margin_into_its_opposite(compare, lead):
    """2,000 draws: a row leads by `lead` margins; what lies on the boundary passes it at the stated rate."""
    draw = np.random.default_rng(14)
    by = 0.02
    above = 0.7 + lead * by + draw.normal(0, 0.01, size=(DRAWS, 10))
    below = 0.7 + draw.normal(0, 0.02, size=(DRAWS, 10))
    seen = {
        count: [
            verdict(compare(sample(*a[:count]), sample(*b[:count]), by=by))
            for a, b in zip(above, below, strict=True)
        ]
        for count in (3, 10)
    }
    assert flips(seen[3], seen[10]) <= 0.05
    for count, words in seen.items():
        holds, fails = (words.count(word) / DRAWS for word in ("reproduced", "contradicted"))
        assert fails <= 0.05 + 3 * math.sqrt(0.05 / DRAWS), count
        if lead == -1 or (lead == 1 and compare is nearness):  # on the boundary
            rate = 0.05 if compare is nearness else 0.025
            assert holds <= rate + 3 * math.sqrt(rate / DRAWS), count


def test_a_level_that_straddles_its_tolerance_decides_nothing():
    draw = np.random.default_rng(1987)
    seen = set()
    for _ in range(1000):
        runs = sample(*draw.normal(0.7, 0.02 * draw.random(), size=draw.integers(3, 8)))
        published = 0.7 + 0.05 * draw.normal()
        result = level(runs, published, tolerance=0.02)
        seen.add(verdict(result))
        if verdict(result) in ("contradicted", "exceeded"):
            assert result.high < published - 0.02 or result.low > published + 0.02
            assert (verdict(result) == "exceeded") == (runs.mean > published)
            lower = level(runs, published, tolerance=0.02, better="lower")
            assert (verdict(lower) == "exceeded") == (runs.mean < published)
        if verdict(result) == "reproduced":
            assert abs(runs.mean - published) <= 0.04
    assert seen == {"reproduced", "contradicted", "exceeded", "inconclusive"}


def flips(first, then):
    """Count claims decided by few runs and decided the other way by more."""
    opposite = {("reproduced", "contradicted"), ("contradicted", "reproduced"), ("reproduced", "exceeded")}
    opposite |= {("exceeded", "reproduced"), ("exceeded", "contradicted"), ("contradicted", "exceeded")}
    return sum(pair in opposite for pair in zip(first, then, strict=True)) / len(first)


@pytest.mark.parametrize(
    ("spread", "offset"), [(0.005, 0.0), (0.005, 4.0), (0.02, 0.0), (0.02, 1.0), (0.02, 2.5), (0.05, 2.5)]
)
def test_more_seeds_do_not_turn_a_level_into_its_opposite(spread, offset):
    """2,000 draws: a published number `offset` spreads beside one draw of our own distribution."""
    draw = np.random.default_rng(14)
    runs = draw.normal(0.7, spread, size=(DRAWS, 10))
    published = draw.normal(0.7, spread, size=DRAWS) + offset * spread
    seen = {
        count: [
            verdict(level(sample(*row[:count]), value, tolerance=0.02))
            for row, value in zip(runs, published, strict=True)
        ]
        for count in (3, 10)
    }
    assert flips(seen[3], seen[10]) <= 0.05
    if offset == 0:  # the published number is one of our own runs
        for count, words in seen.items():
            wrong = sum(word in ("contradicted", "exceeded") for word in words) / DRAWS
            assert wrong <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / DRAWS), count


@pytest.mark.parametrize("lead", [0.0, 1.0])
@pytest.mark.parametrize("shared", [True, False])
def test_more_seeds_do_not_turn_an_ordering_into_its_opposite(lead, shared):
    """2,000 draws: one row leads by `lead` spreads of a run."""
    draw = np.random.default_rng(14)
    common = draw.normal(0, 0.01, size=(DRAWS, 10)) if shared else 0.0
    above = 0.7 + 0.01 * lead + draw.normal(0, 0.01, size=(DRAWS, 10)) + common
    below = 0.7 + draw.normal(0, 0.02, size=(DRAWS, 10)) + common

    def side(values):
        return Sample(values=tuple(values), seeds=tuple(range(len(values))) if shared else ())

    seen = {
        count: [
            verdict(difference(side(a[:count]), side(b[:count]))) for a, b in zip(above, below, strict=True)
        ]
        for count in (3, 10)
    }
    assert flips(seen[3], seen[10]) <= 0.05
    for count, words in seen.items():
        assert words.count("contradicted") / DRAWS <= 0.025 + 3 * math.sqrt(0.025 / DRAWS), count
        if lead == 0:
            assert sum(word in DECIDED for word in words) / DRAWS <= 0.05 + 3 * math.sqrt(0.05 / DRAWS)


def test_looking_twice_decides_between_equal_rows_in_one_case_in_ten_at_most():
    """Runs are added in one step, from three to ten; a look after each would decide by chance more often."""
    draw = np.random.default_rng(14)
    above, below = draw.normal(0, 1, size=(2, DRAWS, 10))

    def decided(looks):
        return sum(
            any(verdict(difference(sample(*a[:count]), sample(*b[:count]))) in DECIDED for count in looks)
            for a, b in zip(above, below, strict=True)
        )

    assert decided([3, 10]) / DRAWS <= 0.10
    assert decided([3, 4, 5, 10]) / DRAWS <= 0.14  # of claims whose rows grew in three or four steps
    assert decided(range(3, 11)) > decided([3, 10])


def test_many_comparisons_of_equal_rows_rarely_decide_anything():
    """A table of twenty orderings between equal systems: at most one table in twenty shows one."""
    draw = np.random.default_rng(14)
    tables = 300
    wrong = 0
    for _ in range(tables):
        comparisons = [
            difference(sample(*draw.normal(0, 1, 5)), sample(*draw.normal(0, 1, 5))) for _ in range(20)
        ]
        adjusted = holm([p_value([part]) for part in comparisons])
        words = [verdict(part, adjusted=p) for part, p in zip(comparisons, adjusted, strict=True)]
        wrong += any(word in DECIDED for word in words)
    assert wrong / tables <= 0.05 + 3 * math.sqrt(0.05 / tables)


# Intervals


def test_the_interval_of_a_level_is_the_prediction_interval_for_one_more_run():
    values = [0.70, 0.72, 0.75, 0.71]
    result = level(sample(*values), 0.8, tolerance=0.02)
    half = stats.t.ppf(0.975, 3) * np.std(values, ddof=1) * math.sqrt(1 + 1 / 4)
    assert (result.low, result.high) == pytest.approx((0.72 - half, 0.72 + half))
    assert result.estimate == pytest.approx(0.72)


def test_an_ordering_is_paired_by_shared_seeds_else_each_row_has_its_part():
    high, low = [0.9, 0.8, 0.7, 0.6], [0.88, 0.79, 0.69, 0.57]
    paired = difference(sample(*high), sample(*low))
    assert 2 * paired.p_for == pytest.approx(stats.ttest_rel(high, low).pvalue)
    assert verdict(paired) == "reproduced"
    loose = difference(Sample(values=tuple(high)), Sample(values=tuple(low)))
    half = stats.t.ppf(0.975, 3) * math.sqrt((np.var(high, ddof=1) + np.var(low, ddof=1)) / 4)
    assert loose.high - loose.estimate == loose.estimate - loose.low == pytest.approx(half)
    assert loose.p_for > stats.ttest_ind(high, low, equal_var=False).pvalue / 2
    assert verdict(loose) == "inconclusive"
    some = Sample(values=tuple(low), seeds=(1, 2, 3, 9))
    shared = difference(sample(*high), some)
    assert 2 * shared.p_against == pytest.approx(stats.ttest_rel(high[1:], low[:3]).pvalue)


def test_a_deterministic_row_beside_a_random_one_is_a_test_of_one_sample():
    values = [0.5, 0.52, 0.51]
    result = difference(exact(0.55), sample(*values))
    assert result.p_for == pytest.approx(stats.ttest_1samp(values, 0.55, alternative="less").pvalue)
    assert not result.exact


def test_deterministic_rows_are_compared_exactly():
    assert verdict(difference(exact(0.5001), exact(0.5))) == "reproduced"
    assert verdict(difference(exact(0.5), exact(0.5001))) == "contradicted"
    assert verdict(level(exact(0.98), 1.0, tolerance=0.02)) == "reproduced"
    assert verdict(level(exact(0.97), 1.0, tolerance=0.02)) == "contradicted"
    assert verdict(level(exact(0.97), 0.9, tolerance=0.02)) == "exceeded"
    assert verdict(level(exact(0.97), 0.9, tolerance=0.02), same=False) == "challenged"
    assert verdict(bar(exact(0.5), 0.5)) == verdict(bar(exact(0.5), 0.5, above=False)) == "reproduced"
    assert p_value([difference(exact(0.5), exact(0.4))]) is None


def test_three_equal_runs_are_not_a_system_without_spread():
    equal = sample(0.95, 0.95, 0.95, examples=200)
    chance = (192 / 204) * (12 / 204) / 200
    result = level(equal, 0.95, tolerance=0.02)
    assert result.high - result.low == pytest.approx(2 * stats.t.ppf(0.975, 2) * math.sqrt(4 / 3 * chance))
    assert verdict(level(equal, 0.95, tolerance=0.01)) == "inconclusive"
    assert verdict(level(sample(0.95, 0.95, 0.95, examples=20000), 0.95, tolerance=0.02)) == "inconclusive"
    assert verdict(level(sample(*[0.95] * 5, examples=20000), 0.95, tolerance=0.02)) == "reproduced"
    ahead = difference(equal, sample(0.945, 0.945, 0.945, examples=200))
    assert ahead.low < 0 < ahead.high and verdict(ahead) == "inconclusive"
    perfect = level(sample(1.0, 1.0, 1.0, examples=200), 1.0, tolerance=0.02)
    assert perfect.low < 1 < perfect.high


def test_equal_runs_show_their_number_and_no_more():
    for count in range(3, 11):
        runs, lower = sample(*[1.0] * count), sample(*[0.5] * count)
        assert bar(runs, 0.9).p_for == bar(lower, 0.9).p_against == 0.5**count
        assert difference(runs, lower).p_for == difference(lower, runs).p_against
        least = 1 / math.comb(2 * count, count)
        assert difference(runs, lower).p_for == least
        assert difference(runs, exact(0.5)).p_for == 0.5**count
        assert verdict(bar(runs, 0.9)) == ("reproduced" if count >= 6 else "inconclusive")
        assert verdict(difference(runs, lower)) == ("reproduced" if count >= 4 else "inconclusive")
        assert nearness(runs, lower, by=0.6).p_for == no_loss(lower, runs, by=0.6).p_for == least
        assert nearness(runs, lower, by=0.1).p_against == no_loss(lower, runs, by=0.1).p_against == least
        assert p_value([difference(runs, lower)]) is not None  # it takes its place in a table's correction
    assert "agree in every digit" in doubt([bar(sample(1, 1, 1), 0.9)])
    rounded = difference(sample(0.9, 0.901, 0.902), sample(0.5, 0.501, 0.502))
    assert rounded.p_for == 0.125  # 0.4 three times, to the last bits
    steps = difference(sample(5, 6, 7), sample(2, 3, 4))
    assert steps.p_for == 0.125 and verdict(steps) == "inconclusive"


@pytest.mark.parametrize("count", [3, 5, 10])
def test_a_system_that_sometimes_fails_is_rarely_called_perfect(count):
    """Five runs in eight are perfect, the others are not, and the mean is 0.984."""
    draw = np.random.default_rng(5)
    drawn = draw.choice([1.0] * 5 + [0.94, 0.949, 0.985], size=(DRAWS, count))
    words = [verdict(bar(sample(*row, examples=1000), 0.995)) for row in drawn]
    assert words.count("reproduced") / DRAWS <= 0.025 + 3 * math.sqrt(0.025 / DRAWS)


@pytest.mark.parametrize("shared", [False, True])
def test_equal_systems_with_two_values_are_rarely_told_apart(shared):
    """A metric that is a whole number, such as epochs: three runs of each row may agree by chance."""
    draw = np.random.default_rng(6)
    wrong = 0
    for first, second in draw.integers(2, 4, size=(DRAWS, 2, 3)):
        seeds = () if not shared else (0, 1, 2)
        rows = [Sample(values=tuple(map(float, row)), seeds=seeds) for row in (first, second)]
        wrong += verdict(difference(*rows)) in DECIDED
    assert wrong / DRAWS <= 0.05 + 3 * math.sqrt(0.05 / DRAWS)


def test_a_margin_that_runs_measured_counts_where_the_test_examples_are_drawn():
    runs = (27.9, 28.0, 28.1)
    wide = level(sample(*runs, margin=0.5, drawn=True), 28.0, tolerance=0.1)
    half = math.hypot(stats.t.ppf(0.975, 2) * math.sqrt(4 / 3) * 0.1, 0.5)
    assert wide.high - wide.low == pytest.approx(2 * half)
    assert level(sample(*runs, margin=0.5), 28.0, tolerance=0) == level(sample(*runs), 28.0, tolerance=0)
    ahead = difference(sample(*runs), sample(27.5, 27.62, 27.68))
    drawn = difference(
        sample(*runs, margin=0.5, drawn=True), sample(27.5, 27.62, 27.68, margin=0.5, drawn=True)
    )
    assert verdict(ahead) == "reproduced" and verdict(drawn) == "inconclusive"


def test_a_floor_lifts_the_variance_and_no_degrees_of_freedom():
    """Runs that agree more closely than chance answers would: no p-value is below that of the t-test."""
    high, low = [0.3805, 0.3800, 0.3810], [0.2758, 0.2763, 0.2757]
    for fields in ({}, {"examples": 500}, {"examples": 500, "drawn": True}):
        paired = difference(sample(*high, **fields), sample(*low, **fields))
        assert paired.p_for >= stats.ttest_rel(high, low, alternative="greater").pvalue * (1 - 1e-6)
        alone = bar(sample(*high, **fields), 0.37)
        expected = stats.ttest_1samp(high, 0.37, alternative="greater").pvalue
        assert alone.p_for >= expected * (1 - 1e-6)
    draw = np.random.default_rng(3)
    for _ in range(300):
        count = int(draw.integers(3, 11))
        first, second = draw.normal(0.7, 0.1 * draw.random(), size=(2, count))
        examples, drawn = int(draw.integers(10, 5000)), bool(draw.integers(2))
        plain = difference(sample(*first), sample(*second))
        lifted = difference(*(sample(*row, examples=examples, drawn=drawn) for row in (first, second)))
        assert min(lifted.p_for, lifted.p_against) >= min(plain.p_for, plain.p_against) * (1 - 1e-6)
        assert lifted.low <= plain.low < plain.high <= lifted.high


def test_parts_of_an_error_are_joined_so_that_half_and_tail_are_inverse():
    error = Error(((0.5, 2), (0.0, 4), (2.0, math.inf), (0.1, 7)))
    assert len(error.parts) == 3 and not error.none
    squares = (
        stats.t.ppf(0.975, 2) ** 2 * 0.5,
        stats.norm.ppf(0.975) ** 2 * 2,
        stats.t.ppf(0.975, 7) ** 2 * 0.1,
    )
    assert error.half(0.025) == pytest.approx(math.sqrt(sum(squares)))
    for tail in (0.4, 0.05, 1e-3, 1e-12):
        assert error.tail(error.half(tail)) == pytest.approx(tail)
        assert error.tail(-error.half(tail)) == pytest.approx(1 - tail)
    assert error.tail(0.0) == 0.5 and error.tail(1e30) < 1e-50
    assert Error(((0.0, 2),)).none and Error(((0.0, 2),)).tail(0.1) == 0


@pytest.mark.parametrize("between", [0.0, 0.3])
@pytest.mark.parametrize("drawn", [False, True])
def test_two_equal_systems_on_a_finite_test_set_are_rarely_told_apart(drawn, between):
    """2,000 draws: 200 examples, each hard or easy; all runs of a draw answer the same ones.

    `between` is the spread over runs of a system's log-odds. The test set is fixed, and equal systems have
    equal means on it; or it is drawn, and equal systems differ on it by luck, however many runs there are.
    """
    draw = np.random.default_rng(14)
    size, most = 200, 10
    rate = 0.05 + 3 * math.sqrt(0.05 / DRAWS)
    wrong = dict.fromkeys(["3", "10", "10 beside 3"], 0)
    fixed = draw.normal(0, 1.5, size)
    for _ in range(DRAWS):
        shares = []
        for _ in range(2):
            easy = draw.normal(0, 1.5, size) if drawn else draw.permutation(fixed)
            odds = 1 + easy + draw.normal(0, between, (most, 1))
            shares.append((draw.random((most, size)) < 1 / (1 + np.exp(-odds))).mean(axis=1))
        for count in (3, 10):
            first, second = (sample(*row[:count], examples=size, drawn=drawn) for row in shares)
            wrong[str(count)] += verdict(difference(first, second)) in DECIDED
        few = Sample(values=second.values[:3], examples=size, drawn=drawn)  # shares no seed
        wrong["10 beside 3"] += verdict(difference(first, few)) in DECIDED
    assert all(count / DRAWS <= rate for count in wrong.values()), wrong


def test_another_draw_of_the_test_set_widens_every_interval():
    values = (0.90, 0.91, 0.905)
    own, drawn = (sample(*values, examples=500, drawn=drawn) for drawn in (False, True))

    def width(result):
        return result.high - result.low

    assert width(level(drawn, 0.9, tolerance=0.02)) > width(level(own, 0.9, tolerance=0.02))
    wide = level(drawn, 0.9, tolerance=0.02, published_examples=500)
    assert width(wide) > width(level(drawn, 0.9, tolerance=0.02))
    assert width(bar(drawn, 0.9)) > width(bar(own, 0.9))
    below = {name: sample(0.89, 0.90, 0.90, examples=500, drawn=name) for name in (False, True)}
    assert width(difference(drawn, below[True])) > width(difference(own, below[False]))
    fixed = difference(exact(0.9, examples=500, drawn=True), exact(0.899, examples=500, drawn=True))
    assert not fixed.exact and verdict(fixed) == "inconclusive"


def test_a_wide_spread_gives_room_for_the_one_published_run_but_no_more_than_twice_the_tolerance():
    draw = np.random.default_rng(1)
    runs = sample(*draw.normal(0.7, 0.02, size=40))
    assert verdict(level(runs, runs.mean + 0.025, tolerance=0.02)) == "reproduced"
    assert verdict(level(runs, runs.mean + 0.045, tolerance=0.02)) == "inconclusive"
    vague = sample(*draw.normal(0.7, 0.2, size=20))
    assert verdict(level(vague, vague.mean, tolerance=0.02)) == "inconclusive"


def test_a_lead_smaller_than_asked_for_contradicts_nothing():
    above, below = sample(0.80, 0.81, 0.80, 0.81), sample(0.70, 0.70, 0.71, 0.71)
    assert verdict(difference(above, below, by=0.05)) == "reproduced"
    assert verdict(difference(above, below, by=0.2)) == "inconclusive"
    assert verdict(difference(below, above, by=0.05)) == "contradicted"


def test_a_chain_holds_if_every_link_holds_and_fails_if_one_is_reversed():
    low, middle, high = sample(0.1, 0.101, 0.102), sample(0.501, 0.5, 0.502), sample(0.902, 0.901, 0.9)
    wide = sample(0.1, 0.5, 0.9)
    assert verdict(difference(high, middle), difference(middle, low)) == "reproduced"
    assert verdict(difference(high, middle), difference(low, middle)) == "contradicted"
    assert verdict(difference(high, middle), difference(wide, low)) == "inconclusive"


def test_holm_agrees_with_its_definition():
    assert holm([]) == []
    assert holm([None, 0.5]) == [None, 0.5]
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    draw = random.Random(0)
    for values in product([0.001, 0.02, 0.3], repeat=3):
        shuffled = list(values)
        draw.shuffle(shuffled)
        assert sorted(holm(values)) == pytest.approx(sorted(holm(shuffled)))
        assert all(after >= before for before, after in zip(values, holm(values), strict=True))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sample(values=()), "values must be at least one finite number"),
        (lambda: Sample(values=(math.nan,)), "values must be at least one finite number"),
        (lambda: Sample(values=(1.0, 2.0), seeds=(0,)), "seeds must be one a value, got 1 for 2"),
        (lambda: Sample(values=(1.0,), examples=0), "examples must be at least 1, got 0"),
        (lambda: level(sample(1.0), 1.0, tolerance=-1), "tolerance must be at least 0, got -1"),
    ],
)
def test_what_cannot_be_a_sample(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_quantiles_are_those_of_scipy_stats():
    for freedom in (1, 2, 7.5, math.inf):
        assert Error(((4.0, freedom),)).tail(3.4) == pytest.approx(stats.t.sf(1.7, freedom))
        low, high = Error(((4.0, freedom),)).interval(0.0, True)
        assert high == pytest.approx(2 * stats.t.ppf(0.975, freedom)) and low == -high
