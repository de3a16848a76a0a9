"""Pre-training a small BERT, and how well it guesses (Devlin et al. 2019, section 3.1)."""

import copy
import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Unpack

import torch
from torch import Tensor
from torch.nn import functional

from reasonlib import training
from reasonlib.arguments import check_at_least
from reasonlib.tracking.experiment import Experiment, Measured, Trial, subset
from reasonlib.training import RunOptions
from reasonlib.training.masked_words import UNSCORED, mask_tokens
from reasonlib.training.vocabulary import Vocabulary
from reasonlib.transformer.data.datasets import DATA, labelled_stories, texts
from reasonlib.transformer.data.masking import MaskedBatch, next_sentence_pairs
from reasonlib.transformer.data.pairs import (
    MASK,
    SPECIALS,
    Pairs,
    cloze_pairs,
    pack,
    statement_pairs,
    story_vocabulary,
)
from reasonlib.transformer.data.stories import make_statements
from reasonlib.transformer.experiments.finetune import TUNED_AT, fine_tune, pair_accuracy
from reasonlib.transformer.models.bert import Bert, BertConfig, Classifier, Cloze

__all__ = ["PretrainingRecipe", "masked_accuracy", "pretrain"]


@dataclass(frozen=True, kw_only=True)
class PretrainingRecipe:
    """How to pre-train, and by which tasks.

    Raises `ValueError` if a number is out of range or no task is left.
    """

    steps: int = 1000  # optimiser steps
    batch: int = 64  # pairs in each
    lr: float = 2e-3  # peak; it then falls to zero
    warmup: float = 0.1  # share of the steps
    share: float = 0.15  # of the words, asked for
    rule: tuple[float, float, float] = (0.8, 0.1, 0.1)  # hidden, random, kept
    masked: bool = True  # masked language model
    following: bool = True  # next sentence prediction

    def __post_init__(self) -> None:
        check_at_least(self, 1, "steps", "batch")
        if not (self.masked or self.following):
            raise ValueError("masked or following must be true: there is nothing to learn")


def pretrain(
    model: Bert,
    texts: Callable[[int], Sequence[Sequence[Sequence[str]]]],
    vocabulary: Vocabulary,
    recipe: PretrainingRecipe,
    **options: Unpack[RunOptions],
) -> training.History:
    """Pre-train in place on texts that need no labels; the loss is the sum of the tasks'.

    Without next sentence prediction no second part is exchanged: every text is whole.

    Parameters
    ----------
    model
        Trained in place.
    texts
        ``texts(round)`` gives texts, each a list of sentences of words; a round is cut into batches, then the
        next is asked for.
    vocabulary
        Of the words.
    recipe
        Steps, tasks, rates; there are ten epochs.
    **options
        Of the run, see `RunOptions`; the seed draws cuts, exchanges and hidden words.
    """
    epochs, each = training.divide_steps(recipe.steps)
    seed = options.get("seed", 0)

    def batches(epoch: int) -> Iterator[MaskedBatch]:
        masked = (
            batch
            for number in itertools.count(epoch * 10_000)
            for batch in _mask_round(texts(number), number, vocabulary, recipe, seed)
        )
        return itertools.islice(masked, each)

    settings = {
        **training.ADAMW_LINEAR,
        "epochs": epochs,
        "warmup": round(recipe.warmup * each * epochs),
    }
    identity = {"model": asdict(model.config)}
    return training.fit_recipe(
        model,
        batches,
        recipe,
        loss=partial(_loss, recipe),
        settings=settings,
        identity=identity,
        steps_per_epoch=each,
        **options,
    )


def _mask_round(
    texts: Sequence[Sequence[Sequence[str]]],
    number: int,
    vocabulary: Vocabulary,
    recipe: PretrainingRecipe,
    seed: int,
) -> Iterator[MaskedBatch]:
    """Give one round of texts in batches: cut into pairs, some exchanged, some words hidden."""
    generator = torch.Generator().manual_seed(seed * 1_000_003 + number)
    draw = random.Random(f"{seed}:{number}")
    parts = next_sentence_pairs(texts, draw, exchanged=0.5 if recipe.following else 0.0)
    pairs = pack([(a, b) for a, b, _ in parts], vocabulary)
    follows = torch.tensor([0 if continues else 1 for *_, continues in parts])
    for items in torch.randperm(len(parts), generator=generator).split(recipe.batch):
        batch = pairs.take(items)
        seen, labels = mask_tokens(
            batch.tokens,
            words=len(vocabulary),
            first=len(SPECIALS),
            mask=MASK,
            share=recipe.share,
            rule=recipe.rule,
            generator=generator,
        )
        yield MaskedBatch(Pairs(seen, batch.segments), labels, follows[items])


def _loss(recipe: PretrainingRecipe, model: Bert, batch: MaskedBatch) -> Tensor:
    """Add the losses of the tasks: of the hidden words, as a mean over them, and of the next sentences."""
    total = torch.zeros(())
    encoded = model.encode(batch.pairs)
    if recipe.masked:
        selected = batch.labels != UNSCORED
        logits = model.guesses(encoded.output[selected])  # (words selected, V)
        targets = batch.labels[selected]
        total = total + functional.cross_entropy(logits, targets, reduction="sum") / max(1, len(targets))
    if recipe.following:
        logits = model.follows(model.summary(encoded))
        total = total + functional.cross_entropy(logits, batch.follows)
    return total


@torch.no_grad()
def masked_accuracy(
    model: Bert,
    texts: Sequence[Sequence[Sequence[str]]],
    vocabulary: Vocabulary,
    *,
    places: Callable[[Sequence[str], int], bool] | None = None,
    seed: int = 0,
) -> dict[str, float]:
    """Measure both pre-training tasks on texts.

    Parameters
    ----------
    model
        Pre-trained or not.
    texts
        Fresh ones.
    vocabulary
        Of the words.
    places
        Which words to ask for, from the words of a pair and a place in them; by default
        `mask_tokens` draws them.
        Each asked word is hidden by [MASK].
    seed
        Draws cuts, exchanges and hidden words.

    Returns
    -------
    dict
        ``words``, the share of hidden words guessed, and ``follows``, of pairs correct_order apart.
    """
    mode = model.training
    model.eval()
    parts = next_sentence_pairs(texts, random.Random(f"{seed}:measured"))
    pairs = pack([(a, b) for a, b, _ in parts], vocabulary)
    generator = torch.Generator().manual_seed(seed)
    seen, labels = mask_tokens(
        pairs.tokens,
        words=len(vocabulary),
        first=len(SPECIALS),
        mask=MASK,
        rule=(1.0, 0.0, 0.0),
        generator=generator,
    )
    if places is not None:
        chosen = torch.tensor(
            [
                [
                    position < len(words) and places(words, position)
                    for position in range(pairs.tokens.shape[1])
                ]
                for words in (vocabulary.decode(row) for row in pairs.tokens.tolist())
            ]
        )
        labels = torch.where(chosen, pairs.tokens, torch.full_like(labels, UNSCORED))
        seen = torch.where(chosen, torch.full_like(seen, MASK), pairs.tokens)
    output = model(Pairs(seen, pairs.segments))
    selected = labels != UNSCORED
    right = output.mlm_logits.argmax(-1)[selected] == labels[selected]
    follows = torch.tensor([0 if continues else 1 for *_, continues in parts])
    correct_order = output.nsp_logits.argmax(-1) == follows
    model.train(mode)
    return {"words": float(right.float().mean()), "follows": float(correct_order.float().mean())}


def _later(first: int, number: int) -> list[list[tuple[str, ...]]]:
    return texts(first + number)


def run_pretraining(trial: Trial) -> Measured:
    """Pre-train or not, fine-tune on few labels, on many, on statements: each in as many steps in all."""
    settings = trial.settings
    words = story_vocabulary()
    config = BertConfig(vocabulary=len(words), hidden=settings["hidden"])
    bert = Bert(config, seed=trial.seed)
    before = round(settings["steps"] * settings["share"]) if settings["pre"] else 0
    done = planned = 0
    details: dict[str, Any] = {}
    metrics: dict[str, float] = {"pre.words": float("nan"), "pre.follows": float("nan")}
    for number, phase in enumerate(settings["pre"]):
        how = PretrainingRecipe(
            steps=before // len(settings["pre"]), batch=settings["batch"], lr=settings["lr"], **phase
        )
        history = pretrain(
            bert,
            partial(_later, 500_000 * number),
            words,
            how,
            **trial.stage(f"pre-{number}").options,
        )
        details[f"pre-{number}"] = [row["loss"] for row in history]
        done, planned = done + history.steps_done, planned + history.steps_planned
        if history.stopped != "finished":  # what follows starts from the end of this phase alone
            return Measured(
                metrics=metrics, steps_done=done, steps_planned=settings["steps"], details=details
            )
    if before:
        measured = masked_accuracy(bert, texts(-1, stories=400), words)
        metrics |= {f"pre.{name}": value for name, value in measured.items()}
    labelled = {name: labelled_stories(settings[name], 1) for name in ("few", "many")}
    test_stories = labelled_stories(settings["test_size"], 2)
    gaps = cloze_pairs(test_stories, words)
    tasks = {
        "answers": (cloze_pairs(labelled["few"], words), gaps),
        "answers.many": (cloze_pairs(labelled["many"], words), gaps),
        "statements": (
            statement_pairs(make_statements(labelled["many"], seed=0), words),
            statement_pairs(make_statements(test_stories, seed=1), words),
        ),
    }
    for name, (train, tested) in tasks.items():
        model: Classifier | Cloze = Cloze(copy.deepcopy(bert))
        if name == "statements":
            model = Classifier(copy.deepcopy(bert), train.choices, seed=trial.seed)
        history = fine_tune(
            model,
            train,
            steps=settings["steps"] - before,
            batch=settings["batch"],
            lr=TUNED_AT[bool(before)],
            **trial.stage(name).options,
        )
        metrics[name] = pair_accuracy(model, tested)
        shown = train.take(torch.arange(min(len(train), len(tested))))
        metrics[f"{name}.learnt"] = pair_accuracy(model, shown)
        details[name] = [row["loss"] for row in history]
        done, planned = done + history.steps_done, planned + history.steps_planned
    return Measured(metrics=metrics, steps_done=done, steps_planned=planned, details=details)


PRETRAINING = Experiment(
    name="transformer/pretraining",
    title="BERT in miniature: fine-tuned with and without pre-training, for the same number of steps",
    rows={
        "from-scratch": {"pre": ()},
        "masked": {"pre": ({"following": False},)},
        "masked-following": {"pre": ({},)},
        "masked-then-both": {"pre": ({"following": False}, {})},
        "following": {"pre": ({"masked": False},)},
        "all-hidden": {"pre": ({"following": False, "rule": (1.0, 0.0, 0.0)},)},
    },
    scales={
        "smoke": {
            "steps": 8, "share": 0.5, "batch": 4, "lr": 3e-3, "hidden": 32, "few": 10,
            "many": 20, "test_size": 10,
        },
        "quick": {
            "steps": 2000, "share": 0.8, "batch": 32, "lr": 3e-3, "hidden": 128, "few": 200,
            "many": 4000, "test_size": 400,
        },
        "paper": {
            "steps": 4000, "share": 0.875, "batch": 32, "lr": 3e-3, "hidden": 128, "few": 200,
            "many": 4000, "test_size": 1000,
        },
    },
    data=subset(DATA, "simulated"),
    run=run_pretraining,
    shares={"*.learnt": 0, "answers*": "test_size", "statements": "test_size", "*": 0},
)  # fmt: skip
