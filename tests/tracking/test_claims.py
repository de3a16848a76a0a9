"""Claims: the file is read strictly, the verdict follows one rule, and tables say what records say."""

import json
import sys
import textwrap
from html.parser import HTMLParser
from itertools import product

import pytest

import reasonlib
from reasonlib.errors import DataError, UserError
from reasonlib.tracking import claims, records
from reasonlib.tracking.claims import judge, load, show, table, verdicts
from reasonlib.tracking.experiment import find, settings
from reasonlib.tracking.fingerprint import fingerprint
from reasonlib.tracking.records import Data, Record, Steps

EXPERIMENTS = """
    from reasonlib.tracking.experiment import Experiment


    def measure(trial):
        return {"accuracy": 1.0}


    def experiment(word, rows):
        return Experiment(
            name=f"toy_claims/{word}", title=word, rows=rows, run=measure,
            scales={"smoke": {"steps": 1}, "quick": {"steps": 10}, "paper": {"steps": 100}},
            data={"made": "simulated", "found": "real", "other": "real"},
        )


    EXPERIMENTS = {
        "net": experiment("net", {"small": {"width": 1}, "large": {"width": 9}}),
        "bert": experiment("bert", {"base": {}}),
    }
"""


@pytest.fixture(autouse=True)
def topic(tmp_path, monkeypatch):
    """The topic reasonlib.toy_claims; returns a function that writes its claims.yaml."""
    folder = tmp_path / "topics" / "toy_claims"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "experiments.py").write_text(textwrap.dedent(EXPERIMENTS))
    (folder / "claims.yaml").write_text("claims: []\n")
    monkeypatch.setattr(reasonlib, "__path__", [str(folder.parent)])
    monkeypatch.setenv("REASONLIB_RECORDS", str(tmp_path / "records"))

    def write(text):
        (folder / "claims.yaml").write_text(textwrap.dedent(text))

    yield write
    for name in [name for name in sys.modules if name.startswith("reasonlib.toy_claims")]:
        del sys.modules[name]
    if hasattr(reasonlib, "toy_claims"):
        del reasonlib.toy_claims


def measured(name="net", row="small", accuracy=0.7, scale="paper", data="found", seed=0, **changes):
    """Append a record of today's code."""
    experiment = find(f"toy_claims/{name}")
    metrics = accuracy if isinstance(accuracy, dict) else {"accuracy": accuracy}
    values = {
        "experiment": experiment.name,
        "row": row,
        "scale": scale,
        "seed": seed,
        "data": Data(name=data, kind=experiment.data[data]),
        "metrics": metrics,
        "config": settings(experiment, row, scale),
        "steps": Steps(done=100, planned=100),
        "seconds": 1.0,
        "device": "cpu",
        "versions": {},
        "commit": None,
        "code": {"run": fingerprint(experiment.run)},
        "when": "2025-01-01T00:00:00+00:00",
    }
    records.append(Record(**{**values, **changes}))


LEVEL = "{within: 0.05}"
ORDER = "{order: [large above small]}"
BOTH = "{within: 0.05, order: [large above small]}"


def one(topic, agreement=BOTH, published="0.7", extra=""):
    """Write one claim about row small and return its verdict."""
    kind = "ordering" if agreement == ORDER else "value"
    topic(
        f"""
        claims:
          - id: toy_claims/one
            kind: {kind}
            source: mehak2019
            where: {{table: Table 1, row: small net}}
            published: {published}
            unit: fraction
            experiment: toy_claims/net
            row: small
            metric: accuracy
            agreement: {agreement}
            {extra}
        """
    )
    (verdict,) = verdicts("toy_claims")
    return verdict


# The rule


@pytest.mark.parametrize(
    ("level", "order", "full"), list(product((True, False, None), (True, False, None), (True, False)))
)
def test_the_rule_case_by_case(level, order, full):
    if level is None and order is None:
        expected = "not run"
    elif order is False or (level is False and order is None):
        expected = "contradicted" if full else "not run"
    elif level is False:
        expected = "trend"
    else:
        expected = "reproduced" if full else "trend"
    assert judge(level=level, order=order, full=full) == expected


def test_the_rule_is_what_its_docstring_says():
    """Every line of the table in the docstring, read from the docstring."""
    lines = [line.strip() for line in judge.__doc__.splitlines()]
    _, first, last = [index for index, line in enumerate(lines) if line.startswith("========")]
    values = {"holds": (True,), "fails": (False,), "not asked": (None,), "any": (True, False, None)}
    cases = set()
    for line in lines[first + 1 : last]:
        level, order, full, otherwise = (
            line[a:b].strip() for a, b in ((0, 10), (10, 20), (20, 36), (36, None))
        )
        for case in product(values[level], values[order]):
            assert case not in cases
            cases.add(case)
            assert judge(level=case[0], order=case[1], full=True) == full
            assert judge(level=case[0], order=case[1], full=False) == otherwise
    assert cases == set(product((True, False, None), repeat=2))


@pytest.mark.parametrize("agreement", [LEVEL, ORDER, BOTH])
@pytest.mark.parametrize(
    "small", [0.72, 0.5, 0.9]
)  # within the level, below it, above it and above the large row
@pytest.mark.parametrize("scale", ["smoke", "quick", "paper"])
@pytest.mark.parametrize("data", ["found", "made"])
@pytest.mark.parametrize("complete", [True, False])
def test_the_verdict_on_made_up_records(topic, agreement, small, scale, data, complete):
    steps = Steps(done=100 if complete else 40, planned=100, stopped="finished" if complete else "minutes")
    measured(row="small", accuracy=small, scale=scale, data=data, steps=steps)
    measured(row="large", accuracy=0.8, scale=scale, data=data)
    verdict = one(topic, agreement)
    level, order = small == 0.72, small < 0.8
    full = scale == "paper" and data == "found" and complete
    holds = {LEVEL: level, ORDER: order, BOTH: order}[agreement]
    if scale == "smoke" or not (holds or full):
        expected = "not run"
    elif not holds:
        expected = "contradicted"
    else:
        expected = "reproduced" if full and (level or agreement == ORDER) else "trend"
    assert verdict.verdict == expected
    if scale == "smoke":
        assert verdict.ours is None and not verdict.records and verdict.scale is None
        return
    assert verdict.ours.mean == small and (verdict.scale, verdict.data) == (scale, data)
    assert verdict.kind == {"found": "real", "made": "simulated"}[data]
    asked = {LEVEL: 1, ORDER: 2, BOTH: 2}[agreement]
    assert verdict.records == ("records/toy_claims/net.jsonl:1", "records/toy_claims/net.jsonl:2")[:asked]
    assert any("after 40% of the planned steps" in note for note in verdict.notes) == (not complete)
    assert any("does not hold: large above small" in note for note in verdict.notes) == (
        agreement != LEVEL and not order
    )


def test_nothing_measured_is_not_run(topic):
    verdict = one(topic)
    assert (verdict.verdict, verdict.ours, verdict.records) == ("not run", None, ())
    assert verdict.notes == ("no run of toy_claims/net, row small",)


def test_half_of_what_is_asked_is_not_run_and_shown(topic):
    measured(row="small", accuracy=0.7)
    verdict = one(topic)
    assert verdict.verdict == "not run" and verdict.ours.mean == 0.7
    assert verdict.notes == ("no run of toy_claims/net, row large",)
    assert verdict.to_json()["agreement"]["order"] == [{"text": "large above small", "holds": None}]


def test_a_metric_that_was_not_measured(topic):
    measured(accuracy={"loss": 1.0})
    verdict = one(topic, LEVEL)
    assert verdict.verdict == "not run"
    assert verdict.notes == ("no run of toy_claims/net, row small, measured accuracy",)


def test_like_is_compared_with_like(topic):
    measured(row="small", accuracy=0.7, scale="paper")
    measured(row="large", accuracy=0.8, scale="quick")
    verdict = one(topic)
    assert verdict.verdict == "not run"
    assert verdict.notes == ("the rows it compares were never run at one scale on one data set",)
    measured(row="small", accuracy=0.9, scale="quick")
    verdict = one(topic)
    assert (verdict.verdict, verdict.scale, verdict.ours.mean) == ("not run", "quick", 0.9)


def test_an_illegible_number_alone_is_not_run_but_ours_is_shown(topic):
    measured(accuracy=0.7)
    verdict = one(topic, "{}", published="null")
    assert verdict.verdict == "not run" and verdict.ours.mean == 0.7
    assert "nothing to compare with" in verdict.notes[0]
    measured(row="large", accuracy=0.8)
    assert one(topic, "{order: [large above small]} # value", published="null").verdict == "reproduced"
    assert one(topic, "{at_least: 0.9}", published="null").verdict == "contradicted"


def test_what_is_only_published_is_not_run(topic):
    topic(
        """
        defaults: {source: mehak2019, experiment: toy_claims/net, metric: accuracy, agreement: {within: 1}}
        claims:
          - {id: toy_claims/x, kind: published-only, where: {section: Results}, text: Big., published: 3}
        """
    )
    (verdict,) = verdicts()
    assert verdict.verdict == "not run" and verdict.claim.experiment is None
    assert "published only" in verdict.notes[0]


@pytest.mark.parametrize(
    ("agreement", "mean", "holds"),
    [
        ("{within: 0.05}", 0.75, True),  # 0.75 - 0.7 is a little more than 0.05 in binary
        ("{within: 0.05}", 0.65, True),
        ("{within: 0.05}", 0.7501, False),
        ("{at_least: 0.9}", 0.9, True),
        ("{at_least: 0.9}", 0.8999, False),
        ("{at_most: 0.1}", 0.1, True),
        ("{at_most: 0.1}", 0.1001, False),
        ("{within: 0.3, at_least: 0.7}", 0.6, False),
        ("{within: 0.3, at_least: 0.7}", 0.8, True),
    ],
)
def test_levels(topic, agreement, mean, holds):
    measured(accuracy=mean)
    assert one(topic, agreement).verdict == ("reproduced" if holds else "contradicted")


@pytest.mark.parametrize(
    ("order", "holds"),
    [
        ("large above small", True),
        ("small below large", True),
        ("small above large", False),
        ("large above small by 0.1", True),
        ("large above small by 0.11", False),
        ("small below large by 0.1", True),
        ("toy_claims/bert:base above large above small", True),
        ("toy_claims/bert:base above small above large", False),
        (
            "toy_claims/bert:base above small by 0.3",
            False,
        ),  # equal to what was measured would hold; it is 0.2
        ("'@one_fact above @three_facts'", True),
        ("large@one_fact above small@three_facts", True),
        ("'@three_facts above @one_fact'", False),
        ("large above @one_fact", False),
    ],
)
def test_orderings(topic, order, holds):
    measured(row="small", accuracy={"accuracy": 0.7, "one_fact": 0.9, "three_facts": 0.4})
    measured(row="large", accuracy={"accuracy": 0.8, "one_fact": 0.95, "three_facts": 0.8})
    measured("bert", "base", accuracy=0.9)
    assert one(topic, f"{{order: [{order}]}} # value", published="null").verdict == (
        "reproduced" if holds else "contradicted"
    )


def test_equal_is_not_above(topic):
    measured(row="small", accuracy=0.8)
    measured(row="large", accuracy=0.8)
    assert one(topic, ORDER).verdict == "contradicted"


def test_means_over_seeds_are_compared(topic):
    for seed, (small, large) in enumerate([(0.9, 0.7), (0.3, 0.8)]):
        measured(row="small", accuracy=small, seed=seed)
        measured(row="large", accuracy=large, seed=seed)
    verdict = one(topic, ORDER)
    assert verdict.verdict == "reproduced" and verdict.ours.n == 2 and len(verdict.records) == 4
    assert verdict.to_json()["ours"] == {
        "mean": pytest.approx(0.6),
        "sd": pytest.approx(0.4243, abs=1e-4),
        "n": 2,
    }


def test_fresh_then_paper_then_real(topic):
    measured(accuracy=0.1, code={"run": "0" * 16})
    stale = one(topic, LEVEL)
    assert stale.stale == "code changed" and stale.verdict == "contradicted"
    assert stale.notes == ("stale: code changed",)
    for scale, data, value in [("quick", "made", 0.2), ("quick", "found", 0.3), ("paper", "made", 0.4)]:
        measured(accuracy=value, scale=scale, data=data)
        assert one(topic, LEVEL).ours.mean == value
    measured(accuracy=0.7)
    verdict = one(topic, LEVEL)
    assert (verdict.ours.mean, verdict.verdict, verdict.stale) == (0.7, "reproduced", None)


def test_a_claim_about_one_data_set(topic):
    measured(accuracy=0.7, data="found")
    assert one(topic, LEVEL, extra="data: other").verdict == "not run"
    measured(accuracy=0.9, data="other", scale="quick")
    verdict = one(topic, LEVEL, extra="data: other")
    assert (verdict.data, verdict.verdict) == ("other", "not run")


@pytest.mark.parametrize(
    ("mean", "elsewhere", "there"), [(0.7, "trend", "reproduced"), (0.9, "not run", "contradicted")]
)
def test_the_source_s_own_data_decides(topic, mean, elsewhere, there):
    measured(accuracy=mean, data="found")
    assert one(topic, LEVEL, extra="made_on: other").verdict == elsewhere
    assert one(topic, LEVEL, extra="made_on: found").verdict == there
    measured(accuracy=0.5, data="other")
    assert one(topic, LEVEL, extra="made_on: other").ours.mean == 0.5
    assert one(topic, LEVEL, extra="made_on: found").ours.mean == mean


# The file


FULL = """
    defaults:
      source: mehak2019
      where: {table: Table 1}
      experiment: toy_claims/net
      metric: accuracy
      unit: fraction
      agreement: {within: 0.05}
      chapter: toy_claims/memory
    claims:
      - id: toy_claims/small
        kind: value
        where: {row: "d = 20"}
        row: small
        published: 0.7
      - id: toy_claims/large
        kind: value
        where: {row: "d = 100"}
        row: large
        published: 0.9
        reason: It was trained on less.
      - id: toy_claims/width
        kind: ordering
        where: {row: both}
        text: Width helps.
        agreement:
          order: [large above small]
    """


def test_defaults_are_filled_in(topic):
    topic(FULL)
    small, large, width = load("toy_claims")
    assert small.topic == "toy_claims" and (small.place, small.where, small.label) == (
        "table",
        "Table 1",
        "d = 20",
    )
    assert (
        small.agreement.within == 0.05
        and small.chapter == "toy_claims/memory"
        and small.source == "mehak2019"
    )
    assert large.reason == "It was trained on less." and large.published == 0.9
    assert width.agreement.within is None and width.agreement.order[0].text == "large above small"
    assert width.published is None and width.text == "Width helps."


def test_the_example_in_the_documentation_is_a_sound_claim(tmp_path):
    """Read what the module's docstring shows."""
    lines = claims.__doc__.splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("    defaults:"))
    end = next(
        index for index, line in enumerate(lines) if index > start and line and not line.startswith(" ")
    )
    file = tmp_path / "claims.yaml"
    file.write_text(textwrap.dedent("\n".join(lines[start:end])))
    (claim,) = claims.read(file, "story_qa")
    assert claim.id == "story_qa/joint/d50-n3" and claim.published == 0.69
    assert [order.by for order in claim.agreement.order] == [0.0, 0.05, 0.0]
    assert claim.agreement.order[1].pairs[0][0].experiment == "story_qa/bert"


GOOD = {
    "id": "toy_claims/x",
    "kind": "value",
    "source": "mehak2019",
    "where": {"table": "Table 1", "row": "small"},
    "published": 0.7,
    "experiment": "toy_claims/net",
    "row": "small",
    "metric": "accuracy",
    "agreement": {"within": 0.05},
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": None}, "field 'id' is missing"),
        ({"kind": None}, "field 'kind' is missing"),
        ({"source": None}, "field 'source' is missing"),
        ({"where": None}, "field 'where' is missing"),
        ({"kind": "guess"}, "kind must be one of value, ordering, published-only, got 'guess'"),
        ({"id": "poetry/x"}, "the id must start with toy_claims/"),
        ({"id": "toy_claims"}, "the id must start with toy_claims/"),
        ({"id": 3}, "id must be text, got 3"),
        ({"colour": "red"}, "unknown field 'colour'; known: id, kind"),
        ({"source": " "}, "source must not be empty"),
        ({"where": {"page": 3}}, "where must be one of table, figure or section"),
        ({"where": {"table": "a", "figure": "b"}}, "where must be one of table, figure or section"),
        ({"where": {"table": 1}}, "where.table must be text, got 1"),
        ({"published": "0.7"}, "published must be a number or null, got '0.7'"),
        ({"published": "1e-3"}, "write 0.001"),
        ({"published": True}, "published must be a number or null"),
        ({"published": None}, "needs the field 'published'"),
        ({"row": None}, "kind value needs the field 'row'"),
        ({"metric": None}, "kind value needs the field 'metric'"),
        ({"experiment": None}, "kind value needs the field 'experiment'"),
        ({"agreement": None}, "a published number needs agreement: within, at_least or at_most"),
        ({"agreement": {"near": 1}}, "unknown agreement 'near'; known: within, at_least, at_most, order"),
        ({"agreement": {"within": -1}}, "within must be at least 0, got -1"),
        ({"agreement": {"within": "a"}}, "agreement.within must be a number, got 'a'"),
        ({"agreement": {"order": "a above b"}}, "agreement.order must be a list"),
        ({"agreement": {"order": [1]}}, "an ordering must be text, got 1"),
        ({"agreement": {"order": ["small"]}}, "an ordering reads 'a above b'"),
        ({"agreement": {"order": ["small beats large"]}}, "an ordering reads 'a above b'"),
        ({"agreement": {"order": ["small above"]}}, "an ordering reads 'a above b'"),
        ({"agreement": {"order": ["small above large by much"]}}, "after 'by' stands a number"),
        ({"agreement": {"order": ["small above large by -1"]}}, "after 'by' stands a number"),
        ({"agreement": {"order": ["small above small"]}}, "compares two different things"),
        ({"agreement": {"order": ["a:b:c above small"]}}, "a side of an ordering is"),
        ({"kind": "ordering"}, "kind ordering needs agreement: {order"),
        ({"kind": "ordering", "agreement": {"within": 1, "order": ["large above small"]}}, "has no level"),
        ({"kind": "published-only"}, "a published-only claim has no experiment"),
    ],
)
def test_a_mistake_in_a_claim_names_file_line_and_claim(topic, changes, message):
    values = {name: value for name, value in {**GOOD, **changes}.items() if value is not None}
    topic("# a comment\nclaims:\n  - " + json.dumps(values) + "\n")
    with pytest.raises(DataError, match=r"claims\.yaml:3: claim .*: ") as caught:
        load("toy_claims")
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must hold a list named claims"),
        ("claims: {}", "must hold a list named claims"),
        ("- a", "must hold a list named claims"),
        ("claims: [1]", ":1: claim without an id: a claim must be a mapping, got 1"),
        ("claims: []\nversion: 2", "unknown field 'version'; known: defaults, claims"),
        ("claims: []\ndefaults: {row: a}", "defaults must not give 'row'"),
        ("claims: []\ndefaults: [a]", "defaults must be a mapping"),
        ("claims: []\nclaims: []", ":2: not YAML: field 'claims' is given twice"),
        ("claims: [}", ":1: not YAML"),
        ("claims: !!python/object:os.system {}", "not YAML"),
    ],
)
def test_a_broken_file_names_its_line(topic, text, message):
    topic(text)
    with pytest.raises(DataError, match=r"claims\.yaml") as caught:
        load("toy_claims")
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_an_id_is_used_once(topic):
    topic("claims:\n  - " + json.dumps(GOOD) + "\n  - " + json.dumps(GOOD) + "\n")
    with pytest.raises(DataError, match=r"claims\.yaml:3: claim toy_claims/x: the id is used twice"):
        load("toy_claims")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"experiment": "toy_claims/odes"}, "no experiment 'toy_claims/odes'; there are: toy_claims/net, "),
        ({"row": "huge"}, "toy_claims/net has no row 'huge'; it has: small, large"),
        ({"data": "lost"}, "toy_claims/net has no data 'lost'; it has: made, found, other"),
        ({"agreement": {"within": 1, "order": ["huge above small"]}}, "has no row 'huge'"),
    ],
)
def test_a_claim_about_what_its_topic_does_not_have(topic, changes, message):
    topic("claims:\n  - " + json.dumps({**GOOD, **changes}) + "\n")
    with pytest.raises(DataError, match="claim toy_claims/x: ") as caught:
        verdicts()
    assert message in str(caught.value)


def test_an_unknown_topic():
    with pytest.raises(UserError, match="no topic 'poetry'; there are: toy_claims"):
        load("poetry")


# What is shown


KEYS = [
    "id",
    "topic",
    "source",
    "table",
    "row",
    "metric",
    "published",
    "ours",
    "scale",
    "data",
    "verdict",
    "records",
]


def test_the_table_has_the_agreed_keys(topic):
    topic(FULL)
    measured(row="small", accuracy=0.7)
    rows = table("toy_claims")
    assert [row["id"] for row in rows] == ["toy_claims/small", "toy_claims/large", "toy_claims/width"]
    assert list(rows[0])[:12] == KEYS
    assert json.loads(json.dumps(rows)) == rows
    assert rows[0]["ours"] == {"mean": 0.7, "sd": None, "n": 1} and rows[0]["data"] == {
        "name": "found",
        "kind": "real",
    }
    assert rows[1]["ours"] is None and rows[1]["data"] is None and rows[1]["verdict"] == "not run"


def test_a_table_is_part_of_a_source_or_an_experiment(topic):
    topic(
        FULL
        + """
      - id: toy_claims/far
        kind: published-only
        where: {section: Results}  # and not the table of the defaults
        published: 1
    """
    )
    assert len(table()) == len(table("toy_claims")) == 4
    assert len(table("toy_claims/net")) == len(table(table="Table 1")) == 3
    assert [row["id"] for row in table(section="Results")] == ["toy_claims/far"]
    assert [row["id"] for row in table(ids=["toy_claims/far", "toy_claims/small"])] == [
        "toy_claims/far",
        "toy_claims/small",
    ]
    assert table(section="Results")[0]["section"] == "Results" and "table" not in table(section="Results")[0]
    for asked, message in [
        ({"table": "Table 9"}, "no claim is from table 'Table 9'; there are: Table 1"),
        ({"figure": "1"}, "no claim is from figure '1'; there are: none"),
        ({"ids": ["nothing"]}, "no claim 'nothing'; there are: toy_claims/small, "),
        ({"name": "toy_claims/bert"}, "no claim asks for 'toy_claims/bert'"),
    ]:
        with pytest.raises(UserError, match=message):
            table(**asked)


class Outline(HTMLParser):
    """Collects tags with their attributes, and the text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.text = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_the_table_on_a_page(topic):
    topic(FULL.replace("Width helps.", "Width <helps> & more.").replace("{row: both}", "{}"))
    for seed in (0, 1):
        measured(row="small", accuracy=0.68 + 0.04 * seed, seed=seed)
        measured(row="large", accuracy=0.5, seed=seed, scale="paper")
    board = show("toy_claims", table="Table 1")
    page = Outline(board._repr_html_())
    assert page.open == []
    names = [tag for tag, _ in page.tags]
    assert names.count("caption") == 1 and names.count("tr") == 4
    scopes = [attributes["scope"] for tag, attributes in page.tags if tag == "th"]
    assert scopes == ["col"] * 6 + ["row"] * 3
    region = page.tags[0][1]
    assert region["role"] == "region" and region["tabindex"] == "0" and region["aria-label"] == board.caption
    styles = " ".join(attributes.get("style", "") for _, attributes in page.tags)
    assert "#" not in styles and "rgb" not in styles and "currentColor" in styles  # colours are the page's
    classes = " ".join(attributes.get("class", "") for _, attributes in page.tags).split()
    assert classes and all(name.startswith("rr-") for name in classes)
    text = "".join(page.text)
    assert (
        "Table 1 (mehak2019)" in text and "0.700 ± 0.028 (2 seeds)" in text and "paper, found (real)" in text
    )
    assert "✓ reproduced" in text and "✗ contradicted" in text
    assert "Width <helps> & more." in text  # escaped, so that the parser gives it back
    assert "d = 100: It was trained on less." in text
    assert "Width <helps> & more.: does not hold: large above small." in text


def test_every_verdict_has_a_word_and_its_own_sign():
    assert list(claims.GLYPHS) == list(claims.VERDICTS) and len(set(claims.GLYPHS.values())) == 4


def test_the_table_as_markdown_and_text(topic):
    topic(FULL.replace("d = 20", "d | 20"))
    measured(row="small", accuracy=0.7)
    board = show(ids=["toy_claims/small", "toy_claims/large"], caption="Ours")
    lines = board._repr_markdown_().splitlines()
    assert lines[0] == "**Ours**" and lines[2].count("|") == 7
    assert lines[4] == r"| d \| 20 | accuracy (fraction) | 0.7 | 0.700 | paper, found (real) | ✓ reproduced |"
    assert str(board).splitlines()[0] == "Ours" and "not run" in str(board)


def test_an_empty_board(topic):
    assert show("toy_claims").rows == ()
    assert "Claims of toy_claims: none" in show("toy_claims")._repr_html_()


def test_numbers_are_written_by_their_unit():
    assert (
        claims.number(0.12345) == "0.123" and claims.number(7.46, "%") == "7.5" and claims.number(None) == "–"
    )
