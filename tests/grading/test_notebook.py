"""A notebook handed in is run apart and graded by what it defines, whatever its cells do."""

import json

import pytest
from typer.testing import CliRunner

from reasonlib import cli
from reasonlib.errors import UserError
from reasonlib.grading import checks, notebook

START = "from reasonlib.story_qa import exercises"
RIGHT = """
def where(story, question):
    person = question.rstrip("?").split()[-1]
    for sentence in reversed(story):
        if sentence.split()[0] == person:
            return sentence.rstrip(".").split()[-1]

exercises.check_where(where)
"""
STUB = """
def position_weights(length, width):
    raise NotImplementedError

exercises.check_position_weights(position_weights)
"""


def handed_in(folder, *cells, name="ada.ipynb"):
    """Write code cells as a notebook file, its sources as lists of lines, as Jupyter does."""
    path = folder / name
    content = {
        "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": ["# Exercises"]},
            *(
                {
                    "cell_type": "code",
                    "metadata": tags,
                    "source": cell.splitlines(keepends=True),
                    "outputs": [],
                }
                for cell, tags in (cell if isinstance(cell, tuple) else (cell, {}) for cell in cells)
            ),
        ],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_answers_stubs_and_failing_cells(tmp_path):
    path = handed_in(
        tmp_path, START, "%pip install nothing\n!ls", "1 / 0", RIGHT, STUB, "print('noise')", "%%bash\nexit 1"
    )
    graded = notebook.grade_notebook(path)
    assert list(graded.report.results) == ["where", "position_weights"]
    assert graded.report.results["where"].passed
    assert graded.report.results["position_weights"].untouched
    assert (graded.report.points, graded.report.possible) == (3, 5)
    assert graded.failed == ("code cell 3: ZeroDivisionError: division by zero",)
    assert graded.as_dict()["notebook"] == str(path)
    assert "3 of 5 points" in repr(graded)


def test_a_chapter_is_graded_at_smoke_and_its_own_names_do_not_stand_for_answers(tmp_path):
    seen = tmp_path / "scale.txt"
    path = handed_in(
        tmp_path,
        ('scale = "paper"', {"tags": ["parameters"]}),
        "from reasonlib.nn import read",  # the library's own hop is no answer to the exercise about it
        f"open({str(seen)!r}, 'w').write(scale)",
        START,
        "def read_once(query, keys, values):\n    return query\n\nexercises.check_read_once(read_once)",
    )
    graded = notebook.grade_notebook(path)
    assert seen.read_text() == "smoke"
    assert not graded.report.results["read_once"].passed
    assert "return two things" in graded.report.results["read_once"].message


def test_what_stopped_is_blamed_on_the_student_s_line(tmp_path):
    answer = "def where(story, question):\n    return story[10_000]\n\nexercises.check_where(where)"
    (result,) = notebook.grade_notebook(handed_in(tmp_path, START, answer)).report.results.values()
    assert "your code stopped at its line 2, `return story[10_000]`: IndexError" in result.message


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ((START, "x = 1"), "holds no exercise"),
        (("exercises.check_where(where)",), "holds no exercise"),
        (
            (START, "exercises.check_flight(flight)"),
            "topic 'story_qa' has no exercise 'flight'; it has best_span",
        ),
        ((START, "import os\nos._exit(3)", RIGHT), r"its code ended the grading \(exit code 3\)"),
    ],
)
def test_what_cannot_be_graded_is_one_line(tmp_path, cells, message):
    with pytest.raises(UserError, match=message) as caught:
        notebook.grade_notebook(handed_in(tmp_path, *cells))
    assert "\n" not in str(caught.value) and "ada.ipynb" in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", '{"cells": [{}]}', '{"cells": 3}', "\x00"])
def test_what_is_no_notebook(tmp_path, text):
    path = tmp_path / "essay.ipynb"
    path.write_text(text)
    with pytest.raises(UserError, match=r"essay.ipynb: no notebook in the .ipynb format"):
        notebook.grade_notebook(path)
    with pytest.raises(UserError, match=r"absent.ipynb: cannot be read"):
        notebook.grade_notebook(tmp_path / "absent.ipynb")


def test_one_that_never_ends_is_stopped(tmp_path):
    path = handed_in(tmp_path, START, RIGHT, "while True: pass")
    with pytest.raises(UserError, match=r"not done after 0\.001 minutes"):
        notebook.grade_notebook(path, minutes=0.001)


def test_named_exercises_alone():
    report = checks.grade("story_qa", {}, names=["where", "pack"])
    assert list(report.results) == ["where", "pack"]
    assert {one.name for one in checks.exercises("story_qa")} == set(checks.grade("story_qa", {}).results)
    with pytest.raises(UserError, match=r"topic 'story_qa' has no exercise 'fly'; it has "):
        checks.grade("story_qa", {}, names=["fly"])


def test_the_command_grades_all_it_can(tmp_path):
    good, bad = handed_in(tmp_path, START, RIGHT), tmp_path / "absent.ipynb"
    done = CliRunner().invoke(cli.app, ["grade", str(bad), str(good)])
    assert done.exit_code == cli.FAILED
    assert "absent.ipynb: cannot be read" in done.stderr
    assert "3 of 3 points" in done.stdout and "✓ Answer by rule" in done.stdout
    done = CliRunner().invoke(cli.app, ["grade", str(good), "--json"])
    assert done.exit_code == 0
    (found,) = json.loads(done.stdout)
    assert (found["points"], found["exercises"][0]["passed"]) == (3, True)
    done = CliRunner().invoke(cli.app, ["grade", str(good), "--minutes", "0"])
    assert done.exit_code == cli.MISTAKE and "--minutes must be above 0" in done.stderr
