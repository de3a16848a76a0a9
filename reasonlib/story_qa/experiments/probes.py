"""A look inside an encoder: which words it puts in the place of hidden ones, and at which sentences it looks.

::

    [CLS] mary went to the [MASK] . [SEP] where is mary ? [MASK] . [SEP]
                             |                               |
                      garden 0.31, office 0.19 ...    garden 0.84, office 0.07 ...

The bundled encoder comes without the two heads of its pre-training. `masked_language_model` adds new ones,
which `pretrain.pretrain` trains in seconds while the encoder stays frozen; `predict_masked_words` and
`mask_each_word` then ask it about masked words.

Axes: N token sequences, T tokens, V words, L layers, S sentences.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from reasonlib import training
from reasonlib.errors import UserError
from reasonlib.story_qa.data.example import Example
from reasonlib.story_qa.data.tokens import Pair, StoryTokens, stack
from reasonlib.story_qa.models.bert import AnswerReader

__all__ = [
    "MaskedWord",
    "Prediction",
    "attention_by_sentence",
    "mask_answer",
    "mask_each_word",
    "masked_language_model",
    "next_sentence_test",
    "predict_masked_words",
    "pretraining_logits",
]


# Hidden words -----------------------------------------------------------------------------------------------


class Prediction(NamedTuple):
    """A word and the probability that it is the hidden one."""

    word: str
    share: float


class MaskedWord(NamedTuple):
    """One word of a text, hidden, with what the encoder puts in its place.

    Attributes
    ----------
    position
        Where the word stands among the tokens of its `Pair`.
    word
        The word.
    guesses
        The likeliest words, best first.
    """

    position: int
    word: str
    guesses: tuple[Prediction, ...]


def masked_language_model(encoder: Any, *, seed: int = 0) -> Any:
    """Put new pre-training heads on an encoder and freeze the encoder.

    Parameters
    ----------
    encoder
        A BERT encoder (see `bert.load_encoder`); it is used as it is, not copied.
    seed
        Draws the heads' weights.

    Returns
    -------
    transformers.BertForPreTraining
        Its word head scores words with the encoder's own embeddings, as the source's does.

    Raises
    ------
    UserError
        If the encoder is not a BERT.
    """
    from transformers import BertForPreTraining

    if encoder.config.model_type != "bert":
        raise UserError(f"guessing needs an encoder of type bert, got {encoder.config.model_type}")
    with training.seeded(seed):
        model = BertForPreTraining(encoder.config)
    model.bert = encoder
    model.tie_weights()
    encoder.requires_grad_(False)
    return model


@torch.no_grad()
def pretraining_logits(
    model: Any, tokenizer: Any, pairs: Sequence[Pair], *, size: int = 64
) -> tuple[list[Float[Tensor, "T V"]], Float[Tensor, "N 2"]]:
    """Run both heads over some pairs.

    Parameters
    ----------
    model
        From `masked_language_model`, or any `transformers.BertForPreTraining`.
    tokenizer
        Of its encoder.
    pairs
        N pairs; ``[MASK]`` may stand for a word.
    size
        Pairs in a batch.

    Returns
    -------
    words : N tensors (T, V)
        Logarithm of the probability (nats) of every word at every place.
    follows : (N, 2)
        Score that the second part continues the first, and that it does not.
    """
    model.eval()
    words: list[Tensor] = []
    follows: list[Tensor] = []
    for start in range(0, len(pairs), size):
        some = pairs[start : start + size]
        batch = stack(some, tokenizer.pad_token_id or 0)
        output = model(
            input_ids=batch.tokens, token_type_ids=batch.segments, attention_mask=batch.mask.long()
        )
        log_probabilities = output.prediction_logits.log_softmax(-1)
        words += [row[: len(pair.tokens)] for row, pair in zip(log_probabilities, some, strict=True)]
        follows.append(output.seq_relationship_logits)
    return words, torch.cat(follows) if follows else torch.empty(0, 2)


def predict_masked_words(
    model: Any, tokenizer: Any, pairs: Sequence[Pair], places: Sequence[int], *, top: int = 5
) -> list[tuple[Prediction, ...]]:
    """Name the likeliest words at one place of each pair.

    Marks such as [SEP] are no guesses; the shares are of the words that remain.

    Parameters
    ----------
    model, tokenizer
        As for `pretraining_logits`.
    pairs, places
        N pairs and, in each, the place that is asked for.
    top
        How many guesses.
    """
    words, _ = pretraining_logits(model, tokenizer, pairs)
    marks = sorted(set(tokenizer.all_special_ids))
    result = []
    for log_probabilities, position in zip(words, places, strict=True):
        shares = log_probabilities[position].exp()
        shares[marks] = 0.0
        best = (shares / shares.sum()).topk(top)
        named = tokenizer.convert_ids_to_tokens(best.indices.tolist())
        result.append(
            tuple(Prediction(word, share) for word, share in zip(named, best.values.tolist(), strict=True))
        )
    return result


def mask_each_word(model: Any, tokenizer: Any, pair: Pair, *, top: int = 5) -> list[MaskedWord]:
    """Hide every word of a text in turn, the others in view, and name the likeliest words for it.

    Parameters
    ----------
    model, tokenizer
        As for `pretraining_logits`.
    pair
        The text; marks and punctuation are not hidden.
    top
        How many guesses.
    """
    names = tokenizer.convert_ids_to_tokens(pair.tokens)
    places = [position for position, name in enumerate(names) if name[0].isalnum()]
    guesses = predict_masked_words(
        model,
        tokenizer,
        [_masked(pair, position, tokenizer.mask_token_id) for position in places],
        places,
        top=top,
    )
    return [
        MaskedWord(position, names[position], result)
        for position, result in zip(places, guesses, strict=True)
    ]


def _masked(pair: Pair, position: int, mask: int) -> Pair:
    tokens = list(pair.tokens)
    tokens[position] = mask
    return pair._replace(tokens=tokens)


def mask_answer(tokens: StoryTokens, example: Example) -> tuple[Pair, int]:
    """Tell a story with its question and hide the answer, to ask an encoder that was never taught to answer.

    Returns
    -------
    Pair
        ``[CLS] story [SEP] question [MASK] . [SEP]``.
    int
        The place of [MASK].

    Raises
    ------
    ValueError
        If the answer is not one word.
    """
    if len(example.answer) != 1:
        raise ValueError(f"example must have one word for an answer, got {' '.join(example.answer)}")
    mask = tokens.tokenizer.mask_token
    pair = tokens.pair(" ".join(example.story), (f"{example.question} {mask}.",))
    return pair, pair.tokens.index(tokens.tokenizer.mask_token_id)


def next_sentence_test(
    stories: Sequence[Sequence[str]], others: Sequence[Sequence[str]], tokens: StoryTokens
) -> tuple[list[Pair], Int[Tensor, " N"]]:
    """Cut each story in the middle and give its first half two second parts: its own and another story's.

    Parameters
    ----------
    stories
        Stories of two sentences or more.
    others
        As many; the second half of each takes the place of the true one.
    tokens
        Tokenises.

    Returns
    -------
    pairs : 2 N pairs
        First the true ones, then the exchanged ones.
    wrong : (2 N,)
        0 where the second part continues the first, 1 where it does not.
    """
    true = [(" ".join(item[: len(item) // 2]), item[len(item) // 2 :]) for item in stories]
    false = [(first, other[len(other) // 2 :]) for (first, _), other in zip(true, others, strict=True)]
    pairs = [tokens.pair(first, second) for first, second in (*true, *false)]
    return pairs, torch.tensor([0] * len(true) + [1] * len(false))


# Attention --------------------------------------------------------------------------------------------------


@torch.no_grad()
def attention_by_sentence(
    model: AnswerReader, tokens: StoryTokens, examples: Sequence[Example], *, size: int = 32
) -> list[np.ndarray]:
    """Measure how [CLS] looks at the sentences of each story, layer by layer.

    Parameters
    ----------
    model
        A fine-tuned reader.
    tokens
        Of its encoder.
    examples
        N questions.
    size
        Questions in a batch.

    Returns
    -------
    list of ndarray
        For each question shape (L, S kept): attention averaged over heads and summed over the tokens of a
        sentence, as shares of what falls on the story. `attention_on_support` reads it.
    """
    model.eval()
    pairs = [tokens.pair(item.question, item.story) for item in examples]
    order = sorted(range(len(pairs)), key=lambda index: len(pairs[index].tokens))
    result: list[np.ndarray] = [np.empty(0)] * len(pairs)
    for start in range(0, len(order), size):
        some = order[start : start + size]
        batch = stack([pairs[index] for index in some], tokens.tokenizer.pad_token_id or 0)
        attention = model(batch, attention=True).attention
        cls_attention = attention[:, :, :, 0].mean(2).numpy()  # (B, L, H, T, T) -> (B, L, T)
        for row, index in enumerate(some):
            kept = examples[index].story[pairs[index].dropped :]
            lengths = [len(tokens.sentence(sentence)) for sentence in kept]
            first = pairs[index].segments.index(1)
            edges = first + np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(int)
            summed = np.add.reduceat(cls_attention[row, :, : first + sum(lengths)], edges, axis=1)  # (L, S)
            result[index] = summed / summed.sum(1, keepdims=True)
    return result
