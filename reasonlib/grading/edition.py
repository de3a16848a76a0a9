"""The teacher's edition of a topic: a solution of each exercise, and wrong answers with what each teaches.

It stands in ``teaching/<topic>.py`` of a checkout, outside the library that students install, as a dictionary
``EDITION`` from an exercise's name to a `Solved`. `problems` says where an exercise and its edition disagree;
the tests run it over all topics.
"""

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reasonlib.errors import UserError
from reasonlib.grading import checks

__all__ = ["Mistake", "Replay", "Solved", "load", "problems"]

FEWEST = 3  # mistakes of an exercise
NOTEBOOK_SEED, GRADING_SEED = 0, 1


@dataclass(frozen=True)
class Mistake:
    """A plausible wrong answer.

    Attributes
    ----------
    answer
        What the student wrote.
    hint
        Part of what the check must say; ``a|b`` where it depends on the cases.
    teaches
        What a teacher explains to whoever wrote it.
    """

    answer: Any
    hint: str
    teaches: str


@dataclass(frozen=True)
class Solved:
    """An exercise with its solution.

    Attributes
    ----------
    solution
        Earns full marks.
    mistakes
        Earn none.
    open
        Why no other cases can be drawn: the answer is the student's own choice. Empty for all others.
    """

    solution: Any
    mistakes: Sequence[Mistake] = field(default_factory=list)
    open: str = ""


class Replay:
    """An answer that is right on the cases of one seed alone: it repeats what the solution returned there."""

    def __init__(self, exercise: checks.Exercise, solution: Any, seed: int = NOTEBOOK_SEED) -> None:
        self.returned: list[Any] = []
        self.calls = 0

        def recorded(*arguments: Any) -> Any:
            self.returned.append(solution(*arguments))
            return self.returned[-1]

        checks.require(exercise(recorded, seed=seed))

    def answer(self) -> Callable[..., Any]:
        """Return the function, from its first call."""
        self.calls = 0

        def replayed(*arguments: Any) -> Any:
            self.calls += 1
            return self.returned[(self.calls - 1) % len(self.returned)]

        return replayed


def load(path: Path) -> Mapping[str, Solved]:
    """Read the edition of a topic.

    Raises
    ------
    UserError
        If there is no such file.
    """
    spec = importlib.util.spec_from_file_location(f"edition_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise UserError(f"{path}: there is no teacher's edition")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    edition: Mapping[str, Solved] = module.EDITION
    return edition


def problems(exercise: checks.Exercise, solved: Solved) -> list[str]:
    """Say what is wrong with an exercise or its edition; an empty list if all holds.

    The solution passes on the cases of several seeds. The stub, each mistake, and an answer that is right on
    the notebook's cases alone earn nothing, and each mistake gets its own hint.
    """
    faults = []
    stub = exercise(checks.stub())
    if not stub.untouched or exercise.hint not in stub.message:
        faults.append(f"the stub is answered with {stub.message!r}")
    if len(solved.mistakes) < FEWEST:
        faults.append(f"{len(solved.mistakes)} mistakes, {FEWEST} are the least")
    seeds = (NOTEBOOK_SEED, GRADING_SEED, 2) if exercise.draws else (NOTEBOOK_SEED,)
    for seed in seeds:
        result = exercise(solved.solution, seed=seed)
        if not result.passed or result.earned != exercise.points:
            faults.append(f"seed {seed}: the solution earns {result.earned} points: {result.message}")
    for number, mistake in enumerate(solved.mistakes, 1):
        for seed in seeds[:2]:
            result = exercise(mistake.answer, seed=seed)
            if (
                result.passed
                or result.untouched
                or not any(part in result.message for part in mistake.hint.split("|"))
            ):
                faults.append(f"mistake {number}, seed {seed}, {mistake.hint!r}: {result.message}")
        if exercise.hint in mistake.hint or not mistake.teaches:
            faults.append(f"mistake {number} needs a hint of its own and what it teaches")
    if not solved.open and not faults:
        replay = Replay(exercise, solved.solution)
        if not exercise(replay.answer(), seed=NOTEBOOK_SEED).passed:
            faults.append("the same seed draws other cases")
        elif exercise(replay.answer(), seed=GRADING_SEED).passed:
            faults.append("an answer that repeats what is right for the notebook's cases passes when graded")
    return faults
