"""What all heads of the bundled model say about two sentences, for figures, tables and exercises."""

from dataclasses import dataclass, replace

from reasonlib.multi_task.models.answer_network import Answer
from reasonlib.multi_task.models.pretrained import BundledSystem, from_pretrained

__all__ = ["HeadAnswer", "ask", "ask_all"]


@dataclass(frozen=True, kw_only=True)
class HeadAnswer:
    """The answer of one head.

    Attributes
    ----------
    task
        Its name.
    of
        ``first`` or ``second`` where the head reads one sentence; empty where it reads the pair.
    scores
        Probabilities of the classes; or one similarity, or one relevance.
    words
        The answer in words.
    steps
        What the answer network did, where the head is one.
    """

    task: str
    of: str = ""
    scores: tuple[float, ...]
    words: str
    steps: Answer | None


def ask(
    task: str, first: str, second: str | None = None, *, system: BundledSystem | None = None
) -> HeadAnswer:
    """Ask one head about a sentence or a pair.

    Parameters
    ----------
    task
        A task of the system.
    first, second
        The sentences; a question and a candidate for a ranking. A head of single sentences reads `first`.
    system
        By default the bundled one.
    """
    system = from_pretrained() if system is None else system
    kind, labels = system.model.tasks[task].kind, system.model.tasks[task].labels
    if kind == "ranking":
        scored = system.score(task, first, candidates=(second or "",))
    else:
        scored = system.score(task, first, None if kind == "single" else second)
    values = scored.values.exp() if labels else scored.values
    scores = tuple(float(value) for value in values.flatten())
    if labels:
        words = labels[max(range(len(scores)), key=scores.__getitem__)]
    else:
        words = (
            f"{min(5.0, max(0.0, scores[0])):.1f} of 5" if kind == "similarity" else f"{scores[0]:.2f} of 1"
        )
    return HeadAnswer(task=task, scores=scores, words=words, steps=scored.answer)


def ask_all(first: str, second: str, *, system: BundledSystem | None = None) -> list[HeadAnswer]:
    """Ask every head: those of single sentences about each sentence, the others about the pair."""
    system = from_pretrained() if system is None else system
    answers = []
    for name, task in system.model.tasks.items():
        if task.kind == "single":
            texts = {"first": first, "second": second}
            answers += [replace(ask(name, text, system=system), of=of) for of, text in texts.items()]
        else:
            answers.append(ask(name, first, second, system=system))
    return answers
