"""What is measured of a trained system on labelled test documents.

::

    documents -> translations -> accuracy, BLEU, chrF     of all, of helpful and of unhelpful sentences
              -> scores       -> contrastive accuracy     is the right word likelier than the wrong one?
              -> encodings    -> attention                did the encoder look at what decides?
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from reasonlib.context_translation.data.encoding import END, EncodedSentence, batches
from reasonlib.context_translation.experiments.train import Trained
from reasonlib.context_translation.models.decoding import score
from reasonlib.parallel.example import Document, SentencePair
from reasonlib.parallel.metrics import bleu, bootstrap, chrf, sentence_accuracy

__all__ = ["attention", "contrastive", "measure"]


def measure(trained: Trained, documents: Sequence[Document]) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the metrics of labelled test documents, and further details for a record.

    The metrics are the accuracy of whole sentences, BLEU and chrF, of all, of helpful and of unhelpful
    sentences, and how far BLEU on helpful ones falls behind; the accuracy of helpful ones by kind, by
    distance and after the context of another document, where a document vector stays that of their own;
    contrastive accuracy, the share of helpful sentences whose right translation is likelier than the one with
    the wrong word; and `attention` to what decides.
    """
    pairs = [pair for document in documents for pair in document.pairs]
    sentences = trained.encode(documents)
    translations = trained.translate(sentences)
    groups = _groups(pairs)
    metrics: dict[str, float] = {}
    intervals: dict[str, tuple[float, float]] = {}
    signature = ""
    for name, numbers in groups.items():
        written = [translations[number] for number in numbers]
        references = [pairs[number].target for number in numbers]
        metrics[f"sentence_accuracy{name}"] = sentence_accuracy(written, references)
        if "." not in name:
            counted = bleu(written, references, tokenize="none")
            metrics[f"bleu{name}"], signature = counted.score, counted.signature
            metrics[f"chrf{name}"] = chrf(written, references).score
            intervals[f"sentence_accuracy{name}"] = bootstrap(written, references)
    if {"_helpful", "_unhelpful"} <= set(groups):  # the last column of table 3.5
        metrics["bleu_gap"] = metrics["bleu_unhelpful"] - metrics["bleu_helpful"]
    metrics |= contrastive(trained, sentences, pairs) | attention(trained, sentences, pairs)
    helpful = groups.get("_helpful", [])
    if helpful and trained.recipe.context:
        length = len(documents[0].pairs)  # the same position of another document
        elsewhere = [
            replace(sentences[n], context=sentences[(n + length) % len(sentences)].context) for n in helpful
        ]
        metrics["sentence_accuracy_helpful.other-document"] = sentence_accuracy(
            trained.translate(elsewhere), [pairs[n].target for n in helpful]
        )
    return metrics, {
        "signature": signature,
        "intervals": intervals,
        "sentences": {f"sentence_accuracy{name}": len(numbers) for name, numbers in groups.items()},
    }


def _groups(pairs: Sequence[SentencePair]) -> dict[str, list[int]]:
    """Group the numbers of sentences by the ending of the metrics that they count for."""
    groups: dict[str, list[int]] = defaultdict(list)
    for number, pair in enumerate(pairs):
        groups[""].append(number)
        if pair.helpful is not None:
            groups["_helpful" if pair.helpful else "_unhelpful"].append(number)
        if pair.decides is not None:
            groups[f"_helpful.{pair.decides.kind}"].append(number)
            groups[f"_helpful.distance-{pair.decides.distance}"].append(number)
    return dict(groups)


def contrastive(
    trained: Trained, sentences: Sequence[EncodedSentence], pairs: Sequence[SentencePair]
) -> dict[str, float]:
    """Return how often the right translation of a helpful sentence is likelier than the contrast, by kind."""
    chosen = [number for number, pair in enumerate(pairs) if pair.decides is not None]
    if not chosen:
        return {}
    right = score(trained.model, [sentences[number] for number in chosen])
    contrasts = [
        replace(sentences[number], target=(*trained.tokens.encode(_contrast(pairs[number])), END))
        for number in chosen
    ]
    wrong = score(trained.model, contrasts)
    wins: dict[str, list[bool]] = defaultdict(list)
    for number, a, b in zip(chosen, right, wrong, strict=True):
        wins["contrastive_accuracy"].append(a > b)
        wins[f"contrastive_accuracy.{_kind(pairs[number])}"].append(a > b)
    return {name: sum(values) / len(values) for name, values in wins.items()}


@torch.no_grad()
def attention(
    trained: Trained, sentences: Sequence[EncodedSentence], pairs: Sequence[SentencePair]
) -> dict[str, float]:
    """Return how well the attention of the encoder finds what decides the helpful sentences.

    ``attention.sentence`` is the share of sentences whose deciding sentence gets more attention than any
    other context sentence, all source tokens together. ``attention.word`` is the share of its attention to
    the context that a source token gives to the deciding word, for the token that gives most, on average.
    Nothing for a system without context.
    """
    chosen = [
        number
        for number, pair in enumerate(pairs)
        if pair.decides is not None and pair.decides.distance <= len(sentences[number].context)
    ]
    if not chosen or trained.model.system == "no-context":
        return {}
    hits: list[bool] = []
    shares: list[float] = []
    device = trained.model.target.table.weight.device
    for items, batch in batches([sentences[number] for number in chosen], size=128, seed=0):
        encoding = trained.model.encode(batch.to(device))
        assert encoding.words is not None and encoding.sentences is not None
        all_words, all_sentences = encoding.words.cpu(), encoding.sentences.cpu()
        for row, item in enumerate(items):
            label = pairs[chosen[item]].decides
            assert label is not None
            back, present = label.distance - 1, batch.source[row].ne(0)
            spots = batch.context[row, back].eq(trained.tokens.encode(label.context_word)[0])
            weights = all_words[row, :, back][:, spots].sum(1)[present]  # of each source token
            total = all_sentences[row][present]  # (S, C)
            shares.append(float((weights / total.sum(1).clamp(min=1e-9)).max()))
            hits.append(int(total.sum(0).argmax()) == back)
    return {"attention.sentence": sum(hits) / len(hits), "attention.word": sum(shares) / len(shares)}


def _contrast(pair: SentencePair) -> str:
    assert pair.decides is not None
    return pair.decides.contrast


def _kind(pair: SentencePair) -> str:
    assert pair.decides is not None
    return pair.decides.kind
