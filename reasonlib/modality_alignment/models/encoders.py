"""Two small encoders that stand for a video and a text embedding module (section 5.3.1).

Axes: N pairs, D input dimensions, H width of every layer and of the output.
"""

from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor, nn

from reasonlib.training.devices import seeded

__all__ = ["Embedded", "PairedEncoders"]


class Embedded(NamedTuple):
    """The representations of both clouds, (N, H) each; row n of one belongs to row n of the other."""

    a: Float[Tensor, "N H"]
    b: Float[Tensor, "N H"]


class PairedEncoders(nn.Module):
    """Two networks of the same form that share no weight.

    ::

        a (N, D) -> [linear, ReLU, batch norm] x 3 -> (N, H)
        b (N, D) -> [linear, ReLU, batch norm] x 3 -> (N, H)

    Parameters
    ----------
    dimensions
        D.
    width, layers
        H and the number of layers; 32 and 3 in the source.
    seed
        Draws the weights.

    Notes
    -----
    Batch normalisation uses the statistics of what it is given in evaluation too, so that a set is encoded
    as a whole; the source does not say what it does there.
    """

    def __init__(self, dimensions: int = 64, width: int = 32, layers: int = 3, *, seed: int = 0) -> None:
        super().__init__()
        if min(dimensions, width, layers) < 1:
            raise ValueError(f"sizes must be at least 1, got {(dimensions, width, layers)}")
        with seeded(seed):
            self.a = _encoder(dimensions, width, layers)
            self.b = _encoder(dimensions, width, layers)

    def forward(self, a: Float[Tensor, "N D"], b: Float[Tensor, "N D"]) -> Embedded:
        """Encode both points of each pair."""
        return Embedded(self.a(a), self.b(b))


def _encoder(dimensions: int, width: int, layers: int) -> nn.Sequential:
    # excerpt: encoder
    parts: list[nn.Module] = []
    for size in [dimensions, *[width] * (layers - 1)]:
        parts += [
            nn.Linear(size, width),
            nn.ReLU(),
            nn.BatchNorm1d(width, track_running_stats=False),
        ]
    return nn.Sequential(*parts)
    # end excerpt
