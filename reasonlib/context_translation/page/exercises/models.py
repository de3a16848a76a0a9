"""Exercises of the chapter "Seven ways to read the context"."""

import math

import torch
from torch import Tensor

from reasonlib.grading.checks import Answer, exercise, expect, expect_close, hint

__all__ = ["check_gated_sum", "check_other_sentence", "check_sentence_vector"]


def gated_sum(source: Tensor, context: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Mix two tensors by a gate, number by number."""
    gate = (torch.cat([source, context], -1) @ weight.T + bias).sigmoid()
    return gate * source + (1 - gate) * context


@exercise(title="Write HCE's gate", minutes=15, points=2)
@hint("`torch.cat` puts the two tensors side by side; the gate is a sigmoid of a linear map of them.")
def check_gated_sum(answer: Answer, seed: int) -> None:
    """Check ``gated_sum(source, context, weight, bias)``: source and context mixed by a gate.

    ``source`` and ``context`` are (B, T, D), ``weight`` (D, 2 D), ``bias`` (D). The gate is the sigmoid of
    the weight times [source, context], plus the bias. An open gate keeps the source.
    """
    draw = torch.Generator().manual_seed(seed)
    source, context = torch.randn(2, 3, 4, generator=draw), torch.randn(2, 3, 4, generator=draw)
    weight, bias = torch.randn(4, 8, generator=draw), torch.randn(4, generator=draw)
    gate = (torch.cat([source, context], -1) @ weight.T + bias).sigmoid()
    swapped = (torch.cat([context, source], -1) @ weight.T + bias).sigmoid()
    expect_close(
        answer(source.clone(), context.clone(), weight.clone(), bias.clone()),
        gated_sum(source, context, weight, bias),
        "the gate times the source, plus one minus the gate times the context",
        wrong={
            "this is the gate itself, as equation 3.8 is printed; multiply with it": gate,
            "the gate is the wrong way round: an open gate keeps the source": gate * context
            + (1 - gate) * source,
            "the gate takes the source first, then the context": swapped * source + (1 - swapped) * context,
            "both parts are weighed: the context by one minus the gate": gate * source + context,
        },
    )
    closed = torch.full((4,), -50.0)
    expect_close(
        answer(source.clone(), context.clone(), torch.zeros(4, 8), closed),
        context,
        "a closed gate leaves the context alone",
    )


def sentence_vector(states: Tensor, scores: Tensor, words: Tensor) -> Tensor:
    """Pool the states of a sentence by a softmax of its scores over its words."""
    weights = scores.masked_fill(~words, -math.inf).softmax(-1)
    return (weights.unsqueeze(-1) * states).sum(-2)


@exercise(title="One vector for a sentence", minutes=15, points=2)
@hint("Set the scores of padding to minus infinity before the softmax.")
def check_sentence_vector(answer: Answer, seed: int) -> None:
    """Check ``sentence_vector(states, scores, words)``: the attentive weighted sum of equation 3.15.

    ``states`` is (B, T, D), ``scores`` (B, T), and ``words`` (B, T) is true at words, false at padding.
    Return (B, D): the states weighed by a softmax of their scores. Padding has no weight.
    """
    draw = torch.Generator().manual_seed(seed)
    states, scores = torch.randn(2, 4, 3, generator=draw), torch.randn(2, 4, generator=draw)
    words = torch.tensor([[True, True, True, True], [True, True, False, False]])
    everything = (scores.softmax(-1).unsqueeze(-1) * states).sum(-2)
    zeroed = (scores.softmax(-1).masked_fill(~words, 0).unsqueeze(-1) * states).sum(-2)
    mean = (states * words.unsqueeze(-1)).sum(-2) / words.sum(-1, keepdim=True)
    expect_close(
        answer(states.clone(), scores.clone(), words.clone()),
        sentence_vector(states, scores, words),
        "a softmax over the words of each sentence, then the weighted sum of their states",
        wrong={
            "padding takes a share: hide it before the softmax": everything,
            "the weights of the shorter sentence no longer sum to one: hide padding before the softmax, "
            "not after": zeroed,
            "this is the mean over the words; weigh them by their scores": mean,
        },
    )


@exercise(title="Find two sentences with the same vector", minutes=20, points=3)
@hint("Change one word vector. What must you add to another one to keep the weighted sum as it was?")
def check_other_sentence(answer: Answer, seed: int) -> None:
    """Check ``other_sentence(states, scores, query)``: what HCE cannot see and word attention can.

    ``states`` is (T, D), the word vectors of a context sentence, ``scores`` (T) the inputs of the softmax
    that pools them, ``query`` (D) a source word. Return other word vectors, (T, D), that with the same scores
    give the same sentence vector. What the source word reads by attention to the words,
    softmax(states query) states, must change by a vector of length 0.1 or more.
    """
    draw = torch.Generator().manual_seed(seed)
    states, scores = torch.randn(4, 3, generator=draw), torch.randn(4, generator=draw)
    query = torch.randn(3, generator=draw)
    weights = scores.softmax(-1)

    def read(words: Tensor) -> Tensor:
        return (words @ query).softmax(-1) @ words

    changed = torch.as_tensor(answer(states.clone(), scores.clone(), query.clone()), dtype=torch.float32)
    expect(
        changed.shape == states.shape,
        f"return word vectors of shape {tuple(states.shape)}, got {tuple(changed.shape)}",
    )
    expect(changed.isfinite().all(), "every number must be finite")
    expect(not torch.equal(changed, states), "you changed nothing: return other word vectors")
    moved = (weights @ (changed - states)).norm()
    same = moved < 1e-4 * (1 + (weights @ changed.abs()).norm())
    for message, sums in {
        "your changes cancel in the plain mean, but the sentence vector is a weighted sum: divide each "
        "change by the weight of its word": torch.ones(4),
        "the weights are the softmax of the scores, not the scores": scores,
    }.items():
        total = (sums @ (changed - states)).norm()
        expect(same or total > 1e-4 * (1 + (sums.abs() @ changed.abs()).norm()), message)
    expect(
        same,
        f"the sentence vector moved by {moved:.2g}: the changes of the words, each times its weight, must "
        "sum to zero",
    )
    expect(
        (read(changed) - read(states)).norm() >= 0.1,
        "the source word reads almost the same as before: make the change larger, for example along `query`",
    )
