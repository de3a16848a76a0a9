"""Print the book: one PDF of all chapters, made by Chromium from the pages of a built site.

    python tools/pdf.py [--site _build/html] [--out FILE] [--only PAGE ...]

The articles of the site are put one after another into one page, in reading order. Chromium prints it with
scripts off: a live figure is its static picture, with a link to the page where it answers. What is folded
away on the site is open on paper, except the code of figures. The scoreboard, the status page and the
reference stay on the site. Links between printed pages lead to their place in the PDF.
"""

from __future__ import annotations

import argparse
import html
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from address import Address
from chapters import BUILD, ROOT, Page, pages
from chromium import NoChromium, chromium

LEFT_OUT = ("api/", "scoreboard", "status")  # below book/
STYLE = Path(__file__).with_name("print.css")
TITLE = "Reasoning, Reproduced"
SHEET = 643  # pixels between the margins of a sheet, see print.css
MANY, MOST = 6, 11  # columns of a table that fit a sheet at the usual size of letters, and at a smaller one


class CannotPrint(Exception):
    """Why there is no PDF; the message is printed as it is."""


def printed_pages(site: Path, only: Sequence[str]) -> list[Page]:
    """The pages that are printed, in reading order.

    Raises
    ------
    CannotPrint
        If the site has none of them.
    """
    selected = [page for page in pages() if not page.short.startswith(LEFT_OUT)]
    selected = [page for page in selected if not only or page.short in only]
    built = [page for page in selected if (site / f"{page.name}.html").is_file()]
    if not built:
        raise CannotPrint(f"{site} has no page to print: run `make book` first")
    return built


# One page of a site, made ready for paper ------------------------------------------------------------------


def anchor(page: str) -> str:
    """The name of a page within the one that is printed."""
    return "page-" + page.replace("/", "-")


def article(text: str) -> str:
    """The inside of a page's article.

    Raises
    ------
    CannotPrint
        If it has none.
    """
    match = re.search(r"<article\b[^>]*>(.*)</article>", text, re.S)
    if match is None:
        raise CannotPrint("a page of the site has no article")
    return match[1]


def without_scripts(text: str, url: str) -> str:
    """No scripts; in place of what only scripts offer, a link to the page on the site."""
    text = re.sub(r"<script\b.*?</script>", "", text, flags=re.S)
    link = f'<p class="rr-on-paper">This figure answers at <a href="{url}">{html.escape(url)}</a>.</p>'
    return re.sub(r"<noscript><p>Scripts are off.*?</noscript>", lambda _: link, text, flags=re.S)


def unfolded(text: str) -> str:
    """Everything open but the code of figures, which is left out."""
    text = re.sub(
        r"<details class=\"admonition hide above-input\">.*?</details>", "", text, flags=re.S
    )  # a cell holds no details of its own
    return re.sub(r"<details\b(?![^>]*\bopen\b)", "<details open", text)


def spread(text: str) -> str:
    """What is chosen on the site by buttons stands one below the other on paper, each part with its name."""
    names = dict(re.findall(r'<label for="([^"]+)">(.*?)</label>', text, re.S))

    def named(match: re.Match[str]) -> str:
        name = names.get(match[1])
        return match[0] if name is None else f'{match[0]}<p class="rr-panel-name">{name}</p>'

    return re.sub(r'<div class="rr-panel ([\w-]+)">', named, text)


def without_bars(text: str) -> str:
    """What a training said of its progress, without the bar before it: on paper that is a black block."""
    return re.sub("[█░]{8,} ?", "", text)


def relinked(text: str, page: Page, printed: set[str], site: str) -> str:
    """Names that no other page has, and links that hold in one page: inside it, or to the site."""
    own = anchor(page.name)
    text = re.sub(r'(\s)(id|for)="([^"]*)"', lambda m: f'{m[1]}{m[2]}="{own}--{m[3]}"', text)
    text = re.sub(r'(aria-(?:labelledby|describedby|controls)|headers)="[^"]*"', "", text)
    text = re.sub(r'((?:xlink:)?href=")#([^"]*)"', lambda m: f'{m[1]}#{own}--{m[2]}"', text)
    text = re.sub(r"url\((&quot;|['\"]?)#", lambda m: f"url({m[1]}#{own}--", text)

    def point(match: re.Match[str]) -> str:
        target, _, fragment = match[2].partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(page.name), target))
        if match[1] == "src" or not target.endswith(".html"):
            return f'{match[1]}="{path}"' if match[1] == "src" else f'href="{site}{path}"'
        name = path.removesuffix(".html")
        if name not in printed:
            return f'href="{site}{path}{"#" + fragment if fragment else ""}"'
        return f'href="#{anchor(name)}{"--" + fragment if fragment else ""}"'

    return re.sub(r'\b(href|src)="(?![a-z]+:|#|//)([^"]*)"', point, text)


def narrower(text: str) -> str:
    """Tables of many columns, and of very many, get a class: on paper their letters are smaller.

    In the others a mean stays on one line with its spread.
    """

    def marked(match: re.Match[str]) -> str:
        row = re.search(r"<tr\b.*?</tr>", match[0], re.S)
        columns = 0 if row is None else len(re.findall(r"<t[hd]\b", row[0]))
        if columns <= MANY:
            return match[0].replace(" ± ", "\u00a0±\u00a0")
        return f'<div class="rr-many{" rr-most" * (columns > MOST)}">{match[0]}</div>'

    return re.sub(r"<table\b.*?</table>", marked, text, flags=re.S)


def style_sheets(head: str, page: Page) -> list[str]:
    """The style sheets that a page loads, by their place in the site."""
    sheets = re.findall(r'<link[^>]*href="([^"]+\.css)[^"]*"[^>]*>', head)
    return [os.path.normpath(os.path.join(os.path.dirname(page.name), sheet)) for sheet in sheets]


def joined(sheets: list[str], more: list[str]) -> list[str]:
    """Both lists as one; what is new comes before what follows it on its own page, since later sheets win."""
    result = list(sheets)
    for number, sheet in enumerate(more):
        if sheet not in result:
            after = [result.index(other) for other in more[number + 1 :] if other in result]
            result.insert(min(after, default=len(result)), sheet)
    return result


def bound(site: Path, printed: Sequence[Page], address: str) -> str:
    """All pages as one, with a cover and the contents."""
    printed_names = {page.name for page in printed}
    sheets: list[str] = []
    styles: dict[str, None] = {}
    body = [cover(), contents(printed)]
    for page in printed:
        whole = (site / f"{page.name}.html").read_text(encoding="utf-8")
        head = whole.partition("</head>")[0]
        sheets = joined(sheets, style_sheets(head, page))
        styles |= dict.fromkeys(re.findall(r"<style>.*?</style>", head, re.S))
        text = without_scripts(article(whole), f"{address}{page.name}.html")
        if page.short.endswith("/results"):  # conditions and commands stay closed: they are for the site
            text = text.replace('<details class="rr-fold">', '<details class="rr-fold" open>')
        else:
            text = unfolded(text)
        text = relinked(narrower(spread(without_bars(text))), page, printed_names, address)
        body.append(f'<section id="{anchor(page.name)}" class="rr-sheet">{text}</section>')
    links = "".join(f'<link rel="stylesheet" href="{sheet}">' for sheet in sheets)
    return (
        '<!DOCTYPE html><html lang="en" data-theme="light"><head><meta charset="utf-8">'
        f"<title>{TITLE}</title>{links}{''.join(styles)}<style>{STYLE.read_text(encoding='utf-8')}</style></head>"
        f'<body><article class="bd-article">{"".join(body)}</article></body></html>'
    )


def cover() -> str:
    """The title page."""
    when = time.strftime("%d %B %Y", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))
    return (
        f'<section class="rr-cover"><p class="rr-cover-title">{TITLE}</p>'
        "<p>Works on machine reasoning, rebuilt, trained and measured</p>"
        f'<p class="rr-cover-when">Printed on {when.lstrip("0")}</p></section>'
    )


def contents(printed: Sequence[Page]) -> str:
    """The contents: parts and their pages, each with a link."""
    titles = {page.topic: page.title for page in pages() if page.short.endswith("/index")}

    def lines() -> Iterator[str]:
        topic = ""
        for page in printed:
            if page.topic != topic:
                topic = page.topic
                if not page.short.endswith("/index"):
                    yield f'<p class="rr-contents-part">{html.escape(titles.get(topic, topic))}</p>'
            number = f"{page.number}. " if page.number else ""
            kind = ' class="rr-contents-part"' if page.short.endswith("/index") else ""
            yield f'<p{kind}><a href="#{anchor(page.name)}">{number}{html.escape(page.title)}</a></p>'

    return f'<nav class="rr-contents"><p class="rr-cover-title">Contents</p>{"".join(lines())}</nav>'


# Printing ---------------------------------------------------------------------------------------------------


def too_wide(sheet: Any) -> list[str]:
    """Name the printed parts that are wider than a sheet: for these Chromium makes the whole book smaller."""
    sheet.emulate_media(media="print")
    sheet.set_viewport_size({"width": SHEET, "height": 900})
    return sheet.evaluate(
        "() => [...document.querySelectorAll('.rr-sheet')]"
        ".filter(part => part.scrollWidth > part.clientWidth).map(part => part.id)"
    )


def print_to(page: Path, out: Path) -> int:
    """Print a page to a file; return how many sheets it takes."""
    with chromium() as browser:
        context = browser.new_context(java_script_enabled=False, color_scheme="light")
        sheet = context.new_page()
        sheet.set_default_timeout(600_000)
        sheet.goto(page.as_uri())
        if wide := too_wide(sheet):
            print(f"wider than a sheet, so that all letters are smaller: {', '.join(wide)}", file=sys.stderr)
        out.parent.mkdir(parents=True, exist_ok=True)
        data = sheet.pdf(
            path=out, prefer_css_page_size=True, print_background=True, outline=True, tagged=True
        )
    return len(re.findall(rb"/Type\s*/Page\b", data))


def main() -> int:
    """Make the PDF."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--site", type=Path, default=BUILD / "html")
    parser.add_argument("--out", type=Path, help="by default book.pdf in the site")
    parser.add_argument("--only", nargs="+", default=[], metavar="PAGE", help="such as optimisation/losses")
    given = parser.parse_args()
    site = given.site.resolve()
    out = (given.out or site / "book.pdf").resolve()
    start = time.monotonic()
    ready = site / "paper.html"
    try:
        printed = printed_pages(site, given.only)
        ready.write_text(bound(site, printed, Address.read().site), encoding="utf-8")
        sheets = print_to(ready, out)
    except (CannotPrint, NoChromium) as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        ready.unlink(missing_ok=True)
    size = out.stat().st_size / 1e6
    shown = out.relative_to(ROOT) if out.is_relative_to(ROOT) else out
    print(f"{shown}: {len(printed)} parts on {sheets} pages, {size:.1f} MB, {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
