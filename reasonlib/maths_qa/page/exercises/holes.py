"""Exercises of the chapter "Fill the holes first"."""

import random

import torch
from torch import Tensor

from reasonlib.grading.checks import Answer, exercise, expect_close, hint

__all__ = ["check_equal_compute", "check_mask", "check_restarting_positions"]

IGNORED = -100  # the label of a character that no loss is computed for, as in PyTorch


def mask(ids: Tensor, dice: Tensor, kinds: Tensor, random_ids: Tensor, mask_id: int) -> tuple[Tensor, Tensor]:
    """Mask 15 % of the characters: 80 % become the mask, 10 % a random character, 10 % stay."""
    chosen = dice < 0.15
    inputs = torch.where(chosen & (kinds < 0.8), mask_id, ids)
    inputs = torch.where(chosen & (kinds >= 0.8) & (kinds < 0.9), random_ids, inputs)
    return inputs, torch.where(chosen, ids, IGNORED)


@exercise(title="Write the 80/10/10 mask", minutes=15, points=3)
@hint("`torch.where(condition, this, that)` chooses number by number; start with `chosen = dice < 0.15`.")
def check_mask(answer: Answer, seed: int) -> None:
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


@exercise(title="Restart the positions", minutes=10, points=2)
@hint("Subtract the length of the question from the positions of the answer.")
def check_restarting_positions(answer: Answer, seed: int) -> None:
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


@exercise(title="Equal compute, counted", minutes=25, points=3)
@hint(
    "First write a function for the multiplications of one encoder layer on T tokens; the decoder layer "
    "adds attention to the question."
)
def check_equal_compute(answer: Answer, seed: int) -> None:
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
            tolerance=2e-4,  # a whole number of steps is right, too
        )
