"""One experiment in two processes, as ``accelerate launch`` starts them: one record, the same numbers."""

import json
import os
import subprocess
import sys

import pytest

from reasonlib.tracking import runner


def test_two_processes_make_one_record(tmp_path):
    environment = os.environ | {"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"]
    command += ["--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no"]
    command += ["--main_process_port", "0", "-m", "reasonlib.cli", "run", "story_qa/joint", "--row", "d20-n3"]
    command += [
        "--scale",
        "smoke",
        "--records",
        str(tmp_path / "records"),
        "--checkpoints",
        str(tmp_path / "run"),
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = (tmp_path / "records/story_qa/joint.jsonl").read_text().splitlines()
    assert len(lines) == 1 == done.stderr.count("story_qa/joint d20-n3 seed 0: finished")
    together = json.loads(lines[0])
    (alone,) = runner.run("story_qa/joint", rows="d20-n3", scale="smoke", device="cpu")
    assert together["metrics"]["accuracy"] == pytest.approx(alone.metrics["accuracy"])
    assert together["details"]["curve"][-1]["loss"] == pytest.approx(
        alone.details["curve"][-1]["loss"], rel=1e-4
    )
