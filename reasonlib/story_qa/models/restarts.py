r"""Memory networks side by side: R restarts of one network, trained and asked as one model.

The weights of all restarts share one tensor with a restart axis, so that one optimiser step updates all of
them, and a batch is gathered once::

    one task's questions -> batch --+--> restart 1 --+
                                    +--> restart 2 --+--> logits of each restart
                                    +--> ...       --+

`MemoryNetwork` is the network of the book's chapter. `Restarts` follows the code that the authors released,
which differs from the paper in three ways that decide about some tasks:

- all `slots` memories take part in the softmax, those without a sentence with a score of zero;
- words are weighted by `position_bags_as_released`, twice the paper's weight, with one J for all sentences;
- linear start uses the bare scores; the stories of one task have similar lengths, so this does not diverge.

Source: Sukhbaatar et al. (2015), sections 4.1, 4.2 and 4.4. https://arxiv.org/abs/1503.08895

Axes: R restarts, B questions, S memory slots, U distinct sentences, V words, D width, K hops, T tables.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from reasonlib.arguments import check_at_least
from reasonlib.nn.memory import masked_identity
from reasonlib.story_qa.data.encoding import Batch
from reasonlib.story_qa.models.memory_network import Tying

__all__ = ["Restarts", "RestartsConfig", "softmax_with_empty"]


@dataclass(frozen=True, kw_only=True)
class RestartsConfig:
    """Sizes of memory networks that differ in nothing but their first weights.

    Raises `ValueError` if a size is below 1.
    """

    vocabulary: int  # V, answers included
    restarts: int = 10  # R, as in section 4.4
    width: int = 20  # D
    hops: int = 3  # K
    slots: int = 50  # S
    init_std: float = 0.1  # standard deviation of the first weights

    def __post_init__(self) -> None:
        check_at_least(self, 1, "vocabulary", "restarts", "width", "hops", "slots")


def softmax_with_empty(
    scores: Float[Tensor, "R B S"], mask: Bool[Tensor, "B S"], places: int
) -> Float[Tensor, "R B S"]:
    """Softmax over all places of the memory; those without a sentence have a score of zero and are not read.

    >>> softmax_with_empty(torch.zeros(1, 1, 2), torch.tensor([[True, False]]), places=4)
    tensor([[[0.2500, 0.0000]]])
    """
    # excerpt: softmax with empty
    hidden = ~mask
    # n empty slots, each with a score of 0, together have a score of log n
    empty = (places - mask.sum(1, keepdim=True)).to(scores.dtype).log()
    empty = empty.expand(len(scores), -1, -1)
    lowest = torch.finfo(scores.dtype).min
    scores = torch.cat(
        [scores.masked_fill(hidden, lowest), empty.clamp(min=lowest)],
        dim=2,
    )
    return scores.softmax(2)[:, :, :-1].masked_fill(hidden, 0.0)
    # end excerpt


class Restarts(nn.Module):
    """R memory networks with adjacent tying, asked the same questions.

    ``words`` is (T, R, V, D) and ``ages`` is (T, R, S, D); `Tying` says which table serves as what.

    Parameters
    ----------
    config
        Sizes.
    seed
        Draws the first weights of all of them from N(0, init_std).
    """

    unit: Tensor

    def __init__(self, config: RestartsConfig, *, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        self.tying = Tying.adjacent(config.hops)
        draw = torch.Generator().manual_seed(seed)
        shape = (self.tying.tables, config.restarts)
        words = torch.randn((*shape, config.vocabulary, config.width), generator=draw)
        ages = torch.randn((*shape, config.slots, config.width), generator=draw)
        self.words = nn.Parameter(words * config.init_std)
        self.ages = nn.Parameter(ages * config.init_std)
        self.register_buffer("unit", torch.arange(1, config.width + 1) / config.width, persistent=False)

    def forward(self, batch: Batch, *, linear: bool = False) -> Float[Tensor, "R B V"]:
        """Score every word as the answer to every question, by every restart.

        Parameters
        ----------
        batch
            Stories with at most ``config.slots`` sentences.
        linear
            Leave the softmax out (linear start, section 4.2).
        """
        bags = batch.sentences.unbind(1)
        sentences = bags[0] @ self.words + self.unit * (bags[1] @ self.words)  # (T, R, U, D)
        state = sentences[self.tying.query][:, batch.question]  # (R, B, D)
        slots = batch.story.shape[1]
        story = batch.story.expand(len(state), -1, -1)  # (R, B, S)
        for key, value in zip(self.tying.keys, self.tying.values, strict=True):
            scores = (state @ sentences[key].mT).gather(2, story) + state @ self.ages[key, :, :slots].mT
            if linear:
                weights = masked_identity(scores, batch.filled)
            else:
                weights = softmax_with_empty(scores, batch.filled, self.config.slots)
            shares = torch.zeros_like(weights[..., :1]).expand(-1, -1, sentences.shape[2])
            shares = shares.scatter_add(2, story, weights)  # (R, B, U): what each distinct sentence is given
            state = state + shares @ sentences[value] + weights @ self.ages[value, :, :slots]
        return state @ self.words[self.tying.answer].mT
