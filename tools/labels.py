"""What a cross-reference can point at, and its number: figures, tables, equations, exercises, sections."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from captions import labelled
from directives import CODE, FENCE, TARGET, directive, dollars

DROPPED = {"raw", "toctree", "tableofcontents", "contents", "bibliography", "solution", "only", "index"}
LITERAL = {"code", "code-block", "sourcecode", "literalinclude", "parsed-literal"}


@dataclass(frozen=True)
class Label:
    """What a cross-reference points at."""

    page: str  # "book/story_qa/memory"
    kind: str  # "page", "section", "equation", "figure", "table", "exercise", a statement
    number: str | None  # "3.2", the second of the third chapter
    title: str


@dataclass
class Book:
    """What conversion needs to know beyond one page."""

    site: str  # where the book is served, with a final slash
    raw: str  # where files of the repository are served as they are, for pictures
    files: str = ""  # where a reader can look at files of the repository, for code
    labels: dict[str, Label] = field(default_factory=dict)
    citations: dict[str, tuple[str, str, str]] = field(default_factory=dict)  # key -> (authors, year, url)

    def link(self, label: str) -> str:
        """The address of a label on the site."""
        target = self.labels[label]
        anchor = "" if target.kind == "page" else "#" + sphinx_id(label, target.kind)
        return f"{self.site}{target.page}.html{anchor}"


def sphinx_id(label: str, kind: str) -> str:
    """The anchor Sphinx gives to a label."""
    plain = re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")
    return f"equation-{plain}" if kind == "equation" else plain


class Numbers:
    """Counts the numbered things of one page, each kind by itself, as the site does."""

    def __init__(self, chapter: int | None = None) -> None:
        self.chapter = chapter
        self._counts: dict[str, int] = {}

    def next(self, kind: str) -> str:
        """The next number of a kind: 3.1 is the first of chapter 3; pages that are no chapters count 1, 2."""
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return f"{self.chapter}.{self._counts[kind]}" if self.chapter else str(self._counts[kind])


def labels_of(
    page: str, cells: Iterable[tuple[str, str, dict]], chapter: int | None = None
) -> dict[str, Label]:
    """Every label of a page.

    Parameters
    ----------
    page
        "book/story_qa/memory"
    cells
        Kind ("markdown" or "code"), source and metadata of each cell.
    chapter
        The chapter's number, which comes first in every number of it.
    """
    found: dict[str, Label] = {}
    numbers = Numbers(chapter)
    title: str | None = None
    pending: list[str] = []

    def put(label: str | None, kind: str, number: str | None, text: str) -> None:
        if label:
            found[label] = Label(page, kind, number, text)

    def walk(lines: Sequence[str]) -> None:
        nonlocal title
        at = 0
        while at < len(lines):
            line = lines[at]
            if FENCE.match(line):
                block, after = directive(lines, at)
                name = block.name
                label = block.options.get("label") or block.options.get("name")
                if name == "math":
                    if label:
                        put(label, "equation", numbers.next("equation"), "")
                elif name == "figure":
                    put(label, "figure", numbers.next("figure"), " ".join(block.body).strip())
                elif name in ("table", "list-table"):
                    put(label, "table", numbers.next("table") if block.argument else None, block.argument)
                elif name in ("exercise", "exercise-start"):
                    number = None if "nonumber" in block.options else numbers.next("exercise")
                    put(label, "exercise", number, block.argument)
                elif name not in LITERAL | DROPPED:
                    put(label, "section", None, block.argument)
                for waiting in pending:
                    put(waiting, "section", None, block.argument)
                pending.clear()
                if name not in LITERAL | {"math", "solution"}:
                    walk(block.body)
                at = after
                continue
            if code := CODE.match(line):
                at += 1
                while at < len(lines) and not lines[at].startswith(code["mark"]):
                    at += 1
            elif target := TARGET.match(line):
                pending.append(target["label"])
            elif heading := re.match(r"^(#+)\s+(.*)$", line):
                first = title is None
                title = title or heading[2]
                for waiting in pending:
                    put(waiting, "page" if first else "section", None, heading[2])
                pending.clear()
            elif line.startswith("$$"):
                at, _, label = dollars(lines, at)
                if label:
                    put(label, "equation", numbers.next("equation"), "")
                continue
            at += 1

    for kind, source, metadata in cells:
        if kind == "markdown":
            walk(source.splitlines())
        elif named := labelled(metadata):
            kind, label = named
            put(label, kind, numbers.next(kind), str(metadata.get("caption") or ""))
    found[page] = Label(page, "page", None, title or page)
    return found
