"""The course folder for nbgrader: well formed; three students go through it where nbgrader is installed."""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import course
import nbformat
import pytest

from reasonlib.grading import checks, sandbox
from reasonlib.grading.notebook import grade_notebook

TOPIC, CHAPTER = "transformer", "attention"
NAME = f"{TOPIC}-{CHAPTER}"


def cells(notebook, kind):
    return {
        cell.metadata.nbgrader.grade_id.removeprefix(f"{kind}-"): cell
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("grade_id", "").startswith(f"{kind}-")
    }


@pytest.mark.parametrize("topic", sorted(path.name for path in (course.ROOT / "assignments").glob("[!.]*/")))
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


STUDENTS = ("perfect", "lazy", "wrong")
AS_USER = """
import pwd, sys
user, own = sys.argv.pop(1), pwd.getpwuid
pwd.getpwuid = lambda uid: pwd.struct_passwd((user, *own(uid)[1:]))
from nbgrader.apps import NbGraderApp
NbGraderApp.launch_instance()
"""  # nbgrader names a student after the account; here one account plays them all


def run(folder, *arguments, user="teacher"):
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", AS_USER, user, *arguments],
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join([str(course.ROOT), os.environ.get("PYTHONPATH", "")]),
            "JUPYTER_CONFIG_DIR": str(folder / ".jupyter"),
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def hand_in(student, folder, perfect):
    """Write a student's answers into the notebook that was fetched."""
    path = folder / NAME / f"{CHAPTER}.ipynb"
    handed = nbformat.read(path, 4)
    answers = cells(handed, "answer")
    if student != "lazy":
        for name, cell in answers.items():
            cell.source = cells(perfect, "answer")[name].source
    if student == "wrong":
        answers[
            "may_see"
        ].source = "def may_see(length):\n    import torch\n    return torch.ones(4, 4).tril() > 0"
    nbformat.write(handed, path)


@pytest.mark.slow
def test_three_students_get_the_points_of_reasonlib_grade(tmp_path):
    """Release, fetch, submit, collect, autograde, feedback, release of feedback, export."""
    pytest.importorskip("nbgrader")
    teacher, exchange = tmp_path / "course", tmp_path / "exchange"
    exchange.mkdir()
    exchange.chmod(0o777)
    course.write(teacher, TOPIC)
    perfect = nbformat.read(teacher / "source" / NAME / f"{CHAPTER}.ipynb", 4)
    root = f"--Exchange.root={exchange}"
    course_id = ("--course", course.COURSE_ID)
    run(teacher, "generate_assignment", NAME, "--create")
    released = nbformat.read(teacher / "release" / NAME / f"{CHAPTER}.ipynb", 4)
    assert "softmax" not in "".join(cell.source for cell in cells(released, "answer").values())
    assert "seed=" not in "".join(cell.source for cell in cells(released, "test").values())
    run(teacher, "release_assignment", NAME, root)
    for student in STUDENTS:
        home = tmp_path / student
        run(home, "fetch_assignment", NAME, root, *course_id, user=student)
        hand_in(student, home, perfect)
        run(home, "submit", NAME, root, *course_id, user=student)
    run(teacher, "collect", NAME, root)
    assert {path.name for path in (teacher / "submitted").iterdir()} == set(STUDENTS)
    run(teacher, "autograde", NAME, "--create")
    run(teacher, "generate_feedback", NAME)
    run(teacher, "release_feedback", NAME, root)
    run(tmp_path / "wrong", "fetch_feedback", NAME, root, *course_id, user="wrong")
    assert list((tmp_path / "wrong").rglob(f"feedback/**/{CHAPTER}.html"))
    run(teacher, "export", "--to", str(teacher / "grades.csv"))
    with open(teacher / "grades.csv") as file:
        grades = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    points = {
        exercise.name: exercise.points
        for exercise in checks.exercises(TOPIC)
        if exercise.name in cells(perfect, "test")
    }
    every = sum(points.values())
    assert grades == {"perfect": every, "lazy": 0, "wrong": every - points["may_see"]}
    unsafe = not sandbox.is_available()
    for student in STUDENTS:
        handed = teacher / "submitted" / student / NAME / f"{CHAPTER}.ipynb"
        assert grade_notebook(handed, unsafe=unsafe).report.points == grades[student]
        page = (teacher / "feedback" / student / NAME / f"{CHAPTER}.html").read_text(encoding="utf-8")
        assert f"(Score: {grades[student]:.1f} / {every:.1f})" in page
