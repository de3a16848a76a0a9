"""What the chapters call metrics and rows: every word is used, and everything said is in words."""

from reasonlib import claims, findings
from reasonlib.transformer.experiments import EXPERIMENTS
from reasonlib.transformer.words import METRICS, ROWS


def test_every_metric_of_a_claim_has_words_and_every_word_a_metric_or_row():
    sides = {side for claim in claims.load("transformer") for side in claim.sides}
    asked = {side.metric for side in sides} | {
        f"{side.experiment.partition('/')[2]}@{side.metric}" for side in sides
    }
    assert {side.metric for side in sides} <= set(METRICS) <= asked
    assert set(ROWS) <= {side.row for side in sides}
    assert set(ROWS) <= {row for one in EXPERIMENTS.values() for row in one.rows}


def test_rows_of_one_statement_are_told_apart():
    for claim in claims.load("transformer"):
        rows = {side.row for side in claim.sides}
        assert len({ROWS.get(row, row.replace("-", " ")) for row in rows}) == len(rows), claim.id


def test_a_claim_that_fails_at_this_setting_is_shown_with_its_numbers_and_its_reason(tmp_path):
    known = {claim.id: claim for claim in claims.load("transformer")}
    name = "transformer/positions/longer"
    (line,) = findings.show("transformer", ids=[name], words=METRICS, names=ROWS).lines
    assert line.measured and (line.verdict == "trend") != (known[name].reason in line.why)
    (line,) = findings.show("transformer", ids=[name], words=METRICS, names=ROWS, folder=tmp_path).lines
    assert not line.measured and known[name].reason not in line.why
