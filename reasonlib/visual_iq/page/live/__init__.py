"""Puzzles to solve in the page, against trained reasoners: figures that need no kernel.

With a kernel, `page.widget` does the same as `puzzles`.
"""

from reasonlib.visual_iq.page.live.puzzles import puzzles, some_problems

__all__ = ["puzzles", "some_problems"]
