"""Exercises of the chapter "Fifty-six kinds of question"."""

import math
import random
import re
from collections import defaultdict
from collections.abc import Sequence

from reasonlib.grading.checks import Answer, exercise, expect, expect_close, hint
from reasonlib.maths_qa.models.decoding import answer as solve
from reasonlib.maths_qa.models.pretrained import from_pretrained
from reasonlib.maths_qa.page.probing import PLACES

__all__ = ["check_mean_accuracy", "check_remembering", "check_wrong_reason"]


def mean_accuracy(predictions: Sequence[str], answers: Sequence[str], modules: Sequence[str]) -> float:
    """Return exact match averaged over modules."""
    right: dict[str, list[bool]] = defaultdict(list)
    for prediction, answer, module in zip(predictions, answers, modules, strict=True):
        right[module].append(prediction == answer)
    return sum(sum(hits) / len(hits) for hits in right.values()) / len(right)


@exercise(title="Score a test by module", minutes=10, points=2)
@hint("Collect right and wrong answers in a dictionary by module, take each share, then their mean.")
def check_mean_accuracy(answer: Answer, seed: int) -> None:
    """Check ``mean_accuracy(predictions, answers, modules)``: exact match, averaged over modules.

    The three lists have one entry for each question. An answer is right if every character is. Each module
    counts the same, however many questions it has.
    """
    draw = random.Random(seed)
    sums, primes = draw.randint(2, 4), draw.randint(7, 11)
    items = [("12", "12", "sum")] * sums + [("13", "12", "sum")] + [("21", "12", "sum")]
    items += [("False", "False", "prime")] * primes + [("True", "False", "prime")]
    items += [("7", "-7", "sum"), ("-3", "-3", "root")]
    draw.shuffle(items)
    predictions, answers, modules = (list(column) for column in zip(*items, strict=True))
    pooled = sum(a == b for a, b in zip(predictions, answers, strict=True)) / len(items)
    letters = mean_accuracy(
        ["".join(sorted(text)) for text in predictions], ["".join(sorted(text)) for text in answers], modules
    )
    expect_close(
        answer(list(predictions), list(answers), list(modules)),
        mean_accuracy(predictions, answers, modules),
        "the share of exact answers of each module, then the mean over modules",
        wrong={
            "every module counts the same; you counted every question the same": pooled,
            "the order of the characters matters: 21 is not 12": letters,
            "return a share, not per cent": 100 * mean_accuracy(predictions, answers, modules),
            "return the mean over modules, not their sum": 3 * mean_accuracy(predictions, answers, modules),
        },
    )


def remembering(modules: Sequence[tuple[float, int, float]]) -> float:
    """Return the exact match to expect of a model that remembers training and guesses the rest."""
    scores = []
    for entropy, draws, frequent in modules:
        unseen = (1 - 10.0**-entropy) ** draws
        scores.append(1 - unseen + unseen * frequent)
    return sum(scores) / len(scores)


@exercise(title="Score a model that only remembers", minutes=15, points=2)
@hint(
    "One training question differs from the test question with probability `1 - 10 ** -entropy`. With "
    "what probability do all of them differ from it?"
)
def check_remembering(answer: Answer, seed: int) -> None:
    """Check ``remembering(modules)``: the exact match to expect of a model that knows no mathematics.

    ``modules`` has an entry ``(entropy, draws, frequent)`` for each module. Training and test questions are
    drawn independently and uniformly from ``10 ** entropy`` possible ones; training has ``draws`` of them.
    The model is right on a test question that occurs in training. It gets the share ``frequent`` of the
    others right. Return the mean over modules, from 0 to 1.
    """
    draw = random.Random(seed)
    entropy, frequent = draw.randint(3, 5), draw.uniform(0.2, 0.4)
    draws = round(10**entropy * draw.uniform(0.5, 0.9))
    unseen = (1 - 10.0**-entropy) ** draws
    expect_close(
        answer([(entropy, draws, frequent)]),
        remembering([(entropy, draws, frequent)]),
        f"one module: 10**{entropy} possible questions, {draws} of training, {frequent:.3f} for a guess",
        wrong={
            "draws can repeat a question, so training has fewer different questions than draws": draws
            / 10**entropy
            + (1 - draws / 10**entropy) * frequent,
            "the model also guesses: add what the most frequent answer earns on unseen questions": 1 - unseen,
            "the guess counts for unseen questions alone; you counted it for all": 1 - unseen + frequent,
            "entropy is an exponent of ten here: there are 10 ** entropy questions": 1
            - (1 - frequent) * (1 - math.exp(-entropy)) ** draws,
            "you took the unseen questions for the seen ones": unseen + (1 - unseen) * frequent,
            "return a share, not per cent": 100 * remembering([(entropy, draws, frequent)]),
        },
        tolerance=1e-3,
    )
    modules = [
        (float(size), draw.randint(2, 9) * 10**5, draw.uniform(0.1, 0.5))
        for size in draw.sample((4, 6, 8), 3)
    ]
    average = tuple(sum(column) / len(modules) for column in zip(*modules, strict=True))
    expect_close(
        answer(list(modules)),
        remembering(modules),
        "three modules: the mean of what the model earns on each",
        wrong={
            "average the scores of the modules, not their entropies and draws": remembering([average]),
            "return the mean over modules, not their sum": 3 * remembering(modules),
        },
        tolerance=1e-3,
    )


def right_digit(question: str) -> str | None:
    """Return the right answer to a question for one digit of a number; None for any other question."""
    match = re.fullmatch(rf"What is the ({'|'.join(PLACES)}) digit of (\d+)\?", question)
    if match is None:
        return None
    digit_place, number = PLACES.index(match[1]) + 1, match[2]
    return number[-digit_place] if digit_place <= len(number) else None


@exercise(title="Right for the wrong reason", minutes=25, points=3)
@hint(
    "Ask for digits of long numbers with `answer(from_pretrained().model, question).text`. Where it is "
    "right, change the digit that is asked for, and keep the pair if the answer stays the same."
)
def check_wrong_reason(answer: Answer) -> None:
    """Check ``wrong_reason()``: three pairs of questions that show what the bundled model does not read.

    It returns a list of three pairs ``(question, changed)``, questions such as ``What is the tens digit of
    512?`` The bundled pre-trained model is right on each ``question``. ``changed`` differs from it in one
    character, so that another answer is right; the model's answer stays the same.
    """
    pairs = [(str(question), str(changed)) for question, changed in answer()]
    model = from_pretrained().model
    expect(len(pairs) == 3 == len(set(pairs)), f"return three different pairs, not {len(set(pairs))}")
    for question, changed in pairs:
        expected, other = right_digit(question), right_digit(changed)
        for text, digit in ((question, expected), (changed, other)):
            expect(
                digit is not None, f"{text!r} must ask for a digit that the number has, as the task writes it"
            )
        differ = sum(a != b for a, b in zip(question, changed, strict=False))
        expect(
            len(question) == len(changed) and differ == 1,
            f"{question!r} and {changed!r} must differ in exactly one character",
        )
        expect(expected != other, f"{question!r} and {changed!r} have the same right answer")
        written = solve(model, question).text
        expect(written == expected, f"the model answers {question!r} with {written!r}: not right")
        changed_answer = solve(model, changed).text
        expect(
            changed_answer == written,
            f"the answer to {changed!r} is {changed_answer!r}, a new one: the model reads this digit",
        )
