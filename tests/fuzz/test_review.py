"""What the review of robustness found and no other test covers; `tests/review.py` lists all by number."""

import errno
import os
import re
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError
from typer.testing import CliRunner

from reasonlib import cli
from reasonlib.data import archives
from reasonlib.errors import UserError
from reasonlib.tracking import claims_file, records
from reasonlib.tracking.experiment import Experiment
from reasonlib.tracking.runner import run
from reasonlib.training import checkpoints

ROOT = Path(__file__).resolve().parents[2]


def call(*arguments, **options):
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments], **options)


def program(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "reasonlib.cli", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), **options.pop("env", {})},
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def walk(trial):
    return {"x": float(trial.seed)}


WALKS = Experiment(
    name="toy/walks",
    title="Random walks",
    rows={"short": {"stride": 0.5}},
    scales={"smoke": {"steps": 3}, "quick": {"steps": 50}},
    data={"made": "stand-in"},
    run=walk,
)


def test_fresh_beside_a_running_trial_deletes_nothing(tmp_path):
    """Number 4: the lock is taken before anything is deleted."""
    pytest.importorskip("fcntl")
    kept = []

    def nested(trial):
        if kept:
            return {"x": 1}
        (folder,) = (tmp_path / "toy" / "walks" / "short").iterdir()
        (folder / "mark").write_text("mine")
        kept.append(folder)
        with pytest.raises(UserError, match="another process is running this trial"):
            run(replace(WALKS, run=nested), rows="short", device="cpu", checkpoints=tmp_path, fresh=True)
        assert (folder / "mark").read_text() == "mine"
        return {"x": 2}

    (record,) = run(replace(WALKS, run=nested), rows="short", device="cpu", checkpoints=tmp_path)
    assert record.metrics["x"] == 2


def test_a_full_disk_leaves_whole_records(tmp_path, monkeypatch):
    """Number 11: half a line is taken back."""
    (record,) = run(WALKS, rows="short", device="cpu")
    file = records.append(record, records=tmp_path)
    before, write = file.read_bytes(), os.write

    def half(handle, line):
        write(handle, line[: len(line) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(UserError, match=r"the record could not be written \(No space left on device\)"):
        records.append(replace(record, seed=7), records=tmp_path)
    monkeypatch.undo()
    assert file.read_bytes() == before


def test_a_full_disk_under_a_checkpoint_is_one_line(tmp_path, monkeypatch):
    """Number 11: safetensors raises no OSError."""

    def full(*_, **__):
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(checkpoints, "save_file", full)
    with pytest.raises(UserError, match=r"the weights could not be written .*No space left"):
        checkpoints.save_weights(tmp_path / "a.safetensors", torch.nn.Linear(2, 2))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "environment", "said"),
    [
        (["run", "story_qa/recipe", "--seed", "18446744073709551616"], {}, "a seed must be a whole number"),
        (["data", "list"], {"REASONLIB_DATA": "~nouser/x"}, "a path begins with ~"),
        (["grade", "x.ipynb", "--minutes", "inf"], {}, "--minutes must be above 0"),
    ],
)
def test_odd_numbers_and_paths_are_one_line(arguments, environment, said, monkeypatch):
    """Number 15."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    done = call(*arguments)
    assert done.exit_code == cli.MISTAKE and said in done.stderr
    assert isinstance(done.exception, SystemExit)


@pytest.mark.parametrize("address", ["garbage", "tcp://127.0.0.1:9", "nowhere://"])
def test_a_dask_address_where_nobody_listens_is_one_line(address, tmp_path):
    """Number 15."""
    pytest.importorskip("distributed")
    with pytest.raises(UserError, match="no Dask scheduler answers at"):
        run(WALKS, rows="short", backend="dask", address=address)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_standard_output_on_a_full_disk_is_one_line():
    """Number 15."""
    with open("/dev/full", "w") as full:
        done = program("list", stdout=full)
    assert done.returncode == cli.FAILED and "Traceback" not in done.stderr
    assert done.stderr.strip() == "error: the output cannot be written: there is no space left"


EACH = """
import sys
from reasonlib.cli import main
for arguments in {commands!r}:
    sys.argv[1:] = arguments
    try:
        main()
    except SystemExit as end:
        print("\\f", arguments[0], end.code or 0, flush=True)
        print("\\f", file=sys.stderr, flush=True)
"""
"""Runs several commands in one process, and marks where each ends, with its exit status."""


def test_every_command_prints_in_ascii():
    """Number 16."""
    commands = [
        ["ask", "Mary took the milk 🥛.", "--question", "Where is the milk “now”?"],
        ["claims", "--topic", "optimisation"],
        ["data", "list"],
        ["list"],
        ["grade", "nobody’s.ipynb"],
    ]
    done = subprocess.run(
        [sys.executable, "-c", EACH.format(commands=commands)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in done.stderr and "UnicodeEncodeError" not in done.stderr
    assert done.stdout.isascii()
    said, complaints = re.split(r"\f .*\n", done.stdout), done.stderr.split("\f\n")
    assert all(map("".join, zip(said[:-1], complaints[:-1], strict=True)))
    ends = [(command[0], str(int(command[0] == "grade"))) for command in commands]
    assert re.findall(r"\f (\w+) (\d+)\n", done.stdout) == ends


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\u0085"])
def test_line_separators_of_unicode_are_read_again(sign, tmp_path):
    """Number 17."""
    (record,) = run(WALKS, rows="short", device="cpu")
    records.append(replace(record, details={"said": f"one{sign}two"}), records=tmp_path)
    (read,) = records.read(record.experiment.partition("/")[0], records=tmp_path)
    assert read.details["said"] == f"one{sign}two"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in the file system")
def test_a_device_or_a_pipe_is_not_replaced(tmp_path):
    """Number 19."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/null")):
        done = call("data", "simulate", "story_qa/qa1", "--out", path, "--force")
        assert done.exit_code == cli.MISTAKE and "is a device or a pipe" in done.stderr
    assert pipe.is_fifo() and Path("/dev/null").is_char_device()


def test_an_archive_that_grows_without_bound_is_refused(tmp_path, monkeypatch):
    """Number 21."""
    archive = tmp_path / "zeros.tar.gz"
    inner = tmp_path / "zeros"
    inner.write_bytes(bytes(2**22))
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(inner, "zeros")
    monkeypatch.setattr(archives, "UNPACKED", 2**20)
    (tmp_path / "into").mkdir()
    with pytest.raises(UserError, match=r"the archive.*more than"):
        archives.unpack(archive, tmp_path / "into", "the archive")


@pytest.mark.parametrize("odd", [".nan", ".inf"])
def test_claims_hold_numbers_that_are_numbers(odd, tmp_path):
    """Number 22."""
    text = (ROOT / "reasonlib" / "optimisation" / "claims.yaml").read_text(encoding="utf-8")
    changed, count = re.subn(r"\b(published: )[-\d.]+", rf"\g<1>{odd}", text, count=1)
    assert count
    (tmp_path / "claims.yaml").write_text(changed, encoding="utf-8")
    with pytest.raises(UserError, match="published must be a finite number"):
        claims_file.read(tmp_path / "claims.yaml", "optimisation")
