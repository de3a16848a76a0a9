"""Train the models that are bundled with the library, each from simulated stories alone.

    reasonlib run story_qa/bundle --row memory --scale paper     weights/memory.safetensors
    reasonlib run story_qa/bundle --row encoder --scale paper    weights/encoder/
    reasonlib run story_qa/bundle --row reader --scale paper     weights/reader/  (fine-tunes the encoder)

A run at ``paper`` replaces the file; at a smaller scale it only measures. The record of the run says how the
file was made.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from reasonlib import training
from reasonlib.story_qa.data.datasets import DATA, load, version
from reasonlib.story_qa.data.example import TASKS, Example
from reasonlib.story_qa.data.masking import tell_with_answers, word_tokenizer
from reasonlib.story_qa.data.simulator import simulate
from reasonlib.story_qa.data.tokens import PairSet, StoryTokens, answer_classes
from reasonlib.story_qa.experiments import finetune
from reasonlib.story_qa.experiments.memory import FULL, Recipe, build, learn, measure
from reasonlib.story_qa.experiments.metrics import scores
from reasonlib.story_qa.experiments.pretrain import (
    EncoderSize,
    PretrainingRecipe,
    new_model,
    pretrain,
    save_encoder,
)
from reasonlib.story_qa.models import bert, pretrained
from reasonlib.tracking.experiment import Experiment, Measured, Trial, by_scale, subset
from reasonlib.tracking.trials import measured
from reasonlib.training.settings import construct

__all__ = ["run_bundle"]


def run_bundle(trial: Trial) -> Measured:
    """Train what the row names, and write it where the library looks for it if the scale is ``paper``."""
    makers = {"memory": _memory, "encoder": _encoder, "reader": _reader}
    return makers[trial.settings["model"]](trial)


def _made(trial: Trial, history: training.History, metrics: Mapping[str, float]) -> dict[str, Any]:
    command = f"reasonlib run {trial.experiment} --row {trial.row}"
    return {
        "command": f"{command} --scale {trial.scale} --seed {trial.seed}",
        "data": trial.data,
        "steps": history.steps_done,
        "accuracy": round(metrics["accuracy"], 4) if "accuracy" in metrics else None,
    }


def _memory(trial: Trial) -> Measured:
    settings = trial.settings
    model, sets = build(load(trial.data, settings["questions"], settings["test_size"]), settings, trial.seed)
    history = learn(
        model.to(trial.device),
        sets["train"],
        construct(Recipe, settings),
        valid=sets["valid"],
        **trial.options,
    )
    metrics = measure(model, sets["test"])
    if trial.scale == "paper" and history.stopped == "finished":
        provenance = _made(trial, history, metrics)
        pretrained.save_memory(
            model, sets["train"].vocabulary, pretrained.MEMORY, provenance, encoding=settings["encoding"]
        )
    return measured(history, metrics, curve=("epoch", "loss"))


def _encoder(trial: Trial) -> Measured:
    settings = trial.settings

    def examples(number: int) -> Sequence[Example]:
        few, long = (4, 15, 16, 17, 18, 19, 20), (3,)
        share = {task: 400 if task in few else 40 if task in long else 100 for task in TASKS}
        return [item for task in TASKS for item in simulate(task, stories=share[task], seed=1000 + number)]

    tokenizer = word_tokenizer([sentence for story in tell_with_answers(examples(-1)) for sentence in story])
    model = new_model(construct(EncoderSize, settings), len(tokenizer), seed=trial.seed)
    history = pretrain(
        model.to(trial.device),
        tokenizer,
        examples,
        construct(PretrainingRecipe, settings),
        **trial.options,
    )
    if trial.scale == "paper" and history.stopped == "finished":
        save_encoder(model.cpu(), tokenizer, bert.BUNDLED)
    return measured(
        history, {"loss": history[-1]["loss"] if len(history) else float("nan")}, curve=("epoch", "loss")
    )


def _reader(trial: Trial) -> Measured:
    settings = trial.settings
    splits = load(trial.data, settings["questions"], settings["test_size"])
    encoder, tokenizer = bert.load_encoder()
    answers = answer_classes(splits.train)
    tokens = StoryTokens(tokenizer)
    train, test = (PairSet.encode(part, tokens, answers) for part in (splits.train, splits.test))
    with training.seeded(trial.seed):
        model = bert.AnswerReader(encoder, len(answers), 0.0).to(trial.device)
    history = finetune.fine_tune(
        model,
        train,
        construct(finetune.FineTuningRecipe, settings, epochs=settings["passes"]),
        **trial.options,
    )
    metrics = scores(test.task, finetune.predict_answers(model, test) == test.answer)
    if trial.scale == "paper" and history.stopped == "finished":
        provenance = _made(trial, history, metrics)
        pretrained.save_reader(model.cpu(), tokenizer, answers, pretrained.READER, provenance)
    return measured(history, metrics, curve=("epoch", "loss"))


BUNDLE = Experiment(
    name="story_qa/bundle",
    title="The bundled models",
    rows={
        "memory": {"model": "memory", **FULL},
        "encoder": {"model": "encoder", "layers": 4, "heads": 4, "width": 64, "lr": 0.002, "tokens": 4096},
        "reader": {"model": "reader", "lr": 0.001, "tokens": 4096},
    },
    scales=by_scale(
        questions=(20, 500, 10000),
        test_size=(10, 100, 1000),
        epochs=(1, 2, 60),
        passes=(1, 1, 3),
        steps=(10, 200, 5000),
    ),
    data=subset(DATA, "simulated"),
    run=run_bundle,
    version=version,
)
