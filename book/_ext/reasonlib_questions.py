"""Questions that the page checks by itself; their form is described in tools/questions.py.

A question is a form with a group of fields, so that it can be answered with the keyboard and read aloud. What
the script says of an answer appears in a live region; it is taken from the folded answers below, which
are all there is where scripts are off. Pages without a question load no script.
"""

from __future__ import annotations

from docutils import nodes
from questions import BadQuestion, Question, read
from sphinx.util.docutils import SphinxDirective

SCRIPT = "../rr/questions.js"  # below _static, as Sphinx counts


class Tag(nodes.General, nodes.Inline, nodes.TextElement):
    """An element of HTML with its attributes, around parsed text."""


def tag(element: str, /, *children: nodes.Node, **attributes: str) -> Tag:
    """Make an element; ``class_`` is its class, an underscore in a name is a hyphen."""
    given = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
    return Tag("", "", *children, tag=element, given=given)


def visit_tag(self, node: Tag) -> None:
    """Open the element."""
    given = "".join(f' {key}="{self.attval(value)}"' for key, value in node["given"].items())
    self.body.append(f"<{node['tag']}{given}>")


def depart_tag(self, node: Tag) -> None:
    """Close it, where it has an end."""
    if node["tag"] != "input":
        self.body.append(f"</{node['tag']}>")


class AskQuestion(SphinxDirective):
    """One question."""

    required_arguments = 0
    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = {"label": str}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        """Read it and lay it out."""
        text = self.arguments[0] if self.arguments else ""
        try:
            question = read(text, list(self.content), self.options.get("label", ""))
        except BadQuestion as error:
            raise self.error(str(error)) from None
        name = question.label or f"question-{self.env.new_serialno('rr-question') + 1}"
        self.env.metadata[self.env.docname]["rr-questions"] = "yes"
        fields = tag("fieldset", tag("legend", *self.words(question.text)), class_="rr-fields")
        if question.more:
            fields += tag("div", *self.parse_text_to_nodes("\n".join(question.more)), class_="rr-more-text")
        fields += self.answers(question, name)
        fields += tag("p", class_="rr-said", role="status", aria_live="polite")
        fields += self.folded(question)
        given = {"class_": "rr-question", "data_kind": question.kind, "id": name, "novalidate": ""}
        if question.kind == "number":
            given["data_tolerance"] = str(question.tolerance)
        return [tag("form", fields, **given)]

    def words(self, text: str) -> list[nodes.Node]:
        """Parse one line of Markdown."""
        parsed, _ = self.parse_inline(text)
        return parsed

    def answers(self, question: Question, name: str) -> list[nodes.Node]:
        """What the reader chooses, types or moves."""
        if question.kind in ("choose", "several"):
            kind = "radio" if question.kind == "choose" else "checkbox"
            rows = []
            for index, option in enumerate(question.options):
                box = tag("input", type=kind, name=name, value=str(index))
                words = tag("span", *self.words(option.text))
                rows.append(tag("div", tag("label", box, words), class_="rr-option"))
            check = [] if kind == "radio" else [button("Check")]
            return [tag("div", *rows, class_="rr-options"), *check]
        if question.kind == "number":
            box = tag(
                "input", type="text", inputmode="decimal", name=name, size="9", autocomplete="off",
                aria_label="Your number" + (f", {question.unit}" if question.unit else ""),
            )  # fmt: skip
            unit = [tag("span", *self.words(question.unit))] if question.unit else []
            return [tag("div", box, *unit, button("Check"), class_="rr-typed")]
        steps = [
            tag("li", tag("span", *self.words(question.options[index].text)), data_step=str(index))
            for index in question.shuffled
        ]
        return [tag("ol", *steps, class_="rr-steps"), button("Check")]

    def folded(self, question: Question) -> nodes.Node:
        """Every option with what is said of it."""
        lines = []
        for index, option in enumerate(question.options):
            words = self.words(option.text)
            if question.kind == "order":
                lines.append(tag("li", *words))
                continue
            stop = " " if option.text.endswith((".", "?", "!")) else ". "
            mark = tag("strong", nodes.Text("✓ " if option.right else "✗ "), *words, nodes.Text(stop))
            feedback = tag("span", *self.words(option.feedback), class_="rr-feedback")
            given = {"data_option": str(index)} | ({"data_right": ""} if option.right else {})
            if question.kind == "number":
                given["data_number"] = option.text
            lines.append(tag("li", mark, feedback, **given))
        kind = "ol" if question.kind == "order" else "ul"
        whole = [tag("p", *self.words(question.feedback), class_="rr-feedback")] if question.feedback else []
        return tag("details", tag("summary", nodes.Text("Answer")), tag(kind, *lines), *whole)


def button(text: str) -> Tag:
    """A button that only a script can make use of."""
    return tag("button", nodes.Text(text), type="submit", hidden="")


def add_script(app, pagename, templatename, context, doctree):
    """Load the script on pages that ask something."""
    if app.env.metadata.get(pagename, {}).get("rr-questions"):
        app.add_js_file(SCRIPT, loading_method="defer")


def setup(app):
    """Register the directive."""
    app.add_node(Tag, html=(visit_tag, depart_tag), text=(lambda *_: None, lambda *_: None))
    app.add_directive("question", AskQuestion)
    app.connect("html-page-context", add_script)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
