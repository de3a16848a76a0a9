"""Every experiment runs at smoke; costs; a killed run resumes."""

from dataclasses import replace

import pytest
import torch

from reasonlib.maths_qa.data.encoding import Encoded
from reasonlib.maths_qa.data.example import Problem
from reasonlib.maths_qa.data.modules import EXTRAPOLATION, MODULES
from reasonlib.maths_qa.data.probes import FAMILIES
from reasonlib.maths_qa.data.vocabulary import SIZE
from reasonlib.maths_qa.experiments import EXPERIMENTS
from reasonlib.maths_qa.experiments.cost import fine_tuning_cost, masking_cost, place_cost, relative_cost
from reasonlib.maths_qa.experiments.pretraining import _read_curve
from reasonlib.maths_qa.experiments.train import Recipe, fill_accuracy, known_words, recipe_of
from reasonlib.maths_qa.models.qa_mlm import MaskedModel
from reasonlib.maths_qa.models.transformer import Solver, SolverConfig
from reasonlib.tracking import runner
from reasonlib.tracking.experiment import settings
from reasonlib.training import parameter_count


def test_pretraining_at_smoke():
    rows = ["scratch", "encoder", "both-non-numeric", "scratch-sinusoidal"]
    records = runner.run(EXPERIMENTS["maths_qa/pretraining"], scale="smoke", rows=rows)
    for record in records:
        assert record.steps.stopped == "finished"
        assert {"accuracy", "accuracy.equal_compute", "extrapolation", "relative_cost"} <= set(record.metrics)
        assert ("mlm.number" in record.metrics) == (not record.row.startswith("scratch"))
    scratch, encoder = records[:2]
    assert [name for row in scratch.details["curve"] for name in row if name == "extrapolation"] == [
        "extrapolation"
    ]
    assert scratch.steps.done == encoder.steps.done == 8  # twice 4 of fine-tuning; 4 of each stage
    assert 0.5 < scratch.metrics["relative_cost"] < 1
    equal = 4 + round(4 * scratch.metrics["relative_cost"])
    for metric, step in (
        ("early", 1),
        ("accuracy", 4),
        ("accuracy.equal_compute", equal),
        ("accuracy.double", 8),
    ):
        assert scratch.metrics[metric] == scratch.details["curve"][step - 1]["accuracy"]
    assert encoder.metrics["accuracy.equal_compute"] == encoder.metrics["accuracy"]


def test_the_curve_is_read_at_the_steps_that_the_tables_name():
    recipe = Recipe(pre_steps=4, steps=4, every=1)
    rows = [{"step": step, "accuracy": step / 10, "accuracy.a__b": 0.3 * step} for step in range(1, 9)]
    metrics = _read_curve(rows, recipe, equal=7, modules=["a__b"])
    assert metrics == {
        "early": 0.1, "early.a__b": 0.3, "accuracy": 0.4, "accuracy.a__b": 1.2, "modules_above_90": 1,
        "accuracy.equal_compute": 0.7, "accuracy.double": 0.8,
    }  # fmt: skip


def test_holes_are_filled_on_the_device_of_the_model(monkeypatch):
    model, devices = MaskedModel(SolverConfig(width=8, layers=1, heads=2, hidden=8)), []

    def forward(joined):
        devices.extend(part.device.type for part in joined)
        return torch.zeros(*joined.tokens.shape, SIZE)

    monkeypatch.setattr(model, "forward", forward)
    model.output.to("meta")
    problem = Problem(question="What is 2 + 2?", answer="4", module="m__m", difficulty="easy")
    fill_accuracy(model, Encoded.of([problem] * 20))
    assert devices == ["meta"] * 4


def test_rows_that_differ_in_fine_tuning_share_their_pretraining(tmp_path):
    name = EXPERIMENTS["maths_qa/pretraining"]
    alone = runner.run(name, scale="smoke", rows="both", seeds=3)[0]
    runner.run(name, scale="smoke", rows="encoder", seeds=3, checkpoints=tmp_path)
    trained = sorted(folder.name for folder in (tmp_path / "maths_qa" / "_shared").iterdir())
    shared = runner.run(name, scale="smoke", rows="both", seeds=3, checkpoints=tmp_path)[0]
    assert shared.metrics == alone.metrics and shared.steps == alone.steps
    assert sorted(folder.name for folder in (tmp_path / "maths_qa" / "_shared").iterdir()) == trained
    runner.run(name, scale="smoke", rows="both-numeric", seeds=3, checkpoints=tmp_path)
    assert len(list((tmp_path / "maths_qa" / "_shared").iterdir())) == len(trained) + 1 == 2


def test_a_trial_resumes(tmp_path):
    name = EXPERIMENTS["maths_qa/pretraining"]
    whole = runner.run(name, scale="smoke", rows="both")[0]
    cut = runner.run(name, scale="smoke", rows="both", minutes=1e-6, checkpoints=tmp_path)[0]
    assert cut.steps.stopped == "minutes"
    resumed = runner.run(name, scale="smoke", rows="both", checkpoints=tmp_path)[0]
    assert resumed.steps.stopped == "finished"
    assert resumed.metrics == whole.metrics


def test_a_place_that_training_never_names_is_no_known_word():
    def asked(*places):
        fixed = {"answer": "9", "module": "m__m", "difficulty": "easy"}
        texts = [f"What is the {digit_place} digit of 5296?" for digit_place in places]
        return Encoded.of([Problem(question=text, **fixed) for text in texts])

    train, harder = asked("tens", "ten thousands"), asked("thousands", "ten millions", "tens")
    assert known_words(train, harder).tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("field", "value", "match"),
    [("start", "none", "start must be"), ("which", "none", "which must be"), ("steps", 0, "steps must be")],
)
def test_bad_recipes(field, value, match):
    with pytest.raises(ValueError, match=match):
        Recipe(**{field: value})


def test_settings_become_recipe_and_sizes():
    recipe, config = recipe_of({"start": "encoder", "width": 64, "heads": 4, "modules": ["a"]})
    assert recipe.start == "encoder" and config.width == 64 and recipe.lr == 1e-4


def test_costs_agree_with_the_profiler():
    """PyTorch's own count of the multiplications of one forward pass."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    config = SolverConfig(width=32, layers=2, heads=4, hidden=64, norm="pre")
    solver, filler = Solver(config), MaskedModel(config)
    question, answer = 40, 6
    counts = []
    from reasonlib.maths_qa.data.encoding import Batch, join

    batch = Batch(
        torch.full((1, question), 5), torch.full((1, answer), 5), torch.full((1, answer), 5), torch.zeros(1)
    )
    for call in (lambda: solver(batch), lambda: filler(join(batch))):
        # the counter knows the products of this kernel alone
        with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
            call()
        counts.append(counter.get_total_flops() / 2)
    assert abs(counts[0] / fine_tuning_cost(config, question, answer) - 1) < 0.01
    assert abs(counts[1] / masking_cost(config, question, answer, share=1.0) - 1) < 0.01
    assert 0.5 < relative_cost(SolverConfig(), 160, 30) < 1


def test_place_values_cost_next_to_nothing():
    """One addition of a vector for each token that has an embedding of a place."""
    config = recipe_of(settings(EXPERIMENTS["maths_qa/structure"], "place-value", "quick"))[1]
    question, answer = 36, 2
    both_stages = masking_cost(config, question, answer) + fine_tuning_cost(config, question, answer)
    tokens = (question + answer + 1) + question
    assert place_cost(config, question, answer) == pytest.approx(tokens * config.width / both_stages)
    assert round(100 * place_cost(config, question, answer), 2) == 0.07  # as limits.md says
    extra = parameter_count(Solver(config)) - parameter_count(Solver(replace(config, place_values=False)))
    assert extra == 1024


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name != "maths_qa/pretraining"])
def test_every_other_experiment_runs_at_smoke(name):
    for record in runner.run(EXPERIMENTS[name], scale="smoke"):
        assert record.steps.stopped == "finished" and record.metrics
        if name not in ("maths_qa/compute", "maths_qa/bundle", "maths_qa/probes"):
            assert 0 <= record.metrics["accuracy"] <= 1
        if name == "maths_qa/all_modules":
            assert {f"accuracy.{module}" for module in MODULES} <= set(record.metrics)
            assert {f"extrapolation.{module}" for module in EXTRAPOLATION} <= set(record.metrics)
        if name == "maths_qa/probes":
            probes = FAMILIES[record.config["family"]].probes
            assert set(record.metrics) == {"valid", *probes}
            assert record.details["examples"] == dict.fromkeys(("valid", *probes), 4)
            assert record.details["curve"][-1]["accuracy"] == record.metrics["valid"]
