"""From a recipe to a run: which fields count, what is monitored, and what a run is given."""

from dataclasses import dataclass

import pytest
import torch
from rows import trial
from torch import nn

from reasonlib import training
from reasonlib.training.batching import predict_in_buckets


@dataclass(frozen=True, kw_only=True)
class Recipe:
    epochs: int = 2
    batch_size: int = 4
    lr: float = 0.1
    warmup: float = 0.5


x = torch.linspace(-1, 1, 8)[:, None]


def batches(epoch):
    return [(x, 3 * x)]


def loss(model, batch):
    return nn.functional.mse_loss(model(batch[0]), batch[1])


def learn(**options):
    """Fit a line by the recipe."""
    return training.fit_recipe(nn.Linear(1, 1), batches, Recipe(), loss=loss, **options)


def test_fields_of_the_same_name_are_taken_over_and_settings_come_last():
    config = training.training_config(Recipe(lr=0.2), warmup=3, seed=4)
    assert (config.epochs, config.lr, config.warmup, config.seed) == (2, 0.2, 3, 4)
    assert config.optimiser == "adam"


def test_without_validation_the_loss_is_monitored_with_it_the_accuracy():
    settings = {"warmup": 0, "restore_best": True}
    assert learn(settings=settings).best is not None
    values = iter([0.25, 0.75])
    history = learn(settings=settings, validate=lambda model: {"accuracy": next(values)})
    assert [row["accuracy"] for row in history] == [0.25, 0.75]
    with pytest.raises(ValueError, match="monitor must be one of"):
        learn(settings=settings, validate=lambda model: {"error": 1.0})


def test_a_trial_gives_a_run_its_options(tmp_path):
    options = trial("toy/line:full", {}, seed=5, minutes=1.0, folder=tmp_path / "run").options
    seen = []
    history = learn(settings={"warmup": 0}, on_epoch=seen.append, **options)
    assert len(seen) == len(history) == 2
    assert (tmp_path / "run").is_dir()
    resumed = learn(settings={"warmup": 0}, **options)
    assert resumed.resumed_from == 2


def test_predictions_come_back_in_the_order_of_the_items():
    lengths = [5, 1, 4, 2, 3]
    predictions = predict_in_buckets(
        lambda items: torch.tensor([[lengths[item], item] for item in items]), lengths, max_tokens=4
    )
    assert predictions.tolist() == [[length, item] for item, length in enumerate(lengths)]
