"""Graded exercises of the chapters on modality alignment.

Each check tries what a student wrote on cases that it draws from a seed and answers with a `checks.Result`.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import combinations, permutations
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
    "check_chance_share",
    "check_collapse",
    "check_linear_cka",
    "check_lying_batch",
    "check_match",
    "check_retrieval",
    "check_rotation",
    "check_second_scene",
    "check_shuffled_cka",
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


def _orthogonal(width: int, draw: torch.Generator) -> Tensor:
    """Draw a rotation that also mirrors, (H, H)."""
    turn = torch.linalg.qr(torch.randn(width, width, generator=draw)).Q
    turn[:, 0] *= -turn.det().sign()
    return turn


@exercise(
    title="Rotate one cloud onto the other",
    minutes=15,
    points=2,
    hint="`torch.linalg.svd(words.T @ frames)` gives three matrices. Which of them stretches?",
)
def check_rotation(answer: Callable[..., Any], seed: int) -> None:
    """Check ``rotation(words, frames)``: the orthogonal matrix that brings words closest to their frames.

    Both are (N, H) with mean zero; row n of both is a pair. Return (H, H).
    """
    draw = torch.Generator().manual_seed(seed)
    spread = torch.linspace(0.6, 2.0, 5)
    words = spread * torch.randn(40, 5, generator=draw)
    frames = words @ _orthogonal(5, draw) * torch.linspace(0.5, 1.5, 5)
    frames = frames + 0.3 * torch.randn(40, 5, generator=draw)
    words, frames = words - words.mean(0), frames - frames.mean(0)
    left, sizes, right = torch.linalg.svd(words.T @ frames)
    proper = left.clone()
    proper[:, -1] *= (left @ right).det().sign()
    expect_close(
        answer(words.clone(), frames.clone()),
        left @ right,
        "40 pairs in five dimensions: another orthogonal matrix brings words closer to their frames",
        wrong={
            "least squares also stretches the cloud: the matrix must be orthogonal": torch.linalg.lstsq(
                words, frames
            ).solution,
            "leave the singular values out: they stretch the cloud": left @ torch.diag(sizes) @ right,
            "this rotates frames onto words: transpose the matrix": (left @ right).T,
            "the third result of `torch.linalg.svd` is transposed already": left @ right.T,
            "the matrix may mirror the cloud, too: do not force its determinant to be 1": proper @ right,
        },
        tolerance=1e-3,
    )
    cloud = torch.randn(212, 6, generator=draw)
    turned = 3.0 * cloud @ _orthogonal(6, draw)
    few = [each[:12] - each[:12].mean(0) for each in (cloud, turned)]
    matrix = torch.as_tensor(answer(*few), dtype=cloud.dtype)
    expect(
        matrix.shape == (6, 6), f"12 pairs in six dimensions: return shape (6, 6), got {tuple(matrix.shape)}"
    )
    similar = functional.normalize(cloud[12:] @ matrix, dim=1) @ functional.normalize(turned[12:], dim=1).T
    found = int((similar.argmax(1) == torch.arange(200)).sum())
    expect(found == 200, f"after your rotation only {found} of 200 held-out words find their own frame")


@exercise(
    title="Collapse in spite of batch normalisation",
    minutes=15,
    points=2,
    hint="A long row weighs more than a short one in the mean of a column, but not in the mean of cosines.",
)
def check_collapse(answer: Callable[..., Any], seed: int) -> None:
    """Check ``collapse(count, width)``: rows in nearly one direction, with mean 0 and variance 1.

    Return (``count``, ``width``), from 50 to 200 rows. Each column has mean 0 and variance 1 (the mean of its
    squares); the mean cosine similarity over all pairs of different rows is above 0.9.
    """
    draw = torch.Generator().manual_seed(seed)
    for least in (50, 120):
        count = least + int(torch.randint(70, (1,), generator=draw))
        width = int(torch.randint(2, 10, (1,), generator=draw))
        got = answer(count, width)
        expect(isinstance(got, Tensor), "return one tensor")
        rows = got.to(torch.float64)
        expect(rows.shape == (count, width), f"the shape must be {(count, width)}, got {tuple(rows.shape)}")
        expect(
            rows.isfinite().all(), "every number must be finite: a column of equal numbers has no variance"
        )
        mean = float(rows.mean(0).abs().max())
        expect(mean < 1e-3, f"a column has a mean of {mean:.2f}: batch normalisation makes it 0")
        squares = rows.square().mean(0)
        furthest = float(squares[(squares - 1).abs().argmax()])
        expect(
            abs(furthest - 1) < 1e-2,
            f"a column has a variance of {furthest:.2f}: divide each column by the root of its mean square",
        )
        unit = functional.normalize(rows, dim=1)
        total = unit.sum(0).square().sum() - unit.square().sum()
        cosine = float(total / (count * (count - 1)))
        expect(
            cosine > 0.9,
            f"the mean cosine similarity of different rows is {cosine:.2f}: "
            "let more rows point in one direction, and let fewer, longer rows balance them",
        )


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


@exercise(
    title="Find four cases that no sum can answer",
    minutes=20,
    points=3,
    hint="Two right answers, a and b, are enough: which of the four cases must have a, and which b?",
)
def check_second_scene(answer: Callable[..., Any], seed: int) -> None:
    """Check ``second_scene(scene, speaker)``: with it, no sum of scores of two streams is always right.

    The question is which shape acts when ``speaker`` speaks. It is asked about the video of either scene with
    the subtitles of either scene. Return a `Scene`.
    """
    drawn = np.random.default_rng(seed)
    for scene in (draw_scene(drawn), draw_scene(drawn)):
        for line in scene.lines:
            speaker = line.speaker
            other = answer(scene, speaker)
            expect(isinstance(other, Scene), "return a scene: `scene._replace(actors=..., lines=...)`")
            expect(
                len(other.actors) == len(other.lines) == len(scene.lines),
                "your scene must have five objects and five lines",
            )
            spoken = sum(each.speaker == speaker for each in other.lines)
            expect(spoken == 1, f"{speaker} must speak one line of your scene, and speaks {spoken}")
            _expect_contradiction(scene, other, speaker)


def _expect_contradiction(scene: Scene, other: Scene, speaker: str) -> None:
    """Complain unless the right answers of four cases rule every sum out.

    A sum can satisfy them all unless each scene has one answer, a, and each mixture of both has another, b.
    """

    def acting(video: Scene, subtitles: Scene) -> str:
        return video.actors[[line.speaker for line in subtitles.lines].index(speaker)].shape

    right = acting(scene, scene)
    expect(
        acting(scene, other) != right,
        f"{speaker} speaks, and your subtitles do not change the answer in the first video, so a sum can "
        "answer all four cases: let the line be spoken at another moment",
    )
    expect(
        acting(other, scene) != right,
        f"{speaker} speaks, and your video does not change the answer with the first subtitles, so a sum can "
        "answer all four cases: let another object act at this moment",
    )
    expect(
        acting(scene, other) == acting(other, scene),
        "the two mixtures of both scenes have different answers, so a sum can answer all four cases: "
        "give the mixtures one answer",
    )
    expect(
        acting(other, other) == right,
        "your scene has a different answer from the first one, so a sum can answer all four cases: "
        "give both scenes one answer",
    )


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


def _spread(rows: Tensor) -> Tensor:
    """Trace of a cloud's table of products, divided by its norm."""
    table = rows @ rows.T
    return table.trace() / table.norm()


@exercise(
    title="Predict the CKA of shuffled rows",
    minutes=20,
    points=3,
    hint="The sum of the products of K' with C is the trace of K'. A shuffle changes no norm.",
)
def check_shuffled_cka(answer: Callable[..., Any], seed: int) -> None:
    """Check ``shuffled_cka(x, y)``: plain linear CKA, its mean over all orders of the rows of ``y``.

    ``x`` is (N, D) and ``y`` is (N, E). Return a number.
    """
    draw = torch.Generator().manual_seed(seed)
    for count, wide, narrow in ((5, 4, 2), (24, 60, 9)):
        x = torch.randn(count, wide, dtype=torch.float64, generator=draw) + 0.7
        y = x[:, :narrow] + torch.randn(count, narrow, dtype=torch.float64, generator=draw)
        first, second = x - x.mean(0), y - y.mean(0)
        directions = _spread(first) * _spread(second)
        mean = directions / (count - 1)
        if count == 5:
            mean = torch.stack([cka(x, y[list(order)]) for order in permutations(range(count))]).mean()
        expect_close(
            answer(x.clone(), y.clone()),
            mean,
            f"{count} rows with {wide} and {narrow} columns",
            wrong={
                "this is CKA of the rows in the order in which they are given": cka(x, y),
                "centre both clouds first: the formula is about K' and L'": _spread(x)
                * _spread(y)
                / (count - 1),
                "the mean of L' has N - 1 in the denominator, not N": directions / count,
                "the sum of the products of K' with C is still to be divided by N - 1": directions,
                "divide by the norms of K' and L', not by their squares": mean
                / ((first @ first.T).norm() * (second @ second.T).norm()),
                "this is HSIC: divide by the root of both HSIC of a cloud with itself": mean
                * (first @ first.T).norm()
                * (second @ second.T).norm()
                / (count - 1) ** 2,
                "only the unbiased estimate has a mean near 0": 0.0,
            },
            tolerance=1e-5,
        )


def _gains(aligned: Sequence[int], plain: Sequence[int]) -> tuple[int, list[int]]:
    """Return the measured difference of sums, and that of every division into two groups of this size."""
    total = sum(aligned) + sum(plain)
    divided = [2 * sum(group) - total for group in combinations([*aligned, *plain], len(aligned))]
    return 2 * sum(aligned) - total, divided


def _runs(draw: random.Random) -> tuple[list[int], list[int], dict[str, float]]:
    """Draw four runs with and four without; return the right share, and what mistakes give."""
    aligned, plain = ([draw.randint(low, low + 9) for _ in range(4)] for low in (63, 60))
    gain, divided = _gains(aligned, plain)
    count = len(divided)
    shares = {
        "right": sum(each >= gain for each in divided) / count,
        "count every gain that is at least as large, also those that are equal": sum(
            each > gain for each in divided
        )
        / count,
        "count the divisions with a gain at least as large, not those with a smaller one": sum(
            each < gain for each in divided
        )
        / count,
        "a loss of this size is no gain: leave the sign as it is": sum(abs(each) >= gain for each in divided)
        / count,
        "divide all runs anew into two groups, and compare means; do not compare single runs": sum(
            one > other for one in aligned for other in plain
        )
        / 16,
    }
    return aligned, plain, shares


@exercise(
    title="Count how often chance gives such a gain",
    minutes=15,
    points=2,
    hint="`combinations([*aligned, *plain], len(aligned))` lists every group that could have been aligned.",
)
def check_chance_share(answer: Callable[..., Any], seed: int) -> None:
    """Check ``chance_share(aligned, plain)``: an exact permutation test of a gain.

    Both are lists of the same length: the number of right answers in each run. Return the share of all
    divisions into two groups of this size whose gain is at least the measured one.
    """
    draw = random.Random(seed)
    shares: dict[str, float] = {"right": 0.0}
    # until each mistake has its own number
    while len(set(shares.values())) < 5 or not 0.03 < shares["right"] < 0.5:
        aligned, plain, shares = _runs(draw)
    right = shares.pop("right")
    expect_close(
        answer(list(aligned), list(plain)),
        right,
        f"runs with {aligned} right answers against {plain}",
        wrong=shares,
    )
    low, high = draw.randint(10, 40), draw.randint(50, 90)
    expect_close(
        answer([high, high + 5, high + 2], [low, low + 3, low + 1]),
        1 / 20,
        "three runs against three, all better: one of the 20 divisions has this gain",
    )
    expect_close(
        answer([low, low], [low, low]), 1.0, "equal runs: every division has the measured gain, return 1"
    )
