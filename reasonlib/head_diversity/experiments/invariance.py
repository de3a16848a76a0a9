"""What the measures of similarity do not see: a cloud of points, and the same cloud after a linear map.

The source calls SVCCA invariant to affine maps (section 4.2.2) and CKA to rotations and to isotropic scaling
(section 5.2.2). A measure is invariant if the cloud and its image have the similarity 1.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from reasonlib.nn import cka, svcca
from reasonlib.tracking.experiment import Measured, Trial

__all__ = ["run_invariance"]


def run_invariance(trial: Trial) -> Measured:
    """Compare clouds with their images under the row's map: ``rotation``, ``scaling`` or ``affine``.

    The standard deviations of a cloud along its axes fall like one over the number of the axis. An affine map
    stretches directions by factors from a tenth to ten, and moves the cloud.

    Metrics
    -------
    ``svcca`` (99 % of the variance kept), ``cca`` (all of it), ``cka`` and ``cka_rbf``, mean over `draws`
    clouds of `count` points.
    """
    settings = trial.settings
    count, width, draws = settings["count"], settings["width"], settings["draws"]
    generator = torch.Generator().manual_seed(trial.seed)
    total = dict.fromkeys(("svcca", "cca", "cka", "cka_rbf"), 0.0)
    for _ in range(draws):
        x = torch.randn(count, width, generator=generator, dtype=torch.float64)
        x /= torch.arange(1, width + 1)
        y = _image(x, settings["map"], generator)
        total["svcca"] += float(svcca(x, y).mean())
        total["cca"] += float(svcca(x, y, threshold=1.0).mean())
        total["cka"] += float(cka(x, y))
        total["cka_rbf"] += float(cka(x, y, "rbf"))
    return Measured(metrics={name: value / draws for name, value in total.items()})


def _image(x: Float[Tensor, "N D"], name: str, generator: torch.Generator) -> Float[Tensor, "N D"]:
    """Map a cloud."""
    if name == "scaling":
        return 3 * x
    rotation = _rotation(x, generator)
    if name == "rotation":
        return x @ rotation
    stretch = 10 ** (2 * torch.rand(x.shape[1], generator=generator, dtype=x.dtype) - 1)
    shift = torch.randn(x.shape[1], generator=generator, dtype=x.dtype)
    return x @ rotation * stretch @ _rotation(x, generator) + shift


def _rotation(x: Float[Tensor, "N D"], generator: torch.Generator) -> Float[Tensor, "D D"]:
    width = x.shape[1]
    return torch.linalg.qr(torch.randn(width, width, generator=generator, dtype=x.dtype))[0]
