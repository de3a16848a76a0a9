"""Pages that load little and are ready soon.

The theme brings 1.5 MB of icons as a script and 270 kB as fonts; the site shows two dozen. Their glyphs
are cut out of the theme's own fonts into a style sheet of a few kB. The index of the search is loaded by the
search page alone.

A browser works out the look of a page again for each style sheet it meets on the way, when the theme
decides between light and dark, and when the theme's script measures what scrolls. So the style sheets of
figures go to the head of the page, each once; light or dark is decided there; and ``_offline/rr/page.js``
measures what scrolls, when it is about to be seen.

A rule with ``:has()`` that looks into what a figure stands in is asked again after every change of the
figure: that took half of the time that its new look took. What such rules ask is known when a page is
written, so `mark_outputs` says it by classes, and `decided` makes the rules ask for these.
"""

from __future__ import annotations

import base64
import io
import re
from functools import cache
from pathlib import Path

import pydata_sphinx_theme
from docutils import nodes
from fontTools import subset

THEME = Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme" / "static"
SHEETS = THEME / "styles"
FONTS = {
    ("Font Awesome 6 Free", 900): "fa-solid-900.ttf",
    ("Font Awesome 6 Brands", 400): "fa-brands-400.ttf",
}
ICONS = (  # what the themes show, and what their scripts add; tests/site finds any other
    "angle-left", "angle-right", "arrow-up", "bars", "chevron-down", "chevron-up", "circle-half-stroke",
    "download", "expand", "file", "file-pdf", "github", "lightbulb", "list", "magnifying-glass", "moon",
    "rocket", "sun", "xmark",
)  # fmt: skip
SCRIPT = re.compile(r"(<script\b.*?</script>)", re.DOTALL)
STYLE = re.compile(r"<style\b[^>]*>(.*?)</style>\s*", re.DOTALL)
SCROLLING = (
    '["pre",".nboutput > .output_area",".cell_output > .output",".jp-RenderedHTMLCommon",'
    '".pst-scrollable-table-container"]'
)
"""What the theme's script measures on the whole page, at once and after every change of it."""
NOTHING = '["rr-nothing"]'
STORED = 'localStorage.getItem("theme") || ""'
SCHEME = STORED.replace('""', '(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")')
"""How the head of a page reads a reader's choice, and how it decides without one."""
SEARCH = ("searchtools.js", "language_data.js", "searchindex.js")  # of no use but on the search page


DECIDED = {  # of a style sheet: what a rule asks of a whole output or cell, and the same by a class
    "styles/pydata-sphinx-theme.css": (".text_html:not(:has(table.dataframe))", ".text_html.rr-foreign"),
    "mystnb.*.css": ("div.cell:has(> *:nth-child(2))", "div.cell.rr-several"),
}
OURS = re.compile(r"class=\"(?:rr|rr-[^\"]*|dataframe)[ \"]")  # HTML that needs no light box in the dark
OWN = re.compile(
    r"html\[data-theme=dark\] \.bd-content div\.cell_output \.text_html:has\(\.rr\)\{[^{}]*\}\n?"
)
"""In a figure's style sheet: no light box behind it in the dark. On this site none is drawn."""


@cache
def theme_style() -> str:
    """The theme's style sheet."""
    return (SHEETS / "pydata-sphinx-theme.css").read_text(encoding="utf-8")


def code_points(names: tuple[str, ...] = ICONS) -> set[int]:
    """The letters that the theme writes for icons: those named, and all that it gives a variable.

    Raises
    ------
    ValueError
        If the theme has no icon of that name.
    """
    style = theme_style()
    points = set()
    for name in names:
        match = re.search(rf"\.fa-{re.escape(name)}:before[^{{}}]*\{{content:\"(.+?)\"", style)
        if not match:
            raise ValueError(f"the theme has no icon {name!r}")
        points.add(letter(match[1]))
    for value in re.findall(r"--pst-icon-[\w-]+:\s*\"(.+?)\"", style):
        points.add(letter(value))
    return points


def letter(written: str) -> int:
    r"""The code point of a letter as a style sheet writes it: ``\f0c9``, or the letter itself."""
    return int(written[1:], 16) if written.startswith("\\") else ord(written)


def icon_sheet() -> str:
    """A style sheet that holds the icons' fonts, cut to what is shown."""
    points = code_points()
    folder = THEME / "vendor" / "fontawesome" / "webfonts"
    rules = []
    for (family, weight), name in FONTS.items():
        with subset.load_font(str(folder / name), subset.Options()) as font:
            cut = subset.Subsetter(subset.Options())
            cut.populate(unicodes=points & set(font.getBestCmap()))
            cut.subset(font)
            font.flavor = "woff"
            out = io.BytesIO()
            font.save(out)
        data = base64.b64encode(out.getvalue()).decode()
        rules.append(
            f'@font-face{{font-family:"{family}";font-style:normal;font-weight:{weight};font-display:block;'
            f'src:url("data:font/woff;base64,{data}") format("woff")}}'
        )
    return "/* Font Awesome Free by @fontawesome, fonts under SIL OFL 1.1, cut */\n" + "\n".join(rules) + "\n"


def write_sheet(app, config):
    """Leave the icons where Sphinx collects what pages load."""
    folder = Path(app.doctreedir).parent / "icons"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rr-icons.css").write_text(icon_sheet(), encoding="utf-8")
    config.html_static_path.append(str(folder))
    config.html_css_files.append("rr-icons.css")


def mark_outputs(app, doctree, docname):
    """Say by classes which outputs hold other people's HTML, and which cells have more than one part."""
    for box in doctree.findall(nodes.container):
        classes = box["classes"]
        if "cell" in classes and len(box.children) > 1:
            classes.append("rr-several")
        if "text_html" in classes and not OURS.search(source_of(box)):
            classes.append("rr-foreign")


def source_of(box) -> str:
    """The HTML that an output holds."""
    return "".join(raw.astext() for raw in box.findall(nodes.raw))


def decided(site: Path) -> None:
    """Make the rules of `DECIDED` ask for a class.

    Raises
    ------
    ValueError
        If a theme has changed and the rule is not where it was.
    """
    for pattern, (query, answer) in DECIDED.items():
        for sheet in (site / "_static").glob(pattern):
            text = sheet.read_text(encoding="utf-8")
            if query in text:
                sheet.write_text(text.replace(query, answer), encoding="utf-8")
            elif answer not in text:
                raise ValueError(f"{sheet.name} asks in another way now: see DECIDED")


def gather_styles(page: str) -> str:
    """Move the style sheets in the body of a page to the end of its head, each of them once."""
    head, start, body = page.partition("<body")
    sheets: dict[str, None] = {}

    def take(match: re.Match[str]) -> str:
        sheets.setdefault(OWN.sub("", match[1].strip()))
        return ""

    parts = SCRIPT.split(body)
    body = "".join(part if part.startswith("<script") else STYLE.sub(take, part) for part in parts)
    if not sheets:
        return page
    moved = "".join(f"<style>{sheet}</style>\n" for sheet in sheets)
    return head.replace("</head>", f"{moved}</head>") + start + body


def lighten(app, error):
    """Make every written page lighter, and take out of the site the files that no page loads any more."""
    if error or app.builder.format != "html":
        return
    site = Path(app.outdir)
    unused = re.compile(r"\s*<script\b[^>]*\bsrc=\"[^\"]*scripts/fontawesome\.js[^\"]*\"[^>]*></script>")
    search = re.compile(
        r"\s*<script\b[^>]*\bsrc=\"[^\"]*(?:" + "|".join(map(re.escape, SEARCH)) + r")[^\"]*\"[^>]*></script>"
    )
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        lighter = gather_styles(unused.sub("", text)).replace(STORED, SCHEME)
        if path.name != "search.html":
            lighter = search.sub("", lighter)
        if lighter != text:
            path.write_text(lighter, encoding="utf-8")
    measure_nothing(site / "_static" / "scripts" / "pydata-sphinx-theme.js")
    decided(site)
    (site / "_static" / "scripts" / "fontawesome.js").unlink(missing_ok=True)
    for font in (site / "_static" / "vendor" / "fontawesome").rglob("*.*"):
        font.unlink()


def measure_nothing(script: Path) -> None:
    """Empty the theme's list of what it measures.

    Raises
    ------
    ValueError
        If the theme has changed and the list is not where it was.
    """
    text = script.read_text(encoding="utf-8")
    if SCROLLING in text:
        script.write_text(text.replace(SCROLLING, NOTHING), encoding="utf-8")
    elif NOTHING not in text:
        raise ValueError(f"{script.name} measures what scrolls in another way now: see SCROLLING")


def setup(app):
    """Connect all parts."""
    app.connect("config-inited", write_sheet, priority=700)
    app.connect("doctree-resolved", mark_outputs)
    app.connect("build-finished", lighten)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
