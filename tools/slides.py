"""Slides for a lecture, made from the figures, equations and questions of the chapters.

    python tools/slides.py [NAME ...] [--scale quick] [--as-is] [--to _build/slides]

One HTML file for each chapter, from the outputs that `make book` keeps (a chapter that has none runs first).
It needs no network and no server. Arrow keys, space or a swipe turn slides, N shows the notes, which are the
chapter's text, and printing gives one slide a page. A live figure stays live.
"""

from __future__ import annotations

import argparse
import html
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import questions
from captions import OWN, labelled
from chapters import BUILD, ROOT, SCALES, Page, chapters, write_if_changed
from conversion import convert, read_book
from directives import FENCE, directive
from execution import BuildError, Run, page_output, run_chapters
from myst import Converter

LAST = "Exercises"  # the section after which a deck ends
KATEX = ROOT / "book" / "_offline" / "vendor" / "katex"
MATH = re.compile(r"^\$\$(.+?)\$\$\s*$", re.S | re.M)
SENTENCE = re.compile(r"^(.+?[.!?:])(?:\s|$)", re.S)
CELL = re.compile(r"\b(?:next|last|this|following) cell\b", re.I)  # a slide shows no cells


@dataclass
class Slide:
    """One slide: a title, what is shown, and notes in Markdown."""

    title: str
    body: str
    notes: list[str] = field(default_factory=list)
    kind: str = "figure"


def markdown(text: str) -> str:
    """Turn Markdown with formulas into HTML."""
    sys.path.insert(0, str(ROOT / "book" / "_ext"))
    from markdown_it import MarkdownIt
    from mdit_py_plugins.dollarmath import dollarmath_plugin
    from reasonlib_math import typeset

    def formula(content: str, options: dict[str, Any]) -> str:
        try:
            return typeset(content.strip(), bool(options["display_mode"]))
        except ValueError:
            return f"<code>{html.escape(content)}</code>"

    reader = MarkdownIt("commonmark").enable("table")
    return str(reader.use(dollarmath_plugin, renderer=formula, allow_digits=False).render(text))


def figure(metadata: Any, outputs: Sequence[Any], converter: Converter) -> str:
    """Return the figure that a cell showed, with its number and caption; empty if it showed none."""
    named = labelled(metadata)
    if named is None:
        return ""
    shown = [page_output(output) for output in outputs]
    figures = [
        output["data"]["text/html"]
        for output in shown
        if output is not None and "text/html" in output.get("data", {})
    ]
    caption = metadata.get("caption")
    if figures and caption is None and (own := OWN.search(figures[-1])):
        caption = re.sub(r"<[^>]+>", "", own["text"])
    line = converter.caption(named[0], str(caption or ""))
    if not figures:
        return ""
    return f'{OWN.sub("", figures[-1])}<div class="caption">{markdown(line)}</div>'


def take_polls(text: str) -> tuple[list[Slide], str]:
    """Take the questions out of a cell's source: a slide for each, and the text that is left."""
    polls, rest, lines, index = [], [], text.splitlines(), 0
    while index < len(lines):
        fence = FENCE.match(lines[index])
        if fence is None:
            rest.append(lines[index])
            index += 1
            continue
        block, end = directive(lines, index)
        if block.name == "question":
            polls.append(poll(questions.read(block.argument, block.body)))
        else:
            rest += lines[index:end]
        index = end
    return polls, "\n".join(rest)


def poll(question: questions.Question) -> Slide:
    """Show a question, its options, and below them, folded, the answer."""
    shown = question.options if question.kind in ("choose", "several") else []
    if question.kind == "order":
        shown = [
            question.options[index] for index in questions.shuffled(len(question.options), question.text)
        ]
    options = "".join(f"<li>{markdown(option.text)}</li>" for option in shown)
    why = [option.feedback for option in question.options if option.right] if question.kind != "order" else []
    answer = "\n\n".join(filter(None, (question.answer, *why, question.feedback)))
    body = markdown("\n".join((question.text, "", *question.more))) + (
        f"<ul>{options}</ul>" if options else ""
    )
    body += f"<details><summary>Answer</summary>{markdown(answer)}</details>"
    return Slide("Question", body, kind="question")


def first_sentences(text: str, most: int = 4) -> str:
    """Return the first sentence of each paragraph as a list; the list of a summary stays whole."""
    if items := re.findall(r"^[-*] (.+(?:\n  .+)*)", text, re.M):
        return "\n".join(f"- {item}" for item in items)
    plain = [part for part in re.split(r"\n\s*\n", text) if re.match(r"[\w*`$\"]", part.strip())]
    sentences = [
        match[1] for part in plain if (match := SENTENCE.match(part.strip())) and not CELL.search(match[1])
    ]
    return "\n".join(f"- {' '.join(sentence.split())}" for sentence in sentences[:most])


def deck(page: Page, run: Run, book: Any) -> list[Slide]:
    """Make the slides of a chapter."""
    import nbformat

    converter = Converter(page.name, book, page.number)
    source = run.read()
    outputs = {id(cell): ran for cell, ran in run.pairs(source, nbformat.read(run.notebook, as_version=4))}
    about = "\n\n".join(filter(None, (page.objective, page.needs and f"You need: {page.needs}")))
    slides: list[Slide] = []
    title, waiting, shown = "", [], 0

    def finish() -> None:
        if waiting and not shown and (lines := first_sentences("\n\n".join(waiting))):
            slides.append(Slide(title, markdown(lines), waiting.copy(), "words"))
        waiting.clear()

    for cell in source.cells:
        if cell.cell_type == "code":
            ran = outputs.get(id(cell))
            if ran is not None and (body := figure(cell.metadata, ran.outputs, converter)):
                slides.append(Slide(title, body, waiting.copy()))
                waiting.clear()
                shown += 1
            continue
        for piece in re.split(r"(?m)^(?=(?:\(.+\)=\n)?## )", cell.source):
            polls, text = take_polls(piece)
            part = convert(converter, text, page)
            heading = re.match(r"(#{1,2}) (.+)\n?", part)
            if heading and heading[1] == "#":
                slides.append(Slide(heading[2], markdown(convert(converter, about, page)), kind="title"))
                title = heading[2]
            elif heading:
                finish()
                title, shown = heading[2], 0
            if title == LAST:
                break
            body = part[heading.end() :] if heading else part
            if body.strip():
                waiting.append(body.strip())
            if formulas := MATH.findall(body):
                shown_formulas = markdown("\n\n".join(f"$${formula}$$" for formula in formulas))
                slides.append(Slide(title, shown_formulas, waiting.copy(), "equation"))
                waiting.clear()
                shown += 1
            slides += polls
        if title == LAST:
            break
    finish()
    return slides


CSS = """
:root{color-scheme:light;--ink:#1c1e21;--soft:#5b6067;--line:#d9dce0}
*{box-sizing:border-box}html,body{margin:0;height:100%;background:#fff;color:var(--ink)}
body{font:clamp(1rem,1.6vw,1.6rem)/1.45 system-ui,sans-serif}
main{display:flex;height:100%;overflow-x:auto;overflow-y:hidden;scroll-snap-type:x mandatory}
section{flex:0 0 100%;height:100%;overflow:auto;scroll-snap-align:start;padding:3vh 5vw 6vh;position:relative}
h1,h2{line-height:1.2;margin:0 0 .6em}h1{font-size:2.2em}h2{font-size:1.45em}
.title{display:flex;flex-direction:column;justify-content:center}
section>.shown{max-width:60rem;margin:0 auto}
.rr-figure,.rr-live{max-width:none!important}
.rr-figure svg{max-height:66vh;width:100%!important}
.caption{font-size:.75em;color:var(--soft)}
.equation .shown{font-size:1.5em}
.words li,.question li{margin:.5em 0}.question details{margin-top:1em;border-top:1px solid var(--line)}
summary{cursor:pointer;padding:.5em 0}
table{border-collapse:collapse;font-size:.8em;display:block;overflow-x:auto}
td,th{padding:.25em .6em;border-bottom:1px solid var(--line);text-align:left}
.number{position:absolute;right:2vw;bottom:2vh;font-size:.7em;color:var(--soft)}
aside{display:none;font-size:.7em;border-top:2px solid var(--line);margin-top:1.5em;color:var(--soft)}
.notes aside{display:block}
:focus-visible{outline:3px solid #0b62a4}
@media print{@page{size:landscape;margin:1cm}main{display:block;height:auto;overflow:visible}
section{height:auto;min-height:90vh;break-after:page;overflow:visible}aside{display:none!important}}
"""
SCRIPT = """
const main = document.querySelector("main"), slides = [...main.children];
const at = () => Math.round(main.scrollLeft / main.clientWidth);
const go = (n) => { n = Math.max(0, Math.min(slides.length - 1, n));
  main.scrollTo({left: n * main.clientWidth}); history.replaceState(null, "", "#" + (n + 1)); };
addEventListener("keydown", (event) => {
  if (event.target.closest("input,textarea,select,button,summary,[role=slider],[tabindex]")) return;
  const step = {ArrowRight: 1, PageDown: 1, " ": 1, ArrowLeft: -1, PageUp: -1}[event.key];
  if (step) { event.preventDefault(); go(at() + step); }
  else if (event.key === "Home") go(0);
  else if (event.key === "End") go(slides.length - 1);
  else if (event.key === "n" || event.key === "N") document.body.classList.toggle("notes");
});
addEventListener("resize", () => go((+location.hash.slice(1) || 1) - 1));
go((+location.hash.slice(1) || 1) - 1);
"""


def as_html(page: Page, slides: Sequence[Slide]) -> str:
    """Write a deck as one page."""
    parts = []
    for number, slide in enumerate(slides, 1):
        level = "h1" if slide.kind == "title" else "h2"
        name = f"{page.number}. {slide.title}" if slide.kind == "title" and page.number else slide.title
        notes = f"<aside>{markdown(chr(10).join(f'{note}{chr(10)}' for note in slide.notes))}</aside>"
        parts.append(
            f'<section class="{slide.kind}" id="slide-{number}"><{level}>{html.escape(name)}</{level}>'
            f'<div class="shown">{slide.body}</div>{notes if slide.notes else ""}'
            f'<div class="number">{number} / {len(slides)}</div></section>'
        )
    title = html.escape(slides[0].title)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}: slides</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<link rel="stylesheet" href="../katex/katex.min.css"><style>{CSS}</style></head>'
        f"<body><main>{''.join(parts)}</main><script>{SCRIPT}</script></body></html>\n"
    )


def write(pages: Sequence[Page], scale: str, folder: Path, *, as_is: bool = False) -> dict[Page, list[Slide]]:
    """Write the decks of these chapters and their list; return the slides."""
    runs = [Run(page, scale, as_is=as_is) for page in pages]
    if not as_is or not all(run.notebook.is_file() for run in runs):
        runs = run_chapters(scale, pages)
    shutil.copytree(KATEX, folder / "katex", dirs_exist_ok=True)
    book = read_book()
    decks = {run.page: deck(run.page, run, book) for run in runs}
    for page, slides in decks.items():
        write_if_changed(folder / f"{page.short}.html", as_html(page, slides))
    items = "".join(
        f'<li><a href="{page.short}.html">{page.number}. {html.escape(slides[0].title)}</a>, '
        f"{len(slides)} slides</li>"
        for page, slides in decks.items()
    )
    write_if_changed(
        folder / "index.html",
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Slides</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1"></head>'
        f"<body><h1>Slides</h1><ul>{items}</ul></body></html>\n",
    )
    return decks


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="chapters, such as transformer/attention")
    parser.add_argument("--scale", choices=SCALES, default="quick")
    parser.add_argument("--as-is", action="store_true", help="use the outputs of an older run")
    parser.add_argument("--to", type=Path, default=BUILD / "slides")
    given = parser.parse_args()
    by_name = {page.short: page for page in chapters()}
    if unknown := [name for name in given.names if name not in by_name]:
        print(f"there is no chapter {unknown[0]!r}; there are: {', '.join(by_name)}", file=sys.stderr)
        return 2
    try:
        pages = [by_name[name] for name in given.names or by_name]
        decks = write(pages, given.scale, given.to, as_is=given.as_is)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{sum(map(len, decks.values()))} slides in {len(decks)} decks: {given.to / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
