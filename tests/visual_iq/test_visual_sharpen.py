"""Training the head of types and boxes further, on patches cut out once."""

import numpy as np
import pytest
import torch

from reasonlib import training
from reasonlib.tracking.runner import run
from reasonlib.visual_iq.experiments.bundle import BUNDLE
from reasonlib.visual_iq.experiments.finetune_boxes import (
    JITTER,
    PROPOSALS_PER_PANEL,
    Recipe,
    box_error,
    extract_patches,
    finetune,
)
from reasonlib.visual_iq.models.detector import Detector, DetectorConfig

TINY = {"widths": (4, 4, 8, 8, 8), "width": 8, "hidden": 16, "bins": 3}


def tiny():
    with training.seeded(0):
        return Detector(DetectorConfig(**TINY)).eval()


def test_patches_are_what_the_head_reads_around_each_object():
    model = tiny()
    patches = extract_patches(model, 4, seed=1)
    inputs, boxes, true, is_object, types = patches
    objects = is_object > 0
    assert objects.sum() % len(JITTER) == 0 and (~objects).sum() == 4 * PROPOSALS_PER_PANEL
    assert torch.equal(boxes[~objects], true[~objects])
    assert inputs.shape[1] == 8 * 3**2 + 6
    assert torch.allclose(types.sum(-1), torch.ones(len(types)))
    side = (true[:, 2:] - true[:, :2]).max()
    assert 0 < (boxes - true)[objects].abs().mean() < 0.1 * side
    repeated = extract_patches(model, 4, seed=1)
    assert all(torch.equal(first, second) for first, second in zip(patches, repeated, strict=True))


def test_it_sharpens_boxes_and_leaves_all_else():
    model = tiny()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    valid_patches = extract_patches(model, 8, seed=5)
    rough = box_error(model, valid_patches)
    history = finetune(model, Recipe(panels=32, steps=200, batch_size=64, lr=3e-3), seed=1, progress=False)
    assert history.steps_done == 200 and history[-1]["loss"] < history[0]["loss"]
    assert box_error(model, valid_patches) < 0.95 * rough
    changed = {name for name, weight in model.state_dict().items() if not torch.equal(weight, before[name])}
    assert changed and all(name.startswith("heads.object.") for name in changed)


def test_the_same_seed_gives_the_same_weights():
    def weights(seed):
        model = tiny()
        finetune(model, Recipe(panels=8, steps=4, batch_size=8), seed=seed, progress=False)
        return model.heads.object.answer.weight

    assert torch.equal(weights(1), weights(1)) and not torch.equal(weights(1), weights(2))


@pytest.mark.parametrize("name", ["panels", "steps", "batch_size"])
def test_numbers_below_one_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
        Recipe(**{name: 0})


def test_a_trial_at_smoke_measures_and_leaves_the_shipped_file():
    from reasonlib.visual_iq.models.pretrained import BUNDLED

    before = BUNDLED["detector"].read_bytes()
    (record,) = run(BUNDLE, rows=["detector-boxes"], scale="smoke")
    assert {"before", "after", "box_l1", "type"} <= {*record.metrics} and record.metrics["written"] == 0
    assert np.isfinite(record.metrics["box_l1"]) and BUNDLED["detector"].read_bytes() == before
