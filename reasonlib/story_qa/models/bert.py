"""BERT on stories (Devlin et al. 2019): one encoder, a head for known answers, a head for spans of free text.

::

    [CLS] where is mary [SEP] john went to the hallway . mary moved to the garden . [SEP]
      0     0    0   0    0     1    1   1  1     1    1   ...                        1     segments
      |                         |______________ start, end: a span of the story _____|
    answer: one of V classes

Any `transformers` encoder serves, by its name on the Hugging Face hub or as a folder; `load_encoder` reads
both. Without a name it is the small encoder that ships with this library, pre-trained on simulated stories
by `reasonlib.story_qa.experiments.pretrain`.

Axes: B questions, T tokens, D width, A answers, L layers, H heads.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from safetensors import SafetensorError
from torch import Tensor, nn

from reasonlib.errors import UserError
from reasonlib.training.batching import mask_of, pad

__all__ = [
    "SHIPPED",
    "AnswerReader",
    "Pair",
    "PairBatch",
    "Read",
    "Span",
    "SpanReader",
    "StoryTokens",
    "load_encoder",
    "stack",
]

SHIPPED = Path(__file__).parents[1] / "weights" / "encoder"

LONGEST = 512  # tokens; the positions BERT was pre-trained with


class Pair(NamedTuple):
    """Question and story as one token sequence.

    Attributes
    ----------
    tokens : list of int
        ``[CLS] question [SEP] story [SEP]``.
    segments : list of int
        0 for the question and its two marks, 1 for the story and its mark.
    dropped : int
        Sentences left out at the story's beginning because the sequence would have been too long.
    """

    tokens: list[int]
    segments: list[int]
    dropped: int


class StoryTokens:
    """Turn questions and stories into token ids; every distinct sentence is tokenised once.

    Parameters
    ----------
    tokenizer
        A `transformers` tokenizer with ``cls_token_id`` and ``sep_token_id``.
    longest
        Tokens in a sequence at most. A longer story loses its oldest sentences, as a reader who forgets
        would, and `Pair.dropped` says how many.
    """

    def __init__(self, tokenizer: Any, longest: int = LONGEST) -> None:
        self.tokenizer = tokenizer
        self.longest = longest
        self.known: dict[str, list[int]] = {}

    def sentence(self, text: str) -> list[int]:
        """Give the token ids of one sentence, without marks."""
        ids = self.known.get(text)
        if ids is None:
            ids = self.known[text] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def pair(self, question: str, story: Sequence[str]) -> Pair:
        """Pack a question and as much of the end of its story as fits.

        Raises
        ------
        ValueError
            If the question alone does not fit.
        """
        asked = self.sentence(question)
        room = self.longest - len(asked) - 3
        if room < 0:
            raise ValueError(f"question must fit into {self.longest} tokens, got {len(asked)}")
        kept: list[list[int]] = []
        for sentence in reversed(story):
            ids = self.sentence(sentence)
            if len(ids) > room:
                break
            kept.append(ids)
            room -= len(ids)
        told = [token for ids in reversed(kept) for token in ids]
        mark = self.tokenizer.sep_token_id
        tokens = [self.tokenizer.cls_token_id, *asked, mark, *told, mark]
        return Pair(tokens, [0] * (len(asked) + 2) + [1] * (len(told) + 1), len(story) - len(kept))


class PairBatch(NamedTuple):
    """Pairs of one length, padded.

    Attributes
    ----------
    tokens, segments : (B, T)
        Token ids and segment ids.
    mask : (B, T)
        True where a token stands.
    """

    tokens: Int[Tensor, "B T"]
    segments: Int[Tensor, "B T"]
    mask: Bool[Tensor, "B T"]

    def to(self, device: torch.device | str) -> "PairBatch":
        """Move every tensor to a device."""
        return PairBatch(*(tensor.to(device) for tensor in self))


def stack(pairs: Sequence[Pair], padding: int = 0) -> PairBatch:
    """Pad B pairs to the length of the longest.

    Parameters
    ----------
    pairs
        Pairs of any length.
    padding
        The tokenizer's ``pad_token_id``.
    """
    return PairBatch(
        pad([pair.tokens for pair in pairs], padding),
        pad([pair.segments for pair in pairs]),
        mask_of([len(pair.tokens) for pair in pairs]),
    )


class Read(NamedTuple):
    """What the encoder makes of a batch of pairs.

    Attributes
    ----------
    logits : (B, A)
        Score of every answer class.
    hidden : (B, T, D)
        The last layer's vector of every token.
    attention : (B, L, H, T, T) or None
        Every head's weights, if they were asked for.
    """

    logits: Float[Tensor, "B A"]
    hidden: Float[Tensor, "B T D"]
    attention: Float[Tensor, "B L H T T"] | None


class AnswerReader(nn.Module):
    r"""Choose among known answers from the vector of [CLS]: :math:`\mathrm{softmax}(W h_{[CLS]} + b)`.

    Parameters
    ----------
    encoder
        A `transformers` encoder (see `load_encoder`).
    answers
        A, the number of answer classes.
    dropout
        Probability of dropping a unit of the [CLS] vector while training.
    """

    def __init__(self, encoder: Any, answers: int, dropout: float = 0.1) -> None:
        super().__init__()
        if answers < 2:
            raise ValueError(f"answers must be at least 2, got {answers}")
        self.encoder = encoder
        self.dropout = nn.Dropout(dropout)
        self.answer = nn.Linear(encoder.config.hidden_size, answers)

    def forward(self, batch: PairBatch, *, attention: bool = False) -> Read:
        """Score every answer; `attention` also returns the weights of every head."""
        with _with_weights(self.encoder) if attention else nullcontext():
            output = self.encoder(**_inputs(self.encoder, batch), output_attentions=attention)
        hidden = output.last_hidden_state
        weights = torch.stack(output.attentions, dim=1) if attention else None
        return Read(self.answer(self.dropout(hidden[:, 0])), hidden, weights)


class Span(NamedTuple):
    """Where the answer stands among the tokens of a pair.

    Attributes
    ----------
    start, end : (B, T)
        Score of each token as the first and as the last of the answer; minus infinity outside the story.
    """

    start: Float[Tensor, "B T"]
    end: Float[Tensor, "B T"]

    def best(self, longest: int = 12) -> list[tuple[int, int]]:
        """Give the best span of each row: the pair start <= end < start + `longest` with the highest sum."""
        length = self.start.shape[1]
        place = torch.arange(length, device=self.start.device)
        allowed = (place >= place[:, None]) & (place < place[:, None] + longest)  # (T, T)
        score = (self.start[:, :, None] + self.end[:, None, :]).masked_fill(~allowed, -torch.inf)
        flat = score.flatten(1).argmax(1).tolist()
        return [(position // length, position % length) for position in flat]


class SpanReader(nn.Module):
    r"""Point at the answer in the story: start and end scores :math:`S\cdot h_t`, :math:`E\cdot h_t`.

    This is the head of Devlin et al. (2019), section 4.2, and what `reasonlib ask` uses on free text.

    Parameters
    ----------
    encoder
        A `transformers` encoder (see `load_encoder`).
    mark
        The tokenizer's ``sep_token_id``, which is no part of a story.
    """

    def __init__(self, encoder: Any, mark: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.mark = mark
        self.span = nn.Linear(encoder.config.hidden_size, 2)

    def forward(self, batch: PairBatch) -> Span:
        """Score every token of the story as start and as end."""
        hidden = self.encoder(**_inputs(self.encoder, batch)).last_hidden_state
        scores = self.span(hidden)  # (B, T, 2)
        story = batch.mask & (batch.segments == 1) & (batch.tokens != self.mark)
        start, end = scores.masked_fill(~story.unsqueeze(-1), -torch.inf).unbind(-1)
        return Span(start, end)


def load_encoder(name: str | Path | None = None) -> tuple[Any, Any]:
    """Load an encoder and its tokenizer.

    Parameters
    ----------
    name
        A name on the Hugging Face hub, or a folder that holds ``config.json``, weights and tokenizer files.
        Without it: the small encoder shipped with this library.

    Returns
    -------
    encoder, tokenizer
        Ready for `AnswerReader`, `SpanReader` and `StoryTokens`.

    Raises
    ------
    UserError
        If there is no such folder, the hub cannot be reached, or what is there is no encoder.
    """
    from transformers import AutoModel, AutoTokenizer

    source = str(SHIPPED if name is None else name)
    wanted = "give a folder with config.json, weights and tokenizer, or a name on the Hugging Face hub"
    if Path(source).is_absolute() and not Path(source).is_dir():
        raise UserError(f"{source}: there is no such folder; {wanted}")
    try:
        tokenizer = AutoTokenizer.from_pretrained(source)
        encoder = AutoModel.from_pretrained(source)
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(f"{source}: no encoder could be loaded ({reason}); {wanted} while online") from error
    if tokenizer.cls_token_id is None or tokenizer.sep_token_id is None:
        raise UserError(
            f"{source}: its tokenizer has no [CLS] and [SEP]; choose an encoder of the BERT family"
        )
    if len(tokenizer) <= len(tokenizer.all_special_ids):
        raise UserError(f"{source}: its tokenizer knows no words; are the tokenizer's files missing?")
    return encoder.float(), tokenizer


@contextmanager
def _with_weights(encoder: Any) -> Iterator[None]:
    """Let the encoder keep its attention weights; the fused kernels it runs otherwise have none to give."""
    usual = encoder.config._attn_implementation
    switch = getattr(encoder, "set_attn_implementation", lambda kernel: None)  # older versions do it alone
    switch("eager")
    try:
        yield
    finally:
        switch(usual)


def _inputs(encoder: Any, batch: PairBatch) -> dict[str, Tensor]:
    """Name the tensors as `transformers` does; an encoder without segments gets none."""
    inputs = {"input_ids": batch.tokens, "attention_mask": batch.mask.long()}
    if getattr(encoder.config, "type_vocab_size", 0) > 1:
        inputs["token_type_ids"] = batch.segments
    return inputs
