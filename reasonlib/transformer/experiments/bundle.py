"""Train the encoder that is bundled with the library, from simulated stories alone.

    reasonlib run transformer/bundle --row encoder --scale paper     weights/encoder.safetensors

A run at ``paper`` replaces the file; at a smaller scale it only measures. The record of the run says how the
file was made.
"""

from collections.abc import Sequence
from functools import partial

import torch

from reasonlib.tracking.experiment import Experiment, Measured, Trial, by_scale, subset
from reasonlib.training.history import History
from reasonlib.training.vocabulary import Vocabulary
from reasonlib.transformer.data.datasets import DATA, texts
from reasonlib.transformer.data.pairs import MASK, Pairs, pack, story_vocabulary
from reasonlib.transformer.data.stories import NAMES, OBJECTS, PLACES, Story, report, simulate_stories
from reasonlib.transformer.experiments.pretrain import PretrainingRecipe, masked_accuracy, pretrain
from reasonlib.transformer.models import pretrained
from reasonlib.transformer.models.bert import Bert, BertConfig, attention_weights

__all__ = ["head_patterns", "report_accuracy", "run_bundle"]

SEED = 77  # of the stories it is measured on


def run_bundle(trial: Trial) -> Measured:
    """Pre-train the encoder on stories with reports, and write it if the scale is ``paper``.

    First on hidden words alone, until it finds a report's words in the story; then on both tasks, hidden
    words and next sentences. With both from the start, half of the reports belong to another story, and it
    takes far longer. Two texts of five are not cut in two at first, so that it reads a single one as well. No
    text has a question in it: whoever fine-tunes this encoder on questions shows it the first.
    """
    settings = trial.settings
    words = story_vocabulary()
    model = Bert(
        BertConfig(vocabulary=len(words), hidden=settings["hidden"], layers=settings["layers"]),
        seed=trial.seed,
    )
    histories: list[History] = []
    for phase, lr in (("masked", 3e-3), ("both", 2e-3)):
        if settings[phase] and all(item.stopped == "finished" for item in histories):
            texts_of = _uncut if phase == "masked" else partial(_texts, 500_000)
            recipe = PretrainingRecipe(
                steps=settings[phase], batch=settings["batch"], lr=lr, following=phase == "both"
            )
            histories.append(pretrain(model, texts_of, words, recipe, **trial.stage(phase).options))
    stopped = histories[-1].stopped
    metrics = {
        **masked_accuracy(model, _texts(0, -1, stories=settings["test_size"]), words),
        **report_accuracy(model, settings["test_size"]),
        **head_patterns(model, min(200, settings["test_size"])),
    }
    if trial.scale == "paper" and stopped == "finished":
        command = f"reasonlib run {trial.experiment} --row {trial.row}"
        provenance = {
            "command": f"{command} --scale paper --seed {trial.seed}",
            "steps": [settings["masked"], settings["both"]],
            **{name: round(value, 4) for name, value in metrics.items()},
        }
        pretrained.save_encoder(model, words, pretrained.ENCODER, provenance)
    return Measured(
        metrics=metrics,
        steps_done=sum(item.steps_done for item in histories),
        steps_planned=settings["masked"] + settings["both"],
        stopped=stopped,
        details={"loss": [[row["loss"] for row in item] for item in histories]},
    )


def _texts(first: int, number: int, stories: int = 640) -> list[list[tuple[str, ...]]]:
    return texts(first + number, stories=stories)


def _uncut(number: int) -> list[list[tuple[str, ...]]]:
    """Tell texts of which two in five are a single part: all their sentences in one, and nothing after it."""
    return [
        [tuple(word for sentence in text for word in sentence), ()] if position % 5 < 2 else text
        for position, text in enumerate(_texts(0, number))
    ]


def report_accuracy(model: Bert, asked: int) -> dict[str, float]:
    """Measure what is recalled: the share of reports whose one hidden word, the news in it, is guessed.

    Parameters
    ----------
    model
        Pre-trained.
    asked
        How many stories.
    """
    words = story_vocabulary()
    stories, pairs = _asked(asked, words)
    targets = torch.tensor([words.id_of(story.answer) for story in stories])
    position = pairs.tokens == MASK
    with torch.no_grad():
        guessed = model(pairs).mlm_logits[position].argmax(-1)
    right = guessed == targets
    metrics = {"reports": float(right.float().mean())}
    for kind in sorted({story.kind for story in stories}):
        chosen = torch.tensor([story.kind == kind for story in stories])
        metrics[f"reports.{kind}"] = float(right[chosen].float().mean())
    return metrics


def _asked(number: int, words: Vocabulary) -> tuple[list[Story], Pairs]:
    """Tell stories, each with a report of what could be asked about it, and hide that in the report."""
    stories = simulate_stories(number, shortest=2, longest=4, seed=SEED)
    reports = [
        report(story.kind, story.question[3 if story.kind == "holder" else 2], "[MASK]") for story in stories
    ]
    texts = [(*story.words, *item) for story, item in zip(stories, reports, strict=True)]
    return stories, pack([(text, ()) for text in texts], words)


def head_patterns(model: Bert, asked: int) -> dict[str, float]:
    """Measure the clearest head of each kind: the mean weight it gives where the pattern says.

    Parameters
    ----------
    model
        Pre-trained.
    asked
        How many stories with a report; what it reports is hidden.

    Returns
    -------
    dict
        ``head.before``, to the token just before; ``head.after``, to the one just after; ``head.same``, from
        a name or a thing to the same word elsewhere; ``head.fact``, from the hidden word to a word of the
        sentence that says it. Each the largest over all heads.
    """
    words = story_vocabulary()
    stories, pairs = _asked(asked, words)
    weights = attention_weights(model, pairs)  # (L, B, H, T, T)
    tokens = pairs.tokens
    length = tokens.shape[1]
    real = tokens != 0
    position = torch.arange(length)
    inside = real.unsqueeze(2) & real.unsqueeze(1)  # (B, T, T)
    named = _among(tokens, [words.id_of(word) for word in (*NAMES, *OBJECTS, *PLACES)])
    same = (tokens.unsqueeze(2) == tokens.unsqueeze(1)) & named.unsqueeze(2) & ~torch.eye(length).bool()
    fact = torch.zeros_like(inside)
    for row, story in enumerate(stories):
        start = 1 + sum(len(sentence) for sentence in story.sentences[: story.support])
        end = start + len(story.sentences[story.support])
        hidden = int((tokens[row] == MASK).nonzero()[0])
        fact[row, hidden, start:end] = True
    patterns = {
        "before": (position.unsqueeze(1) - position == 1) & inside,
        "after": (position - position.unsqueeze(1) == 1) & inside,
        "same": same & inside,
        "fact": fact & inside,
    }
    results = {}
    for name, pattern in patterns.items():
        looking = pattern.any(-1)  # (B, T): tokens that have somewhere to look
        mass = (weights * pattern.unsqueeze(1)).sum(-1)  # (L, B, H, T)
        share = (mass * looking.unsqueeze(1)).sum((1, 3)) / looking.sum()  # (L, H)
        results[f"head.{name}"] = float(share.max())
    return results


def _among(tokens: torch.Tensor, ids: Sequence[int]) -> torch.Tensor:
    return torch.isin(tokens, torch.tensor(list(ids)))


BUNDLE = Experiment(
    name="transformer/bundle",
    title="The bundled pre-trained encoder",
    rows={"encoder": {}},
    scales=by_scale(
        masked=(2, 400, 4000),
        both=(2, 200, 2500),
        batch=(4, 32, 32),
        layers=3,
        hidden=(16, 128, 128),
        test_size=(10, 200, 1000),
    ),
    data=subset(DATA, "simulated"),
    run=run_bundle,
)
