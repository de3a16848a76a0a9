"""Records keep counting after names change: the map of renames is applied when they are read."""

import json

import pytest

from reasonlib.errors import DataError
from reasonlib.tracking import records, renames
from reasonlib.tracking.renames import Renames, Section

OLD = {
    "experiment": "lab/walk",
    "row": "qa7",
    "scale": "quick",
    "seed": 0,
    "data": {"name": "simulated", "kind": "simulated", "version": None},
    "metrics": {"one.error": 0.25, "one.error.qa7": 0.5, "speed": 3.0},
    "config": {"told": 0.1, "only4": {"spread": 0.2}, "pre": [{"spread": 0.3}], "model": "n2n", "loud": True},
    "steps": {"done": 1, "planned": 1, "stopped": "finished"},
    "seconds": 1.0,
    "device": "cpu",
    "versions": {},
    "commit": None,
    "code": {},
    "when": "2026-01-01T00:00:00.000+00:00",
    "details": {"curve": [{"asked": 3}]},
}
MAP = """
"*":
  kinds: {simulated: simulated}
lab:
  settings: {spread: init_std, loud: null}
  metrics: {speed: null}
lab/walk:
  name: lab/stroll
lab/stroll:
  name: lab/hike
  rows: {"qa*": "task-*"}
  scales: {quick: paper}
  settings: {told: labels_weight, labels_weight: evidence_weight}
  values: {model: {n2n: memory-network}}
  added: {dropout: 0.0, only4: {}}
  metrics: {"one.*": "ours.*"}
  details: {asked: questions}
  data: {simulated: stories}
"""


@pytest.fixture
def folder(tmp_path):
    file = tmp_path / "lab" / "walk.jsonl"
    file.parent.mkdir()
    file.write_text(json.dumps(OLD) + "\n")
    (tmp_path / renames.FILE).write_text(MAP)
    return tmp_path


def test_an_old_record_reads_with_todays_names(folder):
    for name in ("lab/hike", "lab", None):
        (record,) = records.read(name, records=folder)
        assert (record.experiment, record.row, record.scale) == ("lab/hike", "task-7", "paper")
        assert record.data.name == "stories"
        assert record.metrics == {"ours.error": 0.25, "ours.error.qa7": 0.5}
        assert record.config == {
            "evidence_weight": 0.1,
            "only4": {"init_std": 0.2},
            "pre": [{"init_std": 0.3}],
            "model": "memory-network",
            "dropout": 0.0,
        }
        assert record.details == {"curve": [{"questions": 3}]}
        assert record.location == "records/lab/walk.jsonl:1"


def test_records_under_the_old_and_the_new_name_are_read_together(folder):
    new = {**OLD, "experiment": "lab/hike", "row": "task-7", "seed": 1}
    (folder / "lab" / "hike.jsonl").write_text(json.dumps(new) + "\n")
    assert [record.seed for record in records.read("lab/hike", records=folder)] == [0, 1]
    assert {record.experiment for record in records.read(records=folder)} == {"lab/hike"}


def test_without_a_map_nothing_changes(folder):
    (folder / renames.FILE).write_text("{}")
    (record,) = records.read("lab/walk", records=folder)
    assert record.to_json() == {**OLD, "seconds": 1.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lab: {colours: {a: b}}", "lab: there is no part 'colours'"),
        ("lab: {rows: {a: 1}}", "lab: rows must map a name to a name, got 'a': 1"),
        ("lab/a: {name: b}", "lab/a: name must turn one topic/word into another, got 'b'"),
        ("lab/a: {name: lab/b}\nlab/b: {name: lab/a}", "lab/a -> lab/b -> lab/a is a circle"),
        ("lab: {settings: {a: b, b: a}}", "lab: settings rename a -> b -> a: an old name must not come back"),
        ("lab: 3", "lab must map names to names, got 3"),
        ("lab: [", "expected the node content"),
    ],
)
def test_a_map_that_is_wrong_says_where(tmp_path, text, message):
    (tmp_path / renames.FILE).write_text(text)
    with pytest.raises(DataError, match=r"renames\.yaml: ") as caught:
        renames.load(tmp_path)
    assert message in str(caught.value)


def test_the_map_of_the_project_is_well_formed():
    renames.load(records.folder())


def test_kinds_are_renamed_by_the_data_or_by_the_old_kind():
    names = Renames({"*": Section(kinds={"real": "released", "digits": "stand-in"})})
    kinds = {
        data: names.apply({**OLD, "data": {"name": data, "kind": "real"}})["data"]["kind"]
        for data in ("digits", "babi")
    }
    assert kinds == {"digits": "stand-in", "babi": "released"}
