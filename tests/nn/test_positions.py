"""Positions: against transcriptions of their equations, their limits, and what they are for."""

import numpy as np
import pytest
import torch

from reasonlib.nn import (
    LearnedPositions,
    MultiHeadAttention,
    SinusoidalPositions,
    TemporalEncoding,
    position_encoding,
    sinusoidal_positions,
)

# sinusoids


def test_sinusoids_as_written():
    length, width = 50, 16
    expected = np.zeros((length, width))
    for position in range(length):
        for i in range(width // 2):
            expected[position, 2 * i] = np.sin(position / 10_000 ** (2 * i / width))
            expected[position, 2 * i + 1] = np.cos(position / 10_000 ** (2 * i / width))
    positions = sinusoidal_positions(length, width)
    assert positions.dtype == torch.get_default_dtype()
    np.testing.assert_allclose(positions, expected, atol=1e-7)


def test_sinusoids_far_out_stay_exact():
    assert abs(sinusoidal_positions(100_001, 2)[100_000, 0].item() - np.sin(100_000.0)) < 1e-7


def test_a_shift_of_sinusoids_is_a_rotation():
    """Section 3.5: for any offset k, the position t + k is a linear function of the position t."""
    positions, offset = sinusoidal_positions(60, 8).double(), 7
    original, shifted = positions[:-offset], positions[offset:]
    rotation = torch.linalg.lstsq(original, shifted).solution
    torch.testing.assert_close(original @ rotation, shifted, atol=1e-5, rtol=0)


@pytest.mark.parametrize("width", [0, 3])
def test_sinusoids_come_in_pairs(width):
    with pytest.raises(ValueError, match=f"width must be even and at least 2, got {width}"):
        sinusoidal_positions(4, width)


def test_sinusoidal_module_gives_the_rows_asked_for_and_stores_nothing():
    module = SinusoidalPositions(20, 6)
    torch.testing.assert_close(module(5, start=3), sinusoidal_positions(20, 6)[3:8])
    assert not list(module.parameters()) and not module.state_dict()


# learned positions


def test_learned_positions_learn_row_by_row():
    module = LearnedPositions(20, 6, generator=torch.Generator().manual_seed(0))
    module(2, start=3).sum().backward()
    assert module.table.grad.sum(1).tolist() == [0, 0, 0, 6, 6] + [0] * 15


def test_learned_positions_start_small_and_from_their_generator():
    first, second = (LearnedPositions(200, 50, generator=torch.Generator().manual_seed(0)) for _ in range(2))
    assert torch.equal(first.table, second.table)
    assert abs(first.table.std().item() - 0.02) < 0.001


@pytest.mark.parametrize("module", [SinusoidalPositions(20, 6), LearnedPositions(20, 6)])
def test_beyond_the_longest(module):
    assert module(20).shape == (20, 6)
    with pytest.raises(ValueError, match="longest is 20, got a sequence of 21"):
        module(21)
    with pytest.raises(ValueError, match="longest is 20, got a sequence of 22"):
        module(2, start=20)
    with pytest.raises(ValueError, match="start must be at least 0, got -1"):
        module(2, start=-1)


@pytest.mark.parametrize("positions", [sinusoidal_positions(5, 12), LearnedPositions(5, 12)(5).detach()])
def test_positions_break_the_symmetry_of_attention(positions):
    torch.manual_seed(0)
    attention, x, order = MultiHeadAttention(12, 3), torch.randn(1, 5, 12), torch.tensor([3, 0, 4, 1, 2])

    def outputs(x):
        return attention(x, x, x).output

    torch.testing.assert_close(outputs(x[:, order]), outputs(x)[:, order])
    difference = outputs(x[:, order] + positions) - outputs(x + positions)[:, order]
    assert difference.abs().max() > 1e-3


# position encoding of memory networks


def position_encoding_in_numpy(words, width, longest):
    encoding = np.zeros((len(words), longest, width))
    for sentence, J in enumerate(words):
        for j in range(1, J + 1):
            for k in range(1, width + 1):
                encoding[sentence, j - 1, k - 1] = (1 - j / J) - (k / width) * (1 - 2 * j / J)
    return encoding


@pytest.mark.parametrize("longest", [None, 7, 9])
def test_position_encoding_in_numpy(longest):
    words = [7, 1, 0, 4, 6]
    encoding = position_encoding(torch.tensor(words), 20, longest)
    np.testing.assert_allclose(encoding, position_encoding_in_numpy(words, 20, longest or 7), atol=1e-6)


def test_position_encoding_tells_word_orders_apart():
    words = torch.randn(1, 5, 8, generator=torch.Generator().manual_seed(0))
    encoding = position_encoding(torch.tensor([5]), 8)
    forwards, backwards = (encoding * words).sum(1), (encoding * words.flip(1)).sum(1)
    torch.testing.assert_close(words.sum(1), words.flip(1).sum(1))  # a bag of words does not
    assert (forwards - backwards).abs().max() > 0.1


def test_position_encoding_is_the_same_however_far_a_sentence_is_padded():
    short, long = (position_encoding(torch.tensor([3]), 6, longest) for longest in (3, 8))
    assert torch.equal(short, long[:, :3]) and long[:, 3:].eq(0).all()


def test_position_encoding_of_no_sentences():
    assert position_encoding(torch.zeros(0, dtype=torch.long), 6).shape == (0, 0, 6)


def test_position_encoding_of_bad_sizes():
    with pytest.raises(ValueError, match="width must be at least 1, got 0"):
        position_encoding(torch.tensor([3]), 0)
    with pytest.raises(ValueError, match="longest must be at least the 3 words of a sentence, got 2"):
        position_encoding(torch.tensor([1, 3]), 6, 2)


# temporal encoding of memory networks


def test_temporal_encoding_counts_back_from_the_question():
    module = TemporalEncoding(10, 4, generator=torch.Generator().manual_seed(0))
    assert torch.equal(module(6)[:3], module(3))  # the latest sentence has row 0 in every story
    module(3).sum().backward()
    assert module.table.grad.sum(1).tolist() == [4, 4, 4] + [0] * 7


def test_temporal_encoding_starts_as_the_source_does():
    first, second = (TemporalEncoding(200, 50, generator=torch.Generator().manual_seed(0)) for _ in range(2))
    assert torch.equal(first.table, second.table)
    assert abs(first.table.std().item() - 0.1) < 0.005


def test_temporal_encoding_beyond_its_slots():
    with pytest.raises(ValueError, match="longest is 10, got a sequence of 11"):
        TemporalEncoding(10, 4)(11)
