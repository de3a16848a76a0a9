"""Match a context with a question and each of five answers, all answers at once (Lei et al. 2018, section 5).

    u_q = attend(context, question)      u_a = attend(context, answer)
    matched = [c, u_a, u_q, u_a * c, u_q * c]

Axes: B questions, A answers, T positions of the context, S words, H width.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from reasonlib.nn.attention import masked_softmax

__all__ = ["Matched", "attend", "match_context"]


class Matched(NamedTuple):
    """The matched context of each answer, (B, A, T, 5 H), and where it looked.

    Attributes
    ----------
    states
        What the second LSTM reads.
    question_weights, answer_weights
        Attention of each position to the words of the question, (B, T, S), and of the answers, (B, A, T, S).
    """

    states: Float[Tensor, "B A T H5"]
    question_weights: Float[Tensor, "B T S"]
    answer_weights: Float[Tensor, "B A T S"]


def attend(
    context: Float[Tensor, "*B T H"], words: Float[Tensor, "*B S H"], mask: Bool[Tensor, "*B S"]
) -> tuple[Float[Tensor, "*B T H"], Float[Tensor, "*B T S"]]:
    """Return the mixture of words that each position of the context attends to, by dot products."""
    weights = masked_softmax(context @ words.transpose(-1, -2), mask.unsqueeze(-2))
    return weights @ words, weights


def match_context(
    context: Float[Tensor, "B T H"],
    question: Float[Tensor, "B S H"],
    question_mask: Bool[Tensor, "B S"],
    answers: Float[Tensor, "B A W H"],
    answer_mask: Bool[Tensor, "B A W"],
) -> Matched:
    """Match one context with its question and all answers in one product."""
    # excerpt: matching
    about, question_weights = attend(context, question, question_mask)  # (B, T, H)
    context = context.unsqueeze(1)  # (B, 1, T, H): the same for all answers
    each, answer_weights = attend(context, answers, answer_mask)  # (B, A, T, H)
    context = context.expand_as(each)
    about = about.unsqueeze(1).expand_as(each)
    states = torch.cat((context, each, about, each * context, about * context), -1)
    # end excerpt
    return Matched(states, question_weights, answer_weights)
