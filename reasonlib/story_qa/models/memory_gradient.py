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

from collections.abc import Sequence
from typing import Any, NamedTuple

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


class _Hop(NamedTuple):
    """What a hop read, kept for the gradient.

    Attributes
    ----------
    key, value
        Their tables.
    state
        Before the hop, (R, B, D).
    weights
        Of the memory slots, (R, B, S).
    shares
        The same weights, for each distinct sentence and each age, (R, B, U + S).
    """

    key: int
    value: int
    state: Tensor
    weights: Tensor
    shares: Tensor


class _Memory(NamedTuple):
    """The distinct sentences and the ages of a batch in every table, and what stands in its memory slots.

    Attributes
    ----------
    tables
        Embedded sentences, then ages, T of (R, U + S, D).
    sentences
        How many distinct sentences there are, U.
    story
        The sentence of each slot, (R, B, S).
    hidden
        Slots without a sentence, (B, S).
    empty
        The logarithm of how many places have no sentence, (R, B, 1): one score for all of them. None while
        the softmax is left out.
    """

    tables: tuple[Tensor, ...]
    sentences: int
    story: Tensor
    hidden: Tensor
    empty: Tensor | None

    @classmethod
    def of(cls, embedded: Float[Tensor, "T R U D"], ages: Tensor, batch: Batch, linear: bool) -> "_Memory":
        """Put the ages of a batch behind its embedded sentences."""
        restarts, places = ages.shape[1:3]
        empty = None
        if not linear:
            empty = (places - batch.filled.sum(1, keepdim=True)).to(ages.dtype).log_()
            empty = empty.clamp_(min=torch.finfo(ages.dtype).min).expand(restarts, -1, -1)
        return cls(
            torch.cat([embedded, ages[:, :, : batch.story.shape[1]]], dim=2).unbind(),
            embedded.shape[2],
            batch.story.expand(restarts, -1, -1),
            ~batch.filled,
            empty,
        )

    def to_slots(self, products: Float[Tensor, "R B U+S"]) -> Float[Tensor, "R B S"]:
        """Add, for each slot, what belongs to its sentence and what belongs to its age."""
        return products.gather(2, self.story).add_(products[:, :, self.sentences :])

    def from_slots(self, slots: Float[Tensor, "R B S"], out: Tensor) -> Float[Tensor, "R B U+S"]:
        """Add, for each distinct sentence and each age, what belongs to its slots; written into `out`."""
        products = out.zero_().scatter_add_(2, self.story, slots)
        products[:, :, self.sentences :] = slots
        return products

    def read(self, question: Tensor, tying: Tying) -> tuple[Float[Tensor, "R B D"], list[_Hop]]:
        """Go through all hops; return the last state and what each hop read."""
        state = self.tables[tying.query].index_select(1, question)
        hops = []
        for key, value in zip(tying.keys, tying.values, strict=True):
            products = torch.bmm(state, self.tables[key].mT)
            scores = self.to_slots(products)
            if self.empty is None:
                weights = scores.masked_fill_(self.hidden, 0.0)
            else:
                scores = scores.masked_fill_(self.hidden, torch.finfo(scores.dtype).min)
                weights = torch.cat([scores, self.empty], dim=2).softmax(2)[:, :, :-1]
            shares = self.from_slots(weights, out=products)
            hops.append(_Hop(key, value, state, weights, shares))
            state = torch.baddbmm(state, shares, self.tables[value])
        return state, hops

    def gradient(
        self, hops: Sequence[_Hop], state_gradient: Float[Tensor, "R B D"], question: Tensor, query: int
    ) -> Float[Tensor, "T R U+S D"]:
        """Go back through all hops from the gradient of the last state; return that of `tables`."""
        gradient = self.tables[0].new_zeros(len(self.tables), *self.tables[0].shape)
        tables = gradient.unbind()
        for hop in reversed(hops):
            tables[hop.value].baddbmm_(hop.shares.mT, state_gradient)
            products = torch.bmm(state_gradient, self.tables[hop.value].mT)
            scores = self.to_slots(products)
            if self.empty is None:
                scores.masked_fill_(self.hidden, 0.0)
            else:
                scores.mul_(hop.weights)
                scores.addcmul_(hop.weights, scores.sum(2, keepdim=True), value=-1)
            shares = self.from_slots(scores, out=products)
            tables[hop.key].baddbmm_(shares.mT, hop.state)
            state_gradient = torch.baddbmm(state_gradient, shares, self.tables[hop.key])
        tables[query].index_add_(1, question, state_gradient)
        return gradient


class _Loss(torch.autograd.Function):
    """The loss, with its gradient computed on the way."""

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
        restarts, vocabulary, width = words.shape[1:]
        questions, slots = batch.story.shape
        scale = size / questions
        bags = batch.sentences.flatten(1)  # (U, 2V): P beside Q
        unit = torch.arange(1, width + 1, dtype=words.dtype, device=words.device) / width
        embedded = bags @ torch.cat([words, words * unit], dim=2)  # (T, R, U, D)
        memory = _Memory.of(embedded, ages, batch, linear)

        state, hops = memory.read(batch.question, tying)
        answers = words[tying.answer]
        log_probabilities = torch.bmm(state, answers.mT).log_softmax(2)
        answer = batch.answer.expand(restarts, -1).unsqueeze(2)
        losses = log_probabilities.gather(2, answer).sum((1, 2)) * -scale

        logit_gradient = log_probabilities.exp_()
        minus_one = logit_gradient.new_full((1, 1, 1), -1.0).expand(restarts, questions, 1)
        logit_gradient.scatter_add_(2, answer, minus_one).mul_(scale)
        state_gradient = torch.bmm(logit_gradient, answers)
        gradient = memory.gradient(hops, state_gradient, batch.question, tying.query)
        plain, sloped = (bags.mT @ gradient[:, :, : memory.sentences]).split(vocabulary, dim=2)
        by_word = torch.addcmul(plain, sloped, unit)
        by_word[tying.answer].baddbmm_(logit_gradient.mT, state)
        by_age = torch.zeros_like(ages)
        by_age[:, :, :slots] = gradient[:, :, memory.sentences :]
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
