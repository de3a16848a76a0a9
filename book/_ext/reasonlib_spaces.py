"""A number stays on one line with its "%": the space between them does not break.

Code keeps its spaces: somebody may copy it.
"""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

CODE = (nodes.literal, nodes.literal_block, nodes.doctest_block, nodes.math, nodes.math_block, nodes.raw)


class JoinPercent(SphinxPostTransform):
    """Write a no-break space before the "%" of a number."""

    default_priority = 900  # after other texts are in place

    def run(self, **kwargs) -> None:
        """Change the texts of a page."""
        for text in list(self.document.findall(nodes.Text)):
            joined = join_percent(text)
            if joined != text and not isinstance(text.parent, CODE):
                text.parent.replace(text, nodes.Text(joined))


def join_percent(text: str) -> str:
    r"""Put a no-break space between a number and its "%".

    >>> join_percent("95 % of 3 models")
    '95\xa0% of 3 models'
    """
    return re.sub(r"(?<=\d) (?=%)", "\N{NO-BREAK SPACE}", text)


def setup(app):
    """Join when a page is complete."""
    app.add_post_transform(JoinPercent)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
