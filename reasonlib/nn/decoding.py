r"""Writing an answer token by token: the likeliest token, the likeliest answers, or a draw.

Sources: Vaswani et al. (2017), section 6.1 (beam search and its length penalty, after Wu et al. 2016,
eq. 14); Fan et al. (2018) (top-k); Holtzman et al. (2020) (nucleus). The probability of an answer is the
product of its tokens' (eq. 2.2 of Yun 2022).

Axes: B sources, K answers kept of each (the width of the beam), N = B * K rows, V tokens known.

::

    start -> a (0.6) -> b (0.1) ...                 greedy follows a, the likeliest first token;
          -> c (0.4) -> d (1.0)  <- the likeliest   a beam of two keeps c too, and finds the better answer.

Anything that can `begin` and `advance` may be decoded (see `Writer`). What is chosen lies on the CPU.
"""

from collections.abc import Callable, Sequence, Sized
from typing import Any, NamedTuple, Protocol

import torch
from jaxtyping import Float, Int
from torch import Tensor

__all__ = ["Answers", "Writer", "beam_search", "best", "greedy", "length_penalty", "sample", "score"]


class Writer(Protocol):
    """What can be decoded: a `Translator`, or a table in a test.

    ``begin(source)`` reads B sources and gives a reading with ``rows`` and ``select(rows)``.
    ``advance(reading, tokens)`` takes one more token of each row, the start at first, and gives the
    log-probabilities (N, V) of the next, and the next reading.
    """

    def begin(self, source: Any) -> Any:
        """Read."""

    def advance(self, reading: Any, tokens: Tensor) -> tuple[Tensor, Any]:
        """Take a token, score the next."""


class Answers(NamedTuple):
    """What was written, best first.

    Attributes
    ----------
    tokens : (B, K, T)
        Ids without the start; the end and what follows it are there as `end` and 0.
    scores : (B, K)
        Log-probability of each answer (nats), its end included.
    ranks : (B, K)
        What answers were ordered by: the score over the length penalty. Equal to `scores` without one.
    """

    tokens: Int[Tensor, "B K T"]
    scores: Float[Tensor, "B K"]
    ranks: Float[Tensor, "B K"]


def length_penalty(length: Tensor | int, alpha: float) -> Tensor:
    r"""What a score is divided by, so that long answers are not punished for their length.

    ``((5 + length) / 6) ** alpha``; 1 for every length if alpha is 0 (Wu et al. 2016, eq. 14). The source
    uses 0.6. The end counts as a token.

    >>> length_penalty(torch.tensor([1, 7]), 1.0)
    tensor([1., 2.])
    """
    return ((5 + torch.as_tensor(length)) / 6) ** alpha


@torch.no_grad()
def greedy(model: Writer, source: Sized, *, longest: int, start: int = 1, end: int = 2) -> Answers:
    """Take the likeliest token, again and again, until the end.

    The parameters are those of `beam_search`; there is one answer a source (K = 1).
    """

    # excerpt: greedy
    def choose(scores: Tensor) -> Tensor:
        return scores.max(-1).indices  # the likeliest next token

    # end excerpt

    return _write(model, source, choose, longest=longest, start=start, end=end)


def _write(
    model: Writer,
    source: Sized,
    choose: Callable[[Tensor], Tensor],
    *,
    longest: int,
    start: int,
    end: int,
) -> Answers:
    """Write one answer to each source, token by token: `choose` takes a token of each row of scores."""
    _check(longest=longest)
    reading = model.begin(source)
    tokens = torch.full((len(source),), start)
    done = torch.zeros(len(source), dtype=torch.bool)
    total = torch.zeros(len(source))
    written = []
    # excerpt: greedy
    for _ in range(longest):
        scores, reading = model.advance(reading, tokens)  # log-probabilities (B, V)
        tokens = choose(scores).masked_fill(done, 0)  # padding after the end
        value = scores.gather(1, tokens.unsqueeze(1)).squeeze(1)
        total = total + value.masked_fill(done, 0.0)  # log-probability so far
        written.append(tokens)
        done = done | (tokens == end)
        if done.all():
            break
    # end excerpt
    answers = _padded(torch.stack(written, 1), longest)
    return Answers(answers.unsqueeze(1), total.unsqueeze(1), total.unsqueeze(1))


@torch.no_grad()
def beam_search(
    model: Writer,
    source: Sized,
    *,
    width: int,
    longest: int,
    alpha: float = 0.0,
    start: int = 1,
    end: int = 2,
) -> Answers:
    """Keep the `width` best beginnings of every answer at every step.

    Parameters
    ----------
    model
        See `Writer`.
    source : (B, S), or anything of length B that the model reads
        What to answer; all are searched side by side.
    width
        K, beginnings kept. 1 is `greedy`; with as many as there are beginnings, nothing is ever dropped and
        the search is exhaustive.
    longest
        Tokens of an answer at most, its end included.
    alpha
        Of the `length_penalty`.
    start, end
        Their ids; padding is 0.

    Returns
    -------
    Answers
        Best first. Where fewer than K answers exist, the rest score minus infinity.

    Notes
    -----
    An answer that has ended stays in the beam and takes its place among those that go on, compared by the
    same rank; it is not set aside.
    """
    _check(width=width, longest=longest)
    if not alpha >= 0:
        raise ValueError(f"alpha must be at least 0, got {alpha}")
    sources = len(source)
    first = torch.arange(sources)
    reading = model.begin(source).select(first.repeat_interleave(width))
    tokens = torch.full((sources * width,), start)
    written = torch.zeros(sources, width, 0, dtype=torch.long)
    # One beginning only, the start: the other rows of the beam would be the same again.
    total = torch.full((sources, width), -torch.inf)
    total[:, 0] = 0.0
    lengths = torch.zeros(sources, width, dtype=torch.long)
    done = torch.zeros(sources, width, dtype=torch.bool)
    for _ in range(longest):
        scores, reading = model.advance(reading, tokens)
        scores = scores.unflatten(0, (sources, width))  # (B, K, V)
        words = scores.shape[-1]
        ended = torch.full((words,), -torch.inf)
        ended[0] = 0.0  # what has ended goes on as padding, at no cost
        scores = torch.where(done.unsqueeze(-1), ended, scores)
        # excerpt: beam
        # every beginning with every next token
        totals = total.unsqueeze(-1) + scores  # (B, K, V)
        grown = (lengths + (~done).long()).unsqueeze(-1).expand_as(totals)
        ranks = totals / length_penalty(grown, alpha)
        _, kept = ranks.flatten(1).topk(width, dim=1)  # keep K of the K * V
        parents, chosen = kept // words, kept % words  # which beginning, which token
        total = totals.flatten(1).gather(1, kept)
        lengths = grown.flatten(1).gather(1, kept)
        done = done.gather(1, parents) | (chosen == end)
        # end excerpt
        written = written.gather(1, parents.unsqueeze(-1).expand(-1, -1, written.shape[-1]))
        written = torch.cat((written, chosen.unsqueeze(-1)), -1)
        reading = reading.select((first.unsqueeze(1) * width + parents).flatten())
        tokens = chosen.flatten()
        if (done | total.isinf()).all():
            break
    ranks, order = (total / length_penalty(lengths, alpha)).sort(dim=1, descending=True)
    return Answers(
        _padded(written, longest).gather(1, order.unsqueeze(-1).expand(-1, -1, longest)),
        total.gather(1, order),
        ranks,
    )


@torch.no_grad()
def sample(
    model: Writer,
    source: Sized,
    *,
    longest: int,
    generator: torch.Generator,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    start: int = 1,
    end: int = 2,
) -> Answers:
    """Draw every token by its probability.

    Parameters
    ----------
    model, source, longest, start, end
        As for `beam_search`.
    generator
        Draws the tokens.
    temperature
        Divides the log-probabilities: below 1 the likely get likelier, towards 0 this is `greedy`.
    top_k
        Draw among the k likeliest tokens only.
    top_p
        Draw among the fewest tokens that have this probability together (the nucleus).

    Returns
    -------
    Answers
        With one answer a source; its score is the model's own, at temperature 1 and nothing cut.
    """
    if not temperature > 0:
        raise ValueError(f"temperature must be above 0, got {temperature}")
    if top_k is not None:
        _check(top_k=top_k)
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1, got {top_p}")

    def choose(scores: Tensor) -> Tensor:
        shares = (scores / temperature).softmax(-1)
        ordered, tokens = shares.sort(-1, descending=True)
        if top_k is not None:
            ordered[:, top_k:] = 0.0
        if top_p is not None:
            before = ordered.cumsum(-1) - ordered  # what the likelier ones have together
            ordered = ordered.masked_fill(before >= top_p, 0.0)
        drawn = torch.multinomial(ordered, 1, generator=generator)
        return tokens.gather(1, drawn).squeeze(1)

    return _write(model, source, choose, longest=longest, start=start, end=end)


@torch.no_grad()
def score(
    model: Writer, source: Sized, answers: Int[Tensor, "B T"], *, start: int = 1, end: int = 2
) -> Float[Tensor, " B"]:
    """Compute the log-probability, in nats, of each answer up to and including its end token (eq. 2.2).

    Parameters
    ----------
    model
        See `Writer`.
    source : (B, S), or anything of length B that the model reads
        The inputs that the answers belong to.
    answers : (B, T)
        Ids without the start.
    """
    reading = model.begin(source)
    tokens = torch.full((len(source),), start)
    done = torch.zeros(len(source), dtype=torch.bool)
    total = torch.zeros(len(source))
    # excerpt: score
    for position in range(answers.shape[1]):
        scores, reading = model.advance(reading, tokens)  # log-probabilities (B, V)
        tokens = answers[:, position]  # the token that the answer has here
        value = scores.gather(1, tokens.unsqueeze(1)).squeeze(1)
        total = total + value.masked_fill(done, 0.0)  # a sum of logarithms
        done = done | (tokens == end)
    return total
    # end excerpt


def best(answers: Answers, *, end: int = 2) -> list[tuple[int, ...]]:
    """Give the best answer to each source, without its end."""
    return [_until(row, end) for row in answers.tokens[:, 0].tolist()]


def _until(tokens: Sequence[int], end: int) -> tuple[int, ...]:
    stop = tokens.index(end) if end in tokens else len(tokens)
    return tuple(token for token in tokens[:stop] if token)


def _padded(written: Tensor, longest: int) -> Tensor:
    missing = longest - written.shape[-1]
    return torch.nn.functional.pad(written, (0, missing))


def _check(**numbers: int) -> None:
    for name, number in numbers.items():
        if number < 1:
            raise ValueError(f"{name} must be at least 1, got {number}")
