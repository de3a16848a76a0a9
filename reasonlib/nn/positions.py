"""Where a word stands in its sequence, and how long ago a sentence was said.

Sources: Vaswani et al. (2017), section 3.5 (sinusoids); Devlin et al. (2019) (learned positions);
Sukhbaatar et al. (2015), section 4.1 (position encoding and temporal encoding of memory networks).

Axes: N sentences, W words in a sentence, T positions in a sequence, S memory slots, D width.

The three modules are called with a count and return that many rows; whoever calls them adds the rows.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

__all__ = [
    "LearnedPositions",
    "SinusoidalPositions",
    "TemporalEncoding",
    "position_encoding",
    "sinusoidal_positions",
]


def sinusoidal_positions(length: int, width: int) -> Float[Tensor, "T D"]:
    """Sines and cosines of falling frequency (Vaswani et al. 2017, section 3.5).

    ``P[t, 2i] = sin(t / 10000^(2i/D))`` and ``P[t, 2i+1] = cos(t / 10000^(2i/D))``.

    Parameters
    ----------
    length : int
        Number of positions, T.
    width : int
        Width of the model, D; even.

    Examples
    --------
    >>> sinusoidal_positions(2, 4)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    if width < 2 or width % 2:
        raise ValueError(f"width must be even and at least 2, got {width}")
    # excerpt: sinusoids
    position = torch.arange(length, dtype=torch.float64)
    # the wavelength over 2 pi: from 1, growing to almost 10,000
    scale = 10_000.0 ** (torch.arange(0, width, 2, dtype=torch.float64) / width)
    angle = position[:, None] / scale  # (T, D/2)
    pairs = torch.stack((angle.sin(), angle.cos()), dim=-1)  # (T, D/2, 2)
    # end excerpt
    return pairs.flatten(1).to(torch.get_default_dtype())


def position_encoding(
    words: Int[Tensor, " N"], width: int, longest: int | None = None
) -> Float[Tensor, "N W D"]:
    """Weights of a sentence's words that keep their order (Sukhbaatar et al. 2015, section 4.1).

    ``l_kj = (1 - j/J) - (k/D)(1 - 2j/J)``, with word ``j = 1..J``, unit ``k = 1..D`` and ``J`` the
    sentence's own number of words. A sentence is then ``sum_j l_j * x_j``: the first units lean to its
    first words, the last units to its last.

    Parameters
    ----------
    words : (N,)
        ``J``, the number of words of each sentence.
    width : int
        Width of a word's embedding, D.
    longest : int, optional
        W, the length sentences are padded to; by default the largest of ``words``.

    Returns
    -------
    (N, W, D)
        Zero beyond a sentence's own words, so that padding adds nothing.

    Examples
    --------
    >>> position_encoding(torch.tensor([2]), width=2)
    tensor([[[0.5000, 0.5000],
             [0.5000, 1.0000]]])
    """
    if width < 1:
        raise ValueError(f"width must be at least 1, got {width}")
    most = int(words.max()) if len(words) else 0
    if longest is None:
        longest = most
    if longest < most:
        raise ValueError(f"longest must be at least the {most} words of a sentence, got {longest}")
    word = torch.arange(1, longest + 1, device=words.device)  # j
    unit = torch.arange(1, width + 1, device=words.device) / width  # k/D
    relative = word / words.clamp(min=1).unsqueeze(-1)  # (N, W): j/J
    inside = word <= words.unsqueeze(-1)
    encoding = (1 - relative).unsqueeze(-1) - (1 - 2 * relative).unsqueeze(-1) * unit  # (N, W, D)
    return encoding * inside.unsqueeze(-1)


class SinusoidalPositions(nn.Module):
    """Fixed positions, made once: row ``t`` of `sinusoidal_positions`.

    Parameters
    ----------
    longest : int
        The longest sequence it will be asked for.
    width : int
        Width of the model, D; even.
    """

    table: Tensor

    def __init__(self, longest: int, width: int):
        super().__init__()
        self.register_buffer("table", sinusoidal_positions(longest, width), persistent=False)

    def forward(self, length: int, start: int = 0) -> Float[Tensor, "T D"]:
        """Rows ``start`` to ``start + length``."""
        return _rows(self.table, length, start)


class LearnedPositions(nn.Module):
    """One learned vector for each position, drawn from N(0, 0.02) as in Devlin et al. (2019).

    Parameters
    ----------
    longest : int
        The longest sequence it will be asked for.
    width : int
        Width of the model, D.
    generator : torch.Generator, optional
        Draws the first values.
    """

    def __init__(self, longest: int, width: int, *, generator: torch.Generator | None = None):
        super().__init__()
        self.table = nn.Parameter(torch.empty(longest, width).normal_(0.0, 0.02, generator=generator))

    def forward(self, length: int, start: int = 0) -> Float[Tensor, "T D"]:
        """Rows ``start`` to ``start + length``."""
        return _rows(self.table, length, start)


class TemporalEncoding(nn.Module):
    """One learned vector for each age of a memory (Sukhbaatar et al. 2015, section 4.1).

    Their ``T_A`` and ``T_C``. Ages are counted back from the question: row 0 belongs to the sentence just
    before it, row 1 to the one before that. Memories are therefore kept latest first, and slot ``s`` means
    the same age in every story, however long.

    Parameters
    ----------
    longest : int
        The largest number of memory slots it will be asked for.
    width : int
        Width of a memory, D.
    generator : torch.Generator, optional
        Draws the first values, N(0, 0.1) as in the source's section 4.2.
    """

    def __init__(self, longest: int, width: int, *, generator: torch.Generator | None = None):
        super().__init__()
        self.table = nn.Parameter(torch.empty(longest, width).normal_(0.0, 0.1, generator=generator))

    def forward(self, slots: int) -> Float[Tensor, "S D"]:
        """One row for each of ``slots`` memories, the latest first."""
        return _rows(self.table, slots, 0)


def _rows(table: Float[Tensor, "longest D"], length: int, start: int) -> Float[Tensor, "T D"]:
    if start < 0:
        raise ValueError(f"start must be at least 0, got {start}")
    if start + length > len(table):
        raise ValueError(f"longest is {len(table)}, got a sequence of {start + length}")
    return table[start : start + length]
