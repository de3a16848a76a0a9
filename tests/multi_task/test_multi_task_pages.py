"""What the pages draw where runs measured only a part."""

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from reasonlib.multi_task.page import figures, released, transfer
from reasonlib.tracking.records import Summary


@dataclass
class Group:
    """A group of records, as far as the figures read it."""

    values: dict[str, list[float]]
    stale: str | None = None
    records: list = field(
        default_factory=lambda: [SimpleNamespace(config={"few": 100, "many": 1000, "new": 500})]
    )

    def summary(self, metric):
        return Summary.of(self.values[metric]) if metric in self.values else None


@pytest.fixture
def measured(monkeypatch):
    """Take what a test puts in for the records of a row."""
    groups = {}
    monkeypatch.setattr(transfer.records, "best", lambda experiment, row, **filters: groups.get(row))
    monkeypatch.setattr(transfer.results, "origin", lambda group: "quick scale")
    return groups


def test_a_share_that_was_not_measured_is_left_out(measured):
    assert "reasonlib run multi_task/adaptation" in transfer.adaptation().alt
    measured["bert"] = Group({"captions.accuracy_1": [0.3, 0.4], "captions.accuracy_100": [0.5]})
    description = transfer.adaptation().alt
    assert (
        "captions, BERT from 35 to 50" in description
        and "science" not in description.partition("Measured")[2]
    )
    assert "500 examples each" in transfer.adaptation()._repr_html_()


def test_rows_without_a_record_are_named(measured):
    measured["classification"] = Group({"answers.accuracy": [0.2, 0.3], "answers.map": [0.5, 0.6]})
    assert (
        "Not run yet: ranking head, γ = 1; ranking head, γ = 10; ranking head without sigmoid."
        in figures.rankings()._repr_html_()
    )
    assert "Not measured yet" in figures.sampling().alt


def test_a_single_run_decides_no_gain(measured):
    measured["entailment"] = Group({"gain.inference": [0.05]})
    measured["paraphrase"] = Group({"gain.inference": [0.05, 0.051, 0.052]})
    shown = transfer.help_matrix()
    row = dict(zip(shown["tasks"], shown["gains"][shown["tasks"].index("inference")], strict=True))
    assert row["entailment"] == {"mean": 5.0, "low": None, "high": None}
    assert 0 < row["paraphrase"]["low"] < 5.1 < row["paraphrase"]["high"]
    assert "Clear of zero: inference helps paraphrase." in transfer.matrix().alt


def test_gains_of_older_code_are_not_shown(measured):
    measured["entailment"] = Group({"gain.inference": [0.05]}, stale="the code changed")
    assert transfer.help_matrix() is None


def test_released_sets_that_help_each_other_are_a_table_too(measured):
    assert "reasonlib run multi_task/real-transfer" in released.transfer().alt
    measured["rte"] = Group({"gain.mrpc": [0.05, 0.051, 0.052], "gain.wikiqa": [0.1, -0.1, 0.2]})
    shown = released.transfer()
    assert "Clear of zero: MRPC helps RTE." in shown.alt
    assert "<b>+5.1</b>" in shown._repr_html_() and "+6.7" in shown._repr_html_()


def test_the_chapter_counts_the_gains_that_are_clear_of_zero():
    chapter = (Path(__file__).parents[2] / "book/multi_task/sharing.md").read_text(encoding="utf-8")
    assert "the 95 % intervals of sixteen of its 42 numbers exclude zero" in chapter
    assert "the intervals of all gains and losses include zero" in chapter  # of the released sets
    simulated = transfer.matrix().alt.partition("Clear of zero: ")[2].rstrip(".").split(", ")
    assert (len(simulated), sum(" helps " in effect for effect in simulated)) == (16, 14)
    assert released.transfer().alt.endswith("Clear of zero: none.")


def test_released_sets_show_the_encoders_that_were_run(measured):
    assert "reasonlib run multi_task/real" in released.gains().alt and released.levels().empty
    assert "reasonlib run multi_task/real-adaptation" in released.adaptation().alt

    def runs(**metrics):
        group = Group(metrics)
        group.records = [
            SimpleNamespace(seed=seed, metrics=dict(zip(metrics, values, strict=True)), config={"new": 500})
            for seed, values in enumerate(zip(*metrics.values(), strict=True))
        ]
        return group

    measured["own-mt-dnn"] = runs(**{"rte.accuracy": [0.5, 0.6, 0.7], "snli.accuracy_1": [0.4, 0.5, 0.6]})
    measured["own-st-dnn"] = runs(**{"rte.accuracy": [0.4, 0.5, 0.6]})
    assert "pre-trained here: RTE +10.0" in released.gains().alt and "MiniLM" not in released.gains().alt
    levels = released.levels()
    assert list(levels.index) == ["pre-trained here, MT-DNN", "pre-trained here, ST-DNN"]
    assert levels.loc["pre-trained here, MT-DNN", "RTE"] == "60.0 ± 24.8"
    assert levels.loc["pre-trained here, MT-DNN", "CoLA"] == "" and set(levels["runs"]) == {"3"}
    assert "pre-trained here, MT-DNN from 50 to 50" in released.adaptation().alt
