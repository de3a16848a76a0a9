"""The scoreboard: grouped and closed, filtered by a script, whole without one; the strip of each claim."""

import re

import pytest
from browsing import Opened

from reasonlib.display import findings, scoreboard, status, strip
from reasonlib.display.claim_line import GLYPHS, GOAL_WORDS, vocabulary
from reasonlib.tracking import claims
from reasonlib.tracking.judging import VERDICTS

SIDE = {"experiment": "story_qa/joint", "metric": "accuracy", "row": "d50-n3"}
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
        "data": {"name": "babi-10k", "kind": "mixed"},
        "verdict": "challenged",
        "unit": "fraction",
        "experiment": "story_qa/joint",
        "experiment_row": "d50-n3",
        "text": None,
        "notes": ["better than published"],
        "reason": "Ours is <better>.",
        "chapter": "story_qa/memory",
        "conditions": [{"what": "data", "source": "its own", "ours": "babi-10k (mixed)", "lines": None}],
        "interval": {"of": "one more run", "low": 0.84, "high": 0.96, "confidence": 0.95},
        "agreement": {"within": 0.03, "at_least": None, "at_most": None, "order": []},
        "sides": [{**SIDE, "mean": 0.9, "sd": 0.012, "n": 3, "values": [0.89, 0.9, 0.91]}],
        "lines": "201",
        "goal": False,
        "changed": [{"date": "2026-11-22", "from": "a", "to": "b", "why": "c"}],
    },
    {
        "id": "story_qa/hops",
        "topic": "story_qa",
        "source": "sukhbaatar2015",
        "section": "5",
        "row": None,
        "metric": "accuracy",
        "published": None,
        "scale": "quick",
        "data": {"name": "simulated", "kind": "stand-in"},
        "verdict": "inconclusive",
        "text": "More hops help.",
        "notes": ["the interval includes values for and against"],
        "interval": {"of": "difference", "low": -0.01, "high": 0.03, "confidence": 0.95},
        "sides": [
            {**SIDE, "row": "d50-n6", "mean": 0.74, "sd": None, "n": 1, "values": [0.74]},
            {**SIDE, "mean": 0.73, "sd": None, "n": 1, "values": [0.73]},
        ],
        "outside": True,
    },
    {
        "id": "visual_iq/raven",
        "topic": "visual_iq",
        "source": "other",
        "figure": "2",
        "row": "all",
        "metric": "accuracy",
        "published": None,
        "illegible": True,
        "ours": None,
        "verdict": "not run",
        "notes": ["no run"],
        "reason": "The copy is torn.",
    },
    {
        "id": "visual_iq/ours",
        "topic": "visual_iq",
        "source": "other",
        "section": "What the book asks further",
        "verdict": "reproduced",
        "text": "Further than anybody.",
        "goal": True,
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


def text_of(fragment):
    return " ".join(re.sub(r"<[^>]+>", " ", fragment).split())


def test_every_verdict_has_a_sign_a_colour_and_on_goals_a_word_of_its_own():
    assert tuple(GLYPHS) == VERDICTS and len(set(GLYPHS.values())) == len(VERDICTS)
    for word in VERDICTS:
        assert f".rr-{word.replace(' ', '-')}{{border-color:" in findings.CSS
    assert set(GOAL_WORDS) == set(VERDICTS) - {"not run"}


def test_every_claim_is_there_without_a_script():
    page = scoreboard.render(CLAIMS).html
    plain = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    rows = body_rows(plain)
    assert len(rows) == 4
    first, third, second, goal = rows  # a paper that is no source of the topic stands after those that are
    for text in (
        'href="story_qa/memory.html"',
        "d = 50, n = 3",
        "<small>Accuracy on joint training; line 201</small>",
        "<span>published</span><span>0.69</span>",
        "0.900 ± 0.012<",
        "paper, babi-10k (mixed), 3 runs",
        "↘</span> challenged",
        "Ours is &lt;better&gt;. Better than published.",
        "data: babi-10k (mixed) here, its own in the source",
        "2026-11-22: from a, to b; c",
        "<svg",
    ):
        assert text in first, text
    assert "More hops help" in second and "section 5; another paper" in second
    assert "quick, simulated (stand-in), 1 run<" in second
    for side, mean in zip(CLAIMS[1]["sides"], ("0.740", "0.730"), strict=True):
        name = vocabulary("story_qa")[1].get(side["row"], side["row"].replace("-", " "))
        assert f"<span>{name}</span><span>{mean}</span>" in second
    assert "figure 2<" in third and "○</span> not run" in third and "The copy is torn." in third
    assert "<span>published</span><span>illegible</span>" in third and "<a " not in third
    assert "✓</span> reached" in goal and "reproduced" not in text_of(goal)
    assert 'id="claim-story-qa-joint-d50-n3"' in page
    assert '<form class="rr-controls" role="search" aria-label="Filter the claims" hidden>' in page


def test_claims_are_grouped_by_source_other_papers_and_goals():
    page = scoreboard.render(CLAIMS).html
    heads = re.findall(r'<details data-group="(\d)" class="rr-fold"><summary><strong>([^<]*)</strong>', page)
    assert heads == [
        ("0", "Mehak 2019"),
        ("2", "Accuracy on joint training"),
        ("0", "other"),
        ("2", "Figure 2"),
        ("0", "Other papers"),
        ("2", "Sukhbaatar 2015: Section 5"),
        ("0", "Goals of the book"),
        ("2", "What the book asks further"),
    ]
    repeated = scoreboard.render([CLAIMS[1] | {"outside": False, "also": "mehak2019"}]).html
    assert "<strong>Mehak 2019</strong>" in repeated


def test_the_counts_are_said_in_words_and_goals_are_no_claims():
    said = scoreboard.render(CLAIMS).alt
    assert said == (
        "3 claims: 0 reproduced, 0 exceeded, 0 supported, 1 inconclusive, 1 challenged, 0 contradicted, "
        "1 not run. The verdicts depend on 2 distinct measurements. "
        "Goals of the book are not counted among the claims: 1."
    )
    twice = [CLAIMS[0], CLAIMS[0] | {"id": "story_qa/again"}]
    alt = scoreboard.render(twice).alt
    assert alt.startswith("2 claims: ") and "depend on 1 distinct measurements" in alt
    assert scoreboard.render([]).alt.startswith("0 claims")


def test_only_filters_that_occur_are_offered():
    page = scoreboard.render(CLAIMS).html
    options = re.findall(r'<option value="([^"]+)">([^<]+)<', page)
    assert ("mehak2019", "Mehak 2019") in options and ("visual_iq", "visual iq") in options
    assert "contradicted" not in dict(options) and "challenged" in dict(options)


def test_verdict_objects_and_own_addresses_are_accepted():
    claim = claims.Claim(
        id="t/x", kind="value", source="s", locator_kind="table", locator="1", label="row one"
    )
    page = scoreboard.render(
        [claims.Verdict(claim=claim, verdict="not run")], address=lambda row: f"../{row['topic']}.html"
    )
    assert 'href="../t.html">row one</a>' in page.html


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ({"verdict": "supported"}, "each claim must have an id"),
        (
            {"id": "a", "verdict": "trend"},
            "verdict must be one of reproduced, exceeded, .*, got 'trend' for a",
        ),
    ],
)
def test_a_claim_that_is_no_claim_is_refused(claim, message):
    with pytest.raises(ValueError, match=message):
        scoreboard.render([claim])


# The strip


def numbers(svg, pattern):
    return [float(value) for value in re.findall(pattern, svg)]


def test_the_strip_shows_runs_interval_and_published_value_in_order():
    svg = strip.draw(CLAIMS[0])
    assert len(re.findall("rr-run", svg)) == 3
    (published,) = numbers(svg, r'rr-published" d="M([\d.]+) ')
    runs = numbers(svg, r'circle class="rr-run" cx="([\d.]+)"')
    ((left, right),) = re.findall(r'rr-reach" d="M([\d.]+) [\d.]+H([\d.]+)"', svg)
    assert published < float(left) < min(runs) < max(runs) < float(right) <= strip.WIDTH
    label = re.search(r'aria-label="([^"]*)"', svg).group(1)
    assert label == ("published 0.69; our runs 0.89, 0.9, 0.91; 95 % interval of one more run 0.84 to 0.96")


def test_the_strip_of_an_ordering_shows_the_difference_beside_zero():
    svg = strip.draw(CLAIMS[1])
    assert "difference, 95 % interval −0.01 to 0.03; zero is marked" in svg
    assert svg.count("rr-asked") == 1 and "rr-run" not in svg


@pytest.mark.parametrize(
    ("asked", "said", "room"),
    [
        ([0.0, None], "zero is marked", False),
        ([0.02, None], "asked for above 0.02", False),
        ([-0.02, None], "asked for above −0.02", False),
        ([-0.02, 0.02], "asked for −0.02 to 0.02", True),
    ],
)
def test_the_strip_of_an_ordering_shows_the_margin_that_is_asked_for(asked, said, room):
    svg = strip.draw(CLAIMS[1] | {"interval": CLAIMS[1]["interval"] | {"asked": asked}})
    assert said in svg and svg.count("rr-asked") == 1 and ("rr-room" in svg) == room


def test_nothing_measured_has_no_strip():
    assert strip.draw(CLAIMS[2]) == ""
    same = CLAIMS[0] | {"published": 0.9, "interval": None, "agreement": {}}
    same["sides"] = [same["sides"][0] | {"values": [0.9]}]
    assert "<circle" in strip.draw(same)


# What chapters cost


def test_the_status_states_time_memory_and_versions():
    picture = status.render(STATUS)
    first, second = re.findall(r"<tr[^>]*>(<th scope=\"row\".*?)</tr>", picture.html, flags=re.DOTALL)
    for text in (
        'href="story_qa/memory.html"',
        "quick",
        "31.2 s",
        "512 MB",
        "2026-11-20 10:00",
        "torch 2.13.0",
    ):
        assert text in first
    assert "2 h 03 min" in second and "2,048 MB" in second and "<details>" not in second
    assert picture.alt == "2 chapters; all chapters at quick: 31.2 s; all chapters at paper: 2 h 03 min."
    with pytest.raises(ValueError, match="each line must name its chapter"):
        status.render([{"scale": "quick"}])


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.04, "0.0 s"), (59.94, "59.9 s"), (60, "1 min 00 s"), (3599.6, "1 h 00 min")]
)
def test_durations_are_written_as_people_say_them(seconds, text):
    assert status._duration(seconds) == text


# In a browser


class Board(Opened):
    """The scoreboard, or the status, on a page of its own."""

    def __init__(self, browser, folder, *, part=None, width=1000, **settings):
        part = scoreboard.render(CLAIMS) if part is None else part
        head = (
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Board</title>'
            '<meta name="color-scheme" content="light dark">'
            '<meta name="viewport" content="width=device-width"></head>'
        )
        file = folder / "board.html"
        body = f"<main><h1>Board</h1>{part._repr_html_()}</main>"
        file.write_text(f"{head}<body>{body}</body></html>", encoding="utf-8")
        super().__init__(browser, file, viewport={"width": width, "height": 800}, **settings)
        self.board = self.page.locator("[data-rr-board]").first

    def says(self, text):
        self.page.wait_for_function(
            "text => document.querySelector('output').textContent === text", arg=text, timeout=10_000
        )

    def visible(self):
        return self.board.locator("tbody tr:visible").evaluate_all("rows => rows.map(row => row.id)")


@pytest.mark.browser
def test_search_and_selects_open_what_fits_and_say_how_many(browser, tmp_path):
    with Board(browser, tmp_path) as opened:
        board = opened.board
        opened.says("4 of 4 shown")
        assert opened.visible() == []  # all closed
        board.get_by_label("Search").fill("HOPS more")
        opened.says("1 of 4 shown")
        assert opened.visible() == ["claim-story-qa-hops"]
        board.get_by_role("button", name="Show all").click()
        opened.says("4 of 4 shown")
        assert opened.visible() == []
        board.get_by_label("Topic").select_option("story_qa")
        opened.says("2 of 4 shown")
        board.get_by_label("Verdict").select_option("not run")
        opened.says("0 of 4 shown")
        assert opened.board.locator("details[data-group]:visible").count() == 0
        assert opened.complaints == []


@pytest.mark.browser
def test_an_address_of_a_claim_opens_its_groups(browser, tmp_path):
    with Board(browser, tmp_path) as opened:
        opened.says("4 of 4 shown")
        opened.page.evaluate("location.hash = '#claim-visual-iq-ours'")
        opened.page.locator("#claim-visual-iq-ours").wait_for(state="visible")
        assert opened.visible() == ["claim-visual-iq-ours"]


@pytest.mark.browser
def test_without_scripts_the_groups_still_open(browser, tmp_path):
    with Board(browser, tmp_path, java_script_enabled=False) as opened:
        assert opened.page.locator("form:visible").count() == 0
        for name in ("Mehak 2019", "Accuracy on joint training"):
            opened.page.locator("summary", has_text=name).first.click()
        assert opened.page.locator("#claim-story-qa-joint-d50-n3").is_visible()


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(380, "dark"), (1000, "light")])
def test_no_accessibility_finding_and_no_sideways_scrolling(browser, tmp_path, width, scheme):
    for part in (None, status.render(STATUS)):
        with Board(browser, tmp_path, part=part, width=width, color_scheme=scheme) as opened:
            opened.page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true })")
            assert opened.grave() == []
            assert opened.overflow() <= 0
            assert opened.complaints == []


@pytest.mark.browser
def test_the_status_sorts_up_and_down_and_keeps_empty_cells_last(browser, tmp_path):
    with Board(browser, tmp_path, part=status.render(STATUS)) as opened:
        names = "rows => rows.map(row => row.cells[0].textContent)"
        head = opened.board.get_by_role("columnheader", name="Time")
        head.get_by_role("button").click()
        assert opened.board.locator("tbody tr").evaluate_all(names) == ["story_qa/memory", "story_qa/bert"]
        head.get_by_role("button").press("Enter")
        assert head.get_attribute("aria-sort") == "descending"
        assert opened.board.locator("tbody tr").evaluate_all(names) == ["story_qa/bert", "story_qa/memory"]
        assert opened.complaints == []
