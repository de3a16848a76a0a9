r"""Training of supervised embeddings: the right candidate is to win by a margin (Bordes et al. 2017, 5.3).

.. math:: \max(0,\ m - f(x, y) + f(x, \bar y))

summed over candidates :math:`\bar y` that are drawn at random for each example.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from reasonlib.arguments import check_at_least
from reasonlib.goal_dialogue.data.example import Example, Split, examples
from reasonlib.goal_dialogue.models.supervised import SupervisedSystem

__all__ = ["SupervisedRecipe", "fit_supervised", "train_supervised"]


@dataclass(frozen=True, kw_only=True)
class SupervisedRecipe:
    """Sizes of supervised embeddings, and how they are trained.

    Raises `ValueError` if a number breaks its rule.
    """

    width: int = 32  # D of both tables
    margin: float = 1.0  # m, by which the right candidate is to win
    negatives: int = 1000  # candidates drawn for each example
    epochs: int = 20
    batch_size: int = 32
    lr: float = 0.01  # first step of Adam, which falls to zero
    history: bool | None = None  # read all that was said, or the last utterance; None: all in tasks 1 and 5

    def __post_init__(self) -> None:
        check_at_least(self, 1, "width", "negatives", "epochs", "batch_size")
        for name in ("margin", "lr"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, got {getattr(self, name)}")


def train_supervised(
    system: SupervisedSystem,
    train: Sequence[Example],
    valid: Sequence[Example],
    recipe: SupervisedRecipe,
    *,
    generator: torch.Generator,
) -> list[float]:
    """Train, and keep the tables that answer most of `valid`.

    Parameters
    ----------
    system
        Trained in place.
    train, valid
        Turns to learn from, and to choose the epoch by.
    recipe
        How to train.
    generator
        Draws the order of the examples and the negatives.

    Returns
    -------
    list of float
        Fraction of right responses in `valid` after each epoch.
    """
    model, inputs = system.model, system.encode(train)
    right = torch.tensor([system.candidate_ids[turn.response] for turn in train])
    optimiser = torch.optim.Adam(model.parameters(), lr=recipe.lr)
    steps = recipe.epochs * -(-len(inputs) // recipe.batch_size)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: max(0.0, 1 - step / steps))
    curve: list[float] = []
    best = {name: value.clone() for name, value in model.state_dict().items()}
    for _ in range(recipe.epochs):
        model.train()
        for items in torch.randperm(len(inputs), generator=generator).split(recipe.batch_size):
            scores = system.scores([inputs[item] for item in items.tolist()])
            target = right[items]
            negatives = torch.randint(
                len(system.candidates), (len(items), recipe.negatives), generator=generator
            )
            losses = recipe.margin - scores.gather(1, target[:, None]) + scores.gather(1, negatives)
            loss = (losses.clamp_min(0) * (negatives != target[:, None])).sum(dim=1).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
        answers = system.answer(valid)
        accuracy = sum(turn.response == text for turn, text in zip(valid, answers, strict=True)) / len(valid)
        if accuracy > max(curve, default=-1.0):
            best = {name: value.clone() for name, value in model.state_dict().items()}
        curve.append(accuracy)
    model.load_state_dict(best)
    return curve


def fit_supervised(
    split: Split, recipe: SupervisedRecipe | None = None, *, match: bool = False, seed: int = 0
) -> tuple[SupervisedSystem, list[float]]:
    """Train supervised embeddings on one task.

    Parameters
    ----------
    split
        The task; its validation set chooses the epoch.
    recipe
        Sizes and training.
    match
        Whether to add match features.
    seed
        Draws the first vectors, the order of the examples and the negatives.

    Returns
    -------
    SupervisedSystem, list of float
        And the fraction of right responses in the validation set after each epoch.
    """
    recipe = recipe or SupervisedRecipe()
    generator = torch.Generator().manual_seed(seed)
    history = split.task in (1, 5) if recipe.history is None else recipe.history
    system = SupervisedSystem(split, width=recipe.width, history=history, match=match, generator=generator)
    train, valid = list(examples(split.train)), list(examples(split.valid))
    curve = train_supervised(system, train, valid, recipe, generator=generator)
    return system, curve
