"""Train one tracker and measure it: from dialogues to a record's metrics.

::

    Splits -> candidates, EncodedTurn -> batches -> training.fit -> predicted states -> metrics
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from reasonlib import training
from reasonlib.arguments import check_at_least
from reasonlib.state_tracking.data.datasets import Splits, load
from reasonlib.state_tracking.data.encoding import (
    Candidates,
    EncodedTurn,
    TurnTokens,
    candidates_of,
    collate,
    encode,
)
from reasonlib.state_tracking.data.example import ORIGINS, Dialogue
from reasonlib.state_tracking.data.metrics import gate_scores, inherited_pairs, score
from reasonlib.state_tracking.data.ontology import NONE
from reasonlib.state_tracking.data.renaming import renamed
from reasonlib.state_tracking.models.copying import CopyConfig, CopyTracker, copy_batch, copy_loss
from reasonlib.state_tracking.models.encoder import DSCEncoder, load_encoder, new_encoder
from reasonlib.state_tracking.models.span import SpanTracker, span_batch, span_loss
from reasonlib.state_tracking.models.tracker import PairwiseTracker, Tracker, tracker_loss
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.tracking.trials import measured
from reasonlib.training.batching import LengthBuckets
from reasonlib.training.encoders import EncoderConfig, small_encoder
from reasonlib.training.settings import construct

__all__ = ["Prepared", "Recipe", "fit_tracker", "measure", "predict", "prepare", "run_carry", "run_tracker"]

State = dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a tracker is made and trained; by default as the source's small encoders (section 4.3.2).

    Two settings are not the source's. `curriculum_length`: a small encoder learns from short dialogues much
    sooner which words name a value. `turns_per_dialogue`: the turns of one dialogue repeat most of its words,
    so the same number of turns teaches more if they are from more dialogues.

    Raises `ValueError` if the system is unknown or a count is below 1.
    """

    system: str = "tracker"  # tracker | pairwise | span | copy
    encoder: str | None = None  # name or folder; None: the bundled one
    scratch: bool = False  # the bundled encoder's shape with random weights
    pieces: int = 0  # words and pieces of words learned from the training dialogues; 0: the encoder's own
    layout: str = "merge"
    blocked: bool = False
    gate: str = "two"
    longest: int | None = None  # tokens of a dialogue; None: positions grow to the longest
    epochs: int = 5
    batch: int = 32
    accumulate: int = 1
    lr: float = 5e-5
    warmup: float = 0.1  # share of the steps
    clip: float = 1.0
    precision: str = "no"
    turns_per_dialogue: int | None = None  # turns of a training dialogue, drawn by the seed; None: all
    # tokens; training begins with turns whose dialogue so far is at most as long; 0: with all
    curriculum_length: int = 0
    curriculum_share: float = 0.4  # share of the steps that such a beginning takes
    curriculum_batch: int = 16  # turns in a batch of it
    renamed: float = 0.0  # share of the training dialogues whose places get invented names and areas

    def __post_init__(self) -> None:
        if self.system not in ("tracker", "pairwise", "span", "copy"):
            raise ValueError(f"system must be tracker, pairwise, span or copy, got {self.system!r}")
        check_at_least(self, 1, "epochs", "batch", "accumulate", "curriculum_batch")
        if self.turns_per_dialogue is not None and self.turns_per_dialogue < 1:
            raise ValueError(f"turns_per_dialogue must be at least 1 or None, got {self.turns_per_dialogue}")
        if not 0 <= self.curriculum_share < 1:
            raise ValueError(f"curriculum_share must be at least 0 and below 1, got {self.curriculum_share}")
        if self.pieces and (self.encoder or self.scratch):
            raise ValueError("pieces of words make a new encoder: leave out encoder and scratch")
        if not 0 <= self.renamed <= 1:
            raise ValueError(f"renamed must be between 0 and 1, got {self.renamed}")


class Prepared(NamedTuple):
    """A model with all that its data path needs.

    Attributes
    ----------
    model
        Untrained.
    tokenizer, candidates
        Of its inputs and outputs.
    loss
        ``loss(model, batch)``.
    batch
        ``batch(turns, dialogues)`` makes what the loss reads.
    """

    model: nn.Module
    tokenizer: Any
    candidates: Candidates
    loss: Callable[[Any, Any], Tensor]
    batch: Callable[[Sequence[EncodedTurn], Sequence[Dialogue]], Any]


def _states(turns: Sequence[EncodedTurn], dialogues: Sequence[Dialogue]) -> list[State]:
    return [dict(dialogues[turn.dialogue].turns[turn.turn].state) for turn in turns]


def prepare(recipe: Recipe, splits: Splits, *, seed: int) -> tuple[Prepared, TurnTokens]:
    """Build the model of a recipe, and the tokens of its dialogues.

    Parameters
    ----------
    recipe
        What to build.
    splits
        Dialogues; the candidates come from the training part alone.
    seed
        Draws the new weights.
    """
    candidates = candidates_of(splits.train)
    if recipe.pieces:
        encoder, tokenizer = new_encoder(splits.train, recipe.pieces, seed=seed)
    else:
        encoder, tokenizer = load_encoder(recipe.encoder, seed=seed)
    if recipe.scratch:
        encoder = small_encoder(EncoderConfig(), len(tokenizer), seed=seed)
    tokens = TurnTokens(tokenizer, recipe.longest)
    if recipe.system == "copy":
        # a word may be several pieces
        sizes = CopyConfig(words=len(tokenizer), longest=8 if recipe.pieces else 4)
        model: nn.Module = CopyTracker(sizes, seed=seed)
        return Prepared(
            model, tokenizer, candidates, copy_loss,
            lambda turns, dialogues: copy_batch(
                list(turns), _states(turns, dialogues), tokenizer, longest=sizes.longest
            ),
        ), tokens  # fmt: skip
    longest = recipe.longest or max(
        len(tokens.history(dialogue, len(dialogue.turns) - 1)[0])
        for dialogue in (*splits.train, *splits.valid, *splits.test)
    )
    tokens = TurnTokens(tokenizer, longest)  # a renamed dialogue may be longer: it loses its oldest tokens
    dsc = DSCEncoder(encoder, layout=recipe.layout, blocked=recipe.blocked, longest=longest, seed=seed)
    if recipe.system == "span":
        return Prepared(
            SpanTracker(dsc, candidates, seed=seed), tokenizer, candidates, span_loss,
            lambda turns, dialogues: span_batch(list(turns), _states(turns, dialogues), tokenizer),
        ), tokens  # fmt: skip
    tracker = Tracker(dsc, candidates, gate=recipe.gate, seed=seed)
    model = PairwiseTracker(tracker) if recipe.system == "pairwise" else tracker
    padding = tokenizer.pad_token_id
    return Prepared(
        model, tokenizer, candidates, tracker_loss, lambda turns, dialogues: collate(turns, padding)
    ), tokens


@torch.no_grad()
def predict(
    prepared: Prepared, turns: Sequence[EncodedTurn], dialogues: Sequence[Dialogue], *, batch: int = 64
) -> list[State]:
    """Predict the state of every turn, in the order given."""
    model, candidates = prepared.model, prepared.candidates
    training_mode = model.training
    device = next(model.parameters()).device
    model.eval()
    states: list[State] = [{} for _ in turns]
    for items in LengthBuckets([len(turn.tokens) for turn in turns], batch_size=batch, seed=0).plan(0):
        chosen = [turns[item] for item in items]
        if isinstance(model, CopyTracker):
            batch_states = model.states(_moved(prepared.batch(chosen, dialogues), device), prepared.tokenizer)
        else:
            inputs = _moved(collate(chosen, prepared.tokenizer.pad_token_id), device)
            output = model(inputs.tokens, inputs.roles, inputs.mask)
            if isinstance(model, SpanTracker):
                batch_states = output.states(candidates, partial(_words, chosen, prepared.tokenizer))
            else:
                batch_states = [candidates.state(row) for row in output.numbers().tolist()]
        for item, state in zip(items, batch_states, strict=True):
            states[item] = state
    model.train(training_mode)
    return states


def _moved(batch: Any, device: torch.device) -> Any:
    return type(batch)(*(part.to(device) for part in batch))


def _words(turns: Sequence[EncodedTurn], tokenizer: Any, turn: int, first: int, last: int) -> str:
    return tokenizer.decode(turns[turn].tokens[first : last + 1])


def measure(
    predicted: Sequence[State], turns: Sequence[EncodedTurn], dialogues: Sequence[Dialogue]
) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the metrics of predicted states and further details for a record.

    The metrics are joint goal and slot accuracy, F1, the accuracy of inherited slots, that of every kind of
    value at the turn at which it is filled (``filled.stated`` and so on), and precision and recall of the
    gate.
    """
    labels = _states(turns, dialogues)
    references = [inherited_pairs(dialogues[turn.dialogue], turn.turn) for turn in turns]
    scores = score(predicted, labels, references)
    metrics = {"joint_goal": scores.joint_goal, "slot": scores.slot, "f1": scores.f1}
    if scores.inherited is not None:
        metrics["inherited"] = scores.inherited
    counts = {kind: [0, 0] for kind in ORIGINS}
    for state, turn in zip(predicted, turns, strict=True):
        true = dialogues[turn.dialogue].turns[turn.turn]
        for pair, origin in true.origins.items():
            if origin.turn == turn.turn:
                counts[origin.kind][1] += 1
                counts[origin.kind][0] += state.get(pair, NONE) == true.state[pair]
    metrics |= {f"filled.{kind}": right / count for kind, (right, count) in counts.items() if count}
    for kind, (precision, recall) in gate_scores(predicted, labels).items():
        metrics |= {f"gate.{kind}.precision": precision, f"gate.{kind}.recall": recall}
    details = {
        "turns": scores.turns,
        "inherited": scores.inherited_count,
        "per_slot": {pair: round(value, 4) for pair, value in scores.per_slot.items()},
    }
    return metrics, details


def load_splits(trial: Trial) -> Splits:
    """Load the dialogues of a trial."""
    settings = trial.settings
    return load(
        trial.data,
        train=settings["dialogues"],
        valid=settings["valid_size"],
        test=settings["test_size"],
        inherit=settings.get("inherit", 0.8),
        seed=trial.seed,
    )


class _Plan:
    """Which turns are in which batch: short dialogues first if the recipe says so, then all.

    Parameters
    ----------
    turns
        Of the training part.
    recipe
        Sizes of the batches, and how long training stays with short dialogues.
    each
        Batches in an epoch.
    seed
        Draws the order.
    """

    def __init__(self, turns: Sequence[EncodedTurn], recipe: Recipe, each: int, *, seed: int) -> None:
        lengths = [len(turn.tokens) for turn in turns]
        self.each = each
        self.short = [item for item, length in enumerate(lengths) if length <= recipe.curriculum_length]
        self.early = round(recipe.curriculum_share * each * recipe.epochs) if self.short else 0
        self.all = LengthBuckets(lengths, batch_size=recipe.batch, seed=seed)
        few = [lengths[item] for item in self.short] or lengths[:1]
        self.few = LengthBuckets(few, batch_size=recipe.curriculum_batch, seed=seed)

    def epoch(self, epoch: int) -> Iterator[list[int]]:
        """Give the batches of an epoch as numbers of turns."""
        start = epoch * self.each
        few, every = _batches(self.few, start), _batches(self.all, max(0, start - self.early))
        for step in range(start, start + self.each):
            yield [self.short[item] for item in next(few)] if step < self.early else next(every)


def _batches(buckets: LengthBuckets, number: int) -> Iterator[list[int]]:
    """Give the batches from a number on, passing over the turns without end."""
    count = len(buckets)
    while True:
        yield from buckets.plan(number // count)[number % count :]
        number += count - number % count


def run_tracker(trial: Trial) -> Measured:
    """Train one system and measure it on test; see `fit_tracker`."""
    return fit_tracker(trial)[1]


def fit_tracker(trial: Trial) -> tuple[Prepared, Measured]:
    """Train one system, keep the weights with the best joint goal accuracy on valid, measure on test."""
    splits = load_splits(trial)
    recipe = construct(Recipe, trial.settings)
    prepared, tokens = prepare(recipe, splits, seed=trial.seed)
    valid, test = (encode(part, tokens, prepared.candidates) for part in (splits.valid, splits.test))
    dialogues = renamed(splits.train, recipe.renamed, seed=trial.seed)
    each_dialogue = recipe.turns_per_dialogue
    train = encode(dialogues, tokens, prepared.candidates, each=each_dialogue, seed=trial.seed)
    model = prepared.model.to(trial.device)
    each = -(-len(train) // recipe.batch)
    steps = recipe.epochs * -(-each // recipe.accumulate)

    plan = _Plan(train, recipe, each, seed=trial.seed)

    def epoch_batches(epoch: int) -> Iterator[Any]:
        for items in plan.epoch(epoch):
            yield prepared.batch([train[item] for item in items], dialogues)

    def validate(_: Any) -> dict[str, float]:
        states = predict(prepared, valid, splits.valid)
        scores = score(states, _states(valid, splits.valid))
        return {"joint_goal": scores.joint_goal, "slot": scores.slot}

    settings = {
        **training.ADAMW_LINEAR,
        "clip": recipe.clip,
        "warmup": max(1, round(recipe.warmup * steps)),
        "restore_best": True,
    }
    history = training.fit_recipe(
        model,
        epoch_batches,
        recipe,
        validate=validate,
        loss=prepared.loss,
        settings=settings,
        monitor="joint_goal",
        steps_per_epoch=-(-each // recipe.accumulate),
        **trial.options,
    )
    predicted = predict(prepared, test, splits.test)
    metrics, details = measure(predicted, test, splits.test)
    return prepared, measured(
        history,
        metrics,
        curve=("epoch", "loss", "joint_goal", "slot"),
        details={**details, "parameters": training.parameter_count(model)},
    )


def run_carry(trial: Trial) -> Measured:
    """Predict at every turn the true state of the turn before: what a tracker must beat."""
    splits = load_splits(trial)
    predicted, turns = [], []
    for dialogue_index, dialogue in enumerate(splits.test):
        for number in range(len(dialogue.turns)):
            predicted.append(dict(dialogue.turns[number - 1].state) if number else {})
            turns.append(EncodedTurn([], [], [], dialogue_index, number, 0))
    metrics, details = measure(predicted, turns, splits.test)
    return Measured(metrics=metrics, details=details)
