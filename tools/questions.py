"""Questions that a page checks by itself: their form in a chapter, read once for the page and the notebook.

A question stands in a chapter as a directive. Its body says what kind it is:

    :::{question} Which loss follows an outlier furthest?
    - [ ] the absolute error
      > Its slope has the same size everywhere.
    - [x] the squared error
      > Its slope grows with the error, so the worst point pulls hardest.
    :::

    :::{question} Which hold the right answer? Choose all.          two or more [x]: choose several
    :::{question} What is the slope at an error of 3?
    - [=] 1 ± 0.01 per degree                                       a number, its tolerance, its unit
      > Beyond the threshold the slope stays at δ.
    - [ ] 3                                                         a wrong number that has its own answer
      > That is the slope of the square.
    :::

    :::{question} Put the steps of attention in order.
    1. scores                                                       a list with numbers: the right order
    2. softmax
    3. mixture of values
    > The mixture needs the weights, and these need the scores.
    :::

Every option has an answer of its own, the line that begins with ``>``. Text before the first option is shown
below the question. `read` refuses what could not be answered, and says what is missing.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

OPTION = re.compile(r"^[-*] \[(?P<mark>[ xX=])\] (?P<text>.+)$")
STEP = re.compile(r"^\d+[.)] (?P<text>.+)$")
NUMBER = re.compile(
    r"^(?P<value>[-+−]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?)"
    r"(?:\s*(?:±|\+/-)\s*(?P<tolerance>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?))?(?:\s+(?P<unit>\S.*))?$"
)
KINDS = ("choose", "several", "number", "order")


class BadQuestion(ValueError):
    """A question that nobody could answer; the message says what is missing."""


@dataclass
class Option:
    """One possible answer.

    Attributes
    ----------
    text
        What the reader chooses, in Markdown; of a number, its digits.
    right
        Whether it is right.
    feedback
        What the reader reads who chose it, in Markdown.
    """

    text: str
    right: bool
    feedback: str = ""


@dataclass
class Question:
    """One question with its answers.

    Attributes
    ----------
    text
        The question, in Markdown.
    kind
        "choose", "several", "number" or "order".
    more
        Further text below it.
    options
        Choices; known numbers, the right one first; or steps in the right order.
    feedback
        Of an order: what is said of it as a whole.
    tolerance, unit
        Of a number.
    """

    text: str
    kind: str
    more: list[str]
    options: list[Option]
    feedback: str = ""
    tolerance: float = 0.0
    unit: str = ""
    label: str = ""
    shuffled: list[int] = field(default_factory=list)  # of an order: the steps as they are first shown

    @property
    def answer(self) -> str:
        """The right answer in one line, in Markdown."""
        right = [option.text for option in self.options if option.right]
        if self.kind == "order":
            return " → ".join(option.text for option in self.options)
        if self.kind == "number":
            return " ".join(part for part in (right[0], self.unit) if part)
        return "; ".join(right)


def read(text: str, body: list[str], label: str = "") -> Question:
    """Read the body of a question.

    Raises
    ------
    BadQuestion
        If it asks nothing, offers no right answer, or leaves an option without an answer of its own.
    """
    if not text.strip():
        raise BadQuestion("a question needs its text: :::{question} What is asked?")
    short = f"the question {text.strip()[:60]!r}"
    more: list[str] = []
    options: list[Option] = []
    marks: list[str] = []
    target: Option | None = None
    whole: list[str] = []
    for line in body:
        bare = line.strip()
        if match := OPTION.match(bare):
            target = Option(match["text"].strip(), right=match["mark"] != " ")
            options.append(target)
            marks.append(match["mark"].lower())
        elif match := STEP.match(bare):
            target = Option(match["text"].strip(), right=True)
            options.append(target)
            marks.append("1")
        elif bare.startswith(">"):
            feedback = bare.removeprefix(">").strip()
            if not options:
                raise BadQuestion(f"{short}: `>` answers an option, and there is none yet")
            if marks[-1] == "1" and not line.startswith((" ", "\t")):
                whole.append(feedback)
            else:
                assert target is not None
                target.feedback = f"{target.feedback} {feedback}".strip()
        elif bare and options:
            target = options[-1]
            target.text += " " + bare
        elif not options:
            more.append(line)
    question = Question(
        text.strip(), _kind(marks, short), _trimmed(more), options, " ".join(whole), label=label
    )
    _finish(question, short)
    return question


def _kind(marks: list[str], short: str) -> str:
    """Say which kind of question these marks make."""
    if not marks:
        raise BadQuestion(f"{short} has no options: write `- [x] right` and `- [ ] wrong`")
    if set(marks) == {"1"}:
        return "order"
    if "1" in marks or ("=" in marks and "x" in marks):
        raise BadQuestion(f"{short} mixes options of two kinds")
    if "=" in marks:
        if marks.count("=") > 1:
            raise BadQuestion(f"{short} has {marks.count('=')} right numbers; give one")
        return "number"
    if "x" not in marks:
        raise BadQuestion(f"{short} has no right answer: mark it with `- [x]`")
    return "several" if marks.count("x") > 1 else "choose"


def _finish(question: Question, short: str) -> None:
    """Check what only the whole shows; take numbers apart; shuffle an order."""
    if question.kind in ("choose", "several") and len(question.options) < 2:
        raise BadQuestion(f"{short} offers no choice")
    if question.kind == "order":
        if len(question.options) < 3 or not question.feedback:
            raise BadQuestion(f"{short}: an order needs three steps and a line `> why this order`")
        question.shuffled = shuffled(len(question.options), question.text)
        return
    for option in question.options:
        if not option.feedback:
            raise BadQuestion(f"{short}: the option {option.text[:40]!r} needs an answer: `  > because ...`")
    if question.kind == "number":
        question.options.sort(key=lambda option: not option.right)
        for option in question.options:
            match = NUMBER.match(option.text)
            if not match:
                raise BadQuestion(f"{short}: {option.text!r} is no number")
            option.text = match["value"].replace(",", "").replace("−", "-")
            if option.right:
                question.tolerance = float(match["tolerance"] or 0.0)
                question.unit = (match["unit"] or "").strip()


def shuffled(count: int, seed: str) -> list[int]:
    """Mix the steps of an order: the same mixture at every build, and never the right order."""
    draw = random.Random(seed)
    order = list(range(count))
    while order == sorted(order):
        draw.shuffle(order)
    return order


def _trimmed(lines: list[str]) -> list[str]:
    """Drop empty lines at both ends."""
    while lines and not lines[0].strip():
        lines = lines[1:]
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines


def as_markdown(question: Question) -> list[str]:
    """Write a question for a notebook: the options as a list, the answers folded away."""
    lines = [f"**{question.text}**", ""]
    if question.more:
        lines += [*question.more, ""]
    if question.kind == "order":
        lines += [f"- {question.options[index].text}" for index in question.shuffled]
    elif question.kind == "number":
        lines.append("Type a number" + (f" ({question.unit})." if question.unit else "."))
    else:
        lines += [f"- {option.text}" for option in question.options]
    lines += ["", "<details><summary>Answer</summary>", ""]
    if question.kind == "order":
        lines += [f"{number}. {option.text}" for number, option in enumerate(question.options, 1)]
        lines += ["", question.feedback]
    else:
        lines += [
            f"- {'✓' if option.right else '✗'} {option.text}: {option.feedback}"
            for option in question.options
        ]
    return [*lines, "", "</details>"]
