"""Two campaigns at once share the work: no trial fails, none is recorded twice."""

import threading

import pytest
from toy_topic import record

from reasonlib.tracking import campaign, experiment, records, runner
from reasonlib.tracking.session import session

pytestmark = pytest.mark.usefixtures("topic")
TOPIC = "toy_claims"


def test_two_campaigns_at_once_record_every_trial_once(tmp_path):
    pytest.importorskip("fcntl")
    folders = {"records": tmp_path / "records", "checkpoints": tmp_path / "run", "device": "cpu"}
    ended = []

    def carry_out():
        parts = campaign.plan(TOPIC, seeds=(0, 1), records=folders["records"])
        ended.append(campaign.carry_out(parts, **folders))

    threads = [threading.Thread(target=carry_out) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ended) == 3
    for parts in ended:
        assert {part.state for part in parts} <= {"done", "there"}, [part.problem for part in parts]
    written = [(r.experiment, r.row, r.seed) for r in records.read(TOPIC, records=folders["records"])]
    assert len(written) == len(set(written)) == len(ended[0])


def test_a_trial_that_another_process_runs_is_waited_for(tmp_path):
    pytest.importorskip("fcntl")
    part, *_ = campaign.plan(TOPIC)
    (trial,) = runner.plan(
        experiment.find(part.experiment), rows=part.row, scale="quick", checkpoints=tmp_path / "run"
    )
    begun, go_on = threading.Event(), threading.Event()

    def other():
        with session(trial.folder, False):
            begun.set()
            go_on.wait(20)

    thread = threading.Thread(target=other)
    thread.start()
    begun.wait(20)
    states = []

    def changed(part):
        states.append(part.state)
        if len(states) == 3:  # the second part has ended; the first, which is busy, comes last
            go_on.set()

    parts = campaign.plan(TOPIC)[:2]
    ended = campaign.carry_out(
        parts, records=tmp_path / "records", checkpoints=tmp_path / "run", on_change=changed, device="cpu"
    )
    thread.join()
    assert [part.state for part in ended] == ["done", "done"]
    assert states == ["running", "running", "done", "done"]


def test_the_very_same_record_is_written_once(tmp_path):
    first = record()
    again = record(when="2026-01-01T00:00:00.000+00:00")
    for written in (first, first, again, again, first):
        records.append(written, records=tmp_path)
    assert records.read(TOPIC, records=tmp_path) == [first, again]
