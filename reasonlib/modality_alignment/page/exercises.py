"""Graded exercises of the chapters on modality alignment.

Each check tries what a student wrote on cases that it draws from a seed and answers with a `checks.Result`.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from reasonlib.grading.checks import exercise, expect, expect_close
from reasonlib.modality_alignment.data.scene import Scene, draw_scene
from reasonlib.nn.similarity import cka, hsic

__all__ = [
    "check_ask_about_video",
    "check_linear_cka",
    "check_lying_batch",
    "check_match",
    "check_retrieval",
]

# Chapter "Two geometries" -----------------------------------------------------------------------------------


@exercise(
    title="CKA in six lines",
    minutes=15,
    points=2,
    hint="Subtract the mean of each column; then compare squared norms of the products of columns.",
)
def check_linear_cka(answer: Callable[..., Any], seed: int) -> None:
    """Check ``linear_cka(x, y)``: CKA of two representations with a linear kernel.

    ``x`` is (N, D) and ``y`` is (N, E); row n of both belongs to example n. Return a number from 0 to 1.
    """
    draw = torch.Generator().manual_seed(seed)
    x = torch.randn(20, 5, generator=draw) + 1.0
    y = x[:, :3] @ torch.randn(3, 4, generator=draw) + 0.5 * torch.randn(20, 4, generator=draw)
    cross = hsic(x, y)
    norms = [(part - part.mean(0)).T @ (other - other.mean(0)) for part, other in ((x, y), (x, x), (y, y))]
    expect_close(
        answer(x.clone(), y.clone()),
        cka(x, y),
        "20 examples, 5 and 4 dimensions",
        wrong={
            "centre both first: subtract the mean of each column": (x.T @ y).square().sum()
            / ((x.T @ x).norm() * (y.T @ y).norm()),
            "this is HSIC; divide by the root of both HSIC of a representation with itself": cross,
            "HSIC is the squared norm of the products of columns": norms[0].norm()
            / (norms[1].norm() * norms[2].norm()),
            "take the root of the product below": norms[0].square().sum()
            / (norms[1].square().sum() * norms[2].square().sum()),
        },
        tolerance=1e-4,
    )
    turn = torch.linalg.qr(torch.randn(5, 5, generator=draw)).Q
    expect_close(
        answer(3.0 * x @ turn, y.clone()),
        cka(x, y),
        "x is turned and scaled: nothing may change",
        tolerance=1e-4,
    )


def _pairs(draw: torch.Generator) -> tuple[Tensor, Tensor, dict[str, float]]:
    """Draw pairs of vectors with many lengths; return the right share, and what mistakes give."""
    count = int(torch.randint(60, 90, (1,), generator=draw))
    words = torch.randn(count, 3, generator=draw)
    lengths = 0.1 + 6 * torch.rand(count, 1, generator=draw)
    frames = lengths * (functional.normalize(words, dim=1) + 0.25 * torch.randn(count, 3, generator=draw))
    words = words * (0.2 + 4 * torch.rand(count, 1, generator=draw))
    similar = functional.normalize(words, dim=1) @ functional.normalize(frames, dim=1).T
    own = torch.arange(count)

    def share(nearest: Tensor) -> float:
        return float((nearest == own).double().mean())

    return (
        words,
        frames,
        {
            "right": share(similar.argmax(1)),
            "a long vector has large products: divide each row by its length first": share(
                (words @ frames.T).argmax(1)
            ),
            "search for each word among the frames, not for each frame among the words": share(
                similar.argmax(0)
            ),
            "nearest means the largest cosine similarity, not the smallest distance": share(
                torch.cdist(words, frames).argmin(1)
            ),
            "this is the mean cosine similarity; retrieval compares a pair with all other frames": float(
                similar.diagonal().mean()
            ),
        },
    )


@exercise(
    title="Measure alignment on pairs that training has not seen",
    minutes=10,
    points=2,
    hint="Divide each row by its length; one product gives all similarities; argmax finds the nearest.",
)
def check_retrieval(answer: Callable[..., Any], seed: int) -> None:
    """Check ``retrieval(words, frames)``: the share of words whose nearest frame is their own.

    Both are (N, H); row n of both is a pair. Nearest means the largest cosine similarity. Return a number.
    """
    draw = torch.Generator().manual_seed(seed)
    mistakes: dict[str, float] = {}
    while len(set(mistakes.values())) < 5:  # no two mistakes may give the same number
        words, frames, mistakes = _pairs(draw)
    right = mistakes.pop("right")
    expect_close(answer(words, frames), right, f"{len(words)} pairs in three dimensions", wrong=mistakes)
    same = torch.randn(12, 4, generator=draw)
    expect_close(answer(same.clone(), 5 * same), 1.0, "each word equals its frame up to its length: return 1")
    other = torch.roll(same, 1, 0)
    expect_close(answer(same.clone(), other), 0.0, "every word equals the frame of another pair: return 0")


# Chapter "Watching, reading, answering" ---------------------------------------------------------------------


@exercise(
    title="Match a context with a question and five answers",
    minutes=25,
    points=3,
    hint="First `attend(context, words)`: softmax of `context @ words.transpose(-1, -2)`, times `words`.",
)
def check_match(answer: Callable[..., Any], seed: int) -> None:
    """Check ``match(context, question, answers)``: context matching without padding, and without a loop.

    ``context`` is (T, H), ``question`` (S, H), ``answers`` (A, W, H). Return (A, T, 5 H): for each answer and
    each position of the context, the context, what it reads from the answer, what it reads from the question,
    and the products of both with the context, in this order.
    """
    draw = torch.Generator().manual_seed(seed)
    context, question = torch.randn(6, 3, generator=draw), torch.randn(4, 3, generator=draw)
    answers = torch.randn(5, 2, 3, generator=draw)

    def parts(about: Tensor, each: Tensor, order: str = "caqAQ") -> Tensor:
        broad = dict(zip("caq", torch.broadcast_tensors(context, each, about), strict=True))
        broad |= {"A": broad["a"] * broad["c"], "Q": broad["q"] * broad["c"]}
        return torch.cat([broad[name] for name in order], -1)

    about = (context @ question.T).softmax(-1) @ question
    each = (context @ answers.transpose(1, 2)).softmax(-1) @ answers
    down = (context @ question.T).softmax(0) @ question
    below = (context @ answers.transpose(1, 2)).softmax(1) @ answers
    expect_close(
        answer(context.clone(), question.clone(), answers.clone()),
        parts(about, each),
        "a context of 6 positions, a question of 4 words, 5 answers of 2 words",
        wrong={
            "first what is read from the answer, then what is read from the question": parts(
                about, each, "cqaQA"
            ),
            "each position attends to words: the softmax runs over the words, not over the context": parts(
                down, below
            ),
            "the weights of a position must sum to one: use a softmax": parts(
                context @ question.T @ question, context @ answers.transpose(1, 2) @ answers
            ),
            "the last two parts are products with the context": parts(about, each, "caqaq"),
        },
        tolerance=1e-4,
    )


@exercise(
    title="A question that only the video can answer",
    minutes=25,
    points=3,
    hint="Ask about an attribute of an actor, such as its colour, with those of all actors as answers.",
)
def check_ask_about_video(answer: Callable[..., Any], seed: int) -> None:
    """Check ``ask_about_video(scene, draw)``: a question about a scene, five answers, and the right one.

    ``scene`` is a `Scene` with five ``actors`` (shape, colour, size, motion, pushes) and five ``lines``.
    ``draw`` is a `random.Random`. Return the question, a list of five different answers, and the index of the
    right one. The lines must not help, and neither must the words of the question and the answers.
    """
    drawn = np.random.default_rng(seed)
    scenes = [draw_scene(drawn) for _ in range(150)]
    rights: dict[str, Counter[str]] = defaultdict(Counter)
    positions: Counter[int] = Counter()
    offered: list[tuple[list[str], str]] = []
    for number, scene in enumerate(scenes):
        question, answers, right = _asked(answer(scene, random.Random(seed + number)))
        other = Scene(scene.actors, scenes[number - 1].lines)
        again = _asked(answer(other, random.Random(seed + number)))
        expect(
            again == (question, answers, right),
            "with other subtitles, your question or its answer changes: the subtitles must not matter",
        )
        once_more = _asked(answer(scene, random.Random(seed + 1000 + number)))
        expect(
            once_more[0] != question or once_more[1][once_more[2]] == answers[right],
            "the same question about the same scene has two right answers: let the scene decide",
        )
        rights[question][answers[right]] += 1
        positions[right] += 1
        offered.append((answers, answers[right]))
    expect(
        positions.most_common(1)[0][1] < 0.4 * len(scenes),
        "the right answer mostly stands in one place: put the answers in random order",
    )
    guessed = sum(counts.most_common(1)[0][1] for counts in rights.values() if sum(counts.values()) > 1)
    asked = sum(sum(counts.values()) for counts in rights.values() if sum(counts.values()) > 1)
    expect(
        asked > 0.5 * len(scenes),
        "nearly every question is asked once: ask in words that fit many scenes",
    )
    expect(
        guessed < 0.5 * asked,
        "whoever knows your questions can guess the answer without the video: the words give it away",
    )
    shown = Counter(each for answers, _ in offered for each in answers)
    chosen = Counter(right for _, right in offered)
    found = sum(_likeliest(answers, right, shown, chosen) == right for answers, right in offered)
    expect(
        found < 0.5 * len(scenes),
        "the other four answers are seldom right, which gives the answer away: offer what fits other scenes",
    )


def _likeliest(answers: list[str], right: str, shown: Counter[str], chosen: Counter[str]) -> str:
    """Guess the answer that was right in the largest share of the other scenes that offered it."""

    def share(answer: str) -> float:
        return (chosen[answer] - (answer == right)) / max(1, shown[answer] - 1)

    return max(answers, key=share)


def _asked(got: Any) -> tuple[str, list[str], int]:
    """Check the form of what came back."""
    expect(isinstance(got, (tuple, list)) and len(got) == 3, "return a question, five answers and an index")
    question, answers, right = got
    expect(isinstance(question, str) and question.strip(), "the question must be text")
    expect(
        isinstance(answers, (tuple, list)) and all(isinstance(each, str) for each in answers),
        "the answers must be a list of texts",
    )
    expect(len(answers) == 5 and len(set(answers)) == 5, "five different answers are needed")
    expect(
        isinstance(right, int) and not isinstance(right, bool) and 0 <= right < 5,
        "the index of the right answer counts from 0 to 4",
    )
    return question, list(answers), right


# Chapter "Does alignment help?" -----------------------------------------------------------------------------


@exercise(
    title="A batch whose CKA lies",
    minutes=20,
    points=3,
    hint="In a space of many more dimensions than examples, all examples are nearly at right angles.",
)
def check_lying_batch(answer: Callable[..., Any], seed: int) -> None:
    """Check ``lying_batch(generator)``: two matrices that have nothing to do with each other, CKA above 0.9.

    Return two tensors of 16 to 64 rows. ``generator`` is a `torch.Generator`. The rows must be different
    examples, and no row of the first may belong to one row of the second: CKA stays above 0.9 when the rows
    of the second are shuffled, and the unbiased estimate is below 0.3.
    """
    draw = torch.Generator().manual_seed(seed)
    got = answer(torch.Generator().manual_seed(seed + 17))
    expect(isinstance(got, (tuple, list)) and len(got) == 2, "return two tensors")
    x, y = (torch.as_tensor(each, dtype=torch.float64) for each in got)
    expect(x.ndim == y.ndim == 2 and len(x) == len(y), "both must be matrices with equally many rows")
    expect(16 <= len(x) <= 64, f"16 to 64 rows are asked for, got {len(x)}")
    for each in (x, y):
        expect(torch.isfinite(each).all(), "every number must be finite")
        least = torch.cdist(each, each).fill_diagonal_(torch.inf).min()
        expect(least > 1e-3 * each.norm(dim=1).mean(), "two rows are the same: every example must be another")
    expect(
        float(cka(x, y)) > 0.9,
        f"CKA is {float(cka(x, y)):.2f}: take more dimensions, or fewer examples",
    )
    shuffled = torch.stack([cka(x, y[torch.randperm(len(y), generator=draw)]) for _ in range(20)])
    expect(
        float(shuffled.min()) > 0.9,
        f"CKA falls to {float(shuffled.min()):.2f} when the rows of the second are shuffled: "
        "yours belong together, so it does not lie",
    )
    unbiased = float(cka(x, y, debiased=True))
    expect(
        abs(unbiased) < 0.3,
        f"the unbiased estimate is {unbiased:.2f}: yours belong together; draw the two independently",
    )
