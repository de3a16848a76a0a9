"""What the bundled translator writes in a context, and where each word of the translation looked."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from reasonlib.context_translation.data.encoding import EncodedSentence, collate
from reasonlib.context_translation.models.decoding import translate, translate_batch
from reasonlib.context_translation.models.pretrained import BundledTranslator

__all__ = ["CONTEXTS", "LONGEST", "InContext", "knows", "nearest", "read_in_context", "translate_all"]

CONTEXTS = 2  # sentences before that the bundled translator was trained to read
LONGEST = 32  # words of a translation


class InContext(NamedTuple):
    """A translation and where each of its words looked.

    Attributes
    ----------
    words
        The U words of the translation.
    context
        Words of the C context sentences that were read, the nearest last.
    attention : U lists of C tensors
        For each word of the translation, the weight of each word of each context sentence.
    kept : (U,)
        How much of the source passed the gate, mean over its numbers.
    """

    words: list[str]
    context: list[list[str]]
    attention: list[list[Float[Tensor, " T"]]]
    kept: Float[Tensor, " U"]


def knows(translator: BundledTranslator, word: str) -> bool:
    """Whether a word is in the vocabulary of the translator."""
    return word in translator.tokens.vocabulary


def nearest(context: Sequence[str], count: int = CONTEXTS) -> list[str]:
    """Return the last sentences of a context that have words, nearest first."""
    return [text for text in context if text.split()][-count:][::-1] if count else []


def translate_all(
    translator: BundledTranslator, cases: Sequence[tuple[str, Sequence[str]]], *, count: int = CONTEXTS
) -> list[str]:
    """Translate sentences, each with the sentences before it, the nearest last.

    Parameters
    ----------
    translator
        The bundled one.
    cases
        Sentence and context.
    count
        Sentences of the context that are read, at most.
    """
    encoded = [translator.encode(sentence, nearest(context, count)) for sentence, context in cases]
    return translate(translator.model, encoded, translator.tokens, longest=LONGEST)


@torch.no_grad()
def read_in_context(translator: BundledTranslator, sentence: str, context: Sequence[str] = ()) -> InContext:
    """Translate one sentence after those before it, the nearest last, and say where its words looked."""
    encoded = translator.encode(sentence, nearest(context))
    (ids,) = translate_batch(translator.model, collate([encoded]), longest=LONGEST)
    scored = translator.model(collate([EncodedSentence(encoded.source, encoded.context, ids)]))
    encoding = scored.encoding
    assert scored.attention is not None and encoding.words is not None and encoding.gate is not None
    looks = torch.einsum("us,sct->uct", scored.attention[0], encoding.words[0])
    tokens, lengths = translator.tokens.vocabulary.tokens, [len(token_ids) for token_ids in encoded.context]
    return InContext(
        words=[tokens[number] for number in ids],
        context=[[tokens[number] for number in token_ids[1:]] for token_ids in encoded.context[::-1]],
        attention=[[row[c, 1 : lengths[c]] for c in reversed(range(len(lengths)))] for row in looks],
        kept=scored.attention[0] @ encoding.gate[0].mean(-1),
    )
