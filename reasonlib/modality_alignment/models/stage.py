"""STAGE: every frame is read under the guidance of question and answer (Lei et al. 2020).

::

    words of frame f --+                         +-> per frame, per word of (question, answer):
    regions of frame f +-> shared encoder -------+   attend, [q, u, q * u] -> streams joined -> encoder -> max
    question + answer -+                                    start and end of the moment <-+-> score
                                                                            max over the moment, the clip

Supervised beside the answer: the moment (temporal), and which region a word means (spatial).
Source: Yun (2022), section 5.3.2, figure 5.6. Sizes are those of the public code, jayleicn/TVQAplus.

Axes: B questions, A = 5 answers, F frames, T words of question and answer, R regions or words of a frame,
H width.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from reasonlib.arguments import check_at_least
from reasonlib.modality_alignment.data.encoding import Batch
from reasonlib.modality_alignment.models.tvqa_abc import Stream
from reasonlib.nn.attention import masked_softmax
from reasonlib.nn.positions import SinusoidalPositions
from reasonlib.training.devices import seeded

__all__ = ["STAGE", "Located", "STAGEConfig", "best_span", "spatial_loss", "temporal_loss"]

STREAMS = {"subtitle": "subtitle_frames", "captions": "caption_frames", "regions": "regions"}
"""Stream to the field of a `Batch` that it reads."""


@dataclass(frozen=True, kw_only=True)
class STAGEConfig:
    """Sizes of STAGE; the defaults are those of the public code.

    Raises
    ------
    ValueError
        If a size is out of range, or a stream is unknown or missing.
    """

    vocabulary: int
    embedding: int = 768  # of words; BERT's states in the source, learned here
    features: int = 300  # D
    bridge: int = 300  # what words and regions are first mapped to
    width: int = 128  # H
    kernel: int = 7  # of the convolutions over words or regions
    statement_kernel: int = 5
    scale: float = 10.0  # of cosine similarities before the softmax
    extra: int = 3  # frames around the moment
    dropout: float = 0.1
    streams: tuple[str, ...] = ("subtitle", "regions")

    def __post_init__(self) -> None:
        object.__setattr__(self, "streams", tuple(self.streams))
        check_at_least(self, 1, "vocabulary", "embedding", "features", "bridge", "width")
        for name in ("kernel", "statement_kernel"):
            if getattr(self, name) < 1 or getattr(self, name) % 2 == 0:
                raise ValueError(f"{name} must be odd and at least 1, got {getattr(self, name)}")
        check_at_least(self, 0, "extra")
        unknown = set(self.streams) - set(STREAMS)
        if unknown or not self.streams:
            raise ValueError(f"streams must be among {', '.join(STREAMS)}, got {list(self.streams)}")


class Located(NamedTuple):
    """Answers, with where and when; the first four attributes are those of `Answered`.

    Attributes
    ----------
    logits, streams, text, text_mask
        As in `Answered`; a stream's `scores` are zeros, since streams are joined before they are scored.
    moments
        Logits of the first and the last frame of each answer's moment, (B, A, F, 2).
    similarities
        Cosine of each word with each region, (B, A, F, T, R); None without regions.
    """

    logits: Float[Tensor, "B A"]
    streams: Mapping[str, Stream]
    text: Float[Tensor, "B S H"]
    text_mask: Bool[Tensor, "B S"]
    moments: Float[Tensor, "B A F 2"]
    similarities: Float[Tensor, "B A F T R"] | None


class ConvolutionBlock(nn.Module):
    """Positions, two depthwise separable convolutions with residuals, and a norm."""

    def __init__(self, width: int, kernel: int, dropout: float, *, convolutions: int = 2) -> None:
        super().__init__()
        self.positions = SinusoidalPositions(500, width)
        self.dropout = nn.Dropout(dropout)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(convolutions))
        self.depthwise = nn.ModuleList(
            nn.Conv1d(width, width, kernel, groups=width, padding=kernel // 2) for _ in range(convolutions)
        )
        self.pointwise = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in range(convolutions))
        self.last = nn.LayerNorm(width)

    def forward(self, x: Float[Tensor, "N T H"]) -> Float[Tensor, "N T H"]:
        """Encode sequences; as in the public code, padding is not hidden from the convolutions."""
        x = x + self.positions(x.shape[1])
        for number, (norm, depthwise, pointwise) in enumerate(
            zip(self.norms, self.depthwise, self.pointwise, strict=True)
        ):
            inner = norm(x)
            inner = self.dropout(inner) if number % 2 == 0 else inner
            x = x + pointwise(depthwise(inner.transpose(1, 2))).relu().transpose(1, 2)
        return self.last(x)


def _linear(
    inputs: int, outputs: int, dropout: float, *, relu: bool = False, norm: bool = False
) -> nn.Module:
    """Layer norm, dropout, linear; then ReLU and another norm where asked for."""
    parts: list[nn.Module] = [nn.LayerNorm(inputs), nn.Dropout(dropout), nn.Linear(inputs, outputs)]
    return nn.Sequential(*parts, *[nn.ReLU()] * relu, *[nn.LayerNorm(outputs)] * norm)


class STAGE(nn.Module):
    """Spatio-temporal answerer with grounded evidence.

    Parameters
    ----------
    config
        Sizes and streams.
    seed
        Draws the weights.

    Notes
    -----
    Departures from the public code: words are learned, not BERT's; in training the moment is the annotated
    one, without further proposals; captions, which the source adds, are joined as a third stream; frames in
    which nothing is seen count as well. Otherwise both give the same logits.
    """

    def __init__(self, config: STAGEConfig, *, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        width, dropout, streams = config.width, config.dropout, len(config.streams)
        with seeded(seed):
            self.embedding = nn.Embedding(config.vocabulary, config.embedding, padding_idx=0)
            self.word_bridge = _linear(config.embedding, config.bridge, dropout, relu=True, norm=True)
            if "regions" in config.streams:
                self.region_bridge = _linear(config.features, config.bridge, dropout, relu=True, norm=True)
            self.shared = nn.Sequential(
                nn.Dropout(dropout), nn.Linear(config.bridge, width), nn.ReLU(), nn.LayerNorm(width)
            )
            self.encoder = ConvolutionBlock(width, config.kernel, dropout)
            self.guided = _linear(3 * width, width, dropout, relu=True)
            if streams > 1:
                self.join = _linear((streams + 1) * width, width, dropout, relu=True, norm=True)
            self.statement = ConvolutionBlock(width, config.statement_kernel, dropout)
            self.projection = _linear(width, width, dropout, relu=True)
            self.first, self.last = _linear(width, 1, dropout), _linear(width, 1, dropout)
            self.classifier = _linear(2 * width, 1, dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, batch: Batch) -> Located:
        """Score the answers, and say when and where."""
        text_mask = batch.joined != 0  # (B, A, T)
        text = self._encode(self.word_bridge(self.embedding(batch.joined)))  # (B, A, T, H)
        attended, streams, similarities = [], {}, None
        for name in self.config.streams:
            states, mask = self._context(name, batch)  # (B, F, R, H)
            guided, cosines = self._guide(text, text_mask, states, mask)  # (B, A, F, T, H)
            attended.append(guided)
            similarities = cosines if name == "regions" else similarities
            none = text.new_zeros(text.shape[:2])
            streams[name] = Stream(none, states.flatten(1, 2), mask.flatten(1, 2), cosines.flatten(2, 3))
        joined = attended[0]
        if len(attended) > 1:
            product = torch.stack(attended).prod(0)
            joined = self.join(torch.cat((*attended, product), -1))
        frames, moments = self._frames(joined, text_mask, batch.frame_mask)  # (B, A, F, H), (B, A, F, 2)
        # excerpt: span
        within = self._within(batch, moments)  # (B, A, F), the frames of the moment
        local = frames.masked_fill(
            ~within.unsqueeze(-1),
            torch.finfo(frames.dtype).min,
        ).amax(2)
        logits = self.classifier(torch.cat((local, frames.amax(2)), -1)).squeeze(-1)
        # end excerpt
        return Located(logits, streams, text.flatten(1, 2), text_mask.flatten(1, 2), moments, similarities)

    def _encode(self, x: Float[Tensor, "*N R E"]) -> Float[Tensor, "*N R H"]:
        return self.encoder(self.shared(x).flatten(0, -3)).view(*x.shape[:-1], -1)

    def _context(self, name: str, batch: Batch) -> tuple[Float[Tensor, "B F R H"], Bool[Tensor, "B F R"]]:
        given = getattr(batch, STREAMS[name])
        if name == "regions":
            return self._encode(self.region_bridge(functional.normalize(given, dim=-1))), batch.region_mask
        return self._encode(self.word_bridge(self.embedding(given))), given != 0

    def _guide(
        self,
        text: Float[Tensor, "B A T H"],
        text_mask: Bool[Tensor, "B A T"],
        states: Float[Tensor, "B F R H"],
        mask: Bool[Tensor, "B F R"],
    ) -> tuple[Float[Tensor, "B A F T H"], Float[Tensor, "B A F T R"]]:
        """Let each word of question and answer attend to each frame."""
        # excerpt: guided attention
        words = text.unsqueeze(2)  # (B, A, 1, T, H)
        regions = states.unsqueeze(1)  # (B, 1, F, R, H)
        query = self.dropout(functional.normalize(words, dim=-1))
        keys = self.dropout(functional.normalize(regions, dim=-1))
        cosines = query @ keys.transpose(-1, -2)  # (B, A, F, T, R)
        # padding finds nothing
        pairs = mask[:, None, :, None] & text_mask[:, :, None, :, None]
        weights = masked_softmax(self.config.scale * cosines, pairs)
        attended = weights @ regions  # (B, A, F, T, H)
        words = words.expand_as(attended)
        return self.guided(torch.cat((words, attended, words * attended), -1)), cosines
        # end excerpt

    def _frames(
        self,
        joined: Float[Tensor, "B A F T H"],
        text_mask: Bool[Tensor, "B A T"],
        frame_mask: Bool[Tensor, "B F"],
    ) -> tuple[Float[Tensor, "B A F H"], Float[Tensor, "B A F 2"]]:
        """Read the words of each frame together; score each frame as first and last of the moment."""
        statement = self.statement(joined.flatten(0, 2)).view_as(joined)
        hidden = ~text_mask[:, :, None, :, None]
        frames = statement.masked_fill(hidden, torch.finfo(joined.dtype).min).amax(3)  # (B, A, F, H)
        frames = frames + self.projection(frames)
        moments = torch.cat((self.first(frames), self.last(frames)), -1)
        padding, least = ~frame_mask[:, None, :, None], torch.finfo(joined.dtype).min
        return frames.masked_fill(padding, least), moments.masked_fill(padding, least)

    def _within(self, batch: Batch, moments: Float[Tensor, "B A F 2"]) -> Bool[Tensor, "B A F"]:
        """Return the frames of the moment: the annotated one in training, else the best of each answer."""
        number = torch.arange(moments.shape[2], device=moments.device)
        spans = best_span(moments)  # (B, A, 2)
        if self.training:
            annotated = batch.span.unsqueeze(1).expand_as(spans)
            whole = torch.tensor([0, moments.shape[2]], device=moments.device)
            spans = torch.where(annotated[..., :1] >= 0, annotated, whole)
        low, high = spans[..., :1] - self.config.extra, spans[..., 1:] + self.config.extra
        return (number >= low) & (number <= high)


def best_span(moments: Float[Tensor, "*B F 2"]) -> Int[Tensor, "*B 2"]:
    """Return the first and last frame with the greatest product of probabilities, first <= last."""
    first, last = moments.log_softmax(-2).unbind(-1)
    pairs = first.unsqueeze(-1) + last.unsqueeze(-2)  # (*B, F, F)
    frames = pairs.shape[-1]
    order = torch.ones(frames, frames, dtype=torch.bool, device=pairs.device).triu()
    best = pairs.masked_fill(~order, float("-inf")).flatten(-2).argmax(-1)
    return torch.stack((best // frames, best % frames), -1)


def temporal_loss(located: Located, batch: Batch) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the first and last frame of the right answer's moment, in nats."""
    given = (batch.span[:, 0] >= 0) & (batch.right >= 0)
    if not given.any():
        return located.moments.new_zeros(())
    moments = located.moments[given, batch.right[given]]  # (N, F, 2)
    spans = batch.span[given]
    parts = [functional.cross_entropy(moments[..., side], spans[:, side]) for side in (0, 1)]
    return (parts[0] + parts[1]) / 2


def spatial_loss(located: Located, batch: Batch, *, sharpness: float = 20.0) -> Float[Tensor, ""]:
    """Return the ranking loss: the regions that a word names, above the other regions of the same frame.

    The mean over all such pairs; the public code sums over two other regions that it draws for each.
    """
    if located.similarities is None or not batch.grounding.any():
        return located.moments.new_zeros(())
    rows = torch.arange(len(batch), device=batch.right.device)
    cosines = located.similarities[rows, batch.right.clamp(min=0)].transpose(1, 2)  # (B, T, F, R)
    others = batch.region_mask.unsqueeze(1) & ~batch.grounding
    # excerpt: spatial
    # other minus named, (B, T, F, R, R)
    margin = cosines.unsqueeze(-2) - cosines.unsqueeze(-1)
    pairs = batch.grounding.unsqueeze(-1) & others.unsqueeze(-2)
    losses = functional.softplus(sharpness * margin)
    return (losses * pairs).sum() / pairs.sum().clamp(min=1)
    # end excerpt
