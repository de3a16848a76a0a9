"""CKA and SVCCA beside the NumPy of their authors; a step with each regulariser beside one without."""

import numpy as np
import torch

from reasonlib.head_diversity.models.drophead import Drophead
from reasonlib.head_diversity.models.language_model import LanguageModel, LanguageModelConfig, prediction_loss
from reasonlib.head_diversity.models.regularisers import Penalties, penalised_loss
from reasonlib.nn import cka, svcca

EXAMPLES, WIDTH = 4000, 64


def cka_of_gram_matrices(x, y):
    """Linear CKA as Kornblith et al. publish it: the kernel matrices, centred."""
    grams = []
    for features in (x, y):
        gram = features @ features.T
        means = gram.mean(0) - gram.mean() / 2
        grams.append(gram - means[:, None] - means[None, :])
    return grams[0].ravel() @ grams[1].ravel() / np.prod([np.linalg.norm(gram) for gram in grams])


def cca_by_covariances(x, y):
    """SVCCA as Raghu et al. publish it: reduce, then the covariances and the roots of their inverses."""
    reduced = []
    for features in (x, y):
        left, values, _ = np.linalg.svd((features - features.mean(0)).T, full_matrices=False)
        kept = np.searchsorted(np.cumsum(values**2) / np.sum(values**2), 0.99) + 1
        reduced.append(left[:, :kept].T @ (features - features.mean(0)).T)
    first, second = reduced
    joint = np.cov(first, second)
    size = len(first)
    roots = []
    for block in (joint[:size, :size], joint[size:, size:]):
        values, vectors = np.linalg.eigh(block)
        roots.append(vectors @ np.diag(values**-0.5) @ vectors.T)
    return np.linalg.svd(roots[0] @ joint[:size, size:] @ roots[1], compute_uv=False)


def comparisons():
    draw = torch.Generator().manual_seed(0)
    x, y = torch.randn(2, EXAMPLES, WIDTH, generator=draw, dtype=torch.float64)
    arrays = x.numpy(), y.numpy()
    yield (
        f"linear CKA of {EXAMPLES} examples of width {WIDTH}",
        "the kernel matrices of its authors",
        lambda: cka(x, y),
        lambda: cka_of_gram_matrices(*arrays),
    )
    yield (
        f"SVCCA of {EXAMPLES} examples of width {WIDTH}",
        "the covariances of its authors",
        lambda: svcca(x, y),
        lambda: cca_by_covariances(*arrays),
    )
    config = LanguageModelConfig(vocabulary=1000, width=128, hidden=512, heads=4, dropout=0.0)
    model = LanguageModel(config, seed=0)
    batch = torch.randint(0, 1000, (20, 36), generator=draw)

    dropping = LanguageModel(config, seed=0)
    Drophead(dropping, 0.1)

    def step(penalties, model=model):
        penalised_loss(
            model, lambda: prediction_loss(model, batch), penalties, lambda name, part: None
        ).backward()

    for name, penalties, trained in (
        ("HSIC", Penalties(hsic=0.1), model),
        ("orthogonality", Penalties(orthogonality=1.0), model),
        ("Drophead", Penalties(), dropping),
        ("all three", Penalties(hsic=0.1, orthogonality=1.0), dropping),
    ):
        yield (
            f"a training step with {name}",
            "a step without",
            lambda penalties=penalties, trained=trained: step(penalties, trained),
            lambda: step(Penalties()),
        )
