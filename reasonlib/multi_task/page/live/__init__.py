"""Figures that answer in the reader's browser: all heads on one pair, the steps of one head, two gradients.

``network.js`` is the forward pass; what the reader sees is in ``scoring.js``, ``reasoning.js`` and
``agreeing.js``. The shell is `reasonlib.display.live`.
"""

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from reasonlib.display import live as shell
from reasonlib.display import plotting
from reasonlib.display.live.encoders import describe_encoder, trim_positions
from reasonlib.display.plotting import Picture
from reasonlib.multi_task.models.pretrained import BundledSystem, from_pretrained
from reasonlib.multi_task.page.answering import ask_all
from reasonlib.multi_task.page.exercises.sharing import project
from reasonlib.multi_task.page.transfer import help_matrix

__all__ = [
    "ASKS",
    "PAIRS",
    "agreeing",
    "describe_network",
    "reasoning",
    "scoring",
    "weights_of",
]

FOLDER = Path(__file__).parent
BITS = 8
LONGEST = 64  # tokens that the page reads at most

ASKS: Mapping[str, str] = {
    "acceptability": "Is it acceptable English?",
    "sentiment": "Is it positive?",
    "similarity": "How similar are the two?",
    "inference": "Does the second follow from the first?",
    "entailment": "Does it follow, yes or no?",
    "paraphrase": "Do both mean the same?",
    "answers": "Does the second answer the first?",
}
"""What each head is asked, for the reader."""

PAIRS: tuple[tuple[str, tuple[str, str]], ...] = (
    ("champagne and wine", ("a man sips a champagne .", "a gentleman sips a wine .")),
    ("wine and champagne", ("a man sips a wine .", "a gentleman sips a champagne .")),
    (
        "the same in other words",
        ("the happy lad sells a fiddle in the park .", "the violin is sold by a glad boy in the park ."),
    ),
    ("two instruments", ("the man holds a saxophone .", "the man holds a guitar .")),
    ("opposites", ("a sad girl loves a dog .", "a happy girl loves a dog .")),
    ("a fault of grammar", ("the man sips a wine .", "the man sip a wine .")),
    ("question and answer", ("who sells the violin ?", "a lad sells a fiddle .")),
)
"""Pairs of sentences to choose from: a name, and the two sentences."""

REVISED = ("horse and pony", ("the adult loves the horse .", "the adult loves the pony ."))
"""A pair for which the answer network changes its answer after the first step."""


def weights_of(system: BundledSystem) -> dict[str, Any]:
    """Return the model's ``state_dict`` with as many positions as the page needs."""
    return trim_positions(system.model.state_dict(), LONGEST)


def describe_network(system: BundledSystem) -> dict[str, Any]:
    """Give what the page needs beside the weights: sizes, vocabulary, tasks."""
    config = system.model.encoder.encoder.config
    return describe_encoder(config, system.tokenizer, LONGEST) | {
        "restart": bool(getattr(config, "restart_positions", False)),
        "steps": system.model.config.steps,
        "tasks": {
            name: {"name": name, "asks": ASKS[name], "kind": task.kind, "labels": list(task.labels)}
            for name, task in system.model.tasks.items()
        },
    }


def still(system: BundledSystem, first: str, second: str) -> Picture:
    """Draw the answers of all heads to one pair, as plain HTML."""
    answers = ask_all(first, second, system=system)
    rows = "".join(
        f"<tr><td>{html.escape(answer.task)}</td><td>{html.escape(ASKS[answer.task])}</td>"
        f"<td>{html.escape(f'{answer.of}: ' if answer.of else '')}{html.escape(answer.words)}</td></tr>"
        for answer in answers
    )
    description = "; ".join(f"{a.task}{f' of the {a.of}' if a.of else ''}: {a.words}" for a in answers)
    return Picture(
        f'<div class="rr-figure"><p>{html.escape(first)}<br>{html.escape(second)}</p>'
        f"<table><thead><tr><th>head</th><th>asks</th><th>answer</th></tr></thead>{rows}</table></div>",
        alt=f"What all heads answer to “{first}” and “{second}”: {description}.",
    )


def known_words(system: BundledSystem) -> list[str]:
    """List the words that the bundled model knows."""
    return sorted(word for word in system.tokenizer.get_vocab() if word.isalpha())


def measured(system: BundledSystem) -> str:
    """Say how well the heads did on test examples when the model was made."""
    metrics = {"matthews": "Matthews correlation", "pearson": "Pearson correlation"}
    scores = [
        f"{name} {float(system.made[name]):.2f}"
        + (f" ({metrics[task.metric]})" if task.metric in metrics else "")
        for name, task in system.model.tasks.items()
        if name in system.made
    ]
    return f"On new examples: {', '.join(scores)}." if scores else ""


def _answering(
    name: str, system: BundledSystem, data: Mapping[str, Any], *, label: str, about: str, offer: str
) -> Picture:
    """Put a figure whose script runs the system into the page; at first it shows the first pair of `data`."""
    return shell.figure(
        name,
        label=label,
        static=still(system, *data["pairs"][0]["texts"]),
        scripts=[FOLDER / "network.js", FOLDER / f"{name}.js"],
        styles=[FOLDER / "figure.css"],
        data=data,
        models={"model": shell.pack_weights(weights_of(system), bits=BITS)},
        about=about,
        offer=offer,
    )


def scoring(system: BundledSystem | None = None) -> Picture:
    """Put all heads into the page, and the table of which task helps which.

    Parameters
    ----------
    system
        By default the bundled one.
    """
    system = from_pretrained() if system is None else system
    data = describe_network(system) | {
        "pairs": [{"name": name, "texts": list(texts)} for name, texts in PAIRS],
        "known": known_words(system),
        "matrix": help_matrix(),
    }
    return _answering(
        "scoring",
        system,
        data,
        label="Score two sentences by all heads",
        about=f"A small trained model: one encoder, {len(data['tasks'])} heads. {measured(system)}",
        offer="With scripts you can write two sentences and see all heads answer.",
    )


def reasoning(system: BundledSystem | None = None) -> Picture:
    """Put the inference head into the page, step by step.

    Parameters
    ----------
    system
        By default the bundled one.
    """
    system = from_pretrained() if system is None else system
    pairs = [REVISED, *(pair for pair in PAIRS if pair[0] != "question and answer")]
    data = describe_network(system) | {
        "pairs": [{"name": name, "texts": list(texts)} for name, texts in pairs]
    }
    return _answering(
        "reasoning",
        system,
        data,
        label="Follow the answer network step by step",
        about=f"The inference head of the trained model: {data['steps']} steps.",
        offer="With scripts you can step through the readings of the premise.",
    )


def agreeing(wants: Sequence[Sequence[float]] = ((1.3, 0.1), (-0.7, 0.4))) -> Picture:
    """Put two gradients into the page, for the reader to drag.

    Parameters
    ----------
    wants
        The steps that two tasks want, of two numbers each.
    """
    return shell.figure(
        "agreeing",
        label="Drag the steps that two tasks want",
        static=gradients(wants),
        scripts=[FOLDER / "agreeing.js"],
        styles=[FOLDER / "figure.css"],
        modules=["plot"],
        data={"wants": [list(vector) for vector in wants]},
        about="Two tasks, two shared parameters.",
        offer="With scripts you can drag the two steps.",
    )


def gradients(wants: Sequence[Sequence[float]]) -> Picture:
    """Draw two wanted steps, their sum and PCGrad's step, as a picture without a script."""
    (ax, ay), (bx, by) = wants
    first, second = torch.tensor([ax, ay]), torch.tensor([bx, by])
    taken = {
        "task A wants": first,
        "task B wants": second,
        "sum, halved": (first + second) / 2,
        "PCGrad, halved": (project(first, second) + project(second, first)) / 2,
    }
    drawing = plotting.lines(
        {name: ([0.0, float(step[0])], [0.0, float(step[1])]) for name, step in taken.items()},
        x="first shared parameter",
        y="second shared parameter",
    )
    cosine = float(torch.nn.functional.cosine_similarity(first, second, 0))
    return plotting.show(
        drawing, alt=f"Two tasks want steps with a cosine of {cosine:.2f}; their sum, and PCGrad's step."
    )
