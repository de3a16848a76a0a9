"""Experiments: what is asked is checked, trials fan out and come back the same, and resume."""

import importlib
import json
import math
import random
import subprocess
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import pytest

import reasonlib
from reasonlib.errors import DataError, UserError
from reasonlib.tracking import experiment as experiments
from reasonlib.tracking import machine, records
from reasonlib.tracking.experiment import Experiment, Measured, Trial, find, settings, topics
from reasonlib.tracking.fingerprint import fingerprint
from reasonlib.tracking.runner import run


def walk(trial: Trial) -> Measured:
    """Walk at random and say how far: the same for the same seed and settings, wherever it runs."""
    generator = random.Random(trial.seed)
    steps = trial.settings["steps"]
    position = sum(generator.gauss(0, trial.settings["stride"]) for _ in range(steps))
    return Measured(metrics={"place": position, "steps": steps}, steps_done=steps, steps_planned=steps)


WALKS = Experiment(
    name="toy/walks",
    title="Random walks",
    rows={"short": {"stride": 0.5}, "long": {"stride": 2.0, "axes": (0, 1)}},
    scales={"smoke": {"steps": 3}, "quick": {"steps": 50}},
    data={"made": "stand-in", "found": "released"},
    run=walk,
)


def metrics(measured):
    return {(r.row, r.seed): dict(r.metrics) for r in measured}


# What a record holds


def test_a_run_returns_one_whole_record_a_row_and_seed():
    measured = run(WALKS, scale="smoke", seeds=(3, 1), device="cpu")
    assert [(r.row, r.seed) for r in measured] == [("short", 3), ("short", 1), ("long", 3), ("long", 1)]
    record = measured[2]
    assert record.experiment == "toy/walks" and record.scale == "smoke"
    assert record.config == {"stride": 2.0, "axes": [0, 1], "steps": 3}
    assert (record.data.name, record.data.kind, record.data.version) == ("made", "stand-in", None)
    assert (record.steps.done, record.steps.planned, record.steps.stopped) == (3, 3, "finished")
    assert record.metrics["steps"] == 3.0 and record.seconds >= 0 and record.device.startswith("cpu (")
    assert record.versions["reasonlib"] == reasonlib.__version__ and "python" in record.versions
    assert record.code == {"run": fingerprint(walk)}
    assert record.when.endswith("+00:00")
    assert records.stale(record, WALKS) is None


def test_settings_of_the_scale_replace_those_of_the_row():
    both = replace(WALKS, rows={"short": {"stride": 1, "steps": 9}})
    assert settings(both, "short", "smoke") == {"stride": 1, "steps": 3}
    assert run(both, scale="smoke", device="cpu")[0].metrics["steps"] == 3.0


def test_the_trial_gets_what_was_asked():
    seen = []

    def look(trial):
        seen.append(trial)
        return {"x": 1}

    run(
        replace(WALKS, run=look), rows="long", seeds=5, data="found", minutes=0.5, device="cpu", progress=True
    )
    (trial,) = seen
    assert (trial.experiment, trial.row, trial.scale, trial.seed) == ("toy/walks", "long", "quick", 5)
    assert (trial.data, trial.kind, trial.minutes, trial.device) == ("found", "released", 0.5, "cpu")
    assert trial.settings["axes"] == (0, 1) and trial.folder is None and trial.progress


def test_metrics_alone_will_do_and_what_is_not_finite_is_null():
    (record,) = run(
        replace(WALKS, run=lambda t: {"a": 1, "b": math.nan, "c": math.inf}), rows="short", device="cpu"
    )
    assert record.metrics == {"a": 1.0, "b": None, "c": None}


@pytest.mark.parametrize("nothing", [{}, None, 0.5])
def test_an_experiment_must_measure_something(nothing):
    with pytest.raises(ValueError, match="toy/walks must return at least one metric"):
        run(replace(WALKS, run=lambda trial: nothing), rows="short", device="cpu")


def test_versions_of_the_data_are_recorded():
    versioned = replace(WALKS, version={"made": "7"}.get)
    (record,) = run(versioned, rows="short", device="cpu")
    assert record.data.version == "7" and records.stale(record, versioned) is None
    said = replace(versioned, run=lambda t: Measured(metrics={"x": 1}, data_version="6"))
    (record,) = run(said, rows="short", device="cpu")
    assert records.stale(record, said) == "data made was version 6, is 7"


def test_a_run_cut_short_says_so():
    short = replace(WALKS, run=lambda t: Measured(metrics={"x": 1}, steps_done=2, steps_planned=9))
    (record,) = run(short, rows="short", device="cpu")
    assert record.steps.stopped == "minutes" and not record.steps.complete
    with pytest.raises(ValueError, match="stopped must be one of finished, early, minutes, got 'tired'"):
        run(
            replace(WALKS, run=lambda t: Measured(metrics={"x": 1}, stopped="tired")),
            rows="short",
            device="cpu",
        )


def test_commit_and_uncommitted_changes(tmp_path, monkeypatch):
    def git(*arguments):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    package = tmp_path / "reasonlib"
    package.mkdir()
    (package / "__init__.py").write_text("")
    monkeypatch.setattr(reasonlib, "__file__", str(package / "__init__.py"))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert machine.commit() is None  # no repository
    git("init", "-q")
    assert machine.commit() is None  # a repository of somebody else's, in which the package is not tracked
    git("add", ".")
    git("commit", "-q", "-m", "one")
    clean = machine.commit()
    assert len(clean) == 40
    (tmp_path / "README").write_text("outside the package")
    assert machine.commit() == clean
    (package / "new.py").write_text("")
    assert machine.commit() == clean + "+dirty"


# Mistakes


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"rows": ["short", "wide"]}, "toy/walks has no row 'wide'; it has: short, long"),
        ({"scale": "paper"}, "toy/walks has no scale 'paper'; it has: smoke, quick"),
        ({"data": "lost"}, "toy/walks has no data 'lost'; it has: made, found"),
        ({"seeds": (0, -1)}, "a seed must be a whole number from 0 to 4294967295, got -1"),
        ({"seeds": "12"}, "a seed must be a whole number"),
        ({"seeds": ()}, "nothing to run"),
        ({"rows": ()}, "nothing to run"),
        ({"minutes": 0}, "minutes must be a positive number, got 0"),
        ({"minutes": math.nan}, "minutes must be a positive number"),
        ({"device": "gpu"}, "device must be cpu, cuda, cuda:<number> or mps, got 'gpu'"),
        ({"jobs": 0}, "jobs must be at least 1, or -1"),
        ({"backend": "ray"}, "no backend 'ray'; there are: loky, threading, dask"),
        ({"address": "tcp://localhost:1"}, "needs the backend dask"),
    ],
)
def test_a_mistake_is_one_line_that_lists_what_exists(asked, message):
    with pytest.raises(UserError, match=message) as caught:
        run(WALKS, **asked)
    assert "\n" not in str(caught.value)


def test_a_device_that_is_not_there():
    with pytest.raises(UserError, match="no device cuda:99 here"):
        run(WALKS, rows="short", device="cuda:99")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "walks"}, "name must be topic/word, got 'walks'"),
        ({"name": "toy/a/b"}, "name must be topic/word"),
        ({"rows": {}}, "rows must name at least one thing"),
        ({"rows": {"../up": {}}}, "a row or data name must be letters"),
        ({"rows": {"a": {"f": print}}}, "settings of 'a' must be JSON values"),
        ({"rows": {"a": {"f": math.inf}}}, "settings of 'a' must be JSON values"),
        ({"scales": {"huge": {}}}, "scales must be among smoke, quick, paper, got 'huge'"),
        ({"data": {"made": "fake"}}, "data must be released, regenerated, mixed or stand-in, got 'fake'"),
    ],
)
def test_an_experiment_is_checked_once(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(WALKS, **changes)


# Records and checkpoints


def test_records_are_appended_as_trials_end(tmp_path):
    def fail(trial):
        if trial.row == "long":
            raise RuntimeError("power cut")
        return {"x": 1}

    heard = []
    with pytest.raises(RuntimeError, match="power cut"):
        run(replace(WALKS, run=fail), records=tmp_path, device="cpu", on_record=heard.append)
    (kept,) = records.read("toy/walks", records=tmp_path)
    assert kept.row == "short" and heard == [kept]


def test_a_broken_records_file_is_found_before_the_run(tmp_path):
    file = tmp_path / "toy" / "walks.jsonl"
    file.parent.mkdir()
    file.write_text("broken\n")
    ran = []
    with pytest.raises(DataError, match=r"walks\.jsonl:1"):
        run(replace(WALKS, run=ran.append), records=tmp_path, device="cpu")
    assert not ran and file.read_text() == "broken\n"


def counted(trial):
    """Count one step a call, in the checkpoint folder; three make the run complete."""
    file = trial.folder / "count"
    done = int(file.read_text()) + 1 if file.exists() else 1
    file.write_text(str(done))
    return Measured(metrics={"count": done}, steps_done=done, steps_planned=3)


def test_a_trial_continues_until_it_is_finished_and_then_stays(tmp_path):
    counting = replace(WALKS, run=counted, rows={"short": {}})
    places = {"records": tmp_path / "records", "checkpoints": tmp_path / "_run", "device": "cpu"}
    for expected in (1, 2, 3):
        (record,) = run(counting, **places)
        assert record.metrics["count"] == expected
    assert record.steps.complete
    assert run(counting, **places) == [record]  # finished: not run again, not recorded twice
    assert [r.metrics["count"] for r in records.read("toy/walks", records=tmp_path / "records")] == [1, 2, 3]
    assert run(counting, records=tmp_path / "elsewhere", checkpoints=tmp_path / "_run", device="cpu") == [
        record
    ]
    assert records.read("toy/walks", records=tmp_path / "elsewhere") == [record]
    (again,) = run(counting, **places, fresh=True)
    assert again.metrics["count"] == 1


def test_a_changed_trial_starts_anew(tmp_path):
    counting = replace(WALKS, run=counted, rows={"short": {}})
    first = run(counting, checkpoints=tmp_path, device="cpu")[0]
    others = [
        run(counting, checkpoints=tmp_path, device="cpu", seeds=1),
        run(counting, checkpoints=tmp_path, device="cpu", data="found"),
        run(counting, checkpoints=tmp_path, device="cpu", scale="smoke"),
        run(replace(counting, rows={"short": {"stride": 3}}), checkpoints=tmp_path, device="cpu"),
        run(replace(counting, run=lambda trial: counted(trial)), checkpoints=tmp_path, device="cpu"),
        run(replace(counting, version=lambda name: "2"), checkpoints=tmp_path, device="cpu"),
    ]
    assert first.metrics["count"] == 1 and all(repeated[0].metrics["count"] == 1 for repeated in others)
    names = [folder.name for folder in (tmp_path / "toy" / "walks" / "short").iterdir()]
    assert len(names) == 7 and sum(name.startswith("quick-made-0-") for name in names) == 4


def test_seconds_add_up_over_sessions_even_a_killed_one(tmp_path):
    counting = replace(WALKS, run=counted, rows={"short": {}})
    run(counting, checkpoints=tmp_path, device="cpu")
    (clock,) = tmp_path.rglob("clock.json")
    clock.write_text(json.dumps({"seconds": 100.0}))
    assert 100 <= run(counting, checkpoints=tmp_path, device="cpu")[0].seconds < 130
    clock.write_text(json.dumps({"seconds": 100.0, "began": time.time() - 1000}))  # no total: it was killed
    (clock.parent / "weights").write_text("saved just now")
    assert run(counting, checkpoints=tmp_path, device="cpu")[0].seconds >= 1099


def test_two_processes_do_not_share_a_checkpoint(tmp_path):
    pytest.importorskip("fcntl")

    def nested(trial):
        run(replace(WALKS, run=nested), rows="short", checkpoints=tmp_path, device="cpu")
        return {"x": 1}

    with pytest.raises(UserError, match="another process is running this trial"):
        run(replace(WALKS, run=nested), rows="short", checkpoints=tmp_path, device="cpu")


def test_checkpoints_that_cannot_be_kept(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="checkpoints cannot be kept here"):
        run(WALKS, rows="short", checkpoints=tmp_path / "file", device="cpu")


# Fan-out


@pytest.mark.parametrize(("jobs", "backend"), [(2, None), (2, "threading"), (1, "loky"), (2, "dask")])
def test_the_same_metrics_on_more_cores(jobs, backend, tmp_path):
    if backend == "dask":
        pytest.importorskip("distributed")
    alone = run(WALKS, seeds=range(3), device="cpu")
    spread = run(WALKS, seeds=range(3), device="cpu", jobs=jobs, backend=backend, records=tmp_path)
    assert metrics(alone) == metrics(spread)
    assert [(r.row, r.seed) for r in alone] == [(r.row, r.seed) for r in spread]
    assert metrics(records.read("toy/walks", records=tmp_path)) == metrics(alone)


def test_a_dask_cluster_that_is_already_there():
    distributed = pytest.importorskip("distributed")
    alone = run(WALKS, seeds=range(2), device="cpu")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster:
        with distributed.Client(cluster):
            assert metrics(run(WALKS, seeds=range(2), device="cpu", backend="dask")) == metrics(alone)
        address = cluster.scheduler_address
        assert metrics(run(WALKS, seeds=range(2), device="cpu", backend="dask", address=address)) == metrics(
            alone
        )


def test_a_dask_address_without_a_scheduler():
    pytest.importorskip("distributed")
    with pytest.raises(UserError, match="no Dask scheduler answers at nowhere"):
        run(WALKS, rows="short", backend="dask", address="nowhere://")


def test_dask_workers_that_do_not_know_the_experiment(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    (tmp_path / "only_here.py").write_text("def run(trial): return {'x': 1}")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("only_here")
    (tmp_path / "only_here.py").unlink()
    with pytest.raises(UserError, match="the Dask workers cannot import only_here; install it there"):
        run(replace(WALKS, run=module.run), backend="dask", jobs=1, device="cpu")


def test_an_error_in_a_worker_is_the_error_here():
    def fail(trial):
        raise UserError("the corpus is absent")

    with pytest.raises(UserError, match="the corpus is absent"):
        run(replace(WALKS, run=fail), jobs=2, device="cpu")


def test_a_trial_that_lacks_something_does_not_stop_the_others(tmp_path):
    def fetch(trial):
        if trial.row == "short":
            raise DataError("there are no weights big/encoder here")
        return walk(trial)

    with pytest.raises(UserError) as caught:
        run(replace(WALKS, run=fetch), seeds=(0, 1), device="cpu", records=tmp_path)
    assert str(caught.value) == (
        "2 of 4 trials could not be run; short seed 0, short seed 1: there are no weights big/encoder here"
    )
    assert [(record.row, record.seed) for record in records.read(records=tmp_path)] == [
        ("long", 0),
        ("long", 1),
    ]


# Topics


@pytest.fixture
def topic(tmp_path, monkeypatch):
    """A topic put on the package's path: reasonlib.toy_topic with one experiment."""
    folder = tmp_path / "toy_topic"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "claims.yaml").write_text("claims: []\n")
    (folder / "experiments.py").write_text(
        textwrap.dedent(
            """
            from reasonlib.tracking.experiment import Experiment

            EXPERIMENTS = {
                "sums": Experiment(
                    name="toy_topic/sums", title="Sums", rows={"one": {}}, scales={"smoke": {}},
                    data={"made": "stand-in"},
                    run=lambda trial: {"sum": 1 + trial.seed},
                )
            }
            """
        )
    )
    monkeypatch.setattr(reasonlib, "__path__", [*reasonlib.__path__, str(tmp_path)])
    yield folder
    import sys

    for name in [name for name in sys.modules if name.startswith("reasonlib.toy_topic")]:
        del sys.modules[name]
    if hasattr(reasonlib, "toy_topic"):
        del reasonlib.toy_topic


def test_a_topic_is_a_subpackage_with_claims(topic):
    assert "toy_topic" in topics() and "nn" not in topics()
    assert find("toy_topic/sums").title == "Sums"
    assert "toy_topic/sums" in experiments.experiments()
    (record,) = run("toy_topic/sums", scale="smoke", seeds=4, device="cpu")
    assert record.metrics == {"sum": 5.0} and records.stale(record) is None
    assert experiments.part("toy_topic", "corpus") is None


def test_unknown_topics_and_experiments_list_those_there_are(topic):
    with pytest.raises(UserError, match=r"there is no topic 'poetry'; there are: .*toy_topic"):
        find("poetry/odes")
    with pytest.raises(UserError, match="no experiment 'toy_topic/odes'; there are: toy_topic/sums"):
        find("toy_topic/odes")
    with pytest.raises(UserError, match="named topic/word, got 'sums'"):
        run("sums")


def test_an_experiment_under_the_wrong_topic(topic):
    file = topic / "experiments.py"
    file.write_text(file.read_text().replace("toy_topic/sums", "other/sums"))
    with pytest.raises(ValueError, match="'other/sums' does not belong to topic 'toy_topic'"):
        find("toy_topic/sums")


def test_the_package_has_no_topic_without_claims():
    for name in topics():
        assert (Path(reasonlib.__file__).parent / name / "claims.yaml").is_file()
