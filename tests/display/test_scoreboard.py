"""The scoreboard and the status page: complete without scripts, sortable and filterable with them."""

import re

import pytest
from browsing import Opened

from reasonlib.display import findings, plotting, scoreboard
from reasonlib.tracking import claims

CLAIMS = [
    {
        "id": "story_qa/joint/d50-n3",
        "topic": "story_qa",
        "source": "mehak2019",
        "table": "Accuracy on joint training",
        "row": "d = 50, n = 3",
        "metric": "accuracy",
        "published": 0.69,
        "ours": {"mean": 0.9, "sd": 0.012, "n": 3},
        "scale": "paper",
        "data": {"name": "babi-10k", "kind": "real"},
        "verdict": "contradicted",
        "records": ["records/story_qa/joint.jsonl:1"],
        "text": None,
        "unit": "fraction",
        "notes": ["stale: the code changed"],
        "reason": "Ours is <better>.",
        "chapter": "story_qa/memory",
    },
    {
        "id": "story_qa/hops",
        "topic": "story_qa",
        "source": "sukhbaatar2015",
        "section": "5",
        "row": None,
        "metric": "accuracy",
        "published": None,
        "ours": {"mean": 0.085, "sd": None, "n": 1},
        "scale": "quick",
        "data": {"name": "simulated", "kind": "simulated"},
        "verdict": "trend",
        "text": "More hops help",
        "notes": [],
        "reason": None,
        "chapter": "story_qa/memory",
    },
    {
        "id": "visual_iq/raven",
        "topic": "visual_iq",
        "source": "other",
        "figure": "2",
        "row": "DRT",
        "metric": "accuracy",
        "published": 59.56,
        "ours": None,
        "scale": None,
        "data": None,
        "verdict": "not run",
        "text": None,
        "notes": ["no run"],
        "reason": "Said only when contradicted.",
        "chapter": None,
    },
]

STATUS = [
    {
        "chapter": "story_qa/memory",
        "scale": "quick",
        "seconds": 31.24,
        "peak_mb": 512,
        "when": "2026-11-20T10:00:00Z",
        "ran": None,
        "versions": {"torch": "2.13.0", "python": "3.11.9"},
    },
    {
        "chapter": "story_qa/bert",
        "scale": "paper",
        "seconds": 7384,
        "peak_mb": 2048.4,
        "when": None,
        "ran": True,
        "versions": {},
    },
]


def body_rows(page):
    return re.findall(r"<tr[^>]*>(<th scope=\"row\".*?)</tr>", page, flags=re.DOTALL)


def test_pictures_and_claims_use_the_same_marks():
    assert plotting.VERDICTS == claims.GLYPHS
    assert tuple(plotting.VERDICTS) == claims.VERDICTS


def test_every_claim_is_there_without_a_script():
    page = scoreboard.render(CLAIMS).html
    plain = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    rows = body_rows(plain)
    assert len(rows) == 3
    first, second, third = rows
    for text in (
        'href="story_qa/memory.html"',
        "d = 50, n = 3",
        "share of right answers, mean over the tasks<",
        "Mehak 2019; table: Accuracy on joint training",
        ">0.69<",
        "0.900 ± 0.012<",
        "n = 3",
        "paper",
        "real",
        "babi-10k",
        "✗ contradicted",
        "Ours is &lt;better&gt;.",
        "stale: the code changed",
    ):
        assert text in first
    assert "More hops help" in second
    assert "Sukhbaatar 2015; section 5<" in second
    assert "other; figure 2<" in third
    assert "0.085<" in second
    assert "n = 1" in second
    assert "○ not run" in third
    assert "Said only when contradicted." not in third
    assert "<a " not in third
    assert 'id="claim-story-qa-joint-d50-n3"' in page
    assert '<form class="rr-controls" role="search" aria-label="Filter the claims" hidden>' in page


def test_a_table_is_not_called_a_table_twice():
    (row,) = body_rows(scoreboard.render([CLAIMS[0] | {"table": "Table 3.1: all systems"}]).html)
    assert "Mehak 2019; Table 3.1: all systems<" in row


def test_a_metric_without_words_keeps_its_name_and_unit():
    (row,) = body_rows(scoreboard.render([CLAIMS[0] | {"metric": "word_error", "unit": "fraction"}]).html)
    assert "word error (fraction)<" in row


def test_the_picture_says_the_counts_in_words():
    assert scoreboard.render(CLAIMS).alt == "3 claims: 0 reproduced, 1 trend, 1 contradicted, 1 not run."
    assert scoreboard.render([]).alt.startswith("0 claims")


def test_an_ordering_shows_what_it_compares():
    both = {"experiment": "story_qa/joint", "metric": "accuracy", "sd": None, "n": 1}
    sides = [{**both, "row": "d50-n6", "mean": 0.74}, {**both, "row": "d50-n3", "mean": 0.73}]
    (row,) = body_rows(scoreboard.render([{**CLAIMS[1], "ours": None, "sides": sides}]).html)
    for side, mean in zip(sides, ("0.740", "0.730"), strict=True):
        name = findings.vocabulary("story_qa")[1].get(side["row"], side["row"].replace("-", " "))
        assert f"<span>{name}</span><span>{mean}</span>" in row


def test_only_filters_that_occur_are_offered():
    page = scoreboard.render(CLAIMS).html
    options = re.findall(r'<option value="([^"]+)">([^<]+)<', page)
    assert ("mehak2019", "Mehak 2019") in options
    assert ("visual_iq", "visual iq") in options
    assert [value for value, _ in options if value in scoreboard.SCALES] == ["quick", "paper"]
    assert "reproduced" not in dict(options)


def test_verdict_objects_and_own_addresses_are_accepted():
    claim = claims.Claim(id="t/x", kind="value", source="s", place="table", where="1", label="row one")
    page = scoreboard.render(
        [claims.Verdict(claim=claim, verdict="not run")], address=lambda row: f"../{row['topic']}.html"
    )
    assert 'href="../t.html">row one</a>' in page.html


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ({"verdict": "trend"}, "each claim must have an id"),
        ({"id": "a", "verdict": "maybe"}, "verdict must be one of reproduced, trend, .*, got 'maybe' for a"),
    ],
)
def test_a_claim_that_is_no_claim_is_refused(claim, message):
    with pytest.raises(ValueError, match=message):
        scoreboard.render([claim])


def test_the_status_states_time_memory_and_versions():
    picture = scoreboard.status(STATUS)
    first, second = body_rows(picture.html)
    for text in (
        'href="story_qa/memory.html"',
        "quick",
        "31.2 s",
        "512 MB",
        "2026-11-20 10:00",
        "torch 2.13.0",
    ):
        assert text in first
    assert "2 h 03 min" in second
    assert "2,048 MB" in second
    assert "<details>" not in second
    assert picture.alt == "2 chapters; all chapters at quick: 31.2 s; all chapters at paper: 2 h 03 min."
    with pytest.raises(ValueError, match="each line must name its chapter"):
        scoreboard.status([{"scale": "quick"}])


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.04, "0.0 s"), (59.94, "59.9 s"), (60, "1 min 00 s"), (3599.6, "1 h 00 min")]
)
def test_durations_are_written_as_people_say_them(seconds, text):
    assert scoreboard._duration(seconds) == text


class Boards(Opened):
    """Both boards on one page."""

    def __init__(self, browser, folder, *, width=1000, **settings):
        both = plotting.beside(scoreboard.render(CLAIMS), scoreboard.status(STATUS))
        head = (
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Boards</title>'
            '<meta name="color-scheme" content="light dark">'
            '<meta name="viewport" content="width=device-width"></head>'
        )
        body = f"<main><h1>Boards</h1><style>{scoreboard.CSS}</style>{both.html}</main>"
        file = folder / "boards.html"
        file.write_text(f"{head}<body>{body}</body></html>", encoding="utf-8")
        super().__init__(browser, file, viewport={"width": width, "height": 800}, **settings)
        self.board = self.page.locator("[data-rr-board]").first

    def order(self):
        self.drawn()
        return self.board.locator("tbody tr").evaluate_all("rows => rows.map((row) => row.id)")

    def shown(self):
        self.drawn()
        return self.board.locator("output").inner_text()


@pytest.mark.browser
def test_headers_sort_up_and_down_and_keep_empty_cells_last(browser, tmp_path):
    with Boards(browser, tmp_path) as opened:
        head = opened.board.get_by_role("columnheader", name="Ours")
        assert head.get_attribute("aria-sort") == "none"
        head.get_by_role("button").click()
        up = ["claim-story-qa-hops", "claim-story-qa-joint-d50-n3", "claim-visual-iq-raven"]
        assert opened.order() == up
        assert head.get_attribute("aria-sort") == "ascending"
        head.get_by_role("button").press("Enter")
        assert opened.order() == [up[1], up[0], up[2]]
        assert head.get_attribute("aria-sort") == "descending"
        opened.board.get_by_role("button", name="Verdict").click()
        assert opened.order()[0] == "claim-story-qa-hops"
        assert head.get_attribute("aria-sort") == "none"
        assert opened.complaints == []


@pytest.mark.browser
def test_search_and_selects_filter_and_say_how_many_are_left(browser, tmp_path):
    with Boards(browser, tmp_path) as opened:
        board = opened.board
        assert opened.shown() == "3 of 3 claims shown"
        board.get_by_label("Search").fill("HOPS more")
        assert opened.shown() == "1 of 3 claims shown"
        assert board.locator("tbody tr:visible").get_attribute("id") == "claim-story-qa-hops"
        board.get_by_role("button", name="Show all").click()
        opened.page.wait_for_function("document.querySelector('output').textContent.startsWith('3')")
        board.get_by_label("Topic").select_option("story_qa")
        assert opened.shown() == "2 of 3 claims shown"
        board.get_by_label("Data").select_option("real")
        assert opened.shown() == "1 of 3 claims shown"
        board.get_by_label("Verdict").select_option("not run")
        assert opened.shown() == "0 of 3 claims shown"
        assert opened.complaints == []


@pytest.mark.browser
def test_a_count_shows_the_claims_it_counts(browser, tmp_path):
    with Boards(browser, tmp_path) as opened:
        counts = opened.board.locator(".rr-tally li", has_text="story qa").get_by_role("button")
        assert counts.all_inner_texts() == ["↗ trend: 1", "✗ contradicted: 1"]
        counts.last.click()
        opened.page.wait_for_function("document.querySelector('output').textContent.startsWith('1')")
        assert opened.board.locator("tbody tr:visible").get_attribute("id") == "claim-story-qa-joint-d50-n3"
        opened.board.locator(".rr-tally li", has_text="every topic").get_by_role("button").last.click()
        opened.page.wait_for_function("document.querySelector('output').textContent.startsWith('1')")
        assert opened.board.locator("tbody tr:visible").get_attribute("id") == "claim-visual-iq-raven"
        assert opened.complaints == []


@pytest.mark.browser
def test_without_scripts_it_is_a_plain_table(browser, tmp_path):
    with Boards(browser, tmp_path, java_script_enabled=False) as opened:
        assert opened.page.locator("tbody tr:visible").count() == 5
        assert opened.page.locator("form:visible, thead button").count() == 0


@pytest.mark.browser
@pytest.mark.parametrize("width", [380, 1000])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_accessibility_finding_and_no_sideways_scrolling(browser, tmp_path, width, scheme):
    with Boards(browser, tmp_path, width=width, color_scheme=scheme) as opened:
        assert opened.grave() == []
        assert opened.overflow() <= 0
        assert opened.page.locator("tbody").first.evaluate("body => getComputedStyle(body).display") == (
            "block" if width == 380 else "table-row-group"
        )
        assert opened.complaints == []
