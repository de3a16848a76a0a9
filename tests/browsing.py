"""What a figure holds; a headless Chromium, and a page in it with what it complained about or asked for."""

import json
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
PATIENCE = 180_000  # milliseconds to wait for a page on a machine that does much else
ONE_FRAME = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
NEW_LOOKS = """(known) => {
  const names = new WeakMap(), seen = new Set(known), fresh = [];
  const hash = (text) => {  // 53 bits
    let one = 0xdeadbeef, other = 0x41c6ce57;
    for (let at = 0; at < text.length; at++) {
      one = Math.imul(one ^ text.charCodeAt(at), 2654435761);
      other = Math.imul(other ^ text.charCodeAt(at), 1597334677);
    }
    return 4294967296 * (2097151 & (other ^ (other >>> 15))) + ((one ^ (one >>> 13)) >>> 0);
  };
  const look = (element) => {
    if (!element) return 0;
    if (!names.has(element)) {
      const style = getComputedStyle(element), name = [element.tagName, element.getAttribute("class")];
      const colours = [style.color, style.fill, style.backgroundColor, style.backgroundImage, style.opacity];
      const letters = [style.fontSize, style.fontWeight];
      names.set(element, hash([look(element.parentElement), ...name, ...colours, ...letters].join(" ")));
    }
    return names.get(element);
  };
  for (const element of document.body.querySelectorAll("*")) {
    const texts = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
    if (!texts.some((node) => node.data.trim()) || !element.checkVisibility()) continue;
    if (seen.has(look(element))) continue;
    seen.add(look(element));
    element.dataset.look = fresh.push(look(element));
  }
  return fresh;
}"""
"""Mark one text of each look that is not known: of the same tags, classes, letters and colours from the root.

The rules for colours take axe nine tenths of its time on a long page, and say the same of texts that look
alike, also of those on another page.
"""
SOUND_LOOKS: set[int] = set()
"""Looks with which axe found no fault, on any page of this process."""
COLOURS = {"color-contrast": "[data-look]", "link-in-text-block": "a[href][data-look]"}
"""Rules of axe that depend on colours, and the texts that they are asked about."""
LAYOUT = ["scrollable-region-focusable"]
"""Rules that depend on the width of the window; all others say the same in every view."""
AXE = """([rules, options]) => {
  axe.configure({ rules });
  const { rules: every, tagExclude } = axe._audit;
  const grave = ({ enabled, impact, tags }) => enabled && impact !== "minor" && impact !== "moderate"
    && !tags.some((tag) => tagExclude.includes(tag));  // as axe leaves out what is an experiment
  options.runOnly ??= every.filter(grave).map(({ id }) => id);
  return axe.run(document, options).then(({ violations }) => violations);
}"""
"""Runs the rules of serious and critical impact: the others take half of the time, and no test uses them."""
CUT_FOLDED = """() => document.querySelectorAll("details:not([open]) > :not(summary)")
    .forEach((part) => part.remove())"""
"""Take out what is folded away. Axe says nothing of it, but asks for the place of each part of it."""
ALL_TRANSITIONS = """() => Promise.allSettled(document.getAnimations()
    .filter((each) => each.effect.getComputedTiming().endTime < Infinity).map((each) => each.finished))"""


def save_together(path, *figures):
    """Save a page with these figures, one below the other."""
    body = "".join(figure._repr_html_() for figure in figures)
    path.write_text(f"<!doctype html><meta charset=utf-8><title>Figures</title>{body}", "utf-8")


@contextmanager
def chromium():
    """The browser of this machine; where there is none the test says so and is skipped."""
    try:
        with installed() as opened:
            yield opened
    except NoChromium as error:
        pytest.skip(str(error))


def data_of(figure):
    """What the script of a live figure is given."""
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', figure.html)[1])


def check_piece(figure, largest):
    """Fail unless a figure weighs less than `largest` bytes, asks for nothing, and no timer moves it."""
    page = figure._repr_html_()
    assert len(page.encode()) < largest
    assert not OUTSIDE.search(page)
    assert not re.search(r'\bid="', page), "several figures may stand on one page"
    assert "autoplay" not in page and "setInterval" not in page


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

    def check_view(self):
        """Fail unless the page fits its window, axe finds nothing serious, and nothing was complained of."""
        wider, violations = self.overflow(), self.grave()
        assert wider <= 0, f"the page is {wider} pixels wider than its window"
        assert not violations, violations
        assert not self.complaints, self.complaints

    def grave(self, *, again=False, last=False):
        """What axe finds that is serious or critical, once every transition has ended.

        `again` is for a page that another view has shown: only what differs from view to view. `last` is for
        a page of which no more is asked than how it looks.
        """
        from axe_playwright_python.base import AXE_SCRIPT

        self.page.add_style_tag(
            content="html { background: Canvas } *, *::before, *::after { transition: none !important }"
        )  # axe takes a page without a background for white
        self.drawn()
        self.page.evaluate(ALL_TRANSITIONS)
        if last:
            self.page.evaluate(CUT_FOLDED)
        looks = self.page.evaluate(NEW_LOOKS, sorted(SOUND_LOOKS))
        if not self.page.evaluate("() => Boolean(window.axe)"):
            self.page.evaluate(AXE_SCRIPT)
        rules = [{"id": rule, "selector": texts} for rule, texts in COLOURS.items()]
        options = {"resultTypes": ["violations"], "preload": False}
        if again:
            options["runOnly"] = [*LAYOUT, *COLOURS]
        violations = self.page.evaluate(AXE, [rules, options])
        if not any(violation["id"] in COLOURS for violation in violations):
            SOUND_LOOKS.update(looks)
        return [
            (
                violation["id"],
                [node["target"] for node in violation["nodes"]][:3],
                violation["nodes"][0].get("failureSummary"),
            )
            for violation in violations
            if violation["impact"] in ("serious", "critical")
        ]
