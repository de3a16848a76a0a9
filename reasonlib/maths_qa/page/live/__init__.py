"""Figures that answer in the reader's browser: the bundled solvers, and the model that fills in characters.

``network.js`` computes, ``answering.js``, ``filling.js`` and ``probing.js`` are what the reader sees of it.
The shell is `reasonlib.display.live`.
"""

import html
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from reasonlib.display import live as shell
from reasonlib.display.plotting import Picture
from reasonlib.maths_qa.data.encoding import Joined, collate, join
from reasonlib.maths_qa.data.example import LONGEST_ANSWER, LONGEST_QUESTION, Problem
from reasonlib.maths_qa.data.generator import simulate
from reasonlib.maths_qa.data.vocabulary import FIRST, MASK, START, TOKENS
from reasonlib.maths_qa.models.decoding import answer
from reasonlib.maths_qa.models.pretrained import (
    BUNDLED,
    BundledFiller,
    BundledSolver,
    from_pretrained,
    load_filler,
)
from reasonlib.maths_qa.page.labels import module_title
from reasonlib.maths_qa.page.probing import NAMES, PLACES, TRAINED, digit_questions

__all__ = ["answering", "describe_network", "filling", "probing"]

FOLDER = Path(__file__).parent
BITS = 8
SEED = 2026  # of the questions in the figures; training and its tests have others
EACH = 12  # questions of each module in the figure
STILL = ((4, 1), (5, 3), (6, 6), (8, 2), (9, 7))  # digits and places where scripts are off


def describe_network(bundled: BundledSolver | BundledFiller) -> dict[str, Any]:
    """Give the sizes that the page needs beside the weights."""
    config = bundled.model.config
    return {
        "layers": config.layers,
        "heads": config.heads,
        "norm": config.norm,
        "longest": LONGEST_ANSWER,
        "longestQuestion": LONGEST_QUESTION,
    }


def new_questions(bundled: BundledSolver | BundledFiller, count: int = EACH) -> dict[str, list[Problem]]:
    """Draw questions that the figures offer, of each module that a model was trained on."""
    level = bundled.made.get("tested", ["interpolate"])[0]
    return {module: simulate(module, count, seed=SEED, difficulty=level) for module in bundled.modules}


def answering(solvers: Mapping[str, BundledSolver] | None = None) -> Picture:
    """Put two solvers into the page: a reader asks, both answer character by character.

    Parameters
    ----------
    solvers
        By default the bundled ones: with pre-training and without.
    """
    solvers = solvers or {name: from_pretrained(name) for name in BUNDLED}
    first = next(iter(solvers.values()))
    problems = new_questions(first)
    seen = (p.question for family in new_questions(first, 1000).values() for p in family)
    forms = {re.sub(r"\d+", "0", question) for question in seen}  # whatever its numbers
    config = first.model.config
    return shell.figure(
        "answering",
        label="Ask two models a question",
        static=_answers(solvers, [family[0] for family in problems.values()]),
        scripts=[FOLDER / "network.js", FOLDER / "answering.js"],
        styles=[FOLDER / "figure.css"],
        data=describe_network(first)
        | {
            "names": {name: NAMES[name].capitalize() for name in solvers},
            "titles": {module: module_title(module) for module in problems},
            "problems": {m: [[p.question, p.answer] for p in family] for m, family in problems.items()},
            "forms": sorted(forms),
        },
        models={name: _pack(solver) for name, solver in solvers.items()},
        about=f"Two trained Transformers: {config.layers} + {config.layers} layers, width {config.width}. "
        "The questions that the button draws are new to both.",
        offer="With scripts you can ask a question of your own and see where the models look.",
    )


def filling(filler: BundledFiller | None = None) -> Picture:
    """Put the pre-trained model into the page: a reader hides characters, the model fills them in."""
    filler = filler or load_filler()
    families = list(new_questions(filler).values())
    problems = [family[number] for number in range(EACH) for family in families]
    config = filler.model.config
    return shell.figure(
        "filling",
        label="Hide characters of a question; a model fills them in",
        static=_filled(filler, problems[0]),
        scripts=[FOLDER / "network.js", FOLDER / "filling.js"],
        styles=[FOLDER / "figure.css"],
        data=describe_network(filler) | {"problems": [[p.question, p.answer] for p in problems]},
        models={"filler": _pack(filler)},
        about=f"A Transformer encoder pre-trained by QA-MLM: {config.layers} layers, width {config.width}.",
        offer="With scripts you can hide characters of your choice.",
    )


def probing(solvers: Mapping[str, BundledSolver] | None = None) -> Picture:
    """Put a map into the page: accuracy by the length of a number and by the digit asked for."""
    solvers = solvers or {name: from_pretrained(name) for name in BUNDLED}
    first = next(iter(solvers.values()))
    problems = [
        digit_questions(digits, 1, seed=SEED, digit_place=digit_place)[0] for digits, digit_place in STILL
    ]
    return shell.figure(
        "probing",
        label="Which digits does the model find?",
        static=_answers(solvers, problems),
        scripts=[FOLDER / "network.js", FOLDER / "probing.js"],
        styles=[FOLDER / "figure.css"],
        data=describe_network(first)
        | {
            "names": {name: NAMES[name] for name in solvers},
            "places": PLACES,
            "trained": list(TRAINED),
            "each": 6,
        },
        models={name: _pack(solver) for name, solver in solvers.items()},
        about="The bundled models; the numbers are drawn in your browser.",
        offer="With scripts you can put numbers of every length to the models.",
    )


def _pack(bundled: BundledSolver | BundledFiller) -> dict[str, Any]:
    return shell.pack_weights(bundled.model.state_dict(), bits=BITS)


def _answers(solvers: Mapping[str, BundledSolver], problems: Sequence[Problem]) -> Picture:
    """Write the answers of solvers to some questions as a table."""
    head = "".join(f"<th>{html.escape(NAMES[name])}</th>" for name in solvers)
    rows, descriptions = [], []
    for problem in problems:
        written = {name: answer(solver.model, problem.question).text for name, solver in solvers.items()}
        cells = "".join(f"<td>{html.escape(text)}</td>" for text in written.values())
        rows.append(
            f"<tr><td>{html.escape(problem.question)}</td><td>{html.escape(problem.answer)}</td>{cells}</tr>"
        )
        descriptions.append(
            f"“{problem.question}” is {problem.answer}; "
            + ", ".join(f"{NAMES[name]} {text}" for name, text in written.items())
        )
    return Picture(
        '<div class="rr-figure"><table><thead><tr><th>question</th><th>right answer</th>'
        f"{head}</tr></thead>{''.join(rows)}</table></div>",
        alt=f"Questions with their right answers and those of the models. {'. '.join(descriptions)}.",
    )


@torch.no_grad()
def _filled(filler: BundledFiller, problem: Problem) -> Picture:
    """Write a question with every fourth character hidden, and what the model fills in."""
    joined = join(collate([problem]))
    tokens = joined.tokens.clone()
    hidden = [position for position in range(0, tokens.shape[1], 4) if int(tokens[0, position]) >= FIRST]
    tokens[0, hidden] = MASK
    guessed = filler.model(Joined(tokens, *joined[1:])).argmax(-1)[0].tolist()
    shown, written = [], []
    for position, number in enumerate(joined.tokens[0].tolist()):
        if number < FIRST:  # [SOS] and [EOS]
            shown.append(" → " if number == START else "")
            written.append(shown[-1])
            continue
        text = html.escape(TOKENS[guessed[position] if position in hidden else number])
        shown.append(f"<u>{text}</u>" if position in hidden else text)
        written.append("_" if position in hidden else TOKENS[number])
    right = sum(guessed[position] == int(joined.tokens[0, position]) for position in hidden)
    return Picture(
        f'<div class="rr-figure"><p><code>{"".join(shown)}</code></p></div>',
        alt=f"“{''.join(written)}” with {len(hidden)} characters hidden, of which the model fills in "
        f"{right} right.",
    )
