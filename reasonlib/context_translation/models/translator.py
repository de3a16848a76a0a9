"""The whole translator: one of the systems as encoder, and a decoder that writes the translation.

Source: Yun (2022), chapter 3; the decoder is that of Vaswani et al. (2017).

Axes: B sentences, S source tokens, U target tokens, D width, V vocabulary.

::

    batch --> source embedding --> SYSTEMS[name] --> Encoding
                                                        |
    start, target --> target embedding --> decoder <----'  --> states --> target embedding --> logits over V
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from reasonlib.arguments import check_choice
from reasonlib.context_translation.data.encoding import Batch
from reasonlib.context_translation.models.concatenation import Concatenation
from reasonlib.context_translation.models.dat import DAT
from reasonlib.context_translation.models.dct import DCT
from reasonlib.context_translation.models.han import HAN
from reasonlib.context_translation.models.hce import HCE
from reasonlib.context_translation.models.hmce import HMCE, ContextDecoder
from reasonlib.context_translation.models.no_context import NoContext
from reasonlib.context_translation.models.parts import Encoding, SystemConfig
from reasonlib.nn import Decoder, MultiHeadAttended, Past, ScaledEmbedding, TransformerConfig, initialise
from reasonlib.training import seeded

__all__ = ["SYSTEMS", "Progress", "Translation", "Translator", "Written", "target_scores", "translation_loss"]

SYSTEMS: dict[str, type[nn.Module]] = {
    "no-context": NoContext,  # TwoC
    "concatenation": Concatenation,  # TwC
    "dct": DCT,
    "dat": DAT,
    "han": HAN,
    "hce": HCE,
    "hmce": HMCE,
}
"""Row to encoder; each is called as ``system(batch, embed)`` and returns an `Encoding`."""


class Translation(NamedTuple):
    """What a translator gives while the target is known.

    Attributes
    ----------
    logits : (B, U, V)
        Of each target token, given those before it.
    encoding : Encoding
        What the encoder made, with its attention to the context.
    attention : (B, U, S), optional
        Where the decoder looked in the memory for each target token, mean over heads and layers. None while
        the model trains.
    """

    logits: Float[Tensor, "B U V"]
    encoding: Encoding
    attention: Float[Tensor, "B U S"] | None


class Written(NamedTuple):
    """States (B, U, D) of the decoder, its attention to the memory in each layer, and its past."""

    output: Float[Tensor, "B U D"]
    attention: Sequence[MultiHeadAttended]
    past: tuple[Any, ...]


class PlainDecoder(nn.Module):
    """The decoder of the Transformer, called with an `Encoding`.

    `config` gives its sizes.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.decoder = Decoder(config)

    def forward(
        self, x: Float[Tensor, "B U D"], encoding: Encoding, past: tuple[Past, ...] | None = None
    ) -> Written:
        """Run the decoder over vectors of target tokens, from where `past` ends."""
        decoded = self.decoder(x, encoding.memory, memory_mask=encoding.mask, past=past)
        return Written(decoded.output, decoded.memory_attention, decoded.past)


class Progress(NamedTuple):
    """Where the writing of translations stands; see `reasonlib.nn.decoding`."""

    encoding: Encoding
    past: tuple[Any, ...] | None

    def select(self, rows: Int[Tensor, " N"]) -> "Progress":
        """Keep these sentences, in this order; one may be named twice."""
        memory, mask, context = self.encoding[:3]
        kept = Encoding(memory[rows], mask[rows], None if context is None else context[rows])
        return Progress(kept, None if self.past is None else tuple(past.select(rows) for past in self.past))


class Translator(nn.Module):
    """Translate sentences, each with its context.

    Parameters
    ----------
    system : str
        A key of `SYSTEMS`.
    config : SystemConfig
        Its sizes.
    seed : int
        Draws the first weights.

    Notes
    -----
    Source and target have an embedding each, and the target's also gives the logits: 61.0M parameters for the
    Transformer without context at the source's sizes, as table 3.4 prints.
    """

    def __init__(self, system: str, config: SystemConfig, *, seed: int = 0) -> None:
        super().__init__()
        check_choice("system", system, SYSTEMS)
        self.system = system
        self.config = config
        with seeded(seed):
            sizes = config.vocabulary, config.width, config.longest, config.dropout
            self.source = ScaledEmbedding(*sizes)
            self.target = ScaledEmbedding(*sizes)
            self.encoder = SYSTEMS[system](config)
            self.decoder = (ContextDecoder if system == "hmce" else PlainDecoder)(config.stack)
            initialise(self.encoder)
            initialise(self.decoder)

    @property
    def settings(self) -> dict[str, object]:
        """What a bundle keeps to build the translator again."""
        return {"system": self.system, **asdict(self.config)}

    def encode(self, batch: Batch) -> Encoding:
        """Read the sentences and their context."""
        return self.encoder(batch, self.source)

    def decode(
        self, given: Int[Tensor, "B U"], encoding: Encoding, past: tuple[Any, ...] | None = None
    ) -> Written:
        """Run the decoder over target tokens, from where `past` ends."""
        x = self.target(given, 0 if past is None else past[0].length)
        return Written(*self.decoder(x, encoding, past))

    def forward(self, batch: Batch) -> Translation:
        """Score the target of a batch."""
        encoding = self.encode(batch)
        decoded = self.decode(batch.given, encoding)
        attention = None if self.training else _mean(decoded.attention)
        return Translation(self.target.logits(decoded.output), encoding, attention)

    def begin(self, batch: Batch) -> Progress:
        """Read the sentences once, ready to be translated token by token."""
        device = self.target.table.weight.device
        return Progress(self.encode(batch.to(device)), None)

    def advance(self, progress: Progress, tokens: Int[Tensor, " B"]) -> tuple[Float[Tensor, "B V"], Progress]:
        """Take one more token of each translation and give the log-probability (nats) of every next one."""
        given = tokens.unsqueeze(1).to(progress.encoding.memory.device)
        decoded = self.decode(given, progress.encoding, progress.past)
        scores = self.target.logits(decoded.output[:, -1]).log_softmax(-1).cpu()
        return scores, progress._replace(past=decoded.past)


def _mean(attention: Sequence[MultiHeadAttended]) -> Float[Tensor, "B U S"]:
    return torch.stack([layer.weights.detach().mean(1) for layer in attention]).mean(0)


def translation_loss(model: Translator, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
    """Return the mean cross-entropy of the target tokens (nats), padding left out."""
    logits = model(batch).logits
    return functional.cross_entropy(
        logits.flatten(0, 1), batch.target.flatten(), ignore_index=0, label_smoothing=smoothing
    )


def target_scores(model: Translator, batch: Batch) -> Float[Tensor, " B"]:
    """Return the log-probability of each target of a batch, its end included (nats)."""
    present: Bool[Tensor, "B U"] = batch.target != 0
    scores = model(batch).logits.log_softmax(-1).gather(2, batch.target.unsqueeze(2)).squeeze(2)
    return (scores * present).sum(1)
