"""Teacher's edition of `head_diversity`: solutions, wrong answers, and what each of them teaches."""

from itertools import pairwise

import torch

from reasonlib.grading.edition import Mistake, Solved
from reasonlib.nn import cka, hsic_of_kernels


def unbiased(first, second):
    count = len(first)
    first = first - torch.diag(first.diagonal())
    second = second - torch.diag(second.diagonal())
    total = (first * second).sum()
    total += first.sum() * second.sum() / ((count - 1) * (count - 2))
    total -= 2 * (first.sum(0) * second.sum(0)).sum() / (count - 2)
    return total / (count * (count - 3))


def debiased_cka(x, y):
    gram, other = x @ x.T, y @ y.T
    return unbiased(gram, other) / (unbiased(gram, gram) * unbiased(other, other)).sqrt()


def plain_below(x, y):
    gram, other = x @ x.T, y @ y.T
    return unbiased(gram, other) / (hsic_of_kernels(gram, gram) * hsic_of_kernels(other, other)).sqrt()


def hollow_alone(x, y):
    gram, other = (each - torch.diag(each.diagonal()) for each in (x @ x.T, y @ y.T))
    return hsic_of_kernels(gram, other) / (hsic_of_kernels(gram, gram) * hsic_of_kernels(other, other)).sqrt()


def same_to_cka():
    draw = torch.Generator().manual_seed(0)
    labels = torch.arange(400) // 2 % 2
    shared = 20 * torch.randn(400, 3, generator=draw)
    noise = torch.randn(400, 1, generator=draw)
    return torch.cat([shared, 2.0 * labels[:, None] - 1], 1), torch.cat([shared, noise], 1), labels


def same_twice():
    x, _, labels = same_to_cka()
    return x, x, labels


def unrelated():
    x, y, labels = same_to_cka()
    return x, torch.randn(y.shape, generator=torch.Generator().manual_seed(1)), labels


def random_labels():
    x, y, labels = same_to_cka()
    return x, y, labels[torch.randperm(len(labels), generator=torch.Generator().manual_seed(2))]


def few_examples():
    x, y, labels = same_to_cka()
    return x[:40], y[:40], labels[:40]


def head_similarity(outputs):
    if len(outputs) == 1:
        return 1.0
    heads = range(len(outputs))
    return torch.stack([cka(outputs[i], outputs[j]) for i in heads for j in heads if i < j]).mean()


def with_itself(outputs):
    return torch.stack([cka(one, other) for one in outputs for other in outputs]).mean()


def summed(outputs):
    heads = range(len(outputs))
    return sum(cka(outputs[i], outputs[j]) for i in heads for j in heads if i < j)


def neighbours(outputs):
    return torch.stack([cka(one, other) for one, other in pairwise(outputs)]).mean()


def drophead(outputs, kept):
    scale = kept.shape[1] / kept.sum(1, keepdim=True)
    return outputs * (kept * scale)[:, :, None, None]


def spectral_norm(matrix, start, steps):
    vector = start / start.norm()
    for _ in range(steps):
        vector = matrix @ vector
        vector = vector / vector.norm()
    return (matrix @ vector).norm()


def with_sign(matrix, start, steps):
    vector = start / start.norm()
    for _ in range(steps):
        vector = matrix @ vector
        vector = vector / vector.norm()
    return vector @ matrix @ vector


EDITION = {
    "debiased_cka": Solved(
        debiased_cka,
        [
            Mistake(cka, "this is plain CKA", "few examples in many dimensions make everything look alike"),
            Mistake(
                plain_below, "below the fraction line", "numerator and denominator need the same estimate"
            ),
            Mistake(hollow_alone, "not enough", "an empty diagonal must be balanced by two more terms"),
        ],
    ),
    "same_to_cka": Solved(
        same_to_cka,
        [
            Mistake(same_twice, "y still holds the label", "two copies are equal to a probe, too"),
            Mistake(unrelated, "linear CKA is", "the large directions must be shared"),
            Mistake(random_labels, "from x the probe", "the label must stand in a direction of x"),
            Mistake(few_examples, "200 to 2,000 examples", "with few examples a probe fits noise"),
        ],
        open="the student makes the representations",
    ),
    "head_similarity": Solved(
        head_similarity,
        [
            Mistake(with_itself, "compared with itself", "the diagonal is 1 whatever the heads see"),
            Mistake(summed, "number of pairs", "a sum grows with the number of heads"),
            Mistake(neighbours, "only neighbours", "heads have no order; every pair counts"),
        ],
    ),
    "drophead": Solved(
        drophead,
        [
            Mistake(
                lambda outputs, kept: outputs * kept[:, :, None, None],
                "must be scaled",
                "without the scale the layer sees smaller sums in training than in a test",
            ),
            Mistake(
                lambda outputs, kept: outputs * kept[:, :, None, None] / kept.mean(),
                "of each example",
                "each example drops its own heads",
            ),
            Mistake(
                lambda outputs, kept: outputs * (1 - kept)[:, :, None, None],
                "not which are dropped",
                "read what a mask means before multiplying",
            ),
            Mistake(
                lambda outputs, kept: outputs * (kept * 4 / kept.sum(1, keepdim=True))[:, None, :, None],
                "not tokens",
                "broadcasting along a wrong axis of equal length raises no error",
            ),
        ],
    ),
    "spectral_norm": Solved(
        spectral_norm,
        [
            Mistake(with_sign, "eigenvalue with its sign", "a norm is never negative"),
            Mistake(
                lambda matrix, start, steps: matrix.norm(),
                "Frobenius",
                "the Frobenius norm adds up all singular values, the spectral norm takes the largest",
            ),
            Mistake(
                lambda matrix, start, steps: (matrix @ (start / start.norm())).norm(),
                "a single product",
                "one product mixes all directions; repetition singles one out",
            ),
        ],
    ),
}
