"""Pre-train an encoder by QA-MLM, fine-tune a solver from it, and follow its accuracy.

::

    Splits.train --> join, mask_pairs --> fit(MaskedModel) --> initialise_solver --> fit(Solver) --> curve
                                          pre_steps                                  steps

Source: An (2021), section 5.3.2: the same questions train both stages.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import torch

from reasonlib import training
from reasonlib.arguments import check_at_least
from reasonlib.maths_qa.data.datasets import Splits
from reasonlib.maths_qa.data.encoding import Batch, Encoded, join
from reasonlib.maths_qa.data.masking import IGNORED, WHICH, Masked, mask_pairs
from reasonlib.maths_qa.data.metrics import by_module
from reasonlib.maths_qa.data.vocabulary import TOKENS, kind_of
from reasonlib.maths_qa.models.decoding import answer_all
from reasonlib.maths_qa.models.initialise import STARTS
from reasonlib.maths_qa.models.qa_mlm import MaskedModel, masked_loss
from reasonlib.maths_qa.models.transformer import SolverConfig, answer_loss
from reasonlib.training.batching import LengthBuckets
from reasonlib.training.nested import to_device
from reasonlib.training.settings import select_fields

__all__ = [
    "Recipe",
    "accuracies",
    "fill_accuracy",
    "fine_tune",
    "known_words",
    "pretrain",
    "recipe_of",
    "score",
]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a solver is pre-trained and fine-tuned; the defaults are the source's (section 5.3.2).

    Raises
    ------
    ValueError
        If a count is out of range or a choice is unknown.
    """

    start: str = "both"  # scratch | encoder | both
    which: str = "all"  # characters that QA-MLM hides, see `WHICH`
    share: float = 0.15  # of them
    pre_steps: int = 500_000  # optimiser steps of QA-MLM
    steps: int = 500_000  # of fine-tuning
    batch: int = 1024  # questions
    lr: float = 1e-4  # of Adam, in both stages
    betas: tuple[float, float] = (0.9, 0.999)  # the source prints none
    warmup: int = 0  # steps of each stage; the source prints none
    clip: float | None = None
    schedule: str = "constant"  # constant | linear
    every: int = 10_000  # steps between two measurements of the learning curve

    def __post_init__(self) -> None:
        object.__setattr__(self, "betas", tuple(self.betas))
        for name, value, choices in (("start", self.start, STARTS), ("which", self.which, WHICH)):
            if value not in choices:
                raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
        check_at_least(self, 1, "pre_steps", "steps", "batch", "every")
        for name in ("pre_steps", "steps"):
            if getattr(self, name) % self.every:
                raise ValueError(
                    f"{name} must be a multiple of every={self.every}, got {getattr(self, name)}"
                )


def recipe_of(settings: Mapping[str, Any]) -> tuple[Recipe, SolverConfig]:
    """Return the recipe and the sizes that a trial's settings describe."""
    return Recipe(**select_fields(Recipe, settings)), SolverConfig(**select_fields(SolverConfig, settings))


def _stream(problems: Encoded, recipe: Recipe, epoch: int, seed: int) -> Iterator[Batch]:
    """Yield the batches of `every` steps; questions of like length share one."""
    buckets = LengthBuckets(problems.lengths, batch_size=recipe.batch, seed=seed, pool=16)  # type: ignore[arg-type]
    passes, plan = -1, [[0]]
    for step in range(epoch * recipe.every, (epoch + 1) * recipe.every):
        if step // len(buckets) != passes:
            passes = step // len(buckets)
            plan = buckets.plan(passes)
        yield problems.batch(plan[step % len(plan)])


def pretrain(
    model: MaskedModel,
    problems: Encoded,
    recipe: Recipe,
    **options: Unpack[training.RunOptions],
) -> training.History:
    """Train a model in place to fill in hidden characters, for `pre_steps` steps."""
    seed = options.get("seed", 0)

    def batches(epoch: int) -> Iterator[Masked]:
        generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
        for batch in _stream(problems, recipe, epoch, seed):
            yield mask_pairs(join(batch), generator=generator, share=recipe.share, which=recipe.which)

    return training.fit_recipe(
        model,
        batches,
        recipe,
        loss=masked_loss,
        settings={"epochs": recipe.pre_steps // recipe.every},
        steps_per_epoch=recipe.every,
        **options,
    )


def fine_tune(
    solver: Any,
    splits: Splits,
    recipe: Recipe,
    *,
    steps: int | None = None,
    harder_after: int | None = None,
    **options: Unpack[training.RunOptions],
) -> training.History:
    """Train a solver in place to answer, and measure it after every `every` steps.

    Parameters
    ----------
    solver
        A `Solver` or `LSTMSolver` with its first weights.
    splits
        Questions. The curve is of the tests: nothing is chosen by it, neither weights nor the end.
    recipe
        Settings of the training.
    steps
        How many; by default those of the recipe.
    harder_after
        After how many steps the harder questions are asked, too; by default those of the recipe.
    **options
        Of the run, see `RunOptions`; the seed orders the batches.

    Returns
    -------
    History
        Each row has the `score` of the test; one has that of the harder questions under ``extrapolation``,
        and ``extrapolation.known_words``, exact match on those of them that have no word of their own.
    """
    seed = options.get("seed", 0)
    extrapolation_step = recipe.steps if harder_after is None else harder_after
    done = 0

    def count(epoch: int, rows: list[dict[str, float]]) -> None:
        nonlocal done
        done = (epoch + 1) * recipe.every

    def measure(model: Any) -> dict[str, float]:
        result = score(model, splits.test)
        if splits.extrapolation is not None and done == extrapolation_step:
            written = answer_all(model, splits.extrapolation)
            harder = accuracies(written, splits.extrapolation)
            result |= {name.replace("accuracy", "extrapolation", 1): share for name, share in harder.items()}
            items = np.flatnonzero(known_words(splits.train, splits.extrapolation))
            if len(items):
                right = [written[item] == splits.extrapolation.answer(item) for item in items.tolist()]
                result["extrapolation.known_words"] = float(np.mean(right))
        return result

    return training.fit_recipe(
        solver,
        lambda epoch: _stream(splits.train, recipe, epoch, seed),
        recipe,
        loss=answer_loss,
        settings={"epochs": (recipe.steps if steps is None else steps) // recipe.every},
        validate=measure,
        steps_per_epoch=recipe.every,
        on_epoch_start=count,
        **options,
    )


def accuracies(written: Sequence[str], problems: Encoded) -> dict[str, float]:
    """Return ``accuracy``, the mean of the modules' exact match, and ``accuracy.<module>`` of each."""
    answers = [problems.answer(item) for item in range(len(problems))]
    modules = [problems.modules[number] for number in problems.module.tolist()]
    shares = by_module(written, answers, modules)
    return {
        "accuracy": float(np.mean(list(shares.values()))),
        **{f"accuracy.{module}": share for module, share in shares.items()},
    }


def known_words(train: Encoded, problems: Encoded) -> np.ndarray:
    """Mark the questions (N,) whose words all occur in training: of the others no rule could be learned.

    A question for the *billions digit* is not marked where training asks for thousands at most.
    """
    words = [
        [set(_WORD.findall(part.question(item))) for item in range(len(part))] for part in (train, problems)
    ]
    seen = set().union(*words[0])
    return np.array([question_words <= seen for question_words in words[1]], dtype=bool)


_WORD = re.compile(r"[a-z]{2,}", re.IGNORECASE)


def score(model: Any, problems: Encoded, *, beam: int = 1) -> dict[str, float]:
    """Let a model answer; see `accuracies`."""
    return accuracies(answer_all(model, problems, beam=beam), problems)


@torch.no_grad()
def fill_accuracy(
    model: MaskedModel, problems: Encoded, *, share: float = 0.15, seed: int = 0, size: int = 256
) -> dict[str, float]:
    """Return the share of hidden numbers, letters and symbols that are guessed right (table 5.1).

    Characters are drawn and hidden as in training, by the 80/10/10 rule, whichever the model was trained on.
    """
    training_mode = model.training
    model.eval()
    generator = torch.Generator().manual_seed(seed)
    kinds = np.array([kind_of(token) if len(token) == 1 else "" for token in TOKENS])
    right: dict[str, list[bool]] = {"number": [], "alphabet": [], "symbols": []}
    for start in range(0, len(problems), size):
        batch = problems.batch(np.arange(start, min(start + size, len(problems))))
        masked = mask_pairs(join(batch), generator=generator, share=share)
        chosen = masked.labels != IGNORED
        labels = masked.labels[chosen]
        logits = model(to_device(masked.seen, model.output.weight.device)).cpu()
        correct = (logits[chosen].argmax(-1) == labels).numpy()
        for kind, results in right.items():
            results.extend(correct[kinds[labels.numpy()] == kind].tolist())
    model.train(training_mode)
    return {
        f"mlm.{kind}": float(np.mean(results)) if results else float("nan") for kind, results in right.items()
    }
