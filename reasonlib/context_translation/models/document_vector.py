"""The document vector: one more vector beside those of the context sentences (table 3.3).

Axes: B sentences, C context sentences, N tokens of the document, D width.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reasonlib.nn import ScaledEmbedding

__all__ = ["DocumentVector"]


class DocumentVector(nn.Module):
    """Put a vector of the whole document before the vectors of the context sentences.

    Parameters
    ----------
    width : int
        D.

    Notes
    -----
    The source uses a "document level vector" (section 3.3.3) and does not say what it is. Ours is the mean of
    the embeddings of all source tokens of the document, through one linear map. It comes first, where its
    position does not depend on how many context sentences others in the batch have.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.map = nn.Linear(width, width)

    def forward(
        self,
        vectors: Float[Tensor, "B C D"],
        present: Bool[Tensor, "B 1 C"],
        document: Int[Tensor, "B N"],
        embed: ScaledEmbedding,
    ) -> tuple[Float[Tensor, "B C+1 D"], Bool[Tensor, "B 1 C+1"]]:
        """Return the vectors and their mask, each one longer."""
        if not document.shape[1]:
            raise ValueError("the batch has no document tokens; encode it with whole=True")
        mask = document.ne(0).unsqueeze(2)
        words = embed.table(document) * mask * embed.table.embedding_dim**0.5
        mean = words.sum(1) / mask.sum(1).clamp(min=1)
        more = torch.ones_like(present[:, :, :1])
        return torch.cat((self.map(mean).unsqueeze(1), vectors), 1), torch.cat((more, present), 2)
