"""Make the bundled weights again: the small encoder, and the tracker that answers in the reader's browser.

    reasonlib run state_tracking/bundle --row encoder --scale paper     weights/encoder/
    reasonlib run state_tracking/bundle --row tracker --scale paper     weights/tracker.safetensors

A run at ``paper`` replaces the files; at a smaller scale it only measures.
"""

import torch

from reasonlib.state_tracking.data.encoding import TurnTokens
from reasonlib.state_tracking.data.simulator import simulate
from reasonlib.state_tracking.experiments.train import fit_tracker
from reasonlib.state_tracking.models.encoder import BUNDLED
from reasonlib.state_tracking.models.pretrain import PretrainingConfig, dialogue_tokenizer, pretrain
from reasonlib.state_tracking.models.pretrained import save_tracker
from reasonlib.state_tracking.models.span import SpanTracker
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.tracking.trials import measured
from reasonlib.training.batching import mask_of, pad
from reasonlib.training.encoders import EncoderConfig, save_small_encoder, small_encoder
from reasonlib.training.masked_words import UNSCORED, mask_tokens

__all__ = ["make_encoder", "make_tracker", "masked_accuracy"]


def make_encoder(trial: Trial) -> Measured:
    """Pre-train the small encoder on masked words, and write it if the scale is ``paper``."""
    settings = trial.settings
    tokenizer = dialogue_tokenizer()
    model = small_encoder(EncoderConfig(), len(tokenizer), seed=trial.seed, masked=True)
    history = pretrain(
        model,
        tokenizer,
        simulate(settings["texts"], seed=11),
        PretrainingConfig(steps=settings["steps"]),
        **trial.options,
    )
    if trial.scale == "paper" and history.stopped == "finished":
        save_small_encoder(model, tokenizer, BUNDLED)
    losses = [row["loss"] for row in history]  # none if the budget ended before the first pass
    accuracy = masked_accuracy(model, tokenizer)
    return measured(history, {"masked_accuracy": accuracy}, details={"loss": losses})


@torch.no_grad()
def masked_accuracy(model: torch.nn.Module, tokenizer: object, *, dialogues: int = 40) -> float:
    """Return the share of masked words that are guessed right, on dialogues of a seed that never trains."""
    tokens = TurnTokens(tokenizer)
    texts = [
        tokens.history(dialogue, len(dialogue.turns) - 1)[0][-224:]
        for dialogue in simulate(dialogues, seed=12)
    ]
    generator = torch.Generator().manual_seed(0)
    read, labels = mask_tokens(pad(texts), words=len(tokenizer), generator=generator)  # type: ignore[arg-type]
    mask = mask_of([len(text) for text in texts])
    guessed = model(input_ids=read, attention_mask=mask.long()).logits.argmax(2)
    chosen = labels != UNSCORED
    return float((guessed == labels)[chosen].float().mean())


def make_tracker(trial: Trial) -> Measured:
    """Train a tracker with spans (DS-merge), and write it if the scale is ``paper``."""
    prepared, result = fit_tracker(trial)
    assert isinstance(prepared.model, SpanTracker)
    if trial.scale == "paper" and result.stopped == "finished":
        test_metrics = {name: round(value, 4) for name, value in result.metrics.items() if "." not in name}
        save_tracker(prepared.model, {"seed": trial.seed, **test_metrics})
    return result
