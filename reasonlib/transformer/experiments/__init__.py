"""The tables of this topic as experiments: what each row is, how it is trained, what is measured."""

import copy
from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from hashlib import sha256
from typing import Any

import torch

from reasonlib.tracking.experiment import Experiment, Measured, Trial
from reasonlib.training import History
from reasonlib.transformer.data import tokenizers
from reasonlib.transformer.data.simulator import shares, simulate
from reasonlib.transformer.data.stories import Story, claims_of, simulate_stories
from reasonlib.transformer.experiments import bleu
from reasonlib.transformer.experiments.tasks import LENGTHS, RECIPES, TAGGED, Recipe, accuracy, encode, solve
from reasonlib.transformer.models import decoding, lookup, pretrained, pretraining

__all__ = ["EXPERIMENTS", "LABELS", "texts"]


def _measured(history: History, metrics: Mapping[str, float]) -> Measured:
    return Measured(
        metrics=metrics,
        steps_done=history.steps_done,
        steps_planned=history.steps_planned,
        stopped=history.stopped,
        details={"loss": [row["loss"] for row in history]},
    )


def _pick(kind: type, settings: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in settings.items() if name in names}


# What the scale is for --------------------------------------------------------------------------------------


def run_saturation(trial: Trial) -> dict[str, float]:
    """Measure the softmax over dot products of random vectors, width by width."""
    settings = trial.settings
    widths = settings["widths"]
    found = lookup.saturation(
        widths, scaled=settings["scaled"], keys=16, queries=settings["queries"], seed=trial.seed
    )
    metrics = {
        f"{name}.d{one.width}": getattr(one, name)
        for one in found
        for name in ("spread", "entropy", "largest", "slope")
    }
    return {
        **metrics,
        "growth": lookup.exponent(widths, [one.spread for one in found]),  # of the spread with the width
        "slope.narrow": found[0].slope,
        "slope.wide": found[-1].slope,
        "entropy.wide": found[-1].entropy,
    }


SATURATION = Experiment(
    name="transformer/saturation",
    title="Softmax over dot products: with and without the scale, by width",
    rows={"scaled": {"scaled": True}, "unscaled": {"scaled": False}},
    scales={
        "smoke": {"widths": (4, 64), "queries": 50},
        "quick": {"widths": (1, 4, 16, 64, 256), "queries": 2000},
        "paper": {"widths": (1, 4, 16, 64, 256, 1024), "queries": 10_000},
    },
    data={"normal": "real"},  # the source speaks of such vectors: they stand in for nothing
    run=run_saturation,
)


# What each part is for --------------------------------------------------------------------------------------


def run_task(trial: Trial) -> Measured:
    """Train a small Transformer on a task, whole or without a part, and measure it."""
    settings = dict(trial.settings)
    task = settings["task"]
    recipe = dict(RECIPES[task])
    if "steps" in settings:
        recipe["steps"] = settings["steps"]
    else:
        recipe["steps"] *= settings["longer"]
    recipe["lr"] = settings.get("lr", recipe["lr"])
    sizes = {name: settings[name] for name in ("layers", "heads", "width", "norm") if name in settings}
    solved = solve(
        task,
        without=settings.get("without"),
        recipe=Recipe(**recipe),
        examples=settings["examples"],
        asked=settings["asked"],
        seed=trial.seed,
        minutes=trial.minutes,
        checkpoint=trial.folder,
        progress=trial.progress,
        **sizes,
    )
    return _measured(solved.history, solved.metrics)


WHOLE = ("copy", "reverse", "sort", "recall", "neighbours", "parity", "aloud")
TAKEN = {
    task: ("positions", "scale", "feed-forward", "residual", "self-attention")
    + (() if task in TAGGED else ("memory-attention", "causal-mask"))
    for task in ("copy", "reverse", "sort", "recall", "neighbours", "aloud")
}
"""What is taken out of each task's model: all that it has."""

WIDE = {"width": 128, "heads": 1, "lr": 2e-3}  # one head of width 128: its dot products are large

PARTS = Experiment(
    name="transformer/parts",
    title="Algorithmic tasks, whole and without one part",
    rows={
        **{task: {"task": task} for task in WHOLE},
        **{
            f"{task}.no-{part}": {"task": task, "without": part}
            for task, taken in TAKEN.items()
            for part in taken
        },
        "copy.wide": {"task": "copy", **WIDE},
        "copy.wide.no-scale": {"task": "copy", "without": "scale", **WIDE},
        "recall.one-layer": {"task": "recall", "layers": 1},
        "neighbours.one-head": {"task": "neighbours", "heads": 1},
        "parity.four-layers": {"task": "parity", "layers": 4, "norm": "pre"},
    },
    scales={
        "smoke": {"steps": 4, "examples": 40, "asked": 10},
        "quick": {"longer": 1, "examples": 8000, "asked": 400},
        "paper": {"longer": 3, "examples": 50_000, "asked": 2000},
    },
    data={"simulated": "simulated"},
    run=run_task,
)


# Positions --------------------------------------------------------------------------------------------------


def run_positions(trial: Trial) -> Measured:
    """Learn to copy short sequences, then copy longer ones than were ever seen."""
    settings = trial.settings
    longest = LENGTHS["copy"][1]
    kind = settings["positions"]
    solved = solve(
        "copy",
        without="positions" if kind == "none" else None,
        recipe=Recipe(**{**RECIPES["copy"], "steps": settings["steps"]}),
        examples=settings["examples"],
        asked=settings["asked"],
        seed=trial.seed,
        minutes=trial.minutes,
        checkpoint=trial.folder,
        progress=trial.progress,
        **({} if kind == "none" else {"positions": kind}),
    )
    beyond = {}
    for length in range(longest + 1, longest + 5):
        asked = simulate("copy", settings["asked"], shortest=length, longest=length, seed=3)
        beyond[f"exact.{length}"] = accuracy(solved.model, encode(asked))["exact"]
    return _measured(
        solved.history,
        {**solved.metrics, **beyond, "exact.beyond": sum(beyond.values()) / len(beyond)},
    )


POSITIONS = Experiment(
    name="transformer/positions",
    title="Positions: at the lengths learnt on, and beyond them",
    rows={kind: {"positions": kind} for kind in ("sinusoidal", "learned", "none")},
    scales={
        "smoke": {"steps": 4, "examples": 40, "asked": 10},
        "quick": {"steps": 400, "examples": 8000, "asked": 400},
        "paper": {"steps": 1200, "examples": 50_000, "asked": 2000},
    },
    data={"simulated": "simulated"},
    run=run_positions,
)


# Where the norm stands --------------------------------------------------------------------------------------


def run_norm(trial: Trial) -> Measured:
    """Measure gradients before training, layer by layer, then train a deep stack."""
    settings = trial.settings
    norms = lookup.gradient_norms(settings["norm"], layers=settings["deep"], seed=trial.seed)
    deep = {f"gradient.{number}": norm for number, norm in enumerate(norms, start=1)}
    solved = solve(
        "sort",
        recipe=Recipe(steps=settings["steps"], batch=32, lr=settings["lr"], warmup=settings["warmup"]),
        examples=settings["examples"],
        asked=settings["asked"],
        seed=trial.seed,
        minutes=trial.minutes,
        checkpoint=trial.folder,
        progress=trial.progress,
        layers=settings["layers"],
        norm=settings["norm"],
    )
    return _measured(
        solved.history,
        {
            **solved.metrics,
            **deep,
            "gradient.last-to-middle": norms[-1] / norms[len(norms) // 2],
            "gradient.largest": max(norms),
            "loss": solved.history[-1]["loss"],
        },
    )


NORM = Experiment(
    name="transformer/norm",
    title="The norm after the sum or inside the branch, with and without warm-up",
    rows={
        "post": {"norm": "post", "warmup": 0.0},
        "pre": {"norm": "pre", "warmup": 0.0},
        "post-warm-up": {"norm": "post", "warmup": 0.3},
        "pre-warm-up": {"norm": "pre", "warmup": 0.3},
    },
    scales={
        "smoke": {"steps": 2, "examples": 20, "asked": 10, "layers": 2, "deep": 2, "lr": 3e-3},
        "quick": {"steps": 200, "examples": 8000, "asked": 400, "layers": 6, "deep": 12, "lr": 3e-3},
        "paper": {"steps": 600, "examples": 50_000, "asked": 2000, "layers": 6, "deep": 12, "lr": 3e-3},
    },
    data={"simulated": "simulated"},
    run=run_norm,
)


# What length costs ------------------------------------------------------------------------------------------


def run_cost(trial: Trial) -> dict[str, float]:
    """Time attention at growing lengths, and count what a layer must do."""
    settings = trial.settings
    lengths = settings["lengths"]
    seconds = lookup.attention_seconds(lengths, repeats=settings["repeats"], seed=trial.seed)
    attention = [lookup.cost(length).attention for length in lengths]
    others = [cost.projections + cost.feed_forward for cost in map(lookup.cost, lengths)]
    return {
        "exponent.seconds": lookup.exponent(lengths, seconds),
        "exponent.attention": lookup.exponent(lengths, attention),
        "exponent.others": lookup.exponent(lengths, others),
        "exponent.memory": lookup.exponent(lengths, [lookup.attention_memory(one) for one in lengths]),
        **{f"seconds.t{length}": second for length, second in zip(lengths, seconds, strict=True)},
    }


COST = Experiment(
    name="transformer/cost",
    title="What attention costs as sequences grow: processor seconds, products, memory",
    rows={"attention": {}},
    scales={
        "smoke": {"lengths": (8, 16), "repeats": 1},
        "quick": {"lengths": (256, 512, 1024), "repeats": 10},
        "paper": {"lengths": (256, 512, 1024, 2048), "repeats": 40},
    },
    data={"normal": "simulated"},
    run=run_cost,
)


# Decoding ---------------------------------------------------------------------------------------------------


def run_decoding(trial: Trial) -> Measured:
    """Train on a task, then write answers by one way of decoding and judge them."""
    settings = trial.settings
    task = settings["task"]
    solved = solve(
        task,
        recipe=Recipe(**{**RECIPES[task], "steps": settings["steps"]}),
        examples=settings["examples"],
        asked=settings["asked"],
        seed=trial.seed,
        minutes=trial.minutes,
        checkpoint=trial.folder,
        progress=trial.progress,
    )
    source, target = solved.tested.ids.source, solved.tested.ids.target
    words = solved.tested.vocabulary
    longest = target.shape[1] + 1
    how = settings["how"]
    if how == "sample":
        generator = torch.Generator().manual_seed(trial.seed)
        answers = decoding.sample(
            solved.model, source, longest=longest, generator=generator, top_p=settings.get("top_p")
        )
    elif how == "greedy":
        answers = decoding.greedy(solved.model, source, longest=longest)
    else:
        answers = decoding.beam_search(
            solved.model, source, width=settings["width"], longest=longest, alpha=settings.get("alpha", 0.0)
        )
    written = [tuple(words.decode(ids)) for ids in decoding.best(answers)]
    wanted = [max(right := shares(one), key=right.__getitem__) for one in solved.tested.examples]
    true = [shares(one).get(answer, 0.0) for one, answer in zip(solved.tested.examples, written, strict=True)]
    score = bleu.corpus_bleu(written, wanted)
    return _measured(
        solved.history,
        {
            "logprob": float(answers.scores[:, 0].mean()),  # the model's own, nats an answer
            "share": sum(true) / len(true),  # probability of the answer in the simulator
            "likeliest": sum(a == b for a, b in zip(written, wanted, strict=True)) / len(wanted),
            "bleu": score.score,
        },
    )


WAYS: dict[str, dict[str, Any]] = {
    "greedy": {"how": "greedy"},
    "beam-2": {"how": "beam", "width": 2},
    "beam-4": {"how": "beam", "width": 4},
    "beam-4-penalty": {"how": "beam", "width": 4, "alpha": 0.6},
    "sample": {"how": "sample"},
    "nucleus": {"how": "sample", "top_p": 0.9},
}

DECODING = Experiment(
    name="transformer/decoding",
    title="Ways to write an answer: greedy, beams, draws",
    rows={
        **{f"fork.{name}": {"task": "fork", **way} for name, way in WAYS.items()},
        **{
            f"reverse.{name}": {"task": "reverse", "early": True, **WAYS[name]}
            for name in ("greedy", "beam-4")
        },
    },
    scales={
        "smoke": {"steps": 4, "examples": 40, "asked": 10},
        "quick": {"steps": 300, "examples": 8000, "asked": 400},
        "paper": {"steps": 900, "examples": 50_000, "asked": 2000},
    },
    data={"simulated": "simulated"},
    run=run_decoding,
)


# Tokenising -------------------------------------------------------------------------------------------------


def run_tokenising(trial: Trial) -> dict[str, float]:
    """Learn a way to cut words from one part of a text and measure it on the other."""
    settings = trial.settings
    text = tokenizers.news() if trial.data == "news" else tokenizers.stories()
    train, held = text.train[: settings["words"]], text.held[: settings["words"]]
    if settings["how"] == "characters":
        cutter = tokenizers.characters(train)
    elif settings["how"] == "words":
        cutter = tokenizers.words(train, most=settings.get("most"))
    else:
        cutter = tokenizers.pieces(train, vocabulary=settings["most"])
    found = tokenizers.measure(cutter, held)
    return {
        "vocabulary": float(found.vocabulary),
        "length": found.length,
        "unknown": found.unknown,
        "words-lost": found.words_lost,
    }


def _version_of_texts(name: str) -> str | None:
    """Name the state of the news that are fetched, None where they are not on this machine."""
    if name == "stories":
        return None
    try:
        text = tokenizers.news()
    except OSError:
        return None
    return sha256(" ".join((*text.train, *text.held)).encode()).hexdigest()[:12]


TOKENISING = Experiment(
    name="transformer/tokenising",
    title="Characters, words, pieces of words: what each costs on text not seen before",
    rows={
        "characters": {"how": "characters"},
        "words": {"how": "words"},
        "words-2000": {"how": "words", "most": 2000},
        "pieces-500": {"how": "pieces", "most": 500},
        "pieces-2000": {"how": "pieces", "most": 2000},
        "pieces-8000": {"how": "pieces", "most": 8000},
    },
    scales={"smoke": {"words": 300}, "quick": {"words": 20_000}, "paper": {"words": 1_000_000}},
    data={"news": "real", "stories": "simulated"},
    run=run_tokenising,
    version=_version_of_texts,
)


LABELS = (50, 200, 1000, 5000)
"""Numbers of labelled examples to fine-tune on."""

TUNED_AT = {True: 1e-3, False: 3e-3}
"""Peak rates of fine-tuning, pre-trained or not: for each the better of the two, on stories of their own."""

# BERT in miniature ------------------------------------------------------------------------------------------


def _told(stories: int, seed: int) -> list[Story]:
    return simulate_stories(stories, shortest=2, longest=4, seed=seed)


def texts(number: int, *, stories: int = 640, questions: bool = False) -> list[list[tuple[str, ...]]]:
    """Tell stories without labels to pre-train on: what happens, then reports of it.

    Parameters
    ----------
    number
        Of the round: each has other stories, and none of them is fine-tuned or tested on.
    stories
        How many.
    questions
        Whether each ends in its question and answer too, as one more sentence.
    """
    found = simulate_stories(stories, shortest=1, longest=4, reports=3, seed=1_000_000 + number)
    return [
        [*story.sentences, (*story.question, story.answer, ".")] if questions else list(story.sentences)
        for story in found
    ]


def _later(first: int, number: int) -> list[list[tuple[str, ...]]]:
    return texts(first + number)


def run_pretraining(trial: Trial) -> Measured:
    """Pre-train or not, fine-tune on few labels, on many, on statements: each in as many steps in all."""
    settings = trial.settings
    words = pretraining.words_of()
    config = pretraining.BertConfig(vocabulary=len(words), hidden=settings["hidden"])
    bert = pretraining.Bert(config, seed=trial.seed)
    before = round(settings["steps"] * settings["share"]) if settings["pre"] else 0
    done = planned = 0
    details: dict[str, Any] = {}
    metrics: dict[str, float] = {"pre.words": float("nan"), "pre.follows": float("nan")}
    folder = trial.folder
    for number, phase in enumerate(settings["pre"]):
        how = pretraining.Pretraining(
            steps=before // len(settings["pre"]), batch=settings["batch"], lr=settings["lr"], **phase
        )
        history = pretraining.pretrain(
            bert,
            partial(_later, 500_000 * number),
            words,
            how,
            seed=trial.seed,
            minutes=trial.minutes,
            checkpoint=folder and folder / f"pre-{number}",
            progress=trial.progress,
        )
        details[f"pre-{number}"] = [row["loss"] for row in history]
        done, planned = done + history.steps_done, planned + history.steps_planned
    if before:
        measured = pretraining.masked_accuracy(bert, texts(-1, stories=400), words)
        metrics |= {f"pre.{name}": value for name, value in measured.items()}
    learnt = {name: _told(settings[name], 1) for name in ("few", "many")}
    asked = _told(settings["asked"], 2)
    gaps = pretraining.labelled_gaps(asked, words)
    tasks = {
        "answers": (pretraining.labelled_gaps(learnt["few"], words), gaps),
        "answers.many": (pretraining.labelled_gaps(learnt["many"], words), gaps),
        "statements": (
            pretraining.labelled_claims(claims_of(learnt["many"], seed=0), words),
            pretraining.labelled_claims(claims_of(asked, seed=1), words),
        ),
    }
    for name, (train, tested) in tasks.items():
        model: pretraining.Classifier | pretraining.Cloze = pretraining.Cloze(copy.deepcopy(bert))
        if name == "statements":
            model = pretraining.Classifier(copy.deepcopy(bert), train.choices, seed=trial.seed)
        history = pretraining.fine_tune(
            model,
            train,
            steps=settings["steps"] - before,
            batch=settings["batch"],
            lr=TUNED_AT[bool(before)],
            seed=trial.seed,
            minutes=trial.minutes,
            checkpoint=folder and folder / name,
            progress=trial.progress,
        )
        metrics[name] = pretraining.share_right(model, tested)
        shown = train.take(torch.arange(min(len(train), len(tested))))
        metrics[f"{name}.learnt"] = pretraining.share_right(model, shown)
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
            "many": 20, "asked": 10,
        },
        "quick": {
            "steps": 2000, "share": 0.8, "batch": 32, "lr": 3e-3, "hidden": 128, "few": 200,
            "many": 4000, "asked": 400,
        },
        "paper": {
            "steps": 4000, "share": 0.875, "batch": 32, "lr": 3e-3, "hidden": 128, "few": 200,
            "many": 4000, "asked": 1000,
        },
    },
    data={"simulated": "simulated"},
    run=run_pretraining,
)  # fmt: skip


# Fine-tuning what ships -------------------------------------------------------------------------------------


def run_fine_tuning(trial: Trial) -> Measured:
    """Fine-tune the shipped encoder, or the same encoder with random weights, on a few labelled questions."""
    settings = trial.settings
    encoder = pretrained.load_encoder()
    words = encoder.vocabulary
    bert = encoder.model
    if not settings["shipped"]:
        bert = pretraining.Bert(encoder.model.config, seed=trial.seed)
    told = pretraining.labelled_answers if settings["at"] == "cls" else pretraining.labelled_gaps
    train, tested = (
        told(_told(settings[part], seed), words) for part, seed in (("examples", 1), ("asked", 2))
    )
    model: pretraining.Classifier | pretraining.Cloze = pretraining.Cloze(bert)
    if settings["at"] == "cls":
        model = pretraining.Classifier(bert, train.choices, seed=trial.seed)
    history = pretraining.fine_tune(
        model,
        train,
        steps=settings["steps"],
        batch=32,
        lr=settings["lr"],
        seed=trial.seed,
        minutes=trial.minutes,
        checkpoint=trial.folder,
        progress=trial.progress,
    )
    return _measured(
        history,
        {
            "answers": pretraining.share_right(model, tested),
            "answers.learnt": pretraining.share_right(
                model, train.take(torch.arange(min(settings["examples"], settings["asked"])))
            ),
        },
    )


def _version_of_encoder(name: str) -> str | None:
    """Name the state of the bundled encoder, which is part of what this experiment is given."""
    if not pretrained.ENCODER.is_file():
        return None
    return sha256(pretrained.ENCODER.read_bytes()).hexdigest()[:12]


FINE_TUNING = Experiment(
    name="transformer/fine-tuning",
    title="The shipped encoder beside random weights, fine-tuned for as many steps on the same labels",
    rows={
        f"{name}{'' if at == 'gap' else '-cls'}-{examples}": {
            "shipped": name == "pre-trained",
            "at": at,
            "examples": examples,
            "lr": TUNED_AT[name == "pre-trained"],
        }
        for at in ("gap", "cls")
        for examples in LABELS
        for name in ("pre-trained", "from-scratch")
    },
    scales={
        "smoke": {"steps": 2, "asked": 10},
        "quick": {"steps": 300, "asked": 400},
        "paper": {"steps": 1500, "asked": 1000},
    },
    data={"simulated": "simulated"},
    run=run_fine_tuning,
    version=_version_of_encoder,
)


# The encoder that ships -------------------------------------------------------------------------------------


def run_ship(trial: Trial) -> Measured:
    """Make the shipped encoder."""
    from reasonlib.transformer.experiments.bundle import make

    return make(trial)


SHIP = Experiment(
    name="transformer/ship",
    title="The small pre-trained encoder that travels with the library",
    rows={"encoder": {}},
    scales={
        "smoke": {"masked": 2, "both": 2, "batch": 4, "layers": 3, "hidden": 16, "asked": 10},
        "quick": {"masked": 400, "both": 200, "batch": 32, "layers": 3, "hidden": 128, "asked": 200},
        "paper": {"masked": 4000, "both": 2500, "batch": 32, "layers": 3, "hidden": 128, "asked": 1000},
    },
    data={"simulated": "simulated"},
    run=run_ship,
)

EXPERIMENTS = {
    experiment.name.partition("/")[2]: experiment
    for experiment in (
        SATURATION,
        PARTS,
        POSITIONS,
        NORM,
        COST,
        DECODING,
        TOKENISING,
        PRETRAINING,
        FINE_TUNING,
        SHIP,
    )
}
