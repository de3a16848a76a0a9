"""Every experiment runs at smoke; what they measure is in its range."""

import math
from types import SimpleNamespace

import pytest
import torch
from rows import one_row_each
from torch.nn import functional

from reasonlib.modality_alignment.data.curriculum import PHASES
from reasonlib.modality_alignment.data.datasets import load_points, load_questions
from reasonlib.modality_alignment.experiments import EXPERIMENTS
from reasonlib.modality_alignment.experiments import train as training_module
from reasonlib.modality_alignment.experiments.points import PointsRecipe, draw_map, train_encoders
from reasonlib.modality_alignment.experiments.side_effects import change_of_cosines
from reasonlib.modality_alignment.experiments.train import Recipe, train_in_phases
from reasonlib.modality_alignment.models.encoders import PairedEncoders
from reasonlib.nn.similarity import cka
from reasonlib.tracking import runner
from reasonlib.training import History


@pytest.mark.parametrize(("name", "row"), one_row_each(EXPERIMENTS))
def test_every_row_runs_at_smoke(name, row):
    options = {"data": "simulated"} if name.endswith("annotations") else {}
    (record,) = runner.run(EXPERIMENTS[name], rows=row, scale="smoke", device="cpu", **options)
    assert record.steps.stopped == "finished" and record.steps.complete
    values = [value for value in record.metrics.values() if value is not None]
    assert values and all(math.isfinite(value) for value in values)
    assert all(0 <= value <= 1 for name, value in record.metrics.items() if name.startswith("accuracy"))


def test_points_give_curves_and_maps():
    record, other = runner.run(
        EXPERIMENTS["modality_alignment/points"], rows="both", scale="smoke", seeds=(0, 1)
    )
    curve = record.details["curve"]
    assert len(curve["step"]) == len(curve["cosine"]) == len(curve["cka"]) and curve["step"][0] == 0
    assert set(record.details["tsne"]) == {"data", "1"} and "tsne" not in other.details
    assert {"cosine.start", "cosine.epoch_1", "cka.held_out", "top1.held_out"} <= set(record.metrics)


def test_warm_up_comes_before_the_epochs():
    points, _ = load_points("random-pairs", pairs=64, held_out=8, seed=0)

    def steps(**changes):
        recipe = PointsRecipe(batch_size=16, epochs=2, warmup_steps=3, measured=1, **changes)
        return train_encoders(points, recipe).history.steps_done

    assert steps() == 12  # 3 of the warm-up and 8 more, in whole measurements of 4
    assert steps(alignment="none") == steps(objective="none") == 8


@pytest.mark.parametrize("alignment", ["none", "cka-linear"])
def test_a_step_on_a_batch_by_hand(alignment):
    """A step of SGD on a copy; the model itself stays."""
    points, _ = load_points("shared-cause", pairs=60, held_out=8, seed=0)
    model, rows = PairedEncoders(seed=3), torch.arange(20)
    recipe = PointsRecipe(alignment=alignment, weight=0.5)
    changes = change_of_cosines(model, points, rows, recipe)
    copy = PairedEncoders(seed=3)
    a, b = copy(points.a[:20], points.b[:20])
    loss = -functional.cosine_similarity(a, b).mean()
    (loss - 0.5 * cka(a, b) if alignment != "none" else loss).backward()
    slope = torch.cat([weight.grad.flatten() for weight in copy.parameters()]).norm()
    with torch.no_grad():
        before = functional.cosine_similarity(*copy(*points))
        torch.optim.SGD(copy.parameters(), lr=float(0.1 / slope)).step()
        torch.testing.assert_close(changes, functional.cosine_similarity(*copy(*points)) - before)
        torch.testing.assert_close(functional.cosine_similarity(*model(*points)), before)
    assert float(changes[:20].mean()) > 0  # what the step was taken for


def test_maps_are_drawn_alike():
    points, _ = load_points("random-pairs", pairs=30, held_out=8, seed=0)
    first, again = draw_map(points, 10), draw_map(points, 10)
    assert first == again and len(first["a"]) == len(first["b"]) == 10 and len(first["a"][0]) == 2


def test_unknown_points():
    with pytest.raises(ValueError, match="data must be"):
        load_points("pairs", pairs=1, held_out=1, seed=0)


def test_question_sets_do_not_overlap():
    _, parts = load_questions(train=30, valid=10, test=10)
    scenes = [(each.captions, each.subtitles) for part in parts.values() for each in part.questions]
    assert len({str(scene) for scene in scenes}) == 50


def test_a_curriculum_has_a_part_for_each_phase():
    vocabulary, parts = load_questions(
        train=20, valid=4, test=4, kinds=("presence", "colour"), curriculum=3.0
    )
    phases = {name: part for name, part in parts.items() if name.startswith("phase-")}
    assert [len(part) for part in phases.values()] == [round(60 * phase.share) for phase in PHASES]
    for phase, part in zip(PHASES, phases.values(), strict=True):
        assert {question.kind for question in part.questions} == set(phase.kinds or ("presence", "colour"))
    # words that only a phase has are known, too
    assert "opposite" in vocabulary
    plain, _ = load_questions(train=20, valid=4, test=4, kinds=("presence", "colour"))
    assert "opposite" not in plain


@pytest.mark.parametrize(("taught", "steps"), [((), [3, 0, 0, 0, 0]), (("video",), [3, 0, 0, 0])])
def test_alignment_warms_up_in_the_first_phase_that_asks_anything(monkeypatch, taught, steps):
    """Questions about opposites and wishes, the first phase, are left out where the video is taught alone."""
    warmed = []

    def train(model, train_set, recipe, **options):
        warmed.append(recipe.warmup_steps)
        return History(rows=[], steps_done=5, steps_planned=5)

    monkeypatch.setattr(training_module, "train_answerer", train)
    _, parts = load_questions(
        train=20, valid=4, test=4, kinds=("presence", "colour"), curriculum=3.0, taught=taught
    )
    trial = SimpleNamespace(stage=lambda name: SimpleNamespace(options={}))
    train_in_phases(lambda start: None, parts, Recipe(alignment="cka-linear", warmup_steps=3), trial)
    assert warmed == steps


@pytest.mark.parametrize(("learned_at", "starts"), [(0, 1), (1, 2), (2, 3), (9, 3)])
def test_the_first_phase_starts_again_until_its_kinds_are_learned(monkeypatch, learned_at, starts):
    trained = []

    def train(start, train_set, recipe, **options):
        trained.append(start)
        row = {"step": 5, "accuracy.subtitle.wish": 1.0 if start >= learned_at else 0.2}
        return History(rows=[row], steps_done=5, steps_planned=5)

    monkeypatch.setattr(training_module, "train_answerer", train)
    _, parts = load_questions(
        train=20, valid=4, test=4, kinds=("wish",), curriculum=3.0, taught=("subtitle",)
    )
    folders = []
    trial = SimpleNamespace(stage=lambda name: folders.append(name) or SimpleNamespace(options={}))
    recipe = Recipe(starts=3, batch_size=100)
    model, history = train_in_phases(lambda start: start, parts, recipe, trial)
    others = len(PHASES) - 1
    assert model == starts - 1 and trained == [*range(starts), *[model] * others]
    assert len(set(folders)) == len(folders) == len(history) == starts + others
    assert history[-1]["step"] == history.steps_done == 5 * len(folders)


def test_phases_join_to_one_history():
    experiment = EXPERIMENTS["modality_alignment/tvqa"]
    (record,) = runner.run(experiment, rows="tvqa-abc-cka", scale="smoke", device="cpu")
    curve = record.details["curve"]
    assert len(curve) == len(PHASES) and curve[-1]["step"] == record.steps.planned == record.steps.done
    assert [row["step"] for row in curve] == sorted(row["step"] for row in curve)
