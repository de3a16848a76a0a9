"""HAN: Hierarchical Attention Networks, from words to sentences by two attentions a layer (eq. 3.11 to 3.13).

Source: Yun (2022), section 3.2.1, after Miculicich et al. (2018). https://arxiv.org/abs/1809.01576

Axes: B sentences, S source tokens, C context sentences, T context tokens, D width, H heads.

::

    h'_j --> attention to the words of sentence i --> e_i^j      for each of the C sentences
    h'_j --> attention to e_0^j .. e_C^j          --> t^j
    h'_j, t^j --> gated sum --> next layer
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from reasonlib.context_translation.data.encoding import Batch
from reasonlib.context_translation.models.parts import Encoding, GatedSum, SystemConfig
from reasonlib.nn import (
    Encoder,
    FeedForward,
    MultiHeadAttention,
    ScaledEmbedding,
    SinusoidalPositions,
    TransformerConfig,
    padding_mask,
)

__all__ = ["HAN", "HierarchicalAttention"]


class HierarchicalAttention(nn.Module):
    """Read the context of every source word: words first, then sentences.

    Parameters
    ----------
    config : TransformerConfig
        Its sizes.
    longest : int
        Context sentences at most.

    Notes
    -----
    The source says that ``e_i`` has the length of the context sentence; its equation 3.11, with the source as
    the query, gives one vector for each source token, as in the original, and so does this. One feed-forward
    layer follows both attentions.
    """

    def __init__(self, config: TransformerConfig, longest: int) -> None:
        super().__init__()
        width, dropout, eps = config.width, config.dropout, config.eps
        self.word_attention = MultiHeadAttention(width, config.heads, dropout)
        self.sentence_attention = MultiHeadAttention(width, config.heads, dropout)
        self.word_norm = nn.LayerNorm(width, eps=eps)
        self.sentence_norm = nn.LayerNorm(width, eps=eps)
        self.query_norm = nn.LayerNorm(width, eps=eps)
        self.feed_forward = FeedForward(width, config.hidden, config.activation)
        self.sum = GatedSum(width)
        self.distances = SinusoidalPositions(longest, width)

    def forward(
        self,
        x: Float[Tensor, "B S D"],
        context: Float[Tensor, "B C T D"],
        present: Bool[Tensor, "B C T"],
    ) -> tuple[
        Float[Tensor, "B S D"], Float[Tensor, "B S C T"], Float[Tensor, "B S C"], Float[Tensor, "B S D"]
    ]:
        """Return the mixed states, the attention to words and to sentences, and the gate."""
        batch, count, width = present.shape
        length = x.shape[1]
        # excerpt: han
        query = self.query_norm(x)  # h'
        # every source token attends to every sentence: (B * C, S, D)
        queries = query.unsqueeze(1).expand(-1, count, -1, -1).flatten(0, 1)
        words = self.word_attention(
            queries,
            context.flatten(0, 1),
            context.flatten(0, 1),
            present.flatten(0, 1).unsqueeze(1),
        )
        e = self.word_norm(queries + self.feed_forward(words.output)).unflatten(
            0,
            (batch, count),
        )  # eq. 3.11
        e = e + self.distances(count).unsqueeze(1)
        s = e.transpose(1, 2).flatten(0, 1)  # eq. 3.12: (B * S, C, D)
        seen = present.any(2).repeat_interleave(length, 0).unsqueeze(1)  # (B * S, 1, C)
        sentences = self.sentence_attention(
            query.flatten(0, 1).unsqueeze(1),
            s,
            s,
            seen,
        )
        t = sentences.output.view_as(x)  # eq. 3.13
        t = self.sentence_norm(query + self.feed_forward(t))
        mixed, gate = self.sum(x, t)
        # end excerpt
        by_sentence = sentences.weights.mean(1).view(batch, length, count)
        by_word = words.weights.mean(1).view(batch, count, length, width).transpose(1, 2)
        return mixed, by_word * by_sentence.unsqueeze(3), by_sentence, gate


class HAN(nn.Module):
    """Hierarchical Attention Networks; time grows as S squared, plus C T S, plus C T squared.

    `config` gives its sizes.

    Notes
    -----
    Source and context go through the same encoder layers (section 3.3.2), and after each of them the source
    reads the context. All layers share one `HierarchicalAttention`: the printed count of parameters (66.2M)
    has room for one.
    """

    def __init__(self, config: SystemConfig) -> None:
        super().__init__()
        self.encoder = Encoder(config.stack)
        self.hierarchy = HierarchicalAttention(config.stack, config.longest)

    def forward(self, batch: Batch, embed: ScaledEmbedding) -> Encoding:
        """Encode a batch."""
        sentences, shape = batch.context.flatten(0, 1), batch.context.shape
        c, context_mask = embed(sentences), padding_mask(sentences)
        x, mask = embed(batch.source), padding_mask(batch.source)
        words, by_sentence, gates = [], [], []
        for layer in self.encoder.layers:
            c, x = layer(c, context_mask).output, layer(x, mask).output
            states = self.encoder.end(c).unflatten(0, shape[:2])
            x, by_word, sentence, gate = self.hierarchy(x, states, batch.context.ne(0))
            gates.append(gate)
            if not self.training:
                words.append(by_word.detach())
                by_sentence.append(sentence.detach())
        if self.training:
            return Encoding(self.encoder.end(x), mask, gate=torch.stack(gates).mean(0))
        return Encoding(
            self.encoder.end(x),
            mask,
            words=torch.stack(words).mean(0),
            sentences=torch.stack(by_sentence).mean(0),
            gate=torch.stack(gates).mean(0),
        )
