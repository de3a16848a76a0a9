"""Figures that answer in the reader's browser: two clouds of points, and the heads of trained models.

``similarity.js`` computes what `reasonlib.nn.similarity` computes, ``clouds.js`` is what the reader sees of
it; ``views.js`` shows the heads of trained models, as records hold them. The shell is
`reasonlib.display.live`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reasonlib.display import live as shell
from reasonlib.display import results
from reasonlib.display.plotting import Picture
from reasonlib.head_diversity.page.clouds import draw_points
from reasonlib.head_diversity.page.clouds import still as still_clouds
from reasonlib.head_diversity.page.trained import HEAD_COUNTS, WEIGHTS, described, still

__all__ = ["clouds", "controls", "show_heads", "similarity_code", "views"]

FOLDER = Path(__file__).parent


def similarity_code() -> str:
    """Give the JavaScript of the measures, with the shared parts before it; for tests."""
    return shell.code(FOLDER / "similarity.js", FOLDER / "clouds.js", modules=["plot"])


def clouds(relation: str = "turned", *, count: int = 12) -> Picture:
    """Put two clouds of paired points into the page, for the reader to change.

    Parameters
    ----------
    relation
        How the second cloud comes from the first, see `reasonlib.head_diversity.page.clouds`.
    count
        Examples at the start.
    """
    return shell.figure(
        "clouds",
        label="Change two clouds of points and see how similar they are",
        static=still_clouds(relation, count),
        scripts=[FOLDER / "similarity.js", FOLDER / "clouds.js"],
        styles=[FOLDER / "figure.css"],
        modules=["plot"],
        data={"points": draw_points(), "others": draw_points(seed=6), "count": count, "relation": relation},
        about="Two representations of the same examples.",
        offer="With scripts you can drag the points and add noise.",
    )


COUNTS = ("h1", "h2", "h4", "h8", "h16")
FAMILIES = {
    "HSIC": ("hsic-weak", "hsic", "hsic-strong"),
    "orthogonality": ("orthogonality-0.1", "orthogonality", "orthogonality-10"),
    "Drophead": ("drophead", "drophead-0.3", "drophead-0.5"),
}
"""Rows of the experiment on weights, weak to strong."""


def views() -> Picture:
    """Put language models with one to sixteen heads into the page, for the reader to choose from."""
    models = [model for row in COUNTS if (model := described(HEAD_COUNTS, row))]
    if len(models) < 2:
        return results.missing(HEAD_COUNTS)
    return show_heads({"heads": models}, title="Heads", reference=1 if models[0]["heads"] == 1 else 0)


def controls() -> Picture:
    """Put language models whose heads were controlled into the page; the reader chooses how, and how much."""
    baseline = described(WEIGHTS, "baseline")
    controlled = {
        name: [model for row in rows if (model := described(WEIGHTS, row, name))]
        for name, rows in FAMILIES.items()
    }
    families = {name: [baseline, *models] for name, models in controlled.items() if baseline and models}
    return show_heads(families, title="Strength") if families else results.missing(WEIGHTS)


def show_heads(
    families: Mapping[str, Sequence[Mapping[str, Any]]], *, title: str, reference: int = 0
) -> Picture:
    """Put trained models into the page, each as `reasonlib.head_diversity.page.trained.described` gives it.

    Parameters
    ----------
    families
        What a slider leads through, by the name of the family.
    title
        Of the slider.
    reference
        Number of the model whose curve is drawn beside that of the chosen one.
    """
    first = next(iter(families))
    runs = [model["runs"] for models in families.values() for model in models]
    least, most = min(runs), max(runs)
    number = f"{most} runs" if least == most else f"{least} to {most} runs"
    return shell.figure(
        "views",
        label="Choose a trained model and see how similar its heads are",
        static=still(
            families[first], "The stronger the colour, the more alike two heads are (linear, debiased CKA)."
        ),
        scripts=[FOLDER / "views.js"],
        styles=[FOLDER / "figure.css"],
        modules=["plot"],
        data={
            "start": first,
            "families": {
                name: {
                    "title": title,
                    "models": list(models),
                    "first": len(models) // 2,
                    "reference": reference,
                }
                for name, models in families.items()
            },
        },
        about=f"Language models trained by the library; numbers are means over {number}, maps show one run. "
        "CKA is linear and debiased.",
        offer="With scripts you can choose other models.",
    )
