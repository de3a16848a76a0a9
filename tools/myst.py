"""MyST Markdown put into words that any notebook shows: Jupyter, Colab, an editor, GitHub.

Boxes become quotes with a bold title, exercises get their number, equations keep theirs, citations and
cross-references become text with links to the site, and solutions are left out. What is not known here is an
error that names the page, so that nothing raw slips into a notebook.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

import questions
from directives import CODE, FENCE, TARGET, Block, UnknownMarkup, directive, dollars
from labels import DROPPED, LITERAL, Book, Label, Numbers

from reasonlib.display import excerpts
from reasonlib.errors import UserError

INLINE = re.compile(
    r"(?P<comment><!--.*?-->)"
    r"|\{(?P<role>[A-Za-z][\w:+.-]*)\}(?P<tick>`+)(?P<body>.+?)(?P=tick)(?!`)"
    r"|(?P<code>(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))"
    r"|(?P<math>(?<![\\$])\$(?!\s)[^$\n]+?(?<!\s)\$(?!\d))"
    r"|(?P<bang>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<url>[^()\s]*(?:\([^()]*\))?)\)"
    r"|\[\^(?P<foot>[\w-]+)\](?P<colon>:?)",
    re.DOTALL,
)


BOXES = {
    "note": "Note", "tip": "Tip", "hint": "Hint", "important": "Important", "warning": "Warning",
    "caution": "Caution", "attention": "Attention", "danger": "Danger", "error": "Error",
    "seealso": "See also",
}  # fmt: skip
TITLED = {"admonition", "dropdown", "margin", "sidebar", "topic", "card", "grid-item-card", "tab-item"}
CONTAINERS = {"grid", "tab-set", "grid-item", "container", "div", "card-carousel"}
MATH_ENVIRONMENTS = re.compile(r"\\(begin|end)\{(equation|align|gather|multline|aligned)\*?\}")


class Converter:
    """Turns the Markdown of one page, cell after cell, into notebook Markdown."""

    def __init__(self, page: str, book: Book, chapter: int | None = None):
        self.page, self.book = page, book
        self.numbers = Numbers(chapter)

    # -------------------------------------------------------- blocks

    def cell(self, source: str) -> str:
        """One Markdown cell; empty if nothing is left of it."""
        text = "\n".join(self.blocks(source.splitlines()))
        return re.sub(r"\n{3,}", "\n\n", text).strip()

    def blocks(self, lines: Sequence[str]) -> list[str]:
        """Lines of MyST to lines of Markdown."""
        out: list[str] = []
        prose: list[str] = []

        def flush() -> None:
            if prose:
                out.extend(self.prose("\n".join(prose)).splitlines())
                prose.clear()

        index = 0
        while index < len(lines):
            line = lines[index]
            if FENCE.match(line):
                flush()
                block, index = directive(lines, index)
                out += ["", *self.directive(block), ""]
            elif code := CODE.match(line):
                flush()
                end = index + 1
                while end < len(lines) and not re.match(rf"^{re.escape(code['mark'])}\s*$", lines[end]):
                    end += 1
                out += lines[index : end + 1]
                index = end + 1
            elif line.startswith("$$"):
                flush()
                index, formula, label = dollars(lines, index)
                out += ["", *self.equation(formula, label), ""]
            elif TARGET.match(line) or line.startswith(("% ", "+++")) or line == "%":
                flush()
                index += 1
            elif line.startswith(": ") and prose and prose[-1].strip():
                term = prose.pop()
                flush()
                definition = [line[2:]]
                index += 1
                while index < len(lines) and lines[index].startswith("  "):
                    definition.append(lines[index].strip())
                    index += 1
                out += [self.prose(f"**{term.strip()}**: " + " ".join(definition)), ""]
            else:
                prose.append(line)
                index += 1
        flush()
        return out

    def directive(self, block: Block) -> list[str]:
        """A directive as Markdown."""
        name = block.name
        if name in DROPPED or name in ("solution-start", "solution-end"):
            return []
        if name in BOXES:
            rest = [block.argument, *block.body] if block.argument else block.body
            return self.quote(BOXES[name], rest)
        if name in TITLED:
            return self.quote(block.argument, block.body)
        if name in CONTAINERS:
            return self.blocks(block.body)
        if name in ("exercise", "exercise-start"):
            number = "" if "nonumber" in block.options else f" {self.numbers.next('exercise')}"
            title = f"Exercise{number}" + (f": {self.prose(block.argument)}" if block.argument else "")
            if name == "exercise":
                return self.quote(title, block.body)
            return ["---", "", f"**{title}**", "", *self.blocks(block.body)]
        if name == "exercise-end":
            return ["---"]
        if name == "math":
            formula = "\n".join([block.argument, *block.body]).strip()
            return self.equation(formula, block.options.get("label"))
        if name in ("figure", "image"):
            return self.figure(block)
        if name in LITERAL - {"literalinclude"}:
            language = "" if name == "parsed-literal" else block.argument
            return [f"```{language}", *block.body, "```"]
        if name == "table":
            number = self.numbers.next("table")
            return [f"**Table {number}.** {self.prose(block.argument)}", "", *self.blocks(block.body)]
        if name == "list-table":
            return self.list_table(block)
        if name == "excerpt":
            return self.excerpt(block)
        if name == "question":
            return self.question(block)
        raise UnknownMarkup(f"the directive {{{block.name}}}")

    def excerpt(self, block: Block) -> list[str]:
        """Marked lines of the library, under a link to the whole file."""
        file, _, names = block.argument.partition(" ")
        try:
            cuts = [excerpts.find(file, name.strip()) for name in names.split(",")]
        except UserError as error:
            raise UnknownMarkup(str(error)) from None
        code = "\n\n\n".join(cut.code for cut in cuts).splitlines()
        address = self.book.files + str(cuts[0].file)
        return [f"[`{cuts[0].file}`]({address})", "", "```python", *code, "```"]

    def question(self, block: Block) -> list[str]:
        """A question with its answers folded away."""
        try:
            question = questions.read(block.argument, block.body)
        except questions.BadQuestion as error:
            raise UnknownMarkup(str(error)) from None
        return self.blocks(questions.as_markdown(question))

    def quote(self, title: str, body: Sequence[str]) -> list[str]:
        """A box: a quote with a bold title."""
        inside = "\n".join(self.blocks(list(body))).strip()
        head = [f"**{self.prose(title)}**", ""] if title else []
        return [f"> {line}".rstrip() for line in [*head, *re.sub(r"\n{3,}", "\n\n", inside).splitlines()]]

    def equation(self, formula: str, label: str | None) -> list[str]:
        """A display equation; a labelled one keeps its number."""
        if label:
            formula = f"{formula} \\tag{{{self.numbers.next('equation')}}}"
        if MATH_ENVIRONMENTS.search(formula) or "\\\\" not in formula:
            return ["$$", *formula.splitlines(), "$$"]
        head, tag, number = formula.rpartition(" \\tag{")
        lines = (head if tag else formula).splitlines()
        return [
            "$$",
            "\\begin{aligned}",
            *lines,
            "\\end{aligned}",
            *([tag.strip() + number] if tag else []),
            "$$",
        ]

    def figure(self, block: Block) -> list[str]:
        """A picture with its alternative text, and its caption below."""
        out = [f"![{block.options.get('alt', '')}]({self.picture(block.argument)})"]
        if block.name == "figure":
            number = self.numbers.next("figure")
            caption = self.prose("\n".join(block.body).strip())
            out += ["", f"*Figure {number}.* {caption}"]
        return out

    def caption(self, kind: str, caption: str) -> str:
        """The number, and the caption if the cell has one, of what a code cell shows."""
        number = f"{kind.capitalize()} {self.numbers.next(kind)}"
        return f"*{number}.* {self.prose(caption.strip())}" if caption.strip() else f"*{number}, above.*"

    def list_table(self, block: Block) -> list[str]:
        """A list-table as a pipe table; the first row is the head."""
        rows: list[list[list[str]]] = []
        for line in block.body:
            if row := re.match(r"^\s*[*-] - ?(.*)$", line):
                rows.append([[row[1]]])
            elif rows and (cell := re.match(r"^\s+- ?(.*)$", line)):
                rows[-1].append([cell[1]])
            elif rows and line.strip():
                rows[-1][-1].append(line.strip())
        flat = [[self.prose(" ".join(cell)).replace("|", "\\|") for cell in row] for row in rows]
        head = (
            [f"**Table {self.numbers.next('table')}.** {self.prose(block.argument)}", ""]
            if block.argument
            else []
        )
        if not flat:
            return head
        return [
            *head,
            "| " + " | ".join(flat[0]) + " |",
            "|" + " --- |" * len(flat[0]),
            *("| " + " | ".join(row) + " |" for row in flat[1:]),
        ]

    # -------------------------------------------------------- text

    def prose(self, text: str) -> str:
        """Roles, links, pictures and footnotes of a stretch of text."""
        return INLINE.sub(self.inline, text)

    def inline(self, match: re.Match[str]) -> str:
        """One inline element."""
        if match["comment"]:
            return ""
        if match["role"]:
            return self.role(match["role"], match["body"].strip())
        if match["code"] or match["math"]:
            return match[0]
        if match["foot"]:
            return f"<sup>{match['foot']}</sup>"
        text, url = self.prose(match["text"]), match["url"]
        if match["bang"]:
            return f"![{text}]({self.picture(url)})"
        return self.link(text, url)

    def role(self, name: str, body: str) -> str:
        """A role in words."""
        split = re.match(r"^(?P<text>.*?)\s*<(?P<target>[^<>]+)>$", body, re.DOTALL)
        text, target = (split["text"], split["target"]) if split else ("", body)
        family = name.split(":")[0]
        handlers: dict[str, Callable[[], str]] = {
            "cite": lambda: self.cite(name, body),
            "eq": lambda: self.equation_number(target),
            "ref": lambda: self.link(text, target),
            "numref": lambda: self.numbered(text, target),
            "doc": lambda: self.link(text, target + ".md"),
            "term": lambda: f"[{text or body}]({self.book.site}book/glossary.html)",
            "math": lambda: f"${body}$",
            "abbr": lambda: f"{text} ({target})" if split else body,
            "sub": lambda: f"<sub>{body}</sub>",
            "sup": lambda: f"<sup>{body}</sup>",
            "kbd": lambda: f"<kbd>{body}</kbd>",
            "download": lambda: f"[{text or target}]({self.picture(target)})",
            "glue": lambda: f"`{body.split(':')[0]}`",
        }
        if family in (
            "func",
            "class",
            "mod",
            "meth",
            "attr",
            "data",
            "exc",
            "obj",
            "py",
            "file",
            "code",
            "command",
        ):
            return f"`{text or (body.rsplit('.')[-1] if body.startswith('~') else body)}`"
        if family not in handlers:
            raise UnknownMarkup(f"the role {{{name}}}")
        return handlers[family]()

    def cite(self, name: str, body: str) -> str:
        """(Weston et al., 2015) or Weston et al. (2015), each linked to the work."""
        textual = name in ("cite:t", "cite:ts", "cite:alp")
        parts = []
        for key in (each.strip() for each in body.split(",")):
            if key not in self.book.citations:
                raise UnknownMarkup(f"the citation {key}: it is not in book/references.bib")
            authors, year, url = self.book.citations[key]
            url = url or f"{self.book.site}book/bibliography.html"
            parts.append(f"[{authors} ({year})]({url})" if textual else f"[{authors}, {year}]({url})")
        return ", ".join(parts) if textual else f"({'; '.join(parts)})"

    def label_of(self, label: str) -> Label:
        """What a label stands for."""
        if label not in self.book.labels:
            raise UnknownMarkup(f"the reference {label}: no page has that label")
        return self.book.labels[label]

    def equation_number(self, label: str) -> str:
        """(2): linked where it stands on another page."""
        target = self.label_of(label)
        shown = f"({target.number})"
        return shown if target.page == self.page else f"[{shown}]({self.book.link(label)})"

    def numbered(self, text: str, label: str) -> str:
        """Figure 2, Exercise 3: linked where it stands on another page."""
        target = self.label_of(label)
        shown = f"{target.kind.capitalize()} {target.number}" if target.number else target.title
        if text:
            shown = text.replace("%s", str(target.number)).replace("{number}", str(target.number))
            shown = shown.replace("{name}", target.title)
        return shown if target.page == self.page else f"[{shown}]({self.book.link(label)})"

    def link(self, text: str, url: str) -> str:
        """A Markdown link or a reference; within the book it leads to the site."""
        if re.match(r"^(https?:|mailto:)", url):
            return f"[{text or url}]({url})"
        label = url.removeprefix("#")
        if label in self.book.labels:
            target = self.book.labels[label]
            if target.number is not None and not text:
                return self.numbered("", label)
            shown = text or self.prose(target.title)
            return (
                shown
                if target.page == self.page and target.kind != "page"
                else f"[{shown}]({self.book.link(label)})"
            )
        path, _, anchor = url.partition("#")
        if not path:
            return text  # a heading of this page by its own slug
        name = self.beside(path.removesuffix(".md"))
        if name in self.book.labels:
            shown = text or self.prose(self.book.labels[name].title)
            return f"[{shown}]({self.book.site}{name}.html{'#' + anchor if anchor else ''})"
        if path.endswith(".md") or ("/" not in path and "." not in path):
            raise UnknownMarkup(f"the link {url}: no page or label of that name")
        return f"[{text}]({self.picture(path)})"

    def beside(self, path: str) -> str:
        """A path written on this page, as a path below the repository."""
        if path.startswith("/"):
            return path.lstrip("/")
        parts: list[str] = []
        for part in (PurePosixPath(self.page).parent / path).parts:
            if part == "..":
                parts.pop()
            elif part != ".":
                parts.append(part)
        return "/".join(parts)

    def picture(self, path: str) -> str:
        """The public address of a file of the repository."""
        return path if re.match(r"^https?:", path) else self.book.raw + self.beside(path)


def indent(text: str) -> str:
    """Four spaces before every line, for messages."""
    return textwrap.indent(text, "    ")
