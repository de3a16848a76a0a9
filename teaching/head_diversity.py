"""Teacher's edition of `head_diversity`: solutions, wrong answers, and what each of them teaches."""

from functools import partial
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


def never_negative(x, y):
    return debiased_cka(x, y).clamp_min(0)


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


def break_svcca(matrix=((0.01, 0.0), (0.0, 1.0)), noise=0.0):
    draw = torch.Generator().manual_seed(0)
    shared, own, other = torch.randn(3, 400, 1, generator=draw)
    return torch.cat([shared, own], 1), shared + noise * other, torch.tensor(matrix)


def head_similarity(outputs):
    if len(outputs) == 1:
        return 1.0
    heads = range(len(outputs))
    return torch.stack([cka(outputs[i], outputs[j]) for i in heads for j in heads if i < j]).mean()


def with_itself(outputs):
    return torch.stack([cka(head, other) for head in outputs for other in outputs]).mean()


def summed(outputs):
    heads = range(len(outputs))
    return sum(cka(outputs[i], outputs[j]) for i in heads for j in heads if i < j)


def neighbours(outputs):
    return torch.stack([cka(head, other) for head, other in pairwise(outputs)]).mean()


def cka_of_weights(first, second, covariance):
    def size(left, right):
        return (left.T @ covariance @ right).norm()

    return size(first, second) ** 2 / (size(first, first) * size(second, second))


def without_square(first, second, covariance):
    return cka_of_weights(first, second, covariance).sqrt()


def hsic_alone(first, second, covariance):
    return (first.T @ covariance @ second).square().sum()


def same_outputs(tokens=6):
    values = torch.arange(tokens)[:, None].float()
    first, second = torch.zeros(2, tokens, tokens)
    for token in range(tokens):
        middle = min(max(token, 1), tokens - 2)
        first[token, middle] = 1
        second[token, [middle - 1, middle + 1]] = 0.5
    return first, second, values


def same_attention():
    first, _, values = same_outputs()
    return first, first, values


def next_tokens():
    first, _, values = same_outputs()
    return first, first.roll(1, 1), values


def equal_values():
    first, second, values = same_outputs()
    return first, second, torch.ones_like(values)


def one_output():
    first, second, values = same_outputs()
    return first[:1].expand(6, 6), second[:1].expand(6, 6), values


def drophead(outputs, kept):
    scale = kept.shape[1] / kept.sum(1, keepdim=True)
    return outputs * (kept * scale)[:, :, None, None]


def spectral_norm(matrix, start, steps):
    vector = start / start.norm()
    for _ in range(steps):
        vector = matrix @ vector
        vector = vector / vector.norm()
    return (matrix @ vector).norm()


def one_step_fewer(matrix, start, steps):
    return spectral_norm(matrix, start, max(steps - 1, 0))


def with_sign(matrix, start, steps):
    vector = start / start.norm()
    for _ in range(steps):
        vector = matrix @ vector
        vector = vector / vector.norm()
    return vector @ matrix @ vector


def orthonormal_copies(heads=3):
    draw = torch.Generator().manual_seed(0)
    tokens = torch.randn(100, 2, generator=draw)
    tokens = tokens / tokens.norm(dim=1, keepdim=True)
    vectors = torch.zeros(100, heads, 2 * heads)
    for head in range(heads):
        vectors[:, head, 2 * head : 2 * head + 2] = tokens
    return vectors


def any_length():
    lengths = torch.rand(100, 1, 1, generator=torch.Generator().manual_seed(1)) + 0.5
    return lengths * orthonormal_copies()


def random_directions():
    vectors = torch.randn(100, 3, 64, generator=torch.Generator().manual_seed(1))
    return vectors / vectors.norm(dim=2, keepdim=True)


def unrelated_frames():
    draw = torch.Generator().manual_seed(1)
    return torch.linalg.qr(torch.randn(100, 6, 3, generator=draw)).Q.mT


EDITION = {
    "debiased_cka": Solved(
        debiased_cka,
        [
            Mistake(cka, "this is plain CKA", "few examples in many dimensions make everything look alike"),
            Mistake(
                plain_below, "below the fraction line", "numerator and denominator need the same estimate"
            ),
            Mistake(hollow_alone, "not enough", "an empty diagonal must be balanced by two more terms"),
            Mistake(never_negative, "leave negative estimates", "cut off at 0, the mean is too high again"),
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
    "break_svcca": Solved(
        break_svcca,
        [
            Mistake(
                lambda: break_svcca(((0.6, -0.8), (0.8, 0.6))),
                "after the map SVCCA is still",
                "a rotation keeps the variance of every direction, so the first step keeps the same ones",
            ),
            Mistake(
                lambda: break_svcca(((0.01, 0.0), (0.0, 0.01))),
                "after the map SVCCA is still",
                "the first step compares shares of the variance: a common scale changes none",
            ),
            Mistake(
                lambda: break_svcca(((0.0, 0.0), (0.0, 1.0))),
                "the map loses a direction",
                "no measure survives a map that deletes what is shared; here it is only made small",
            ),
            Mistake(
                partial(break_svcca, noise=1.0),
                "before the map it must be",
                "a measure can only lose a similarity that exists",
            ),
        ],
        open="the student makes the representations and the map",
    ),
    "head_similarity": Solved(
        head_similarity,
        [
            Mistake(with_itself, "compared with itself", "the diagonal is 1 whatever the heads see"),
            Mistake(summed, "number of pairs", "a sum grows with the number of heads"),
            Mistake(neighbours, "only neighbours", "heads have no order; every pair counts"),
        ],
    ),
    "cka_of_weights": Solved(
        cka_of_weights,
        [
            Mistake(
                lambda first, second, covariance: cka_of_weights(
                    first, second, torch.eye(len(first), dtype=first.dtype)
                ),
                "you left out the covariance",
                "1 / H holds for inputs that vary equally in all directions, and real inputs do not",
            ),
            Mistake(
                lambda first, second, covariance: cka_of_weights(first, second, covariance @ covariance),
                "you multiplied by it twice",
                "X^T Y is W^T Z^T Z V: the inputs appear twice, the covariance once",
            ),
            Mistake(without_square, "HSIC is the squared norm", "HSIC is a sum of squares"),
            Mistake(hsic_alone, "this is HSIC", "HSIC grows with the scale of the weights"),
        ],
    ),
    "same_outputs": Solved(
        same_outputs,
        [
            Mistake(same_attention, "attend to the same tokens", "two equal maps show nothing"),
            Mistake(
                next_tokens,
                "outputs of the two heads differ",
                "other tokens give the same output only if their weighted values agree",
            ),
            Mistake(
                equal_values, "two values are equal", "with equal values, attention has no effect at all"
            ),
            Mistake(
                one_output,
                "give at least three different",
                "a head with the same output for every token carries no information",
            ),
        ],
        open="the student makes the heads",
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
            Mistake(one_step_fewer, "count the steps", "where it has converged, a step more is not seen"),
        ],
    ),
    "orthonormal_copies": Solved(
        orthonormal_copies,
        [
            Mistake(
                partial(orthonormal_copies, heads=2), "three heads or more", "two heads are in the chapter"
            ),
            Mistake(
                any_length,
                "unit length",
                "the penalty asks for orthonormal vectors, not only for right angles",
            ),
            Mistake(
                random_directions,
                "not at a right angle",
                "random vectors in high dimensions are nearly at right angles, and the norm sees the rest",
            ),
            Mistake(
                unrelated_frames,
                "do not see the tokens in the same way",
                "the penalty accepts unrelated heads as well as copies: it does not tell them apart",
            ),
            Mistake(
                lambda: orthonormal_copies()[:1].expand(100, 3, 6),
                "hardly varies outside one direction",
                "CKA needs tokens that differ",
            ),
        ],
        open="the student makes the heads",
    ),
}
