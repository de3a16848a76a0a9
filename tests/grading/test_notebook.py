"""A notebook handed in is run apart and graded by what it defines, whatever its cells do."""

import csv
import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import browsing
import pytest
from typer.testing import CliRunner

from reasonlib import cli
from reasonlib.errors import UserError
from reasonlib.grading import checks, grades, notebook, sandbox

OWN = {"unsafe": not sandbox.is_available()}
UNSAFE = ["--unsafe"] if OWN["unsafe"] else []

START = "from reasonlib.story_qa.page import exercises"
FIND_LOCATION = """
def find_location(story, question):
    person = question.rstrip("?").split()[-1]
    for sentence in reversed(story):
        if sentence.split()[0] == person:
            return sentence.rstrip(".").split()[-1]
"""
RIGHT = f"{FIND_LOCATION}\nexercises.check_find_location(find_location)\n"
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


def graded_alone(path, **options):
    """Grade the exercises that the notebook itself asks for."""
    return notebook.grade_notebook(path, assignment=path, **OWN, **options)


def test_answers_stubs_and_failing_cells(tmp_path):
    path = handed_in(
        tmp_path, START, "%pip install nothing\n!ls", "1 / 0", RIGHT, STUB, "print('noise')", "%%bash\nexit 1"
    )
    graded = graded_alone(path)
    assert list(graded.report.results) == ["find_location", "position_weights"]
    assert graded.report.results["find_location"].passed
    assert graded.report.results["position_weights"].untouched
    assert (graded.report.points, graded.report.possible) == (3, 5)
    division, bash = graded.failed
    assert division == "code cell 3: ZeroDivisionError: division by zero"
    assert bash.startswith("code cell 7: CalledProcessError")
    assert graded.as_dict()["notebook"] == str(path)
    assert "3 of 5 points" in repr(graded)


def test_a_chapter_is_graded_at_smoke_and_its_own_names_do_not_stand_for_answers(tmp_path):
    path = handed_in(
        tmp_path,
        ('scale = "paper"', {"tags": ["parameters"]}),
        "from reasonlib.nn import read",  # the library's own hop is no answer to the exercise about it
        "assert scale == 'smoke'",
        START,
        "def read_once(query, keys, values):\n    return query\n\nexercises.check_read_once(read_once)",
    )
    graded = notebook.grade_notebook(path, **OWN)
    assert graded.failed == ()
    assert not graded.report.results["read_once"].passed
    assert "return two things" in graded.report.results["read_once"].message


def test_what_stopped_is_blamed_on_the_student_s_line(tmp_path):
    answer = (
        "def find_location(story, question):\n    return story[10_000]\n\n"
        "exercises.check_find_location(find_location)"
    )
    (result,) = graded_alone(handed_in(tmp_path, START, answer)).report.results.values()
    assert "your code stopped at its line 2, `return story[10_000]`: IndexError" in result.message


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ((START, "x = 1"), "holds no exercise"),
        (("exercises.check_find_location(find_location)",), "holds no exercise"),
        (
            (START, "exercises.check_flight(flight)"),
            "topic 'story_qa' has no exercise 'flight'; it has agreement",
        ),
    ],
)
def test_what_cannot_be_graded_is_one_line(tmp_path, cells, message):
    with pytest.raises(UserError, match=message) as caught:
        notebook.grade_notebook(handed_in(tmp_path, *cells))
    assert "\n" not in str(caught.value) and "ada.ipynb" in str(caught.value)


@pytest.mark.parametrize(
    "cell",
    [
        "import os\nos._exit(3)",
        "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
        "import os\nfor n in range(3, 9):\n    try: os.write(n, b'{')\n    except OSError: 0\nos._exit(0)",
    ],
)
def test_a_cell_that_ends_the_process_costs_that_cell_alone(tmp_path, cell):
    graded = notebook.grade_notebook(handed_in(tmp_path, START, cell, RIGHT), **OWN)
    assert graded.report.results["find_location"].passed
    assert graded.failed[0].startswith("code cell 2: the code ended the process")


@pytest.mark.parametrize(
    "cell",
    [
        "raise KeyboardInterrupt",
        "raise ValueError('\\ud800')",
        "import os\nos.write(2, b'\\xff')",
        "import os\nfor _ in range(100): os.write(1, b'x' * 10**6)",
        "import asyncio\nawait asyncio.sleep(0)",
        "display(3)\nlen?\nfiles = !ls",
        "get_ipython()",
        "x = (7\n% 3)\nassert x == 1",
        "import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()",
        "while True: pass",
    ],
)
def test_what_one_cell_does_costs_no_other_cell_its_grade(tmp_path, cell):
    path = handed_in(tmp_path, START, cell, "%%time\n" + RIGHT.lstrip())
    assert notebook.grade_notebook(path, seconds=2, **OWN).report.results["find_location"].passed


def test_no_process_of_a_notebook_outlives_its_grading(tmp_path):
    cell = "import subprocess\nsubprocess.Popen(['sleep', '4321.5'], start_new_session=False)"
    assert (
        notebook.grade_notebook(handed_in(tmp_path, START, cell, RIGHT), **OWN)
        .report.results["find_location"]
        .passed
    )
    assert not [path for path in Path("/proc").glob("[0-9]*/cmdline") if b"4321.5" in _content(path)]


def _content(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_nothing_is_written_through_a_link_that_a_notebook_left(tmp_path):
    target = tmp_path / "kept.txt"
    target.write_text("the teacher's")
    cell = "import os\nos.remove('job.json')\n"
    cell += f"os.symlink({str(target)!r}, 'job.json')\nos._exit(0)"
    graded = notebook.grade_notebook(handed_in(tmp_path, START, cell, RIGHT), **OWN)
    assert graded.report.results["find_location"].passed and target.read_text() == "the teacher's"


def test_output_is_cut(tmp_path):
    code = "import os\nfor _ in range(200): os.write(1, b'x' * 10**6)"
    limits = sandbox.Limits(seconds=60, output=1000)
    with sandbox.Process([sys.executable, "-c", code], scratch=tmp_path, limits=limits, **OWN) as process:
        with pytest.raises(EOFError):
            process.receive(time.monotonic() + 60)
        finished = process.end()
    assert 0 < len(finished.output) <= 2**16 + 1000


def test_a_loop_without_end_in_an_answer_costs_that_exercise_alone(tmp_path):
    answer = "def position_weights(length, width):\n    while True: pass\n\n"
    path = handed_in(tmp_path, START, answer + "position_weights; exercises.check_find_location", RIGHT)
    pristine = handed_in(tmp_path, START, RIGHT, STUB, name="pristine.ipynb")
    graded = notebook.grade_notebook(path, seconds=2, assignment=pristine, **OWN)
    assert graded.report.results["find_location"].passed
    assert "not done after 2 s" in graded.report.results["position_weights"].message


FORGED = """
import reasonlib.grading.checks as checks
from reasonlib.story_qa.page import exercises

class Passed:
    passed, untouched, message = True, False, "1000 of 1000"

checks.Exercise.__call__ = lambda self, answer, **named: Passed()
checks.expect_equal = checks.expect = checks.expect_close = lambda *given, **named: None
exercises.check_find_location = lambda answer: Passed()
import json, os, sys
for number in range(3, 12):
    try:
        line = {"kind": "result", "name": "find_location", "passed": True, "points": 1000}
        os.write(number, ("\\n" + json.dumps(line) + "\\n").encode())
    except OSError:
        pass

def find_location(story, question):
    return "kitchen"
"""


def test_forged_results_and_patched_checks_count_for_nothing(tmp_path):
    pristine = handed_in(tmp_path, START, RIGHT, STUB, name="pristine.ipynb")
    graded = notebook.grade_notebook(handed_in(tmp_path, START, FORGED), assignment=pristine, **OWN)
    assert (graded.report.points, graded.report.possible) == (0, 5)
    assert "the answer is" in graded.report.results["find_location"].message


def test_an_answer_for_the_notebook_s_cases_alone_earns_nothing(tmp_path):
    by_heart = f"""
from reasonlib.grading import edition
{FIND_LOCATION}
find_location = edition.Replay(exercises.check_find_location, find_location).answer()
print(exercises.check_find_location(find_location))
"""
    pristine = handed_in(tmp_path, START, RIGHT, name="pristine.ipynb")
    path = handed_in(tmp_path, START, by_heart)
    assert (
        not notebook.grade_notebook(path, assignment=pristine, **OWN).report.results["find_location"].passed
    )
    again = notebook.grade_notebook(path, assignment=pristine, seed=0, **OWN)
    assert again.report.results["find_location"].passed


def test_an_answer_that_ends_the_process_costs_that_exercise_alone(tmp_path):
    answer = "def position_weights(length, width):\n    import os\n    os._exit(0)\n\n"
    pristine = handed_in(tmp_path, START, STUB, RIGHT, name="pristine.ipynb")
    path = handed_in(tmp_path, START, answer, RIGHT)
    graded = notebook.grade_notebook(path, assignment=pristine, **OWN)
    assert graded.report.results["find_location"].passed
    assert "ended the process" in graded.report.results["position_weights"].message


def test_the_assignment_that_was_handed_out_says_what_counts(tmp_path):
    pristine = handed_in(tmp_path, START, RIGHT, STUB, name="pristine.ipynb")
    graded = notebook.grade_notebook(handed_in(tmp_path, START, RIGHT), assignment=pristine, **OWN)
    assert (graded.report.points, graded.report.possible) == (3, 5)
    assert graded.report.results["position_weights"].untouched


@pytest.mark.skipif(not sandbox.is_available(), reason="no bubblewrap on this machine")
def test_the_sandbox_shows_no_other_files_and_no_network(tmp_path):
    others = tmp_path / "others.txt"
    others.write_text("bob's answers")
    listener = socket.create_server(("127.0.0.1", 0))
    address = listener.getsockname()
    socket.create_connection(address, 1).close()  # from here it can be reached
    spy = f"""
import os, socket
seen = os.path.exists({str(others)!r})
try:
    open({str(tmp_path / "forged.txt")!r}, "w").write("x")
except OSError:
    pass
try:
    socket.create_connection({address!r}, 1)
    connected = True
except OSError:
    connected = False
assert not seen, "another student's file"
assert not connected, "the network"
assert os.getppid() in (0, 1, 2), "other processes"
"""
    with listener:
        graded = notebook.grade_notebook(handed_in(tmp_path, START, spy, RIGHT))
    assert graded.report.results["find_location"].passed and graded.failed == ()
    assert not (tmp_path / "forged.txt").exists()


AS_ACCOUNT = """
import os, subprocess, tempfile
assert os.getuid() == os.getgid() == 54321 and os.getgroups() in ([], [54321]), os.getgroups()
for path in {paths!r}:
    try:
        open(path).read()
    except PermissionError:
        continue
    raise AssertionError(path)
try:
    open("/usr/local/planted", "w")
except OSError:
    open("mine.txt", "w").write("scratch")
    tempfile.TemporaryFile()
subprocess.Popen(["sleep", "1234.5"], start_new_session=True)  # outlives the group
"""


def like_a_container(folder, out):
    """Give what teaching/grade-in-container gives: no network, a read-only system, few capabilities."""
    walls = ["bwrap", "--unshare-net", "--unshare-pid", "--die-with-parent", "--ro-bind", "/", "/"]
    walls += ["--dev", "/dev", "--proc", "/proc", "--perms", "0755", "--tmpfs", "/tmp", "--tmpfs", "/root"]
    for path in {Path(sys.base_prefix), Path(sys.prefix).resolve(), Path(__file__).parents[2]}:
        for parent in [*reversed(path.parents)]:
            if Path("/tmp") in parent.parents or Path("/root") in parent.parents:
                walls += ["--perms", "0755", "--dir", str(parent)]  # bubblewrap's own are 0700
        walls += ["--ro-bind", str(path), str(path)]
    walls += ["--perms", "0700", "--dir", "/tmp/private", "--dir", "/tmp/private/home"]
    walls += ["--ro-bind", str(folder), "/tmp/private/in", "--bind", str(out), "/tmp/private/out"]
    walls += ["--cap-drop", "ALL"]
    script = Path(__file__).parents[2] / "teaching" / "grade-in-container"
    for name in re.findall(r"--cap-add (\w+)", script.read_text(encoding="utf-8")):
        walls += ["--cap-add", f"CAP_{name}"]
    return [*walls, "--setenv", "HOME", "/tmp/private/home", "--chdir", "/tmp/private", "--"]


@pytest.mark.skipif(
    not sandbox.is_available() or os.geteuid() != 0, reason="needs root and bubblewrap, to play the container"
)
def test_in_a_container_an_account_reads_nothing_private_and_leaves_no_process(tmp_path):
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    out.mkdir()
    spy = AS_ACCOUNT.format(paths=["/tmp/private/in/bob.ipynb", "/etc/shadow"])
    handed_in(folder, START, spy, RIGHT)
    last = "import os\nfor one in os.listdir('/proc'):\n    if one.isdigit() and one != str(os.getpid()):\n"
    last += (
        "        assert os.stat('/proc/' + one).st_uid != os.getuid(), open(f'/proc/{one}/cmdline').read()"
    )
    handed_in(folder, START, last, RIGHT, name="bob.ipynb")
    command = [sys.executable, "-m", "reasonlib.cli", "grade", "--account", "54321", "--json"]
    command += ["--csv", "/tmp/private/out/grades.csv", "--assignment", "/tmp/private/in/ada.ipynb"]
    done = subprocess.run(
        [
            *like_a_container(folder, out),
            *command,
            *(f"/tmp/private/in/{name}.ipynb" for name in ("ada", "bob")),
        ],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    for line in json.loads(done.stdout):
        assert (line["failed"], line["points"]) == ([], 3), line
    assert (out / "grades.csv").read_text().count(",3,3,3,") == 2


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="root alone gets this far")
def test_accounts_that_cannot_be_used(tmp_path, monkeypatch):
    path = handed_in(tmp_path, START, RIGHT)
    for account, message in (("nobody-here", "there is no account"), ("0", "an account of its own")):
        with pytest.raises(UserError, match=message):
            notebook.grade_notebook(path, assignment=path, account=account)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(UserError, match="only root can run the students' code as another account"):
        notebook.grade_notebook(path, assignment=path, account="54321")


def test_without_a_sandbox_it_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(sandbox, "is_available", lambda: False)
    with pytest.raises(UserError, match=r"no sandbox here: install bubblewrap .* or add --unsafe"):
        notebook.grade_notebook(handed_in(tmp_path, START, RIGHT))


@pytest.mark.parametrize("text", ["", "[]", '{"cells": [{}]}', '{"cells": 3}', "\x00"])
def test_what_is_no_notebook(tmp_path, text):
    path = tmp_path / "essay.ipynb"
    path.write_text(text)
    with pytest.raises(UserError, match=r"essay.ipynb: no notebook in the .ipynb format"):
        notebook.grade_notebook(path, **OWN)
    with pytest.raises(UserError, match=r"absent.ipynb: cannot be read"):
        notebook.grade_notebook(tmp_path / "absent.ipynb")


def test_a_notebook_out_of_time_is_listed_with_the_reason(tmp_path):
    path = handed_in(tmp_path, START, RIGHT)
    (result,) = graded_alone(path, minutes=0.0001).report.results.values()
    assert not result.passed and "could not be graded: not done after 0.0001 minutes" in result.message


def test_named_exercises_alone():
    report = checks.grade("story_qa", {}, names=["find_location", "best_span"])
    assert list(report.results) == ["find_location", "best_span"]
    assert {exercise.name for exercise in checks.exercises("story_qa")} == set(
        checks.grade("story_qa", {}).results
    )
    with pytest.raises(UserError, match=r"topic 'story_qa' has no exercise 'fly'; it has "):
        checks.grade("story_qa", {}, names=["fly"])


def test_the_command_grades_all_it_can(tmp_path):
    good, bad = handed_in(tmp_path, START, RIGHT), tmp_path / "absent.ipynb"
    alone = ["--assignment", str(good)]
    done = CliRunner().invoke(cli.app, ["grade", *UNSAFE, *alone, str(bad), str(good)])
    assert done.exit_code == cli.FAILED
    assert "absent.ipynb: cannot be read" in done.stderr
    assert "3 of 3 points" in done.stdout and "✓ Answer by rule" in done.stdout
    done = CliRunner().invoke(cli.app, ["grade", *UNSAFE, *alone, str(good), "--json"])
    assert done.exit_code == 0
    (graded,) = json.loads(done.stdout)
    assert (graded["points"], graded["exercises"][0]["passed"]) == (3, True)
    done = CliRunner().invoke(cli.app, ["grade", str(good), "--minutes", "0"])
    assert done.exit_code == cli.MISTAKE and "--minutes must be above 0" in done.stderr


def test_csv_feedback_and_what_could_not_be_graded(tmp_path):
    good, bad = handed_in(tmp_path, START, RIGHT), tmp_path / "absent.ipynb"
    table, pages = tmp_path / "out" / "grades.csv", tmp_path / "pages"
    places = ["--csv", str(table), "--feedback", str(pages), "--assignment", str(good)]
    arguments = ["grade", *UNSAFE, *places, str(bad), str(good), "--json"]
    done = CliRunner().invoke(cli.app, arguments)
    first, second = json.loads(done.stdout)
    assert "cannot be read" in first["problem"] and second["points"] == 3
    head, first_line, second_line = table.read_text().splitlines()
    assert head == "student,notebook,points,possible,find_location,problem"
    assert "cannot be read" in first_line and ",3,3,3" in second_line
    assert "3 of 3 points" in (pages / "ada.html").read_text()
    assert "Not graded" in (pages / "absent.html").read_text()


def test_students_who_hand_in_files_of_the_same_name_each_get_a_page(tmp_path):
    files = []
    for student in ("ada", "bob", "=cmd()"):
        (tmp_path / student / "week-1").mkdir(parents=True)
        files.append(handed_in(tmp_path / student / "week-1", START, RIGHT if student == "ada" else STUB))
    pages, table = tmp_path / "pages", tmp_path / "grades.csv"
    lines = []
    for line in grades.grade_all(files, assignment=files[0], **OWN):
        lines.append(line)
        grades.write_feedback(line, pages)
        grades.write_csv(lines, table)
    assert {path.name for path in pages.iterdir()} == {"ada.html", "bob.html", "=cmd().html"}
    rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    assert [(row["student"], row["points"]) for row in rows] == [("ada", "3"), ("bob", "0"), ("'=cmd()", "0")]
    assert grades.student_names([files[0], files[0]]) == ["ada", "ada-2"]


@pytest.mark.browser
def test_a_page_of_feedback_in_a_browser(browser, tmp_path):
    answer = "def position_weights(length, width):\n    return 'x' * 400\n"
    path = handed_in(
        tmp_path, START, "1 / 0", RIGHT, answer + "exercises.check_position_weights", name="a<b>.ipynb"
    )
    pristine = handed_in(
        tmp_path, START, RIGHT, STUB, STUB.replace("position_weights", "two_hops"), name="pristine.ipynb"
    )
    (line,) = grades.grade_all([path], assignment=pristine, **OWN)
    page = grades.write_feedback(line, tmp_path)
    for window in (browsing.PHONE, browsing.DESKTOP):
        opened = browser.new_context(**window).new_page()
        opened.goto(page.as_uri())
        assert opened.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert opened.locator("h1").inner_text() == "a<b>"
        assert "3 of " in opened.locator(".sum").inner_text()
        assert opened.locator("ol").first.locator("li").count() == 3
        states = opened.locator(".state").all_inner_texts()
        assert states == ["✓ passed", "✗ not right yet", "○ not started"]
        assert "ZeroDivisionError" in opened.locator("h2 + ol").inner_text()
