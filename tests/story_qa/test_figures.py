"""Tables and figures of the chapters: each says what it was measured on."""

import pytest

from reasonlib.story_qa.page import figures
from reasonlib.tracking import claims

PUBLISHED = "Accuracy on joint training"


def test_the_report_beside_ours_names_the_questions_that_ours_learned_from():
    table = figures.joint()
    cells = claims.table("story_qa", table=PUBLISHED)
    assert list(table.index) == [cell["row"] for cell in cells] and len(cells) == 6
    for cell, (_, line) in zip(cells, table.iterrows(), strict=True):
        assert float(line["published"]) == cell["published"]
        assert line["measured here"] == claims.number(cell["ours"]["mean"])
        assert line["questions a task"] == figures.LEARNT_FROM[cell["data"]["name"]]


def test_cells_that_nobody_measured_are_dashes(monkeypatch):
    cells = [row | {"ours": None, "data": None} for row in claims.table("story_qa", table=PUBLISHED)]
    monkeypatch.setattr(figures.claims, "table", lambda *_, **__: cells)
    monkeypatch.setattr(figures.records, "best", lambda *_, **__: None)
    assert (figures.joint().drop(columns="published") == "–").all(axis=None)


@pytest.mark.parametrize("name", ["babi-10k", "simulated"])
def test_accuracy_by_task_of_the_data_asked_for(name):
    assert f" {name}" in figures.tasks("story_qa/recipe:full", data=name)._repr_html_()


def test_bars_of_a_handful_of_questions_are_left_out():
    alt = figures.facts(data="babi-10k").alt
    assert f"{figures.MOST_FACTS} facts" in alt and f"{figures.MOST_FACTS + 1} facts" not in alt


def test_the_readers_of_sentences_stand_beside_each_other_with_their_runs():
    table = figures.readers()
    assert list(table.index) == ["with labels", "without labels", "sentence reader"]
    assert all(0 < float(cell) <= 1 for cell in table["mean of twenty tasks"])
    assert all("seed" in cell for cell in table["run"])


def test_the_public_network_stands_beside_ours_on_each_task_and_on_all(monkeypatch):
    from types import SimpleNamespace

    values = {
        f"{side}.{metric}": 0.125
        for side in ("port", "one", "together")
        for metric in ("error", "rate", "speed")
    }

    def best(experiment, row, *, scale=None):
        if row == "qa20":  # not measured
            return None
        metrics = {k: v for k, v in values.items() if experiment == "story_qa/peer" or "together" not in k}
        return SimpleNamespace(
            scale="quick",
            records=[SimpleNamespace(config={"epochs": 9})],
            metrics=tuple(metrics),
            summary=lambda name: SimpleNamespace(mean=metrics[name]) if name in metrics else None,
        )

    monkeypatch.setattr(figures.records, "best", best)
    table = figures.peer()
    assert len(table) == 19 + 2 and list(table.index[-2:]) == ["mean", "all at once, 9 passes (quick)"]
    assert list(table.loc["mean"]) == ["12.5", "12.5", "12.5", "", ""]
    assert list(table.loc["all at once, 9 passes (quick)"]) == ["12.5", "12.5", "", "0.1", ""]
