"""The trained translator that is bundled with the library, and how to use it.

::

    weights/hce.safetensors   half precision; vocabulary, sizes and how it was made as metadata
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import torch

from reasonlib.context_translation.data.encoding import CONTEXT, EncodedSentence, Words, collate
from reasonlib.context_translation.models.decoding import translate_batch
from reasonlib.context_translation.models.parts import SystemConfig
from reasonlib.context_translation.models.translator import Translator
from reasonlib.errors import UserError
from reasonlib.training.vocabulary import Vocabulary
from reasonlib.training.weights import find_weights, reading, save_bundle

__all__ = ["BUNDLED", "BundledTranslator", "Translated", "from_pretrained", "save_translator"]

WEIGHTS = Path(__file__).parents[1] / "weights"
BUNDLED = ("hce",)
KIND = "context translator"


class Translated(NamedTuple):
    """A translation and where the model looked for it.

    Attributes
    ----------
    text
        The translation.
    source, context
        The words that were read; each context sentence begins with its mark, nearest sentence first.
    words : (S, C, T)
        Attention of each source word to each context word.
    gate : (S,)
        Share of the source in the gated sum, mean over the width.
    """

    text: str
    source: tuple[str, ...]
    context: tuple[tuple[str, ...], ...]
    words: torch.Tensor
    gate: torch.Tensor


class BundledTranslator(NamedTuple):
    """A translator with what is needed to use it.

    Attributes
    ----------
    model
        In float32, on the CPU.
    tokens
        Its words.
    made
        How it was trained, and what it was measured to do.
    """

    model: Translator
    tokens: Words
    made: Mapping[str, Any]

    def encode(self, source: str, context: Sequence[str] = ()) -> EncodedSentence:
        """Encode a sentence after the sentences before it, nearest first.

        Raises
        ------
        UserError
            If the sentence is empty, too long, or holds a word that the translator does not know.
        """
        if isinstance(context, str):
            raise UserError("the context must be a list of sentences, got one text")
        longest = self.model.config.longest - 1  # a mark stands before a context sentence
        if len(context) > longest:
            raise UserError(f"the context must have at most {longest} sentences, got {len(context)}")
        for text in (source, *context):
            words = text.split()
            if not 1 <= len(words) <= longest:
                raise UserError(f"a sentence must hold 1 to {longest} words, got {len(words)}")
            for word in words:
                if word not in self.tokens.vocabulary:
                    raise UserError(f"the word {word!r} is not in the vocabulary of the simulated language")
        ids = tuple(self.tokens.encode(source))
        return EncodedSentence(ids, tuple((CONTEXT, *self.tokens.encode(text)) for text in context), (0,))

    @torch.no_grad()
    def translate(self, source: str, context: Sequence[str] = ()) -> Translated:
        """Translate a sentence after the sentences before it, nearest first.

        Raises
        ------
        UserError
            If the sentence is empty, too long, or holds a word that the translator does not know.
        """
        sentence = self.encode(source, context)
        batch = collate([sentence])
        encoding = self.model.encode(batch)
        assert encoding.words is not None and encoding.gate is not None
        written = translate_batch(self.model, batch, longest=32)[0]
        return Translated(
            self.tokens.decode(written),
            tuple(source.split()),
            tuple(("<context>", *text.split()) for text in context),
            encoding.words[0],
            encoding.gate[0].mean(1),
        )


def save_translator(model: Translator, tokens: Words, made: Mapping[str, Any], path: Path) -> Path:
    """Write a translator as one safetensors file, atomically and in half precision."""
    return save_bundle(
        path,
        model,
        kind=KIND,
        settings=model.settings,
        vocabulary=list(tokens.vocabulary.tokens),
        made=dict(made),
    )


@lru_cache(maxsize=2)
def from_pretrained(name: str | Path = "hce") -> BundledTranslator:
    """Load a trained translator of the simulated languages.

    Parameters
    ----------
    name
        One of `BUNDLED`, or a file that `save_translator` wrote.

    Raises
    ------
    UserError
        If there is no such translator, or its file is damaged or holds something else.
    """
    with reading(find_weights(name, WEIGHTS, BUNDLED), kind=KIND) as bundle:
        settings = dict(bundle["settings"])
        tokens = Words(Vocabulary(bundle["vocabulary"]))
        model = Translator(settings.pop("system"), SystemConfig(**settings))
        bundle.fill(model)
        return BundledTranslator(model, tokens, bundle["made"])
