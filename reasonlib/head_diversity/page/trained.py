"""The heads of trained models, as the records of their runs hold them."""

from collections.abc import Mapping, Sequence
from typing import Any

from reasonlib.display import plotting
from reasonlib.display.plotting import Picture
from reasonlib.head_diversity.page.labels import ROWS
from reasonlib.tracking import records

__all__ = ["HEAD_COUNTS", "LANGUAGE_MODEL", "WEIGHTS", "curves", "described", "still"]

LANGUAGE_MODEL, HEAD_COUNTS = "head_diversity/language_model", "head_diversity/head_counts"
WEIGHTS = "head_diversity/weights"


def described(experiment: str, row: str, control: str | None = None) -> dict[str, Any] | None:
    """Describe the models of a row for a figure; None if there are no records.

    Parameters
    ----------
    experiment, row
        Of language models.
    control
        Name of a setting, in any letters; it names the model together with its value.

    Returns
    -------
    dict
        ``words``, ``heads``, means over seeds of ``perplexity``, ``cka`` (debiased) and ``svcca``, and
        ``layers``: of each, in the run of the first seed, the ``matrix`` of debiased CKA and the ``curve`` of
        SVCCA coefficients; ``runs``, how many there are.
    """
    group = records.best(experiment, row, data="simulated")
    if group is None:
        return None
    first = min(group.records, key=lambda record: record.seed)
    heads = int(first.config["heads"])
    layers = [
        {"matrix": layer["cka_debiased"], "curve": layer["curve"]}
        for layer in first.details["similarity"].values()
    ] or [{"matrix": [[1.0]], "curve": [1.0]}] * int(first.config["layers"])

    def mean(metric: str) -> float | None:
        summary = group.summary(metric)
        return None if summary is None else round(summary.mean, 4)

    words = ROWS.get(row, row)
    return {
        "words": f"{control} {first.config[control.lower()]:g}" if control else words,
        "heads": heads,
        "perplexity": mean("perplexity"),
        "cka": mean("cka_debiased"),
        "svcca": mean("svcca"),
        "layers": layers,
        "runs": len(group.records),
    }


def curves(models: Sequence[Mapping[str, Any]]) -> dict[str, tuple[list[int], list[float]]]:
    """Give the SVCCA coefficients of models, mean over layers, by their words."""
    lines = {}
    for model in models:
        each = [layer["curve"] for layer in model["layers"]]
        length = min(map(len, each))
        means = [sum(curve[index] for curve in each) / len(each) for index in range(length)]
        lines[str(model["words"])] = (list(range(1, length + 1)), means)
    return lines


def still(models: Sequence[Mapping[str, Any]], caption: str) -> Picture:
    """Draw the last layer's similarity map of a few models, for a page without scripts."""
    shown = [model for model in models if model["heads"] > 1][:4]
    descriptions = []
    with plotting.theme():
        drawing, axes = plotting.figure(height=2.1, columns=len(shown), squeeze=False)
        for panel, model in zip(axes.flat, shown, strict=True):
            panel.imshow(model["layers"][-1]["matrix"], vmin=0, vmax=1, cmap="Blues")
            panel.set(xticks=[], yticks=[])
            panel.set_title(model["words"], fontsize=9)
            descriptions.append(
                f"{model['words']}: mean CKA {model['cka']:.2f}, perplexity {model['perplexity']:.2f}."
            )
    drawing.set_label(" ".join(descriptions))
    return plotting.show(drawing, alt="CKA of every two heads of the last layer.", caption=caption)
