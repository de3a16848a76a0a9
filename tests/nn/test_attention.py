"""Attention: against NumPy and `torch.nn`, its masks, its symmetries, and what it can learn."""

import math

import numpy as np
import pytest
import torch
from drawing import draw
from torch import nn

from reasonlib.nn import (
    KeyValues,
    MultiHeadAttention,
    initialise,
    masked_softmax,
    scaled_dot_product_attention,
)

B, TQ, TK, D, H = 3, 4, 5, 12, 3


def mask_with_an_empty_row():
    mask = torch.rand(B, TQ, TK, generator=torch.Generator().manual_seed(5)) < 0.6
    mask[..., 0] = True
    mask[1, 2] = False
    return mask


@pytest.fixture
def ours():
    module = MultiHeadAttention(D, H).double().eval()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(0.0, 0.5, generator=generator)
    return module


@pytest.fixture
def theirs(ours):
    """`torch.nn.MultiheadAttention` with the same weights."""
    module = nn.MultiheadAttention(D, H, batch_first=True).double().eval()
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.cat([part.weight for part in (ours.query, ours.key, ours.value)]))
        module.in_proj_bias.copy_(torch.cat([part.bias for part in (ours.query, ours.key, ours.value)]))
        module.out_proj.load_state_dict(ours.output.state_dict())
    return module


# masked softmax


def test_softmax_over_what_the_mask_leaves():
    scores, mask = draw(4, 6), torch.tensor([[True, True, False, True, False, False]])
    weights = masked_softmax(scores, mask)
    torch.testing.assert_close(weights[:, mask[0]], scores[:, mask[0]].softmax(-1))
    assert (weights[:, ~mask[0]] == 0).all()
    torch.testing.assert_close(masked_softmax(scores), scores.softmax(-1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_an_empty_row_gives_zeros_and_zero_gradients(dtype):
    scores = torch.tensor([[3.0, -2.0], [1.0, 5.0]], dtype=dtype, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):  # no NaN on the way either
        weights = masked_softmax(scores, torch.tensor([[False, False], [True, True]]))
        (weights * torch.tensor([1.0, 2.0], dtype=dtype)).sum().backward()
    assert weights[0].tolist() == [0.0, 0.0]
    assert scores.grad[0].tolist() == [0.0, 0.0]
    assert scores.grad[1].isfinite().all() and (scores.grad[1] != 0).all()


def test_scores_of_any_size_are_weighed():
    scores = torch.tensor([[-1e30, -2e30, 1e30], [1e30, 0.0, -1e30]])
    weights = masked_softmax(scores, torch.tensor([[True, True, False]]))
    assert weights.tolist() == [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]


def test_a_mask_that_is_not_boolean_is_refused():
    with pytest.raises(ValueError, match=r"mask must be boolean.*got torch\.float32"):
        masked_softmax(torch.zeros(2, 3), torch.ones(2, 3))


# scaled dot-product attention


def attention_in_numpy(query, key, value, mask):
    output, weights = np.zeros((B, TQ, value.shape[-1])), np.zeros((B, TQ, TK))
    for b in range(B):
        for q in range(TQ):
            seen = np.flatnonzero(mask[b, q])
            if len(seen):
                scores = np.array([query[b, q] @ key[b, k] for k in seen]) / np.sqrt(query.shape[-1])
                shares = np.exp(scores) / np.exp(scores).sum()
                weights[b, q, seen] = shares
                output[b, q] = sum(share * value[b, k] for share, k in zip(shares, seen, strict=True))
    return output, weights


def test_equation_one_in_numpy():
    query, key, value = draw(B, TQ, 6), draw(B, TK, 6, seed=1), draw(B, TK, 7, seed=2)
    mask = mask_with_an_empty_row()
    output, weights = scaled_dot_product_attention(query, key, value, mask)
    expected = attention_in_numpy(query.numpy(), key.numpy(), value.numpy(), mask.numpy())
    np.testing.assert_allclose(output, expected[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(weights, expected[1], rtol=1e-12, atol=1e-12)
    assert output[1, 2].eq(0).all()


def test_same_as_torch_with_any_leading_axes():
    query, key, value = draw(2, B, TQ, 6), draw(2, B, TK, 6, seed=1), draw(2, B, TK, 7, seed=2)
    mask = torch.ones(TQ, TK, dtype=torch.bool).tril()
    expected = nn.functional.scaled_dot_product_attention(query, key, value, mask)
    torch.testing.assert_close(scaled_dot_product_attention(query, key, value, mask).output, expected)


def test_gradients():
    inputs = [draw(2, 3, 2, seed=seed, requires_grad=True) for seed in range(3)]
    mask = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])
    assert torch.autograd.gradcheck(lambda *given: tuple(scaled_dot_product_attention(*given, mask)), inputs)


def test_dropout_thins_the_output_and_not_the_reported_weights():
    torch.manual_seed(0)
    query, key, value = draw(1, 200, 4), draw(1, 50, 4, seed=1), torch.ones(1, 50, 1, dtype=torch.float64)
    output, weights = scaled_dot_product_attention(query, key, value, dropout=0.5)
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, 200, dtype=torch.float64))
    assert output.std() > 0.05  # ones all over without dropout
    assert abs(output.mean() - 1) < 0.05  # right on average


# multi-head attention


def test_shapes_and_types(ours):
    output, weights, heads = ours(draw(B, TQ, D), draw(B, TK, D), draw(B, TK, D))
    assert output.shape == (B, TQ, D) and output.dtype == torch.float64
    assert weights.shape == (B, H, TQ, TK)
    assert heads.shape == (B, H, TQ, D // H)


def test_same_as_torch(ours, theirs):
    query, key, value = draw(B, TQ, D), draw(B, TK, D, seed=1), draw(B, TK, D, seed=2)
    attended = ours(query, key, value)
    output, weights = theirs(query, key, value, average_attn_weights=False)
    torch.testing.assert_close(attended.output, output)
    torch.testing.assert_close(attended.weights, weights)


def test_same_as_torch_under_masks(ours, theirs):
    query, key, value = draw(B, TQ, D), draw(B, TK, D, seed=1), draw(B, TK, D, seed=2)
    present = torch.arange(TK) < torch.tensor([[5], [2], [3]])
    allowed = torch.ones(TQ, TK, dtype=torch.bool).tril()
    attended = ours(query, key, value, present.unsqueeze(1) & allowed)
    output, weights = theirs(
        query, key, value, key_padding_mask=~present, attn_mask=~allowed, average_attn_weights=False
    )
    torch.testing.assert_close(attended.output, output)
    torch.testing.assert_close(attended.weights, weights)


def test_output_is_the_heads_joined_and_projected(ours):
    x = draw(B, TQ, D)
    output, weights, heads = ours(x, x, x)
    value = ours.value(x).view(B, TQ, H, D // H)
    for head in range(H):
        torch.testing.assert_close(heads[:, head], weights[:, head] @ value[:, :, head])
    torch.testing.assert_close(output, ours.output(torch.cat(heads.unbind(1), dim=-1)))


def test_one_head_with_identity_maps_is_equation_one():
    module = MultiHeadAttention(D, 1).double()
    with torch.no_grad():
        for part in (module.query, module.key, module.value, module.output):
            part.weight.copy_(torch.eye(D))
            part.bias.zero_()
    query, key, value = draw(B, TQ, D), draw(B, TK, D, seed=1), draw(B, TK, D, seed=2)
    attended, plain = module(query, key, value), scaled_dot_product_attention(query, key, value)
    torch.testing.assert_close(attended.output, plain.output)
    torch.testing.assert_close(attended.weights[:, 0], plain.weights)


def test_weights_sum_to_one_where_anything_is_seen(ours):
    mask = mask_with_an_empty_row()
    _, weights, heads = ours(draw(B, TQ, D), draw(B, TK, D), draw(B, TK, D), mask)
    sums = mask.any(-1).double().unsqueeze(1).expand(B, H, TQ)
    torch.testing.assert_close(weights.sum(-1), sums)
    assert (weights >= 0).all() and heads[1, :, 2].eq(0).all()


def test_a_hidden_token_leaks_nothing(ours):
    query, key, value = draw(B, TQ, D), draw(B, TK, D, seed=1), draw(B, TK, D, seed=2)
    mask = torch.ones(B, 1, TK, dtype=torch.bool)
    mask[..., 3] = False
    before = ours(query, key, value, mask)
    key[:, 3], value[:, 3] = 1e6, -1e6
    after = ours(query, key, value, mask)
    assert all(torch.equal(first, second) for first, second in zip(before, after, strict=True))
    assert not torch.equal(ours(query, key, value).output, before.output)


def test_permuted_tokens_give_permuted_outputs(ours):
    x, order = draw(B, TK, D), torch.tensor([3, 0, 4, 1, 2])
    plain, permuted = ours(x, x, x), ours(x[:, order], x[:, order], x[:, order])
    torch.testing.assert_close(permuted.output, plain.output[:, order])
    torch.testing.assert_close(permuted.weights, plain.weights[:, :, order][..., order])


def test_projected_once_attended_often(ours):
    query, memory = draw(B, TQ, D), draw(B, TK, D, seed=1)
    projected = ours.project(memory[:, :2], memory[:, :2]).then(ours.project(memory[:, 2:], memory[:, 2:]))
    assert isinstance(projected, KeyValues)
    for actual, expected in zip(ours.attend(query, projected), ours(query, memory, memory), strict=True):
        torch.testing.assert_close(actual, expected)
    rows = torch.tensor([2, 0, 0])
    torch.testing.assert_close(
        ours.attend(query, projected.select(rows)).output, ours(query, memory[rows], memory[rows]).output
    )


def test_every_parameter_gets_a_gradient(ours):
    x = draw(B, TK, D)
    ours(x, x, x).output.square().sum().backward()
    for name, parameter in ours.named_parameters():
        if name == "key.bias":  # the same for every key, so the softmax takes it out
            assert parameter.grad.abs().max() < 1e-9
        else:
            assert parameter.grad.abs().max() > 1e-3, name


def test_dropout_only_in_training():
    torch.manual_seed(0)
    module, x = MultiHeadAttention(D, H, dropout=0.5).double(), draw(B, TK, D)
    assert not torch.equal(module(x, x, x).output, module(x, x, x).output)
    module.eval()
    assert torch.equal(module(x, x, x).output, module(x, x, x).output)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((12, 0), "heads must be at least 1, got 0"),
        ((12, 5), "width must be a multiple of heads=5, got 12"),
        ((0, 1), "width must be a multiple of heads=1, got 0"),
        ((12, 3, 1.0), r"dropout must be at least 0 and below 1, got 1\.0"),
    ],
)
def test_bad_sizes(arguments, message):
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention(*arguments)


def test_a_wrong_width_is_named(ours):
    right, wrong = draw(B, TK, D), draw(B, TK, D + 1)
    for index, name in enumerate(["query", "key", "value"]):
        given = [right, right, right]
        given[index] = wrong
        with pytest.raises(ValueError, match=rf"{name} must have shape \(B, T, 12\), got \(3, 5, 13\)"):
            ours(*given)


# learning


class Recall(nn.Module):
    """Find the value that stands beside the asked key, by attention or by the mean of all pairs."""

    def __init__(self, keys, values, width, *, by_attention):
        super().__init__()
        self.key, self.value = nn.Embedding(keys, width), nn.Embedding(values, width)
        self.attention = MultiHeadAttention(width, 1)
        self.answer = nn.Sequential(nn.Linear(2 * width, 64), nn.ReLU(), nn.Linear(64, values))
        self.by_attention = by_attention

    def forward(self, keys, values, query):
        question, value = self.key(query), self.value(values)
        pairs = self.key(keys) + value
        if self.by_attention:
            context = self.attention(question.unsqueeze(1), pairs, pairs).output.squeeze(1)
        else:
            context = pairs.mean(1)
        return self.answer(torch.cat((context, question), dim=-1))


def accuracy_of_recall(*, by_attention, keys=12, values=4, pairs=6, steps=300):
    generator = torch.Generator().manual_seed(0)

    def batch(size):
        key_ids = torch.rand(size, keys, generator=generator).argsort(1)[:, :pairs]  # distinct keys
        value_ids = torch.randint(values, (size, pairs), generator=generator)
        index = torch.randint(pairs, (size, 1), generator=generator)
        queries, labels = (ids.gather(1, index).squeeze(1) for ids in (key_ids, value_ids))
        return (key_ids, value_ids, queries), labels

    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Recall(keys, values, 32, by_attention=by_attention)
    initialise(model, generator)
    optimiser = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(steps):
        given, target = batch(128)
        loss = nn.functional.cross_entropy(model(*given), target)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    given, target = batch(2000)
    return (model(*given).argmax(-1) == target).double().mean().item()


def test_attention_recalls_what_a_mean_cannot():
    assert accuracy_of_recall(by_attention=True) > 0.97
    assert accuracy_of_recall(by_attention=False) < 0.6


def test_initialise_draws_from_its_generator_alone():
    def weights(seed):
        module = MultiHeadAttention(D, H)
        initialise(module, torch.Generator().manual_seed(seed))
        return module.state_dict()

    first, repeated, other = weights(3), weights(3), weights(4)
    assert all(torch.equal(first[name], repeated[name]) for name in first)
    assert not torch.equal(first["query.weight"], other["query.weight"])
    bound = math.sqrt(6 / (D + D))
    assert 0.8 * bound < first["query.weight"].abs().max() <= bound
    assert first["query.bias"].eq(0).all()
