"""Sentences as weighted bags of words (Sukhbaatar et al. 2015, section 4.1).

A sentence vector is the sum of its word vectors, each weighted by the word's position. Both weightings here
are linear in the unit k, so a sentence needs two bags, whatever the width of the model.

Axes: U distinct sentences, V words.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from reasonlib.arguments import check_choice

__all__ = ["ENCODINGS", "position_bags_as_released", "sentence_bags"]


ENCODINGS = ("position", "bag")


def sentence_bags(
    sentences: Sequence[Sequence[int]], vocabulary: int, encoding: str = "position"
) -> Float[Tensor, "U 2 V"]:
    r"""Weigh the words of each sentence so that a sentence vector is two matrix products.

    Position encoding (Sukhbaatar et al. 2015, section 4.1) weighs word j of J at unit k of D by
    :math:`l_{kj} = (1 - j/J) - (k/D)(1 - 2j/J)`. It is a straight line in :math:`k/D`, so

    .. math:: \sum_j l_{j} \circ A x_j = P A + \tfrac{k}{D} \circ (Q A),\quad
              P_v = \sum_{j: x_j = v} (1 - j/J),\quad Q_v = -\sum_{j: x_j = v} (1 - 2j/J).

    A bag of words is the special case where P counts the words and Q is zero.

    Parameters
    ----------
    sentences
        Word ids of each sentence; id 0 (padding) weighs nothing, which keeps the null symbol at zero.
    vocabulary
        V, the number of words.
    encoding
        ``"position"`` or ``"bag"``.

    Returns
    -------
    Float (U, 2, V)
        P and Q of each sentence.

    Raises
    ------
    ValueError
        If the encoding is unknown.
    """
    check_choice("encoding", encoding, ENCODINGS)
    # excerpt: bags
    bags = np.zeros((len(sentences), 2, vocabulary), dtype=np.float32)  # P and Q
    for row, sentence in enumerate(sentences):
        length = len(sentence)  # J
        for position, word in enumerate(sentence, start=1):  # j
            bags[row, 0, word] += (
                1 - position / length  # P
                if encoding == "position"
                else 1.0
            )
            bags[row, 1, word] -= (
                1 - 2 * position / length  # -Q
                if encoding == "position"
                else 0.0
            )
    # end excerpt
    bags[:, :, 0] = 0.0
    return torch.from_numpy(bags)


def position_bags_as_released(
    sentences: Sequence[Sequence[int]], vocabulary: int, width: int, longest: int
) -> Float[Tensor, "U 2 V"]:
    r"""Weigh the words of each sentence by place, around one and from the middle of the longest sentence.

    .. math:: l_{kj} = 1 + \frac{4}{J D} \left(k - \tfrac{D + 1}{2}\right) \left(j - \tfrac{J + 1}{2}\right)

    As in `sentence_bags` this is a straight line in :math:`k / D`, so two bags a sentence are enough.

    Parameters
    ----------
    sentences
        Word ids of each sentence.
    vocabulary, width
        V and D.
    longest
        J.

    Returns
    -------
    Float (U, 2, V)
        P and Q of each sentence: its vector is :math:`P A + \tfrac{k}{D} \circ (Q A)`.

    Notes
    -----
    The paper's weight, :math:`(1 - j/J) - (k/D)(1 - 2j/J)`, is half of this one but for the halves that are
    taken from j and k.
    """
    bags = np.zeros((len(sentences), 2, vocabulary), dtype=np.float32)
    for row, sentence in enumerate(sentences):
        for position, word in enumerate(sentence, start=1):
            slope = 4 * (position - (longest + 1) / 2) / longest
            bags[row, 0, word] += 1 - slope * (width + 1) / (2 * width)
            bags[row, 1, word] += slope
    bags[:, :, 0] = 0.0
    return torch.from_numpy(bags)
