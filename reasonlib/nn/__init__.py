"""What the systems share: attention, Transformers, positions, and the reading of a memory."""

from .attention import masked_softmax
from .memory import Reading, masked_identity, read, read_shared
from .positions import (
    LearnedPositions,
    SinusoidalPositions,
    TemporalEncoding,
    position_encoding,
    sinusoidal_positions,
)

__all__ = [
    "LearnedPositions",
    "Reading",
    "SinusoidalPositions",
    "TemporalEncoding",
    "masked_identity",
    "masked_softmax",
    "position_encoding",
    "read",
    "read_shared",
    "sinusoidal_positions",
]
