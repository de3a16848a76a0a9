"""Verdicts on made-up records: which runs answer, under which conditions, and what follows."""

import json
from itertools import product

import pytest
from toy_topic import measured

from reasonlib.errors import UserError
from reasonlib.tracking import claims
from reasonlib.tracking.claims import table, verdicts
from reasonlib.tracking.records import Steps

pytestmark = pytest.mark.usefixtures("topic")


LEVEL, ORDER, BOTH = "{}", "{order: [large above small]}", "{order: [large above small]} # both"
STEADY = (0.70, 0.701, 0.699)
HIGHER = (0.80, 0.799, 0.801)


def claim_verdict(topic, agreement=LEVEL, published="0.7", extra="", settings="", **fields):
    """Write one claim about row small, or of another experiment, and return its verdict."""
    kind = "ordering" if agreement == ORDER else "value"
    values = {"experiment": "toy_claims/net", "row": "small", "metric": "accuracy", **fields}
    lines = "\n".join(f"            {name}: {value}" for name, value in values.items())
    topic(
        f"""
        tables:
          Table 1:
            tolerance: {{"*": 0.05}}
            tolerance_reason: for tests
            {settings}
        claims:
          - id: toy_claims/one
            kind: {kind}
            source: mehak2019
            where: {{table: Table 1, row: small net}}
            published: {"null" if agreement == ORDER else published}
            unit: fraction
            agreement: {agreement}
            {extra}
{lines}
        """
    )
    (verdict,) = verdicts("toy_claims")
    return verdict


# Which verdict


@pytest.mark.parametrize("agreement", [LEVEL, ORDER, BOTH])
@pytest.mark.parametrize("small", [0.7, 0.4, 0.9])  # as published; below it; above it and the large row
@pytest.mark.parametrize("scale", ["smoke", "quick", "paper"])
@pytest.mark.parametrize("data", ["found", "drawn", "made"])
@pytest.mark.parametrize("complete", [True, False])
def test_the_verdict_on_made_up_records(topic, agreement, small, scale, data, complete):
    steps = Steps(done=100 if complete else 40, planned=100, stopped="finished" if complete else "minutes")
    measured(row="small", values=[small, small + 0.001, small - 0.001], scale=scale, data=data, steps=steps)
    measured(row="large", values=HIGHER, scale=scale, data=data)
    verdict = claim_verdict(topic, agreement)
    if scale == "smoke":
        assert (verdict.verdict, verdict.ours, verdict.records, verdict.scale) == ("not run", None, (), None)
        return
    level = {0.7: "holds", 0.4: "fails", 0.9: "better"}[small]
    order = "holds" if small < 0.8 else "fails"
    asked = {LEVEL: {level}, ORDER: {order}, BOTH: {level, order}}[agreement]
    answer = "holds" if asked == {"holds"} else "better" if asked <= {"better", "holds"} else "fails"
    same = scale == "paper" and data != "made" and complete
    words = {"holds": "reproduced", "better": "exceeded", "fails": "contradicted"}
    others = {"holds": "supported", "better": "challenged", "fails": "challenged"}
    assert verdict.verdict == (words if same else others)[answer]
    what = {condition.what for condition in verdict.conditions}
    assert what == {
        name
        for name, on in (("data", data == "made"), ("scale", scale == "quick"), ("end", not complete))
        if on
    }
    assert verdict.ours.mean == pytest.approx(small) and (verdict.scale, verdict.data) == (scale, data)
    assert verdict.n == 3 and not verdict.deterministic
    assert len(verdict.records) == (3 if agreement == LEVEL else 6)


@pytest.mark.parametrize("runs", [1, 2])
@pytest.mark.parametrize(("scale", "data"), [*product(["quick", "paper"], ["found", "drawn", "made"])])
@pytest.mark.parametrize("agreement", [LEVEL, ORDER, BOTH])
def test_one_or_two_runs_of_a_random_system_never_decide(topic, runs, scale, data, agreement):
    for small in ([0.7] * runs, [0.1] * runs):
        measured(row="small", values=small, scale=scale, data=data)
        measured(row="large", values=[0.8, 0.81], scale=scale, data=data)
        verdict = claim_verdict(topic, agreement)
        assert verdict.verdict == "inconclusive" and verdict.n == runs and verdict.interval is None
        assert "fewer than 3 runs" in verdict.notes[0]


def test_a_tie_never_decides(topic):
    for row in ("small", "large"):
        measured(row=row, values=(0.8, 0.8, 0.8))
    verdict = claim_verdict(topic, ORDER)
    assert verdict.verdict == "inconclusive" and verdict.notes == ("a tie",)
    order = {"text": "large above small", "relation": "above", "by": 0.0, "holds": False}
    assert verdict.to_json()["agreement"]["order"] == [order]


def test_an_interval_that_holds_both_answers_never_decides(topic):
    measured(row="small", values=(0.5, 0.7, 0.9))
    measured(row="large", values=(0.9, 0.6, 0.9))
    for agreement in (LEVEL, ORDER, BOTH):
        verdict = claim_verdict(topic, agreement)
        assert verdict.verdict == "inconclusive" and verdict.notes == (
            "the interval includes values for and against",
        )
        assert verdict.interval["low"] < verdict.interval["high"] and verdict.interval["confidence"] == 0.95


def test_a_deterministic_system_needs_one_run(topic):
    measured("rules", "all", values=0.72)
    measured("rules", "few", values=0.6)
    rules = {"experiment": "toy_claims/rules", "row": "all"}
    verdict = claim_verdict(topic, **rules)
    assert verdict.verdict == "reproduced" and verdict.deterministic and verdict.n == 1
    assert claim_verdict(topic, published="0.9", **rules).verdict == "contradicted"
    assert claim_verdict(topic, published="0.5", **rules).verdict == "exceeded"
    assert claim_verdict(topic, "{order: [all above few]}", "null", **rules).verdict == "reproduced"
    measured("rules", "all", values=0.8, seed=1)  # it is not, after all
    assert claim_verdict(topic, **rules).verdict == "inconclusive"


def test_a_bundled_model_is_one_run_however_many_seeds_measure_it(topic):
    measured("bert", "base", values=STEADY)
    verdict = claim_verdict(topic, experiment="toy_claims/bert", row="base")
    assert verdict.verdict == "inconclusive" and verdict.n == 1


def test_comparisons_of_one_table_are_corrected_and_a_part_of_it_reads_the_same(topic):
    measured(row="small", values=(0.70, 0.72, 0.71))
    measured(row="large", values=(0.73, 0.74, 0.745))
    (alone,) = (claim_verdict(topic, ORDER),)
    assert alone.verdict == "reproduced" and alone.adjusted < 0.05
    claim = """
          - id: toy_claims/{name}
            kind: ordering
            source: mehak2019
            where: {{table: {where}}}
            experiment: toy_claims/net
            metric: accuracy
            agreement: {{order: [large above small]}}
    """
    names = [(f"n{number}", "Table 1") for number in range(10)] + [("other", "Table 2")]
    topic("claims:" + "".join(claim.format(name=name, where=table_name) for name, table_name in names))
    by_id = {verdict.claim.id: verdict for verdict in verdicts()}
    assert by_id["toy_claims/n0"].verdict == "inconclusive"
    assert by_id["toy_claims/n0"].adjusted == pytest.approx(10 * alone.adjusted)
    assert by_id["toy_claims/other"].verdict == "reproduced"
    (part,) = table(ids=["toy_claims/n3"])
    assert (part["verdict"], part["p"]) == ("inconclusive", by_id["toy_claims/n0"].adjusted)


# Conditions


def test_printed_settings_are_compared_with_those_of_the_record(topic):
    measured(values=STEADY)
    same = claim_verdict(topic, settings="settings: [{set: {width: 1, depth: 3.0, steps: 100}}]")
    assert same.verdict == "reproduced" and same.conditions == ()
    other = claim_verdict(topic, settings="settings: [{set: {width: 20, lr: 0.1}, lines: '5'}]")
    assert other.verdict == "supported"
    assert [condition.to_json() for condition in other.conditions] == [
        {"what": "width", "source": "20", "ours": "1", "lines": "5"},
        {"what": "lr", "source": "0.1", "ours": None, "lines": "5"},
    ]
    assert [str(condition) for condition in other.conditions] == [
        "width: 1 here, 20 in the source",
        "lr: not recorded here, 0.1 in the source",
    ]
    for restriction in ("rows: [large]", "metrics: [loss]", "experiments: [toy_claims/bert]"):
        assert (
            claim_verdict(topic, settings=f"settings: [{{{restriction}, set: {{width: 20}}}}]").verdict
            == "reproduced"
        )
    noted = claim_verdict(topic, settings="settings: [{differs: other words}]")
    assert noted.verdict == "supported" and str(noted.conditions[0]) == "other words"


@pytest.mark.parametrize(("ends", "verdict"), [("planned", "supported"), ("early", "reproduced")])
def test_an_early_end_is_the_source_s_only_where_the_source_stops_so(topic, ends, verdict):
    measured(values=STEADY, steps=Steps(done=50, planned=100, stopped="early"))
    assert claim_verdict(topic, settings=f"ends: {ends}").verdict == verdict


def test_other_data_than_the_source_s_are_other_conditions(topic):
    measured(values=STEADY, data="found")
    assert claim_verdict(topic, extra="made_on: other").verdict == "supported"
    assert claim_verdict(topic, extra="made_on: found").verdict == "reproduced"
    measured(values=(0.5, 0.501, 0.502), data="other")
    assert claim_verdict(topic, extra="made_on: other").ours.mean == pytest.approx(0.501)
    assert claim_verdict(topic, extra="made_on: found").ours.mean == pytest.approx(0.7)


def test_the_test_set_counts_where_it_is_another_draw(topic):
    few = "examples: 100"
    for data in ("found", "drawn"):
        measured(values=STEADY, data=data)
    own, drawn = (claim_verdict(topic, settings=few, extra=f"data: {data}") for data in ("found", "drawn"))
    assert own.interval["high"] - own.interval["low"] < drawn.interval["high"] - drawn.interval["low"]
    assert drawn.verdict == "inconclusive"
    many = claim_verdict(topic, settings="examples: 1000000", extra="data: drawn")
    assert many.verdict == "reproduced"


def test_the_record_s_own_number_of_test_examples_comes_first(topic):
    measured(values=(0.7, 0.7, 0.7), data="drawn", scale="quick")
    table_s = claim_verdict(topic, settings="examples: 100", extra="data: drawn").interval
    measured(values=(0.7, 0.7, 0.7), data="drawn", details={"examples": {"accuracy": 1_000_000}})
    own = claim_verdict(topic, settings="examples: 100", extra="data: drawn").interval
    assert own["high"] - own["low"] < 0.8 * (table_s["high"] - table_s["low"])


def test_a_margin_in_the_records_counts_where_every_run_has_one(topic):
    widths = []
    for scale, margins in (("quick", {}), ("paper", {"accuracy": 0.2})):
        measured(values=(0.7, 0.71, 0.72), data="drawn", scale=scale, details={"margins": margins})
        interval = claim_verdict(topic, extra="data: drawn").interval
        widths.append(interval["high"] - interval["low"])
    assert widths[1] > widths[0] + 0.3


def test_kinds_of_data_are_those_declared_today(topic):
    from reasonlib.tracking.records import Data

    measured(values=STEADY, data="found", **{})
    changed = Data(name="made", kind="released")  # a record that calls a stand-in something better
    for seed, value in enumerate(STEADY):
        measured(values=value, seed=seed, data="made")
    assert claim_verdict(topic, extra="data: made").kind == "stand-in" and changed.kind == "released"


# Which records


def test_nothing_measured_is_not_run(topic):
    verdict = claim_verdict(topic)
    assert (verdict.verdict, verdict.ours, verdict.records, verdict.n) == ("not run", None, (), 0)
    assert verdict.notes == ("no run of toy_claims/net, row small",)


def test_half_of_what_is_asked_is_not_run_and_shown(topic):
    measured(row="small", values=STEADY)
    verdict = claim_verdict(topic, BOTH)
    assert verdict.verdict == "not run" and verdict.ours.mean == pytest.approx(0.7)
    assert verdict.notes == ("no run of toy_claims/net, row large",)
    order = {"text": "large above small", "relation": "above", "by": 0.0, "holds": None}
    assert verdict.to_json()["agreement"]["order"] == [order]


def test_a_metric_that_was_not_measured(topic):
    measured(values={"loss": 1.0})
    verdict = claim_verdict(topic)
    assert verdict.verdict == "not run"
    assert verdict.notes == ("no run of toy_claims/net, row small, measured accuracy",)


def test_like_is_compared_with_like(topic):
    measured(row="small", values=STEADY, scale="paper")
    measured(row="large", values=HIGHER, scale="quick")
    verdict = claim_verdict(topic, BOTH)
    assert verdict.verdict == "not run"
    assert verdict.notes == ("the rows it compares were never run at one scale on one data set",)
    measured(row="small", values=(0.3, 0.301, 0.302), scale="quick")
    verdict = claim_verdict(topic, BOTH)
    assert (verdict.verdict, verdict.scale, verdict.ours.n) == ("challenged", "quick", 3)


def test_an_illegible_number_alone_is_not_run_but_ours_is_shown(topic):
    measured(values=STEADY)
    verdict = claim_verdict(topic, published="null", extra="illegible: true")
    assert verdict.verdict == "not run" and verdict.ours.mean == pytest.approx(0.7)
    assert verdict.notes == ("nothing to compare with: the copy at hand does not show the number",)
    assert "no number was published" in claim_verdict(topic, published="null").notes[0]
    measured(row="large", values=HIGHER)
    assert claim_verdict(topic, BOTH, published="null").verdict == "reproduced"
    assert claim_verdict(topic, "{at_least: 0.9}", published="null").verdict == "contradicted"
    assert claim_verdict(topic, "{at_most: 0.9, at_least: 0.6}", published="null").verdict == "reproduced"


def test_what_is_only_published_is_not_run(topic):
    topic(
        """
        defaults: {source: mehak2019, experiment: toy_claims/net, metric: accuracy}
        claims:
          - {id: toy_claims/x, kind: published-only, where: {section: Results}, text: Big., published: 3}
        """
    )
    (verdict,) = verdicts()
    assert verdict.verdict == "not run" and verdict.claim.experiment is None
    assert "published only" in verdict.notes[0]


@pytest.mark.parametrize(
    ("order", "verdict"),
    [
        ("large above small", "reproduced"),
        ("small below large", "reproduced"),
        ("small above large", "contradicted"),
        ("large above small by 0.05", "reproduced"),
        ("large above small by 0.2", "inconclusive"),
        ("small near large by 0.2", "reproduced"),
        ("small near large by 0.02", "contradicted"),
        ("large not-below small by 0.02", "reproduced"),
        ("small not-below large by 0.2", "reproduced"),
        ("small not-below large by 0.1", "inconclusive"),
        ("small not-below large by 0.02", "contradicted"),
        ("toy_claims/rules:all above large above small", "reproduced"),
        ("toy_claims/rules:all above small above large", "contradicted"),
        ("'@one_fact above @three_facts'", "reproduced"),
        ("large@one_fact above small@three_facts", "reproduced"),
        ("'@three_facts above @one_fact'", "contradicted"),
    ],
)
def test_orderings(topic, order, verdict):
    for seed, shift in enumerate((0.0, 0.002, 0.001)):
        small = {"accuracy": 0.7 + shift, "one_fact": 0.9 - shift, "three_facts": 0.4 + shift}
        large = {"accuracy": 0.8 - shift, "one_fact": 0.95, "three_facts": 0.8 + shift}
        measured(row="small", values=small, seed=seed)
        measured(row="large", values=large, seed=seed)
    measured("rules", "all", values=0.9)
    assert claim_verdict(topic, f"{{order: [{order}]}} # value", published="null").verdict == verdict


def test_fresh_then_paper_then_the_source_s_data(topic):
    measured(values=0.1, code={"run": "0" * 16})
    stale = claim_verdict(topic)
    assert stale.stale == "code changed" and "stale: code changed" in stale.notes
    for scale, data, value in [("quick", "made", 0.2), ("quick", "found", 0.3), ("paper", "made", 0.4)]:
        measured(values=value, scale=scale, data=data)
        assert claim_verdict(topic).ours.mean == value
    measured(values=0.6, data="drawn")
    assert claim_verdict(topic).ours.mean == 0.6
    measured(values=0.7)
    verdict = claim_verdict(topic)
    assert (verdict.ours.mean, verdict.kind, verdict.stale) == (0.7, "released", None)


def test_a_claim_about_one_data_set(topic):
    measured(values=STEADY, data="found")
    assert claim_verdict(topic, extra="data: other").verdict == "not run"
    measured(values=(0.9, 0.901, 0.902), data="other", scale="quick")
    verdict = claim_verdict(topic, extra="data: other")
    assert (verdict.data, verdict.verdict, verdict.notes) == (
        "other",
        "challenged",
        ("better than published",),
    )


# As data

KEYS = "id topic source table row metric published ours scale data verdict records".split()
ADDED = "conditions interval n deterministic goal".split()


def test_the_table_has_the_agreed_keys(topic):
    measured(row="small", values=STEADY)
    claim_verdict(topic)
    (row,) = table("toy_claims")
    assert list(row)[:12] == KEYS and set(ADDED) < set(row)
    assert json.loads(json.dumps(row)) == row
    assert row["ours"] == {"mean": pytest.approx(0.7), "sd": pytest.approx(0.001), "n": 3}
    assert row["data"] == {"name": "found", "kind": "released"}
    assert row["agreement"]["within"] == 0.05 and row["agreement"]["level_holds"] is True
    assert row["sides"][0]["values"] == list(STEADY)
    assert (row["conditions"], row["n"], row["deterministic"], row["goal"]) == ([], 3, False, False)
    assert row["interval"] == {
        "of": "one more run",
        "low": pytest.approx(0.7 - 4.3027 * 0.001 * (4 / 3) ** 0.5, abs=1e-5),
        "high": pytest.approx(0.7 + 4.3027 * 0.001 * (4 / 3) ** 0.5, abs=1e-5),
        "confidence": 0.95,
        "asked": [pytest.approx(0.65), pytest.approx(0.75)],
    }


@pytest.mark.parametrize(
    ("order", "asked"),
    [
        ("large above small", [0.0, None]),
        ("large above small by 0.05", [0.05, None]),
        ("small near large by 0.2", [-0.2, 0.2]),
        ("small not-below large by 0.02", [-0.02, None]),
    ],
)
def test_an_interval_says_what_is_asked_of_it(topic, order, asked):
    measured(row="small", values=STEADY)
    measured(row="large", values=HIGHER)
    row = claim_verdict(topic, f"{{order: [{order}]}} # value", published="null").to_json()
    assert row["interval"]["asked"] == asked
    (said,) = row["agreement"]["order"]
    assert (said["relation"], said["by"]) == (order.split()[1], max(map(abs, filter(None, asked)), default=0))


def test_a_table_is_part_of_a_source_or_an_experiment(topic):
    topic(
        """
        tables: {Table 1: {tolerance: {accuracy: 0.05}, tolerance_reason: why}}
        defaults: {source: mehak2019, experiment: toy_claims/net, metric: accuracy, where: {table: Table 1}}
        claims:
          - {id: toy_claims/small, kind: value, row: small, published: 0.7}
          - {id: toy_claims/large, kind: value, row: large, published: 0.7}
          - id: toy_claims/far
            kind: published-only
            where: {section: Results}  # and not the table of the defaults
            published: 1
        """
    )
    assert len(table()) == len(table("toy_claims")) == 3
    assert len(table("toy_claims/net")) == len(table(table="Table 1")) == 2
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


def test_numbers_are_written_by_their_unit():
    assert claims.number(0.12345) == "0.123" and claims.number(7.46, "%") == "7.5"
    assert claims.number(None) == "–"
