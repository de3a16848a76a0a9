"""What the source's pictures of losses and activations show, read off the curves themselves.

Figures 2.6, 2.7, 2.9, 2.10, 2.15 and 2.16 of the source plot functions of one number; what its sentences
say of them is a slope, a curvature, a lowest point or a range. Each `run_...` computes these for one curve
by differentiating it.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from reasonlib.optimisation.models import activations, losses
from reasonlib.tracking.experiment import Measured, Trial

__all__ = ["run_activation_curve", "run_loss_curve", "slope_and_curvature"]

Curve = Callable[[Tensor], Tensor]


def slope_and_curvature(curve: Curve, at: float) -> tuple[float, float]:
    """Differentiate a function of one number once and twice.

    Parameters
    ----------
    curve
        From a scalar to a scalar.
    at
        Where.
    """
    point = torch.tensor(at, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(curve(point), point, create_graph=True)
    if not slope.requires_grad:  # a straight line
        return float(slope), 0.0
    (curvature,) = torch.autograd.grad(slope, point, allow_unused=True)
    return float(slope.detach()), 0.0 if curvature is None else float(curvature)


def run_loss_curve(trial: Trial) -> Measured:
    """Measure one loss of a prediction over the axis of the source's figure.

    ``growth`` is the slope at the far end of the axis over the slope at a tenth of that distance: 1 where
    the loss grows at a constant rate. ``lowest_at`` is the distance from the label of the lowest of 2,001
    predictions over the axis. ``curvature_inside`` and ``curvature_outside`` are taken at half and at twice
    ``delta``, the distance at which a Huber loss changes (1 for the other losses).
    """
    settings = trial.settings
    delta = settings["delta"]
    label = torch.tensor(settings["label"], dtype=torch.float64)
    options = {"delta": delta} if settings["loss"] == "huber" else {}
    function = LOSSES[settings["loss"]]

    def curve(prediction: Tensor) -> Tensor:
        return function(prediction, label, **options)

    far = settings["reach"]
    predictions = label + torch.linspace(-far, far, 2001, dtype=torch.float64)
    values = torch.stack([curve(prediction) for prediction in predictions])
    steep, _ = slope_and_curvature(curve, float(label) + far)
    less_steep, _ = slope_and_curvature(curve, float(label) + far / 10)
    _, inside = slope_and_curvature(curve, float(label) + delta / 2)
    _, outside = slope_and_curvature(curve, float(label) + delta * 2)
    return Measured(
        metrics={
            "growth": steep / less_steep,
            "lowest_at": abs(float(predictions[values.argmin()] - label)),
            "curvature_inside": inside,
            "curvature_outside": outside,
        }
    )


def run_activation_curve(trial: Trial) -> Measured:
    """Measure one activation function over inputs from -10 to 10.

    ``largest`` and ``smallest`` are its extreme outputs, ``offset`` is the distance of its mean over the
    symmetric axis from zero, ``positive_difference`` and ``negative_difference`` are the largest distances
    from Swish on either side.
    """
    inputs = torch.linspace(-10, 10, 2001, dtype=torch.float64)
    outputs = ACTIVATIONS[trial.settings["activation"]](inputs)
    difference = (outputs - activations.swish(inputs)).abs()
    return Measured(
        metrics={
            "largest": float(outputs.max()),
            "smallest": float(outputs.min()),
            "offset": abs(float(outputs.mean())),
            "positive_difference": float(difference[inputs >= 0].max()),
            "negative_difference": float(difference[inputs < 0].max()),
        }
    )


LOSSES: dict[str, Callable[..., Tensor]] = {
    "mse": losses.mse,
    "mae": losses.mae,
    "huber": losses.huber,
    "log-cosh": losses.log_cosh,
}
ACTIVATIONS: dict[str, Curve] = {
    "tanh": activations.tanh,
    "elish": activations.elish,
    "hard-elish": activations.hard_elish,
}
