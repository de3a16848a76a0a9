"""A Node to run JavaScript without a browser: one on the path, else the one that Playwright brings.

The environment of the book has Playwright anyway.
"""

from __future__ import annotations

import shutil


class NoNode(Exception):
    """What to do about it, in one line."""


def node_program() -> str:
    """Find a Node.

    Raises
    ------
    NoNode
        If there is none.
    """
    if node := shutil.which("node"):
        return node
    try:
        from playwright._impl._driver import compute_driver_executable
    except ImportError:
        raise NoNode("there is no Node on this machine: run `make env`, or install Node") from None
    driver = compute_driver_executable()
    return str(driver[0] if isinstance(driver, tuple) else driver)
