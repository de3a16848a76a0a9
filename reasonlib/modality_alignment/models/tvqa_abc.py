"""TVQA_abc: each stream matches its own context with the question and five answers (Lei et al. 2018).

::

    words ------------> embedding ------+
    frames, regions --> linear, tanh ---+-> biLSTM -> match_context -> biLSTM -> max -> linear -> 5 scores
                                             |                        one per stream; scores are added
                              alignment compares these states (figure 5.5)

Source: Yun (2022), section 5.3.2. Sizes are those of the public code, jayleicn/TVQA.

Axes: B questions, A = 5 answers, T positions of a context, S words, D features of a region, H2 = 2 hidden.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from reasonlib.arguments import check_at_least
from reasonlib.modality_alignment.data.encoding import Batch
from reasonlib.modality_alignment.models.context_matching import match_context
from reasonlib.modality_alignment.models.recurrent import compact, max_over_time, read_sequences
from reasonlib.training.devices import seeded

__all__ = ["STREAMS", "VISUAL", "Answered", "Stream", "TVQAConfig", "TVQA_abc"]

VISUAL = ("frames", "regions")
STREAMS = ("question", "subtitle", "captions", *VISUAL)
"""What a stream reads; ``question`` reads the question alone, ``frames`` the mean of a frame's regions."""


@dataclass(frozen=True, kw_only=True)
class TVQAConfig:
    """Sizes of TVQA_abc; the defaults are those of the public code.

    Raises
    ------
    ValueError
        If a size is below 1, or a stream is unknown or missing.
    """

    vocabulary: int
    features: int = 2048  # D
    embedding: int = 300
    hidden: int = 150  # of one direction of the first LSTM
    matched: int = 300  # of one direction of the second LSTM
    dropout: float = 0.5  # of the features
    feature_gain: float = 1.0  # what the first weights of the features are multiplied by
    streams: tuple[str, ...] = ("subtitle", "regions")

    def __post_init__(self) -> None:
        object.__setattr__(self, "streams", tuple(self.streams))
        check_at_least(self, 1, "vocabulary", "features", "embedding", "hidden", "matched")
        unknown = set(self.streams) - set(STREAMS)
        if unknown or not self.streams:
            raise ValueError(f"streams must be among {', '.join(STREAMS)}, got {list(self.streams)}")

    @property
    def feature_bound(self) -> float:
        """The largest of the first weights of the features: torch's own, times the gain."""
        return self.feature_gain / math.sqrt(self.features)


class Stream(NamedTuple):
    """What one stream saw.

    Attributes
    ----------
    scores
        Of each answer, (B, A); zeros for a stream that has nothing to read.
    states, mask
        The embedded context before matching, (B, T, H2), and its positions, (B, T).
    weights
        Attention of each position to the words of each answer, (B, A, T, S).
    matched
        States of the second LSTM, of which the largest are scored, (B, A, T, M2); None in STAGE.
    """

    scores: Float[Tensor, "B A"]
    states: Float[Tensor, "B T H2"]
    mask: Bool[Tensor, "B T"]
    weights: Float[Tensor, "B A T S"]
    matched: Float[Tensor, "B A T M2"] | None = None

    @property
    def peaks(self) -> Float[Tensor, "B A T"]:
        """The share of units of the second LSTM whose largest state is at each position; sums to one."""
        if self.matched is None:
            raise ValueError("only streams of TVQA_abc have peaks")
        hidden = ~self.mask[:, None, :, None]
        largest = self.matched.masked_fill(hidden, float("-inf")).argmax(2, keepdim=True)
        return torch.zeros_like(self.matched).scatter(2, largest, 1.0).mean(-1)


class Answered(NamedTuple):
    """Answers of a batch.

    Attributes
    ----------
    logits
        Sum of the streams' scores, (B, A).
    streams
        By name.
    text, text_mask
        The embedded words of the question and its answers, (B, S, H2) and (B, S).
    """

    logits: Float[Tensor, "B A"]
    streams: Mapping[str, Stream]
    text: Float[Tensor, "B S H2"]
    text_mask: Bool[Tensor, "B S"]


class TVQA_abc(nn.Module):
    """Video question answering by streams that are matched apart and added up.

    `config` gives its sizes and streams, `seed` draws its first weights.

    Notes
    -----
    Departures from the public code: words are learned, not GloVe's; features are read as they are given,
    where the public code divides each by its length first; no context is cut to a longest length. Otherwise
    both give the same logits.
    """

    def __init__(self, config: TVQAConfig, *, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        with seeded(seed):
            self.embedding = nn.Embedding(config.vocabulary, config.embedding, padding_idx=0)
            self.lstm = _lstm(config.embedding, config.hidden)  # one for all streams
            self.features = nn.ModuleDict()
            self.second = nn.ModuleDict()
            self.classifier = nn.ModuleDict()
            for name in config.streams:
                if name in VISUAL:
                    linear = nn.Linear(config.features, config.embedding)
                    nn.init.uniform_(linear.weight, -config.feature_bound, config.feature_bound)
                    self.features[name] = nn.Sequential(nn.Dropout(config.dropout), linear, nn.Tanh())
                self.second[name] = _lstm(10 * config.hidden, config.matched)
                self.classifier[name] = nn.Linear(2 * config.matched, 1)

    def forward(self, batch: Batch) -> Answered:
        """Score the answers."""
        count = batch.answers.shape[1]
        question, question_mask = self._words(batch.question)
        answers, answer_mask = self._words(batch.answers.flatten(0, 1))
        five = answers.unflatten(0, (-1, count)), answer_mask.unflatten(0, (-1, count))
        streams = {}
        for name in self.config.streams:
            states, mask = self._context(name, batch)
            # excerpt: stream
            matched = match_context(states, question, question_mask, *five)
            mask_each = mask.repeat_interleave(count, 0)  # (B A, T)
            second = read_sequences(
                self.second[name],
                matched.states.flatten(0, 1),
                mask_each,
            )
            best = max_over_time(second, mask_each)  # (B A, 2 matched)
            scores = self.classifier[name](best).view(-1, count)  # (B, A)
            # end excerpt
            scores = scores * mask.any(1, keepdim=True)
            second = second.unflatten(0, (-1, count))
            streams[name] = Stream(scores, states, mask, matched.answer_weights, second)
        text = torch.cat((question, five[0].flatten(1, 2)), 1)
        text_mask = torch.cat((question_mask, five[1].flatten(1, 2)), 1)
        logits = torch.stack([stream.scores for stream in streams.values()]).sum(0)
        return Answered(logits, streams, text, text_mask)

    def _words(self, ids: Tensor) -> tuple[Float[Tensor, "B S H2"], Bool[Tensor, "B S"]]:
        mask = ids != 0
        return read_sequences(self.lstm, self.embedding(ids), mask), mask

    def _context(self, name: str, batch: Batch) -> tuple[Float[Tensor, "B T H2"], Bool[Tensor, "B T"]]:
        """Embed what a stream reads."""
        if name not in VISUAL:
            return self._words(getattr(batch, name))
        regions, mask = batch.regions, batch.region_mask
        if name == "frames":
            total = (regions * mask.unsqueeze(-1)).sum(2)
            inputs, mask = total / mask.sum(2, keepdim=True).clamp(min=1), mask.any(2)
        else:
            inputs, mask = compact(regions.flatten(1, 2), mask.flatten(1, 2))
        return read_sequences(self.lstm, self.features[name](inputs), mask), mask


def _lstm(inputs: int, width: int) -> nn.LSTM:
    return nn.LSTM(inputs, width, batch_first=True, bidirectional=True)
