"""Attention as a look-up: hard and soft, saturation, permutations, influence, gradients, cost."""

import math

import pytest
import torch
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from reasonlib.nn import Decoder, Encoder, EncoderLayer, TransformerConfig, sinusoidal_positions
from reasonlib.transformer.models.analysis import (
    gradient_norms,
    influence,
    permutation_gap,
    saturation,
    slope,
)
from reasonlib.transformer.models.cost import attention_memory, attention_seconds, cost, exponent, layer_flops
from reasonlib.transformer.models.lookup import nearest, soft_lookup

SMALL = TransformerConfig(layers=1, width=8, heads=2, hidden=16, dropout=0.0)


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_soft_look_up_is_attention_and_hardens_to_the_nearest_key():
    query, key, value = drawn(5, 8), drawn(7, 8, seed=1), drawn(7, 3, seed=2)
    ours = soft_lookup(query, key, value)
    theirs = functional.scaled_dot_product_attention(query[None], key[None], value[None])[0]
    torch.testing.assert_close(ours.output, theirs)
    hard = nearest(query, key, value)
    torch.testing.assert_close(soft_lookup(query, key, value, temperature=1e-4).output, hard.output)
    even = soft_lookup(query, key, value, temperature=1e6).weights
    torch.testing.assert_close(even, torch.full((5, 7), 1 / 7), atol=1e-4, rtol=0)
    with pytest.raises(ValueError, match="temperature must be above 0, got 0"):
        soft_lookup(query, key, value, temperature=0)


def test_slope_is_the_norm_of_the_jacobian_that_autograd_finds():
    scores = drawn(6)
    jacobian = torch.autograd.functional.jacobian(lambda x: x.softmax(-1), scores)
    torch.testing.assert_close(slope(scores.softmax(-1)), jacobian.norm())


def test_without_the_scale_scores_grow_with_the_root_of_the_width_and_the_slope_dies():
    widths = (4, 64, 256)
    scaled = saturation(widths, queries=400)
    bare = saturation(widths, scaled=False, queries=400)
    for scaled_row, bare_row in zip(scaled, bare, strict=True):
        assert scaled_row.spread == pytest.approx(1, abs=0.05)
        assert bare_row.spread == pytest.approx(math.sqrt(bare_row.width), rel=0.05)
    assert scaled[-1].slope > 0.9 * scaled[0].slope and bare[-1].slope < 0.5 * bare[0].slope
    assert bare[-1].entropy < 0.2 < 0.8 < scaled[-1].entropy
    assert saturation((8,), queries=50, seed=3) == saturation((8,), queries=50, seed=3)


def test_a_shuffled_input_is_told_apart_only_where_positions_were_added():
    encoder = Encoder(SMALL, generator=torch.Generator().manual_seed(0))
    x, places = drawn(2, 6, 8), sinusoidal_positions(6, 8)
    without, order = permutation_gap(lambda x: encoder(x).output, x)
    with_them, _ = permutation_gap(lambda x: encoder(x + places).output, x)
    assert sorted(order.tolist()) == list(range(6)) and order.tolist() != list(range(6))
    assert without < 1e-5 and with_them > 0.1


def test_influence_is_the_mask():
    encoder = Encoder(SMALL, generator=torch.Generator().manual_seed(0))
    decoder = Decoder(SMALL, generator=torch.Generator().manual_seed(0))
    x, memory = drawn(1, 5, 8), drawn(1, 3, 8, seed=1)
    full = influence(lambda x: encoder(x).output, x)
    causal = influence(lambda x: decoder(x, memory).output, x)
    assert (full > 0).all()
    assert torch.equal(causal > 0, torch.ones(5, 5).tril().bool())
    with pytest.raises(ValueError, match=r"x must have shape \(1, T, D\), got \(2, 5, 8\)"):
        influence(lambda x: x, drawn(2, 5, 8))


def test_gradients_grow_to_the_end_after_the_norm_and_fall_inside_the_branch():
    post, pre = gradient_norms("post"), gradient_norms("pre")
    assert len(post) == len(pre) == 12
    assert post[-1] > 1.5 * post[5] and pre[-1] < pre[5] < pre[0]
    assert post[-1] > 2 * pre[-1]
    assert pre == gradient_norms("pre")
    with pytest.raises(ValueError, match="norm must be one of post, pre, got 'none'"):
        gradient_norms("none")


def test_products_are_those_that_torch_counts():
    length, width, heads, hidden = 12, 16, 4, 24
    layer = EncoderLayer(TransformerConfig(layers=1, width=width, heads=heads, hidden=hidden, dropout=0.0))
    with FlopCounterMode(display=False) as counter:
        layer(drawn(1, length, width))
    assert counter.get_total_flops() == layer_flops(length, width=width, heads=heads, hidden=hidden)
    assert cost(length, width=width, heads=heads).weights * 4 == attention_memory(length, heads=heads)
    with pytest.raises(ValueError, match="length must be at least 1, got 0"):
        cost(0)


def test_exponents_are_fitted():
    lengths = (256, 512, 1024)
    assert exponent(lengths, [cost(length).attention for length in lengths]) == pytest.approx(2)
    assert exponent(lengths, [cost(length).feed_forward for length in lengths]) == pytest.approx(1)
    assert all(seconds >= 0 for seconds in attention_seconds((4, 8), repeats=1))
    with pytest.raises(ValueError, match="two or more pairs, got 1 and 2"):
        exponent([1], [1, 2])
    with pytest.raises(ValueError, match="above 0"):
        exponent([1, 2], [0, 2])
