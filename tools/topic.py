"""Begin a topic, or one more chapter of a topic that is there: a small one that runs, to be made your own.

    python tools/topic.py TOPIC CHAPTER "Title"      such as: word_sums reading "Sums in words"

A new topic gets what `templates/topic` holds: example, simulator, reader of files, model, experiment,
claims, labels for its tables, a live figure, an exercise with its teacher's edition, tests, its overview, a
first chapter, its results page, its page of the reference, and its lines in `_toc.yml`, `book/topics.yaml`
and the reference's first page. A topic that is there gets the chapter alone, whose cells use the first
chapter's model and figure until you replace them. Nothing that exists is written over.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEMPLATES = Path(__file__).resolve().parent.parent / "templates" / "topic"
FOLDERS = {"package": "reasonlib/{topic}", "tests": "tests/{topic}", "book": "book/{topic}"}
MOVED = {
    "book/api.md": "book/api/{topic}.md",
    "book/chapter.md": "book/{topic}/{chapter}.md",
    "teaching.py": "teaching/{topic}.py",
}

LISTS = ("_toc.yml", "book/api/index.md", "book/topics.yaml")  # what gets a line


class TopicError(Exception):
    """A name that cannot be used; the message is printed as it is."""


def plan(root: Path, topic: str, chapter: str, title: str) -> dict[Path, str]:
    """Say which files are made and what they hold."""
    for kind, name, rule in (("topic", topic, r"[a-z][a-z0-9_]*"), ("chapter", chapter, r"[a-z][a-z0-9_-]*")):
        if not re.fullmatch(rule, name):
            raise TopicError(
                f"a {kind}'s name is made of small letters, digits and underscores, got {name!r}"
            )
    new = not (root / "reasonlib" / topic).exists()
    files = {}
    for path in sorted(path for path in TEMPLATES.rglob("*") if path.is_file()):
        inside = path.relative_to(TEMPLATES)
        if "__pycache__" in inside.parts or not (new or inside.name == "chapter.md"):
            continue
        text = path.read_text(encoding="utf-8")
        text = text.replace("TOPIC", topic).replace("CHAPTER", chapter).replace("TITLE", title)
        files[root / target(inside, topic, chapter)] = text
    for path in files:
        if path.exists():
            raise TopicError(f"{path.relative_to(root)} is there already; choose another name")
    toc, index, topics = (root / name for name in LISTS)
    files[toc] = contents(toc.read_text(encoding="utf-8"), topic, chapter, title)
    if new:
        files[index] = reference(index.read_text(encoding="utf-8"), topic, title)
        listed = topics.read_text(encoding="utf-8")
        if f"- name: {topic}\n" not in listed:
            entry = f'- name: {topic}\n  title: {title}\n  question: "What?"\n  source: "Which work?"\n'
            files[topics] = listed.rstrip("\n") + "\n" + entry
    return files


def target(inside: Path, topic: str, chapter: str) -> Path:
    """Where a file of the templates goes, below the repository."""
    name = MOVED.get(inside.as_posix())
    if name is None:
        name = "/".join((FOLDERS[inside.parts[0]], *inside.parts[1:])).replace("TOPIC", topic)
    return Path(name.format(topic=topic, chapter=chapter))


def contents(toc: str, topic: str, chapter: str, title: str) -> str:
    """Add the chapter to the table of contents: after the topic's last one, or in a part of its own."""
    line = f"      - file: book/{topic}/{chapter}\n"
    if results := re.search(rf"^      - file: book/{topic}/results\n", toc, re.M):
        return toc[: results.start()] + line + toc[results.start() :]
    about = toc.index("  - caption: About this book\n")
    part = (
        f"  - caption: {title}\n    chapters:\n      - file: book/{topic}/index\n"
        f"        title: Overview\n{line}      - file: book/{topic}/results\n        title: Results\n"
    )
    return toc[:about] + part + toc[about:].rstrip("\n") + f"\n          - file: book/api/{topic}\n"


def reference(index: str, topic: str, title: str) -> str:
    """Add the topic's page to the list of the reference, at its end."""
    last = list(re.finditer(r"^- \{doc\}.*\n", index, re.M))[-1]
    return index[: last.end()] + f"- {{doc}}`{topic}`: {title}\n" + index[last.end() :]


def make(root: Path, topic: str, chapter: str, title: str) -> list[Path]:
    """Write the files; return those that are new."""
    files = plan(root, topic, chapter, title)
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    created = [path for path in files if path.relative_to(root).as_posix() not in LISTS]
    code = [str(path) for path in created if path.suffix == ".py"]
    if code:  # names of another length sort and break elsewhere
        for command in (["check", "--select", "I", "--fix", "-nq"], ["format", "--no-cache", "-q"]):
            subprocess.run([sys.executable, "-m", "ruff", *command, *code], check=True, cwd=root)
    return created


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("topic")
    parser.add_argument("chapter")
    parser.add_argument("title")
    given = parser.parse_args()
    if importlib.util.find_spec("ruff") is None:
        print("this Python lacks ruff: `make env`, then .venv/bin/python tools/topic.py", file=sys.stderr)
        return 2
    try:
        created = make(ROOT, given.topic, given.chapter, given.title)
    except TopicError as error:
        print(error, file=sys.stderr)
        return 2
    for path in created:
        print(f"made {path.relative_to(ROOT)}")
    print(f"gave a line to {LISTS[0]}")
    first = ""
    if any(path.suffix == ".py" for path in created):
        print(f"gave lines to {LISTS[1]} and {LISTS[2]}")
        first = f"reasonlib run {given.topic}/vote --scale quick; pytest tests/{given.topic}; "
    print(f"next: {first}make pairs; make book")
    return 0


if __name__ == "__main__":
    sys.exit(main())
