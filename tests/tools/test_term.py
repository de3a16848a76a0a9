"""A frozen term: what was tagged is written, whatever came after, with the library of the tag."""

import json
import shutil
import subprocess

import pytest
import term

from reasonlib.grading import sandbox
from reasonlib.grading.notebook import grade_notebook

PATH = "assignments/transformer/attention.ipynb"


@pytest.fixture
def project(tmp_path):
    """A repository with one real assignment and its teacher's edition, committed."""
    root = tmp_path / "project"
    for name in (PATH, "teaching/transformer.py"):
        (root / name).parent.mkdir(parents=True)
        shutil.copy(term.ROOT / name, root / name)
    for command in (
        ["init", "-q"],
        ["config", "user.email", "teacher@example.org"],
        ["config", "user.name", "Teacher"],
        ["config", "tag.gpgSign", "false"],
        ["add", "."],
        ["commit", "-q", "-m", "As handed out"],
    ):
        subprocess.run(["git", *command], cwd=root, check=True)
    return root


def test_a_term_stays_as_it_was_tagged(project, tmp_path):
    assert term.freeze("2026-autumn", project) == "term-2026-autumn"
    before = (project / PATH).read_text(encoding="utf-8")
    (project / PATH).write_text(before.replace("attend", "something_else"), encoding="utf-8")
    subprocess.run(
        ["git", "commit", "-q", "-a", "-m", "Changed in the middle of the term"], cwd=project, check=True
    )
    folder = tmp_path / "autumn"
    (notebook,) = term.write("2026-autumn", folder, project)
    text = notebook.read_text(encoding="utf-8")
    assert "check_attend" in text and "something_else" not in text
    assert "archive/refs/tags/term-2026-autumn.zip" in text and "refs/heads/main" not in text
    head = subprocess.run(["git", "rev-parse", "HEAD~1"], cwd=project, capture_output=True, text=True).stdout
    assert json.loads((folder / "TERM.json").read_text())["commit"] == head.strip()
    assert (folder / "teaching" / "transformer.py").is_file()
    assert term.write("2026-autumn", folder, project) == [notebook]
    handed = tmp_path / "ada.ipynb"
    handed.write_text(text.replace("raise NotImplementedError", "return None"), encoding="utf-8")
    graded = grade_notebook(handed, assignment=notebook, unsafe=not sandbox.is_available())
    assert list(graded.report.results) == ["attend", "waves", "may_see"]


def test_what_cannot_be_frozen_or_written_is_one_line(project, tmp_path):
    with pytest.raises(term.TermError, match="there is no tag term-spring; freeze the term first"):
        term.write("spring", tmp_path / "out", project)
    for name in ("Autumn 2026", "", "../x", "-d", "a..b", "x.lock"):
        with pytest.raises(term.TermError, match="a term is small letters"):
            term.freeze(name, project)
    term.freeze("spring", project)
    with pytest.raises(term.TermError, match="a frozen term does not change"):
        term.freeze("spring", project)
    (project / PATH).write_text("{}")
    with pytest.raises(term.TermError, match="1 files are not committed, assignments/"):
        term.freeze("summer", project)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    with pytest.raises(term.TermError, match="holds something else"):
        term.write("spring", tmp_path / "full", project)
