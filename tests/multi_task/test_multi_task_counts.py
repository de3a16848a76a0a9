"""How many examples the parts of the released sets hold."""

import pytest

from reasonlib.errors import DataError
from reasonlib.multi_task.data.counts import count_examples, files_version
from reasonlib.multi_task.experiments import EXPERIMENTS
from reasonlib.tracking.runner import run

RTE = "index\tsentence1\tsentence2"
PAIR = "a man sleeps .\tnobody sleeps .\t"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("REASONLIB_DATA", str(tmp_path))
    rte = tmp_path / "RTE"
    rte.mkdir()
    lines = [f"{number}\t{PAIR}{'not_' * (number % 2)}entailment" for number in range(5)]
    (rte / "train.tsv").write_text("\n".join([f"{RTE}\tlabel", *lines]))
    (rte / "dev.tsv").write_text("\n".join([f"{RTE}\tlabel", *lines[:3]]))
    (tmp_path / "SNLI").mkdir()
    (tmp_path / "SNLI" / "dev.txt").write_text(f"{PAIR}2\n{PAIR}0\n")
    return tmp_path


def test_parts_and_classes_are_counted(folder):
    assert count_examples("glue-rte") == {"train": 5, "dev": 3, "labels": 2}
    (folder / "RTE" / "test.tsv").write_text(f"{RTE}\n0\ta .\tb .\n1\tc .\td .\n")
    assert count_examples("glue-rte")["test"] == 2  # without the header, and without labels
    assert count_examples("snli") == {"dev": 2, "labels": 2}


def test_what_is_absent_or_damaged_is_named(folder):
    with pytest.raises(DataError, match="glue-wnli: not on this machine"):
        count_examples("glue-wnli")
    (folder / "RTE" / "dev.tsv").write_text(f"{RTE}\tlabel\n0\tone column\n")
    with pytest.raises(DataError, match=r"dev.tsv, line 2: must have 4 columns, got 2"):
        count_examples("glue-rte")
    with pytest.raises(ValueError, match="name must be one of"):
        count_examples("rte")


def test_other_files_are_another_version(folder):
    before = files_version("snli")
    (folder / "SNLI" / "dev.txt").write_text(f"{PAIR}1\n")
    assert None not in (before, files_version("snli")) and files_version("snli") != before
    assert files_version("glue-wnli") is None and files_version("simulated") is None


def test_the_summary_counts_a_set_in_a_run(folder):
    (result,) = run(EXPERIMENTS["multi_task/benchmarks"], data="glue-rte", scale="paper", progress=False)
    assert result.metrics == {"rte.train": 5, "rte.dev": 3, "rte.labels": 2}
