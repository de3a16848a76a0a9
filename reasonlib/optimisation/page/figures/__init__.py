"""The source's figures of losses, activations and descents, drawn again from the library's own functions.

Each function returns a `Picture` with its words. The numbers of a figure are those of its docstring: figure
2.6 is the mean squared error, and so on.
"""

from reasonlib.optimisation.page.figures.activations import (
    activation,
    elish,
    gradient_flow,
    layer_means,
    printed,
)
from reasonlib.optimisation.page.figures.descent import (
    contour,
    descents,
    fading,
    nesterov,
    race,
    ravine_paths,
    saddle,
)
from reasonlib.optimisation.page.figures.functions import curves
from reasonlib.optimisation.page.figures.losses import (
    focal,
    focal_shares,
    huber,
    interval,
    line_fits,
    log_cosh,
    log_loss,
    mae,
    mse,
    overstep,
    quantile,
    regression,
)

__all__ = [
    "activation",
    "contour",
    "curves",
    "descents",
    "elish",
    "fading",
    "focal",
    "focal_shares",
    "gradient_flow",
    "huber",
    "interval",
    "layer_means",
    "line_fits",
    "log_cosh",
    "log_loss",
    "mae",
    "mse",
    "nesterov",
    "overstep",
    "printed",
    "quantile",
    "race",
    "ravine_paths",
    "regression",
    "saddle",
]
