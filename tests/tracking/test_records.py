"""Records: written whole, read strictly, chosen fairly, and flagged when what made them is gone."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from reasonlib.errors import DataError, UserError
from reasonlib.tracking import equivalence, records
from reasonlib.tracking.equivalence import Equivalence
from reasonlib.tracking.experiment import Experiment, settings
from reasonlib.tracking.fingerprint import fingerprint
from reasonlib.tracking.records import Data, Record, Steps, Summary

EXPERIMENT = Experiment(
    name="toy/sums",
    title="Sums",
    rows={"small": {"width": 2}, "large": {"width": 9, "shape": (1, 2)}},
    scales={"smoke": {"steps": 1}, "quick": {"steps": 10}, "paper": {"steps": 100}},
    data={"made": "stand-in", "found": "released"},
    run=lambda trial: {"accuracy": 1.0},
    version={"made": "2", "found": "9"}.get,
)


def record(
    row="small",
    scale="quick",
    seed=0,
    data="found",
    accuracy=0.5,
    when="2025-01-01T00:00:00+00:00",
    **changes,
):
    values = {
        "experiment": "toy/sums",
        "row": row,
        "scale": scale,
        "seed": seed,
        "data": Data(name=data, kind=EXPERIMENT.data[data], version=EXPERIMENT.version(data)),
        "metrics": {"accuracy": accuracy},
        "config": settings(EXPERIMENT, row, scale),
        "steps": Steps(done=10, planned=10),
        "seconds": 1.5,
        "device": "cpu",
        "versions": {"python": "3.11.2"},
        "commit": None,
        "code": {"run": fingerprint(EXPERIMENT.run)},
        "when": when,
    }
    return Record(**{**values, **changes})


# Files


def test_a_record_comes_back_as_it_was_written(tmp_path):
    first, second = record(accuracy=0.25, details={"curve": [1, 2]}), record(seed=1, accuracy=None)
    records.append(first, records=tmp_path)
    file = records.append(second, records=tmp_path)
    assert file == tmp_path / "toy" / "sums.jsonl"
    stored = records.read("toy/sums", records=tmp_path)
    assert (
        stored == [first, second] == records.read("toy", records=tmp_path) == records.read(records=tmp_path)
    )
    assert [r.location for r in stored] == ["records/toy/sums.jsonl:1", "records/toy/sums.jsonl:2"]
    assert stored[0].topic == "toy"


def test_appending_leaves_what_was_there(tmp_path):
    file = records.append(record(), records=tmp_path)
    before = file.read_bytes()
    records.append(record(seed=1), records=tmp_path)
    assert file.read_bytes().startswith(before)


def test_writers_at_the_same_time_do_not_mix_their_lines(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda seed: records.append(record(seed=seed), records=tmp_path), range(64)))
    assert sorted(r.seed for r in records.read("toy/sums", records=tmp_path)) == list(range(64))


def test_a_line_after_a_cut_one_stands_alone(tmp_path):
    file = records.append(record(), records=tmp_path)
    file.write_text(file.read_text() + '{"experiment": "toy/su')
    records.append(record(seed=7), records=tmp_path)
    lines = file.read_text().splitlines()
    assert len(lines) == 3 and json.loads(lines[2])["seed"] == 7
    with pytest.raises(DataError, match=r"sums\.jsonl:2: not a record"):
        records.read("toy/sums", records=tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: v.pop("seed"), "'seed' is missing"),
        (lambda v: v.update(seed="0"), "seed must be int"),
        (lambda v: v.update(seed=True), "seed must be int"),
        (lambda v: v.update(scale="huge"), "scale must be one of smoke, quick, paper, got 'huge'"),
        (lambda v: v["data"].update(kind="fake"), "data.kind must be one of released, regenerated"),
        (lambda v: v["data"].pop("name"), "'data.name' is missing"),
        (lambda v: v["steps"].update(stopped="bored"), "steps.stopped"),
        (lambda v: v["metrics"].update(accuracy="high"), "metrics.accuracy must be int or float or null"),
        (lambda v: v.update(experiment="toy/others"), "belongs to experiment 'toy/others'"),
        (lambda v: v.update(experiment="toy"), "must be topic/word"),
        (lambda v: v.update(metrics=3), "metrics must be mapping"),
    ],
)
def test_a_malformed_record_names_file_line_and_field(tmp_path, change, message):
    file = records.append(record(), records=tmp_path)
    values = record().to_json()
    change(values)
    file.write_text(file.read_text() + json.dumps(values) + "\n")
    with pytest.raises(DataError, match=r"sums\.jsonl:2: not a record: .*" + message):
        records.read("toy", records=tmp_path)


@pytest.mark.parametrize("line", ["[1]", "nonsense", '{"seed": NaN}', "\ufffd"])
def test_a_line_that_is_no_json_object(tmp_path, line):
    file = tmp_path / "toy" / "sums.jsonl"
    file.parent.mkdir()
    file.write_text(line + "\n")
    with pytest.raises(DataError, match=r"sums\.jsonl:1: not a record"):
        records.read("toy/sums", records=tmp_path)


def test_a_file_that_is_no_text(tmp_path):
    file = tmp_path / "toy" / "sums.jsonl"
    file.parent.mkdir()
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="cannot be read as text"):
        records.read("toy", records=tmp_path)


def test_later_fields_and_empty_lines_are_passed_over(tmp_path):
    file = records.append(record(), records=tmp_path)
    file.write_text(json.dumps({**record().to_json(), "colour": "blue"}) + "\n\n")
    assert records.read("toy", records=tmp_path) == [record()]


def test_nothing_recorded_is_no_error(tmp_path):
    assert records.read("toy/sums", records=tmp_path) == records.read(records=tmp_path / "absent") == []
    assert records.best(EXPERIMENT, "small", records=tmp_path) is None
    assert records.latest("toy/sums", records=tmp_path) is None


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="could not be written"):
        records.append(record(), records=tmp_path / "file")
    with pytest.raises(UserError, match="cannot be kept"):
        records.prepare("toy/sums", records=tmp_path / "file")


def test_the_folder_can_be_chosen(tmp_path, monkeypatch):
    monkeypatch.setenv("REASONLIB_RECORDS", str(tmp_path / "mine"))
    assert records.folder() == tmp_path / "mine"
    monkeypatch.delenv("REASONLIB_RECORDS")
    assert records.folder().name in ("records", "_records")


# Staleness


def test_a_record_of_today_is_not_stale():
    assert records.stale(record(), EXPERIMENT) is None
    assert (
        records.stale(record(row="large"), EXPERIMENT) is None
    )  # a tuple in the settings is a list in the record


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"row": "huge", "config": {}}, "row huge is gone"),
        ({"config": {"width": 3, "steps": 10}}, "setting width was 3, is 2"),
        ({"config": {"width": 2}}, r"setting steps is new \(10\)"),
        ({"config": {"width": 2, "steps": 10, "old": 1}}, "setting old was 1, is gone"),
        ({"data": Data(name="lost", kind="released")}, "data lost is gone"),
        ({"data": Data(name="found", kind="released", version="8")}, "data found was version 8, is 9"),
        ({"code": {"run": "0" * 16}}, "code changed"),
        ({"code": {"reasonlib.errors": "0" * 16}}, "code changed"),
        ({"code": {}}, "code changed"),
    ],
)
def test_a_stale_record_says_why(changes, reason):
    whole = record()
    with pytest.raises(AssertionError):
        assert records.stale(replace(whole, **changes), EXPERIMENT) is None
    import re

    assert re.fullmatch(reason, records.stale(replace(whole, **changes), EXPERIMENT))


def test_scales_and_experiments_go_too():
    smaller = replace(EXPERIMENT, scales={"paper": {"steps": 100}})
    assert records.stale(record(), smaller) == "scale quick is gone"
    assert records.stale(record()) == "experiment toy/sums is gone"


# Selection


def test_seeds_are_summarised():
    runs = [record(seed=seed, accuracy=value) for seed, value in enumerate([0.2, 0.4, 0.6])]
    group = records.best(EXPERIMENT, "small", records=runs)
    summary = group.summary("accuracy")
    assert summary.mean == pytest.approx(0.4) and summary.sd == pytest.approx(0.2) and summary.n == 3
    assert group.metrics == ("accuracy",)
    assert Summary.of([0.3]) == Summary(mean=0.3, sd=None, n=1)


def test_a_metric_is_a_share_of_the_examples_that_its_experiment_says():
    shares = {"accuracy": 1, "accuracy.*": 0.25, "*": 0}
    (group,) = records.groups(replace(EXPERIMENT, shares=shares), records=[record(details={"examples": 80})])
    assert [group.examples(name) for name in ("accuracy", "accuracy.text", "cka")] == [80, 20, None]
    (counted,) = records.groups(EXPERIMENT, records=[record(details={"examples": {"accuracy": 7}})])
    assert (counted.examples("accuracy"), counted.examples("loss")) == (7, None)
    (unsaid,) = records.groups(EXPERIMENT, records=[record()])
    assert unsaid.examples("accuracy") is None
    elsewhere = replace(EXPERIMENT, shares={"accuracy": "turns", "recall": 12})
    (group,) = records.groups(elsewhere, records=[record(details={"turns": 5})])
    assert [group.examples(name) for name in ("accuracy", "recall", "loss")] == [5, 12, None]
    by_setting = replace(EXPERIMENT, shares={"accuracy": "width"})
    (group,) = records.groups(by_setting, records=[record()])
    assert group.examples("accuracy") == group.records[0].config["width"]
    (group,) = records.groups(EXPERIMENT, records=[record(config={"width": 2, "examples": 40, "steps": 1})])
    assert group.examples("accuracy") is None  # examples of training, which are settings
    by_metric = replace(EXPERIMENT, shares={"recall": "accuracy"})
    (group,) = records.groups(by_metric, records=[record(details={"examples": {"accuracy": 30}})])
    assert group.examples("accuracy") == group.examples("recall") == 30 and group.examples("f1") is None
    with pytest.raises(ValueError, match=r"shares must be at least 0, got -1 for 'accuracy'"):
        replace(EXPERIMENT, shares={"accuracy": -1})


def test_a_metric_that_one_seed_lacks_has_no_mean():
    group = records.best(EXPERIMENT, "small", records=[record(seed=0), record(seed=1, accuracy=None)])
    assert group.summary("accuracy") is None and group.metrics == ()
    assert group.summary("other") is None


def test_a_seed_counts_once_its_first_run():
    runs = [
        record(accuracy=0.9, when="2025-01-02T00:00:00+00:00"),
        record(accuracy=0.1, when="2025-01-01T00:00:00+00:00"),
    ]
    summary = records.best(EXPERIMENT, "small", records=runs).summary("accuracy")
    assert (summary.mean, summary.n) == (0.1, 1)


def test_a_run_to_the_end_comes_before_one_that_ran_out_of_time():
    part = record(
        seed=1,
        accuracy=0.1,
        when="2025-02-01T00:00:00+00:00",
        steps=Steps(done=1, planned=9, stopped="minutes"),
    )
    group = records.best(EXPERIMENT, "small", records=[record(accuracy=0.7), part])
    assert group.complete and group.summary("accuracy") == Summary(mean=0.7, sd=None, n=1)
    alone = records.best(EXPERIMENT, "small", records=[part])
    assert not alone.complete and alone.summary("accuracy").mean == 0.1
    early = record(steps=Steps(done=1, planned=9, stopped="early"))
    assert records.best(EXPERIMENT, "small", records=[early]).complete


OLD = {"code": {"run": "0" * 16}}
PREFERENCE = [
    {"scale": "paper", "data": "found"},
    {"scale": "paper", "data": "made"},
    {"scale": "quick", "data": "found"},
    {"scale": "quick", "data": "made"},
    {"scale": "smoke", "data": "found"},
    {"scale": "smoke", "data": "made"},
    {"scale": "paper", "data": "found", **OLD},
    {"scale": "smoke", "data": "made", **OLD},
]


@pytest.mark.parametrize("first", range(len(PREFERENCE)))
def test_preference_fresh_then_scale_then_real(first):
    runs = [record(**changes) for changes in reversed(PREFERENCE[first:])]
    group = records.best(EXPERIMENT, "small", records=runs)
    assert (group.scale, group.data.name) == (PREFERENCE[first]["scale"], PREFERENCE[first]["data"])
    assert (group.stale is None) == ("code" not in PREFERENCE[first])
    if group.stale:
        assert group.stale == "code changed"


def test_fresh_and_stale_seeds_do_not_mix():
    runs = [
        record(seed=0, accuracy=0.2),
        record(seed=1, accuracy=0.8, when="2025-03-01T00:00:00+00:00", **OLD),
    ]
    group = records.best(EXPERIMENT, "small", records=runs)
    assert group.stale is None and group.summary("accuracy") == Summary(mean=0.2, sd=None, n=1)
    older = record(seed=2, accuracy=0.4, code={"run": "1" * 16})
    group = records.best(EXPERIMENT, "small", records=[older, runs[1]])
    assert [r.seed for r in group.records] == [1]


def test_groups_can_be_narrowed(tmp_path):
    for row in ("small", "large"):
        for scale in ("quick", "paper"):
            records.append(record(row=row, scale=scale), records=tmp_path)
    assert len(records.groups(EXPERIMENT, records=tmp_path)) == 4
    assert len(records.groups(EXPERIMENT, "small", records=tmp_path)) == 2
    (narrowed,) = records.groups(EXPERIMENT, "small", scale="quick", data="found", records=tmp_path)
    assert narrowed.records[0].location == "records/toy/sums.jsonl:1"
    assert records.groups(EXPERIMENT, data="made", records=tmp_path) == []
    gone = records.groups("toy/sums", "small", records=tmp_path)
    assert [group.stale for group in gone] == ["experiment toy/sums is gone"] * 2


def test_latest_by_time_then_by_line(tmp_path):
    for seed, when in [(0, "2025-01-02"), (1, "2025-01-03"), (2, "2025-01-03"), (3, "2025-01-01")]:
        records.append(record(seed=seed, when=when), records=tmp_path)
    assert records.latest("toy/sums", records=tmp_path).seed == 2
    assert (
        records.latest("toy/sums", "small", scale="quick", data="found", seed=3, records=tmp_path).seed == 3
    )
    assert records.latest("toy/sums", "large", records=tmp_path) is None


def test_data_that_is_not_here_makes_no_record_stale():
    elsewhere = replace(EXPERIMENT, version=lambda name: None)
    assert records.stale(record(), elsewhere) is None


# Code that gives the same bits


def test_records_of_equivalent_code_count_and_are_summarised_together(tmp_path, monkeypatch):
    monkeypatch.setenv("REASONLIB_RECORDS", str(tmp_path))
    hashes = {"reasonlib.errors": "0" * 16}
    runs = {
        "first": {"commit": "a" * 40 + "+dirty", "code": hashes},
        "second": {"commit": "b" * 40, "code": hashes},
        "third": {"code": {"run": "3" * 16}},
        "today": {},
    }
    for seed, changes in enumerate(runs.values()):
        records.append(record(seed=seed, **changes))
    groups = records.groups(EXPERIMENT)
    assert [[measurement.seed for measurement in group.records] for group in groups] == [[3]]
    lines = [
        (equivalence.key(hashes, "a" * 40), "2" * 16),
        ("2" * 16, "3" * 16),
        ("3" * 16, fingerprint(EXPERIMENT.run)),
    ]
    for before, after in lines:
        line = Equivalence(experiment="toy/sums", before=before, after=after, evidence="the same bits")
        equivalence.append(tmp_path, line)
    (group,) = records.groups(EXPERIMENT)
    assert group.stale is None and [measurement.seed for measurement in group.records] == [0, 2, 3]
    assert records.stale(records.read("toy/sums")[1], EXPERIMENT) == "code changed"


def test_records_of_rows_that_were_meant_to_change_stay_stale(tmp_path, monkeypatch):
    monkeypatch.setenv("REASONLIB_RECORDS", str(tmp_path))
    rows = list(EXPERIMENT.rows)
    for row in rows:
        records.append(record(row=row, code={"run": "1" * 16}))
    now = fingerprint(EXPERIMENT.run)
    line = Equivalence(
        experiment="toy/sums", before="1" * 16, after=now, evidence="the same bits", but=", ".join(rows[1:])
    )
    equivalence.append(tmp_path, line)
    stale_by_row = {group.row: group.stale for group in records.groups(EXPERIMENT)}
    assert stale_by_row == {rows[0]: None, **dict.fromkeys(rows[1:], "code changed")}


def test_a_line_that_is_no_equivalence_says_where(tmp_path, monkeypatch):
    monkeypatch.setenv("REASONLIB_RECORDS", str(tmp_path))
    (tmp_path / equivalence.FILE).write_text('{"experiment": "toy/sums"}\n')
    with pytest.raises(DataError, match=r"equivalent\.jsonl:1: not an equivalence"):
        records.read()
