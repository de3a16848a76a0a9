"""Text of exercises as HTML."""

import html
import re

__all__ = ["inline"]


def inline(text: str) -> str:
    """Escape text for HTML, with ``code`` between backticks.

    >>> inline("`a < b` holds")
    '<code>a &lt; b</code> holds'
    """
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))
