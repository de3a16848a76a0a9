"""Which chapters run: a small repository with two chapters, built again after every kind of change."""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from made_up import FRONT

ROOT = Path(__file__).resolve().parent.parent.parent
HEAD = (
    FRONT
    + """
# {title}

Prose.

```{{code-cell}} ipython3
:tags: [parameters]

scale = "quick"
```

```{{code-cell}} ipython3
{code}
```
"""
)
FILES = {
    "pyproject.toml": "[project]\n",
    "constraints.txt": "torch==2.13.0\n",
    "_toc.yml": "root: book/intro\nparts:\n- chapters: [{file: book/topic/one}, {file: book/topic/two}]\n",
    "book/intro.md": "# Intro\n",
    "book/topic/one.md": HEAD.format(title="One", code="from reasonlib.nn import one\nprint(one(), scale)"),
    "book/topic/two.md": HEAD.format(title="Two", code="from reasonlib.nn import two\nprint(two())"),
    "reasonlib/__init__.py": "",
    "reasonlib/unused.py": "",
    "reasonlib/nn/__init__.py": "from .a import one\nfrom .b import two\n",
    "reasonlib/nn/a.py": "def one():\n    return 1\n",
    "reasonlib/nn/b.py": (
        "from pathlib import Path\n\ndef two():\n    return Path(__file__).with_name('b.txt').read_text()\n"
    ),
    "reasonlib/nn/b.txt": "2",
}


class Repository:
    """A repository in a folder of its own, built as a person would."""

    def __init__(self, root):
        self.root = root
        shutil.copytree(ROOT / "tools", root / "tools", ignore=shutil.ignore_patterns("__pycache__"))
        for name, text in FILES.items():
            self.write(name, text)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def edit(self, name, old, new):
        text = (self.root / name).read_text(encoding="utf-8")
        assert old in text
        self.write(name, text.replace(old, new))

    def build(self, scale="smoke"):
        """Build the chapters; return which ran, or the message of a failed build."""
        done = subprocess.run(
            [sys.executable, "tools/book.py", "chapters", "--scale", scale],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(self.root)},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            assert done.returncode == 1
            return done.stderr
        return {line.split("/")[1].split()[0] for line in done.stdout.splitlines() if " ran " in line}

    def outputs(self, name, scale="smoke"):
        notebook = json.loads(
            (self.root / f"_build/executed/{scale}/topic/{name}.ipynb").read_text(encoding="utf-8")
        )
        return [
            output["text"] if isinstance(output["text"], str) else "".join(output["text"])
            for cell in notebook["cells"]
            for output in cell.get("outputs", [])
        ]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Both chapters have run once; tests leave everything up to date."""
    repository = Repository(tmp_path_factory.mktemp("book"))
    assert repository.build() == {"one", "two"}
    assert repository.outputs("one") == ["1 smoke\n"]
    return repository


@pytest.mark.slow
def test_nothing_changed_runs_nothing(built):
    assert built.build() == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "old", "new", "runs"),
    [
        ("book/topic/one.md", "Prose.", "Other prose.", set()),
        ("book/topic/one.md", "print(one(), scale)", "print(one(), scale, seed := 3)", {"one"}),
        ("reasonlib/nn/a.py", "return 1", "return 11", {"one"}),
        ("reasonlib/nn/b.py", "def two", "# a comment is shown on the page too\ndef two", {"two"}),
        ("reasonlib/nn/b.txt", "2", "22", {"two"}),
        ("reasonlib/nn/__init__.py", "import two\n", "import two\nX = 1\n", {"one", "two"}),
        ("reasonlib/unused.py", "", "x = 1", set()),
        ("constraints.txt", "2.13.0", "2.13.1", {"one", "two"}),
    ],
)
def test_a_change_runs_the_chapters_it_touches_and_no_other(built, name, old, new, runs):
    built.edit(name, old, new) if old else built.write(name, new)
    assert built.build() == runs


@pytest.mark.slow
def test_a_new_record_of_the_topic_runs_its_chapters(built):
    built.write("records/topic/joint.jsonl", "{}\n")
    assert built.build() == {"one", "two"}
    built.write("records/other/joint.jsonl", "{}\n")
    assert built.build() == set()


@pytest.mark.slow
def test_a_damaged_result_is_made_again(built):
    kept = built.root / "_build/executed/smoke/topic"
    (kept / "one.json").write_text("{", encoding="utf-8")
    (kept / "two.ipynb").write_text("[]", encoding="utf-8")
    (built.root / "_build/status.json").write_text("?", encoding="utf-8")
    assert built.build() == {"one", "two"}
    assert built.build() == set()


@pytest.mark.slow
def test_two_builds_at_once_run_a_chapter_once(built):
    built.edit("book/topic/one.md", "print(one()", "print(2 * one()")
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: built.build(), range(2))
    assert sorted([*first, *second]) == ["one"]
    built.edit("book/topic/one.md", "print(2 * one()", "print(one()")
    assert built.build() == {"one"}


@pytest.mark.slow
def test_a_failing_cell_fails_the_build_each_time_and_says_where(built):
    built.edit("reasonlib/nn/a.py", "return 11", "return 1 / 0")
    for _ in range(2):
        message = built.build()
        assert "book/topic/one.md: code cell 2 failed" in message
        assert "print(one(), scale, seed := 3)" in message
        assert "ZeroDivisionError" in message
        assert "\x1b" not in message  # colours are for a terminal
    built.edit("reasonlib/nn/a.py", "return 1 / 0", "return 11")
    assert built.build() == {"one"}


@pytest.mark.slow
def test_every_run_leaves_its_time_memory_and_versions(built):
    lines = json.loads((built.root / "_build/status.json").read_text(encoding="utf-8"))
    assert [(line["chapter"], line["scale"]) for line in lines] == [
        ("topic/one", "smoke"),
        ("topic/two", "smoke"),
    ]
    for line in lines:
        assert line["seconds"] > 0
        assert line["peak_mb"] > 10
        assert line["versions"]["python"]


def test_a_site_that_was_broken_off_is_built_from_the_start(tmp_path, monkeypatch):
    import book

    site, work = tmp_path / "html", tmp_path / "html.work"
    begun = []

    def sphinx(*_, **__):
        begun.append((work / "doctrees").is_dir())
        (work / "doctrees").mkdir(exist_ok=True)
        if len(begun) == 2:
            raise KeyboardInterrupt
        site.mkdir(exist_ok=True)
        (site / "index.html").write_text("")
        return subprocess.CompletedProcess([], 0, "", "")

    def stage(*_):
        work.mkdir(exist_ok=True)
        return f"sources {len(begun)}"

    monkeypatch.setattr(book.subprocess, "run", sphinx)
    monkeypatch.setattr(book, "stage", stage)
    assert book.build_site([], site, "smoke") == "built"
    with pytest.raises(KeyboardInterrupt):
        book.build_site([], site, "smoke")
    assert book.build_site([], site, "smoke") == "built"
    assert begun == [False, True, False]


def test_a_preview_has_the_pages_named_also_those_below_another():
    import yaml

    import book

    toc = """
    format: jb-book
    root: book/intro
    parts:
      - caption: Reference
        chapters:
          - file: book/glossary
          - file: book/api/index
            sections: [{file: book/api/nn}, {file: book/api/data}]
      - caption: Topics
        chapters: [{file: book/topic/one}]
    """
    (part,) = yaml.safe_load(book.contents_of(toc, ["api/nn"]))["parts"]
    assert [each["file"] for each in part["chapters"]] == ["book/glossary", "book/api/nn"]


@pytest.mark.parametrize(
    ("page", "port", "said"),
    [(False, 8000, "there is no site yet"), (True, 65536, "port must be between 0 and 65535, got 65536")],
)
def test_what_cannot_be_served_is_said(tmp_path, page, port, said):
    import book

    if page:
        (tmp_path / "index.html").write_text("<p>")
    with pytest.raises(book.BuildError, match=said):
        book.serve(tmp_path, port)
