"""From questions to answers: greedy or by beam search, in batches.

The search itself is `reasonlib.nn.decoding`, which reuses the keys and values of what was written.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from reasonlib.errors import UserError
from reasonlib.maths_qa.data.encoding import Encoded
from reasonlib.maths_qa.data.example import LONGEST_ANSWER, LONGEST_QUESTION
from reasonlib.maths_qa.data.vocabulary import END, START, decode, encode
from reasonlib.maths_qa.models.transformer import Solver
from reasonlib.nn import decoding

__all__ = ["Answer", "answer", "answer_all"]


class Answer(NamedTuple):
    """One answer, with where the model looked while it wrote.

    Attributes
    ----------
    text
        The answer.
    probability
        Of the whole answer, its end included.
    steps : (U,)
        Probability of each character, and of the end.
    attention : (U, S)
        For each of them, the weights on the characters of the question.
    """

    text: str
    probability: float
    steps: tuple[float, ...]
    attention: Float[Tensor, "U S"]


@torch.no_grad()
def answer(model: Solver, question: str) -> Answer:
    """Answer one question greedily.

    Raises
    ------
    UserError
        If the question is empty, longer than 160 characters, or not printable ASCII.
    """
    if not 1 <= len(question) <= LONGEST_QUESTION:
        raise UserError(f"a question must have 1 to {LONGEST_QUESTION} characters, got {len(question)}")
    model.eval()
    progress = model.begin(torch.tensor([encode(question)]))
    tokens, written, steps = torch.tensor([START]), [], []
    attention: list[Any] = []
    # excerpt: greedy
    for _ in range(LONGEST_ANSWER + 1):
        scores, progress = model.advance(progress, tokens)
        value, tokens = scores.max(-1)  # the likeliest next character
        steps.append(float(value.exp()))
        attention.append(progress.attention)
        if int(tokens) == END:
            break
        written.append(int(tokens))
    # end excerpt
    return Answer(decode(written), float(np.prod(steps)), tuple(steps), torch.cat(attention))


def answer_all(
    model: Any, problems: Encoded, *, beam: int = 1, alpha: float = 0.0, size: int = 256
) -> list[str]:
    """Answer many questions, in the order given.

    Parameters
    ----------
    model
        A `Solver`, or anything else that `reasonlib.nn.decoding.Writer` describes.
    problems
        Questions; the answers are not read.
    beam
        Width of the beam; 1 is greedy, as in the source.
    alpha
        Of the length penalty, for a beam of two or more.
    size
        Questions at a time; those of like length are answered together.
    """
    training = model.training
    model.eval()
    order = np.argsort(problems.bounds[1::2] - problems.bounds[:-1:2], kind="stable")
    texts = [""] * len(problems)
    for start in range(0, len(order), size):
        items = order[start : start + size]
        question = problems.batch(items).question
        longest = LONGEST_ANSWER + 1
        if beam == 1:
            answers = decoding.greedy(model, question, longest=longest)
        else:
            answers = decoding.beam_search(model, question, width=beam, longest=longest, alpha=alpha)
        for item, ids in zip(items.tolist(), decoding.best(answers), strict=True):
            texts[item] = decode(ids)
    model.train(training)
    return texts
