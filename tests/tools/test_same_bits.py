"""The check that rewritten code gives the same bits, on trees that answer from a table."""

import pytest
import same_bits
import trees

SETTINGS = {
    "small": {"model": "n2n", "width": 2, "pre": [{"rule": "a"}]},
    "large": {"model": "n2n", "width": 9, "pre": []},
    "gated": {"model": "gn2n", "width": 2, "pre": []},
}


def pair(**changes):
    values = {
        "name": "lab/walk",
        "old_name": "lab/walk",
        "before": "1" * 16,
        "after": "2" * 16,
        "own": None,
        "rows": {row: row for row in SETTINGS},
        "settings": SETTINGS,
        "changed": set(),
        "data": {"made": "made", "found": "found"},
    }
    return same_bits.Pair(**{**values, **changes})


class Table:
    """A tree whose trials give what a function says, each call counted."""

    def __init__(self, measure):
        self.measure = measure
        self.name = "abc"
        self.asked = []

    def ask(self, **question):
        self.asked.append(question)
        return self.measure(len(self.asked), **question)

    def beside_code(self, topic):
        return topic


def table(**metrics):
    return Table(lambda call, **question: {"metrics": {"score": question["seed"] / 3, **metrics}})


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    monkeypatch.setattr(same_bits, "KEPT", tmp_path)


class Hashes:
    """The code of a tree, its hash known."""

    def __init__(self, value):
        self.value = value

    def hash(self, run):
        return self.value


def tree(name, **rows):
    experiment = {"run": "run", "fingerprint": None, "rows": rows, "data": {"made": "stand-in"}}
    return trees.Tree(trees.ROOT, "abc", {name: experiment})


def test_the_experiments_of_two_trees_are_paired():
    before = tree("lab/walk", small={"width": 2}, gone={"width": 5})
    after = tree("lab/walk", small={"width": 3}, new={"width": 5})
    (paired,) = same_bits.pairs(before, after, (Hashes("1" * 64), Hashes("2" * 64)), [])
    assert (paired.before, paired.after) == ("1" * 16, "2" * 16)
    assert paired.rows == {"small": "small"}
    assert paired.settings["small"] == {"width": 2}
    assert paired.changed == {"small"}
    assert paired.data == {"made": "made"}


def test_rows_are_chosen_so_that_every_word_is_tried():
    assert same_bits.chosen(pair(), all_rows=False) == [
        ("small", "made"),
        ("gated", "made"),
        ("small", "found"),
    ]
    assert len(same_bits.chosen(pair(), all_rows=True)) == 6
    assert same_bits.chosen(pair(rows={}), all_rows=False) == []


def test_equal_metrics_are_evidence():
    finding = same_bits.compare(pair(), table(), table(loss=1.0), all_rows=False)
    assert not finding.different and finding.compared == {"score"} and len(finding.trials) == 6
    said = same_bits.evidence(pair(), finding, table())
    assert "1 metrics equal bit for bit at abc" in said and "metrics measured since: loss" in said


def test_the_last_bit_counts_and_times_do_not():
    before, after = table(value=0.1 + 0.2, per_second=1.0), table(value=0.3, per_second=2.0)
    finding = same_bits.compare(pair(), before, after, all_rows=False)
    assert finding.times == {"per_second"} and "score" in finding.compared
    assert finding.different[0] == "small on made, seed 0: value was 0.30000000000000004, is 0.3"


def test_a_number_that_does_not_repeat_is_not_compared():
    def measure(call, **question):
        return {"metrics": {"score": 1.0, "rate": float(call)}}

    finding = same_bits.compare(pair(), table(score=1.0, rate=0.5), Table(measure), all_rows=False)
    assert not finding.different and finding.unsteady == {"rate"} and finding.compared == {"score"}


def test_what_was_run_is_not_run_again():
    before, after = table(), table()
    for _ in range(2):
        same_bits.compare(pair(), before, after, all_rows=False)
    assert len(before.asked) == len(after.asked) == 6


def test_a_row_with_other_settings_is_run_with_those_it_had():
    after = table()
    same_bits.compare(pair(changed={"small"}), table(), after, all_rows=False)
    assert [asked.get("settings") for asked in after.asked] == [SETTINGS["small"]] * 2 + [None] * 2 + [
        SETTINGS["small"]
    ] * 2


def test_rows_that_were_meant_to_change_are_not_compared():
    finding = same_bits.compare(pair(), table(), table(), all_rows=False, but=["small"])
    assert {trial.partition(" ")[0] for trial in finding.trials} == {"large", "gated"}


def test_data_that_are_not_here_are_named_and_errors_are_differences():
    def measure(call, **question):
        if question["data"] == "found":
            return {"error": "DataError: fetch it"}
        return {"metrics": {"score": question["seed"] / 3}}

    finding = same_bits.compare(pair(), Table(measure), Table(measure), all_rows=False)
    assert not finding.different and finding.absent == {"found": "DataError: fetch it"}
    broken = Table(lambda call, **question: {"error": "TypeError: no"})
    finding = same_bits.compare(pair(data={"made": "made"}, after="3" * 16), table(), broken, all_rows=False)
    assert finding.different[0] == "small on made, seed 0: None | TypeError: no"


@pytest.mark.parametrize("error", ["UserError: no weights", "OSError: no connection"])
def test_a_row_that_neither_tree_can_run_here_is_left_out_of_the_evidence(error):
    def measure(call, **question):
        if question["row"] == "small":
            return {"error": error}
        return {"metrics": {"score": question["seed"] / 3}}

    finding = same_bits.compare(pair(), Table(measure), Table(measure), all_rows=True)
    assert not finding.different and finding.compared == {"score"}
    assert finding.trials and not any(trial.startswith("small ") for trial in finding.trials)
    now = same_bits.compare(pair(after="4" * 16), table(), Table(measure), all_rows=True)
    assert now.different[0] == f"small on made, seed 0: None | {error}"


def test_a_tree_that_cannot_be_had_says_so():
    with pytest.raises(trees.SameBitsError, match="git rev-parse"):
        trees.tree_at("no-such-commit")
