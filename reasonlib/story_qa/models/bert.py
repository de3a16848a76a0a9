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

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from reasonlib.errors import UserError
from reasonlib.story_qa.data.tokens import PairBatch
from reasonlib.training.encoders import load_pretrained

__all__ = ["BUNDLED", "AnswerReader", "AnswerReaderOutput", "SpanOutput", "SpanReader", "load_encoder"]

BUNDLED = Path(__file__).parents[1] / "weights" / "encoder"


class AnswerReaderOutput(NamedTuple):
    """What the encoder makes of a batch of pairs.

    Attributes
    ----------
    logits : (B, A)
        Score of every answer class.
    hidden : (B, T, D)
        Vectors of the last layer, one a token.
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

    def forward(self, batch: PairBatch, *, attention: bool = False) -> AnswerReaderOutput:
        """Score every answer; `attention` also returns the weights of every head."""
        with _with_weights(self.encoder) if attention else nullcontext():
            output = self.encoder(**_inputs(self.encoder, batch), output_attentions=attention)
        # excerpt: answer
        hidden = output.last_hidden_state  # (B, T, D)
        weights = torch.stack(output.attentions, dim=1) if attention else None
        return AnswerReaderOutput(  # [CLS] is token 0
            self.answer(self.dropout(hidden[:, 0])), hidden, weights
        )
        # end excerpt


class SpanOutput(NamedTuple):
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
        # excerpt: best span
        length = self.start.shape[1]
        index = torch.arange(length, device=self.start.device)
        allowed = (index >= index[:, None]) & (  # (T, T): the end not before
            index < index[:, None] + longest  # the start, nor too far behind
        )
        score = (  # (B, T, T): every start with every end
            self.start[:, :, None] + self.end[:, None, :]
        ).masked_fill(~allowed, -torch.inf)
        flat = score.flatten(1).argmax(1).tolist()
        return [(position // length, position % length) for position in flat]
        # end excerpt


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

    def forward(self, batch: PairBatch) -> SpanOutput:
        """Score every token of the story as start and as end."""
        hidden = self.encoder(**_inputs(self.encoder, batch)).last_hidden_state
        scores = self.span(hidden)  # (B, T, 2)
        story = batch.mask & (batch.segments == 1) & (batch.tokens != self.mark)
        start, end = scores.masked_fill(~story.unsqueeze(-1), -torch.inf).unbind(-1)
        return SpanOutput(start, end)


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
    source = BUNDLED if name is None else name
    encoder, tokenizer = load_pretrained(source, pooler=True)
    if tokenizer.cls_token_id is None or tokenizer.sep_token_id is None:
        raise UserError(
            f"{source}: its tokenizer has no [CLS] and [SEP]; choose an encoder of the BERT family"
        )
    if len(tokenizer) <= len(tokenizer.all_special_ids):
        raise UserError(f"{source}: its tokenizer knows no words; are the tokenizer's files missing?")
    return encoder, tokenizer


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
