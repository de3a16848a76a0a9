"""The same systems on released sets: RTE, MRPC, CoLA, STS-B, SST-2 and WikiQA.

::

    measured on    the development part (RTE, CoLA, STS-B, SST-2), the test part (MRPC, WikiQA)
    validated on   a tenth of the training part at most, and `checked` examples at most
    trained on     the rest, `most` examples of a set at most, drawn by the seed

WikiQA stands in for QNLI, whose training part is not available: it has 857 questions, QNLI 108,000 pairs. A
training question keeps a right answer and `CANDIDATES` - 1 others, and counts as `CANDIDATES` examples; so
does a question of the other parts, which keeps all its candidates.

Rows that begin with the same training share it: the pre-training of an encoder of our own, and the joint
training before fine-tuning or adaptation.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from reasonlib.data import locate, version
from reasonlib.errors import DataError
from reasonlib.multi_task.data import corpus
from reasonlib.multi_task.data.datasets import Splits, load_simulated
from reasonlib.multi_task.data.example import Example
from reasonlib.multi_task.data.glue import TASKS
from reasonlib.multi_task.data.simulator import Text
from reasonlib.multi_task.experiments.adaptation import adapt_to
from reasonlib.multi_task.experiments.joint import joint_stage, load_family, run_on
from reasonlib.multi_task.experiments.train import Trained, recipe_of, train
from reasonlib.multi_task.models.own_encoder import OwnEncoder, own_encoder
from reasonlib.multi_task.models.pretrain import masked_accuracy
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.tracking.trials import measured

__all__ = ["SETS", "load_real", "real_version", "run_real", "run_real_adaptation"]

SETS: Mapping[str, tuple[str, str]] = {
    "rte": ("train", "dev"),
    "mrpc": ("train", "test"),
    "cola": ("train", "dev"),
    "stsb": ("train", "dev"),
    "sst2": ("train", "dev"),
    "wikiqa": ("train", "test"),
    "snli": ("dev", "test"),
    "scitail": ("dev", "test"),
    "quora": ("dev", "test"),
}
"""Set to the part that trains and the part that measures; SNLI, SciTail and Quora have no training part."""

CANDIDATES = 5
"""Answers of a training question; in valid and test it keeps all, up to thirty."""

FAMILY = ("rte", "mrpc", "cola", "stsb", "sst2", "wikiqa")
NEW: Mapping[str, str | None] = {"snli": None, "scitail": "rte"}
"""New sets, and the set whose head has the same labels."""

SLIDE = tuple(
    Example(first=first, second=second, label=TASKS["snli"].labels.index(label), task="snli")
    for first, second, label in (
        ("The man is holding a saxophone", "The man is holding an electric guitar", "contradiction"),
        ("A little girl is very sad.", "A little girl is very unhappy.", "entailment"),
        ("A couple drinking wine", "A couple drinking champagne", "neutral"),
    )
)
"""The pairs of the source's last slide, which come from Glockner et al. (2018)."""


def real_version(data: str) -> str | None:
    """Name the state of the files that are read; None where one is not on this machine."""
    if data != "sentence-tasks":
        return None
    try:
        return "+".join(version(locate(corpus.CORPORA[name]))[:8] for name in SETS)
    except DataError:
        return None


@lru_cache(maxsize=32)
def _part(name: str, part: str) -> tuple[Example, ...]:
    return tuple(corpus.read(name, part))


def load_real(name: str, *, most: int, checked: int, asked: int, seed: int) -> Splits:
    """Read a set and split it.

    Parameters
    ----------
    name
        A key of `SETS`.
    most
        Training examples at most; a question counts as `CANDIDATES` of them.
    asked
        Test examples at most, a question as `CANDIDATES`: the first of a fixed permutation.
    checked
        Validation examples at most, a question as `CANDIDATES`; never more than a tenth of the training part.
    seed
        Draws which training examples and which of their candidates are used; valid and test are the same for
        every seed.
    """
    trained, measured = SETS[name]
    examples, test = _part(name, trained), _part(name, measured)
    ranking = TASKS[name].kind == "ranking"
    if ranking:
        checked, asked = checked // CANDIDATES, asked // CANDIDATES
    fixed = np.random.default_rng(0)
    order, chosen = fixed.permutation(len(examples)), fixed.permutation(len(test))[:asked]
    valid_count = min(checked, len(examples) // 10)
    draw = np.random.default_rng(seed + 1)
    rest = draw.permutation(order[valid_count:])
    if ranking:
        train = tuple(_shorten(examples[number], draw) for number in rest[: max(1, most // CANDIDATES)])
    else:
        train = tuple(examples[number] for number in rest[:most])
    return Splits(
        TASKS[name],
        train,
        tuple(examples[number] for number in order[:valid_count]),
        tuple(test[number] for number in sorted(chosen)),
    )


def _shorten(question: Example, draw: np.random.Generator) -> Example:
    """Keep the right answer and some of the wrong ones, in the order they have."""
    right = {int(question.label), *question.others}
    wrong = [number for number in range(len(question.candidates)) if number not in right]
    count = min(CANDIDATES - 1, len(wrong))
    kept = sorted([int(question.label), *draw.choice(wrong, size=count, replace=False).tolist()])
    return replace(
        question,
        candidates=tuple(question.candidates[number] for number in kept),
        label=kept.index(int(question.label)),
        others=(),
    )


def _load_all(trial: Trial) -> list[Splits]:
    settings = trial.settings
    if trial.data == "simulated":  # the same run, on sets that every machine has
        return load_family({**settings, "share": 0.03}, seed=trial.seed)
    return [
        load_real(
            name, most=settings["most"], checked=settings["checked"], asked=settings["asked"], seed=trial.seed
        )
        for name in FAMILY
    ]


def unlabelled(examples: Iterable[Example], *, most: int) -> tuple[list[Text], list[Text]]:
    """Return what an encoder of our own reads: inputs without their labels.

    Parameters
    ----------
    examples
        Of all sets.
    most
        Texts at most.

    Returns
    -------
    texts, unseen
        Single sentences, and pairs, of which one in seven has the second sentence of another pair; apart from
        them, a tenth as many that the encoder does not read, 200 at most.
    """
    draw = np.random.default_rng(0)
    inputs = sorted({(first, second or "") for example in examples for first, second in example.texts})
    chosen = [inputs[number] for number in draw.permutation(len(inputs))[:most]]
    seconds = [second for _, second in chosen if second] or [""]
    texts = []
    for first, second in chosen:
        follows = bool(draw.random() < 6 / 7)
        other = seconds[int(draw.integers(len(seconds)))]
        texts.append(Text(first, (second if follows else other) if second else None, follows))
    unseen_count = min(200, len(texts) // 11)
    return texts[unseen_count:], texts[:unseen_count]


_SIZES = ("pieces", "passes", "width", "layers")


def _unlabelled_parts(trial: Trial) -> tuple[list[Text], list[Text]]:
    """Return what an encoder of our own reads, and what it does not; see `unlabelled`."""
    if trial.data == "simulated":
        parts = [split.train for split in _load_all(trial)]
    else:
        parts = [_part(name, SETS[name][0]) for name in FAMILY]
    return unlabelled(chain.from_iterable(parts), most=trial.settings["texts"])


def pretrain_own(stage: Trial) -> OwnEncoder:
    """Pre-train an encoder of our own on the inputs of all sets, without their labels."""
    texts, _ = _unlabelled_parts(stage)
    sizes = {name: stage.settings[name] for name in _SIZES}
    return own_encoder(texts, **sizes, device=stage.device, **stage.options)


def _own_encoder(trial: Trial) -> OwnEncoder | None:
    """Return the encoder that a row asks to be pre-trained first; None if it names one.

    On released sets from seed 0, as there is one BERT: the seeds of a row differ in what follows.
    """
    settings = trial.settings
    if not settings.get("own"):
        return None
    names = ("texts", "checked", "asked", *_SIZES)  # the sizes of simulated sets are among them
    stage = {name: settings[name] for name in names}
    seed = trial.seed if trial.data == "simulated" else 0
    return trial.shared_stage("encoder", pretrain_own, stage, seed=seed)


def _encoder_of(own: OwnEncoder | None) -> tuple[Any, Any] | None:
    return None if own is None else (own.masked.albert, own.tokenizer)


def train_together(stage: Trial) -> Trained:
    """Train all sets together, from the encoder of the row."""
    encoder = _encoder_of(_own_encoder(stage))
    recipe = recipe_of(stage.settings)
    return train(recipe, _load_all(stage), encoder=encoder, device=stage.device, **stage.options)


def _begin(trial: Trial, run: Callable[[tuple[Any, Any] | None, Trained | None], Measured]) -> Measured:
    """Give a row its encoder, and its system after joint training where it has any; then run it.

    Out of its minutes, a trial ends with the pre-training; the next run continues from there.
    """
    own = _own_encoder(trial)
    metrics = {}
    if own is not None:
        _, unseen = _unlabelled_parts(trial)
        metrics["masked_accuracy"] = masked_accuracy(own.masked, own.tokenizer, unseen)
        if own.history.stopped != "finished":  # what follows starts from the end of pre-training alone
            return measured(own.history, metrics)
    together = joint_stage(trial, train_together) if trial.settings.get("joint", True) else None
    after = run(_encoder_of(own), together)
    if own is None:
        return after
    return replace(
        after,
        metrics={**after.metrics, **metrics},
        steps_done=after.steps_done + own.history.steps_done,
        steps_planned=after.steps_planned + own.history.steps_planned,
    )


def run_real(trial: Trial) -> Measured:
    """Train and measure one row on the six sets."""
    splits = _load_all(trial)
    return _begin(trial, lambda encoder, together: run_on(trial, splits, encoder=encoder, together=together))


def run_real_adaptation(trial: Trial) -> Measured:
    """Adapt to shares of SNLI and SciTail, of which the development parts train; ask the slide's pairs."""
    splits = _load_all(trial)
    sizes = {"most": trial.settings["new"], **{name: trial.settings[name] for name in ("checked", "asked")}}
    new: dict[str, tuple[Splits, str | None]]
    if trial.data == "simulated":
        new = {"captions": (load_simulated("captions", train=20, valid=8, test=10, seed=trial.seed), None)}
    else:
        new = {name: (load_real(name, **sizes, seed=trial.seed), head) for name, head in NEW.items()}
    slide = {} if trial.data == "simulated" else {"snli": SLIDE}

    def adapt(encoder: tuple[Any, Any] | None, together: Trained | None) -> Measured:
        return adapt_to(trial, splits, new, encoder=encoder, together=together, further=slide)

    return _begin(trial, adapt)
