"""From sentences to translations: greedy or by beam search, in batches.

The search itself is `reasonlib.nn.decoding`, which reuses the keys and values of what was written.
"""

from collections.abc import Sequence

import torch

from reasonlib.context_translation.data.encoding import Batch, EncodedSentence, Tokens, batches
from reasonlib.context_translation.models.translator import Translator, target_scores
from reasonlib.nn import decoding

__all__ = ["score", "translate", "translate_batch"]


def translate_batch(
    model: Translator, batch: Batch, *, beam: int = 1, alpha: float = 0.6, longest: int = 64
) -> list[tuple[int, ...]]:
    """Translate one batch.

    Parameters
    ----------
    model
        In evaluation mode.
    batch
        Sentences and contexts; its target is not read.
    beam
        Width of the beam; 1 is greedy.
    alpha
        Of the length penalty, for a beam of two or more.
    longest
        Tokens of a translation at most.

    Returns
    -------
    list
        Token ids of each translation, without its end.
    """
    if beam == 1:
        return decoding.best(decoding.greedy(model, batch, longest=longest))
    return decoding.best(decoding.beam_search(model, batch, width=beam, longest=longest, alpha=alpha))


def translate(
    model: Translator,
    sentences: Sequence[EncodedSentence],
    tokens: Tokens,
    *,
    beam: int = 1,
    alpha: float = 0.6,
    longest: int = 64,
    size: int = 128,
) -> list[str]:
    """Translate encoded sentences and return their texts, in the order given; see `translate_batch`."""
    training = model.training
    model.eval()
    texts = [""] * len(sentences)
    for items, batch in batches(sentences, size=size, seed=0):
        written = translate_batch(model, batch, beam=beam, alpha=alpha, longest=longest)
        for item, ids in zip(items, written, strict=True):
            texts[item] = tokens.decode(ids)
    model.train(training)
    return texts


@torch.no_grad()
def score(model: Translator, sentences: Sequence[EncodedSentence], *, size: int = 256) -> list[float]:
    """Return the log-probability of the target of each sentence (nats), its end included."""
    training = model.training
    model.eval()
    device = model.target.table.weight.device
    scores = [0.0] * len(sentences)
    for items, batch in batches(sentences, size=size, seed=0):
        for item, value in zip(items, target_scores(model, batch.to(device)).tolist(), strict=True):
            scores[item] = value
    model.train(training)
    return scores
