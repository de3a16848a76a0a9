"""Tables of records: the mean and deviation over seeds that stand in them, and nothing else."""

import json
import re
from statistics import mean, stdev

import pytest
import torch

from reasonlib.tracking.runner import run
from reasonlib.transformer.experiments import EXPERIMENTS
from reasonlib.transformer.page import figures


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Records of two rows at smoke: one over two seeds, one over a single one."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("records")
    for row, seeds in (("copy", (0, 1)), ("copy.no-positions", (0,))):
        run(
            EXPERIMENTS["transformer/parts"],
            rows=row,
            scale="smoke",
            seeds=seeds,
            device="cpu",
            records=folder,
        )
    for row in ("pre-trained-50", "from-scratch-50", "pre-trained-200", "from-scratch-200"):
        run(EXPERIMENTS["transformer/fine-tuning"], rows=row, scale="smoke", device="cpu", records=folder)
    torch.set_num_threads(threads)
    return folder


@pytest.fixture(autouse=True)
def here(folder, monkeypatch):
    monkeypatch.setenv("REASONLIB_RECORDS", str(folder))


def measured(folder, row, metric, word="parts"):
    lines = map(json.loads, (folder / "transformer" / f"{word}.jsonl").read_text().splitlines())
    return [line["metrics"][metric] for line in lines if line["row"] == row]


def test_a_table_gives_mean_and_deviation(folder):
    table = figures.table(
        "transformer/parts", {"whole": "copy", "blind": "copy.no-positions"}, {"right": "token"}, decimals=3
    )
    both, (single,) = measured(folder, "copy", "token"), measured(folder, "copy.no-positions", "token")
    assert len(both) == 2
    assert table.loc["whole", "right"] == f"{mean(both):.3f} ± {stdev(both):.3f}"
    assert table.loc["blind", "right"] == f"{single:.3f}"
    assert list(table["seeds"]) == [2, 1] and set(table["scale"]) == {"smoke"}
    empty = figures.table("transformer/parts", {"sort": "sort"}, {"right": "token"})
    assert list(empty.loc["sort"]) == ["–", 0, "not run"]


def test_records_of_other_code_do_not_count(folder, tmp_path, monkeypatch):
    lines = (folder / "transformer" / "parts.jsonl").read_text()
    (tmp_path / "transformer").mkdir()
    old = re.sub(r'("run": )"\w+"', r'\1"0000000000000000"', lines)
    assert old != lines
    (tmp_path / "transformer" / "parts.jsonl").write_text(old)
    monkeypatch.setenv("REASONLIB_RECORDS", str(tmp_path))
    table = figures.table("transformer/parts", {"whole": "copy"}, {"right": "token"})
    assert list(table.loc["whole"]) == ["–", 0, "not run"]
    assert "not run" not in figures.solved(["copy"], {"whole": ""}).html
    assert "Not measured yet; the command is: " in figures.few_labels({"a": "pre-trained"}, (50,)).html


def test_the_grid_says_what_was_not_taken_out(folder):
    picture = figures.solved(["copy", "sort"], {"whole": "", "no positions": ".no-positions"})
    cells = re.findall(r"<td[^>]*>(.*?)</td>", picture.html)
    assert len(cells) == 4 and cells.count("–") == 2
    assert cells[0].startswith(f"{mean(measured(folder, 'copy', 'exact')):.2f}<br>")
    assert "(smoke scale, simulated (stand-in), 1 to 2 seeds)" in picture.alt


def test_labels_and_what_they_bring(folder):
    picture = figures.few_labels({"before": "pre-trained", "without": "from-scratch"}, (50, 200))
    (value,) = measured(folder, "pre-trained-200", "answers", "fine-tuning")
    assert f"{value:.3g} at labelled examples 200" in picture.alt and "smoke scale" in picture.html
    assert "Not measured yet" in figures.few_labels({"before": "pre-trained"}, (1000,)).html
