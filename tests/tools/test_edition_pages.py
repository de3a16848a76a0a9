"""The teacher's edition, and the guide whose commands run as a new teacher would run them."""

import csv
import os
import re
import shlex
import shutil
import subprocess
import sys

import edition
import pytest
from chapters import ROOT, chapters

from reasonlib.grading import sandbox

GUIDE = (ROOT / "teaching" / "README.md").read_text(encoding="utf-8")
BLOCKS = {
    title: re.findall(r"^```bash\n(.*?)^```", body, re.S | re.M)
    for title, body in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", GUIDE, re.S | re.M)
}


@pytest.mark.parametrize("plan", edition.plans(), ids=lambda plan: plan["title"])
def test_a_syllabus_names_chapters_and_exercises_that_exist(plan):
    there = {page.short: page for page in chapters()}
    assert len(plan["weeks"]) == {"Six weeks": 6, "Twelve weeks": 12}[plan["title"]]
    named = [name for week in (*plan["weeks"], *plan["optional"]) for name in week["chapters"]]
    assert set(named) <= set(there) and len(set(named)) == len(named)
    for week in (*plan["weeks"], *plan["optional"]):
        exercises = {exercise.name for name in week["chapters"] for exercise in edition.graded(there[name])}
        assert set(week.get("skip", ())) <= exercises
        reading, work, points = edition.week_times(week, there)
        assert 0 < points and reading + work <= 300, week["title"]
    for week in plan["optional"]:
        assert week["kind"] in ("week", "project")
        assert (week["kind"] == "week") == (1 <= week.get("instead", 0) <= len(plan["weeks"])), week["title"]


@pytest.mark.parametrize("plan", edition.plans(), ids=lambda plan: plan["title"])
def test_a_syllabus_reaches_every_topic_and_what_a_chapter_needs_before_it(plan):
    there = {page.short: page for page in chapters()}
    topics = {page.topic for page in there.values()}
    weeks = {name for week in plan["weeks"] for name in week["chapters"]}
    named = weeks | {name for week in plan["optional"] for name in week["chapters"]}
    assert {there[name].topic for name in named} == topics
    if plan["title"] == "Twelve weeks":
        assert {there[name].topic for name in weeks} == topics and named == set(there)
    read: set[str] = set()
    for week in (*plan["weeks"], *plan["optional"]):
        own = read | set(week["chapters"])
        for page in (there[name] for name in week["chapters"]):
            for link in re.findall(r"\]\(([\w/.]+)\.md\)", page.needs):
                needed = link.removeprefix("../") if "/" in link else f"{page.topic}/{link}"
                assert needed in own, (page.short, needed)
        if "kind" not in week:
            read = own


def test_every_open_exercise_has_a_rubric_of_ten_points():
    assert set(edition.rubrics()) == {*edition.open_exercises(), edition.PROJECT}
    for label, rows in edition.rubrics().items():
        assert sum(row["points"] for row in rows) == 10, label
        assert all(set(row) == {"what", "points", "all", "half", "none"} for row in rows), label


def test_an_exercise_without_a_check_has_a_label():
    for page in chapters():
        bodies = [block["body"] for block in edition.EXERCISE.finditer(page.text)]
        labels = [
            label for label, (owner, _) in edition.open_exercises().items() if owner.short == page.short
        ]
        assert all(edition.LABEL.search(body) for body in bodies), page.short
        assert sum("{question}" not in body for body in bodies) == len(labels), page.short


def test_times_of_every_exercise_were_measured():
    kept = edition.measured()
    wanted = {page.short: page for page in chapters() if edition.graded(page)}
    assert set(kept["notebook_seconds"]) == set(wanted)
    assert set(kept["check_seconds"]) == {
        f"{page.topic}.{exercise.name}" for page in wanted.values() for exercise in edition.graded(page)
    }
    assert all(0 <= value < 60 for value in kept["check_seconds"].values())
    assert sorted(name for run in kept["runs"] for name in run["chapters"]) == sorted(wanted)
    assert "seconds of grading were measured on 20" in edition.measured_when()


def test_only_what_has_no_time_is_measured(monkeypatch):
    kept = edition.measured()
    missing = next(iter(kept["notebook_seconds"]))
    kept["notebook_seconds"] = {k: v for k, v in kept["notebook_seconds"].items() if k != missing}
    monkeypatch.setattr(edition, "measured", lambda: kept)
    monkeypatch.setattr(edition, "_seconds", lambda run: 0.5)
    again = edition.times()
    assert again["notebook_seconds"][missing] == 0.5 and again["runs"][-1]["chapters"] == [missing]
    assert missing not in again["runs"][0]["chapters"]
    others = {name: value for name, value in again["notebook_seconds"].items() if name != missing}
    assert others == kept["notebook_seconds"]


def test_the_pages_hold_solutions_wrong_answers_and_rubrics(tmp_path):
    written = {path.stem: path.read_text(encoding="utf-8") for path in edition.write(tmp_path)}
    assert "Six weeks" in written["index"] and "Twelve weeks" in written["index"]
    assert "softmax(-1) @ value" in written["transformer"] and "What to explain" in written["transformer"]
    assert "No rubric yet" not in written["rubrics"]
    for text in written.values():
        for link in re.findall(r'href="([^"]+)"', text):
            assert (tmp_path / link).is_file(), link


def test_the_guide_is_one_page():
    assert len(GUIDE.split()) < 600 and len(GUIDE.splitlines()) < 75
    for target in re.findall(r"make ([a-z-]+)", GUIDE):
        assert re.search(rf"^{target}:|^\.PHONY:.*\b{target}\b", (ROOT / "Makefile").read_text(), re.M), (
            target
        )
    for path in re.findall(r"teaching/[a-z-]+(?= FOLDER)", GUIDE):
        assert os.access(ROOT / path, os.X_OK)


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A clone with the files of this one, committed, as a teacher has it."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("the guide needs a git clone")
    root = tmp_path_factory.mktemp("teacher") / "clone"
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(ROOT), str(root)], check=True)
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file() and not (ROOT / name).is_symlink():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name)
    for command in (
        ["config", "user.email", "t@example.org"],
        ["config", "user.name", "T"],
        ["config", "tag.gpgSign", "false"],
        ["config", "commit.gpgSign", "false"],
        ["tag", "-d", "term-2026-autumn"],
        ["add", "--all"],
        ["commit", "-q", "--allow-empty", "-m", "As it is"],
    ):
        subprocess.run(["git", *command], cwd=root, capture_output=True)
    return root


def follow(section, root):
    """Run the commands of a section in a shell, as they are printed; return what they say."""
    said = ""
    (commands,) = BLOCKS[section]
    programs = root.parent / "bin"
    programs.mkdir(exist_ok=True)
    unsafe = "" if sandbox.is_available() else " --unsafe"
    for name, call in (("python", '"$@"'), ("reasonlib", f'-m reasonlib.cli "$@"{unsafe}')):
        path = programs / name
        path.write_text(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} {call}\n")
        path.chmod(0o755)
    for line in commands.splitlines():
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", line],
            cwd=root,
            env={
                **os.environ,
                "PYTHONPATH": str(root),
                "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            },
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, (line, done.stderr[-2000:])
        said += done.stdout
    return said


@pytest.mark.slow
def test_three_commands_grade_a_class_of_three(clone):
    follow("Try it, five minutes", clone)
    rows = csv.DictReader((clone / "class" / "grades.csv").read_text(encoding="utf-8").splitlines())
    points = {row["student"]: (int(row["points"]), int(row["possible"])) for row in rows}
    assert points == {"perfect": (6, 6), "lazy": (0, 6), "wrong": (4, 6)}
    for student, state in (("perfect", "✓ passed"), ("lazy", "○ not started"), ("wrong", "✗ not right yet")):
        assert state in (clone / "class" / "feedback" / f"{student}.html").read_text(encoding="utf-8")
    assert (clone / "class" / "edition" / "index.html").is_file()


@pytest.mark.slow
def test_a_term_is_frozen_and_an_examination_graded(clone):
    if not (clone / "class").is_dir():
        follow("Try it, five minutes", clone)
    said = follow("Before the term", clone)
    assert "term-2026-autumn: publish it with git push origin term-2026-autumn" in said
    assert "6 of 6 points" in follow("Grade", clone)


@pytest.mark.slow
def test_slides_for_a_lecture(clone):
    assert "slides in 1 decks" in follow("For each lecture", clone)
    assert (clone / "class" / "slides" / "optimisation" / "losses.html").is_file()


# The container that grades


def test_the_container_recipe_copies_what_there_is_and_installs_from_the_lock():
    recipe = (ROOT / "teaching" / "Containerfile").read_text(encoding="utf-8")
    orders = re.findall(r"^([A-Z]+) (.+)$", recipe, re.M)
    assert orders[0][0] == "FROM" and orders[-1][0] == "ENTRYPOINT"
    for order, rest in orders:
        if order == "COPY":
            for name in rest.split()[:-1]:
                assert (ROOT / name).exists(), name
        if order == "RUN":
            subprocess.run(["bash", "-n", "-c", rest], check=True)
    assert "--constraint constraints.txt" in recipe
    assert orders[-1][1] == '["reasonlib", "grade", "--account", "student"]'


def test_the_container_script_hands_over_every_notebook(tmp_path):
    engine = tmp_path / "engine"
    engine.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    engine.chmod(0o755)
    for student in ("ada", "bob smith"):
        (tmp_path / "handed" / student).mkdir(parents=True)
        (tmp_path / "handed" / student / "a.ipynb").write_text("{}")
    command = [ROOT / "teaching" / "grade-in-container", tmp_path / "handed", "--seed", "7"]
    done = subprocess.run(command, env={**os.environ, "ENGINE": str(engine)}, capture_output=True, text=True)
    given = done.stdout.splitlines()
    assert done.returncode == 0 and given[-2:] == [
        f"/private/in/{name}/a.ipynb" for name in ("ada", "bob smith")
    ]
    for option in ("none", "--read-only", "ALL", "no-new-privileges", "7"):
        assert option in given
    assert f"{tmp_path / 'handed'}:/private/in:ro" in given
    none = subprocess.run([command[0], tmp_path / "absent"], capture_output=True, text=True)
    assert none.returncode == 2 and none.stderr.startswith("usage: ")
