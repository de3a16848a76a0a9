"""What the chapters show and check: pictures from records, tables, exercises."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from reasonlib.grading import edition
from reasonlib.modality_alignment.data.scene import COLOURS, MOTIONS
from reasonlib.modality_alignment.page import exercises, figures, tables
from reasonlib.modality_alignment.page.figures.bars import NEEDS

PICTURES = sorted(figures.__all__)


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_says_what_it_shows(name):
    picture = getattr(figures, name)()
    assert len(picture.alt) > 40 and "figcaption" in picture.html
    assert "reasonlib run" not in picture.alt  # its records are there


def test_curves_of_several_runs_have_a_band():
    def run(row, *cosine):
        curve = {"step": [0, 10], "cosine": list(cosine), "cka": [0.1, 0.2]}
        return SimpleNamespace(row=row, details={"curve": curve})

    drawn = figures.curves([run("cosine", 0.0, 0.4), run("cosine", 0.2, 0.6), run("both", 0.1, 0.5)])
    assert "cosine alone 0.10 to 0.50, cosine and CKA 0.10 to 0.50" in drawn.alt
    assert "means of 1 to 2 runs" in drawn.html
    assert "one run each" in figures.curves([run("both", 0.1, 0.5)]).html


def test_the_synthetic_experiment_is_measured_with_five_seeds_or_more():
    seeds = re.search(r"means of (\d+) runs", figures.curves().html)
    assert seeds and int(seeds[1]) >= 5


def test_tables():
    assert set(tables.bundled()["it needs"]) <= set(NEEDS.values())
    run = SimpleNamespace(metrics={"accuracy": 0.5, "accuracy.video": 0.25})
    assert tables.by_need(run)["accuracy"].to_dict() == {"the video": 0.25, "all questions": 0.5}


EDITION = edition.load(Path(__file__).parents[2] / "teaching" / "modality_alignment.py")
SOLUTIONS = {name: solved.solution for name, solved in EDITION.items()}
ask_about_video, retrieval, match = (SOLUTIONS[name] for name in ("ask_about_video", "retrieval", "match"))
collapse, shuffled_cka = SOLUTIONS["collapse"], SOLUTIONS["shuffled_cka"]


def of_lines(scene, draw):
    question, answers, right = ask_about_video(scene, draw)
    return f"{question} {scene.lines[0].speaker}", answers, right


def always_first(scene, draw):
    question, answers, right = ask_about_video(scene, draw)
    return question, [answers[right], *answers[:right], *answers[right + 1 :]], 0


def by_chance(scene, draw):
    question, answers, _ = ask_about_video(scene, draw)
    return question, answers, draw.randrange(5)


def opposites(scene, draw):
    answers = ["cold", "dry", "old", "slow", "tiny"]
    draw.shuffle(answers)
    return "what is the opposite of hot ?", answers, answers.index("cold")


def nonsense(scene, draw):
    """Only one of the answers is a colour."""
    question, answers, right = ask_about_video(scene, draw)
    return question, [answer if n == right else f"thing {n}" for n, answer in enumerate(answers)], right


def not_centred(x, y):
    return (x.T @ y).square().sum() / ((x.T @ x).norm() * (y.T @ y).norm())


def twice_the_same(generator):
    return (torch.randn(24, 2, generator=generator),) * 2


def few_dimensions(generator):
    return tuple(torch.randn(64, 2, generator=generator) for _ in range(2))


MISTAKES = [
    ("check_linear_cka", lambda x, y: 0.5, "20 examples"),
    ("check_linear_cka", not_centred, "centre both first"),
    ("check_retrieval", lambda words, frames: retrieval(frames, words), "search for each word"),
    ("check_retrieval", lambda words, frames: 1.0, "pairs in three dimensions"),
    ("check_match", lambda c, q, a: match(c, q, a)[..., :12], "must have shape (5, 6, 15)"),
    ("check_ask_about_video", of_lines, "subtitles must not matter"),
    ("check_ask_about_video", always_first, "random order"),
    ("check_ask_about_video", by_chance, "two right answers"),
    ("check_ask_about_video", opposites, "the words give it away"),
    ("check_ask_about_video", nonsense, "the other four answers are seldom right"),
    ("check_ask_about_video", lambda scene, draw: "what ?", "a question, five answers and an index"),
    ("check_lying_batch", twice_the_same, "yours belong together"),
    ("check_lying_batch", few_dimensions, "more dimensions"),
    ("check_lying_batch", lambda draw: (torch.ones(20, 3), torch.ones(20, 3)), "two rows are the same"),
    ("check_lying_batch", lambda draw: (torch.ones(2, 3),) * 2, "16 to 64 rows are asked for, got 2"),
    ("check_lying_batch", lambda draw: torch.ones(20, 3), "return two tensors"),
    ("check_rotation", lambda words, frames: torch.eye(5), "another orthogonal matrix"),
    ("check_rotation", lambda words, frames: words.T @ frames, "leave the singular values out"),
    ("check_collapse", lambda count, width: [[0.0] * width] * count, "return one tensor"),
    ("check_collapse", lambda count, width: collapse(count, width)[1:], "the shape must be"),
    ("check_collapse", lambda count, width: torch.zeros(count, width), "a variance of 0.00"),
    ("check_second_scene", lambda scene, speaker: scene.actors, "return a scene"),
    ("check_second_scene", lambda scene, speaker: scene._replace(lines=scene.lines[:4]), "five lines"),
    ("check_second_scene", lambda scene, speaker: scene._replace(lines=scene.lines[:1] * 5), "speaks 5"),
    ("check_shuffled_cka", lambda x, y: shuffled_cka(x, y) * (len(x) - 1), "still to be divided by N - 1"),
    ("check_chance_share", lambda aligned, plain: 0.05, "right answers against"),
]


def which_is_there(scene, draw):
    """Several colours are there, and only one of them is offered."""
    colours = [actor.colour for actor in scene.actors]
    right = draw.choice(colours)
    answers = [right, *draw.sample([colour for colour in COLOURS if colour not in colours], 4)]
    draw.shuffle(answers)
    return "which colour is there ?", answers, answers.index(right)


def where_it_moves(scene, draw):
    actor = draw.choice(scene.actors)
    answers = draw.sample(MOTIONS, 5)
    return f"where does the {actor.shape} move ?", answers, answers.index(actor.motion)


@pytest.mark.parametrize("ask", [which_is_there, where_it_moves])
def test_other_questions_about_the_video_are_right_too(ask):
    result = exercises.check_ask_about_video(ask)
    assert result.passed, result.message


@pytest.mark.parametrize(("name", "answer", "hint"), MISTAKES)
def test_mistakes_are_explained(name, answer, hint):
    result = getattr(exercises, name)(answer)
    assert not result.passed and hint in result.message
