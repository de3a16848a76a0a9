"""Puzzles to solve against trained reasoners, and a panel that a detector reads: figures that need no kernel.

With a kernel, `page.widget` does the same as `puzzles`.
"""

from reasonlib.visual_iq.page.live.detect import detect
from reasonlib.visual_iq.page.live.puzzles import puzzles, some_problems

__all__ = ["detect", "puzzles", "some_problems"]
