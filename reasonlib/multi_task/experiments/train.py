"""Train one encoder with the heads of one task or of many, and measure it.

::

    Splits of each task -> EncodedExample -> plan of steps (algorithm 1) -> training.fit -> metrics
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import torch

from reasonlib import training
from reasonlib.arguments import check_at_least
from reasonlib.multi_task.data.datasets import Splits
from reasonlib.multi_task.data.encoding import Batch, EncodedExample, batches, collate, encode
from reasonlib.multi_task.data.example import Example, Task
from reasonlib.multi_task.data.metrics import score
from reasonlib.multi_task.data.sampling import plan
from reasonlib.multi_task.models.encoder import load_encoder
from reasonlib.multi_task.models.frozen import freeze_lower
from reasonlib.multi_task.models.multi_task import HeadConfig, MultiTask, task_loss
from reasonlib.training.batching import LengthBuckets
from reasonlib.training.encoders import EncoderConfig, small_encoder
from reasonlib.training.settings import select_fields

__all__ = ["MixedBatches", "Recipe", "Trained", "adamw", "build", "evaluate", "predict", "recipe_of", "train"]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a system is made and trained.

    Raises
    ------
    ValueError
        If a count is below 1.
    """

    encoder: str | None = None  # a hub name or folder; None for the bundled encoder
    scratch: bool = False  # whether the encoder starts from random weights of the bundled one's sizes
    pair: str = "san"
    ranking: str = "relevance"
    dropout: float = 0.1
    steps: int = 5
    answer_dropout: float = 0.1
    gamma: float = 1.0
    epochs: int = 5
    batch: int = 32
    least_steps: int = 1  # for each task of a training run; small sets are repeated to reach it
    lr: float = 5e-5
    warmup: float = 0.1  # share of the steps
    clip: float = 1.0
    rule: str = "proportional"  # which task comes next
    longest: int = 128  # tokens
    half: bool = False  # whether the encoder multiplies matrices in bfloat16
    frozen: int = 0  # lower layers of the encoder that are not trained, and the lexicon with them

    def __post_init__(self) -> None:
        check_at_least(self, 1, "epochs", "batch", "least_steps")

    @property
    def heads(self) -> HeadConfig:
        """The configuration of the heads."""
        return HeadConfig(
            pair=self.pair,
            ranking=self.ranking,
            dropout=self.dropout,
            steps=self.steps,
            answer_dropout=self.answer_dropout,
            gamma=self.gamma,
        )


def adamw(recipe: Recipe, steps: int) -> dict[str, Any]:
    """Return the optimiser's settings: the rate rises for the first share of all steps, then falls to 0.

    Parameters
    ----------
    recipe
        Says the share.
    steps
        Of an epoch.
    """
    warmup = max(1, round(recipe.warmup * steps * recipe.epochs))
    return {"optimiser": "adamw", "weight_decay": 0.01, "schedule": "linear", "warmup": warmup}


def recipe_of(settings: Mapping[str, Any]) -> Recipe:
    """Return the recipe that a trial's settings describe."""
    return Recipe(**select_fields(Recipe, settings))


class Trained(NamedTuple):
    """A trained system, its tokenizer, and what happened."""

    model: MultiTask
    tokenizer: Any
    history: training.History


def build(
    recipe: Recipe, tasks: Sequence[Task], *, seed: int, encoder: tuple[Any, Any] | None = None
) -> tuple[MultiTask, Any]:
    """Build an untrained system: a pre-trained encoder, or a random one, with new heads.

    Parameters
    ----------
    recipe
        Names the encoder, and configures the heads.
    tasks
        One head each.
    seed
        Draws new weights.
    encoder
        A pre-trained encoder, which is copied, and its tokenizer, in place of the one that the recipe names.
    """
    if encoder is not None:
        return _system(copy.deepcopy(encoder[0]), tasks, recipe, seed), encoder[1]
    network, tokenizer = load_encoder(recipe.encoder)
    network = freeze_lower(network, recipe.frozen, name=str(recipe.encoder))
    if recipe.scratch:
        config = network.config
        sizes = EncoderConfig(
            layers=config.num_hidden_layers,
            heads=config.num_attention_heads,
            width=config.hidden_size,
            embedding=getattr(config, "embedding_size", config.hidden_size),
            inner=config.intermediate_size,
            longest=config.max_position_embeddings,
        )
        network = small_encoder(sizes, len(tokenizer), seed=seed)
    return _system(network, tasks, recipe, seed), tokenizer


def _system(network: Any, tasks: Sequence[Task], recipe: Recipe, seed: int) -> MultiTask:
    return MultiTask(network, tasks, recipe.heads, seed=seed, half=recipe.half)


class MixedBatches:
    """The mini-batches of several tasks in the order of algorithm 1.

    Parameters
    ----------
    tasks
        Name of each task.
    encoded
        Training examples of each.
    size
        Examples in a mini-batch.
    rule
        Which task comes next; see `reasonlib.multi_task.data.sampling`.
    seed
        Draws the orders.
    padding
        Id of the padding token.
    """

    def __init__(
        self,
        tasks: Sequence[str],
        encoded: Sequence[Sequence[EncodedExample]],
        *,
        size: int,
        rule: str = "proportional",
        seed: int = 0,
        padding: int = 0,
    ) -> None:
        self.tasks, self.encoded, self.rule, self.seed, self.padding = tasks, encoded, rule, seed, padding
        self.buckets = [
            LengthBuckets([example.length for example in examples], batch_size=size, seed=seed)
            for examples in encoded
        ]
        self.sizes = [len(buckets) for buckets in self.buckets]

    def __len__(self) -> int:
        return len(plan(self.sizes, rule=self.rule))

    def epoch(self, epoch: int) -> Iterator[Batch]:
        """Give an epoch's mini-batches; a task goes on where it stopped in the epoch before."""
        # excerpt: algorithm
        # merge the mini-batches of all tasks, and shuffle them
        order = plan(self.sizes, rule=self.rule, seed=self.seed, epoch=epoch)
        done = [epoch * order.count(task) for task in range(len(self.tasks))]
        for task in order:
            task_epoch, position = divmod(done[task], self.sizes[task])
            items = self.buckets[task].plan(task_epoch)[position]
            done[task] += 1
            examples = [self.encoded[task][item] for item in items]
            yield collate(examples, self.tasks[task], padding=self.padding)
        # end excerpt


@torch.no_grad()
def predict(
    model: MultiTask, examples: Sequence[EncodedExample], task: str, *, padding: int = 0, size: int = 64
) -> list[Any]:
    """Predict a class, a similarity, or the scores of candidates for each example, in the order given."""
    was_training, device = model.training, next(model.parameters()).device
    model.eval()
    predictions: list[Any] = [None] * len(examples)
    for items, batch in batches(examples, model.tasks[task], size=size, padding=padding):
        moved = batch.to(device)
        for item, value in zip(items, model.predictions(model(moved), moved), strict=True):
            predictions[item] = value
    model.train(was_training)
    return predictions


def evaluate(
    model: MultiTask, tokenizer: Any, task: Task, examples: Sequence[Example], *, longest: int = 128
) -> dict[str, float]:
    """Return the metrics of a task on some examples."""
    encoded = encode(examples, tokenizer, longest=longest)
    predictions = predict(model, encoded, task.name, padding=tokenizer.pad_token_id)
    return score(task, examples, predictions)


def train(
    recipe: Recipe,
    splits: Sequence[Splits],
    *,
    start: Trained | None = None,
    encoder: tuple[Any, Any] | None = None,
    validate: bool = True,
    device: str = "cpu",
    **options: Unpack[training.RunOptions],
) -> Trained:
    """Train the encoder and the heads of some tasks; keep the epoch with the best mean on valid.

    Parameters
    ----------
    recipe
        What to train, and how.
    splits
        The tasks, one or more; test is not read.
    start
        A trained system to go on from, which is left as it is; its heads of these tasks are kept. By default
        a new one.
    encoder
        As of `build`.
    validate
        Whether to choose the epoch by validation; if not, the last one counts.
    device
        Where to train.
    **options
        Of the run, see `RunOptions`; the seed draws the heads' first weights and the order of the batches.
    """
    seed = options.get("seed", 0)
    if start is None:
        model, tokenizer = build(recipe, [split.task for split in splits], seed=seed, encoder=encoder)
    else:
        model, tokenizer = copy.deepcopy(start.model), start.tokenizer
    model.to(device)
    names = [split.task.name for split in splits]
    mixed = MixedBatches(
        names,
        [encode(split.train, tokenizer, longest=recipe.longest) for split in splits],
        size=recipe.batch,
        rule=recipe.rule,
        seed=seed,
        padding=tokenizer.pad_token_id,
    )
    valid = [encode(split.valid, tokenizer, longest=recipe.longest) for split in splits]

    def validation(model: MultiTask) -> dict[str, float]:
        scores = {}
        for split, encoded in zip(splits, valid, strict=True):
            predictions = predict(model, encoded, split.task.name, padding=tokenizer.pad_token_id)
            scores[split.task.name] = score(split.task, split.valid, predictions)[split.task.metric]
        return {"mean": sum(scores.values()) / len(scores), **scores}

    least = recipe.least_steps * len(splits)
    repeats = max(1, -(-least // (recipe.epochs * len(mixed))))  # of the sets, an epoch
    steps = repeats * len(mixed)

    def epoch_batches(epoch: int) -> Iterator[Batch]:
        for number in range(epoch * repeats, (epoch + 1) * repeats):
            yield from mixed.epoch(number)

    history = training.fit_recipe(
        model,
        epoch_batches,
        recipe,
        loss=task_loss,
        settings=adamw(recipe, steps) | {"restore_best": validate},
        validate=validation if validate else None,
        monitor="mean" if validate else "loss",
        identity={"tasks": names},
        steps_per_epoch=steps,
        weight=lambda batch: float(len(batch.labels)),
        **options,
    )
    return Trained(model, tokenizer, history)
