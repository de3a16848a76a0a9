"""What holds of the claims and verdicts of every topic."""

import pytest

from reasonlib.tracking import claims, settle
from reasonlib.tracking.claims_file import load
from reasonlib.tracking.conditions import SOURCE_KINDS
from reasonlib.tracking.experiment import experiments, part, settings, topics
from reasonlib.tracking.record import KINDS
from reasonlib.tracking.runner import run
from reasonlib.tracking.samples import MIN_RUNS
from reasonlib.tracking.significance import TIE

DECIDED = ("reproduced", "exceeded", "contradicted")
TIMED = ("seconds", "per_second", "nanoseconds")


@pytest.fixture(scope="module")
def verdicts():
    return claims.verdicts()


@pytest.mark.parametrize("topic", topics())
def test_the_kind_of_a_data_set_is_declared_once(topic):
    declared = part(topic, "experiments").DATA
    assert set(declared.values()) <= set(KINDS)
    for experiment in experiments(topic).values():
        for name, kind in experiment.data.items():
            assert declared[name] == kind, (experiment.name, name)


@pytest.mark.parametrize("topic", topics())
def test_printed_settings_are_settings_that_runs_have(topic):
    """A setting that was renamed would count as a difference for ever."""
    by_name = experiments(topic)
    for claim in load(topic):
        for side in claim.sides:
            experiment = by_name[side.experiment]
            config = settings(experiment, side.row, next(iter(experiment.scales)))
            names = set(config if experiment.resolve is None else experiment.resolve(config, side.metric))
            names |= {name for scale in experiment.scales.values() for name in scale}
            for printed in claim.table.settings:
                if printed.concerns(side):
                    assert set(printed.values) <= names, (claim.id, side, set(printed.values) - names)


@pytest.mark.parametrize("topic", topics())
def test_every_entry_about_settings_concerns_some_claim(topic):
    everything = load(topic)
    printed = {repr(entry): entry for claim in everything for entry in claim.table.settings}
    for entry in printed.values():
        members = [claim for claim in everything if entry in claim.table.settings]  # of `*`: many tables
        assert any(entry.concerns(side) for claim in members for side in claim.sides), entry


@pytest.mark.parametrize("topic", topics())
def test_every_claim_of_a_source_says_where_it_stands(topic):
    for claim in load(topic):
        if not claim.goal and not claim.outside:
            assert claim.lines, claim.id  # of its own, not those of its table alone


def test_nothing_is_decided_by_few_runs_other_data_or_other_settings(verdicts):
    for verdict in verdicts:
        if verdict.verdict in DECIDED:
            assert verdict.conditions == (), verdict.claim.id
            assert verdict.kind in SOURCE_KINDS, verdict.claim.id
            assert verdict.scale == "paper", verdict.claim.id
        if verdict.verdict in (*DECIDED, "supported", "challenged"):
            assert verdict.deterministic or all(
                len(values) >= MIN_RUNS or _declared(side) for side, values in verdict.values.items()
            ), verdict.claim.id
            assert not all(part.tie for part in verdict.comparisons), verdict.claim.id


def _declared(side):
    return experiments(side.experiment.partition("/")[0])[side.experiment].is_deterministic(
        side.row, side.metric
    )


def test_the_worst_of_the_review_come_out_right(verdicts):
    """Claims that counted as reproduced by a tie, by one run, by relabelled data or by a goal of ours."""
    by_id = {verdict.claim.id: verdict for verdict in verdicts}
    for name in (
        "optimisation/silu/relu",
        "goal_dialogue/no-results-oov",
        "goal_dialogue/batch-64",
        "optimisation/relu/dropout",
        "optimisation/focal/balance",
        "optimisation/elu/faster",
    ):
        assert by_id[name].verdict not in DECIDED, name
    for name in ("optimisation/skewed/mse", "optimisation/skewed/mae", "optimisation/mse/useful-rare"):
        assert by_id[name].kind == "stand-in" and by_id[name].verdict not in DECIDED, name
    for name, verdict in by_id.items():
        if name.startswith(("goal_dialogue/wall/", "goal_dialogue/ceiling/")):
            assert verdict.claim.goal, name
    for name in ("dbow/oov1", "dbow/oov3", "dbow/oov5", "n2n/oov1", "n2n/task4", "n2n/oov4"):
        assert by_id[f"goal_dialogue/table-5.3/{name}"].verdict not in DECIDED, name
    for name in ("task4", "oov4", "average", "oov"):
        said = map(str, by_id[f"goal_dialogue/table-3.1/n2n/{name}"].conditions)
        assert any("test set in sight" in text for text in said), name


@pytest.mark.parametrize(
    "experiment",
    [
        experiment
        for topic in topics()
        for experiment in experiments(topic).values()
        if experiment.deterministic
    ],
    ids=lambda experiment: experiment.name,
)
def test_what_is_called_deterministic_gives_the_same_bits_from_every_seed(experiment):
    rows = [row for row in experiment.rows if experiment.is_deterministic(row)]
    free = [name for name, kind in experiment.data.items() if kind in ("stand-in", "regenerated")]
    if not free:
        pytest.skip("its data have to be fetched")
    made = run(experiment, rows=rows, scale="smoke", seeds=(0, 1), data=free[0], device="cpu")
    for first, second in zip(made[::2], made[1::2], strict=True):
        assert first.row == second.row
        names = [name for name in first.metrics if not any(word in name for word in TIMED)]
        assert names and [first.metrics[name] for name in names] == [second.metrics[name] for name in names]


def test_what_is_called_counted_is_the_same_from_every_seed():
    names = set()
    for topic in topics():
        for experiment in experiments(topic).values():
            if not experiment.counted:
                continue
            rows = list(experiment.rows)
            made = run(experiment, rows=[rows[0], rows[-1]], scale="smoke", seeds=(0, 1), device="cpu")
            for first, second in zip(made[::2], made[1::2], strict=True):
                counted = {n: v for n, v in first.metrics.items() if experiment.is_deterministic("", n)}
                assert counted and counted == {name: second.metrics[name] for name in counted}
                names |= set(counted)
    assert "parameters_millions" in names


def test_a_plan_for_the_whole_book_can_be_made(verdicts):
    planned = settle.plan(minutes=120, verdicts=verdicts)
    assert planned.runs and planned.open > len(planned.settles)


def test_records_of_deterministic_rows_agree(verdicts):
    for verdict in verdicts:
        for side, values in verdict.values.items():
            if _declared(side):
                assert max(values) - min(values) <= TIE * max(map(abs, values)), side
