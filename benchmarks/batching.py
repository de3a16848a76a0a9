"""Padding and bucketing against the obvious way."""

import random

import torch
from torch.nn.utils.rnn import pad_sequence

from reasonlib.training.batching import LengthBuckets, pad


def comparisons():
    draw = random.Random(0)
    sequences = [[draw.randrange(1, 170) for _ in range(draw.randrange(3, 70))] for _ in range(512)]
    yield (
        "pad 512 sequences of word numbers",
        "torch's pad_sequence",
        lambda: pad(sequences),
        lambda: pad_sequence([torch.tensor(each) for each in sequences], batch_first=True),
    )
    lengths = [len(each) for each in sequences]
    buckets = list(LengthBuckets(lengths, batch_size=32, seed=0))
    order = torch.randperm(len(lengths), generator=torch.Generator().manual_seed(0)).tolist()
    width = torch.nn.Sequential(
        torch.nn.Embedding(170, 64), torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 64)
    )

    def run(batches):
        with torch.no_grad():
            for batch in batches:
                width(pad([sequences[n] for n in batch]))

    yield (
        "read the same sequences, batched by length",
        "batches in random order",
        lambda: run(buckets),
        lambda: run([order[start : start + 32] for start in range(0, len(order), 32)]),
    )
