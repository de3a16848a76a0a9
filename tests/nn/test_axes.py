"""The axes written in the signatures are true: every call below is checked against them as it runs."""

import inspect

import jaxtyping
import pytest
import torch
from beartype import beartype

from reasonlib import nn
from reasonlib.nn import attention, decoder, embedding, memory, positions, similarity, transformer

B, T, S, U, D = 2, 3, 4, 5, 6
CONFIG = nn.TransformerConfig(layers=2, width=D, heads=2, hidden=8)


def checked(function):
    return jaxtyping.jaxtyped(function, typechecker=beartype)


@pytest.fixture(autouse=True)
def check_methods(monkeypatch):
    """Check what the modules' methods are given and give."""
    for module in (attention, embedding, positions, transformer):
        for _, kind in inspect.getmembers(module, inspect.isclass):
            if kind.__module__ == module.__name__ and issubclass(kind, torch.nn.Module):
                for name in ("forward", "logits", "project", "attend", "split", "enter", "leave"):
                    if name in vars(kind):
                        monkeypatch.setattr(kind, name, checked(vars(kind)[name]))


def masks(*shape):
    return torch.rand(shape, generator=torch.Generator().manual_seed(0)) < 0.7


@pytest.mark.parametrize("mask", [None, masks(B, S)])
@pytest.mark.parametrize("weigh", [nn.masked_softmax, nn.masked_identity])
def test_readings(mask, weigh):
    weigh = checked(weigh)
    query, keys, index = torch.randn(B, D), torch.randn(U, D), torch.randint(U, (B, S))
    time = torch.randn(S, D)
    checked(memory.read)(query, keys[index], keys[index], mask, weigh=weigh)
    checked(memory.read_shared)(query, keys, keys, index, mask, key_time=time, value_time=time, weigh=weigh)


def test_positions():
    checked(positions.sinusoidal_positions)(T, D)
    checked(positions.position_encoding)(torch.tensor([1, 3]), D)
    for module in (nn.SinusoidalPositions(9, D), nn.LearnedPositions(9, D)):
        assert module(T, start=2).shape == (T, D)
    assert nn.TemporalEncoding(9, D)(S).shape == (S, D)


def test_embedding():
    embed = nn.ScaledEmbedding(9, D, 12)
    assert embed.logits(embed(torch.ones(B, S, T, dtype=torch.long), start=1)).shape == (B, S, T, 9)


@pytest.mark.parametrize("mask", [None, masks(B, T, T), masks(B, 1, T), masks(T, T)])
def test_attention_and_encoder(mask):
    x = torch.randn(B, T, D)
    checked(attention.scaled_dot_product_attention)(x, x, x, mask)
    nn.MultiHeadAttention(D, 2)(x, x, x, mask)
    nn.Encoder(CONFIG)(x, mask)


@pytest.mark.parametrize("memory_mask", [None, masks(B, 1, S), masks(B, T, S)])
def test_decoder(memory_mask):
    x, encoded = torch.randn(B, T, D), torch.randn(B, S, D)
    mask = checked(transformer.padding_mask)(torch.tensor([[1, 2, 0], [3, 4, 5]]))
    checked(transformer.causal_mask)(T, past=2)
    decoder = nn.Decoder(CONFIG)
    past = decoder(x, encoded, mask, memory_mask).past
    last = None if memory_mask is None else memory_mask[:, -1:]
    decoder(x[:, :1], encoded, torch.cat((mask, mask[..., :1]), -1), last, past)


def test_the_check_checks():
    with pytest.raises(jaxtyping.TypeCheckError, match="values"):
        checked(memory.read)(torch.randn(B, D), torch.randn(B, S, D), torch.randn(B, S + 1, D))
    with pytest.raises(jaxtyping.TypeCheckError):
        nn.Encoder(CONFIG)(torch.randn(B, T, D), masks(B, T + 1, T))


def test_every_public_name_is_reexported():
    listed = {
        name
        for module in (attention, decoder, embedding, memory, positions, similarity, transformer)
        for name in module.__all__
    }
    assert listed == set(nn.__all__)
