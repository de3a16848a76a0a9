"""Train a system that answers video questions, with or without alignment, and measure it.

::

    questions -> TVQA_abc or STAGE -> cross-entropy - lambda * alignment -> fit -> accuracy by need,
                                      alignment alone in the warm-up                CKA, retrieval
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Unpack

import torch
from torch import Tensor
from torch.nn import functional

from reasonlib import training
from reasonlib.arguments import check_at_least, check_choice
from reasonlib.modality_alignment.data.curriculum import PHASES
from reasonlib.modality_alignment.data.datasets import QuestionSet, load_questions
from reasonlib.modality_alignment.data.encoding import Batch, select
from reasonlib.modality_alignment.data.metrics import accuracy_by_need
from reasonlib.modality_alignment.models.objectives import ALIGNMENTS, retrieval, sample_rows
from reasonlib.modality_alignment.models.stage import STAGE, Located, STAGEConfig, spatial_loss, temporal_loss
from reasonlib.modality_alignment.models.tvqa_abc import VISUAL, Answered, TVQA_abc, TVQAConfig
from reasonlib.nn.similarity import cka
from reasonlib.tracking.experiment import Trial
from reasonlib.training.settings import construct
from reasonlib.training.vocabulary import Vocabulary

__all__ = [
    "QUESTIONS",
    "Recipe",
    "System",
    "align_streams",
    "answer_all",
    "build",
    "load_trial",
    "measure_alignment",
    "steps_of",
    "train_answerer",
    "train_in_phases",
]

System = TVQA_abc | STAGE


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a system is trained; the defaults are the source's for TVQA_abc (section 5.3.2).

    Raises
    ------
    ValueError
        If a name is unknown or a number out of range.
    """

    alignment: str = "none"  # a key of ALIGNMENTS
    weight: float = 0.2  # lambda; 0.1 for STAGE
    samples: int = 128  # N rows of each modality; the source prints none
    paired: bool = True  # whether the two rows of a pair come from the same question
    warmup_steps: int = 20  # of the alignment alone; "few" in the source
    epochs: int = 10
    batch_size: int = 32  # 4 for STAGE
    lr: float = 3e-4
    weight_decay: float = 1e-5
    clip: float | None = None
    temporal: float = 0.5  # weight of the moment's loss in STAGE
    spatial: float = 0.1  # weight of the regions' loss in STAGE
    restore_best: bool = True
    starts: int = 1  # of the first phase at most, each with fresh weights, until its kinds are learned

    def __post_init__(self) -> None:
        check_choice("alignment", self.alignment, ALIGNMENTS)
        check_at_least(self, 2, "samples")
        check_at_least(self, 1, "epochs", "batch_size", "starts")
        check_at_least(self, 0, "warmup_steps")


def build(settings: Any, *, vocabulary: int, features: int, seed: int) -> System:
    """Build the system that a row's settings name, ``tvqa-abc`` or ``stage``.

    Raises
    ------
    ValueError
        If there is no such system.
    """
    if settings["system"] == "tvqa-abc":
        config = construct(TVQAConfig, settings, vocabulary=vocabulary, features=features)
        return TVQA_abc(config, seed=seed)
    if settings["system"] == "stage":
        return STAGE(construct(STAGEConfig, settings, vocabulary=vocabulary, features=features), seed=seed)
    raise ValueError(f"system must be tvqa-abc or stage, got {settings['system']!r}")


def align_streams(
    answered: Answered | Located, recipe: Recipe, *, generator: torch.Generator | None = None
) -> Tensor:
    """Return the alignment of the visual embedding with that of question and answers, before matching."""
    values = []
    for name in VISUAL:
        if recipe.alignment == "none" or name not in answered.streams:
            continue
        stream = answered.streams[name]
        # excerpt: align
        x, y = sample_rows(
            stream.mask,
            answered.text_mask,
            recipe.samples,
            paired=recipe.paired,
            generator=generator,
        )
        video = stream.states[x[:, 0], x[:, 1]]  # (N, H)
        text = answered.text[y[:, 0], y[:, 1]]  # (N, H)
        values.append(ALIGNMENTS[recipe.alignment](video, text))
        # end excerpt
    return torch.stack(values).mean() if values else answered.logits.new_zeros(())


def loss_of(model: System, batch: Batch, recipe: Recipe) -> Tensor:
    """Return the final loss of equation 5.4, in nats, or minus the alignment while warming up."""
    answered = model(batch)
    alignment = align_streams(answered, recipe)
    if batch.warming:
        return -alignment
    loss = functional.cross_entropy(answered.logits, batch.right)
    if isinstance(answered, Located):
        loss = loss + recipe.temporal * temporal_loss(answered, batch)
        loss = loss + recipe.spatial * spatial_loss(answered, batch)
    return loss - recipe.weight * alignment


def train_answerer(
    model: System,
    train_set: QuestionSet,
    recipe: Recipe,
    *,
    valid_set: QuestionSet | None = None,
    **options: Unpack[training.RunOptions],
) -> training.History:
    """Train a system in place; with a validation set, keep the epoch with the best accuracy.

    Parameters
    ----------
    model
        With its first weights.
    train_set, valid_set
        Questions.
    recipe
        Settings of the training.
    **options
        See `training.RunOptions`.

    Raises
    ------
    ValueError
        If a training question has no label.
    """
    unlabelled = int((train_set.batch.right < 0).sum())
    if unlabelled:
        raise ValueError(f"every question must have a right answer to train on, {unlabelled} have none")
    seed = options.get("seed", 0)
    aligned = recipe.alignment != "none" and any(name in VISUAL for name in model.config.streams)
    warmup = recipe.warmup_steps if aligned else 0
    steps = -(-len(train_set) // recipe.batch_size)

    def batches(epoch: int) -> Iterator[Batch]:
        generator = torch.Generator().manual_seed(seed * 1_000 + epoch)
        order = torch.randperm(len(train_set), generator=generator)
        for step in range(steps):
            items = order[step * recipe.batch_size : (step + 1) * recipe.batch_size]
            yield select(train_set.batch, items, warming=epoch * steps + step < warmup)

    def validate(model: System) -> dict[str, float]:
        chosen = answer_all(model, valid_set)  # type: ignore[arg-type]
        return accuracy_by_need(valid_set.questions, chosen)  # type: ignore[union-attr]

    return training.fit_recipe(
        model,
        batches,
        recipe,
        settings={"restore_best": recipe.restore_best and valid_set is not None},
        loss=lambda model, batch: loss_of(model, batch, recipe),
        validate=None if valid_set is None else validate,
        identity={"config": repr(model.config)},
        steps_per_epoch=steps,
        **options,
    )


def steps_of(parts: Mapping[str, QuestionSet], recipe: Recipe) -> int:
    """Return the steps of a row: those of its phases if it has any, else those of its epochs."""
    phases = [part for name, part in parts.items() if name.startswith("phase-")]
    sets, epochs = (phases, 1) if phases else ([parts["train"]], recipe.epochs)
    return epochs * sum(-(-len(each) // recipe.batch_size) for each in sets)


def train_in_phases(
    fresh: Callable[[int], System], parts: Mapping[str, QuestionSet], recipe: Recipe, trial: Trial
) -> tuple[System, training.History]:
    """Train a system through `PHASES`; the alignment warms up in the first that asks anything.

    Parameters
    ----------
    fresh
        Returns the system with first weights drawn for a start, counted from 0.
    parts
        With a part for each phase that asks anything, see `load_questions`.
    recipe
        How; its epochs do not count, since each question of a phase is seen once.
    trial
        Gives each phase a folder for its checkpoints.

    Returns
    -------
    tuple[System, History]
        The system, and the rows of all phases and starts in one, steps counted on. Out of its minutes, the
        rest is not begun.
    """
    joined = training.History(steps_planned=steps_of(parts, recipe), epochs_planned=len(PHASES))

    def train_phase(model: System, number: int, folder: str, warmup: int) -> training.History:
        phased = replace(recipe, epochs=1, lr=recipe.lr * PHASES[number].lr, warmup_steps=warmup)
        history = train_answerer(
            model, parts[f"phase-{number}"], phased, valid_set=parts["valid"], **trial.stage(folder).options
        )
        joined.rows += [{**row, "step": row["step"] + joined.steps_done} for row in history]
        joined.steps_done += history.steps_done
        joined.seconds += history.seconds
        joined.stopped = history.stopped
        return history

    first, *others = (number for number in range(len(PHASES)) if f"phase-{number}" in parts)
    for start in range(recipe.starts):
        model = fresh(start)
        folder = f"phase-{first}" + (f"-start-{start}" if start else "")
        history = train_phase(model, first, folder, recipe.warmup_steps)
        last = joined.stopped != "finished" or start + 1 == recipe.starts
        if last or _learned(history, parts[f"phase-{first}"]):
            break
        joined.steps_planned += history.steps_planned
    for number in others:
        if joined.stopped != "finished":
            break
        train_phase(model, number, f"phase-{number}", 0)
    return model, joined


def _learned(history: training.History, asked: QuestionSet) -> bool:
    """Return whether half or more of the valid questions of each kind that was asked are answered right."""
    kinds = {f"accuracy.{question.needs}.{question.kind}" for question in asked.questions}
    return all(share >= 0.5 for name, share in history[-1].items() if name in kinds)


@torch.no_grad()
def answer_all(model: System, asked: QuestionSet, *, size: int = 100) -> list[int]:
    """Return the index of the chosen answer of each question."""
    model.eval()
    device = next(model.parameters()).device
    chosen: list[int] = []
    for start in range(0, len(asked), size):
        batch = select(asked.batch, range(start, min(start + size, len(asked))))
        chosen += model(training.to_device(batch, device)).logits.argmax(1).tolist()
    return chosen


@torch.no_grad()
def measure_alignment(
    model: System, asked: QuestionSet, *, samples: int = 1000, most: int = 500, seed: int = 0
) -> dict[str, float]:
    """Measure how alike a stream's embedding is to that of question and answers, on questions held out.

    Parameters
    ----------
    model, asked
        A system and test questions.
    samples
        Rows that CKA compares.
    most
        Questions at most.
    seed
        Draws the rows.

    Returns
    -------
    dict
        For each stream: ``cka.<stream>`` and ``cka.<stream>.debiased`` of rows of the same questions, and
        ``retrieval.<stream>.top1`` and ``.rank`` of a question's mean state among those of all.
    """
    model.eval()
    device = next(model.parameters()).device
    answered = model(training.to_device(select(asked.batch, range(min(most, len(asked)))), device))
    generator = torch.Generator().manual_seed(seed)
    text = _mean(answered.text, answered.text_mask)
    metrics: dict[str, float] = {}
    for name, stream in answered.streams.items():
        if not stream.mask.any():
            continue
        x, y = sample_rows(stream.mask, answered.text_mask, samples, generator=generator)
        rows = stream.states[x[:, 0], x[:, 1]], answered.text[y[:, 0], y[:, 1]]
        metrics[f"cka.{name}"] = float(cka(*rows))
        metrics[f"cka.{name}.debiased"] = float(cka(*rows, debiased=True))
        scores = retrieval(_mean(stream.states, stream.mask), text)
        metrics |= {f"retrieval.{name}.{key}": value for key, value in scores.items()}
    return metrics


def _mean(states: Tensor, mask: Tensor) -> Tensor:
    """Return the mean state of each question."""
    return (states * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)


QUESTIONS = (
    "train", "valid", "test", "kinds", "bias", "frames_each", "features", "noise", "curriculum", "taught",
)  # fmt: skip
"""Settings that say which questions there are."""


def load_trial(trial: Trial) -> tuple[Vocabulary, dict[str, QuestionSet]]:
    """Return the vocabulary and the parts of the questions that a trial's settings describe."""
    chosen: dict[str, Any] = {name: trial.settings[name] for name in QUESTIONS if name in trial.settings}
    for name in ("kinds", "taught"):
        if name in chosen:
            chosen[name] = tuple(chosen[name])
    return load_questions(**chosen)
