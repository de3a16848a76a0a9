"""A headless Chromium, and one page in it with all that it complained about or asked the network for."""

import re
from contextlib import contextmanager
from pathlib import Path

import pytest
from chromium import NoChromium
from chromium import chromium as installed

LOCAL = ("file:", "data:", "blob:", "about:")
KNOWN = (  # how harmless ones begin
    "Anchored content block not found.",  # of Sphinx, to which a dot in an anchor is a class
)
OUTSIDE = re.compile(
    r"https?:(?!//www\.w3\.org/2000/svg)|\bsrc=|\bhref=|url\(|@import|\bfetch\b|XMLHttp|\bimport\("
)
"""What a figure that asks the network for nothing does not hold."""
PHONE = {"viewport": {"width": 390, "height": 844}}
DESKTOP = {"viewport": {"width": 1280, "height": 800}}
TWO_VIEWS = pytest.mark.parametrize(("scheme", "screen"), [("dark", PHONE), ("light", DESKTOP)])
PATIENCE = 180_000  # milliseconds to wait for a page on a machine that does much else
ONE_FRAME = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
ONE_OF_EACH_LOOK = """() => {
  const looks = new WeakMap(), seen = new Set();
  const look = (element) => {
    if (!element) return "";
    if (!looks.has(element)) {
      const style = getComputedStyle(element), name = [element.tagName, element.getAttribute("class")];
      const colours = [style.color, style.fill, style.backgroundColor, style.backgroundImage, style.opacity];
      looks.set(element, [look(element.parentElement), ...name, ...colours].join(" "));
    }
    return looks.get(element);
  };
  for (const element of document.body.querySelectorAll("*")) {
    const texts = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
    if (!texts.some((node) => node.data.trim())) continue;
    if (!seen.has(look(element))) element.dataset.look = seen.add(look(element)).size;
  }
}"""
"""Mark one text of each look: of the same tags, classes and colours from the root of the page down to it.

The rules for colours take axe nine tenths of its time on a long page, and say the same of texts that look
alike.
"""
COLOURS = ["color-contrast", "link-in-text-block"]
LAYOUT = ["scrollable-region-focusable"]
"""Rules of axe that depend on colours, and on the width of the window; others say the same in every view."""
ALL_TRANSITIONS = """() => Promise.allSettled(document.getAnimations()
    .filter((each) => each.effect.getComputedTiming().endTime < Infinity).map((each) => each.finished))"""


@contextmanager
def chromium():
    """The browser of this machine; where there is none the test says so and is skipped."""
    try:
        with installed() as opened:
            yield opened
    except NoChromium as error:
        pytest.skip(str(error))


class Opened:
    """One page in a window of its own, from which only `here` and files of this machine can be reached.

    `complaints` collects errors, warnings on the console, and addresses asked for in vain.
    Whoever reads through `part`, `all` or `ask` reads a page that has drawn what the last key or click
    brought about. `prefix` begins the classes of a figure's parts.
    """

    prefix = ""

    def __init__(self, browser, url, *, here=(), **settings):
        self.context = browser.new_context(**settings)
        self.scripts = settings.get("java_script_enabled", True)
        self.context.set_default_timeout(PATIENCE)
        self.page = self.context.new_page()
        self.complaints = []

        def refuse(route):
            self.complaints.append(route.request.url)
            route.abort()

        allowed = "|".join(map(re.escape, (*LOCAL, *here)))
        self.page.route(re.compile(f"^(?!{allowed})"), refuse)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self.heard)
        self.page.goto(url.as_uri() if isinstance(url, Path) else url)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    def heard(self, line):
        if line.type in ("error", "warning") and not line.text.startswith(KNOWN):
            self.complaints.append(line.text)

    def drawn(self):
        """Wait until what has happened so far is on the screen."""
        if self.scripts:
            self.page.evaluate(ONE_FRAME)

    @property
    def figure(self):
        return self.page.locator(f".{self.prefix}").first

    def part(self, name):
        self.drawn()
        return self.figure.locator(f".{self.prefix}-{name}, .rr-live-{name}")

    def ask(self, script, argument=None):
        """Run ``(root, argument) => ...`` on the figure."""
        self.drawn()
        return self.figure.evaluate(script, argument)

    def cells(self, rows):
        """The text of every cell of every one of these rows, seen or not."""
        self.drawn()
        return rows.evaluate_all("rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))")

    def overflow(self):
        """By how many pixels the page is wider than its window."""
        self.drawn()
        return self.page.evaluate(
            "() => document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"
        )

    def grave(self, *, again=False):
        """What axe finds that is serious or critical, once every transition has ended.

        `again` is for a page that another view has shown: only what differs from view to view.
        """
        from axe_playwright_python.sync_playwright import Axe

        self.page.add_style_tag(
            content="html { background: Canvas } *, *::before, *::after { transition: none !important }"
        )  # axe takes a page without a background for white
        self.drawn()
        self.page.evaluate(ALL_TRANSITIONS)
        self.page.evaluate(ONE_OF_EACH_LOOK)
        brief = {"resultTypes": ["violations"], "preload": False}
        rest = {"runOnly": LAYOUT} if again else {"rules": {rule: {"enabled": False} for rule in COLOURS}}
        alike = {"include": [["[data-look]"]]}
        runs = [
            Axe().run(self.page, options={**brief, **rest}),
            Axe().run(self.page, context=alike, options={**brief, "runOnly": COLOURS}),
        ]
        return [
            (one["id"], [node["target"] for node in one["nodes"]][:3], one["nodes"][0].get("failureSummary"))
            for run in runs
            for one in run.response["violations"]
            if one["impact"] in ("serious", "critical")
        ]
