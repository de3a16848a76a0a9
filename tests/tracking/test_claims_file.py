"""claims.yaml is read strictly, and every mistake names its file, its line and its claim."""

import json
import textwrap

import pytest

from reasonlib.errors import DataError, UserError
from reasonlib.tracking import claims_file
from reasonlib.tracking.claims import verdicts
from reasonlib.tracking.claims_file import load
from reasonlib.tracking.published import Printed, Side

pytestmark = pytest.mark.usefixtures("topic")


FULL = """
    sources: [mehak2019]
    tables:
      "*": {tolerance: {"*": 0.02}, tolerance_reason: two points}
      Table 1:
        lines: "10-20"
        tolerance: {accuracy: 0.05, "error*": 0.01}
        better: {"error*": lower}
        examples: {accuracy: 1000}
        settings:
          - {set: {depth: 3}, lines: "12"}
          - {rows: [small], set: {width: 20}, lines: "13"}
        changed: [{date: 2026-11-22, from: 0.1, to: "0.05", why: too wide}]
    defaults:
      source: mehak2019
      where: {table: Table 1}
      experiment: toy_claims/net
      metric: accuracy
      unit: fraction
      chapter: toy_claims/memory
    claims:
      - id: toy_claims/small
        kind: value
        where: {row: "d = 20", lines: "14"}
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
        source: devlin2019
        where: {row: both}
        text: Width helps.
        agreement: {order: [large above small]}
    goals:
      - id: toy_claims/goal
        kind: value
        where: {section: Ours}
        row: large
        published: 0.9
        agreement: {at_least: 0.9}
    """.replace("from: 0.1,", 'from: "0.1",')


def test_defaults_and_tables_are_filled_in(topic):
    topic(FULL)
    small, large, width, goal = load("toy_claims")
    assert (small.topic, small.locator_kind, small.locator, small.label) == (
        "toy_claims",
        "table",
        "Table 1",
        "d = 20",
    )
    assert small.lines == "14" and small.table.lines == "10-20"
    assert small.table.tolerance_of("accuracy") == 0.05 and small.table.tolerance_of("error.x") == 0.01
    assert small.table.tolerance_reason == "two points"  # of "*"
    assert (small.table.better_of("accuracy"), small.table.better_of("error.x")) == ("higher", "lower")
    assert (small.table.examples_of("accuracy"), small.table.examples_of("loss")) == (1000, None)
    assert small.table.changed[0].to_json()["why"] == "too wide"
    assert large.reason == "It was trained on less." and large.published == 0.9
    assert width.agreement.order[0].text == "large above small" and width.published is None
    assert (small.outside, width.outside, goal.outside) == (False, True, False)
    assert goal.goal and goal.table.tolerance_of("accuracy") == 0.02


def test_printed_settings_concern_rows_and_metrics():
    printed = Printed(rows=("n2n*",), metrics=("task?",), values={"width": 20})
    assert printed.concerns(Side(experiment="a/b", row="n2n-match", metric="task1"))
    assert not printed.concerns(Side(experiment="a/b", row="gn2n", metric="task1"))
    assert not printed.concerns(Side(experiment="a/b", row="n2n", metric="average"))
    assert not Printed(experiments=("a/c",)).concerns(Side(experiment="a/b", row="n2n", metric="task1"))


def test_the_example_in_the_documentation_is_a_sound_file(tmp_path):
    lines = claims_file.__doc__.splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("    sources:"))
    end = next(index for index, line in enumerate(lines) if index > start and line and line[0] != " ")
    file = tmp_path / "claims.yaml"
    file.write_text(textwrap.dedent("\n".join(lines[start:end])))
    with pytest.raises(DataError, match="bounds need published: null"):
        claims_file.read(file, "story_qa")  # it shows every field, also those that exclude each other
    file.write_text(file.read_text().replace("at_least: 0.92", ""))
    (claim,) = claims_file.read(file, "story_qa")
    assert claim.id == "story_qa/joint/d50-n3" and claim.published == 0.69 and claim.lines == "212"
    assert [(order.by, order.relation) for order in claim.agreement.order] == [
        (0.0, "above"),
        (0.05, "above"),
        (0.0, "above"),
        (0.02, "near"),
        (0.02, "not-below"),
    ]
    assert claim.agreement.order[1].pairs[0][0].experiment == "story_qa/bert"
    assert [printed.values for printed in claim.table.settings] == [
        {"lr": 0.01, "epochs": 100},
        {"width": 20},
        {},
    ]
    assert claim.table.settings[2].differs and claim.table.changed[0].date == "2026-11-20"


GOOD = {
    "id": "toy_claims/x",
    "kind": "value",
    "source": "mehak2019",
    "where": {"table": "Table 1", "row": "small"},
    "published": 0.7,
    "experiment": "toy_claims/net",
    "row": "small",
    "metric": "accuracy",
}
TABLES = 'tables: {"*": {tolerance: {accuracy: 0.05}, tolerance_reason: why}}\n'


def assert_refused(location, message):
    """Fail unless loading the claims raises one line that names a place and holds a message."""
    with pytest.raises(DataError, match=location) as caught:
        load("toy_claims")
    assert message in str(caught.value) and "\n" not in str(caught.value)


def write_one(topic, changes, tables=TABLES):
    values = {name: value for name, value in {**GOOD, **changes}.items() if value != "absent"}
    topic(f"{tables}claims:\n  - {json.dumps(values)}\n")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": "absent"}, "field 'id' is missing"),
        ({"kind": "absent"}, "field 'kind' is missing"),
        ({"source": "absent"}, "field 'source' is missing"),
        ({"where": "absent"}, "field 'where' is missing"),
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
        ({"published": "absent"}, "needs the field 'published'"),
        ({"illegible": 1}, "illegible must be true or false, got 1"),
        ({"illegible": True}, "a number that is illegible is null"),
        ({"row": "absent"}, "kind value needs the field 'row'"),
        ({"metric": "absent"}, "kind value needs the field 'metric'"),
        ({"metric": "loss"}, "tables: Table 1: needs a tolerance for loss"),
        ({"experiment": "absent"}, "kind value needs the field 'experiment'"),
        ({"agreement": {"within": 1}}, "unknown agreement 'within'; known: at_least, at_most, order"),
        ({"agreement": {"at_least": 0.6}}, "bounds need published: null"),
        ({"agreement": {"at_least": "a"}}, "agreement.at_least must be a number, got 'a'"),
        ({"agreement": {"order": "a above b"}}, "agreement.order must be a list"),
        ({"agreement": {"order": [1]}}, "an ordering must be text, got 1"),
        ({"agreement": {"order": ["small"]}}, "an ordering reads 'a above b'"),
        ({"agreement": {"order": ["small beats large"]}}, "an ordering reads 'a above b'"),
        ({"agreement": {"order": ["small above"]}}, "an ordering reads 'a above b'"),
        ({"agreement": {"order": ["a near b above c by 1"]}}, "an ordering reads 'a above b'"),
        ({"agreement": {"order": ["small near large"]}}, "'near' needs its distance"),
        ({"agreement": {"order": ["small not-below large"]}}, "'not-below' needs its distance"),
        ({"agreement": {"order": ["small above large by much"]}}, "after 'by' stands a number"),
        ({"agreement": {"order": ["small above large by -1"]}}, "after 'by' stands a number"),
        ({"agreement": {"order": ["small above small"]}}, "compares two different things"),
        ({"agreement": {"order": ["a:b:c above small"]}}, "a side of an ordering is"),
        ({"kind": "ordering"}, "kind ordering needs agreement: {order"),
        (
            {"kind": "ordering", "agreement": {"at_most": 1, "order": ["large above small"]}},
            "kind ordering has no bound",
        ),
        ({"kind": "published-only"}, "a published-only claim has no experiment"),
        ({"changed": [{"date": "2026-01-01", "from": "a", "to": "b"}]}, "changed: field 'why' is missing"),
        ({"changed": ["yesterday"]}, "changed: an entry must be a mapping"),
    ],
)
def test_a_mistake_in_a_claim_names_file_line_and_claim(topic, changes, message):
    write_one(topic, changes)
    assert_refused(r"claims\.yaml:3: claim .*: ", message)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ("{Table 1: 3}", "tables: Table 1: a table must be a mapping, got 3"),
        ("{Table 1: {width: 3}}", "tables: Table 1: unknown field 'width'"),
        ("{Table 1: {tolerance: {accuracy: -1}, tolerance_reason: x}}", "must be at least 0, got -1"),
        ("{Table 1: {tolerance: {accuracy: 1}}}", "a tolerance needs a tolerance_reason"),
        ("{Table 1: {better: {accuracy: up}}}", "must be one of higher, lower, neither, got 'up'"),
        ("{Table 1: {ends: never}}", "ends must be one of planned, early, got 'never'"),
        ("{Table 1: {settings: [{rows: [a]}]}}", "an entry needs set: {setting: value} or differs: text"),
        ("{Table 1: {settings: [3]}}", "settings: settings must be a mapping, got 3"),
        ("{Table 9: {lines: '3'}}", "tables: no claim is from 'Table 9'"),
    ],
)
def test_a_mistake_in_a_table_names_it(topic, tables, message):
    common = '"*": {tolerance: {accuracy: 0.05}, tolerance_reason: why}, '
    if "tolerance" in tables:
        common = ""
    write_one(topic, {}, f"tables: {{{common}{tables[1:]}\n")
    assert_refused(r"claims\.yaml", message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must hold a list named claims"),
        ("claims: {}", "must hold a list named claims"),
        ("- a", "must hold a list named claims"),
        ("claims: [1]", ":1: claim without an id: a claim must be a mapping, got 1"),
        (
            "claims: []\nversion: 2",
            "unknown field 'version'; known: sources, tables, defaults, claims, goals",
        ),
        ("claims: []\ndefaults: {row: a}", "defaults must not give 'row'"),
        ("claims: []\ndefaults: [a]", "defaults must be a mapping"),
        ("claims: []\nclaims: []", ":2: not YAML: field 'claims' is given twice"),
        ("claims: [}", ":1: not YAML"),
        ("claims: !!python/object:os.system {}", "not YAML"),
    ],
)
def test_a_broken_file_names_its_line(topic, text, message):
    topic(text)
    assert_refused(r"claims\.yaml", message)


def test_an_id_is_used_once_also_between_claims_and_goals(topic):
    goal = {**GOOD, "agreement": {"at_least": 0.7}}
    topic(f"{TABLES}claims:\n  - {json.dumps(GOOD)}\ngoals:\n  - {json.dumps(goal)}\n")
    with pytest.raises(DataError, match=r"claims\.yaml:5: claim toy_claims/x: the id is used twice"):
        load("toy_claims")


def test_a_written_file_is_read_again(topic):
    topic("claims: []")
    assert load("toy_claims") == []
    write_one(topic, {})
    assert [claim.id for claim in load("toy_claims")] == ["toy_claims/x"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"experiment": "toy_claims/odes"}, "no experiment 'toy_claims/odes'; there are: toy_claims/net, "),
        ({"row": "huge"}, "toy_claims/net has no row 'huge'; it has: small, large"),
        ({"data": "lost"}, "toy_claims/net has no data 'lost'; it has: made, found, other"),
        ({"agreement": {"order": ["huge above small"]}}, "has no row 'huge'"),
    ],
)
def test_a_claim_about_what_its_topic_does_not_have(topic, changes, message):
    write_one(topic, changes)
    with pytest.raises(DataError, match="claim toy_claims/x: ") as caught:
        verdicts()
    assert message in str(caught.value)


def test_an_unknown_topic():
    with pytest.raises(UserError, match="no topic 'poetry'; there are: toy_claims"):
        load("poetry")
