"""The first page's three questions, one from each simulator: the reader answers before any machine does."""

from __future__ import annotations

from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective


class Questions(SphinxDirective):
    """A puzzle, a story and a dialogue as the simulators make them, each with its answer folded away."""

    def run(self):
        """Draw the three; again when a simulator or a drawing changes."""
        root = Path(self.config.reasonlib_repository)
        for topic in ("visual_iq", "story_qa", "goal_dialogue"):
            for path in (root / "reasonlib" / topic).rglob("*.py"):
                self.env.note_dependency(str(path))
        cards = "".join((puzzle(), story(), dialogue()))
        return [nodes.raw("", f'<div class="rr-door mathjax_ignore">{cards}</div>', format="html")]


def card(kind: str, question: str, body: str, answer: str, chapter: str, title: str) -> str:
    """One question; the answer opens without a script."""
    return (
        f'<section class="rr-door-{kind}" aria-label="{escape(question)}">'
        f"<p><strong>{escape(question)}</strong></p>{body}"
        f"<details><summary>Answer</summary>{answer}</details>"
        f'<p><a href="{chapter}.html">{escape(title)}</a></p></section>'
    )


def puzzle() -> str:
    """A matrix of shapes with one missing, and eight candidates."""
    from reasonlib.visual_iq.data.simulator import simulate
    from reasonlib.visual_iq.page import figures
    from reasonlib.visual_iq.page.svg import rules_in_words

    problem = simulate("2x2Grid", 40, seed=4, answers="i-raven")[18:19]
    rules = "".join(f"<li>{escape(rule)}</li>" for rule in rules_in_words(problem))
    answer = f"<p>Number {int(problem.target[0]) + 1}. In every row:</p><ul>{rules}</ul>"
    drawn = figures.puzzle(problem)._repr_html_()
    return card(
        "puzzle",
        "Which picture is missing?",
        drawn,
        answer,
        "visual_iq/puzzles",
        "A network that solves these",
    )


def story() -> str:
    """A story whose answer takes two of its sentences."""
    from reasonlib.story_qa.data.simulator import simulate

    (example,) = simulate(2, 1, seed=3)
    lines = "".join(f"<li>{escape(line)}</li>" for line in example.story)
    needed = " and ".join(str(number + 1) for number in sorted(example.support))
    answer = f"<p>In the {escape(', '.join(example.answer))}: sentences {needed} say so.</p>"
    return card(
        "story", example.question, f"<ol>{lines}</ol>", answer, "story_qa/memory", "A network that looks back"
    )


def dialogue() -> str:
    """A request for a table, full of names that no training dialogue holds."""
    from reasonlib.goal_dialogue.data.example import SILENCE
    from reasonlib.goal_dialogue.data.simulator import simulate

    (asked,) = simulate(1, 1, split="oov", seed=15)
    learnt = {word for one in simulate(1, 500) for turn in one.turns for word in turn.user.split()}
    said = []
    for turn in asked.turns:
        said += [("You", turn.user)] if turn.user != SILENCE else []
        said.append(("System", turn.bot))
    *before, (_, last) = said
    lines = "".join(f"<li><b>{who}:</b> {escape(text)}</li>" for who, text in before)
    unheard = [word for word in last.split()[1:] if word not in learnt]
    answer = (
        f"<p><code>{escape(last)}</code>. Easy for you. A network that learnt from other towns and "
        f"kitchens has never met <em>{escape(' or '.join(unheard))}</em>: which networks still get this "
        "right is measured in these chapters.</p>"
    )
    return card(
        "talk",
        "What must the system look up now?",
        f"<ul>{lines}</ul>",
        answer,
        "goal_dialogue/dialogue",
        "Networks that book a table",
    )


def setup(app):
    """Register the directive."""
    app.add_directive("three-questions", Questions)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
