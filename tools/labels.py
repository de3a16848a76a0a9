"""What a cross-reference can point at, and its number: figures, tables, equations, exercises, sections."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from captions import labelled
from directives import CODE, FENCE, TARGET, Block, directive, dollars

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


class Collector:
    """The labels of one page, gathered in the order of its text.

    A target, ``(label)=`` on a line of its own, names the next heading or block; until that is read, its
    label is kept in `waiting`.
    """

    def __init__(self, page: str, chapter: int | None) -> None:
        self.page = page
        self.numbers = Numbers(chapter)
        self.title: str | None = None
        self.labels: dict[str, Label] = {}
        self.waiting: list[str] = []

    def put(self, label: str | None, kind: str, number: str | None, text: str) -> None:
        """Keep a label, if there is one."""
        if label:
            self.labels[label] = Label(self.page, kind, number, text)

    def settle(self, kind: str, text: str) -> None:
        """Let all labels that wait point here."""
        for label in self.waiting:
            self.put(label, kind, None, text)
        self.waiting.clear()

    def read(self, lines: Sequence[str]) -> None:
        """Read Markdown."""
        index = 0
        while index < len(lines):
            line = lines[index]
            if FENCE.match(line):
                block, index = directive(lines, index)
                self.read_block(block)
                continue
            if line.startswith("$$"):
                index, _, label = dollars(lines, index)
                if label:
                    self.put(label, "equation", self.numbers.next("equation"), "")
                continue
            if code := CODE.match(line):
                index += 1
                while index < len(lines) and not lines[index].startswith(code["mark"]):
                    index += 1
            elif target := TARGET.match(line):
                self.waiting.append(target["label"])
            elif heading := re.match(r"^(#+)\s+(.*)$", line):
                self.settle("page" if self.title is None else "section", heading[2])
                self.title = self.title or heading[2]
            index += 1

    def read_block(self, block: Block) -> None:
        """Read a directive and what stands in it."""
        name, label = block.name, block.options.get("label") or block.options.get("name")
        if name == "math":
            if label:
                self.put(label, "equation", self.numbers.next("equation"), "")
        elif name == "figure":
            self.put(label, "figure", self.numbers.next("figure"), " ".join(block.body).strip())
        elif name in ("table", "list-table"):
            number = self.numbers.next("table") if block.argument else None
            self.put(label, "table", number, block.argument)
        elif name in ("exercise", "exercise-start"):
            number = None if "nonumber" in block.options else self.numbers.next("exercise")
            self.put(label, "exercise", number, block.argument)
        elif name not in LITERAL | DROPPED:
            self.put(label, "section", None, block.argument)
        self.settle("section", block.argument)
        if name not in LITERAL | {"math", "solution"}:
            self.read(block.body)


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
    collector = Collector(page, chapter)
    for kind, source, metadata in cells:
        if kind == "markdown":
            collector.read(source.splitlines())
        elif named := labelled(metadata):
            kind, label = named
            number = collector.numbers.next(kind)
            collector.put(label, kind, number, str(metadata.get("caption") or ""))
    collector.put(page, "page", None, collector.title or page)
    return collector.labels
