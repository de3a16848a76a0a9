r"""How similar two representations of the same examples are: HSIC, CKA and SVCCA.

Sources: Kornblith et al. (2019), "Similarity of Neural Network Representations Revisited",
https://arxiv.org/abs/1905.00414; Song et al. (2012), "Feature Selection via Dependence Maximization", for the
unbiased HSIC; Nguyen et al. (2021), https://arxiv.org/abs/2010.15327, for CKA over minibatches; Raghu et al.
(2017), "SVCCA", https://arxiv.org/abs/1706.05806.

Axes: N examples (rows, the same ones in both), D and E widths of the two representations, H representations
of a stack. All axes before N are a batch and broadcast.

::

    x (N, D) --> kernel matrix K (N, N) --.
                                           >-- HSIC(K, L) / sqrt(HSIC(K, K) HSIC(L, L)) --> CKA
    y (N, E) --> kernel matrix L (N, N) --'

HSIC and CKA are differentiable, so they serve as a loss as well as a measure.
"""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

__all__ = [
    "MinibatchCKA",
    "canonical_correlations",
    "cka",
    "hsic",
    "hsic_of_kernels",
    "kernel_matrix",
    "pairwise_cka",
    "principal_directions",
    "svcca",
]

Kernel = Literal["linear", "rbf"]
"""How two examples are compared: by their dot product, or by a Gaussian of their distance."""


def kernel_matrix(
    x: Float[Tensor, "*B N D"], kernel: Kernel = "linear", *, fraction: float = 1.0
) -> Float[Tensor, "*B N N"]:
    r"""Compare every example with every example.

    Parameters
    ----------
    x : (..., N, D)
        A representation.
    kernel
        ``"linear"``: :math:`x_k^\top x_l`. ``"rbf"``: :math:`\exp(-|x_k - x_l|^2 / 2\sigma^2)`.
    fraction
        Bandwidth :math:`\sigma` of the RBF kernel, as a fraction of the median distance between examples
        (an example and itself included), as in the published code of Kornblith et al.

    Raises
    ------
    ValueError
        If there is no such kernel, or the fraction is not positive.
    """
    products = x @ x.mT
    if kernel == "linear":
        return products
    if kernel != "rbf":
        raise ValueError(f'kernel must be "linear" or "rbf", got {kernel!r}')
    if not fraction > 0:
        raise ValueError(f"fraction must be positive, got {fraction}")
    squares = products.diagonal(dim1=-2, dim2=-1)
    distances = (squares.unsqueeze(-1) + squares.unsqueeze(-2) - 2 * products).clamp_min(0)  # squared
    variance = fraction**2 * _median(distances.flatten(-2))[..., None, None]
    return torch.exp(-distances / (2 * variance.clamp_min(torch.finfo(x.dtype).tiny)))


def hsic_of_kernels(
    first: Float[Tensor, "*B N N"], second: Float[Tensor, "*B N N"], *, debiased: bool = False
) -> Float[Tensor, "*B"]:
    r"""Hilbert-Schmidt independence criterion of two kernel matrices (Gretton et al. 2005).

    .. math:: \mathrm{HSIC}(K, L) = \frac{1}{(N-1)^2} \mathrm{tr}(K C L C), \qquad C = I - \frac1N 1 1^\top

    Parameters
    ----------
    first, second : (..., N, N)
        Symmetric kernel matrices K and L of the same examples.
    debiased
        Estimate it without bias (Song et al. 2012, eq. 5): the mean over independent samples is zero, so that
        a single estimate may be negative. Needs four examples.
    """
    count = first.shape[-1]
    if not debiased:
        # excerpt: hsic
        centred = first - first.mean(-1, keepdim=True)  # K C
        centred = centred - centred.mean(-2, keepdim=True)  # C K C
        # tr(C K C L) = tr(K C L C)
        return (centred * second).sum((-2, -1)) / (count - 1) ** 2
        # end excerpt
    # excerpt: debiased hsic
    hidden = torch.eye(count, dtype=torch.bool, device=first.device)
    first, second = first.masked_fill(hidden, 0.0), second.masked_fill(hidden, 0.0)
    rows, others = first.sum(-1), second.sum(-1)
    total = (first * second).sum((-2, -1))
    total = total + rows.sum(-1) * others.sum(-1) / ((count - 1) * (count - 2))
    total = total - 2 * (rows * others).sum(-1) / (count - 2)
    return total / (count * (count - 3))
    # end excerpt


def hsic(
    x: Float[Tensor, "*B N D"],
    y: Float[Tensor, "*B N E"],
    kernel: Kernel = "linear",
    *,
    debiased: bool = False,
    fraction: float = 1.0,
) -> Float[Tensor, "*B"]:
    """Hilbert-Schmidt independence criterion of two representations, see `hsic_of_kernels`.

    A linear kernel of fewer features than examples needs no kernel matrix: the same number comes of the
    covariances between the features, at a cost linear in N.

    Raises
    ------
    ValueError
        If the two differ in N, or N is below 2, or below 4 for the unbiased estimate.
    """
    _check(x, y, least=4 if debiased else 2)
    count = x.shape[-2]
    if kernel != "linear" or x.shape[-1] * y.shape[-1] >= count**2:
        first, second = (kernel_matrix(features, kernel, fraction=fraction) for features in (x, y))
        return hsic_of_kernels(first, second, debiased=debiased)
    x, y = _centred(x), _centred(y)
    # excerpt: feature space
    total = (x.mT @ y).square().sum((-2, -1))  # |X^T Y|^2 = tr(X X^T Y Y^T)
    # end excerpt
    if not debiased:
        return total / (count - 1) ** 2
    rows, others = x.square().sum(-1), y.square().sum(-1)  # the diagonals, which take no part
    products = (rows * others).sum(-1)
    sums = rows.sum(-1) * others.sum(-1) / ((count - 1) * (count - 2))
    return (total - products + sums - 2 * products / (count - 2)) / (count * (count - 3))


def cka(
    x: Float[Tensor, "*B N D"],
    y: Float[Tensor, "*B N E"],
    kernel: Kernel = "linear",
    *,
    debiased: bool = False,
    fraction: float = 1.0,
) -> Float[Tensor, "*B"]:
    r"""Centred kernel alignment: HSIC, normalised to one for equal representations.

    .. math:: \mathrm{CKA}(K, L) = \frac{\mathrm{HSIC}(K, L)}{\sqrt{\mathrm{HSIC}(K, K)\,\mathrm{HSIC}(L, L)}}

    It does not change when either representation is rotated, scaled or shifted.

    Parameters
    ----------
    x, y : (..., N, D) and (..., N, E)
        Two representations of the same examples; their batch axes broadcast.
    kernel, fraction
        As in `kernel_matrix`.
    debiased
        Use the unbiased HSIC. The plain one grows with D / N, even between independent representations.

    Returns
    -------
    (...)
        From 0 to 1; debiased, an estimate may be a little below 0. A constant representation gives 0.

    Examples
    --------
    A rotation changes nothing; two independent clouds look alike to the plain estimate only.

    >>> draw = torch.Generator().manual_seed(0)
    >>> x, y = torch.randn(2, 50, 20, generator=draw)
    >>> rotation = torch.linalg.qr(torch.randn(20, 20, generator=draw)).Q
    >>> print(f"{cka(x, x @ rotation):.2f} {cka(x, y):.2f} {cka(x, y, debiased=True):.2f}")
    1.00 0.27 -0.02
    """

    def measure(first: Tensor, second: Tensor) -> Tensor:
        return hsic(first, second, kernel, debiased=debiased, fraction=fraction)

    # excerpt: cka
    return _normalised(measure(x, y), measure(x, x), measure(y, y))
    # end excerpt


def pairwise_cka(
    x: Float[Tensor, "*B H N D"], kernel: Kernel = "linear", *, debiased: bool = False, fraction: float = 1.0
) -> Float[Tensor, "*B H H"]:
    """CKA of every representation of a stack with every other, such as the heads of a layer."""
    return cka(x.unsqueeze(-3), x.unsqueeze(-4), kernel, debiased=debiased, fraction=fraction)


class MinibatchCKA:
    """CKA over a set too large to be compared at once: unbiased HSIC, averaged over minibatches.

    Parameters
    ----------
    kernel, fraction
        As in `kernel_matrix`.

    Notes
    -----
    Its mean does not depend on the size of the batches (Nguyen et al. 2021, section 2), unlike the mean of
    plain CKA. Sums are kept in 64 bits and carry no gradient.

    Examples
    --------
    >>> x = torch.randn(1000, 8, generator=torch.Generator().manual_seed(0))
    >>> running = MinibatchCKA()
    >>> for rows in x.split(100):
    ...     running.update(rows, rows.flip(-1))
    >>> round(float(running.value()), 4)
    1.0
    """

    def __init__(self, kernel: Kernel = "linear", *, fraction: float = 1.0) -> None:
        self.kernel: Kernel = kernel
        self.fraction = fraction
        self.batches = 0
        self._sums: tuple[Tensor, ...] = ()

    @torch.no_grad()
    def update(self, x: Float[Tensor, "*B N D"], y: Float[Tensor, "*B N E"]) -> None:
        """Add a minibatch of at least four examples."""
        parts = tuple(
            hsic(left.double(), right.double(), self.kernel, debiased=True, fraction=self.fraction)
            for left, right in ((x, y), (x, x), (y, y))
        )
        self._sums = tuple(map(torch.add, self._sums, parts)) if self.batches else parts
        self.batches += 1

    def value(self) -> Float[Tensor, "*B"]:
        """CKA of all minibatches so far.

        Raises
        ------
        ValueError
            If there were none.
        """
        if not self.batches:
            raise ValueError("there is no minibatch yet: call update first")
        return _normalised(*self._sums)


def principal_directions(x: Float[Tensor, "N D"], threshold: float = 0.99) -> Float[Tensor, "N K"]:
    """Orthonormal scores of a representation on its first singular directions.

    Parameters
    ----------
    x : (N, D)
        A representation; it is centred first.
    threshold
        Keep the fewest directions that explain this share of the variance.

    Returns
    -------
    (N, K)
        Left singular vectors; K is at most D, and 0 for a constant representation.
    """
    if x.ndim != 2:
        raise ValueError(f"a representation must have shape (N, D), got {tuple(x.shape)}")
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold must be above 0 and at most 1, got {threshold}")
    # excerpt: svd
    left, values, _ = torch.linalg.svd(_centred(x), full_matrices=False)
    explained = values.square().cumsum(0) / values.square().sum()
    kept = int((explained < threshold).sum()) + 1  # reaches the threshold
    # end excerpt
    rank = int((values > values.max() * max(x.shape) * torch.finfo(x.dtype).eps).sum())
    return left[:, : min(kept, rank)]


def svcca(x: Float[Tensor, "N D"], y: Float[Tensor, "N E"], threshold: float = 0.99) -> Float[Tensor, " K"]:
    """Singular vector canonical correlations of two representations (Raghu et al. 2017), largest first.

    Their mean is the SVCCA similarity.

    Parameters
    ----------
    x, y : (N, D) and (N, E)
        Two representations of the same examples.
    threshold
        Share of the variance that the first step, a singular value decomposition, keeps of each.

    Returns
    -------
    (K,)
        Correlations from 0 to 1, as many as the smaller of the two reduced representations has directions.

    Examples
    --------
    An invertible linear map changes no canonical correlation.

    >>> draw = torch.Generator().manual_seed(0)
    >>> x, mix = torch.randn(100, 3, generator=draw), torch.randn(3, 3, generator=draw)
    >>> svcca(x, x @ mix, threshold=1.0)
    tensor([1.0000, 1.0000, 1.0000])
    """
    _check(x, y, least=2)
    return canonical_correlations(principal_directions(x, threshold), principal_directions(y, threshold))


def canonical_correlations(first: Float[Tensor, "N D"], second: Float[Tensor, "N E"]) -> Float[Tensor, " K"]:
    """Return the correlations between two sets of `principal_directions`, largest first."""
    # excerpt: cca
    # canonical correlations of orthonormal scores: singular values of products
    return torch.linalg.svdvals(first.mT @ second).clamp(0, 1)
    # end excerpt


def _normalised(both: Tensor, first: Tensor, second: Tensor) -> Tensor:
    positive = (first > 0) & (second > 0)
    # a safe number inside the roots too, because the gradient of a root at zero is infinite
    roots = torch.where(first > 0, first, 1.0).sqrt() * torch.where(second > 0, second, 1.0).sqrt()
    return torch.where(positive, both / roots, 0.0)


def _centred(x: Tensor) -> Tensor:
    return x - x.mean(-2, keepdim=True)


def _median(values: Tensor) -> Tensor:
    """Median of the last axis; of an even number, the mean of the two in the middle."""
    count = values.shape[-1]
    low, high = (count + 1) // 2, count // 2 + 1
    return (values.kthvalue(low).values + values.kthvalue(high).values) / 2


def _check(x: Tensor, y: Tensor, *, least: int) -> None:
    if x.ndim < 2 or y.ndim < 2 or x.shape[-2] != y.shape[-2]:
        raise ValueError(
            "two representations must have shapes (..., N, D) and (..., N, E) with the same N, "
            f"got {tuple(x.shape)} and {tuple(y.shape)}"
        )
    if x.shape[-2] < least:
        raise ValueError(f"at least {least} examples are needed, got {x.shape[-2]}")
    if not (x.is_floating_point() and y.is_floating_point()):
        raise ValueError(f"representations must be floating-point, got {x.dtype} and {y.dtype}")
