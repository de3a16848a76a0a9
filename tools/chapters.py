"""The book's table of contents and its chapters, as the other tools read them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "_build"
SCALES = ("smoke", "quick", "paper")


@dataclass(frozen=True)
class Page:
    """One entry of _toc.yml: a chapter with cells, or a page of prose.

    Attributes
    ----------
    name
        Path below the repository without its ending, ``book/story_qa/memory``.
    """

    name: str

    @property
    def path(self) -> Path:
        """The MyST source."""
        return ROOT / f"{self.name}.md"

    @property
    def short(self) -> str:
        """The name without ``book/``: what a person types and reads."""
        return self.name.removeprefix("book/")

    @property
    def topic(self) -> str:
        """The folder the chapter is in; empty for pages about the book."""
        return self.short.rpartition("/")[0]

    @property
    def notebook(self) -> Path:
        """Where the notebook made from this chapter is kept."""
        return ROOT / "notebooks" / f"{self.short}.ipynb"

    @property
    def assignment(self) -> Path:
        """Where the notebook of this chapter's exercises is kept, if it has any."""
        return ROOT / "assignments" / f"{self.short}.ipynb"

    @cached_property
    def text(self) -> str:
        """The source as it stands on disk."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def front(self) -> dict[str, Any]:
        """The front matter."""
        return front_matter(self.text)

    @property
    def objective(self) -> str:
        """What a reader will be able to do; empty where the chapter does not say."""
        return str(self.front.get("objective") or "").strip()

    @property
    def needs(self) -> str:
        """What a reader should know first."""
        return str(self.front.get("needs") or "").strip()

    @property
    def number(self) -> int | None:
        """The chapter's number in the book; None for a page that is no chapter."""
        return chapter_numbers().get(self.name)

    @property
    def title(self) -> str:
        """The heading."""
        match = re.search(r"^# (.+)$", self.text, re.M)
        return match[1].strip() if match else self.short

    @property
    def executable(self) -> bool:
        """Whether the page has cells to run."""
        return "kernelspec" in self.front


def front_matter(text: str) -> dict[str, Any]:
    """The YAML block at the head of a MyST page; empty where there is none."""
    if not text.startswith("---\n"):
        return {}
    end = text.find("\n---", 4)
    return (yaml.safe_load(text[4:end]) or {}) if end > 0 else {}


def pages(toc: Path = ROOT / "_toc.yml") -> list[Page]:
    """Every page of the book in reading order."""
    result: list[Page] = []

    def walk(node: Any) -> None:
        if isinstance(node, dict):
            name = node.get("root") or node.get("file")
            if name:
                result.append(Page(name))
            for key in ("parts", "chapters", "sections"):
                walk(node.get(key))
        elif isinstance(node, list):
            for each in node:
                walk(each)

    walk(yaml.safe_load(toc.read_text(encoding="utf-8")))
    return result


def chapters() -> list[Page]:
    """The pages that have cells, in reading order."""
    return [page for page in pages() if page.executable]


@cache
def chapter_numbers() -> dict[str, int]:
    """The number of each chapter, counted through the whole book."""
    return {page.name: number for number, page in enumerate(chapters(), 1)}


def write_if_changed(path: Path, content: str | bytes) -> bool:
    """Write a file only where its bytes differ, so that what depends on its time is left alone."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    if path.is_file() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(data)
    temporary.replace(path)
    return True
