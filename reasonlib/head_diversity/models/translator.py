"""An encoder-decoder Transformer without a context, whose three kinds of attention are compared.

Source: Yun (2022), section 4.4.1: six layers, width 64 to 512, 1 to 16 heads.

Axes: B sentences, S source tokens, U target tokens, D width, V vocabulary.

::

    source --> embedding --> encoder --> memory --.
    target --> embedding --> decoder <------------'  --> states --> embedding^T --> logits over V
"""

from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from reasonlib.head_diversity.data.pairs import PairBatch
from reasonlib.head_diversity.models.language_model import LanguageModelConfig
from reasonlib.nn import Decoded, Decoder, DecodingState, Encoder, ScaledEmbedding, initialise, padding_mask
from reasonlib.training import seeded

__all__ = ["MODULES", "Translator", "TranslatorConfig", "side_of", "translation_loss"]

MODULES = {
    "encoder": ("encoder.layers.", ".attention"),
    "decoder": ("decoder.layers.", ".attention"),
    "memory": ("decoder.layers.", ".memory_attention"),
}
"""The source's three modules, by the start and the end of their attentions' names."""


@dataclass(frozen=True, kw_only=True)
class TranslatorConfig(LanguageModelConfig):
    """Sizes of a translator; the defaults are the source's largest (section 4.5.1)."""

    width: int = 512
    layers: int = 6
    heads: int = 8
    hidden: int = 2048


class Translator(nn.Module):
    """Translate sentences.

    Parameters
    ----------
    config : TranslatorConfig
        Its sizes; one vocabulary and one embedding serve both languages.
    seed : int
        Draws the first weights.
    """

    def __init__(self, config: TranslatorConfig, *, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        with seeded(seed):
            self.embedding = ScaledEmbedding(config.vocabulary, config.width, config.longest, config.dropout)
            self.encoder = Encoder(config.stack)
            self.decoder = Decoder(config.stack)
            initialise(self)

    def encode(self, source: Int[Tensor, "B S"]) -> DecodingState:
        """Read sources."""
        mask = padding_mask(source)
        return DecodingState(self.encoder(self.embedding(source), mask).output, mask)

    def decode(self, given: Int[Tensor, "B U"], state: DecodingState) -> Decoded:
        """Run the decoder over target tokens, from where the past of `state` ends."""
        x = self.embedding(given, state.length)
        return self.decoder(x, state.memory, memory_mask=state.mask, past=state.past)

    def forward(self, batch: PairBatch) -> Float[Tensor, "B U V"]:
        """Score the targets of a batch."""
        return self.embedding.logits(self.decode(batch.given, self.encode(batch.source)).output)

    def begin(self, batch: PairBatch) -> DecodingState:
        """Read sources once, to be translated token by token; see `reasonlib.nn.decoding`."""
        return self.encode(batch.source.to(self.embedding.table.weight.device))

    def advance(
        self, state: DecodingState, tokens: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B V"], DecodingState]:
        """Take one more token of each translation and give the log-probability (nats) of every next one."""
        decoded = self.decode(tokens.unsqueeze(1).to(state.memory.device), state)
        scores = self.embedding.logits(decoded.output[:, -1]).log_softmax(-1).cpu()
        return scores, state._replace(past=decoded.past)


def translation_loss(model: Translator, batch: PairBatch, *, smoothing: float = 0.0) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the target tokens (nats), padding left out."""
    return functional.cross_entropy(
        model(batch).flatten(0, 1), batch.target.flatten(), ignore_index=0, label_smoothing=smoothing
    )


def side_of(attention: str, part: str) -> str:
    """Say whether the queries or the values of an attention are tokens of the source or of the target.

    >>> [side_of("decoder.layers.0.memory_attention", part) for part in ("query", "value")]
    ['target', 'source']
    """
    if attention.startswith("encoder."):
        return "source"
    return "source" if attention.endswith("memory_attention") and part == "value" else "target"
