"""What is missing, what it costs, what is run first; and records that somebody hands in."""

import json
from dataclasses import replace

import pytest
from toy_topic import measured, record

from reasonlib.errors import UserError
from reasonlib.tracking import contributions, records, settle
from reasonlib.tracking.claims import verdicts
from reasonlib.tracking.comparisons import Reader
from reasonlib.tracking.records import Steps
from reasonlib.tracking.settle import Run

pytestmark = pytest.mark.usefixtures("topic")


CLAIM = """
          - id: toy_claims/{name}
            kind: {kind}
            source: mehak2019
            where: {{table: "{table}"}}
            experiment: toy_claims/{experiment}
            row: {row}
            metric: accuracy
            {more}
"""


def claim(name="a", experiment="net", row="small", published="0.7", order=None, table="Table 1", more=""):
    kind = "ordering" if order else "value"
    lines = f"agreement: {{order: [{order}]}}" if order else f"published: {published}"
    if more:
        lines += f"\n            {more}"
    return CLAIM.format(name=name, kind=kind, table=table, experiment=experiment, row=row, more=lines)


HEAD = """
        tables:
          "*": {tolerance: {accuracy: 0.05}, tolerance_reason: for tests}
        claims:
"""


def missing(topic, *claims):
    topic(HEAD + "".join(claims))
    return [settle.missing(verdict) for verdict in verdicts()]


def seeds(runs):
    return {(run.row, run.seed) for run in runs}


def test_what_was_never_run_lacks_three_runs_and_a_deterministic_row_one(topic):
    never, once, only, none = missing(
        topic,
        claim("a", more="data: found"),
        claim("b", experiment="rules", row="all", more="made_on: other"),
        claim("c", published="null"),
        claim("d", order="large above small", row="large", more="data: found"),
    )
    assert seeds(never) == {("small", 0), ("small", 1), ("small", 2)}
    assert {(run.scale, run.data) for run in never} == {("paper", "found")}
    assert [(run.row, run.data, run.seed) for run in once] == [("all", "other", 0)]
    assert only == ()
    assert seeds(none) == {(row, seed) for row in ("large", "small") for seed in range(3)}


def test_few_runs_lack_those_to_three_and_a_wide_interval_more(topic):
    measured(values=[0.7])
    (few,) = missing(topic, claim())
    assert seeds(few) == {("small", 1), ("small", 2)}
    measured(values=[0.72, 0.66], seed=1)
    (more,) = missing(topic, claim(published="0.72"))
    assert seeds(more) and min(run.seed for run in more) == 3 and max(run.seed for run in more) <= 9
    measured(values=[0.7] * 27, seed=3)
    assert missing(topic, claim()) == [()]


def test_what_running_does_not_cure_is_not_asked_for(topic):
    measured("bert", "base", values=0.7)
    for row in ("small", "large"):
        measured(row=row, values=[0.8, 0.8, 0.8])
    measured("rules", "all", values=0.4)
    assert missing(
        topic,
        claim("a", experiment="bert", row="base"),  # one bundled model
        claim("b", order="large above small", row="large"),  # a tie
        claim("c", experiment="rules", row="all"),  # decided
        "          - {id: toy_claims/d, kind: published-only, source: x, where: {table: T}, published: 1}\n",
    ) == [(), (), (), ()]


def test_a_smaller_run_asks_for_the_source_s_scale_where_its_conditions_can_be_had(topic):
    measured(values=[0.7, 0.701, 0.702], scale="quick", data="found")
    (paper,) = missing(topic, claim())
    assert {(run.scale, run.data, run.seed) for run in paper} == {
        ("paper", "found", seed) for seed in range(3)
    }
    (stand_in,) = missing(topic, claim(more="data: made"))
    assert {run.scale for run in stand_in} == {"paper"}  # never run at all
    measured(values=[0.7, 0.701], scale="quick", data="made")
    (stand_in,) = missing(topic, claim(more="data: made"))
    assert {(run.scale, run.seed) for run in stand_in} == {("quick", 2)}
    cut = Steps(done=1, planned=2, stopped="minutes")
    measured(row="large", values=[0.7, 0.701, 0.702], steps=cut)
    (again,) = missing(topic, claim(row="large"))
    assert seeds(again) == {("large", 0), ("large", 1), ("large", 2)}


def test_costs_are_those_of_runs_alike():
    runs = [
        record(seconds=10.0),
        record(seconds=20.0, seed=1),
        record(row="large", seconds=90.0),
        record(seconds=2.0, device="cuda (card)", seed=2),
        record(seconds=500.0, seed=3, steps=Steps(done=1, planned=2, stopped="minutes")),
    ]
    run = Run(experiment="toy_claims/net", row="small", scale="paper", data="found", seed=9)
    assert settle.costs(runs)(run) == 10.0
    assert settle.costs(runs, device="cpu")(run) == 15.0
    assert settle.costs(runs, device="cuda:1")(run) == 2.0
    assert settle.costs(runs, device="mps")(run) == 10.0
    assert settle.costs(runs[2:3])(run) == 90.0  # another row of the experiment
    untrained = record(row="large", seconds=0.5, steps=Steps(done=0, planned=0))
    assert settle.costs([untrained])(run) is None  # a row that trains nothing tells no cost of training
    assert settle.costs(runs)(replace(run, scale="quick")) is None


def test_the_plan_takes_first_what_settles_most_claims_a_minute(topic):
    measured(values=0.7, seconds=10.0)
    measured(row="large", values=0.9, seconds=100.0)
    topic(
        HEAD
        + claim("a")
        + claim("b", table="Table 2")
        + claim("c", row="large", published="0.9")
        + claim("d", order="large above small", row="large")
    )
    planned = settle.plan()
    assert [(run.row, run.seed) for run in planned.runs] == [
        ("small", 1),
        ("small", 2),
        ("large", 1),
        ("large", 2),
    ]
    assert planned.total == 220.0 and planned.open == 4
    assert [planned.settles.get(run, ()) for run in planned.runs] == [
        (),
        ("toy_claims/a", "toy_claims/b"),
        (),
        ("toy_claims/c", "toy_claims/d"),
    ]
    assert [run.row for run in settle.plan(minutes=1).runs] == ["small", "small"]
    assert settle.plan(minutes=0.1).runs == ()
    assert [entry["seconds"] for entry in settle.to_json(planned)] == [10.0, 10.0, 100.0, 100.0]
    assert settle.command(planned.runs) == (
        "reasonlib run toy_claims/net --row small --row large --scale paper --data found --seed 1 --seed 2"
    )


def test_a_claim_that_ten_runs_like_its_three_leave_open_waits_and_is_not_counted(topic):
    measured(values=[0.68, 0.75, 0.71], seconds=1.0)
    measured(row="large", values=[0.71, 0.70, 0.79], seconds=50.0)
    topic(
        HEAD
        + claim("near", published="0.79")  # the distance is about as large as the tolerance
        + claim("apart", table="Table 2", order="large above small by 0.01", row="large")
    )
    words = {verdict.claim.id: verdict for verdict in verdicts("toy_claims")}
    reader = Reader()
    assert {verdict.verdict for verdict in words.values()} == {"inconclusive"}
    assert settle.stays_open(words["toy_claims/near"], reader)
    planned = settle.plan("toy_claims")
    assert planned.runs and not any("toy_claims/near" in names for names in planned.settles.values())


def test_rows_without_seeds_in_common_are_repeated_each_by_itself(topic):
    measured("timed", values=[0.60, 0.75, 0.71])
    measured("timed", row="large", values=[0.71, 0.80, 0.79])
    topic(HEAD + claim(experiment="timed", order="large above small", row="large"))
    (given,) = verdicts("toy_claims")
    assert given.verdict == "inconclusive" and not settle.stays_open(given, Reader())


def test_a_plan_is_carried_out_and_settles_what_it_says(topic, tmp_path):
    measured(values=0.51, seconds=1.0)
    topic(HEAD + claim(published="0.511"))
    (before,) = verdicts()
    assert before.verdict == "inconclusive"
    done = settle.carry_out(
        settle.plan(), minutes=5, folder=records.folder(), checkpoints=tmp_path / "_run", device="cpu"
    )
    assert [part.state for part in done] == ["done", "done"]
    (after,) = verdicts()
    assert after.verdict == "reproduced" and after.n == 3
    assert settle.plan().runs == ()
    with pytest.raises(UserError, match="minutes must be above 0, got 0"):
        settle.carry_out(settle.plan(), minutes=0, folder=None)


# Contributions


def write(folder, *lines):
    file = folder / "toy_claims" / "net.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(entry.to_json()) + "\n" for entry in lines))
    return file


def test_good_records_are_good(tmp_path):
    old = [record(seed=seed) for seed in range(2)]
    write(tmp_path / "main", *old)
    file = write(tmp_path / "mine", *old, record(seed=2, row="large"))
    report = contributions.check(file, against=tmp_path / "main")
    assert report.ok and (report.checked, report.new) == (3, 1) and report.warnings == ()
    assert contributions.check(file).new == 3
    assert report.to_json()["ok"] is True
    (tmp_path / "mine" / "equivalent.jsonl").write_text("{}\n")
    assert contributions.files_of([tmp_path / "mine", file]) == [file]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"code": {"run": "0" * 16}}, "made by other code or settings than these: code changed"),
        ({"config": {"width": 2, "steps": 100}}, "setting width was 2, is 1"),
        ({"seconds": 0.0}, "seconds must be above 0, got 0.0"),
        ({"when": "2999-01-01T00:00:00+00:00"}, "it was made in the future"),
        ({"when": "yesterday"}, "when must be a time with its zone"),
        ({"seed": -1, "when": "2025-01-01T00:00:00+00:00"}, "the seed must be at least 0, got -1"),
        ({"steps": Steps(done=-1, planned=3)}, "steps must be at least 0"),
    ],
)
def test_what_cannot_be_is_a_problem(tmp_path, changes, message):
    (problem,) = contributions.check(write(tmp_path, record(**changes))).problems
    assert message in problem and problem.startswith(f"{tmp_path}/toy_claims/net.jsonl:1: ")


def test_duplicates_changed_lines_and_broken_files_are_problems(tmp_path):
    old = record()
    write(tmp_path / "main", old)
    again = contributions.check(write(tmp_path / "a", old, old, old), against=tmp_path / "main")
    assert again.ok and again.new == 0  # the very lines that are there
    twice = contributions.check(write(tmp_path / "b", record(seed=5), record(seed=5)))
    assert twice.problems == (
        f"{tmp_path}/b/toy_claims/net.jsonl:1: the same run stands there already (1 more lines)",
    )
    edited = contributions.check(write(tmp_path / "c", record(accuracy=0.9)), against=tmp_path / "main")
    assert "changed or gone; records are only appended" in edited.problems[0]
    file = write(tmp_path / "d", old)
    file.write_text("{\n")
    assert "not a record" in contributions.check(file).problems[0]
    write(tmp_path / "main", old)
    rerun = contributions.check(write(tmp_path / "e", old, record(accuracy=0.9)), against=tmp_path / "main")
    assert "this seed was run before, with other numbers" in rerun.problems[0]
    other = file.with_name("odes.jsonl")
    other.write_text("")
    (problem,) = contributions.check(other).problems
    assert problem.startswith(f"{other}: there is no experiment 'toy_claims/odes'")


def test_a_share_outside_0_and_1_is_a_problem(topic, tmp_path):
    topic(HEAD + claim(more="unit: fraction"))
    (problem,) = contributions.check(write(tmp_path, record(accuracy=1.5))).problems
    assert problem.endswith("net.jsonl:1: accuracy is a share, and is 1.5")
    topic(HEAD + claim(more="unit: points"))
    assert contributions.check(write(tmp_path, record(accuracy=1.5))).ok


def test_what_is_unusual_is_a_warning(tmp_path):
    old = [record(seed=seed, accuracy=0.70 + 0.001 * seed) for seed in range(4)]
    write(tmp_path / "main", *old)
    strange = [
        record(seed=4, accuracy=0.9),
        record(seed=5, accuracy=70.2),
        record(seed=6, accuracy={"loss": 1.0}, commit="0" * 40 + "+dirty"),
    ]
    report = contributions.check(write(tmp_path / "mine", *old, *strange), against=tmp_path / "main")
    assert report.ok
    equal = [record(seed=seed, row="large", accuracy=1.0) for seed in range(3)]
    write(tmp_path / "main", *equal)
    forged = record(seed=77, row="large", accuracy=0.9, seconds=0.5)
    odd = contributions.check(write(tmp_path / "forged", *equal, forged), against=tmp_path / "main")
    line = f"{tmp_path}/forged/toy_claims/net.jsonl:4"
    assert odd.warnings == (
        f"{line}: a step took 0.005 s, and at least 0.6 s in all other runs of this row",
        f"{line}: accuracy is 0.9, and 1 in all 3 other runs of this row",
    )
    text = "\n".join(report.warnings)
    for words in (
        "net.jsonl:5: accuracy is 0.9, 154 standard deviations from the other runs",
        "net.jsonl:6: accuracy is 70.2, where all others lie between 0 and 1",
        "net.jsonl:6: accuracy is 70.2, and at most 0.703 in all other runs",
        "net.jsonl:7: other metrics than in earlier records: accuracy, loss",
        "net.jsonl:7: the code was not committed",
    ):
        assert words in text
