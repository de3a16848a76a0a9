"""Tables made from records: laid out as their source, and in words a reader knows."""

import pytest

from reasonlib.display import findings
from reasonlib.tracking import claims, records
from reasonlib.visual_iq.data import simulator_fit
from reasonlib.visual_iq.data.example import CONFIGURATIONS
from reasonlib.visual_iq.experiments import EXPERIMENTS
from reasonlib.visual_iq.page import charts, generator_tables, labels, tables
from reasonlib.visual_iq.page.labels import METRICS

TITLES = [layout.title for layout in CONFIGURATIONS]


def test_table_3_2_has_published_and_ours_of_every_method():
    table = tables.table_3_2()
    assert list(table.columns) == ["overall", *TITLES]
    assert table.loc[("CoPINet", "published"), "overall"] == "91.42"
    assert table.loc[("Proposed Model", "published"), "2x2Grid"] == "–"  # illegible
    methods = table.index.get_level_values(0)
    for method in dict.fromkeys(methods):
        kinds = [kind for name, kind in table.index if name == method]
        assert kinds[0] == "published" and len(kinds) == (1 if method == "Human" else 2), method
        assert all(kind.startswith("ours, ") for kind in kinds[1:])


def test_models_on_pictures_stand_beside_what_was_published_of_them(monkeypatch):
    table = tables.pixel_models()
    line = table.loc["CoPINet"]
    assert (line["RAVEN, published"], line["I-RAVEN, published"]) == ("91.4", "46.1")
    for name in ("RAVEN", "I-RAVEN", "RAVEN-FAIR"):
        shares = [float(share) for share in table[f"{name}, ours"] if share != "–"]
        assert all(0 < share < 100 for share in shares)
    monkeypatch.setattr(tables.records, "best", lambda *_, **__: None)
    with pytest.raises(ValueError, match="reasonlib run"):
        tables.pixel_models()


def test_budgets_say_what_stands_behind_each_line_of_table_3_2():
    behind = tables.training_budgets()
    methods = [name for name in tables.table_3_2().index.unique(0) if name != "Human"]
    assert list(behind.index) == [*methods, "CoPINet's authors", "the source"]
    assert list(behind.loc["the source"]) == ["published", "400", "42,000", "tables", "–"]
    assert behind.loc["Proposed Model", "parameters"] == "115,937"
    line, group = behind.loc["CoPINet"], records.best("visual_iq/pixels", "copinet", data="raven")
    assert line["sees"].endswith("px")
    assert line["scale, runs"] == f"{group.scale}, {len(group.records)}"
    assert line["passes"] == str(group.records[-1].config["epochs"])


def test_what_is_missed_leaves_out_what_was_not_measured():
    measured = ("majority vote", "visual_iq/shortcut:vote")
    drawn = str(charts.errors_by_layout([measured, ("never run", "visual_iq/longer:no-such-row")]))
    assert "majority vote: 2.53 % of all" in drawn and "never run" not in drawn
    with pytest.raises(ValueError, match="reasonlib run"):
        charts.errors_by_layout([("never run", "visual_iq/longer:no-such-row")])


def test_longer_runs_appear_once_they_are_measured(monkeypatch):
    best = records.best

    def fake_best(experiment, row, **options):
        return best(experiment, "full" if experiment == "visual_iq/longer" else row, **options)

    monkeypatch.setattr(tables.records, "best", fake_best)
    assert "cross-entropy, 50 passes" in str(charts.errors_by_layout())


def test_models_are_told_apart_by_candidates_they_were_not_trained_on():
    assert "(paper scale, regenerated, " in charts.accuracy_by_answer_set().html, "the legend names the sets"
    shown = str(charts.accuracy_on_other_sets())
    for model in ("the reasoner, 50 passes", "row predictor, 25 passes"):
        assert f"{model}: RAVEN " in shown
    with pytest.raises(ValueError, match="reasonlib run"):
        charts.accuracy_on_other_sets([("never run", "visual_iq/longer:no-such-row")])


def test_angles_stand_in_order_with_the_published_one_among_them():
    table = tables.angle_accuracy()
    shares = [float(share) for share in table["angles named, %"]]
    assert shares == sorted(shares) and len(shares) == 5
    assert table.loc["the source's detector", "angles named, %"] == "85.20"


def test_table_3_3_names_the_parts_as_the_source_does():
    table = tables.table_3_3()
    assert list(table.index) == ["CNN", *["detector"] * 4]
    assert list(table["published"]) == ["85.86", "86.19", "87.19", "97.10", "99.62"]
    assert all(run.endswith(" passes") for run in table["our runs"])
    for claim in claims.load("visual_iq"):
        if claim.id in labels.ABLATIONS:
            without = {"neither": "no no", "no-entity": "no yes", "no-panel": "yes no"}
            assert " ".join(labels.ABLATIONS[claim.id][1:]) == without.get(claim.row, "yes yes")


def test_steps_compare_what_was_measured_at_one_scale():
    table = tables.relational_ablation()
    assert [name.partition(":")[0] for name in table.columns] == ["quick", "paper"]
    assert list(table.index) == [*labels.RELATIONAL_STEPS, "none: the reasoner"]
    assert not (table.loc[list(labels.RELATIONAL_STEPS)] == "–").any(axis=None)


def test_steps_of_nothing(monkeypatch):
    monkeypatch.setattr(tables.records, "best", lambda *names, **options: None)
    with pytest.raises(ValueError, match="reasonlib run visual_iq/relational"):
        tables.relational_ablation()


def test_people_and_problems_with_two_answers():
    assert list(tables.human_accuracy().columns) == ["overall", *TITLES]
    assert tables.human_accuracy().loc["people", "overall"] == "84.41"
    assert list(generator_tables.ambiguous_problems().columns) == [*TITLES, "ideal solver"]
    assert list(generator_tables.ambiguous_problems().index) == ["RAVEN", "I-RAVEN", "RAVEN-FAIR"]


def test_who_only_counts_finds_most_where_changes_are_motley():
    table = generator_tables.naive_bayes_accuracy(60)
    assert list(table.columns) == ["all", *TITLES, "mixed colours, right", "mixed colours, wrong"]
    share = table.astype(float)
    assert (
        share.loc["RAVEN-FAIR", "mixed colours, wrong"] > 2 * share.loc["RAVEN-FAIR", "mixed colours, right"]
    )
    assert share.loc["RAVEN-FAIR", "3x3Grid"] > share.loc["I-RAVEN", "3x3Grid"]


def test_works_have_names():
    sources = {claim.source for claim in claims.load("visual_iq") if claim.locator == "I-RAVEN"}
    assert sources == set(labels.SOURCES)
    solved = [float(share) for share in tables.i_raven_table()["solved, %"]]
    assert len(solved) > len(sources) and solved == sorted(solved)


def test_words_know_how_many_passes_there_were():
    for name, word in (("visual_iq/reasoner", "reasoner@accuracy"), ("visual_iq/longer", "longer@accuracy")):
        assert METRICS[word] == f"share solved, {EXPERIMENTS[name].scales['paper']['epochs']} passes"


def test_the_text_knows_how_many_public_problems_were_counted():
    counted = {
        answers: set(each.values()) for answers, each in simulator_fit.public_marginals()["problems"].items()
    }
    assert counted == {"raven": {500}, "i-raven": {500}, "raven-fair": {110}}  # book/visual_iq/puzzles.md


def test_comparisons_are_told_in_words():
    shown = findings.show("visual_iq", section="3.3.5: ablation")
    assert "without its entity encoder" in str(shown)
