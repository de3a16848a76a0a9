"""A family of seven sentence tasks over one small world, and two more for adaptation.

::

    task            kind        asks                                          stands for
    acceptability   single      is it a sentence that can be said?             CoLA
    sentiment       single      is something good or bad said?                 SST-2
    similarity      similarity  how alike are two events, from 0 to 5?         STS-B
    inference       pair        does the second follow, or is it excluded?     MNLI
    entailment      pair        does the second follow?                        RTE
    paraphrase      pair        do both say the same?                          MRPC, QQP
    answers         ranking     which of four sentences answers?               QNLI
    captions        pair        as inference, of plants and tools alone        SNLI
    science         pair        as entailment, of plants and tools alone       SciTail

All need the meaning of words: which are synonyms, which concept is above which, what is good. A task that
learns it from many examples can help one that has few, as far as words mean the same in both (`relatedness`).
"""

import zlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from reasonlib.arguments import check_choice
from reasonlib.multi_task.data import stories
from reasonlib.multi_task.data.events import Speaker, draw_event
from reasonlib.multi_task.data.example import Example, Task
from reasonlib.multi_task.data.world import dictionary

__all__ = ["FAMILY", "LATER", "TASKS", "Text", "pretraining_texts", "simulate"]

TWO_WAY = ("not entailment", "entailment")
THREE_WAY = ("contradiction", "neutral", "entailment")

TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task(name="acceptability", kind="single", labels=("unacceptable", "acceptable"), metric="matthews"),
        Task(name="sentiment", kind="single", labels=("negative", "positive")),
        Task(name="similarity", kind="similarity", metric="pearson"),
        Task(name="inference", kind="pair", labels=THREE_WAY),
        Task(name="entailment", kind="pair", labels=TWO_WAY),
        Task(name="paraphrase", kind="pair", labels=("different", "paraphrase")),
        Task(name="answers", kind="ranking"),
        Task(name="captions", kind="pair", labels=THREE_WAY),
        Task(name="science", kind="pair", labels=TWO_WAY),
    )
}
LATER = ("captions", "science")
"""Tasks of a domain that the others never show: plants and tools."""

FAMILY = tuple(name for name in TASKS if name not in LATER)


_MAKERS: dict[str, Callable[[np.random.Generator, Speaker, str], stories.Made]] = {
    "acceptability": stories.acceptability,
    "sentiment": stories.sentiment,
    "similarity": stories.similarity,
    "inference": stories.inference,
    "entailment": stories.entailment,
    "paraphrase": stories.paraphrase,
    "answers": stories.answers,
    "captions": stories.inference,
    "science": stories.entailment,
}


def simulate(
    task: str, examples: int, *, seed: int, relatedness: float = 1.0, noise: float = 0.0
) -> list[Example]:
    """Make labelled examples of one task; the same seed gives the same ones everywhere.

    Parameters
    ----------
    task
        A name in `TASKS`.
    examples
        How many.
    seed
        Draws them. More examples of a seed begin with the same ones.
    relatedness
        Share of the words that mean the same as in all other tasks, from 0 to 1.
    noise
        Share of examples whose label is drawn anew among the wrong ones; of a similarity, the deviation of
        an error, as a share of 5.

    Returns
    -------
    list of Example
        Each with the phenomenon that decides its label.

    Raises
    ------
    ValueError
        If there is no such task, or a number is out of range.

    Examples
    --------
    >>> example = simulate("inference", 1, seed=3)[0]
    >>> TASKS["inference"].labels[example.label], example.phenomenon
    ('contradiction', 'sibling')
    """
    check_choice("task", task, TASKS)
    if examples < 0:
        raise ValueError(f"examples must be at least 0, got {examples}")
    if not 0 <= noise <= 1:
        raise ValueError(f"noise must be between 0 and 1, got {noise}")
    trades = dictionary(task, relatedness)
    domain = "garden" if task in LATER else "town"
    simulated = []
    for number in range(examples):
        draw = np.random.default_rng((seed, zlib.crc32(task.encode()), number))
        texts, label, phenomenon = _MAKERS[task](draw, Speaker(draw, trades), domain)
        simulated.append(_example(TASKS[task], texts, _noisy(TASKS[task], label, noise, draw), phenomenon))
    return simulated


def _example(task: Task, texts: tuple[str, ...], label: int | float, phenomenon: str) -> Example:
    ranking = task.kind == "ranking"
    return Example(
        first=texts[0],
        second=texts[1] if len(texts) > 1 and not ranking else None,
        candidates=texts[1:] if ranking else (),
        label=label,
        task=task.name,
        phenomenon=phenomenon,
    )


def _noisy(task: Task, label: int | float, noise: float, draw: np.random.Generator) -> int | float:
    if task.kind == "similarity":
        return float(np.clip(round(label + 5 * noise * draw.standard_normal(), 3), 0, 5))
    classes = len(task.labels) or stories.CANDIDATES
    if draw.random() < noise:
        return int((label + 1 + draw.integers(classes - 1)) % classes)
    return label


class Text(NamedTuple):
    """Unlabelled text for pre-training.

    Attributes
    ----------
    first, second
        Sentences; the second may be None.
    follows
        Whether the second goes on from the first, or tells of something else.
    """

    first: str
    second: str | None
    follows: bool


def pretraining_texts(count: int, *, seed: int) -> list[Text]:
    """Make unlabelled texts for pre-training: one sentence, or two.

    Most texts tell an event twice, with synonyms; see `stories.continued`. The second sentence of one pair in
    seven tells of another event instead. Both domains occur; the words mean what they mean at relatedness 1.
    """
    texts = []
    for number in range(count):
        draw = np.random.default_rng((seed, zlib.crc32(b"pretraining"), number))
        speaker = Speaker(draw, {})
        domain = "garden" if draw.random() < 0.3 else "town"
        first, second = stories.continued(draw, speaker, draw_event(draw, domain=domain, negated=0.15))
        follows = bool(draw.random() < 6 / 7)
        if second is not None and not follows:
            _, second = stories.continued(draw, speaker, draw_event(draw, domain=domain, negated=0.15))
        texts.append(Text(first, second, follows))
    return texts


def describe(example: Example) -> str:
    """Return an example as one line, its label in words; for tables."""
    labels = TASKS[example.task].labels if example.task in TASKS else ()
    label = labels[int(example.label)] if labels else f"{example.label}"
    parts = [example.first, *([example.second] if example.second else []), *example.candidates]
    return f"{' | '.join(parts)} -> {label}"
