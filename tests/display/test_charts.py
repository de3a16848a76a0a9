"""The chart of published against measured."""

import pytest

from reasonlib.display import charts
from reasonlib.display.claim_line import GOAL_WORDS
from reasonlib.errors import UserError

ROW = {"row": "a", "published": 0.5, "ours": {"mean": 0.6, "sd": 0.1, "n": 4}, "verdict": "not run"}


def test_every_number_is_said_in_words():
    rows = [
        ROW,
        {**ROW, "row": "b", "published": None},
        {**ROW, "row": "c", "ours": None},
        {**ROW, "label": "d", "ours": {"mean": 0.7, "sd": None, "n": 1}, "verdict": "reproduced"},
    ]
    said = charts.comparison(rows).get_label()
    assert said == (
        "a: published 0.5, ours 0.6, 95 % interval 0.441 to 0.759 (4 runs), not run. "
        "b: no published number, ours 0.6, 95 % interval 0.441 to 0.759 (4 runs), not run. "
        "c: published 0.5, not measured, not run. "
        "d: published 0.5, ours 0.7 (1 run), reproduced."
    )


def test_the_interval_of_the_verdict_comes_first():
    decided = {"of": "one more run", "low": 0.2, "high": 0.9}
    assert "interval 0.2 to 0.9 (" in charts.comparison([{**ROW, "interval": decided}]).get_label()
    difference = {**ROW, "published": None, "interval": {"of": "difference", "low": -0.2, "high": 0.2}}
    assert "interval 0.441 to" in charts.comparison([difference]).get_label()  # not on this axis
    assert "interval" not in charts.comparison([{**ROW, "interval": None}]).get_label()  # too few runs


def test_a_goal_of_the_book_is_not_called_reproduced():
    goal = {**ROW, "verdict": "reproduced", "goal": True}
    assert charts.comparison([goal]).get_label().endswith(f"{GOAL_WORDS['reproduced']}.")


def test_each_run_is_a_dot_where_the_runs_are_known():
    side = {"row": "x", "metric": "accuracy", "values": [0.5, 0.6, 0.7]}
    row = {**ROW, "experiment_row": "x", "metric": "accuracy", "sides": [side]}
    dots = [line for line in charts.comparison([row]).axes[0].lines if line.get_marker() == "."]
    assert sorted(line.get_xdata()[0] for line in dots) == [0.5, 0.6, 0.7]


def test_a_long_name_is_cut():
    assert "…" in charts.comparison([{**ROW, "row": "a name of very many words " * 4}]).get_label()


def test_a_topic_s_table_becomes_a_chart():
    shown = charts.chart("story_qa", table="Accuracy on joint training", names={"d = 20, n = 3": "small"})
    assert "small: published 0.67" in shown.alt and "<svg" in shown.html


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="at least one claim"):
        charts.comparison([])
    with pytest.raises(UserError, match="at most 12 rows"):
        charts.chart("story_qa")
