"""Tables and figures of the chapters: each says what it was measured on."""

import pytest

from reasonlib import claims
from reasonlib.story_qa import figures

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
