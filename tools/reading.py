"""How long a chapter takes to read, measured on its source.

    python tools/reading.py [CHAPTER ...]

Words at 200 a minute, lines of code at 5 seconds, figures and tables at 30 seconds. What is folded away
counts, what only a notebook shows does not; nor do exercises, whose minutes stand in their titles.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from functools import cache

import jupytext
from captions import labelled
from chapters import Page, chapters

WORDS_A_MINUTE = 200
SECONDS_A_LINE = 5
SECONDS_A_FIGURE = 30
UNSEEN = {"remove-cell", "remove-input", "hide-input", "hide-cell"}
END = re.compile(r"^## Exercises\s*$", re.M)
WORD = re.compile(r"[^\W_](?:[\w'’-]*\w)?")


@dataclass(frozen=True)
class Reading:
    """What there is to read."""

    words: int
    lines: int
    figures: int

    @property
    def minutes(self) -> float:
        """How long it takes."""
        seconds = SECONDS_A_LINE * self.lines + SECONDS_A_FIGURE * self.figures
        return self.words / WORDS_A_MINUTE + seconds / 60

    @property
    def rounded(self) -> int:
        """The minutes to five, as a reader is told them; at least five."""
        return max(5, 5 * round(self.minutes / 5))


@cache
def measure(page: Page) -> Reading:
    """Count words, lines of code and figures of a chapter, up to its exercises."""
    words = lines = figures = 0
    for cell in jupytext.reads(page.text, fmt="md:myst").cells:
        if cell.cell_type == "markdown":
            end = END.search(cell.source)
            head = cell.source[: end.start()] if end else cell.source
            text, excerpts = split(head)
            words += len(WORD.findall(text))
            lines += sum(lines_of(argument) for argument in excerpts)
            figures += len(re.findall(r"^[`:]{3,}\{(?:figure|image|list-table|table)\}", head, re.M))
            if end:
                break
        else:
            figures += labelled(cell.metadata) is not None
            if not UNSEEN & set(cell.metadata.get("tags", [])):
                lines += sum(bool(line.strip()) for line in cell.source.splitlines())
    return Reading(words, lines, figures)


def split(text: str) -> tuple[str, list[str]]:
    """The words of a stretch of MyST, without its markup; and the excerpts of code that it shows."""
    excerpts = re.findall(r"^[`:]{3,}\{excerpt\}[ \t]+(.+)$", text, re.M)
    text = re.sub(r"<!--.*?-->", " ", text, flags=re.S)
    text = re.sub(r"^```\{math\}.*?^```", " formula ", text, flags=re.M | re.S)
    text = re.sub(r"\$\$.+?\$\$(?:\s*\([\w:.-]+\))?|(?<!\\)\$[^$\n]+\$", " formula ", text, flags=re.S)
    text = re.sub(r"^[`:]{3,}\{(?:excerpt|raw|figure|image)\}.*$", "", text, flags=re.M)
    text = re.sub(r"^[`:]{3,}(?:\{[\w:.-]+\})?", "", text, flags=re.M)  # the title of a box is read
    text = re.sub(r"^:[\w-]+:.*$|^\([\w:. -]+\)=\s*$|^\|[-: |]+\|\s*$", "", text, flags=re.M)
    text = re.sub(r"\{[\w:.+-]+\}`(?:([^`<]+?)\s*<[^>`]+>|([^`]*))`", r" \1 \2 ", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return text, excerpts


def lines_of(argument: str) -> int:
    """The lines of code that an excerpt shows."""
    from reasonlib.display.excerpts import find

    file, _, names = argument.strip().partition(" ")
    cuts = [find(file, name.strip()) for name in names.split(",")]
    return sum(bool(line.strip()) for cut in cuts for line in cut.code.splitlines())


def main() -> int:
    """Print the measures of all chapters, or of those named."""
    named = sys.argv[1:]
    print(f"{'chapter':<28} {'words':>6} {'code':>5} {'figures':>7} {'minutes':>8}")
    for page in chapters():
        if not named or page.short in named:
            read = measure(page)
            print(f"{page.short:<28} {read.words:>6} {read.lines:>5} {read.figures:>7} {read.minutes:>8.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
