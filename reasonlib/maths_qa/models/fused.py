"""The layers of `reasonlib.nn` run for training: the same numbers, faster, without attention weights.

`reasonlib.nn.attention` computes every weight of attention, so that a chapter can draw it. Training needs
only the output: PyTorch's own kernel makes it block by block and never stores the weights. The three
projections of self-attention become one multiplication, and a mask that hides nothing is left out.

Axes: B sequences, T tokens, S tokens of the question, D width, H heads, C = D / H.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

from reasonlib.nn import Decoder, DecoderLayer, Encoder, EncoderLayer, MultiHeadAttention

__all__ = ["decode", "encode"]


def encode(
    encoder: Encoder, x: Float[Tensor, "B T D"], mask: Bool[Tensor, "B 1 T"]
) -> Float[Tensor, "B T D"]:
    """Return ``encoder(x, mask).output``; every sequence has a token that may be attended to."""
    seen = None if bool(mask.all()) else mask.unsqueeze(1)
    for layer in encoder.layers:
        x = _encoder_layer(layer, x, seen)  # type: ignore[arg-type]
    return encoder.end(x)


def decode(
    decoder: Decoder,
    x: Float[Tensor, "B T D"],
    memory: Float[Tensor, "B S D"],
    memory_mask: Bool[Tensor, "B 1 S"],
) -> Float[Tensor, "B T D"]:
    """Return ``decoder(x, memory, memory_mask=memory_mask).output``."""
    seen = None if bool(memory_mask.all()) else memory_mask.unsqueeze(1)
    for layer in decoder.layers:
        x = _decoder_layer(layer, x, memory, seen)  # type: ignore[arg-type]
    return decoder.end(x)


def _encoder_layer(
    layer: EncoderLayer, x: Float[Tensor, "B T D"], mask: Bool[Tensor, "B 1 1 T"] | None
) -> Float[Tensor, "B T D"]:
    inner = layer.attention_residual.enter(x)
    x = layer.attention_residual.leave(x, _attend_to_itself(layer.attention, inner, mask=mask))
    inner = layer.feed_forward_residual.enter(x)
    return layer.feed_forward_residual.leave(x, layer.feed_forward(inner))


def _decoder_layer(
    layer: DecoderLayer,
    x: Float[Tensor, "B T D"],
    memory: Float[Tensor, "B S D"],
    memory_mask: Bool[Tensor, "B 1 1 S"] | None,
) -> Float[Tensor, "B T D"]:
    inner = layer.attention_residual.enter(x)
    x = layer.attention_residual.leave(x, _attend_to_itself(layer.attention, inner, causal=True))
    inner = layer.memory_attention_residual.enter(x)
    attention = layer.memory_attention
    keys, values = _project(memory, attention.key, attention.value)
    change = _read(attention, attention.query(inner), keys, values, mask=memory_mask)
    x = layer.memory_attention_residual.leave(x, change)
    inner = layer.feed_forward_residual.enter(x)
    return layer.feed_forward_residual.leave(x, layer.feed_forward(inner))


def _attend_to_itself(
    attention: MultiHeadAttention,
    x: Float[Tensor, "B T D"],
    *,
    mask: Bool[Tensor, "B 1 1 T"] | None = None,
    causal: bool = False,
) -> Float[Tensor, "B T D"]:
    query, keys, values = _project(x, attention.query, attention.key, attention.value)
    return _read(attention, query, keys, values, mask=mask, causal=causal)


def _project(x: Float[Tensor, "B T D"], *layers: torch.nn.Linear) -> tuple[Float[Tensor, "B T D"], ...]:
    """Apply linear layers of one input as one."""
    weight = torch.cat([layer.weight for layer in layers])
    bias = torch.cat([layer.bias for layer in layers])
    return functional.linear(x, weight, bias).chunk(len(layers), -1)


def _read(
    attention: MultiHeadAttention,
    query: Float[Tensor, "B T D"],
    keys: Float[Tensor, "B S D"],
    values: Float[Tensor, "B S D"],
    *,
    mask: Bool[Tensor, "B 1 1 S"] | None = None,
    causal: bool = False,
) -> Float[Tensor, "B T D"]:
    heads = functional.scaled_dot_product_attention(
        attention.split(query),
        attention.split(keys),
        attention.split(values),
        attn_mask=mask,
        dropout_p=attention.dropout if attention.training else 0.0,
        is_causal=causal,
    )
    return attention.output(heads.transpose(1, 2).flatten(2))
