"""Padding, masks and length buckets."""

import random

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from reasonlib.training.batching import LengthBuckets, mask_of, pad

LENGTHS = random.Random(7).choices(range(1, 201), k=1003)


def waste(batches, lengths=LENGTHS):
    """Share of padding among all places."""
    places = sum(len(batch) * max(lengths[item] for item in batch) for batch in batches)
    return 1 - sum(lengths) / places


def test_pad():
    padded = pad([[5, 6, 7], [], [8]], value=-1)
    assert padded.dtype == torch.long
    assert padded.tolist() == [[5, 6, 7], [-1, -1, -1], [8, -1, -1]]
    assert pad([[], []]).shape == (2, 0)
    assert pad([torch.tensor([3, 4]), np.array([5])]).tolist() == [[3, 4], [5, 0]]


def test_pad_against_torch():
    rows = [
        torch.randint(1, 9, (length,), generator=torch.Generator().manual_seed(length))
        for length in (4, 1, 6)
    ]
    expected = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=0)
    assert torch.equal(pad([row.tolist() for row in rows]), expected)


def test_mask_of():
    mask = mask_of(torch.tensor([0, 2, 3]), width=4)
    assert mask.dtype == torch.bool
    assert mask.int().tolist() == [[0, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]]
    assert mask_of([2, 1]).shape == (2, 2)
    assert mask_of([0, 0]).shape == (2, 0)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: pad([]), "at least one sequence, got none"),
        (lambda: mask_of([]), r"at least one number, got shape \(0,\)"),
        (lambda: mask_of([[1]]), r"got shape \(1, 1\)"),
        (lambda: mask_of([1.5]), "lengths must be integers, got torch.float32"),
        (lambda: mask_of([2, -1]), "lengths must be at least 0, got -1"),
        (lambda: mask_of([2, 5], width=4), "width must be at least the largest length 5, got 4"),
        (lambda: LengthBuckets([], batch_size=2), "at least one number"),
        (lambda: LengthBuckets([1, -2], batch_size=2), "lengths must be at least 0, got -2"),
        (lambda: LengthBuckets([1]), "give either batch_size or max_tokens"),
        (lambda: LengthBuckets([1], batch_size=1, max_tokens=1), "give either batch_size or max_tokens"),
        (lambda: LengthBuckets([1], batch_size=0), "batch_size must be at least 1, got 0"),
        (lambda: LengthBuckets([1], batch_size=1, seed=-1), "seed must be at least 0, got -1"),
        (lambda: LengthBuckets([1], batch_size=1, pool=0), "pool must be at least 1, got 0"),
        (lambda: LengthBuckets([3, 9], max_tokens=8), r"longest item's length 9 \(item 1\), got 8"),
        (lambda: LengthBuckets([1], batch_size=1).set_epoch(-1), "epoch must be at least 0, got -1"),
        (lambda: LengthBuckets([1], batch_size=1).plan(-1), "epoch must be at least 0, got -1"),
    ],
)
def test_bad_parameters_are_named(action, message):
    with pytest.raises(ValueError, match=message):
        action()


@pytest.mark.parametrize(
    "size", [{"batch_size": 32}, {"max_tokens": 1000}, {"batch_size": 5000}, {"batch_size": 1}]
)
@pytest.mark.parametrize("pool", [1, 4, 64])
def test_every_item_exactly_once(size, pool):
    buckets = LengthBuckets(LENGTHS, **size, pool=pool)
    for epoch in range(3):
        buckets.set_epoch(epoch)
        batches = list(buckets)
        assert sorted(item for batch in batches for item in batch) == list(range(len(LENGTHS)))
        assert len(buckets) == len(batches) and all(batches)


def test_batch_size_is_kept():
    sizes = sorted(len(batch) for batch in LengthBuckets(LENGTHS, batch_size=32, pool=3))
    assert sizes == [1003 % 32, *[32] * 31]


def test_max_tokens_is_kept_and_used():
    batches = LengthBuckets(LENGTHS, max_tokens=1000).plan()
    places = [len(batch) * max(LENGTHS[item] for item in batch) for batch in batches]
    assert max(places) <= 1000 and np.mean(places) > 800


def test_buckets_waste_less_than_a_plain_shuffle():
    plain = LengthBuckets(LENGTHS, batch_size=16, pool=1).plan()
    bucketed = LengthBuckets(LENGTHS, batch_size=16).plan()
    assert waste(plain) > 0.3 and waste(bucketed) < 0.05


def test_order_depends_on_seed_and_epoch_alone():
    first, second = (LengthBuckets(LENGTHS, batch_size=8, seed=3) for _ in range(2))
    first.plan(5)
    state = torch.get_rng_state()
    assert first.plan(2) == second.plan(2)
    assert torch.equal(state, torch.get_rng_state())
    assert first.plan(2) != first.plan(3)
    assert first.plan(4) != LengthBuckets(LENGTHS, batch_size=8, seed=4).plan(3)
    first.set_epoch(2)
    assert list(first) == second.plan(2)


def test_a_change_to_a_batch_stays_with_its_owner():
    buckets = LengthBuckets(LENGTHS, batch_size=8)
    buckets.plan()[0].clear()
    assert all(buckets.plan())


def test_batches_are_shuffled_not_sorted_by_length():
    longest = [max(LENGTHS[item] for item in batch) for batch in LengthBuckets(LENGTHS, batch_size=8)]
    assert longest != sorted(longest)


def test_serves_a_data_loader():
    rows = [[item] * length for item, length in enumerate(LENGTHS)]
    loader = DataLoader(rows, batch_sampler=LengthBuckets(LENGTHS, batch_size=32), collate_fn=pad)
    assert len(loader) == 32
    assert sum(int(mask.any(1).sum()) for mask in (batch >= 0 for batch in loader)) == len(LENGTHS)


def test_empty_items_are_allowed():
    assert sorted(item for batch in LengthBuckets([0, 0, 4], max_tokens=4) for item in batch) == [0, 1, 2]
