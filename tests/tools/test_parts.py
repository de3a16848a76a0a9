"""Part pages, results pages and the table of topics: made from data, nothing typed."""

import doctest
import re

import parts
import pytest
from chapters import ROOT, pages


def test_the_examples_of_the_module():
    assert doctest.testmod(parts).failed == 0


def test_every_topic_has_its_lines_and_every_built_one_its_pages():
    names = {page.name for page in pages()}
    for topic in parts.topics().values():
        assert topic.title and topic.question.endswith("?") and topic.source
        if topic.built:
            assert (ROOT / "reasonlib" / topic.name / "claims.yaml").is_file()
            assert {f"book/{topic.name}/index", f"book/{topic.name}/results"} <= names
            folder = ROOT / "book" / topic.name
            assert f"```{{part}} {topic.name}\n" in (folder / "index.md").read_text()
            assert f"```{{results}} {topic.name}\n" in (folder / "results.md").read_text()
    with pytest.raises(ValueError, match="no topic 'absent'"):
        parts.topic("absent")


def test_a_part_page_lists_its_chapters():
    text = parts.part_page("optimisation")
    assert "| 1 | {doc}`Losses <losses>` | choose a loss" in text
    assert "**Results.**" in text and "[the tables](results.md)" in text


def test_a_results_page_has_every_claim_once_and_the_commands_that_measure_it():
    from reasonlib.tracking import claims

    text = parts.results_page("optimisation")
    for claim in claims.load("optimisation"):
        assert text.count(f'data-claim="{claim.id}"') == 1, claim.id
    assert "\nreasonlib run optimisation/" in text


def test_a_long_table_is_closed_and_says_how_many_claims_it_has():
    rows = parts.claim_rows("optimisation")
    claim = dict(next(row for row in rows if row["verdict"] == "supported" and not row["goal"]))
    long, short = parts.board([claim] * (parts.SHORT + 1), "Losses"), parts.board([claim], "Losses")
    assert long.startswith('<details class="rr-fold"><summary><strong>4 claims</strong>')
    assert "supported: 4</span>" in long.partition("</summary>")[0]
    assert short.startswith('<details class="rr-fold" open><summary><strong>1 claim</strong>')
    (goal,) = [row for row in rows if row["goal"]][:1]
    assert "<strong>1 goal</strong>" in parts.board([goal], "Goals")


def test_a_table_made_from_records_stands_where_a_page_asks_for_it():
    text = parts.measured("visual_iq tables.training_budgets")
    assert text.startswith("````{raw} html\n") and "passes" in text
    for wrong in ("visual_iq tables.absent", "visual_iq absent.table"):
        with pytest.raises(ValueError, match="has no function"):
            parts.measured(wrong)


def test_goals_stand_in_a_table_of_their_own(monkeypatch):
    claim = dict(parts.claim_rows("optimisation")[0]) | {"goal": False, "id": "a/claim"}
    goal = claim | {"goal": True, "id": "a/goal"}
    monkeypatch.setattr(parts, "claim_rows", lambda name: (goal, claim))
    text = parts.results_page("a")
    first, second = text.split("### Goals of this book")
    assert 'data-claim="a/claim"' in first and 'data-claim="a/goal"' not in first
    assert 'data-claim="a/goal"' in second
    assert first.startswith("1 claim:")


def test_all_topics_stand_in_the_table_with_their_state():
    *table, blank, hours = parts.topics_table().splitlines()
    assert not blank and re.fullmatch(r"Reading all \d+ chapters takes about \d+ hours\.", hours)
    assert len(table) == 2 + len(parts.topics()) and len(parts.topics()) >= 11
    assert sum(line.endswith("| next |") for line in table) < len(parts.topics())
