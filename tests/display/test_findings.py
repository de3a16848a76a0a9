"""Statements beside their measurements: both sides are shown, in words, and no more than was measured."""

from importlib import import_module

import pytest

from reasonlib.display import findings
from reasonlib.display.claim_line import figures, line
from reasonlib.errors import UserError
from reasonlib.optimisation.page.labels import METRICS
from reasonlib.tracking import claims, record_files, records
from reasonlib.tracking.experiment import experiments, topics

OUTLIERS = ["optimisation/mse/outliers"]


def shown(ids, **more):
    return findings.show("optimisation", ids=ids, **more)


def test_both_sides_of_a_comparison_are_shown():
    board = shown(OUTLIERS)
    (line,) = board.lines
    ((phrase, pairs),) = line.measured
    assert phrase == METRICS["pull"]
    assert [name for name, _ in pairs] == ["square", "absolute"]
    group = records.best("optimisation/outliers", "mse")
    assert pairs[0][1].split(" ± ")[0] == figures([group.summary("pull").mean])[0]
    counts = {len(records.best("optimisation/outliers", row).records) for row in ("mse", "mae")}
    runs = " to ".join(map(str, sorted(counts)))
    assert line.origin == f"{group.scale}, diabetes (stand-in), {runs} runs"
    for text in (str(board), board._repr_markdown_(), board._repr_html_()):
        assert "square" in text and pairs[1][1] in text and line.verdict in text
    assert f'data-claim="{OUTLIERS[0]}"' in board._repr_html_()


def test_what_was_asked_for_and_why_it_failed_are_told():
    asked, failed = shown(
        ["optimisation/sigmoid/saturates", "optimisation/cross-entropy/three-classes"]
    ).lines
    assert asked.measured[0][1][-1] == ("asked for", "at most −3")
    assert asked.verdict == "supported" and "digits (stand-in)" in asked.conditions[0]
    (claim,) = [candidate for candidate in claims.load("optimisation") if candidate.id == failed.id]
    assert failed.verdict == "contradicted" and claim.reason in failed.why
    level = shown(["optimisation/cross-entropy/sure"]).lines[0]
    assert level.measured[0][1][-1] == ("published", "4.6")


@pytest.mark.parametrize(
    ("relation", "said"),
    [
        ("above", "a lead of at least 0.02"),
        ("near", "a difference of at most 0.02"),
        ("not-below", "a deficit of at most 0.02"),
    ],
)
def test_the_distance_that_an_ordering_names_is_told(relation, said):
    def asked(*orders):
        row = {"id": "t/x", "verdict": "not run", "agreement": {"order": list(orders)}}
        return line(row).measured

    order = {"text": f"a {relation} b by 0.02", "relation": relation, "by": 0.02, "holds": None}
    assert asked(order, order) == (("", (("asked for", said),)),)
    assert asked(order | {"by": 0.0}) == ()


def test_without_records_there_are_no_numbers(tmp_path):
    (line,) = shown(OUTLIERS, records=tmp_path).lines
    assert (line.measured, line.origin, line.verdict, line.picture) == ((), "", "not run", "")
    assert line.numbers() == ["–"]


def test_a_goal_is_reached_or_missed():
    board = findings.show("optimisation", section="What the book asks further")
    assert all(line.goal and line.word in ("reached", "missed", "open") for line in board.lines)
    assert "challenged" not in str(board) and "contradicted" not in board._repr_markdown_()


@pytest.mark.parametrize("topic", topics())
def test_a_topic_has_words_for_its_comparisons_and_every_word_is_a_metric_or_a_row(topic):
    words = import_module(f"reasonlib.{topic}.page.labels")
    compared = {side for claim in claims.load(topic) if claim.kind == "ordering" for side in claim.sides}
    measured = {side for claim in claims.load(topic) for side in claim.sides}
    asked = {side.metric for side in measured} | {
        f"{side.experiment.partition('/')[2]}@{side.metric}" for side in measured
    }
    recorded = {metric for record in record_files.read(topic) for metric in record.metrics}
    assert {side.metric for side in compared} <= set(words.METRICS) <= asked | recorded
    rows = {
        (name.partition("/")[2], row)
        for name, experiment in experiments(topic).items()
        for row in experiment.rows
    }
    assert set(words.ROWS) <= {row for _, row in rows} | {f"{experiment}@{row}" for experiment, row in rows}


@pytest.mark.parametrize("topic", topics())
def test_rows_of_one_statement_are_told_apart(topic):
    names = import_module(f"reasonlib.{topic}.page.labels").ROWS
    for claim in claims.load(topic):
        rows = {side.row for side in claim.sides}
        assert len({names.get(row, row.replace("-", " ")) for row in rows}) == len(rows), claim.id


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([0.5, 0.25], ["0.500", "0.250"]),
        ([0.12345, 0.12349], ["0.12345", "0.12349"]),
        ([25610, 13130], ["25,610", "13,130"]),
        ([2001.0, 65.52], ["2,001", "65.5"]),
        ([-3.14159], ["−3.14"]),
        ([0.0, 1e-12], ["0", "0"]),
        ([3e-6], ["3.0e−06"]),
    ],
)
def test_numbers_have_the_digits_they_need(values, texts):
    assert figures(values) == texts


def test_a_section_that_is_none():
    with pytest.raises(UserError, match="no claim is from section"):
        findings.show("optimisation", section="nowhere")
