"""Ask models of the twenty tasks: the memory network, a fine-tuned encoder, and the reader of sentences.

Axes: L layers, S sentences, T tokens.
"""

from collections.abc import Sequence

import numpy as np
import torch

from reasonlib.errors import UserError
from reasonlib.story_qa.data.encoding import encode
from reasonlib.story_qa.data.example import Example, words
from reasonlib.story_qa.data.tokens import StoryTokens, encode_sentences, stack
from reasonlib.story_qa.models import pretrained
from reasonlib.story_qa.models.memory_network import MemoryNetwork
from reasonlib.story_qa.page.answers import Answer, absent_names, name_best, never_met
from reasonlib.training.vocabulary import Vocabulary

__all__ = ["ask_evidence", "ask_memory", "ask_reader"]


@torch.no_grad()
def ask_memory(
    model: MemoryNetwork,
    vocabulary: Vocabulary,
    sentences: Sequence[str],
    question: str,
    *,
    encoding: str = "position",
) -> Answer:
    """Ask a memory network.

    Parameters
    ----------
    model
        A trained model.
    vocabulary
        Its words.
    sentences
        The S sentences of the story, oldest first; the model remembers the latest ``config.slots``.
    question
        One question.
    encoding
        How its sentences were encoded in training.
    """
    example = Example(task=0, story=tuple(sentences), question=question, answer=(), support=(), group=0)
    encoded = encode([example], vocabulary, encoding)
    output = model(encoded.batch([0], slots=model.config.slots).to(model.words.device))
    shares = output.logits[0].softmax(0).cpu()
    kept = min(len(sentences), model.config.slots)
    weights = np.zeros((model.config.hops, len(sentences)))
    weights[:, len(sentences) - kept :] = output.weights[0, :, :kept].cpu().numpy()[:, ::-1]
    all_words = (word for sentence in (*sentences, question) for word in words(sentence))
    unknown = [word for word in dict.fromkeys(all_words) if word not in vocabulary]
    notes = _notes(unknown, sentences, question, kept)
    return name_best(shares, vocabulary, question, sentences, weights, "hop", notes)


@torch.no_grad()
def ask_reader(reader: pretrained.PretrainedReader, sentences: Sequence[str], question: str) -> Answer:
    """Ask an encoder that was fine-tuned on the twenty tasks.

    Parameters
    ----------
    reader
        From `pretrained.load_reader`.
    sentences
        The S sentences of the story, oldest first.
    question
        One question.

    Raises
    ------
    UserError
        If the question alone is too long for the encoder.
    """
    model, tokenizer, answers, _ = reader
    longest = min(512, getattr(model.encoder.config, "max_position_embeddings", 512))
    tokens = StoryTokens(tokenizer, longest)
    try:
        pair = tokens.pair(question, sentences)
    except ValueError as error:
        raise UserError(f"{error}; ask a shorter question") from error
    model.encoder.set_attn_implementation("eager")  # the only one that gives its weights
    output = model(stack([pair], tokenizer.pad_token_id or 0), attention=True)
    # how [CLS] looks in each layer, (L, T)
    cls_attention = output.attention[0, :, :, 0].mean(1).cpu().numpy()
    weights = np.zeros((len(cls_attention), len(sentences)))
    position = len(tokens.sentence(question)) + 2
    for row in range(pair.dropped, len(sentences)):
        size = len(tokens.sentence(sentences[row]))
        weights[:, row] = cls_attention[:, position : position + size].sum(1)
        position += size
    unknown = _unknown_words(tokens, (*sentences, question))
    notes = [never_met(unknown)] if unknown else []
    if pair.dropped:
        first = "the first sentence" if pair.dropped == 1 else f"the first {pair.dropped} sentences"
        notes.append(f"the story is longer than the {longest} tokens it can read: {first} were left out")
    return name_best(output.logits[0].softmax(0).cpu(), answers, question, sentences, weights, "layer", notes)


@torch.no_grad()
def ask_evidence(reader: pretrained.PretrainedEvidence, sentences: Sequence[str], question: str) -> Answer:
    """Ask a BERT that reads sentence by sentence and marks those it needs; see `ask_reader`.

    It remembers the latest ``config.slots`` sentences.

    Raises
    ------
    UserError
        If a sentence has more words than the encoder has places for.
    """
    model, tokenizer, answers, _ = reader
    texts = (*sentences, question)
    tokens, longest = StoryTokens(tokenizer), model.encoder.config.max_position_embeddings
    for text in texts:
        if (count := len(tokens.sentence(text)) + 1) > longest:
            raise UserError(f"a sentence must fit into {longest} tokens, got {count}; make it shorter")
    example = Example(task=0, story=tuple(sentences), question=question, answer=(), support=(), group=0)
    output = model(encode_sentences([example], tokenizer, answers).batch([0], slots=model.config.slots))
    kept = min(len(sentences), model.config.slots)
    weights = np.zeros((1, len(sentences)))
    weights[0, len(sentences) - kept :] = output.needed[0, :kept].sigmoid().numpy()[::-1]
    unknown = _unknown_words(tokens, texts)
    notes = _notes(unknown, sentences, question, kept)
    return name_best(output.logits[0].softmax(0), answers, question, sentences, weights, "mark", notes)


def _notes(unknown: Sequence[str], sentences: Sequence[str], question: str, kept: int) -> list[str]:
    """Say what a reader that remembers the latest `kept` sentences has never met, or has forgotten."""
    notes = [never_met(unknown)] if unknown else []
    if absent := absent_names(sentences, question):
        notes.append(f"the story does not mention {', '.join(absent)}")
    if kept < len(sentences):
        notes.append(f"it remembers the latest {kept} sentences and has forgotten those before")
    return notes


def _unknown_words(tokens: StoryTokens, texts: Sequence[str]) -> list[str]:
    """List the words that a tokenizer does not know, each once."""
    return [
        word
        for word in dict.fromkeys(word for text in texts for word in words(text))
        if tokens.tokenizer.unk_token_id in tokens.sentence(word)
    ]
