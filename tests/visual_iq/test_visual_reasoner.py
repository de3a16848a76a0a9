"""The reasoner: its equations written out, what may change places, what each part sees."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from reasonlib.nn.transformer import Encoder, PreNorm, TransformerConfig
from reasonlib.visual_iq.data.encoding import STREAMS, TokenSet
from reasonlib.visual_iq.data.example import KEYS, Problems
from reasonlib.visual_iq.data.simulator import simulate
from reasonlib.visual_iq.models.reasoner import Reasoner, ReasonerConfig, encode_fused

PARTS = {
    "whole": {},
    "no entity encoder": {"entity_layers": 0},
    "no panel encoder": {"panel_layers": 0},
    "neither": {"entity_layers": 0, "panel_layers": 0},
    "no contrast": {"contrast": False},
    "no separators": {"separators": False},
    "no context": {"context": False},
}


@pytest.fixture(scope="module")
def problems():
    return Problems.concatenate([simulate(key, 3, seed=5) for key in KEYS])


@pytest.fixture(scope="module")
def model():
    return settled(Reasoner(seed=1))


def settled(model, seed=1):
    """The model in double precision, every parameter drawn (norms and biases too)."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.double().eval().named_parameters():
            parameter.normal_(0.0, 0.2, generator=generator)
            if name.endswith("norm.weight"):
                parameter += 1
    return model


@torch.no_grad()
def logits(model, problems, items=None):
    token_set = TokenSet.from_problems(problems)
    return model(token_set.batch(range(len(token_set)) if items is None else items)).logits


# The equations, written out with arrays alone


def transformer(x, layers, heads):
    """Vaswani et al. (2017), section 3, one sequence (T, D)."""

    def dense(x, part):
        return x @ part.weight.detach().numpy().T + part.bias.detach().numpy()

    def norm(x, part):
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        return x * part.weight.detach().numpy() + part.bias.detach().numpy()

    weights = []
    for layer in layers:
        attention = layer.attention
        query, key, value = (dense(x, part) for part in (attention.query, attention.key, attention.value))
        width = x.shape[1] // heads
        outputs = []
        for head in range(heads):
            columns = slice(head * width, (head + 1) * width)
            match = query[:, columns] @ key[:, columns].T / math.sqrt(width)
            share = np.exp(match) / np.exp(match).sum(1, keepdims=True)
            outputs.append(share @ value[:, columns])
            weights.append(share)
        x = norm(x + dense(np.concatenate(outputs, 1), attention.output), layer.attention_residual.norm)
        inner = dense(np.maximum(dense(x, layer.feed_forward.wide), 0), layer.feed_forward.narrow)
        x = norm(x + inner, layer.feed_forward_residual.norm)
    return x, weights


def by_hand(model, token_set, number):
    """Equations 3.1 to 3.5 for one problem, one panel and one stream at a time."""
    config = model.config
    tokens, places = (table.weight.detach().numpy() for table in (model.panel.tokens, model.panel.places))
    rows = [(row, position) for table in zip(token_set.tokens, token_set.places, strict=True)
            for row, position in zip(*table, strict=True)]  # fmt: skip
    row, item, kind = (getattr(model.segments, name).detach().numpy() for name in ("row", "item", "kind"))
    streams, attention = [], []
    for stream in range(len(STREAMS)):
        panels = []
        for panel in range(16):
            words, positions = rows[token_set.index[number, panel, stream]]
            entities = tokens[words] + places[positions]
            encoded, _ = transformer(entities, model.panel.encoder.layers, config.entity_heads)  # 3.1
            panels.append(encoded.sum(0))  # 3.2
        sequence = []
        for cell in range(8):
            sequence.append(panels[cell] + row[cell // 3] + item[cell % 3] + kind[0])
            if cell in (2, 5):
                sequence.append(model.segments.separator.detach().numpy())
        sequence += [panels[cell] + row[2] + item[2] + kind[1] for cell in range(8, 16)]
        encoded, weights = transformer(np.stack(sequence), model.encoder.layers, config.panel_heads)  # 3.3
        streams.append(encoded[-8:])
        attention.append(weights)
    candidates = np.concatenate(streams, 1)  # 3.4

    def mlp(x, parts):
        first, second = (
            (part.weight.detach().numpy(), part.bias.detach().numpy()) for part in (parts[0], parts[2])
        )
        return np.maximum(x @ first[0].T + first[1], 0) @ second[0].T + second[1]

    contrast = candidates - mlp(candidates.sum(0), model.contrast.aggregate)  # 3.5
    return mlp(contrast, model.output)[:, 0], attention


def test_the_reasoner_is_its_equations(model, problems):
    token_set = TokenSet.from_problems(problems)
    with torch.no_grad():
        output = model(token_set.batch(range(len(token_set))), attention=True)
    for number in range(0, len(token_set), 2):
        expected, attention = by_hand(model, token_set, number)
        np.testing.assert_allclose(output.logits[number].numpy(), expected, rtol=1e-9, atol=1e-11)
        for layer in range(4):
            for head in range(4):
                np.testing.assert_allclose(
                    output.attention[layer][number, :, head].numpy(),
                    np.stack([stream[4 * layer + head] for stream in attention]),
                    atol=1e-12,
                )


@pytest.mark.parametrize("residual", [{}, {"residual": PreNorm}], ids=["post-norm", "pre-norm"])
def test_the_fused_encoder_is_the_encoder(residual):
    encoder = settled(Encoder(TransformerConfig(layers=3, width=12, heads=3, hidden=20, **residual)))
    x = torch.randn(4, 7, 12, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.testing.assert_close(encode_fused(encoder, x), encoder(x).output)


# What may change places


def test_candidates_change_places_with_their_scores(model, problems):
    order = np.array([5, 2, 7, 0, 1, 6, 3, 4])
    entities = problems.entities.copy()
    entities[:, 8:] = entities[:, 8:][:, order]
    moved = replace(problems, entities=entities)
    torch.testing.assert_close(logits(model, moved), logits(model, problems)[:, order])


def test_the_order_of_slots_is_nothing_but_their_places(model, problems):
    token_set = TokenSet.from_problems(problems)
    batch = token_set.batch(range(len(token_set)))
    generator = torch.Generator().manual_seed(0)
    sequences = tuple(
        type(sequence)(sequence.tokens[:, order], sequence.places[:, order])
        for sequence in batch.sequences
        for order in (torch.randperm(sequence.tokens.shape[1], generator=generator),)
    )
    with torch.no_grad():
        shuffled = model(replace(batch, sequences=sequences)).logits
        torch.testing.assert_close(shuffled, model(batch).logits)


def test_a_place_matters(model, problems):
    nine = problems[problems.configuration == KEYS.index("distribute_nine")]
    turned = replace(nine, entities=nine.entities[:, :, ::-1])
    assert (logits(model, nine) - logits(model, turned)).abs().max() > 1e-3


def test_swapped_rows_are_other_input_and_without_row_embeddings_the_same(problems):
    model = settled(Reasoner(seed=2))
    token_set = TokenSet.from_problems(problems)
    every = np.ones(len(token_set), dtype=bool)
    plain, swapped = token_set.batch(range(len(token_set))), token_set.batch(range(len(token_set)), every)
    with torch.no_grad():
        assert (model(plain).logits - model(swapped).logits).abs().max() > 1e-4
        model.segments.row.zero_()
        torch.testing.assert_close(model(plain).logits, model(swapped).logits)


# What each part sees


def test_without_the_panel_encoder_or_the_context_only_candidates_count(problems):
    other = replace(problems, entities=problems.entities.copy())
    other.entities[:, :8] = other.entities[::-1, :8] * 0
    for name, parts in PARTS.items():
        model = settled(Reasoner(ReasonerConfig(**parts)))
        same = torch.allclose(logits(model, problems), logits(model, other), atol=1e-5)
        assert same == (name in ("no panel encoder", "neither", "no context")), name


def test_without_contrast_and_panel_encoder_a_candidate_is_scored_alone(problems):
    model = settled(Reasoner(ReasonerConfig(contrast=False, panel_layers=0)))
    other = replace(problems, entities=problems.entities.copy())
    other.entities[:, 9:] = 0
    torch.testing.assert_close(logits(model, problems)[:, 0], logits(model, other)[:, 0])
    model = settled(Reasoner(ReasonerConfig(panel_layers=0)))
    assert (logits(model, problems)[:, 0] - logits(model, other)[:, 0]).abs().max() > 1e-4


# Contract


@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)
def test_shapes_and_gradients(parts, problems):
    model = Reasoner(ReasonerConfig(**parts))
    token_set = TokenSet.from_problems(problems)
    batch = token_set.batch([0, 9, 20])
    output = model(batch, attention=True)
    assert output.logits.shape == (3, 8) and output.logits.dtype == torch.float32
    tokens = (
        8
        + (8 if model.config.context else 0)
        + (2 if model.config.separators and model.config.context else 0)
    )
    assert [weights.shape for weights in output.attention] == [
        (3, 5, 4, tokens, tokens)
    ] * model.config.panel_layers
    assert model(batch).attention == ()
    torch.testing.assert_close(model(batch).logits, output.logits)
    model.loss(batch).backward()
    unused = {name for name, parameter in model.named_parameters() if parameter.grad is None}
    blind = not model.config.context
    assert unused == ({"segments.separator"} if blind and model.config.separators else set())


def test_the_sizes_are_those_of_the_source():
    model = Reasoner()
    assert [len(model.panel.encoder.layers), len(model.encoder.layers)] == [2, 4]
    assert [model.panel.encoder.config.heads, model.encoder.config.heads] == [2, 4]
    assert model.panel.tokens.embedding_dim == model.panel.places.embedding_dim == 32
    assert {model.panel.encoder.config.hidden, model.encoder.config.hidden} == {64}


def test_a_seed_is_a_model():
    first, same, other = (Reasoner(seed=seed).state_dict() for seed in (3, 3, 4))
    assert all(torch.equal(first[name], same[name]) for name in first)
    assert not torch.equal(first["panel.tokens.weight"], other["panel.tokens.weight"])


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"entity_layers": -1}, "entity_layers must be at least 0, got -1"),
        ({"panel_layers": -2}, "panel_layers must be at least 0, got -2"),
        ({"loss": "hinge"}, "loss must be one of bce, ce, got 'hinge'"),
        ({"output": 0}, "output must be at least 1, got 0"),
        ({"width": 30}, "width must be a multiple of heads=4, got 30"),
    ],
)
def test_a_wrong_size_is_named(bad, message):
    with pytest.raises(ValueError, match=message):
        ReasonerConfig(**bad)
