"""What word vectors can say at all: responses whose every word the system said in training.

A network that gives every word a vector of its own can say a word only if training moved that word's vector.
So the share of responses all of whose words the system said in training is the most it reaches but for luck.
The restaurants of tasks 3 and 4 are other ones in the released training file than in the ordinary test file
too, so this limit holds there as well as on the out-of-vocabulary sets.
"""

from collections.abc import Iterable
from typing import NamedTuple

from reasonlib.goal_dialogue.data import datasets
from reasonlib.goal_dialogue.data.example import Dialogue, Fact, Split, Turn
from reasonlib.goal_dialogue.experiments.tasks import BOTH, EVALUATED, data_version
from reasonlib.tracking.experiment import Experiment, Measured, Trial

__all__ = ["CEILING", "Ceiling", "ceiling", "run_ceiling"]


class Ceiling(NamedTuple):
    """Which fractions of a set's responses can be learned as a whole, or word by word.

    Attributes
    ----------
    verbatim
        Of responses that occur in training as they are.
    words
        Of responses each of whose words the system said in training.
    names
        Of responses with a word never heard in training by anybody.
    """

    verbatim: float
    words: float
    names: float


def ceiling(split: Split, *, learnt: str = "train") -> dict[str, Ceiling]:
    """Compute what training on one part of a split can teach about the responses of the others.

    Parameters
    ----------
    split
        One task.
    learnt
        The part that is trained on: ``train`` or ``valid``, the source's other choice.

    Returns
    -------
    dict
        For ``valid``, ``test`` and, where there is one, ``oov``; and ``train`` where that is not learned.

    Raises
    ------
    ValueError
        If there is no such part.
    """
    parts = {"train": split.train, "valid": split.valid, "test": split.test, "oov": split.oov}
    if learnt not in ("train", "valid"):
        raise ValueError(f"learnt must be train or valid, got {learnt!r}")
    responses = {turn.bot for dialogue in parts[learnt] for turn in dialogue.turns}
    response_words = {word for response in responses for word in response.split()}
    dialogue_words = response_words | _heard(parts[learnt])
    ceilings = {}
    for name, dialogues in parts.items():
        if name == learnt or not dialogues:
            continue
        set_responses = [turn.bot for dialogue in dialogues for turn in dialogue.turns]
        ceilings[name] = Ceiling(
            verbatim=sum(response in responses for response in set_responses) / len(set_responses),
            words=sum(response_words.issuperset(response.split()) for response in set_responses)
            / len(set_responses),
            names=sum(not dialogue_words.issuperset(response.split()) for response in set_responses)
            / len(set_responses),
        )
    return ceilings


def _heard(dialogues: Iterable[Dialogue]) -> set[str]:
    """Every word of what users said and of what API calls brought back."""
    words: set[str] = set()
    for dialogue in dialogues:
        for event in dialogue.events:
            if isinstance(event, Turn):
                words.update(event.user.split())
            elif isinstance(event, Fact):
                words.update((event.subject, event.relation, event.value))
            else:
                words.update(event.text.split())
    return words


def run_ceiling(trial: Trial) -> Measured:
    """Compute the ceiling of each task; metrics ``task1``, ``oov1``, ... are the share `Ceiling.words`."""
    metrics = {}
    for task in trial.settings["tasks"]:
        split = datasets.load(trial.data, task, dialogues=trial.settings.get("dialogues"))
        ceilings = ceiling(split, learnt=trial.settings["learnt"])
        for part in EVALUATED:
            if part in ceilings:
                metrics[f"{'task' if part == 'test' else 'oov'}{task}"] = ceilings[part].words
    return Measured(metrics=metrics, steps_done=1, steps_planned=1)


CEILING = Experiment(
    name="goal_dialogue/ceiling",
    title="Responses whose every word the system said in training: the limit of word vectors",
    rows={"train": {"learnt": "train"}, "valid": {"learnt": "valid"}},
    scales={
        "smoke": {"tasks": (1,), "dialogues": 12},
        "quick": {"tasks": (1, 2, 3, 4, 5), "dialogues": 200},
        "paper": {"tasks": (1, 2, 3, 4, 5)},
    },
    data=BOTH,
    run=run_ceiling,
    deterministic=True,
    version=data_version,
)
