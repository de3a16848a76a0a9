"""What every task gives: one sentence or two, or a question with candidates, and a label."""

from dataclasses import dataclass

from reasonlib.arguments import check_choice

__all__ = ["KINDS", "Example", "Task"]

KINDS = ("single", "similarity", "pair", "ranking")
"""The source's four kinds of tasks."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task: what it asks, and how an answer is scored.

    Attributes
    ----------
    name
        Of the task.
    kind
        One of `KINDS`: classify one sentence, rate a pair, classify a pair, rank a question's candidates.
    labels
        Names of the classes; empty where the kind has none.
    metric
        The metric that stands for the task: ``matthews``, ``accuracy``, ``f1``, ``pearson``, ``map``.

    Raises
    ------
    ValueError
        If the kind is unknown, or the labels do not fit it.
    """

    name: str
    kind: str
    labels: tuple[str, ...] = ()
    metric: str = "accuracy"

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, KINDS)
        if (self.kind in ("single", "pair")) != (len(self.labels) >= 2):
            raise ValueError(f"a task of kind {self.kind!r} cannot have the labels {list(self.labels)}")


@dataclass(frozen=True, kw_only=True)
class Example:
    """One labelled example of a task.

    Attributes
    ----------
    first
        The sentence; the premise of a pair; the question of a ranking.
    second
        The second sentence of a pair.
    candidates
        Answers to rank.
    label
        Number of the class; the similarity from 0 to 5; the position of the right candidate.
    others
        Positions of further right candidates.
    task
        Name of the task.
    phenomenon
        What makes the label what it is (simulated examples only), such as ``synonym`` or ``agreement``.
    """

    first: str
    second: str | None = None
    candidates: tuple[str, ...] = ()
    label: int | float
    others: tuple[int, ...] = ()
    task: str
    phenomenon: str = ""

    @property
    def texts(self) -> tuple[tuple[str, str | None], ...]:
        """The inputs of the encoder: one, or one for each candidate."""
        if self.candidates:
            return tuple((self.first, candidate) for candidate in self.candidates)
        return ((self.first, self.second),)
