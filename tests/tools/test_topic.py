"""A topic begun by the tool runs, learns and passes its own tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import topic
import yaml

ROOT = Path(__file__).resolve().parent.parent.parent

LISTS = {"_toc.yml", "book/api/index.md", "book/topics.yaml"}


OVERVIEW = {"file": "book/sum_words/index", "title": "Overview"}
RESULTS = {"file": "book/sum_words/results", "title": "Results"}


@pytest.fixture
def house(tmp_path):
    """A repository with the library's modules and a table of contents, and room for a topic."""
    for path in (ROOT / "reasonlib").iterdir():
        if path.name != "__pycache__" and not (path / "claims.yaml").exists():
            (tmp_path / "reasonlib").mkdir(exist_ok=True)
            (tmp_path / "reasonlib" / path.name).symlink_to(path)
    (tmp_path / "_toc.yml").write_text((ROOT / "_toc.yml").read_text())
    (tmp_path / "book/api").mkdir(parents=True)
    for name in ("book/api/index.md", "book/topics.yaml"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    (tmp_path / "pyproject.toml").symlink_to(ROOT / "pyproject.toml")
    return tmp_path


def files_of(root):
    return {
        path.relative_to(root).as_posix()
        for path in root.rglob("*")
        if not path.is_symlink() and path.is_file()
    }


def test_a_new_topic_has_every_part(house):
    made = topic.make(house, "sum_words", "counting", "Sums in words")
    assert {path.relative_to(house).as_posix() for path in made} == files_of(house) - LISTS
    assert files_of(house) >= {
        "reasonlib/sum_words/claims.yaml",
        "reasonlib/sum_words/data/simulator.py",
        "reasonlib/sum_words/models/vote.py",
        "reasonlib/sum_words/experiments/__init__.py",
        "reasonlib/sum_words/page/live.js",
        "book/sum_words/index.md",
        "book/sum_words/counting.md",
        "book/sum_words/results.md",
        "book/api/sum_words.md",
        "teaching/sum_words.py",
        "tests/sum_words/test_sum_words.py",
    }
    for path in made:
        assert not any(word in path.read_text() for word in ("TOPIC", "CHAPTER", "TITLE")), path
    toc = yaml.safe_load((house / "_toc.yml").read_text())
    before = yaml.safe_load((ROOT / "_toc.yml").read_text())
    new = {"caption": "Sums in words", "chapters": [OVERVIEW, {"file": "book/sum_words/counting"}, RESULTS]}
    assert toc["parts"][:-1] == [*before["parts"][:-1], new]
    index = (house / "book/api/index.md").read_text()
    row = "- {doc}`sum_words`: Sums in words\n"
    assert index.replace(row, "") == (ROOT / "book/api/index.md").read_text() != index
    assert index.index("- {doc}") < index.index(row) and row + "\n" in index
    topics = yaml.safe_load((house / "book/topics.yaml").read_text())
    assert topics[-1]["name"] == "sum_words" and set(topics[-1]) == set(topics[0])
    sections = toc["parts"][-1]["chapters"][-1]["sections"]
    assert sections == [*before["parts"][-1]["chapters"][-1]["sections"], {"file": "book/api/sum_words"}]


def test_a_second_chapter_comes_after_the_first_and_touches_nothing_else(house):
    topic.make(house, "sum_words", "counting", "Sums in words")
    before = files_of(house)
    (house / "reasonlib/sum_words/models/vote.py").write_text("# mine\n")
    (made,) = topic.make(house, "sum_words", "carrying", "Carrying")
    assert files_of(house) - before == {"book/sum_words/carrying.md"}
    assert made.read_text().count("# Carrying\n") == 1
    assert (house / "reasonlib/sum_words/models/vote.py").read_text() == "# mine\n"
    toc = yaml.safe_load((house / "_toc.yml").read_text())
    part = next(part for part in toc["parts"] if part["caption"] == "Sums in words")
    chapters = [{"file": f"book/sum_words/{name}"} for name in ("counting", "carrying")]
    assert part["chapters"] == [OVERVIEW, *chapters, RESULTS]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("Sum-words", "one"), "a topic's name is made of small letters"),
        (("sum_words", "../one"), "a chapter's name is made of small letters"),
        (("sum_words", "counting"), "book/sum_words/counting.md is there already"),
    ],
)
def test_a_name_that_cannot_be_used_changes_nothing(house, names, message):
    topic.make(house, "sum_words", "counting", "Sums in words")
    before = {path: (house / path).read_text() for path in files_of(house)}
    with pytest.raises(topic.TopicError, match=message):
        topic.make(house, *names, "Again")
    assert {path: (house / path).read_text() for path in files_of(house)} == before


@pytest.mark.slow
def test_the_new_topic_passes_its_own_tests_and_those_of_every_topic(house):
    topic.make(house, "sum_words", "counting", "Sums in words")
    (house / "conftest.py").write_text(f"import sys\nsys.path.insert(0, {str(house)!r})\n")
    (house / "tools").symlink_to(ROOT / "tools")
    for shared in (*(ROOT / "tests").glob("*.py"), ROOT / "tests" / "contracts", ROOT / "tests" / "grading"):
        (house / "tests" / shared.name).symlink_to(shared)
    tests = ["tests/sum_words", "tests/contracts", "tests/grading/test_edition.py", "tests/test_package.py"]
    options = ["-q", "-p", "no:cacheprovider", "--rootdir", str(house), "-k", "sum_words"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=house,
        env={**os.environ, "PYTHONPATH": str(house), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
