"""The pages in a real browser: phone and desktop width, light and dark, network cut."""

import re
from contextlib import suppress

import pytest
from browsing import DESKTOP, PHONE, Opened
from chapters import chapters
from playwright.sync_api import TimeoutError

pytestmark = [pytest.mark.site, pytest.mark.browser]

SIZES = {"desktop": DESKTOP, "phone": PHONE}


class Page(Opened):
    """A page of the book in a window of one of two sizes."""

    def __init__(self, browser, url, *, size="desktop", scheme="light", **settings):
        super().__init__(browser, url, color_scheme=scheme, **SIZES[size], **settings)

    def turn_to(self, path, *, size="desktop", scheme="light"):
        """Show a page as a new window would: nothing is kept of the one before, nor of what it complained of.

        A new window takes longer than to load most pages.
        """
        self.page.goto("about:blank")
        self.complaints.clear()
        self.page.set_viewport_size(SIZES[size]["viewport"])
        self.page.emulate_media(color_scheme=scheme)
        self.page.goto(path.as_uri())


FORGET = "if (location.protocol === 'file:') { localStorage.clear(); sessionStorage.clear(); }"


@pytest.fixture(scope="module")
def opened(browser):
    """One window for page after page."""
    with Page(browser, "about:blank") as window:
        window.page.add_init_script(FORGET)
        yield window


@pytest.fixture(scope="module")
def without_scripts(browser):
    """The same, with scripts off."""
    with Page(browser, "about:blank", java_script_enabled=False) as window:
        yield window


FIRST_SCREEN = """() => {
  const bottom = (name) => document.querySelector(name)?.getBoundingClientRect().bottom ?? 1e6;
  const kinds = [".rr-live", ".rr-play", ".rr-opt", ".rr-look"].map((kind) => `article ${kind}`).join(", ");
  const figure = document.querySelector(kinds);
  return {
    title: bottom("article h1"), objective: bottom("article .rr-objective"),
    needs: bottom("article .rr-needs"), figure: figure ? figure.getBoundingClientRect().top : 1e6,
  };
}"""


CELLS = """() => {
  const tables = [".rr-scroll table", ".pst-scrollable-table-container table", "table.dataframe"];
  const all = document.querySelectorAll(tables.map((each) => `article ${each}`).join(", "));
  const short = (cell) => {
    if (!cell.checkVisibility()) return true;
    if (cell.querySelector("ul, ol, details, svg, table, p + p, br, div, small")) return true;
    const style = getComputedStyle(cell), range = document.createRange();
    const line = parseFloat(style.lineHeight) || 1.5 * parseFloat(style.fontSize);
    range.selectNodeContents(cell);
    return range.getBoundingClientRect().height < 3.5 * line;
  };
  const cells = [...all].flatMap((table) => [...table.querySelectorAll("th, td")]);
  return cells.filter((cell) => !short(cell)).map((cell) => cell.textContent.trim().slice(0, 60));
}"""

SILENT = """() => [...document.querySelectorAll("article *")].filter((box) => {
    if (!box.checkVisibility() || box.scrollWidth <= box.clientWidth + 2) return false;
    if (!/auto|scroll/.test(getComputedStyle(box).overflowX)) return false;
    return box.tabIndex !== 0 || (box.matches(".rr-wide") && !box.matches(".rr-more"));
  }).map((box) => box.className)"""
"""What scrolls sideways without a way to reach it with the keyboard, or is marked as wide without a cue."""

TAKES_TEXT = re.compile(r"\bfield\(\"|<textarea|<input type=\"text\"")
TYPED = {
    "nothing": "", "spaces": "   \t ", "much": 166 * "abc def ghi " + "abcdefgh", "a long word": 2000 * "x",
    "digits": "1234567890 42 3.14", "capitals": "MARY WENT TO THE GARDEN",
    "punctuation": "?!.,;:-()[]{}'\"&%$#@*/\\|~^`<>=+_", "emoji": "I \U0001f600 need \U0001f355 in Rome",
    "other scripts": "Мария пошла в сад 東京に行く مرحبا", "lines": "Mary took the ball.\n\n\r\nJohn left.\n",
    "tags": "<b>b</b><img src=x onerror='rrTaken = 1'><script>rrTaken = 1</script>&lt;",
    "names of JavaScript": "constructor __proto__ toString",
}  # fmt: skip
TYPE = """async (line, text) => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const root = line.closest(".rr-live");
  line.value = text;
  for (const kind of ["input", "change"]) line.dispatchEvent(new Event(kind, { bubbles: true }));
  const enter = { key: "Enter", ctrlKey: line.matches("textarea"), bubbles: true, cancelable: true };
  line.dispatchEvent(new KeyboardEvent("keydown", enter));
  line.form?.requestSubmit();
  await frame();
  const right = root.getBoundingClientRect().right + 1;
  const cut = (part) => getComputedStyle(part).overflowX !== "visible";
  const out = (part) => {
    if (!part.checkVisibility() || part.getBoundingClientRect().right <= right) return false;
    for (let each = part.parentElement; each !== root; each = each.parentElement) if (cut(each)) return false;
    return true;
  };
  const told = [".rr-live-said", ".rr-live-notes li", ".rr-live-key", "[aria-live]", "[role=log]"].join(", ");
  return {
    wide: [...root.querySelectorAll("div, p, table, button, output, ul, svg")].some(out),
    strange: /\\b(NaN|undefined)\\b/.test(root.innerText), tall: root.getBoundingClientRect().height,
    said: [...root.querySelectorAll(told)].some((part) => part.checkVisibility() && part.innerText.trim()),
  };
}"""
"""Put text into a line of a figure as a reader does, and see what became of the figure."""

AWAY = """() => [...document.querySelectorAll("article .rr-wide table")]
  .filter((table) => table.checkVisibility()).map((table) => {
    const box = table.closest(".rr-wide"), cell = table.querySelector("tbody tr > :first-child");
    box.scrollLeft = 60;
    return cell ? Math.max(0, box.getBoundingClientRect().left - cell.getBoundingClientRect().left) : 0;
  })"""


CODE = "article div.cell_input pre, article .rr-excerpt pre"
LITERAL = "article .highlight-default pre"
"""What a chapter writes between fences without a language."""


def overflowing(blocks):
    """The longest line of each of these blocks that is wider than its column."""
    return f"""() => [...document.querySelectorAll("{blocks}")]
      .filter((block) => block.checkVisibility() && block.scrollWidth > block.clientWidth + 1)
      .map((block) => block.textContent.split("\\n").sort((a, b) => b.length - a.length)[0])"""


AT_EXERCISES = """() => {
  const { top } = document.querySelector("#exercises > h2").getBoundingClientRect();
  return top >= 0 && top < innerHeight / 2;
}"""

LAID_OUT = ".bd-article section { content-visibility: visible !important }"
"""Nothing that does not fit is cut off at the edge of a section."""


CHAPTERS = {f"{chapter.name}.html": chapter for chapter in chapters()}


def below_the_first_screen(opened):
    """What of title, objective, prerequisites and the start of a live figure a reader has to scroll to."""
    stands = opened.page.evaluate(FIRST_SCREEN)
    stands["figure"] += 120  # enough of it to see what it is
    height = opened.page.viewport_size["height"]
    return {name: round(at) for name, at in stands.items() if at > height}


def with_fonts(opened):
    """Wait for the fonts of the first screen, with which lines and cells get their widths."""
    opened.page.evaluate("() => document.fonts.ready")
    opened.drawn()


def lay_out(opened):
    """Lay out every section; the fonts that it brings change the widths of cells, which the page measures."""
    opened.page.add_style_tag(content=LAID_OUT)
    opened.drawn()
    opened.page.evaluate("() => document.fonts.ready")


def in_the_end(opened, script):
    """What a list of faults holds at once, if nothing, or when it has not become empty for long."""
    if not opened.page.evaluate(script):
        return []
    with suppress(TimeoutError):
        opened.page.wait_for_function(f"() => !({script})().length", timeout=30_000)
    return opened.page.evaluate(script)


def sound(opened, **options):
    """A page complains of nothing, is typeset, fits its window, shows its pictures, and axe finds nothing."""
    assert opened.complaints == []
    page = opened.page
    bare = page.evaluate(
        "() => [...document.querySelectorAll('.math')].filter(e => !e.querySelector('.katex-html'))"
        ".map(e => e.textContent)"
    )
    assert bare == [], "mathematics that was not typeset"
    wide = opened.overflow()
    assert wide <= 0, f"the page is {wide} pixels wider than the window"
    broken = page.evaluate(
        "() => [...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
    )
    assert broken == []
    assert opened.grave(**options) == [], "serious findings of axe"


def answered(form):
    """What a question says of the last answer; it does so before its listener returns."""
    return form.locator(".rr-said").text_content()


def checked(form):
    """What a question says once *Check* is pressed."""
    form.get_by_role("button", name="Check").click()
    return answered(form)


SAID_OF = """(form, texts) => texts.map((text) => {
  form.querySelector("input").value = text;
  form.requestSubmit();
  return form.querySelector(".rr-said").textContent;
})"""
"""What a question says of each of these numbers, sent as the *Check* button and the Enter key send them."""


def mark_of(option):
    return "✗" if option.get_attribute("data-right") is None else "✓"


def choose(form, options):
    for option, box in zip(options, form.locator("input").all(), strict=True):
        box.check()
        assert answered(form).startswith(mark_of(option))


NO_NUMBERS = ["", "  ", "many", "1e999", "Infinity", "0x10", "--1", "1..2", "1,2,3", "1 2", "<b>1</b>", "½"]
"""What a line for a number asks to be typed again."""


def spellings(number, unit):
    """How people write a number, as the question has it: 0.5, 1234 or 1e-3."""
    yield f"  {number}\t"
    yield number.replace(".", ",")
    yield number.replace("-", "−")
    yield "".join(chr(ord(each) + 0xFEE0) for each in number)  # the full-width forms of East Asian keyboards
    if number[0] != "-":
        yield f"+ {number}"
    if unit:
        yield f"{number} {unit}"
    with suppress(ValueError):
        yield f"{int(number):,}"
        yield f"{int(number):,}".replace(",", "\u202f")
        yield f"{int(number):,}.0"


def give_a_number(form, options):
    units = [each.inner_text().strip() for each in form.locator(".rr-typed > span").all()]
    expected = [(text, "✗") for text in ("1e9", "-1e9", "123456789,5")]
    expected += [(text, "Type a number") for text in NO_NUMBERS]
    for option in options:
        mark, number = mark_of(option), option.get_attribute("data-number")
        form.locator("input").fill(number)
        assert checked(form).startswith(mark)
        expected += [(text, mark) for text in spellings(number, *units or [""]) if mark == "✓"]
    said = form.evaluate(SAID_OF, [text for text, _ in expected])
    assert [
        text for (text, start), words in zip(expected, said, strict=True) if not words.startswith(start)
    ] == []


def order(form, options):
    steps = form.locator(".rr-steps li")
    assert checked(form).startswith("✗")
    position = "(all, step) => all.findIndex((each) => each.dataset.step === step)"
    for step in map(str, range(steps.count())):
        while steps.evaluate_all(position, step) > int(step):
            form.locator(f".rr-steps li[data-step='{step}']").get_by_role("button", name="Move up").click()
    assert checked(form).startswith("✓")


def choose_several(form, options):
    for option, box in zip(options, form.locator("input").all(), strict=True):
        box.set_checked(mark_of(option) == "✓")
    assert checked(form).startswith("✓")


ANSWER = {"choose": choose, "number": give_a_number, "order": order}


def answer_questions(opened, chapter):
    """Choose every option of every question of a chapter; each answers as it should."""
    forms = opened.page.locator(".rr-question").all()
    assert len(forms) == chapter.text.count("{question}") >= 1
    for form in forms:
        answer = ANSWER.get(form.get_attribute("data-kind"), choose_several)
        answer(form, form.locator("[data-option]").all())


def type_into_the_figure(opened):
    """It raises nothing, keeps its form on a phone, takes text as text, and says something."""
    figure = opened.page.locator("article .rr-live").first
    figure.evaluate("(root) => root.querySelectorAll('details').forEach((each) => { each.open = true; })")
    for line in figure.locator("input[type=text], textarea").all():
        for name, text in TYPED.items():
            opened.drawn()
            state = line.evaluate(TYPE, text)
            assert not state["wide"], f"{name}: wider than the figure"
            assert not state["strange"], f"{name}: shows what is no number and no word"
            assert state["tall"] < 5000, f"{name}: {state['tall']} pixels"
            assert state["said"], f"{name}: says nothing"
            assert opened.complaints == [] and opened.overflow() <= 0, name
    assert opened.page.evaluate("() => window.rrTaken === undefined"), "text was taken as HTML"


def test_a_page_on_a_phone_in_the_dark(opened, site, page_name):
    """The first screen says what a chapter is; cells are short; what is wider scrolls with a cue.

    A figure bears whatever is typed into it.
    """
    opened.turn_to(site / page_name, size="phone", scheme="dark")
    with_fonts(opened)
    if page_name in CHAPTERS:
        assert below_the_first_screen(opened) == {}
    lay_out(opened)
    assert in_the_end(opened, CELLS) == [], "cells of more than three lines"
    assert in_the_end(opened, SILENT) == [], "wider than the page, which says nothing"
    typed = page_name in CHAPTERS and TAKES_TEXT.search((site / page_name).read_text(encoding="utf-8"))
    sound(opened, last=not typed)
    assert max(opened.page.evaluate(AWAY), default=0) < 3, "the first column scrolls away"
    if typed:
        type_into_the_figure(opened)


def test_a_page_on_a_desktop_in_the_light(opened, site, page_name):
    """The first screen says what a chapter is, code fits its column, and questions answer every option."""
    opened.turn_to(site / page_name)
    with_fonts(opened)
    if page_name in CHAPTERS:
        assert below_the_first_screen(opened) == {}
    lay_out(opened)
    blocks = f"{CODE}, {LITERAL}" if page_name in CHAPTERS else CODE
    assert in_the_end(opened, overflowing(blocks)) == [], "code wider than its column"
    assert in_the_end(opened, SILENT) == [], "wider than the page, which says nothing"
    if page_name in CHAPTERS:
        answer_questions(opened, CHAPTERS[page_name])
    sound(opened, again=True, last=True)


@pytest.mark.parametrize("size", SIZES)
def test_an_address_within_a_page_leads_there(browser, site, size):
    """Also where the sections above it have not been laid out yet."""
    chapter = max(chapters(), key=lambda each: len(each.text))
    with Page(browser, f"{(site / chapter.name).as_uri()}.html#exercises", size=size) as opened:
        opened.page.wait_for_function(AT_EXERCISES)


def test_the_address_of_the_site_leads_to_the_first_page(browser, site):
    with Opened(browser, site / "index.html") as opened:
        opened.page.wait_for_url("**/book/intro.html")


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.short)
def test_a_chapter_reads_without_scripts(without_scripts, site, chapter):
    without_scripts.turn_to(site / f"{chapter.name}.html")
    assert without_scripts.page.locator("article h1").is_visible()
    assert len(without_scripts.page.locator("article").inner_text()) > 300


def test_icons_are_drawn_by_the_few_letters_that_pages_load(browser, site):
    """Every icon of a page is in the style sheet of icons, so no font of all icons is fetched."""
    with Page(browser, (site / "book/intro.html").as_uri()) as opened:
        loaded = opened.page.evaluate(
            "() => performance.getEntriesByType('resource').map(each => each.name.split('/').pop())"
        )
        assert not [name for name in loaded if name.startswith(("fontawesome", "fa-"))]
        widths = opened.page.locator("i.fa-solid, i.fas, i.fab").evaluate_all(
            "icons => icons.filter(icon => icon.checkVisibility()).map(icon => icon.offsetWidth)"
        )
        assert widths and min(widths) > 4


def test_search_finds_a_chapter(browser, site, served):
    chapter = chapters()[0]
    for root in (served, site.as_uri() + "/"):
        with Page(browser, f"{root}search.html?q=memory", here=(served,)) as opened:
            opened.page.locator(f"#search-results a[href*='{chapter.short}']").first.wait_for()
            assert opened.complaints == []


def test_the_theme_button_changes_the_page(browser, site):
    with Page(browser, (site / "book/intro.html").as_uri()) as opened:
        seen = set()
        for _ in range(3):
            seen.add(opened.page.evaluate("() => document.documentElement.dataset.theme"))
            opened.page.locator("button.theme-switch-button").locator("visible=true").first.click()
        assert seen == {"light", "dark"}


def test_the_scoreboard_opens_what_is_asked_for(browser, site):
    with Page(browser, (site / "book/scoreboard.html").as_uri()) as opened:
        page = opened.page
        rows = page.locator("[data-rr-board] tbody tr")
        total = rows.count()
        if not total:
            pytest.skip("no claim has been entered")
        says = "text => document.querySelector('[data-rr-board] output').textContent === text"
        visible = "rows => rows.filter(row => row.checkVisibility()).map(row => row.dataset.verdict)"
        page.wait_for_function(says, arg=f"{total} of {total} shown")
        assert rows.evaluate_all(visible) == []
        screens = page.evaluate("document.documentElement.scrollHeight / window.innerHeight")
        assert screens < 5
        verdict = rows.first.get_attribute("data-verdict")
        some = page.locator(f"[data-rr-board] tbody tr[data-verdict='{verdict}']").count()
        page.locator("select[name=verdict]").select_option(verdict)
        page.wait_for_function(says, arg=f"{some} of {total} shown")
        assert rows.evaluate_all(visible) == [verdict] * some
        page.get_by_role("button", name="Show all").click()
        page.wait_for_function(says, arg=f"{total} of {total} shown")
        page.locator("input[name=words]").fill("no claim says this")
        page.wait_for_function(says, arg=f"0 of {total} shown")
        assert rows.evaluate_all(visible) == []
        links = page.eval_on_selector_all(
            "[data-rr-board] tbody th > a", "found => found.map(a => a.getAttribute('href'))"
        )
        assert len(links) == total
