"""Encoder and decoder: `torch.nn` and `transformers` on equal weights, masks, decoding step by step."""

from dataclasses import replace

import pytest
import torch
from drawing import draw
from torch import nn
from torch.nn import functional

from reasonlib.nn import (
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    FeedForward,
    PostNorm,
    PreNorm,
    SinusoidalPositions,
    TransformerConfig,
    causal_mask,
    padding_mask,
)

B, T, S = 3, 5, 6
CONFIG = TransformerConfig(layers=3, width=12, heads=3, hidden=20, dropout=0.1)
PRE = replace(CONFIG, residual=PreNorm, activation=functional.gelu, eps=1e-3)
BOTH = pytest.mark.parametrize("config", [CONFIG, PRE], ids=["post-norm", "pre-norm"])

TOKENS = torch.tensor([[4, 2, 9, 1, 3], [7, 7, 2, 0, 0], [5, 0, 0, 0, 0]])
MEMORY_TOKENS = torch.tensor([[4, 2, 0, 0, 0, 0], [7, 7, 2, 5, 6, 1], [5, 1, 1, 0, 0, 0]])
TORCH_MASKS = {
    "tgt_mask": ~causal_mask(T),
    "tgt_key_padding_mask": TOKENS == 0,
    "memory_key_padding_mask": MEMORY_TOKENS == 0,
}
"""What a decoder of `torch.nn` may not see."""


def settled(module, seed=1):
    """The module in evaluation, double precision, every parameter drawn (norms and biases too)."""
    generator = torch.Generator().manual_seed(seed)
    module.double().eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(0.0, 0.4, generator=generator)
        for part in module.modules():
            if isinstance(part, nn.LayerNorm):
                part.weight += 1
    return module


def ready(kind, config):
    """A decoder or one of its layers, what it reads, and the memory that it attends to."""
    return settled(kind(config)), draw(B, T, config.width), draw(B, S, config.width, seed=1)


def copy_attention(theirs, ours):
    parts = (ours.query, ours.key, ours.value)
    theirs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
    theirs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
    theirs.out_proj.load_state_dict(ours.output.state_dict())


@torch.no_grad()
def torch_layer(kind, ours, config):
    """A layer of `torch.nn` with the weights of ours."""
    theirs = kind(
        config.width,
        config.heads,
        config.hidden,
        activation=config.activation,
        layer_norm_eps=config.eps,
        batch_first=True,
        norm_first=config.residual is PreNorm,
        dtype=torch.float64,
    ).eval()
    copy_attention(theirs.self_attn, ours.attention)
    norms = [ours.attention_residual.norm, ours.feed_forward_residual.norm]
    if kind is nn.TransformerDecoderLayer:
        copy_attention(theirs.multihead_attn, ours.memory_attention)
        norms.insert(1, ours.memory_attention_residual.norm)
    for number, norm in enumerate(norms, start=1):
        getattr(theirs, f"norm{number}").load_state_dict(norm.state_dict())
    theirs.linear1.load_state_dict(ours.feed_forward.wide.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.narrow.state_dict())
    return theirs


def torch_end(ours, config):
    """The norm at the end of a stack of `torch.nn`, or nothing."""
    if config.residual is PostNorm:
        return None
    norm = nn.LayerNorm(config.width, eps=config.eps, dtype=torch.float64)
    norm.load_state_dict(ours.end.state_dict())
    return norm


# masks


def test_causal_mask_after_a_past():
    assert torch.equal(causal_mask(2, past=3), causal_mask(5)[3:])


def test_padding_mask_of_another_id():
    assert padding_mask(torch.tensor([[1, 0, 1]]), pad=1).tolist() == [[[False, True, False]]]


# parity with torch.nn


@BOTH
def test_encoder_layer_is_torchs(config):
    ours, x, mask = settled(EncoderLayer(config)), draw(B, T, config.width), padding_mask(TOKENS)
    theirs = torch_layer(nn.TransformerEncoderLayer, ours, config)
    torch.testing.assert_close(ours(x).output, theirs(x))
    torch.testing.assert_close(ours(x, mask).output, theirs(x, src_key_padding_mask=TOKENS == 0))
    torch.testing.assert_close(ours(x, causal_mask(T)).output, theirs(x, src_mask=~causal_mask(T)))


@BOTH
def test_encoder_is_torchs(config):
    ours, x, mask = settled(Encoder(config)), draw(B, T, config.width), padding_mask(TOKENS)
    norm = torch_end(ours, config)
    layer = torch_layer(nn.TransformerEncoderLayer, ours.layers[0], config)
    theirs = nn.TransformerEncoder(layer, config.layers, norm, enable_nested_tensor=False).eval()
    theirs.layers = nn.ModuleList(
        torch_layer(nn.TransformerEncoderLayer, layer, config) for layer in ours.layers
    )
    encoded = ours(x, mask)
    torch.testing.assert_close(encoded.output, theirs(x, src_key_padding_mask=TOKENS == 0))


@BOTH
def test_decoder_layer_is_torchs(config):
    ours, x, memory = ready(DecoderLayer, config)
    theirs = torch_layer(nn.TransformerDecoderLayer, ours, config)
    torch.testing.assert_close(ours(x, memory).output, theirs(x, memory))
    expected = theirs(x, memory, **TORCH_MASKS)
    mask = causal_mask(T) & padding_mask(TOKENS)
    torch.testing.assert_close(ours(x, memory, mask, padding_mask(MEMORY_TOKENS)).output, expected)


@BOTH
def test_decoder_is_torchs(config):
    ours, x, memory = ready(Decoder, config)
    norm = torch_end(ours, config)
    theirs = nn.TransformerDecoder(
        torch_layer(nn.TransformerDecoderLayer, ours.layers[0], config), config.layers, norm
    )
    theirs.layers = nn.ModuleList(
        torch_layer(nn.TransformerDecoderLayer, layer, config) for layer in ours.layers
    )
    expected = theirs.eval()(x, memory, **TORCH_MASKS)
    decoded = ours(x, memory, padding_mask(TOKENS), padding_mask(MEMORY_TOKENS))
    torch.testing.assert_close(decoded.output, expected)


# parity with transformers


@pytest.fixture(scope="module")
def bert():
    """A tiny BERT with drawn weights, and our encoder with the same."""
    from transformers import BertConfig, BertModel

    sizes = BertConfig(
        vocab_size=11,
        hidden_size=12,
        num_hidden_layers=3,
        num_attention_heads=3,
        intermediate_size=20,
        max_position_embeddings=8,
        attn_implementation="eager",
    )
    theirs = settled(BertModel(sizes, add_pooling_layer=False))
    ours = Encoder(replace(CONFIG, activation=functional.gelu, eps=sizes.layer_norm_eps)).double().eval()
    for layer, part in zip(ours.layers, theirs.encoder.layer, strict=True):
        for mine, other in [
            (layer.attention.query, part.attention.self.query),
            (layer.attention.key, part.attention.self.key),
            (layer.attention.value, part.attention.self.value),
            (layer.attention.output, part.attention.output.dense),
            (layer.attention_residual.norm, part.attention.output.LayerNorm),
            (layer.feed_forward.wide, part.intermediate.dense),
            (layer.feed_forward.narrow, part.output.dense),
            (layer.feed_forward_residual.norm, part.output.LayerNorm),
        ]:
            mine.load_state_dict(other.state_dict())
    return theirs, ours


@torch.no_grad()
@pytest.mark.parametrize("padded", [False, True])
def test_encoder_is_berts(bert, padded):
    theirs, ours = bert
    tokens = TOKENS if padded else TOKENS.clamp(min=1)
    expected = theirs(tokens, (tokens != 0).long(), output_hidden_states=True, output_attentions=True)
    encoded = ours(theirs.embeddings(tokens), padding_mask(tokens))
    torch.testing.assert_close(encoded.output, expected.last_hidden_state)
    for state, other in zip(encoded.states, expected.hidden_states, strict=True):
        torch.testing.assert_close(state, other)
    for attended, other in zip(encoded.attention, expected.attentions, strict=True):
        torch.testing.assert_close(attended.weights, other)


# what is returned


@BOTH
def test_encoder_returns_all_it_did(config):
    encoder, x = settled(Encoder(config)), draw(B, T, config.width)
    encoded = encoder(x, padding_mask(TOKENS))
    assert len(encoded.states) == config.layers + 1 and torch.equal(encoded.states[0], x)
    for layer, before, after, attention in zip(
        encoder.layers, encoded.states, encoded.states[1:], encoded.attention, strict=False
    ):
        repeated = layer(before, padding_mask(TOKENS))
        assert torch.equal(repeated.output, after)
        assert torch.equal(repeated.attention.weights, attention.weights)
        assert attention.weights.shape == (B, config.heads, T, T)
        assert attention.heads.shape == (B, config.heads, T, config.width // config.heads)
    assert torch.equal(encoded.output, encoder.end(encoded.states[-1]))


@BOTH
def test_decoder_returns_all_it_did(config):
    decoder, x, memory = ready(Decoder, config)
    decoded = decoder(x, memory)
    assert len(decoded.states) == config.layers + 1
    assert len(decoded.attention) == len(decoded.memory_attention) == len(decoded.past) == config.layers
    for attention, memory_attention in zip(decoded.attention, decoded.memory_attention, strict=True):
        assert attention.weights.shape == (B, config.heads, T, T)
        assert attention.weights.triu(1).eq(0).all()
        assert memory_attention.weights.shape == (B, config.heads, T, S)
        torch.testing.assert_close(memory_attention.weights.sum(-1), torch.ones(B, 3, T).double())


# mathematics


@BOTH
def test_padding_leaks_nothing(config):
    encoder, x = settled(Encoder(config)), draw(B, T, config.width)
    present = TOKENS != 0
    before = encoder(x, padding_mask(TOKENS)).output[present]
    after = encoder(x.masked_fill(~present[..., None], 1e3), padding_mask(TOKENS)).output[present]
    assert torch.equal(before, after)


@BOTH
def test_padding_changes_nothing(config):
    encoder, x = settled(Encoder(config)), draw(1, 3, config.width)
    padded = torch.cat((x, draw(1, 4, config.width, seed=3)), dim=1)
    mask = padding_mask(torch.tensor([[1, 1, 1, 0, 0, 0, 0]]))
    torch.testing.assert_close(encoder(padded, mask).output[:, :3], encoder(x).output)


@BOTH
def test_the_future_leaks_nothing(config):
    decoder, x, memory = ready(Decoder, config)
    before = decoder(x, memory).output
    x[:, 3:] = 1e3
    after = decoder(x, memory).output
    assert torch.equal(before[:, :3], after[:, :3])
    assert (before[:, 3:] - after[:, 3:]).abs().max() > 0.1


@BOTH
def test_hidden_memory_leaks_nothing(config):
    decoder, x, memory = ready(Decoder, config)
    mask = padding_mask(MEMORY_TOKENS)
    before = decoder(x, memory, memory_mask=mask).output
    after = decoder(x, memory.masked_fill(~mask.mT, 1e3), memory_mask=mask).output
    assert torch.equal(before, after)
    assert (decoder(x, memory).output - before).abs().max() > 0.1


@BOTH
def test_permuted_tokens_give_permuted_states(config):
    encoder, x, order = settled(Encoder(config)), draw(B, T, config.width), torch.tensor([3, 0, 4, 1, 2])
    torch.testing.assert_close(encoder(x[:, order]).output, encoder(x).output[:, order])
    positions = SinusoidalPositions(T, config.width).double()(T)
    difference = encoder(x[:, order] + positions).output - encoder(x + positions).output[:, order]
    assert difference.abs().max() > 0.1


def test_fresh_layers_keep_the_scale():
    x = draw(B, T, CONFIG.width)
    post = Encoder(CONFIG, generator=torch.Generator().manual_seed(0)).double().eval()(x).output
    torch.testing.assert_close(post.mean(-1), torch.zeros(B, T).double())
    torch.testing.assert_close(post.var(-1, correction=0), torch.ones(B, T).double(), atol=1e-3, rtol=0)


def test_feed_forward_treats_positions_alike():
    part, x = settled(FeedForward(12, 20)), draw(B, T, 12)
    hidden = (x @ part.wide.weight.T + part.wide.bias).clamp(min=0)
    torch.testing.assert_close(part(x), hidden @ part.narrow.weight.T + part.narrow.bias)
    torch.testing.assert_close(part(x)[:, 2:3], part(x[:, 2:3]))


def test_residual_of_nothing():
    x, zero = draw(B, T, 12), torch.zeros(B, T, 12).double()
    pre, post = PreNorm(12, 0.0).double(), PostNorm(12, 0.0).double()
    assert torch.equal(pre.leave(x, zero), x)
    torch.testing.assert_close(post.leave(x, zero), functional.layer_norm(x, (12,)))


# decoding step by step


@BOTH
@pytest.mark.parametrize("steps", [(1, 1, 1, 1, 1), (2, 3), (4, 1)])
def test_step_by_step_is_all_at_once(config, steps):
    decoder, x, memory = ready(Decoder, config)
    mask, memory_mask = padding_mask(TOKENS), padding_mask(MEMORY_TOKENS)
    whole = decoder(x, memory, mask, memory_mask)
    past, done = None, 0
    for step in steps:
        now = done + step
        decoded = decoder(x[:, done:now], memory, mask[..., :now], memory_mask, past)
        past = decoded.past
        torch.testing.assert_close(decoded.output, whole.output[:, done:now])
        torch.testing.assert_close(
            decoded.attention[1].weights, whole.attention[1].weights[:, :, done:now, :now]
        )
        done = now
        assert past[0].length == done


@BOTH
def test_a_beam_selects_its_past(config):
    decoder, x, memory = ready(Decoder, config)
    rows = torch.tensor([2, 2, 0])
    past = tuple(layer.select(rows) for layer in decoder(x[:, :3], memory).past)
    chosen = torch.cat((x[rows, :3], x[:, 3:4]), dim=1)
    stepped = decoder(x[:, 3:4], memory[rows], past=past).output
    torch.testing.assert_close(stepped, decoder(chosen, memory[rows]).output[:, 3:])


def test_a_mask_that_forgets_the_past_is_refused():
    decoder, x, memory = ready(Decoder, CONFIG)
    past = decoder(x[:, :3], memory).past
    with pytest.raises(ValueError, match="mask must cover 4 past and new tokens, got 1"):
        decoder(x[:, 3:4], memory, padding_mask(TOKENS[:, 3:4]), past=past)


# contract


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"layers": 0}, "layers must be at least 1, got 0"),
        ({"hidden": -1}, "hidden must be at least 1, got -1"),
        ({"heads": 5}, "width must be a multiple of heads=5, got 512"),
        ({"dropout": 1.5}, r"dropout must be at least 0 and below 1, got 1\.5"),
    ],
)
def test_bad_sizes(wrong, message):
    with pytest.raises(ValueError, match=message):
        TransformerConfig(**wrong)


def test_the_base_model_of_the_source_has_its_size():
    """Section 3.1 with table 3: 63 million parameters with an embedding of 37,000 tokens shared by all."""
    with torch.device("meta"):
        parts = Encoder(TransformerConfig()), Decoder(TransformerConfig())
    count = sum(parameter.numel() for part in parts for parameter in part.parameters())
    assert abs(count + 37_000 * 512 - 63e6) < 1e6


@BOTH
def test_every_parameter_gets_a_gradient(config):
    encoder, decoder = Encoder(config).double().eval(), Decoder(config).double().eval()
    memory = encoder(draw(B, S, config.width)).output
    decoder(draw(B, T, config.width, seed=1), memory).output.pow(3).sum().backward()
    for part in (encoder, decoder):
        for name, parameter in part.named_parameters():
            if not name.endswith("attention.key.bias"):  # the softmax takes it out
                assert parameter.grad.abs().max() > 1e-9, name


def test_same_generator_same_weights_same_outputs():
    def output(seed):
        return (
            Encoder(CONFIG, generator=torch.Generator().manual_seed(seed))
            .double()
            .eval()(draw(B, T, 12))
            .output
        )

    assert torch.equal(output(0), output(0)) and not torch.equal(output(0), output(1))


# learning


@pytest.mark.parametrize("residual", [PostNorm, PreNorm])
def test_a_decoder_learns_to_read_its_memory_backwards(residual):
    """Reversal needs attention to the memory by position; with the memory hidden it is a guess."""
    config = TransformerConfig(layers=1, width=32, heads=2, hidden=32, dropout=0.0, residual=residual)
    generator = torch.Generator().manual_seed(0)
    symbols, length = 8, 5
    encoder, decoder = (kind(config, generator=generator) for kind in (Encoder, Decoder))
    embed = nn.Parameter(torch.randn(symbols + 1, config.width, generator=generator) * 0.3)  # the last begins
    places = SinusoidalPositions(length, config.width)(length)
    parameters = [embed, *encoder.parameters(), *decoder.parameters()]
    optimiser = torch.optim.Adam(parameters, lr=5e-3)

    def logits(source, target, memory_mask=None):
        begun = torch.cat((torch.full_like(target[:, :1], symbols), target[:, :-1]), dim=1)
        memory = encoder(embed[source] + places).output
        return decoder(embed[begun] + places, memory, memory_mask=memory_mask).output @ embed[:symbols].T

    def batch(size):
        source = torch.randint(symbols, (size, length), generator=generator)
        return source, source.flip(1)

    for _ in range(250):
        source, target = batch(64)
        loss = functional.cross_entropy(logits(source, target).flatten(0, 1), target.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    source, target = batch(500)
    nothing = torch.zeros(1, 1, length, dtype=torch.bool)
    with torch.no_grad():
        assert (logits(source, target).argmax(-1) == target).double().mean() > 0.97
        assert (logits(source, target, nothing).argmax(-1) == target).double().mean() < 0.4
