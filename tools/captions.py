"""Captions of what a code cell shows, so that the book can number them.

A cell that shows a figure or a table for the reader to refer to says so in its options:

    ```{code-cell} ipython3
    :figure: losses-slopes
    :caption: The value of each loss, and below it its slope.
    ```

The label is what `{numref}` takes, in this chapter or another. Without `caption` the figure's own is used,
the one that `plotting.show` was given. A figure stands above its caption, a table below it.
"""

from __future__ import annotations

import html
import re
from typing import Any

KINDS = ("figure", "table")
OWN = re.compile(r"<(?P<tag>figcaption|caption)\b[^>]*>(?P<text>.*?)</(?P=tag)>", re.S)
TAGS = {"strong": "**", "b": "**", "em": "*", "i": "*", "code": "`"}


class NoCaption(ValueError):
    """A cell whose figure cannot be numbered; the message says what is missing."""


def labelled(metadata: Any) -> tuple[str, str] | None:
    """The kind and the label that a cell's options give to what it shows."""
    for kind in KINDS:
        if label := metadata.get(kind):
            return kind, str(label)
    return None


def set_caption(cell: Any) -> None:
    """Hand the figure of an executed cell over to Sphinx, which numbers it: its label and its caption.

    Raises
    ------
    NoCaption
        If the cell shows several things, or one that has no caption.
    """
    named = labelled(cell.metadata)
    shown = [output for output in cell.outputs if output.output_type in ("display_data", "execute_result")]
    if named is None or not shown:
        return
    kind, label = named
    if len(shown) > 1:
        raise NoCaption(f"the cell of {label} shows {len(shown)} things; one can have a number")
    data = shown[0].data
    caption = cell.metadata.get("caption")
    if caption is None:
        captions = OWN.findall(data.get("text/html", ""))
        if len(captions) != 1:
            raise NoCaption(
                f"the {kind} {label} has {len(captions) or 'no'} captions; give it one: `:caption: ...`"
            )
        caption = as_markdown(captions[0][1])
        data["text/html"] = OWN.sub("", data["text/html"])
    cell.metadata["mystnb"] = {
        "figure": {
            "name": label,
            "caption": str(caption),
            "classes": f"rr-numbered rr-numbered-{kind}",
            "caption_before": kind == "table",
        }
    }


def as_markdown(fragment: str) -> str:
    """A caption in HTML as one line of Markdown."""
    pieces = []
    for part in re.split(r"(<[^>]+>)", fragment):
        if part.startswith("<"):
            pieces.append(TAGS.get(part.strip("</>").split(" ")[0], ""))
        else:
            pieces.append(re.sub(r"([\\`*_\[\]$<{])", r"\\\1", html.unescape(part)))
    return " ".join("".join(pieces).split())
