"""Make the trained models that travel with the library, each from simulated stories alone.

    reasonlib run story_qa/ship --row memory --scale paper     weights/memory.safetensors
    reasonlib run story_qa/ship --row encoder --scale paper    weights/encoder/
    reasonlib run story_qa/ship --row reader --scale paper     weights/reader/  (fine-tunes the encoder)

A run at ``paper`` replaces the file; at a smaller scale it only measures. The record of the run says how the
file was made.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from reasonlib import training
from reasonlib.story_qa.data.example import TASKS, Example
from reasonlib.story_qa.data.simulator import simulate
from reasonlib.story_qa.experiments import _pick, build, finetune, load, measure
from reasonlib.story_qa.experiments import metrics as evaluation
from reasonlib.story_qa.experiments.pretrain import (
    EncoderSize,
    Pretraining,
    new_model,
    pretrain,
    retell,
    save_encoder,
    word_tokenizer,
)
from reasonlib.story_qa.experiments.train_memory import Recipe, learn
from reasonlib.story_qa.models import bert, pretrained
from reasonlib.tracking.experiment import Measured, Trial

__all__ = ["make"]


def make(trial: Trial) -> Measured:
    """Train what the row names, and write it where the library looks for it if the scale is ``paper``."""
    makers = {"memory": _memory, "encoder": _encoder, "reader": _reader}
    return makers[trial.settings["model"]](trial)


def _made(trial: Trial, history: training.History, metrics: Mapping[str, float]) -> dict[str, Any]:
    return {
        "command": f"reasonlib run story_qa/ship --row {trial.row} --scale {trial.scale} --seed {trial.seed}",
        "data": trial.data,
        "steps": history.steps_done,
        "accuracy": round(metrics["accuracy"], 4) if "accuracy" in metrics else None,
    }


def _memory(trial: Trial) -> Measured:
    settings = trial.settings
    model, sets = build(load(trial.data, settings["questions"], settings["asked"]), settings, trial.seed)
    history = learn(
        model.to(trial.device),
        sets["train"],
        Recipe(**_pick(Recipe, settings)),
        valid=sets["valid"],
        seed=trial.seed,
        minutes=trial.minutes,
        checkpoint=trial.folder,
        progress=trial.progress,
    )
    metrics = measure(model, sets["test"])
    if trial.scale == "paper" and history.stopped == "finished":
        made = _made(trial, history, metrics)
        pretrained.save_memory(
            model, sets["train"].vocabulary, pretrained.MEMORY, made, encoding=settings["encoding"]
        )
    return _measured(history, metrics)


def _encoder(trial: Trial) -> Measured:
    settings = trial.settings

    def examples(number: int) -> Sequence[Example]:
        few, long = (4, 15, 16, 17, 18, 19, 20), (3,)
        share = {task: 400 if task in few else 40 if task in long else 100 for task in TASKS}
        return [one for task in TASKS for one in simulate(task, stories=share[task], seed=1000 + number)]

    tokenizer = word_tokenizer([sentence for story in retell(examples(-1)) for sentence in story])
    model = new_model(EncoderSize(**_pick(EncoderSize, settings)), len(tokenizer), seed=trial.seed)
    history = pretrain(
        model.to(trial.device),
        tokenizer,
        examples,
        Pretraining(**_pick(Pretraining, settings)),
        seed=trial.seed,
        minutes=trial.minutes,
        checkpoint=trial.folder,
        progress=trial.progress,
    )
    if trial.scale == "paper" and history.stopped == "finished":
        save_encoder(model.cpu(), tokenizer, bert.SHIPPED)
    return _measured(history, {"loss": history[-1]["loss"] if len(history) else float("nan")})


def _reader(trial: Trial) -> Measured:
    settings = trial.settings
    splits = load(trial.data, settings["questions"], settings["asked"])
    encoder, tokenizer = bert.load_encoder()
    answers = finetune.answer_classes(splits.train)
    tokens = bert.StoryTokens(tokenizer)
    train, test = (finetune.PairSet.encode(part, tokens, answers) for part in (splits.train, splits.test))
    with training.seeded(trial.seed):
        model = bert.AnswerReader(encoder, len(answers), 0.0).to(trial.device)
    history = finetune.fine_tune(
        model,
        train,
        finetune.FineTuning(**_pick(finetune.FineTuning, settings) | {"epochs": settings["passes"]}),
        seed=trial.seed,
        minutes=trial.minutes,
        checkpoint=trial.folder,
        progress=trial.progress,
    )
    metrics = evaluation.scores(test.task, finetune.read_answers(model, test) == test.answer)
    if trial.scale == "paper" and history.stopped == "finished":
        made = _made(trial, history, metrics)
        pretrained.save_reader(model.cpu(), tokenizer, answers, pretrained.READER, made)
    return _measured(history, metrics)


def _measured(history: training.History, metrics: Mapping[str, float]) -> Measured:
    return Measured(
        metrics=metrics,
        steps_done=history.steps_done,
        steps_planned=history.steps_planned,
        stopped=history.stopped,
        details={"curve": [{"epoch": row["epoch"], "loss": row["loss"]} for row in history]},
    )
