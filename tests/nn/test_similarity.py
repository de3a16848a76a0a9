"""HSIC, CKA and SVCCA against published implementations, their invariances, their bias, their gradients."""

import numpy as np
import pytest
import torch
from drawing import draw

from reasonlib import nn

STEPS = np.arange(60.0)[:, None]
X = np.sin(0.7 * STEPS * (np.arange(7) + 1) + np.arange(7) ** 2)
Y = np.cos(0.3 * STEPS * (np.arange(5) + 2)) + 0.8 * X[:, :5]
X, Y = torch.from_numpy(X), torch.from_numpy(Y)

CKA_PUBLISHED = {  # google-research/representation_similarity (Demo.ipynb) on X and Y
    ("linear", 1.0, False): 0.40117328954097997,
    ("linear", 1.0, True): 0.3515441587373891,
    ("rbf", 1.0, False): 0.3978636335633558,
    ("rbf", 1.0, True): 0.32443881874375563,
    ("rbf", 0.5, False): 0.35663492730877827,
    ("rbf", 0.5, True): 0.19556925830045346,
}
SVCCA_PUBLISHED = {  # google/svcca (cca_core.py) on X and Y, reduced to a share of the variance
    1.0: [
        0.7630116945191172,
        0.6423309008391206,
        0.6294537191200212,
        0.6215715825109486,
        0.41275604928615495,
    ],
    0.9: [0.7464247521756844, 0.640686220166858, 0.6234936359722483, 0.5775259772796003, 0.09770072415000423],
    0.7: [0.7460839026910706, 0.607107949300338, 0.4861462747731308],
}


def rotation(width, seed=9):
    return torch.linalg.qr(draw(width, width, seed=seed)).Q


@pytest.mark.parametrize(("kernel", "fraction", "debiased"), CKA_PUBLISHED)
def test_cka_equals_the_published_implementation(kernel, fraction, debiased):
    value = nn.cka(X, Y, kernel, fraction=fraction, debiased=debiased)
    assert float(value) == pytest.approx(CKA_PUBLISHED[kernel, fraction, debiased], abs=1e-9)


@pytest.mark.parametrize("threshold", SVCCA_PUBLISHED)
def test_svcca_equals_the_published_implementation(threshold):
    assert nn.svcca(X, Y, threshold).tolist() == pytest.approx(SVCCA_PUBLISHED[threshold], abs=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_hsic_is_the_trace_of_equation_4_4(kernel):
    count = len(X)
    first, second = (nn.kernel_matrix(given, kernel).numpy() for given in (X, Y))
    centring = np.eye(count) - np.full((count, count), 1 / count)
    expected = np.trace(first @ centring @ second @ centring) / (count - 1) ** 2
    assert float(nn.hsic(X, Y, kernel)) == pytest.approx(expected, rel=1e-10)


def test_unbiased_hsic_is_the_mean_over_all_quadruples():
    """The U-statistic that it estimates, by brute force (Song et al. 2012, equation 4)."""
    from itertools import permutations

    first, second = (nn.kernel_matrix(given[:6]).numpy() for given in (X, Y))
    terms = [
        first[i, j] * (second[i, j] + second[q, r] - 2 * second[i, q])
        for i, j, q, r in permutations(range(6), 4)
    ]
    assert float(nn.hsic(X[:6], Y[:6], debiased=True)) == pytest.approx(np.mean(terms), rel=1e-9)


@pytest.mark.parametrize("debiased", [False, True])
def test_feature_space_and_kernel_matrices_agree(debiased):
    by_kernels = nn.hsic_of_kernels(nn.kernel_matrix(X), nn.kernel_matrix(Y), debiased=debiased)
    torch.testing.assert_close(nn.hsic(X, Y, debiased=debiased), by_kernels)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("debiased", [False, True])
def test_cka_ignores_rotation_scale_and_shift(kernel, debiased):
    changed = 3.0 * X @ rotation(7) + 5.0
    torch.testing.assert_close(nn.cka(X, changed, kernel, debiased=debiased), torch.ones((), dtype=X.dtype))
    torch.testing.assert_close(
        nn.cka(changed, Y, kernel, debiased=debiased), nn.cka(X, Y, kernel, debiased=debiased)
    )


def test_svcca_ignores_invertible_maps_where_cka_does_not():
    mixed = X @ (rotation(7) * torch.logspace(-2, 2, 7, dtype=X.dtype))
    torch.testing.assert_close(nn.svcca(X, mixed, 1.0), torch.ones(7, dtype=X.dtype))
    assert float(nn.cka(X, mixed)) < 0.6


def test_plain_cka_of_independent_clouds_is_biased_and_the_other_is_not():
    x, y = draw(200, 20, 15, seed=1), draw(200, 20, 15, seed=2)
    assert float(nn.cka(x, y).mean()) > 0.3
    assert abs(float(nn.cka(x, y, debiased=True).mean())) < 0.02


def test_minibatches_estimate_the_whole_whatever_their_size():
    x = draw(2400, 6)
    y = x @ draw(6, 6, seed=1) + 2 * draw(2400, 6, seed=2)
    values = []
    for size in (8, 40, 2400):
        running = nn.MinibatchCKA()
        for x_batch, y_batch in zip(x.split(size), y.split(size), strict=True):
            running.update(x_batch, y_batch)
        values.append(float(running.value()))
    assert values[-1] == pytest.approx(float(nn.cka(x, y, debiased=True)), abs=1e-12)
    assert values == pytest.approx([values[-1]] * 3, abs=0.03)
    plain = float(nn.cka(x.unflatten(0, (-1, 8)), y.unflatten(0, (-1, 8))).mean())
    assert plain > values[-1] + 0.1


def test_a_stack_is_compared_pair_by_pair():
    heads = draw(2, 3, 30, 4)
    matrix = nn.pairwise_cka(heads, debiased=True)
    assert matrix.shape == (2, 3, 3)
    torch.testing.assert_close(matrix[1, 0, 2], nn.cka(heads[1, 0], heads[1, 2], debiased=True))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("debiased", [False, True])
@pytest.mark.parametrize("rows", [5, 9])
def test_gradients(kernel, debiased, rows):
    x, y = draw(rows, 2, seed=3).requires_grad_(), draw(rows, 3, seed=4).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, y: nn.hsic(x, y, kernel, debiased=debiased), (x, y))
    assert torch.autograd.gradcheck(lambda x, y: nn.cka(x, y, kernel, debiased=debiased), (x, y))


def test_a_constant_representation_is_similar_to_nothing_and_its_gradient_is_finite():
    constant = torch.ones(10, 3, requires_grad=True)
    value = nn.cka(constant, X[:10].float())
    value.backward()
    assert float(value.detach()) == 0
    assert bool(torch.isfinite(constant.grad).all())
    assert nn.principal_directions(constant.detach()).shape == (10, 0)


def test_correlations_of_directions_are_those_of_svcca():
    first, second = nn.principal_directions(X, 0.9), nn.principal_directions(Y, 0.9)
    assert torch.equal(nn.canonical_correlations(first, second), nn.svcca(X, Y, 0.9))


def test_directions_keep_the_share_of_variance():
    scores = nn.principal_directions(X, 0.7)
    torch.testing.assert_close(scores.mT @ scores, torch.eye(3, dtype=X.dtype))
    assert nn.principal_directions(X, 1.0).shape == (60, 7)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.cka(X, Y[:-1]), r"same N, got \(60, 7\) and \(59, 5\)"),
        (lambda: nn.cka(X[:3], Y[:3], debiased=True), "at least 4 examples are needed, got 3"),
        (lambda: nn.cka(X, Y, "cosine"), "kernel must be"),
        (lambda: nn.cka(X, Y, "rbf", fraction=0.0), "fraction must be positive"),
        (lambda: nn.hsic(X.long(), Y.long()), "floating-point"),
        (lambda: nn.svcca(X, Y, 0.0), "threshold must be above 0"),
        (lambda: nn.MinibatchCKA().value(), "no minibatch"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()
