"""Simulated stories like those of the released bAbI tasks (Weston et al. 2015), any number from any seed.

A small world of people, places, objects, times, sizes and motives changes at random; the released set's words
report it and ask about it, and each question carries the sentences that support its answer::

    seed --> draw --> task_1 ... task_20 --> SimulatedStory --> Example --> corpus.write --> a bAbI file
                      one story a call

The same seed gives the same examples on every machine. The rules of the released set (which of
several answers counts, when a question comes, how many sentences precede it) are kept where they can be
recovered; each task's docstring names the exceptions.
"""

from collections.abc import Callable
from random import Random

from reasonlib.story_qa.data.example import TASKS, Example
from reasonlib.story_qa.data.simulator import carrying, puzzles, reports
from reasonlib.story_qa.data.simulator.vocabulary import Draw, SimulatedStory

__all__ = ["GENERATORS", "SIMULATORS", "simulate"]

GENERATORS: dict[int, Callable[[Draw], SimulatedStory]] = {
    1: carrying.task_1,
    2: carrying.task_2,
    3: carrying.task_3,
    4: puzzles.task_4,
    5: carrying.task_5,
    6: carrying.task_6,
    7: carrying.task_7,
    8: carrying.task_8,
    9: reports.task_9,
    10: reports.task_10,
    11: reports.task_11,
    12: reports.task_12,
    13: reports.task_13,
    14: reports.task_14,
    15: puzzles.task_15,
    16: puzzles.task_16,
    17: puzzles.task_17,
    18: puzzles.task_18,
    19: puzzles.task_19,
    20: puzzles.task_20,
}


def simulate(
    task: int, questions: int | None = None, *, stories: int | None = None, seed: int = 0
) -> list[Example]:
    """Simulate stories for one task.

    Parameters
    ----------
    task
        1 to 20.
    questions
        Number of examples; the last story may be cut short to meet it, as in the released files.
    stories
        Number of whole stories, instead of `questions`.
    seed
        Different seeds give unrelated stories, so a training, validation and test set need three.

    Returns
    -------
    list of Example
        Examples in order, with `group` counting the stories from 0.

    Raises
    ------
    ValueError
        If `task` is not 1 to 20, or not exactly one of `questions` and `stories` is given and at least 1.

    Examples
    --------
    >>> simulate(1, questions=1, seed=0)[0].question
    'Where is Sandra?'
    """
    if task not in GENERATORS:
        raise ValueError(f"task must be {TASKS[0]} to {TASKS[-1]}, got {task}")
    if (questions is None) == (stories is None):
        raise ValueError(f"give questions or stories, one of them, got {questions} and {stories}")
    for name, value in (("questions", questions), ("stories", stories)):
        if value is not None and value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    draw = Random(f"bAbI {task} {seed}").random  # a text seed: tasks and seeds share no sequence
    generate = GENERATORS[task]
    examples: list[Example] = []
    group = 0
    while (stories is not None and group < stories) or (questions is not None and len(examples) < questions):
        story = generate(draw)
        for count, question, answer, support in story.questions:
            examples.append(
                Example(
                    task=task,
                    story=tuple(story.sentences[:count]),
                    question=question,
                    answer=answer,
                    support=support,
                    group=group,
                )
            )
        group += 1
    return examples if questions is None else examples[:questions]


def _simulator(task: int) -> Callable[[int, int], list[Example]]:
    def simulator(questions: int, seed: int) -> list[Example]:
        return simulate(task, questions, seed=seed)

    simulator.__doc__ = GENERATORS[task].__doc__
    return simulator


SIMULATORS: dict[str, Callable[[int, int], list[Example]]] = {f"qa{task}": _simulator(task) for task in TASKS}
