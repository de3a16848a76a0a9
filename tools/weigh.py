"""Weigh the pages of a built site: bytes over the wire, requests, and how soon a page answers on a phone.

    python tools/weigh.py [--site _build/html] [--keep]     --keep writes book/weights.json

Each page is opened in Chromium from a server of this machine. Bytes are those a server sends that compresses
text (gzip), fonts and pictures as they are. A page answers when it has loaded and its live figures have
started. The times are those of a processor six times slower, as a phone's is: six times the processor time of
the page's main thread, which does not depend on what else this machine is doing. For an answer, the buttons,
menus and lines to type in of each figure are used once, and the longest time counts. No test depends on this.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import threading
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from chapters import BUILD, ROOT, chapters, write_if_changed
from chromium import NoChromium, chromium

WEIGHTS = ROOT / "book" / "weights.json"
PACKED = (".woff", ".woff2", ".png", ".webp", ".jpg", ".ico")  # compressed already
SLOWER = 6  # times, the processor of a phone
TRIED = 4  # buttons, menus and lines of a figure, each
STARTED = "() => [...document.querySelectorAll('.rr-live')].every((each) => each.dataset.ready !== undefined)"


class Quiet(SimpleHTTPRequestHandler):
    """A file server that does not write a line for every request."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


def size_over_wire(url: str, body: bytes) -> int:
    """The bytes a compressing server sends."""
    plain = url.partition("?")[0]
    return len(body) if plain.endswith(PACKED) else len(gzip.compress(body, 6))


def weigh(browser: Any, url: str) -> dict[str, Any]:
    """Open a page, count what it loads, and use its live figures."""
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    answers: list[Any] = []
    page.on("response", lambda answer: answers.append(answer))
    clock = context.new_cdp_session(page)
    clock.send("Performance.enable", {"timeDomain": "threadTicks"})

    def busy() -> float:
        """Milliseconds of a slow processor that the page's main thread has worked."""
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        metrics = {one["name"]: one["value"] for one in clock.send("Performance.getMetrics")["metrics"]}
        return SLOWER * 1000 * metrics["TaskDuration"]

    page.goto(url, wait_until="networkidle")
    page.wait_for_function(STARTED)
    ready = busy()
    sent = sum(size_over_wire(answer.url, answer.body()) for answer in answers if answer.ok)
    longest = 0.0
    for figure in page.locator("article .rr-live").all():
        for use in uses(figure):
            before = busy()
            use()
            longest = max(longest, busy() - before)
    context.close()
    line = {"kb": round(sent / 1000), "requests": len(answers), "ready_ms": round(ready)}
    return {**line, "answer_ms": round(longest)} if longest else line


def uses(figure: Any) -> list[Callable[[], None]]:
    """What a reader can do with a figure: press, choose, type."""
    found: list[Callable[[], None]] = []
    for menu in figure.locator("select:visible").all()[:TRIED]:
        last = menu.locator("option").count() - 1
        found.append(partial(menu.select_option, index=last))
    for line in figure.locator("input[type=text]:visible").all()[:TRIED]:
        found.append(partial(line.press, "Enter"))
    for button in figure.locator("button.rr-live-main:visible, button.rr-play-choice:visible").all()[:TRIED]:
        found.append(partial(button.click, timeout=2000))
    return found


def main() -> int:
    """Weigh the first page and every chapter."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--site", type=Path, default=BUILD / "html")
    parser.add_argument("--keep", action="store_true", help="write book/weights.json")
    parser.add_argument("--only", nargs="+", default=[], metavar="CHAPTER")
    given = parser.parse_args()
    names = ["intro", *(page.short for page in chapters())]
    names = [name for name in names if (given.site / "book" / f"{name}.html").is_file()]
    names = [name for name in names if not given.only or name in given.only]
    if not names:
        print("run `make book` first", file=sys.stderr)
        return 1
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(given.site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}/book/"
    found = {}
    print(f"{'page':<28} {'kB':>6} {'requests':>9} {'ready after':>14} {'an answer':>12}")
    try:
        with chromium() as browser:
            for name in names:
                found[name] = weigh(browser, f"{address}{name}.html")
                line = found[name]
                answer = f"{line['answer_ms']:>9} ms" if "answer_ms" in line else ""
                numbers = f"{line['kb']:>6} {line['requests']:>9} {line['ready_ms']:>11} ms {answer}"
                print(f"{name:<28} {numbers}", flush=True)
    except NoChromium as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        server.shutdown()
        server.server_close()
    if given.keep:
        known = json.loads(WEIGHTS.read_text(encoding="utf-8")) if WEIGHTS.is_file() else {}
        write_if_changed(WEIGHTS, json.dumps({**known, **found}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
