"""Figures that answer in the browser: two clouds that are aligned there, and CKA of independent clouds.

``training.js`` trains both maps and ``clouds.js`` shows them; ``estimating.js`` computes CKA and ``lying.js``
draws it. `scenes` has the figure in which a model answers questions. The shell is `reasonlib.display.live`.
"""

from pathlib import Path
from typing import Any

import torch

from reasonlib.display import live as shell
from reasonlib.display import plotting
from reasonlib.display.plotting import Picture
from reasonlib.modality_alignment.page.clouds import (
    CONCEPTS,
    LR,
    WARM_UP,
    Clouds,
    draw_clouds,
    initial_maps,
    measure,
    train,
)
from reasonlib.nn.similarity import cka

__all__ = [
    "clouds",
    "describe_clouds",
    "estimating_code",
    "lying",
    "training_code",
]

FOLDER = Path(__file__).parent
STEPS = 400
STILL_GAP = 0.1
BATCHES = (8, 16, 32, 64, 128, 256)  # numbers of examples


def training_code() -> str:
    """Give the JavaScript that trains the maps, with the shared parts before it; for tests."""
    return shell.code(FOLDER / "training.js")


def estimating_code() -> str:
    """Give the JavaScript of both estimates of CKA, with the shared parts before it; for tests."""
    return shell.code(FOLDER / "estimating.js")


def describe_clouds(drawn: Clouds) -> dict[str, Any]:
    """Give what the page needs to train: points, pairs, first weights."""
    return {
        "words": drawn.words.tolist(),
        "partners": drawn.partners.tolist(),
        "concepts": list(drawn.concepts),
        "names": list(CONCEPTS),
        "trained": len(drawn.words) - drawn.held_out,
        "initial": initial_maps(),
        "lr": LR,
        "warmUp": WARM_UP,
        "longest": STEPS,
    }


def clouds() -> Picture:
    """Put two clouds of points into the page, which trains two maps that align them."""
    drawn = draw_clouds()
    return shell.figure(
        "clouds",
        label="Align two clouds of points",
        static=_trained(drawn),
        scripts=[FOLDER / "training.js", FOLDER / "clouds.js"],
        styles=[FOLDER / "figure.css"],
        modules=["plot"],
        data=describe_clouds(drawn),
        about=f"Two small networks are trained in your browser on {len(drawn.words) - drawn.held_out} pairs. "
        f"Both: {WARM_UP} steps with CKA alone, then the cosine similarity plus λ times CKA.",
        offer="With scripts you can train the maps and set λ and the gap.",
    )


def _trained(drawn: Clouds) -> Picture:
    """Draw where three objectives end, for pages without scripts."""
    trained = len(drawn.words) - drawn.held_out
    pictures = []
    for goal, title in (("cosine", "cosine alone"), ("cka", "CKA alone"), ("both", "both")):
        *_, (words, frames) = train(drawn, goal, steps=STEPS, gap=STILL_GAP)
        score = measure(words[:trained], frames[:trained])
        with plotting.theme():
            drawing, axes = plotting.figure(height=3.2)
            for number, name in enumerate(CONCEPTS):
                chosen = [index for index, concept in enumerate(drawn.concepts) if concept == number]
                look = {"color": plotting.PALETTE[number], "linestyle": "none"}
                axes.plot(*words[chosen].T.numpy(), marker="o", label=name, **look)
                axes.plot(*frames[chosen].T.numpy(), marker="s", fillstyle="none", **look)
            axes.set(xlabel=f"{title}: cosine {score.cosine:.2f}, CKA {score.cka:.2f}", xticks=[], yticks=[])
            axes.legend(ncols=4, loc="upper center", bbox_to_anchor=(0.5, 1.12))
        pictures.append(
            plotting.show(
                drawing,
                alt=f"Maximising {title}, {STEPS} steps: cosine similarity {score.cosine:.2f}, "
                f"CKA {score.cka:.2f}.",
            )
        )
    return plotting.beside(*pictures)


def lying() -> Picture:
    """Put CKA of independent clouds into the page, by the number of examples and dimensions."""
    return shell.figure(
        "lying",
        label="CKA of two independent clouds",
        static=_independent(64),
        scripts=[FOLDER / "estimating.js", FOLDER / "lying.js"],
        styles=[FOLDER / "figure.css"],
        modules=["plot"],
        data={"sizes": list(BATCHES), "said": 32},
        about="Normal clouds are drawn in your browser; nothing is trained.",
        offer="With scripts you can set the number of dimensions and what both clouds have in common.",
    )


def _independent(width: int) -> Picture:
    """Draw CKA of independent clouds against the number of examples, for pages without scripts."""
    draw = torch.Generator().manual_seed(1)
    series: dict[str, tuple[list[int], list[float]]] = {"plain": ([], []), "unbiased": ([], [])}
    for count in BATCHES:
        x, y = (torch.randn(count, width, generator=draw, dtype=torch.float64) for _ in range(2))
        for name, (sizes, values) in series.items():
            sizes.append(count)
            values.append(float(cka(x, y, debiased=name == "unbiased")))
    description = "; ".join(
        f"{name} from {line[1][0]:.2f} to {line[1][-1]:.2f}" for name, line in series.items()
    )
    return plotting.show(
        plotting.lines(series, x="examples in the batch", y="CKA of independent clouds", log=True),
        alt=f"CKA of two independent clouds in {width} dimensions, {BATCHES[0]} to {BATCHES[-1]} examples: "
        f"{description}.",
    )
