"""The tables: every row runs, every claim has its row and metric, a run goes on where it was stopped."""

import json

import pytest

from reasonlib.goal_dialogue.experiments import EXPERIMENTS
from reasonlib.goal_dialogue.experiments.memory_networks import run_networks
from reasonlib.goal_dialogue.experiments.tasks import TaskResult, run_tasks
from reasonlib.tracking import claims, runner
from reasonlib.tracking.experiment import Measured, Trial

TABLES = {name.partition("/")[2]: experiment for name, experiment in EXPERIMENTS.items()}


@pytest.mark.parametrize(
    ("word", "rows"),
    [
        ("networks", ("un2n-match",)),
        ("baselines", ("rules", "tf-idf-typed", "nearest")),
        ("tuning", ("hinge",)),
        ("key-tag-variants", ("multiply",)),
        ("swapped", ("ktn2n-swapped",)),
        ("paragraphs", ("dbow-external",)),
        ("word2vec", ("word2vec",)),
        ("copying", ("copying", "restarts")),
    ],
)
def test_rows_run_and_measure_both_sets(word, rows):
    table = TABLES[word]
    for record in runner.run(table, rows=rows, scale="smoke", data="simulated", device="cpu"):
        (task,) = table.scales["smoke"]["tasks"]
        names = {f"task{task}", f"oov{task}", "average", "oov"}
        names |= {f"dialogue.{name}" for name in names}
        assert names <= record.metrics.keys()
        assert all(0 <= record.metrics[name] <= 1 for name in names)


def test_every_claim_names_a_row_and_every_row_settings_of_its_own():
    for claim in claims.load("goal_dialogue"):
        sides = [side for order in claim.agreement.order for pair in order.pairs for side in pair]
        for name, row in [(claim.experiment, claim.row), *((side.experiment, side.row) for side in sides)]:
            if row is not None:
                assert row in EXPERIMENTS[name].rows, (claim.id, name, row)
    for table in EXPERIMENTS.values():
        settings = [json.dumps(row, sort_keys=True) for row in table.rows.values()]
        assert len(set(settings)) == len(settings), table.name


def trial(**changes):
    defaults = {
        "experiment": "goal_dialogue/networks",
        "row": "n2n",
        "scale": "smoke",
        "seed": 0,
        "data": "simulated",
        "kind": "simulated",
        "settings": {"network": "n2n", "tasks": [1, 4, 6], "dialogues": 4, "epochs": 2, "only4": {"hops": 1}},
    }
    return Trial(**(defaults | changes))


def test_each_task_has_its_settings_and_the_means_leave_task_6_out():
    seen = []

    def run(job):
        seen.append((job.task, job.settings.get("hops")))
        scores = {"per_response": job.task / 10, "per_dialogue": 0.0}
        return TaskResult(scores={"test": scores})

    measured = run_tasks(trial(), run)
    assert seen == [(1, None), (4, 1)]  # no task 6 among simulated dialogues
    assert isinstance(measured, Measured) and measured.metrics["average"] == pytest.approx(0.25)
    assert "oov" not in measured.metrics and measured.metrics["task4"] == 0.4


def test_a_spent_budget_says_so_and_a_run_goes_on_where_it_stopped(tmp_path):
    spent = run_networks(trial(minutes=0.0, folder=tmp_path / "a"))
    assert spent.stopped == "minutes" and spent.metrics == {}
    whole = run_networks(trial(folder=tmp_path / "b"))
    resumed = run_networks(trial(folder=tmp_path / "b"))
    plain = run_networks(trial())
    same = {name for name in whole.metrics if name != "turns_per_second"}
    assert {name: resumed.metrics[name] for name in same} == {name: plain.metrics[name] for name in same}
    assert resumed.steps_done == plain.steps_done


def test_the_same_trial_gives_the_same_numbers_and_another_seed_others():
    settings = {"network": "un2n", "match": True, "tasks": [1], "dialogues": 6, "epochs": 2}
    first, second, other = (
        run_networks(trial(settings=settings, seed=seed)).details["curves"] for seed in (0, 0, 1)
    )
    assert first == second and first != other
