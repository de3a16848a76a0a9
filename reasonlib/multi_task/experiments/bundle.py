"""Make the bundled weights again: the small encoder, and MT-DNN, which answers in the reader's browser.

    reasonlib run multi_task/bundle --row encoder --scale paper     weights/encoder/
    reasonlib run multi_task/bundle --row mt-dnn --scale paper      weights/mt-dnn.safetensors

A run at ``paper`` replaces the files; at a smaller scale it only measures.
"""

from reasonlib.multi_task.data.simulator import pretraining_texts
from reasonlib.multi_task.experiments.joint import joined, load_family, measure_all, train_joint
from reasonlib.multi_task.experiments.train import recipe_of
from reasonlib.multi_task.models.encoder import BUNDLED
from reasonlib.multi_task.models.pretrain import PretrainingConfig, masked_accuracy, pretrain, world_tokenizer
from reasonlib.multi_task.models.pretrained import WEIGHTS, save_system
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.tracking.trials import measured
from reasonlib.training.encoders import EncoderConfig, save_small_encoder, small_encoder

__all__ = ["make_encoder", "make_system"]


def make_encoder(trial: Trial) -> Measured:
    """Pre-train the small encoder on masked words, and write it if the scale is ``paper``."""
    settings = trial.settings
    tokenizer = world_tokenizer()
    model = small_encoder(EncoderConfig(longest=64), len(tokenizer), seed=trial.seed, masked=True)
    model.config.restart_positions = True
    history = pretrain(
        model,
        tokenizer,
        pretraining_texts(settings["texts"], seed=11),
        PretrainingConfig(epochs=settings["passes"]),
        **trial.options,
    )
    if trial.scale == "paper" and history.stopped == "finished":
        save_small_encoder(model, tokenizer, BUNDLED)
    accuracy = masked_accuracy(model, tokenizer, pretraining_texts(400, seed=12))
    return measured(history, {"masked_accuracy": accuracy}, curve=("epoch", "loss"))


def make_system(trial: Trial) -> Measured:
    """Train MT-DNN on the family, without fine-tuning, and write it if the scale is ``paper``."""
    recipe = recipe_of(trial.settings)
    splits = load_family(trial.settings, seed=trial.seed)
    trained = train_joint(trial)
    metrics = measure_all([trained] * len(splits), splits, recipe)
    if trial.scale == "paper" and trained.history.stopped == "finished":
        test_metrics = {
            split.task.name: metrics[f"{split.task.name}.{split.task.metric}"] for split in splits
        }
        test_metrics = {"seed": trial.seed, **{name: round(value, 4) for name, value in test_metrics.items()}}
        save_system(trained.model, test_metrics, WEIGHTS / f"{trial.row}.safetensors")
    return joined([trained], metrics)
