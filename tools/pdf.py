"""Print the book: one PDF of all chapters, made by Chromium from the same sources as the site.

    python tools/pdf.py [--scale quick] [--out _build/book.pdf] [--only CHAPTER ...]

Sphinx writes the book as one page (its `singlehtml` builder); Chromium prints it with scripts off, so that a
live figure is its static picture, with a link to the page where it answers. What is folded away on the site
is open on paper. The scoreboard, the status page and the reference stay on the site.
"""

from __future__ import annotations

import argparse
import html
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from address import Address
from chapters import BUILD, ROOT, SCALES, Page, chapters, pages, write_if_changed

from book import BuildError, run_chapters, say, stage

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
LEFT_OUT = ("api/", "scoreboard", "status")  # below book/
STYLE = ROOT / "book" / "_ext" / "print.css"


def contents_on_paper(toc: str, only: Sequence[str]) -> str:
    """The table of contents without what stays on the site, or with these chapters alone."""
    import yaml

    book = yaml.safe_load(toc)
    for part in book["parts"]:
        part["chapters"] = [
            {key: entry[key] for key in ("file", "title") if key in entry}
            for entry in part["chapters"]
            if wanted(entry["file"].removeprefix("book/"), only)
        ]
    book["parts"] = [part for part in book["parts"] if part["chapters"]]
    return yaml.safe_dump(book, sort_keys=False)


def wanted(name: str, only: Sequence[str]) -> bool:
    """Whether a page is printed."""
    if name.startswith(LEFT_OUT):
        return False
    return not only or name in only or name in ("glossary", "bibliography")


def one_page(scale: str, only: Sequence[str]) -> Path:
    """Write the book as one HTML page.

    Raises
    ------
    BuildError
        If Sphinx fails.
    """
    work = BUILD / "pdf.work"
    picked = [page for page in chapters() if not only or page.short in only]
    stage(run_chapters(scale, picked), work / "source")
    toc = work / "source" / "_toc.yml"
    write_if_changed(toc, contents_on_paper((ROOT / "_toc.yml").read_text(encoding="utf-8"), only))
    out = work / "html"
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, str(ROOT / "tools" / "book.py"), "_sphinx", str(work), str(out), scale]
    done = subprocess.run([*command, "--lenient", "--builder", "singlehtml"], capture_output=True, text=True)
    (work / "sphinx.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    if done.returncode:
        raise BuildError(f"Sphinx could not write the book as one page: {work / 'sphinx.log'}")
    return next(path for path in (out / "book" / "intro.html", out / "index.html") if path.is_file())


def for_paper(text: str, site: str) -> str:
    """A page as it is printed: no scripts, nothing folded, live figures with a link to where they answer."""
    text = re.sub(r"<script\b(?![^>]*application/json).*?</script>", "", text, flags=re.S)
    text = re.sub(r"<script type=\"application/json\">.*?</script>", "", text, flags=re.S)
    text = re.sub(r"<details\b(?![^>]*\bopen\b)", "<details open", text)
    link = f'<p class="rr-on-paper">This figure answers at <a href="{site}">{html.escape(site)}</a>.</p>'
    text = re.sub(r"<noscript><p>Scripts are off.*?</noscript>", lambda match: link, text, flags=re.S)
    sheet = f"<style>{STYLE.read_text(encoding='utf-8')}</style>"
    text = text.replace("</head>", f"{sheet}</head>", 1)
    return re.sub(r"(<article\b[^>]*>)", lambda match: match[1] + cover(), text, count=1)


def cover() -> str:
    """The title page, and the contents with a link to every part and chapter."""
    lines = []
    topic = None
    for page in chapters():
        if page.topic != topic:
            topic = page.topic
            lines.append(f"</ol><p>{html.escape(title_of(topic))}</p><ol>")
        lines.append(
            f'<li value="{page.number}"><a href="#document-{page.name}">{html.escape(page.title)}</a></li>'
        )
    listed = "".join(lines).removeprefix("</ol>")
    return (
        '<section class="rr-cover"><p class="rr-cover-title">Reasoning, Reproduced</p>'
        "<p>Works on machine reasoning, rebuilt, trained and measured</p>"
        f'<p class="rr-cover-when">Printed on {time.strftime("%d %B %Y")}</p></section>'
        f'<section class="rr-contents"><p class="rr-cover-title">Contents</p>{listed}</ol></section>'
    )


def title_of(topic: str) -> str:
    """The title of a part, from its part page."""
    part = next((page for page in pages() if page.short == f"{topic}/index"), None)
    return (part or Page(f"book/{topic}/index")).title


def printed(page: Path, out: Path) -> int:
    """Print a page to a file; return how many sheets it takes.

    Raises
    ------
    BuildError
        If this machine has no Chromium.
    """
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise BuildError(f"no Chromium on this machine to print with (looked for {', '.join(BROWSERS)})")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        context = opened.new_context(java_script_enabled=False, color_scheme="light")
        sheet = context.new_page()
        sheet.set_default_timeout(600_000)
        sheet.goto(page.as_uri())
        out.parent.mkdir(parents=True, exist_ok=True)
        data = sheet.pdf(
            path=out, prefer_css_page_size=True, print_background=True, outline=True, tagged=True
        )
        opened.close()
    return len(re.findall(rb"/Type\s*/Page\b", data))


def main() -> int:
    """Make the PDF."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", choices=SCALES, default="quick")
    parser.add_argument("--out", type=Path, default=BUILD / "book.pdf")
    parser.add_argument("--only", nargs="+", default=[], metavar="CHAPTER")
    given = parser.parse_args()
    start = time.monotonic()
    try:
        page = one_page(given.scale, given.only)
        ready = page.with_name("paper.html")
        ready.write_text(for_paper(page.read_text(encoding="utf-8"), Address.read().site), encoding="utf-8")
        sheets = printed(ready, given.out)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    size = given.out.stat().st_size / 1e6
    say(f"{given.out}: {sheets} pages, {size:.1f} MB, {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
