"""The first page's three questions, one from each simulator: a reader answers, then sees a model's answer."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx.util.docutils import SphinxDirective


class Option(NamedTuple):
    """One possible answer, in HTML, and what the page says when it is chosen."""

    text: str
    right: bool
    feedback: str


class Questions(SphinxDirective):
    """A puzzle, a story and a dialogue as the simulators make them, to be answered by a click."""

    def run(self):
        """Draw the three; again when a simulator, a model or a drawing changes."""
        root = Path(self.config.reasonlib_repository)
        for topic in ("visual_iq", "story_qa", "goal_dialogue"):
            for pattern in ("**/*.py", "weights/**/*.safetensors"):
                for path in (root / "reasonlib" / topic).glob(pattern):
                    self.env.note_dependency(str(path))
        self.env.metadata[self.env.docname]["rr-questions"] = "yes"  # loads the script of questions
        cards = "".join((puzzle(), story(), dialogue()))
        return [nodes.raw("", f'<div class="rr-door mathjax_ignore">{cards}</div>', format="html")]


def card(
    kind: str,
    question: str,
    body: str,
    options: Sequence[Option],
    model: str,
    chapter: str,
    title: str,
) -> str:
    """One question as `reasonlib_questions` lays them out; without a script its answers unfold."""
    name = f"door-{kind}"
    boxes, answers = [], []
    for number, option in enumerate(options):
        boxes.append(
            f'<div class="rr-option"><label><input type="radio" name="{name}" value="{number}">'
            f"<span>{option.text}</span></label></div>"
        )
        state, mark = (" data-right", "✓") if option.right else ("", "✗")
        answers.append(
            f'<li data-option="{number}"{state}><strong>{mark} {option.text}. </strong>'
            f'<span class="rr-feedback">{option.feedback}{" " + model if option.right else ""}</span></li>'
        )
    return (
        f'<section class="rr-door-{kind}" aria-label="{escape(question)}">'
        f'<form class="rr-question" data-kind="choose" id="{name}" novalidate>'
        f'<fieldset class="rr-fields"><legend>{escape(question)}</legend>'
        f'<div class="rr-more-text">{body}</div><div class="rr-options">{"".join(boxes)}</div>'
        '<p class="rr-said" role="status" aria-live="polite"></p>'
        f"<details><summary>Answer</summary><ul>{''.join(answers)}</ul></details></fieldset></form>"
        f'<p><a href="{chapter}.html">{escape(title)}</a></p></section>'
    )


def puzzle() -> str:
    """A matrix of shapes with one missing, and eight candidates."""
    from reasonlib.visual_iq.data.simulator import simulate
    from reasonlib.visual_iq.models import solvers
    from reasonlib.visual_iq.page import figures
    from reasonlib.visual_iq.page.svg import rules_in_words

    problem = simulate("2x2Grid", 40, seed=4, answers="i-raven")[18:19]
    right = int(problem.target[0])
    rules = "; ".join(escape(rule[0].lower() + rule[1:]) for rule in rules_in_words(problem))
    model = f"Our trained network picks number {int(solvers.solve(problem, 'relational')[0]) + 1}."
    options = [
        Option(
            str(number + 1),
            number == right,
            f"In every row: {rules}."
            if number == right
            else "At least one rule is broken. Compare position, shape, size and colour, one at a time.",
        )
        for number in range(8)
    ]
    return card(
        "puzzle",
        "Which picture is missing?",
        figures.puzzle(problem)._repr_html_(),
        options,
        model,
        "visual_iq/puzzles",
        "Networks that solve such puzzles",
    )


def story() -> str:
    """A story whose answer takes two of its sentences."""
    from reasonlib.story_qa.data.simulator import simulate
    from reasonlib.story_qa.page.ask import answer

    (example,) = simulate(2, 1, seed=3)
    right = ", ".join(example.answer)
    last_words = [line.rstrip(".").split()[-1] for line in example.story if " the " in line]
    places = sorted({word for word in last_words if word != "there"} | {right})
    needed = " and ".join(str(number + 1) for number in sorted(example.support))
    model = f"Our trained network answers: {escape(answer(' '.join(example.story), example.question).text)}."
    options = [
        Option(
            escape(option_text),
            option_text == right,
            f"Sentences {needed} together say so."
            if option_text == right
            else "Who took the milk, and where did this person go next?",
        )
        for option_text in places
    ]
    lines = "".join(f"<li>{escape(line)}</li>" for line in example.story)
    return card(
        "story",
        example.question,
        f"<ol>{lines}</ol>",
        options,
        model,
        "story_qa/memory",
        "Networks that answer questions about stories",
    )


def dialogue() -> str:
    """A request for a table, full of names that no training dialogue contains."""
    from reasonlib.goal_dialogue.data.example import SILENCE
    from reasonlib.goal_dialogue.data.simulator import simulate
    from reasonlib.goal_dialogue.page import chat

    (example,) = simulate(1, 1, split="oov", seed=15)
    utterances = []
    for turn in example.turns:
        utterances += [("You", turn.user)] if turn.user != SILENCE else []
        utterances.append(("System", turn.bot))
    *before, (_, right) = utterances
    name, cuisine, city, number, price = right.split()
    wrong = (
        (f"{name} {city} {cuisine} {number} {price}", "The cuisine comes first, then the city."),
        ("where should it be", "The user has already named the city."),
    )
    talk = chat.open_conversation("copying")
    replies = [talk.say(line) for line in chat.user_lines(example)]
    model = f"Our copying network says: <code>{escape(replies[-1][-1].text)}</code>"
    options = [
        Option(
            f"<code>{escape(right)}</code>",
            True,
            f"No training dialogue contains <em>{escape(city)}</em> or <em>{escape(cuisine)}</em>, "
            "so a network that knows only its training words cannot say this.",
        ),
        *(Option(f"<code>{escape(text)}</code>", False, escape(why)) for text, why in wrong),
    ]
    lines = "".join(f"<li><b>{speaker}:</b> {escape(text)}</li>" for speaker, text in before)
    return card(
        "talk",
        "What must the system look up now?",
        f"<ul>{lines}</ul>",
        sorted(options, key=lambda option: option.text),
        model,
        "goal_dialogue/dialogue",
        "Networks that book a table",
    )


def setup(app):
    """Register the directive."""
    app.add_directive("three-questions", Questions)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
