"""Taggers, on words that occur in their training data and on words that do not."""

from reasonlib.goal_dialogue.data import datasets
from reasonlib.goal_dialogue.experiments.tasks import BOTH, data_version
from reasonlib.tracking.experiment import Experiment, Measured, Trial
from reasonlib.tracking.trials import measured

__all__ = ["TAGGERS", "run_taggers"]


def run_taggers(trial: Trial) -> Measured:
    """Train and measure one tagger; at ``paper`` on simulated dialogues, write it to the bundled weights.

    Settings are ``tagger`` (``letters`` or ``context``), ``made_up``, ``entities`` (``known``, or ``all`` of
    the knowledge base), ``task``, ``steps``, and ``dialogues`` for a part of the set. Metrics are shares of
    right tags over the places in distinct sentences of the test and out-of-vocabulary sets: ``cuisine.seen``,
    ``cuisine.unseen``, ... of words seen and not seen in training, and ``seen`` and ``unseen``, the mean over
    the types of entities.
    """
    from reasonlib.goal_dialogue.experiments.tagger_data import training_entities
    from reasonlib.goal_dialogue.experiments.train_tagger import TaggerRecipe, tag_accuracy, train_tagger
    from reasonlib.goal_dialogue.models import pretrained

    settings = trial.settings
    split = datasets.load(trial.data, settings["task"], dialogues=settings.get("dialogues"))
    tagger = pretrained.TAGGERS[settings["tagger"]](seed=trial.seed)
    knowledge = split.knowledge if settings.get("entities") == "all" else training_entities(split)
    recipe = TaggerRecipe(steps=settings["steps"], made_up=settings["made_up"])
    history = train_tagger(
        tagger, split, recipe, knowledge=knowledge, seed=trial.seed, progress=trial.progress
    )
    rows = tag_accuracy(tagger, split, [*split.test, *split.oov], knowledge=knowledge)
    metrics = {f"{row.type}.{'seen' if row.seen else 'unseen'}": row.accuracy for row in rows}
    for kind in ("seen", "unseen"):
        shares = [row.accuracy for row in rows if row.type != "none" and row.seen == (kind == "seen")]
        if shares:
            metrics[kind] = sum(shares) / len(shares)
    bundled = settings.get("bundle") and trial.kind == "stand-in" and trial.scale == "paper"
    if bundled and history.stopped == "finished":
        pretrained.save_tagger(
            tagger, pretrained.path_of(f"tagger-{settings['tagger']}"), made=_command(trial)
        )
    mistaken = {
        f"{row.type}.{'seen' if row.seen else 'unseen'}": row.mistaken for row in rows if row.mistaken
    }
    return measured(history, metrics, details={"mistaken": mistaken})


def _command(trial: Trial) -> str:
    """Give the command that repeats this run."""
    return (
        f"reasonlib run {trial.experiment} --row {trial.row} --scale {trial.scale} --data {trial.data} "
        f"--seed {trial.seed}"
    )


TAGGERS = Experiment(
    name="goal_dialogue/taggers",
    title="Taggers of entity types, on seen and unseen words",
    rows={
        "letters": {"tagger": "letters", "made_up": 0.0, "bundle": True},
        "letters-all": {"tagger": "letters", "made_up": 0.0, "entities": "all"},
        "letters-made-up": {"tagger": "letters", "made_up": 0.5},
        "context-real-names": {"tagger": "context", "made_up": 0.0},
        "context": {"tagger": "context", "made_up": 0.5, "bundle": True},
    },
    scales={
        "smoke": {"task": 1, "dialogues": 8, "steps": 5},
        "quick": {"task": 1, "dialogues": 250, "steps": 150},
        "paper": {"task": 5, "steps": 400},
    },
    data=BOTH,
    run=run_taggers,
    version=data_version,
)
