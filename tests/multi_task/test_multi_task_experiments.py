"""Training: resumption, fine-tuning, adaptation, gradient conflict, and every row at smoke."""

import pytest
import torch

from reasonlib.multi_task.data.datasets import load_simulated
from reasonlib.multi_task.data.encoding import encode
from reasonlib.multi_task.data.sampling import plan
from reasonlib.multi_task.experiments import EXPERIMENTS, JOINT, SIZE, SIZE_EQUAL_STEPS
from reasonlib.multi_task.experiments.adaptation import adapted
from reasonlib.multi_task.experiments.conflict import Step, Watched, conflict_loss, cosines, project
from reasonlib.multi_task.experiments.train import MixedBatches, Recipe, build, evaluate, train
from reasonlib.multi_task.models.multi_task import task_loss
from reasonlib.tracking.runner import run
from reasonlib.training.word_pieces import word_pieces

SMOKE = Recipe(lr=2e-3, epochs=1, batch=8, longest=64)


def splits(*tasks, train=16):
    return [load_simulated(task, train=train, valid=6, test=6) for task in tasks]


def weights(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def test_every_example_comes_once_an_epoch_in_the_proportional_rule():
    parts = splits("sentiment", "paraphrase", train=20)
    _, tokenizer = build(SMOKE, [part.task for part in parts], seed=0)
    encoded = [encode(parts[0].train, tokenizer), encode(parts[1].train[:6], tokenizer)]
    mixed = MixedBatches(["sentiment", "paraphrase"], encoded, size=4, seed=1)
    for epoch in range(2):
        batches = list(mixed.epoch(epoch))
        assert len(batches) == len(mixed) == 7
        counts = {
            name: sum(len(b.labels) for b in batches if b.task == name)
            for name in ("sentiment", "paraphrase")
        }
        assert counts == {"sentiment": 20, "paraphrase": 6}
    even = MixedBatches(["sentiment", "paraphrase"], encoded, size=4, rule="uniform", seed=1)
    tasks = [batch.task for batch in even.epoch(0)]
    assert len(tasks) == 7 and tasks.count("paraphrase") in (3, 4)


def test_training_repeats_to_the_bit_and_leaves_its_start_alone():
    parts = splits("inference", "answers")
    first, second = train(SMOKE, parts, seed=3), train(SMOKE, parts, seed=3)
    assert torch.equal(weights(first.model), weights(second.model))
    before = weights(first.model).clone()
    tuned = train(SMOKE, parts[:1], seed=3, start=first)
    assert torch.equal(weights(first.model), before) and not torch.equal(weights(tuned.model), before)
    scores = evaluate(tuned.model, tuned.tokenizer, parts[0].task, parts[0].test)
    assert set(scores) == {"accuracy"}


def test_a_killed_run_goes_on_to_the_same_bits(tmp_path):
    parts = splits("sentiment", "similarity")
    recipe = Recipe(lr=2e-3, epochs=2, batch=8, longest=64)
    whole = train(recipe, parts, seed=1)
    train(recipe, parts, seed=1, checkpoint=tmp_path, minutes=0.0)
    again = train(recipe, parts, seed=1, checkpoint=tmp_path)
    assert again.history.resumed_from == 1
    assert torch.equal(weights(whole.model), weights(again.model))


def test_a_small_set_is_repeated():
    (part,) = splits("paraphrase")
    assert (
        train(Recipe(lr=1e-3, epochs=1, batch=8, least_steps=5, longest=64), [part]).history.steps_done == 6
    )


def test_adaptation_takes_the_encoder_and_may_take_a_head():
    together = train(SMOKE, splits("inference"), seed=0)
    (part,) = splits("captions")
    fresh = adapted(together, part, SMOKE, seed=5, head=None).model
    kept = adapted(together, part, SMOKE, seed=5, head="inference").model
    old = together.model.heads["inference"].classify.weight
    assert torch.equal(kept.heads["captions"].classify.weight, old)
    assert not torch.equal(fresh.heads["captions"].classify.weight, old)
    for a, b in zip(fresh.encoder.parameters(), together.model.encoder.parameters(), strict=True):
        assert torch.equal(a, b) and a is not b


# Gradient conflict


def test_projection_removes_conflict_and_nothing_else():
    along = torch.tensor([[1.0, 1.0], [0.5, 2.0]])
    assert torch.equal(project(along), along)
    against = torch.tensor([[1.0, 0.0, 2.0], [-1.0, 1.0, 0.0]])
    projected = project(against)
    for task in range(2):
        assert float(projected[task] @ against[1 - task]) == pytest.approx(0, abs=1e-6)
    assert float(cosines(against)[0, 1]) == pytest.approx(-1 / (5**0.5 * 2**0.5))


@pytest.mark.parametrize("cure", [False, True])
def test_the_conflict_loss_has_the_gradient_that_it_says(cure):
    parts = splits("sentiment", "paraphrase", "similarity")
    model, tokenizer = build(Recipe(dropout=0.0, answer_dropout=0.0), [part.task for part in parts], seed=0)
    model.eval()
    mixed = [MixedBatches([p.task.name], [encode(p.train, tokenizer)], size=8, seed=0) for p in parts]
    step = Step(tuple(next(sampler.epoch(0)) for sampler in mixed))
    shared = list(model.encoder.parameters())
    rows = []
    for batch in step.batches:
        grads = torch.autograd.grad(task_loss(model, batch), shared, allow_unused=True)
        rows.append(
            torch.cat(
                [
                    (torch.zeros_like(p) if g is None else g).flatten()
                    for p, g in zip(shared, grads, strict=True)
                ]
            )
        )
    gradients = torch.stack(rows)
    torch.manual_seed(4)
    loss, cosine = conflict_loss(model, step, cure=cure)
    torch.manual_seed(4)
    wanted = project(gradients, orders=[torch.randperm(3).tolist() for _ in range(3)]) if cure else gradients
    made = torch.autograd.grad(loss, shared, allow_unused=True)
    flat = torch.cat(
        [(torch.zeros_like(p) if g is None else g).flatten() for p, g in zip(shared, made, strict=True)]
    )
    torch.testing.assert_close(flat, wanted.mean(0), atol=1e-5, rtol=1e-3)
    torch.testing.assert_close(cosine, cosines(gradients), atol=1e-5, rtol=1e-3)
    values = [task_loss(model, batch).item() for batch in step.batches]
    assert loss.item() == pytest.approx(sum(values) / 3, rel=1e-5)


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("multi_task/conflict", "pcgrad"),
        ("multi_task/real", "own-mt-dnn-no-fine-tuning"),
        ("multi_task/glue", "mt-dnn"),
    ],
)
def test_a_trial_out_of_time_goes_on_to_the_same_numbers(name, row, tmp_path):
    options = {"rows": row, "scale": "smoke", "data": "simulated", "device": "cpu"}
    (whole,) = run(EXPERIMENTS[name], **options)
    (first,) = run(EXPERIMENTS[name], minutes=1e-4, checkpoints=tmp_path, **options)
    assert 0 < first.steps.done < first.steps.planned
    (second,) = run(EXPERIMENTS[name], checkpoints=tmp_path, **options)
    assert second.steps == whole.steps and second.metrics == whole.metrics
    assert second.details.get("cosines") == whole.details.get("cosines")


def test_pieces_of_words_are_the_same_in_every_run():
    texts = [text for part in splits("inference", "sentiment") for e in part.train for text in e.texts[0]]
    texts = [text for text in texts if text]
    tokenizers = [word_pieces(texts, 120) for _ in range(4)]
    assert all(tokenizer.get_vocab() == tokenizers[0].get_vocab() for tokenizer in tokenizers)
    pieces = tokenizers[0].tokenize(texts[0])
    assert pieces[0].startswith("▁") and "".join(pieces).replace("▁", "") == texts[0].replace(" ", "")


def test_a_target_takes_as_many_steps_alone_as_beside_its_helper():
    for row, settings in SIZE_EQUAL_STEPS.rows.items():
        scale = SIZE_EQUAL_STEPS.scales["quick"]
        target, helper = (-(-count // settings["batch"]) for count in (settings["few"], settings["many"]))
        alone = -(-settings["least_steps"] // (scale["epochs"] * target)) * scale["epochs"] * target
        beside = plan([target, helper], rule="uniform").count(0) * scale["epochs"]
        assert alone == beside == settings["least_steps"], row
        assert 2 * settings["least_steps"] <= scale["epochs"] * (target + helper)  # not repeated


@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_a_released_target_takes_about_as_many_steps_alone_as_beside_another(scale):
    settings = EXPERIMENTS["multi_task/real-transfer"].scales[scale]
    target, helper = (-(-settings[name] // settings["batch"]) for name in ("few", "many"))
    beside = plan([target, helper], rule="uniform").count(0) * settings["epochs"]
    alone = -(-settings["least_steps"] // (settings["epochs"] * target)) * settings["epochs"] * target
    assert beside == settings["least_steps"] and beside <= alone <= 1.02 * beside
    assert 2 * settings["least_steps"] <= settings["epochs"] * (target + helper)  # not repeated


def test_rows_that_begin_alike_share_the_beginning(tmp_path):
    options = {"scale": "smoke", "data": "simulated", "device": "cpu"}
    run(EXPERIMENTS["multi_task/real"], rows="own-mt-dnn", checkpoints=tmp_path, **options)
    stages = sorted(folder.name for folder in (tmp_path / "multi_task" / "_shared").iterdir())
    assert [name.partition("-")[0] for name in stages] == ["encoder", "joint"]
    adaptation = EXPERIMENTS["multi_task/real-adaptation"]
    (shared,) = run(adaptation, rows="own-mt-dnn", checkpoints=tmp_path, **options)
    assert sorted(folder.name for folder in (tmp_path / "multi_task" / "_shared").iterdir()) == stages
    (alone,) = run(adaptation, rows="own-mt-dnn", **options)
    assert alone.metrics == shared.metrics and alone.steps == shared.steps
    assert set(shared.details["shared_seconds"]) == {"encoder", "joint"}


@pytest.mark.parametrize("name", ["multi_task/joint", "multi_task/adaptation"])
def test_rows_of_joint_training_differ_in_what_follows_alone(name, tmp_path):
    rows = [row for row, settings in EXPERIMENTS[name].rows.items() if settings["joint"]][:2]
    run(EXPERIMENTS[name], rows=rows, scale="smoke", device="cpu", checkpoints=tmp_path)
    assert len(list((tmp_path / "multi_task" / "_shared").iterdir())) == 1


def test_what_gradients_did_is_counted_by_the_epoch():
    system = build(SMOKE, [part.task for part in splits("sentiment", "paraphrase")], seed=0)[0]
    watched = Watched(system, steps=3)
    assert watched.take() == {}
    for cosine in (0.5, -0.25):
        watched.add(torch.tensor([[1.0, cosine], [cosine, 1.0]]))
    assert watched.take() == {"cosine.0.1": 0.125, "cosine": 0.125, "conflicts": 0.5}
    assert watched.take() == {}


# Experiments


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name != "multi_task/joint"])
def test_a_row_of_each_experiment_runs_at_smoke(name):
    experiment = EXPERIMENTS[name]
    row = list(experiment.rows)[-1]
    (record,) = run(experiment, rows=row, scale="smoke", data="simulated")
    assert record.metrics and record.steps.stopped == "finished"


def test_every_row_has_the_metrics_of_every_task():
    records = run(JOINT, rows=["mt-dnn", "bert"], scale="smoke")
    for record in records:
        assert {"similarity.pearson", "acceptability.matthews", "answers.map", "mean"} <= set(record.metrics)
    assert records[0].steps.done > records[1].steps.done


def test_a_row_sets_the_size_of_the_target():
    assert "few" not in SIZE.scales["quick"] and SIZE.rows["400"]["few"] == 400
