"""Random numbers for comparisons to many digits."""

import torch


def draw(*shape, seed=0, **options):
    """Normal numbers of double precision."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64, **options)
