"""Exercises of the chapter "Watching, reading, answering"."""

import random
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reasonlib.grading.checks import Answer, exercise, expect, expect_close, hint
from reasonlib.modality_alignment.data.scene import Scene, draw_scene

__all__ = ["check_ask_about_video", "check_match", "check_second_scene"]


@exercise(title="Match a context with a question and five answers", minutes=25, points=3)
@hint("First `attend(context, words)`: softmax of `context @ words.transpose(-1, -2)`, times `words`.")
def check_match(answer: Answer, seed: int) -> None:
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


@exercise(title="A question that only the video can answer", minutes=25, points=3)
@hint("Ask about an attribute of an actor, such as its colour, with those of all actors as answers.")
def check_ask_about_video(answer: Answer, seed: int) -> None:
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
        repeated = _asked(answer(other, random.Random(seed + number)))
        expect(
            repeated == (question, answers, right),
            "with other subtitles, your question or its answer changes: the subtitles must not matter",
        )
        again, others, other_right = _asked(answer(scene, random.Random(seed + 1000 + number)))
        # one right answer of several is fine if the others are not offered with it
        expect(
            again != question or others[other_right] == answers[right] or others[other_right] not in answers,
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
    total = sum(sum(counts.values()) for counts in rights.values() if sum(counts.values()) > 1)
    expect(
        total > 0.5 * len(scenes),
        "nearly every question is asked once: ask in words that fit many scenes",
    )
    expect(
        guessed < 0.5 * total,
        "whoever knows your questions can guess the answer without the video: the words give it away",
    )
    shown = Counter(each for answers, _ in offered for each in answers)
    chosen = Counter(right for _, right in offered)
    correct = sum(_likeliest(answers, right, shown, chosen) == right for answers, right in offered)
    expect(
        correct < 0.5 * len(scenes),
        "the other four answers are seldom right, which gives the answer away: offer what fits other scenes",
    )


def _likeliest(answers: list[str], right: str, shown: Counter[str], chosen: Counter[str]) -> str:
    """Guess the answer that was right in the largest share of the other scenes that offered it."""

    def share(answer: str) -> float:
        return (chosen[answer] - (answer == right)) / max(1, shown[answer] - 1)

    return max(answers, key=share)


def _asked(returned: Any) -> tuple[str, list[str], int]:
    """Check the form of what came back."""
    expect(
        isinstance(returned, (tuple, list)) and len(returned) == 3,
        "return a question, five answers and an index",
    )
    question, answers, right = returned
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


@exercise(title="Find four cases that no sum can answer", minutes=20, points=3)
@hint("Two right answers, a and b, are enough: which of the four cases must have a, and which b?")
def check_second_scene(answer: Answer, seed: int) -> None:
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
            count = sum(each.speaker == speaker for each in other.lines)
            expect(count == 1, f"{speaker} must speak one line of your scene, and speaks {count}")
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
