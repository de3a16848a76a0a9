r"""The loss of memory networks side by side and its gradient, written out: half the work of `backward`.

A step on 32 short stories moves so few numbers that its time is the number of operations. Here the chain rule
is applied by hand, which needs half as many of them as recording every operation and going through the record
again. `restarts.Restarts` says the same forwards; a test holds the two to each other.

With :math:`E_t` the embedded sentences and ages of table :math:`t`, and of hop :math:`k` the state
:math:`u_k`, the weights :math:`p_k` and the gradient :math:`\bar u_{k+1}` of what it gives on:

.. math::

    \bar p_k = E_{k+1} \bar u_{k+1},\quad
    \bar s_k = p_k \circ (\bar p_k - p_k^\top \bar p_k),\quad
    \bar u_k = \bar u_{k+1} + E_k^\top \bar s_k,\quad
    \bar E_{k+1} \mathrel{+}= p_k \bar u_{k+1}^\top,\quad
    \bar E_k \mathrel{+}= \bar s_k u_k^\top

While the softmax is left out, :math:`\bar s_k` is :math:`\bar p_k`.

Axes: R restarts, B questions, S memory slots, U distinct sentences, V words, D width, T tables.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from reasonlib.story_qa.data.encoding import Batch
from reasonlib.story_qa.models.memory_network import Tying

__all__ = ["loss_with_gradient"]


def loss_with_gradient(
    words: Float[Tensor, "T R V D"],
    ages: Float[Tensor, "T R S D"],
    batch: Batch,
    *,
    tying: Tying,
    linear: bool = False,
    size: int = 1,
    clip: float = float("inf"),
) -> Float[Tensor, ""]:
    """Sum the losses of all restarts, ready for ``backward``.

    Parameters
    ----------
    words, ages
        The weights of `restarts.Restarts`; ``ages`` says by its S how many places the memory has.
    batch
        Questions.
    tying
        Which table serves as what, adjacent.
    linear
        Leave the softmax out.
    size
        What a restart's mean loss is multiplied by: the size of a whole batch gives the sum over it.
    clip
        Largest norm of the gradient of one table of one restart.

    Returns
    -------
    Float ()
        In nats; a restart whose loss is not finite counts as zero.
    """
    return _Loss.apply(words, ages, batch, tying, linear, size, clip)


class _Loss(torch.autograd.Function):
    """The loss, with its gradient made on the way."""

    @staticmethod
    def forward(
        ctx: Any,
        words: Tensor,
        ages: Tensor,
        batch: Batch,
        tying: Tying,
        linear: bool,
        size: int,
        clip: float,
    ) -> Tensor:
        (tables, restarts, vocabulary, width), places = words.shape, ages.shape[2]
        asked, slots = batch.story.shape
        bags = batch.sentences.flatten(1)  # (U, 2V): P beside Q
        unit = torch.arange(1, width + 1, dtype=words.dtype, device=words.device) / width
        told = bags @ torch.cat([words, words * unit], dim=2)  # (T, R, U, D)
        known = len(bags)
        memory = torch.cat([told, ages[:, :, :slots]], dim=2).unbind()  # T of (R, U + S, D)
        story = batch.story.expand(restarts, -1, -1)
        hidden, lowest = ~batch.filled, torch.finfo(words.dtype).min
        if not linear:  # all places without a sentence in one score
            empty = (places - batch.filled.sum(1, keepdim=True)).to(words.dtype).log_()
            empty = empty.clamp_(min=lowest).expand(restarts, -1, -1)
        hops = list(zip(tying.keys, tying.values, strict=True))

        state = memory[tying.query].index_select(1, batch.question)
        done = []
        for key, value in hops:
            met = torch.bmm(state, memory[key].mT)  # (R, B, U + S)
            scores = met.gather(2, story).add_(met[:, :, known:])
            if linear:
                weights = scores.masked_fill_(hidden, 0.0)
            else:
                scores = torch.cat([scores.masked_fill_(hidden, lowest), empty], dim=2)
                weights = scores.softmax(2)[:, :, :-1]
            shares = met.zero_().scatter_add_(2, story, weights)  # of each distinct sentence
            shares[:, :, known:] = weights  # and of each age
            done.append((state, weights, shares))
            state = torch.baddbmm(state, shares, memory[value])
        words_out = words[tying.answer]
        sure = torch.bmm(state, words_out.mT).log_softmax(2)
        answer = batch.answer.expand(restarts, -1).unsqueeze(2)
        losses = sure.gather(2, answer).sum((1, 2)) * (-size / asked)

        missed = sure.exp_()
        missed.scatter_add_(2, answer, missed.new_full((1, 1, 1), -1.0).expand_as(answer)).mul_(size / asked)
        back = torch.bmm(missed, words_out)  # the gradient of the state, (R, B, D)
        grown = torch.zeros(tables, restarts, known + slots, width, dtype=words.dtype, device=words.device)
        into = grown.unbind()
        for (key, value), (before, weights, shares) in zip(hops[::-1], done[::-1], strict=True):
            into[value].baddbmm_(shares.mT, back)
            met = torch.bmm(back, memory[value].mT)
            scores = met.gather(2, story).add_(met[:, :, known:])
            if linear:
                scores.masked_fill_(hidden, 0.0)
            else:
                scores.mul_(weights)
                scores.addcmul_(weights, scores.sum(2, keepdim=True), value=-1)
            shares = met.zero_().scatter_add_(2, story, scores)
            shares[:, :, known:] = scores
            into[key].baddbmm_(shares.mT, before)
            back = torch.baddbmm(back, shares, memory[key])
        into[tying.query].index_add_(1, batch.question, back)
        plain, sloped = (bags.mT @ grown[:, :, :known]).split(vocabulary, dim=2)
        by_word = torch.addcmul(plain, sloped, unit)
        by_word[tying.answer].baddbmm_(missed.mT, state)
        by_age = torch.zeros_like(ages)
        by_age[:, :, :slots] = grown[:, :, known:]
        ctx.save_for_backward(by_word, by_age)
        ctx.clip = clip
        return losses.nan_to_num_(0.0, 0.0, 0.0).sum()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        clipped = []
        for each in ctx.saved_tensors:
            norms = torch.linalg.vector_norm(each, dim=(2, 3), keepdim=True)  # (T, R, 1, 1)
            clipped.append(each * (ctx.clip / norms).clamp_(max=gradient))
        return *clipped, None, None, None, None, None
