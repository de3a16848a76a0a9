"""The memory hop: two readings that must agree, NumPy beside them, and what a mask hides."""

import numpy as np
import pytest
import torch
from drawing import draw

from reasonlib.nn import Reading, masked_identity, masked_softmax, read, read_shared

B, S, U, D = 4, 5, 6, 3


INDEX = torch.tensor([[0, 1, 2, 3, 4], [5, 5, 5, 0, 0], [1, 1, 2, 0, 0], [3, 0, 0, 0, 0]])
MASK = torch.arange(S) < torch.tensor([[5], [3], [0], [1]])  # the third question has no memory


@pytest.fixture
def table():
    """Query (B, D), keys and values (U, D), key and value times (S, D)."""
    return [draw(*shape, seed=seed) for seed, shape in enumerate([(B, D), (U, D), (U, D), (S, D), (S, D)])]


def spread(table):
    """The same memories as tensors (B, S, D)."""
    query, keys, values, key_time, value_time = table
    return query, keys[INDEX] + key_time, values[INDEX] + value_time


def shared(table, mask=MASK, weigh=masked_softmax):
    query, keys, values, key_time, value_time = table
    return read_shared(
        query, keys, values, INDEX, mask, key_time=key_time, value_time=value_time, weigh=weigh
    )


def read_in_numpy(query, keys, values, mask):
    output, weights = np.zeros((B, D)), np.zeros((B, S))
    for b in range(B):
        slots = np.flatnonzero(mask[b])
        if len(slots):
            match = np.exp([query[b] @ keys[b, s] for s in slots])
            weights[b, slots] = match / match.sum()
        for s in slots:
            output[b] += weights[b, s] * values[b, s]
    return output, weights


def assert_same(actual, expected):
    for name in Reading._fields:
        torch.testing.assert_close(getattr(actual, name), getattr(expected, name))


def test_equations_one_and_two_in_numpy(table):
    query, keys, values = spread(table)
    output, weights = read_in_numpy(query.numpy(), keys.numpy(), values.numpy(), MASK.numpy())
    for reading in (read(query, keys, values, MASK), shared(table)):
        np.testing.assert_allclose(reading.output, output, atol=1e-12)
        np.testing.assert_allclose(reading.weights, weights, atol=1e-12)


def test_shapes_and_types(table):
    for reading in (read(*spread(table), MASK), shared(table)):
        assert reading.output.shape == (B, D) and reading.output.dtype == torch.float64
        assert reading.weights.shape == reading.scores.shape == (B, S)


@pytest.mark.parametrize("weigh", [masked_softmax, masked_identity])
@pytest.mark.parametrize("mask", [MASK, None])
def test_both_readings_agree(table, weigh, mask):
    assert_same(shared(table, mask, weigh), read(*spread(table), mask, weigh=weigh))


@pytest.mark.parametrize("times", [(False, False), (True, False), (False, True)])
def test_times_are_optional(table, times):
    query, keys, values, *time = table
    key_time, value_time = (each if used else None for each, used in zip(time, times, strict=True))
    reading = read_shared(query, keys, values, INDEX, MASK, key_time=key_time, value_time=value_time)
    table[3:] = [each * used for each, used in zip(time, times, strict=True)]
    assert_same(reading, read(*spread(table), MASK))


def test_gradients_agree(table):
    gradients = []
    for reader in (shared, lambda table: read(*spread(table), MASK)):
        for tensor in table:
            tensor.requires_grad_()
        reading = reader(table)
        loss = (reading.output * draw(B, D, seed=9)).sum() + reading.weights.square().sum()
        gradients.append(torch.autograd.grad(loss, table))
    for first, second in zip(*gradients, strict=True):
        assert first.abs().max() > 0
        torch.testing.assert_close(first, second)


@pytest.mark.parametrize("weigh", [masked_softmax, masked_identity])
def test_gradcheck(table, weigh):
    for tensor in table:
        tensor.requires_grad_()
    assert torch.autograd.gradcheck(lambda *given: tuple(shared(given, weigh=weigh)), table)


def test_weights_sum_to_one_where_there_is_a_memory(table):
    for reading in (read(*spread(table), MASK), shared(table)):
        torch.testing.assert_close(reading.weights.sum(1), torch.tensor([1.0, 1.0, 0.0, 1.0]).double())
        assert (reading.weights >= 0).all() and (reading.weights[~MASK] == 0).all()


def test_without_memories_zeros_are_read(table):
    for reading in (read(*spread(table), MASK), shared(table)):
        assert reading.output[2].tolist() == [0.0] * D


def test_a_masked_slot_leaks_nothing(table):
    query, keys, values = spread(table)
    before = read(query, keys, values, MASK)
    after = read(
        query, keys.masked_fill(~MASK[..., None], 1e6), values.masked_fill(~MASK[..., None], -1e6), MASK
    )
    assert torch.equal(before.output, after.output) and torch.equal(before.weights, after.weights)

    changed = INDEX.where(MASK, torch.full_like(INDEX, U - 1))
    before, after = (read_shared(*table[:3], index, MASK) for index in (INDEX, changed))
    assert torch.equal(before.weights, after.weights)
    torch.testing.assert_close(before.output, after.output, rtol=0, atol=1e-14)


def test_the_order_of_memories_matters_only_by_their_times(table):
    order = torch.tensor([4, 2, 0, 3, 1])
    query, keys, values, key_time, value_time = table
    plain, permuted = (read_shared(query, keys, values, index) for index in (INDEX, INDEX[:, order]))
    torch.testing.assert_close(permuted.output, plain.output)
    torch.testing.assert_close(permuted.weights, plain.weights[:, order])
    timed, untold = (
        read_shared(query, keys, values, index, key_time=key_time, value_time=value_time)
        for index in (INDEX, INDEX[:, order])
    )
    assert (timed.output - untold.output).abs().max() > 0.01


def test_a_sentence_said_twice_counts_twice():
    query, keys = torch.zeros(1, D), torch.zeros(2, D)
    values = torch.tensor([[3.0, 0, 0], [0, 3.0, 0]])
    reading = read_shared(query, keys, values, torch.tensor([[0, 0, 1]]))
    torch.testing.assert_close(reading.output, torch.tensor([[2.0, 1.0, 0.0]]))


def test_linear_reading_is_linear_in_the_query(table):
    once, twice = (shared([table[0] * by, *table[1:]], weigh=masked_identity) for by in (1, 2))
    torch.testing.assert_close(twice.output, once.output * 2)
    torch.testing.assert_close(once.weights, once.scores.masked_fill(~MASK, 0.0))


def test_sharp_scores_read_one_memory(table):
    query, keys, values = spread(table)
    reading = read(query * 1e4, keys, values, MASK)
    best = reading.scores.masked_fill(~MASK, -torch.inf).argmax(1)
    for b in (0, 1, 3):
        torch.testing.assert_close(reading.output[b], values[b, best[b]])


def test_autocast_reads_too():
    query, keys, values = draw(B, D).float(), draw(U, D, seed=1).float(), draw(U, D, seed=2).float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        reading = read_shared(query, keys, values, INDEX, MASK)
    expected = read_shared(query, keys, values, INDEX, MASK)
    torch.testing.assert_close(reading.output.float(), expected.output, atol=0.05, rtol=0.05)


@pytest.mark.parametrize("weigh", [masked_softmax, masked_identity])
def test_a_mask_that_is_not_boolean_is_refused(table, weigh):
    with pytest.raises(ValueError, match=r"mask must be boolean.*got torch\.int64"):
        shared(table, MASK.long(), weigh)
