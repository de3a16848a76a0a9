"""Graded exercises of the chapters on mathematics questions.

Each check tries what a student wrote on cases that it draws from a seed and answers with a `checks.Result`.
"""

import math
import random
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from reasonlib.grading.checks import exercise, expect, expect_close, expect_equal
from reasonlib.maths_qa.models.decoding import answer as solve
from reasonlib.maths_qa.models.pretrained import from_pretrained
from reasonlib.maths_qa.page.probing import PLACES

__all__ = [
    "check_equal_compute",
    "check_longest_carry",
    "check_mask",
    "check_mean_accuracy",
    "check_place_values",
    "check_remembering",
    "check_restarting_positions",
    "check_short_sighted",
    "check_wrong_reason",
]

IGNORED = -100  # the label of a character that no loss is computed for, as in PyTorch
# Chapter "Fifty-six kinds of question" ----------------------------------------------------------------------


def mean_accuracy(predictions: Sequence[str], answers: Sequence[str], modules: Sequence[str]) -> float:
    """Return exact match averaged over modules."""
    right: dict[str, list[bool]] = defaultdict(list)
    for prediction, answer, module in zip(predictions, answers, modules, strict=True):
        right[module].append(prediction == answer)
    return sum(sum(hits) / len(hits) for hits in right.values()) / len(right)


@exercise(
    title="Score a test by module",
    minutes=10,
    points=2,
    hint="Collect right and wrong answers in a dictionary by module, take each share, then their mean.",
)
def check_mean_accuracy(answer: Callable[..., Any], seed: int) -> None:
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


@exercise(
    title="Score a model that only remembers",
    minutes=15,
    points=2,
    hint="One training question differs from the test question with probability `1 - 10 ** -entropy`. With "
    "what probability do all of them differ from it?",
)
def check_remembering(answer: Callable[..., Any], seed: int) -> None:
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
    place, number = PLACES.index(match[1]) + 1, match[2]
    return number[-place] if place <= len(number) else None


@exercise(
    title="Right for the wrong reason",
    minutes=25,
    points=3,
    hint="Ask for digits of long numbers with `answer(from_pretrained().model, question).text`. Where it is "
    "right, change the digit that is asked for, and keep the pair if the answer stays the same.",
)
def check_wrong_reason(answer: Callable[..., Any]) -> None:
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
        again = solve(model, changed).text
        expect(
            again == written, f"the answer to {changed!r} is {again!r}, a new one: the model reads this digit"
        )


# Chapter "Fill the holes first" -----------------------------------------------------------------------------


def mask(ids: Tensor, dice: Tensor, kinds: Tensor, random_ids: Tensor, mask_id: int) -> tuple[Tensor, Tensor]:
    """Mask 15 % of the characters: 80 % become the mask, 10 % a random character, 10 % stay."""
    chosen = dice < 0.15
    inputs = torch.where(chosen & (kinds < 0.8), mask_id, ids)
    inputs = torch.where(chosen & (kinds >= 0.8) & (kinds < 0.9), random_ids, inputs)
    return inputs, torch.where(chosen, ids, IGNORED)


@exercise(
    title="Write the 80/10/10 mask",
    minutes=15,
    points=3,
    hint="`torch.where(condition, this, that)` chooses number by number; start with `chosen = dice < 0.15`.",
)
def check_mask(answer: Callable[..., Any], seed: int) -> None:
    """Check ``mask(ids, dice, kinds, random_ids, mask_id)``: inputs and labels of QA-MLM.

    ``ids``, ``random_ids`` are (B, T) whole numbers; ``dice`` and ``kinds`` are (B, T) uniform draws from 0
    to 1. A character is chosen where its ``dice`` is below 0.15. A chosen one becomes ``mask_id`` where its
    ``kinds`` is below 0.8, the character of ``random_ids`` from 0.8 to 0.9, and stays from 0.9. Return the
    inputs, and labels that hold the original character where one was chosen and -100 elsewhere.
    """
    draw = torch.Generator().manual_seed(seed)
    shape = (6, 40)
    ids, random_ids = (torch.randint(3, 60, shape, generator=draw) for _ in range(2))
    dice, kinds = (torch.rand(shape, generator=draw) for _ in range(2))
    dice[0, :4], kinds[0, :4] = 0.05, torch.tensor([0.1, 0.85, 0.95, 0.8])
    random_ids[0, :4], ids[0, :4] = 7, torch.tensor([11, 12, 13, 14])
    returned = answer(ids.clone(), dice.clone(), kinds.clone(), random_ids.clone(), 1)
    inputs, labels = mask(ids, dice, kinds, random_ids, 1)
    chosen = dice < 0.15
    stays = chosen & (kinds >= 0.9)
    expect_close(
        returned[1],
        labels,
        "labels hold the original characters where one was chosen, and -100 elsewhere",
        wrong={
            "a chosen character that stays is predicted, too: it needs its label": labels.masked_fill(
                stays, IGNORED
            ),
            "only chosen characters have labels; all others get -100": ids,
            "labels are the original characters, not what stands in the input": torch.where(
                chosen, inputs, IGNORED
            ),
        },
    )
    expect_close(
        returned[0],
        inputs,
        "80 % of the chosen characters are masked, 10 % replaced, 10 % stay",
        wrong={
            "all chosen characters are masked here; 10 % become random and 10 % stay": torch.where(
                chosen, 1, ids
            ),
            "the last tenth of the chosen characters stays as it is": torch.where(
                chosen & (kinds >= 0.9), random_ids, inputs
            ),
            "nothing is replaced by a random character": torch.where(chosen & (kinds >= 0.8), ids, inputs),
            "characters that were not chosen stay as they are": torch.where(kinds < 0.8, 1, ids),
        },
    )


def restarting_positions(segments: Tensor) -> Tensor:
    """Count positions from zero in the question and from zero again in the answer."""
    here = torch.arange(segments.shape[1]).expand(segments.shape)
    return here - segments * (1 - segments).sum(1, keepdim=True)


@exercise(
    title="Restart the positions",
    minutes=10,
    points=2,
    hint="Subtract the length of the question from the positions of the answer.",
)
def check_restarting_positions(answer: Callable[..., Any], seed: int) -> None:
    """Check ``restarting_positions(segments)``: positions that begin again at the answer.

    ``segments`` is (B, T), 0 at characters of the question and 1 at those of the answer, which follow it.
    Return (B, T) whole numbers: 0, 1, 2, ... in the question, and again from 0 in the answer.
    """
    draw = random.Random(seed)
    lengths = [draw.randint(3, 5), draw.randint(6, 8), draw.randint(1, 2)]
    segments = torch.tensor([[int(t >= length) for t in range(11)] for length in lengths])
    straight = torch.arange(11).expand(3, 11)
    restarted = restarting_positions(segments)
    expect_close(
        answer(segments.clone()),
        restarted,
        "count from 0 in the question, and from 0 again in the answer",
        wrong={
            "the positions go on through the answer: they must begin again": straight,
            "the first character of the answer has position 0, not 1": restarted + segments,
            "positions count from 0": restarted + 1,
            "questions differ in length: find where each row's answer begins": restarting_positions(
                segments[:1].expand(3, 11)
            ),
        },
    )


def layer_products(tokens: int, width: int, hidden: int, memory: int | None = None) -> int:
    """Count the multiplications of a layer on some tokens, with a memory if it is a decoder layer."""
    own = tokens * (4 * width**2 + 2 * width * hidden) + 2 * tokens**2 * width
    if memory is None:
        return own
    return own + 2 * (tokens + memory) * width**2 + 2 * tokens * memory * width


def equal_compute(
    pretraining: int, fine_tuning: int, question: int, answer: int, width: int, hidden: int
) -> float:
    """Return the fine-tuning steps that cost as much as pre-training and fine-tuning together."""
    mlm = layer_products(question + answer, width, hidden)
    tuned = layer_products(question, width, hidden) + layer_products(answer, width, hidden, question)
    return fine_tuning + pretraining * mlm / tuned


@exercise(
    title="Equal compute, counted",
    minutes=25,
    points=3,
    hint="First write a function for the multiplications of one encoder layer on T tokens; the decoder layer "
    "adds attention to the question.",
)
def check_equal_compute(answer: Callable[..., Any], seed: int) -> None:
    """Check ``equal_compute(pretraining, fine_tuning, question, answer, width, hidden)``.

    Return how many steps from scratch cost as much as ``pretraining`` steps of QA-MLM and ``fine_tuning``
    steps together. Count multiplications of one layer: a linear map of T tokens from D to E numbers costs
    T D E, attention of T tokens to S tokens 2 T S D. An encoder layer has four maps of attention (query, key,
    value, output), its attention, and two maps between ``width`` and ``hidden``. A decoder layer has the same
    for the answer, and besides query and output maps on the answer, key and value maps on the question, and
    attention from answer to question. QA-MLM runs an encoder layer on question and answer together.
    Fine-tuning runs an encoder layer on the question and a decoder layer on the answer.
    """
    draw = random.Random(seed)
    for _ in range(3):
        steps, tuned_steps = draw.randint(3, 9) * 1000, draw.randint(3, 9) * 1000
        question, length, width = draw.randint(40, 80), draw.randint(8, 20), 8 * draw.randint(4, 9)
        hidden = 4 * width
        both = layer_products(question + length, width, hidden)
        encoder, decoder = (layer_products(n, width, hidden) for n in (question, length))
        tuned = encoder + layer_products(length, width, hidden, question)
        half = (encoder + decoder) + 2 * length * width**2 + 2 * length * question * width
        expect_close(
            answer(steps, tuned_steps, question, length, width, hidden),
            tuned_steps + steps * both / tuned,
            f"{steps} steps of QA-MLM on {question} + {length} characters and {tuned_steps} steps of "
            "fine-tuning",
            wrong={
                "a step of QA-MLM is cheaper than a step of fine-tuning: weigh it": steps + tuned_steps,
                "the decoder attends to the question, too": tuned_steps + steps * both / (encoder + decoder),
                "the keys and values of the question are projected in the decoder, too": tuned_steps
                + steps * both / half,
                "add the steps of fine-tuning themselves": steps * both / tuned,
                "QA-MLM reads the question together with the answer": tuned_steps + steps * encoder / tuned,
            },
        )


# Chapter "What the model can and cannot compute" ------------------------------------------------------------


def longest_carry(first: int, second: int) -> int:
    """Return the length of the longest run of columns that carry when two whole numbers are added."""
    longest = run = carry = 0
    while first or second:
        carry = (first % 10 + second % 10 + carry) // 10
        run = run + 1 if carry else 0
        longest = max(longest, run)
        first, second = first // 10, second // 10
    return longest


def _carries(first: int, second: int, *, chained: bool) -> list[int]:
    """Say of each column whether it carries; unchained, without the carry that it gets."""
    columns, carry = [], 0
    while first or second:
        total = first % 10 + second % 10
        carry = (total + carry * chained) // 10
        columns.append(carry)
        first, second = first // 10, second // 10
    return columns


@exercise(
    title="The longest carry chain",
    minutes=15,
    points=2,
    hint="Add column by column from the right with `divmod(..., 10)`, and count columns in a row that carry.",
)
def check_longest_carry(answer: Callable[..., Any], seed: int) -> None:
    """Check ``longest_carry(first, second)``: how far a carry runs when two numbers are added.

    Both are whole numbers, not negative. Add them column by column from the right. Return the largest number
    of neighbouring columns that all carry.
    """
    draw = random.Random(seed)
    length = draw.randint(3, 5)
    cases = [
        (draw.choice([559505, 668606]), draw.choice([551515, 551616])),
        (10**length - 1, 1),
        (123, 456),
        (10**length - 1, 10 ** (length - 1)),
        (0, 0),
    ]
    for first, second in cases:
        right = longest_carry(first, second)
        columns = _carries(first, second, chained=True)
        alone = "".join(map(str, _carries(first, second, chained=False)))
        expect_equal(
            int(answer(first, second)),
            right,
            f"{first} + {second}: count the columns in a row that carry",
            wrong={
                "a column can carry because of the carry that it gets": max(
                    map(len, alone.split("0")), default=0
                ),
                "this is the number of all columns that carry; find the longest run": sum(columns),
                "say how long the chain is, not whether there is one": int(any(columns)),
            },
        )


def place_values(text: str) -> list[int]:
    """Return for every character how far its digit stands from the right end of its number."""
    places = [0] * len(text)
    for number in re.finditer(r"\d+", text):
        for position in range(number.start(), number.end()):
            places[position] = number.end() - position
    return places


@exercise(
    title="Positions by place value",
    minutes=15,
    points=2,
    hint="Read the text from the right: a digit is one more than the digit after it, all else is 0.",
)
def check_place_values(answer: Callable[..., Any], seed: int) -> None:
    """Check ``place_values(text)``: for each character the place of its digit in its number.

    The last digit of a run of digits has place 1, the one before it 2, and so on. A character that is no
    digit has place 0. Return a list with one whole number for each character.
    """
    draw = random.Random(seed)
    first, second, third = (draw.randint(10 ** (n - 1), 10**n - 1) for n in draw.sample([2, 3, 4, 5, 6], 3))
    for text in (f"What is {first} + {second}?", f"-{third}*x**2 + {first}", "Is 7 a prime?"):
        right = place_values(text)
        runs = [(m.start(), m.end()) for m in re.finditer(r"\d+", text)]
        left = [0] * len(text)
        for start, end in runs:
            left[start:end] = range(1, end - start + 1)
        digits = [int(character.isdigit()) for character in text]
        behind, count = [0] * len(text), 0
        for position in reversed(range(len(text))):
            count += digits[position]
            behind[position] = count if digits[position] else 0
        returned = [int(place) for place in answer(text)]
        expect(len(returned) == len(text), f"one number for each of the {len(text)} characters of {text!r}")
        expect_equal(
            returned,
            right,
            f"the digits of each number in {text!r}, counted from the right",
            wrong={
                "count from the right: units are 1, tens 2": left if left != right else None,
                "every number begins again at 1": behind if behind != right else None,
                "units are 1 and everything else is 0: units are not 0": [
                    max(place - 1, 0) for place in right
                ],
                "say the place of a digit, not whether it is one": digits if digits != right else None,
            },
        )


NINE, ABOVE = 0.1, 0.45  # probability that two random digits add up to 9, and to more than 9


def short_sighted(columns: int, reach: int) -> float:
    """Return how often an adder is right if it sees only a few columns to the right of each.

    It fails where a column above 9 is followed, to the left, by `reach` columns of exactly 9. Such a pattern
    cannot overlap with itself, so its first end is at column n with the probability of the pattern times that
    of no pattern in the columns before it.
    """
    right = [1.0] * (reach + 1)
    for before in range(max(columns - reach, 0)):
        right.append(right[-1] - ABOVE * NINE**reach * right[before])
    return right[columns]


def _short_chains(columns: int, longest: int) -> float:
    """Return how often no chain of carries in a random sum is longer than `longest` columns."""
    runs = {0: 1.0}  # length of the chain that ends here, to its probability
    for _ in range(columns):
        after: dict[int, float] = defaultdict(float)
        for run, probability in runs.items():
            carries = ABOVE + NINE * (run > 0)
            after[0] += probability * (1 - carries)
            if run < longest:
                after[run + 1] += probability * carries
        runs = after
    return sum(runs.values())


@exercise(
    title="Score an adder that cannot carry far",
    minutes=25,
    points=3,
    hint="Sort columns by the sum of their two digits: below 9, exactly 9, above 9. Which of these carry "
    "whatever arrives, and which only pass on a carry? Write down the pattern that makes the adder fail.",
)
def check_short_sighted(answer: Callable[..., Any], seed: int) -> None:
    """Check ``short_sighted(columns, reach)``: the exact match of an adder with a short reach.

    Two numbers with ``columns`` digits each are added; all digits are drawn independently and uniformly from
    0 to 9. The adder computes each digit of the sum from its own column and the ``reach`` columns to the
    right of it, as if no carry came into these from further right. The digit to the left of all columns,
    which is the last carry, is computed in the same way. Return the probability that every digit is right.
    """
    draw = random.Random(seed)
    cases = [
        (draw.randint(5, 9), 1),
        (draw.randint(6, 9), 2),
        (draw.randint(2, 5), 0),
        (2, draw.randint(2, 4)),
    ]
    for columns, reach in cases:
        right = short_sighted(columns, reach)
        pattern, windows = ABOVE * NINE**reach, max(columns - reach, 0)
        wrong = {
            "this is the probability of a mistake; return that of a right sum": 1 - right,
            "a column such as 6 + 7 carries whatever arrives; only a column of 9 passes a carry on": (
                _short_chains(columns, reach)
            ),
            "patterns in overlapping columns exclude each other: they are not independent": (1 - pattern)
            ** windows,
            "a sum can have two mistakes: do not subtract it twice": 1 - pattern * windows,
            "the digit left of all columns, the last carry, must be right, too": short_sighted(
                columns - 1, reach
            ),
            "the adder sees `reach` columns besides its own": short_sighted(columns, max(reach - 1, 0)),
            "columns of 9 do no harm unless a carry comes into them": (1 - NINE**reach) ** windows,
        }
        expect_close(
            answer(columns, reach),
            right,
            f"{columns} columns and a reach of {reach}: the probability that no carry is missed",
            wrong={hint: value for hint, value in wrong.items() if abs(value - right) > 1e-4},
        )
