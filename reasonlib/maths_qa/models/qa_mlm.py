"""QA-MLM: an encoder that reads a question joined with its answer and fills in what is hidden.

Source: An (2021), section 5.2.1 and figures 5.2 and 5.3.

Axes: B problems, T tokens of question and answer, D width, V vocabulary, M hidden tokens of a batch.

::

    [question][SOS]answer[EOS], some hidden --> embedding --> encoder --> (B, T, D)
                                                                           | at the hidden tokens
                                                                           '--> output --> logits (M, V)
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from reasonlib.maths_qa.data.encoding import Joined
from reasonlib.maths_qa.data.masking import IGNORED, Masked
from reasonlib.maths_qa.models import fused
from reasonlib.maths_qa.models.transformer import InputEmbedding, SolverConfig
from reasonlib.nn import Encoder, initialise, padding_mask
from reasonlib.training import seeded

__all__ = ["MaskedModel", "masked_loss"]


class MaskedModel(nn.Module):
    """Guess the hidden characters of questions and answers.

    Parameters
    ----------
    config : SolverConfig
        Sizes, the same as those of the solver that starts from it.
    seed : int
        Draws the first weights.
    """

    def __init__(self, config: SolverConfig, *, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        with seeded(seed):
            self.embedding = InputEmbedding(config)
            self.encoder = Encoder(config.stack)
            self.output = nn.Linear(config.width, config.vocabulary)
            initialise(self.output)

    def encode(self, joined: Joined) -> Float[Tensor, "B T D"]:
        """Read questions joined with their answers, in both directions."""
        x = self.embedding(joined)
        return fused.encode(self.encoder, x, padding_mask(joined.tokens))

    def forward(self, joined: Joined) -> Float[Tensor, "B T V"]:
        """Return logits of every token."""
        return self.output(self.encode(joined))


def masked_loss(model: MaskedModel, batch: Masked) -> Tensor:
    """Return the mean cross-entropy of the hidden characters (nats); zero where none is hidden."""
    # excerpt: masked loss
    chosen = batch.labels != IGNORED
    states = model.encode(batch.seen)[chosen]  # (M, D)
    logits = model.output(states)  # (M, V)
    loss = functional.cross_entropy(logits, batch.labels[chosen], reduction="sum")
    # end excerpt
    return loss / torch.clamp(chosen.sum(), min=1)
