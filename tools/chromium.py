"""The browser of this machine that prints, weighs and photographs pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


class NoChromium(Exception):
    """There is no Chromium here; the message says which names were looked for."""


@contextmanager
def chromium() -> Iterator[Any]:
    """Start a headless Chromium for the length of the block; yield Playwright's browser.

    Raises
    ------
    NoChromium
        If this machine has none.
    """
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        raise NoChromium(f"no Chromium on this machine (looked for {', '.join(NAMES)})")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()
