"""Weigh the pages of a built site: bytes over the wire, requests, and how soon a page answers on a phone.

    python tools/weigh.py [--site _build/html] [--keep]     --keep writes book/weights.json

Each page is opened in Chromium from a server of this machine. Bytes are those a server sends that compresses
text (gzip), fonts and pictures as they are. The times are those of a processor six times slower, as a phone's
is: six times the processor time of the page's main thread, which does not depend on what else this machine
is doing. A page is ready when its first live figure has given its first answer (without one, when it has
loaded); what the page works until it rests, and the longest it does not listen in between, are counted too.
For an answer, the buttons, menus, sliders, tokens and lines to type in of each figure are used, once to warm
up and three times more. The middle of the three counts, and of all that can be used the longest: what is
done until the second frame after it is drawn.
No test depends on this.
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
TRIED = 4  # of each kind of button, menu and line that a figure has
TIMES = 3  # that each is used, after the first
REST = 500  # milliseconds that a page gets to come to rest
USES = {
    "select:visible": """(menu) => {
      menu.selectedIndex = menu.options.length - 1;
      menu.dispatchEvent(new Event("change", { bubbles: true }));
    }""",
    "input[type=text]:visible": """(line) => {
      line.value = line.value.endsWith("a") ? line.value.slice(0, -1) : `${line.value}a`;
      line.dispatchEvent(new Event("input", { bubbles: true }));
      line.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
    }""",
    "input[type=range]:visible": """(slider) => {
      slider.value = slider.max;
      slider.dispatchEvent(new Event("input", { bubbles: true }));
    }""",
    "button.rr-live-main:visible, button.rr-play-choice:visible": "(button) => button.click()",
    "button.rr-live-token:visible": "(token) => token.click()",
    ".rr-live-tick input:visible, .rr-live-choices input:visible": "(choice) => choice.click()",
}
"""Of a live figure: what a reader uses, and how the page hears of it."""
STARTED = "() => [...document.querySelectorAll('.rr-live')].every((each) => each.dataset.ready !== undefined)"
MARK_STARTS = """new MutationObserver((changes) => {
  if (changes.some((each) => each.target.matches(".rr-live"))) performance.mark("rr-started");
}).observe(document, { subtree: true, attributes: true, attributeFilter: ["data-ready"] });
addEventListener("load", () => performance.mark("rr-loaded"));"""
HOLD_FRAMES = """(() => {
  const ask = requestAnimationFrame.bind(window), wanted = new Map();
  let last = 0;
  window.rrHeld = false;
  window.rrDrawn = () => new Promise((done) => ask(() => ask(() => setTimeout(done))));
  const draw = (number) => ask((now) => {
    const act = wanted.get(number);
    if (rrHeld || !act) return;
    wanted.delete(number);
    act(now);
  });
  window.requestAnimationFrame = (act) => {
    wanted.set((last += 1), act);
    draw(last);
    return last;
  };
  window.cancelAnimationFrame = (number) => wanted.delete(number);
  window.rrGoOn = () => {
    rrHeld = false;
    [...wanted.keys()].forEach(draw);
  };
})();"""
"""Between two answers, what goes on in frames stands still: else the time it takes to ask would count."""
SETTLED = "() => rrDrawn()"
ANSWERED = "async (part) => {{ rrGoOn(); ({act})(part); await rrDrawn(); rrHeld = true; }}"
TRACED = ["toplevel", "blink.user_timing", "loading"]
TASK = "ThreadControllerImpl::RunTask"


class Quiet(SimpleHTTPRequestHandler):
    """A file server that does not write a line for every request."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


def size_over_wire(url: str, body: bytes) -> int:
    """The bytes a compressing server sends."""
    plain = url.partition("?")[0]
    return len(body) if plain.endswith(PACKED) else len(gzip.compress(body, 6))


def milliseconds(microseconds: float) -> int:
    """On the slow processor."""
    return round(SLOWER * microseconds / 1000)


def opening(events: list[dict[str, Any]]) -> dict[str, int]:
    """From a trace of a page that opens: how long its main thread works until it is ready, and in all."""
    loaded = [each for each in events if each["name"] == "rr-loaded"][-1]
    thread = (loaded["pid"], loaded["tid"])
    ready = min((each["ts"] for each in events if each["name"] == "rr-started"), default=loaded["ts"])
    tasks = [
        each
        for each in events
        if each["name"] == TASK and "tdur" in each and (each["pid"], each["tid"]) == thread
    ]
    before = sum(
        task["tdur"] * min(1.0, (ready - task["ts"]) / max(task["dur"], 1))
        for task in tasks
        if task["ts"] < ready
    )
    return {
        "ready_ms": milliseconds(before),
        "work_ms": milliseconds(sum(task["tdur"] for task in tasks)),
        "longest_ms": milliseconds(max(task["tdur"] for task in tasks)),
    }


def weigh(browser: Any, url: str) -> dict[str, Any]:
    """Open a page, count what it loads, and use its live figures."""
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.add_init_script(HOLD_FRAMES + MARK_STARTS)
    answers: list[Any] = []
    page.on("response", lambda answer: answers.append(answer))
    browser.start_tracing(page=page, categories=TRACED)
    page.goto(url, wait_until="networkidle")
    page.wait_for_function(STARTED)
    page.wait_for_function("() => performance.getEntriesByName('rr-loaded').length")
    page.wait_for_timeout(REST)
    times = opening(json.loads(browser.stop_tracing())["traceEvents"])
    sent = sum(size_over_wire(answer.url, answer.body()) for answer in answers if answer.ok)
    line = {"kb": round(sent / 1000), "requests": len(answers), **times}
    longest = longest_answer(context, page)
    context.close()
    return line if longest is None else {**line, "answer_ms": longest}


def weigh_again(browser: Any, url: str, tries: int = 3) -> dict[str, Any]:
    """The same, and once more if the browser lost a part of its trace, as it does on a busy machine."""
    for left in reversed(range(tries)):
        try:
            return weigh(browser, url)
        except IndexError:
            if not left:
                raise
    raise AssertionError("unreachable")


def longest_answer(context: Any, page: Any) -> int | None:
    """How long a live figure works at most when a reader uses it; None if there is none to use."""
    clock = context.new_cdp_session(page)
    clock.send("Performance.enable", {"timeDomain": "threadTicks"})

    def worked() -> float:
        """Microseconds that the page's main thread has worked."""
        metrics = {each["name"]: each["value"] for each in clock.send("Performance.getMetrics")["metrics"]}
        return 1e6 * metrics["TaskDuration"]

    def cost(use: Callable[[], Any]) -> float:
        page.evaluate(SETTLED)
        before = worked()
        use()
        return worked() - before

    figures = page.locator("article .rr-live").all()
    for figure in figures:
        figure.scroll_into_view_if_needed()
    controls = [part for figure in figures for part in parts_of(figure)]
    times = []
    for turn in range(1 + TIMES):
        for number, (part, act) in enumerate(controls):
            if not part.count():
                continue  # another part has taken it away
            handle = part.element_handle()  # to find it is no work of the page's
            duration = cost(partial(handle.evaluate, ANSWERED.format(act=act)))
            if turn:  # the first has what comes once: code is compiled, room is made for an answer
                times.append((number, duration))
    if not times:
        return None
    nothing = min(cost(lambda: page.evaluate(SETTLED)) for _ in range(TIMES))
    typical = {number: sorted(each for other, each in times if other == number) for number, _ in times}
    return max(0, milliseconds(max(each[len(each) // 2] for each in typical.values()) - nothing))


def parts_of(figure: Any) -> list[tuple[Any, str]]:
    """What a reader can use of a figure, each with what using it does."""
    return [(part, act) for parts, act in USES.items() for part in figure.locator(parts).all()[:TRIED]]


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
    weights = {}
    heads = f"{'kB':>6} {'requests':>9} {'ready after':>12} {'all work':>9} {'longest':>9} {'answer':>9}"
    print(f"{'page':<28} {heads}  (milliseconds)")
    try:
        with chromium() as browser:
            for name in names:
                weights[name] = weigh_again(browser, f"{address}{name}.html")
                line = weights[name]
                numbers = (
                    f"{line['kb']:>6} {line['requests']:>9} {line['ready_ms']:>12} {line['work_ms']:>9} "
                    f"{line['longest_ms']:>9} {line.get('answer_ms', ''):>9}"
                )
                print(f"{name:<28} {numbers}", flush=True)
    except NoChromium as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        server.shutdown()
        server.server_close()
    if given.keep:
        stored = json.loads(WEIGHTS.read_text(encoding="utf-8")) if WEIGHTS.is_file() else {}
        write_if_changed(WEIGHTS, json.dumps({**stored, **weights}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
