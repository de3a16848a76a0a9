"""The course folder for nbgrader: well formed; three students go through it where nbgrader is installed."""

import csv
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import course
import nbformat
import pytest

from reasonlib.grading import checks

TOPIC, CHAPTER = "transformer", "attention"
NAME = f"{TOPIC}-{CHAPTER}"


def cells(notebook, kind):
    return {
        cell.metadata.nbgrader.grade_id.removeprefix(f"{kind}-"): cell
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("grade_id", "").startswith(f"{kind}-")
    }


@pytest.mark.parametrize(
    "topic", [path.name for path in sorted((course.ROOT / "assignments").iterdir()) if path.is_dir()]
)
def test_every_exercise_has_an_answer_and_a_test_with_its_points(topic):
    points = {}
    for path in sorted((course.ROOT / "assignments" / topic).glob("*.ipynb")):
        notebook = course.source(topic, path.stem)
        answers, tests = cells(notebook, "answer"), cells(notebook, "test")
        assert answers and list(answers) == list(tests)
        for name, cell in answers.items():
            compile(cell.source, name, "exec")
            assert re.match(rf"def {name}\(.*\):\n    ### BEGIN SOLUTION", cell.source), cell.source
        points |= {name: cell.metadata.nbgrader.points for name, cell in tests.items()}
    assert points == {exercise.name: exercise.points for exercise in checks.exercises(topic)}


def test_an_answer_with_helpers_of_its_own_works():
    cell = course.answer(
        "def twice(x):\n    raise NotImplementedError",
        "twice",
        "import math\n\n\ndef twice(x):\n    return 2 * math.floor(x)",
    )
    space = {}
    exec(cell, space)
    assert space["twice"](3.5) == 6


def run(folder, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=folder,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.slow
def test_three_students_get_the_points_of_reasonlib_grade(tmp_path):
    pytest.importorskip("nbgrader")
    course.write(tmp_path, TOPIC)
    run(tmp_path, "generate_assignment", NAME, "--create")
    released = tmp_path / "release" / NAME / f"{CHAPTER}.ipynb"
    assert "softmax" not in "".join(
        cell.source for cell in cells(nbformat.read(released, 4), "answer").values()
    )
    perfect = nbformat.read(tmp_path / "source" / NAME / f"{CHAPTER}.ipynb", 4)
    for student in ("perfect", "lazy", "wrong"):
        notebook = nbformat.read(released, 4)
        if student != "lazy":
            for name, cell in cells(notebook, "answer").items():
                cell.source = cells(perfect, "answer")[name].source
        if student == "wrong":
            cells(notebook, "answer")[
                "may_see"
            ].source = "def may_see(length):\n    import torch\n    return torch.ones(4, 4).tril() > 0"
        path = tmp_path / "submitted" / student / NAME / f"{CHAPTER}.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)
    run(tmp_path, "autograde", NAME, "--create")
    run(tmp_path, "generate_feedback", NAME)
    run(tmp_path, "export", "--to", str(tmp_path / "grades.csv"))
    with open(tmp_path / "grades.csv") as file:
        grades = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    every = sum(
        exercise.points for exercise in checks.exercises(TOPIC) if exercise.name in cells(perfect, "test")
    )
    assert grades == {"perfect": every, "lazy": 0, "wrong": every - 1}
    for student in grades:
        assert (tmp_path / "feedback" / student / NAME / f"{CHAPTER}.html").is_file()
    shutil.rmtree(tmp_path / "feedback")
