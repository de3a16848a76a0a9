r"""The plain networks of table 3.2, which see a problem as a stack of pictures; two never see the question.

Sources: Zhang et al. (2019a), "RAVEN: A Dataset for Relational and Analogical Visual Reasoning", section 5.1,
and its authors' published code (LSTM, CNN, ResNet); He et al. (2016), "Deep Residual Learning for Image
Recognition", section 3 and table 1; Benny et al. (2021), "Scale-Localized Abstract Reasoning", section 5 (the
blind ResNet).
https://arxiv.org/abs/1903.02741 https://arxiv.org/abs/1512.03385 https://arxiv.org/abs/2009.09405

    LSTM      16 panels ── convolutions each ── LSTM over panels ── last state ── 8 scores
    CNN       16 panels as 16 channels ── convolutions ── MLP ── 8 scores
    ResNet    16 panels as 16 channels ── ResNet-18 ───── MLP ── 8 scores

All three name the answer by its number: the weights of "candidate 3" know nothing of those of "candidate 5",
so each has to be learned by itself. `CandidateLSTM` and `BlindCNN` score every candidate with the same
weights.

Axes: B problems, P 16 panels, H x W pixels, C channels, F features, D width.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from reasonlib.visual_iq.data.example import CONTEXT, PANELS

__all__ = [
    "BasicBlock",
    "BlindCNN",
    "BlindResNet",
    "CandidateLSTM",
    "PanelCNN",
    "PanelLSTM",
    "PanelResNet",
    "ResNet18",
    "Scores",
    "StateScores",
    "as_panels",
    "convolutions",
    "initialise_convolutions",
    "side_after",
    "strides",
]

CANDIDATES = PANELS - CONTEXT


class Scores(NamedTuple):
    """Scores of the candidates, and the features that the last layers read."""

    logits: Float[Tensor, "B 8"]
    features: Float[Tensor, "B *F"]


class StateScores(NamedTuple):
    """Scores of the candidates, and the LSTM's states: one a panel read, of the width D."""

    logits: Float[Tensor, "B 8"]
    states: Float[Tensor, "B P D"]


# Parts ------------------------------------------------------------------------------------------------------


def as_panels(images: Shaped[Tensor, "B P H W"]) -> Float[Tensor, "B P H W"]:
    """Take grey values, 0 to 255 in bytes or any float, as floats.

    Raises
    ------
    ValueError
        If these are not sixteen square panels a problem.
    """
    if images.ndim != 4 or images.shape[1] != PANELS or images.shape[2] != images.shape[3]:
        raise ValueError(f"images must be (B, {PANELS}, size, size), got {tuple(images.shape)}")
    return images if images.is_floating_point() else images.float()


def strides(size: int) -> tuple[int, ...]:
    """Steps of the four `convolutions`: 2 each, as published for 80 pixels; for fewer than 63, one step is 1.

    Raises
    ------
    ValueError
        If the picture is so small that less than 2x2 cells would be left.

    >>> strides(80), strides(40)
    ((2, 2, 2, 2), (2, 2, 1, 2))
    """
    if size < 31:
        raise ValueError(f"size must be at least 31 pixels, got {size}")
    return (2, 2, 2, 2) if size >= 63 else (2, 2, 1, 2)


def convolutions(channels: int, width: int, size: int) -> nn.Sequential:
    """Four times: convolve 3x3 in the steps of `strides`, normalise, ReLU.

    Of 80x80 pixels 4x4 cells are left, of 40x40 pixels 3x3.
    """
    layers: list[nn.Module] = []
    for inputs, stride in zip((channels, width, width, width), strides(size), strict=True):
        layers += [nn.Conv2d(inputs, width, 3, stride=stride), nn.BatchNorm2d(width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Flatten())


def side_after(size: int) -> int:
    """Side of what `convolutions` leave of a picture.

    >>> side_after(80), side_after(40)
    (4, 3)
    """
    for stride in strides(size):
        size = (size - 3) // stride + 1
    return size


def initialise_convolutions(module: nn.Module) -> None:
    """Draw every convolution's weights by He's rule, with the variance kept on the way back (fan out)."""
    for part in module.modules():
        if isinstance(part, nn.Conv2d):
            nn.init.kaiming_normal_(part.weight, mode="fan_out", nonlinearity="relu")


class BasicBlock(nn.Module):
    r"""Two convolutions beside a shortcut (He et al. 2016, eq. 1 and 2).

    .. math:: \mathrm{relu}(s(x) + \mathrm{BN}(W_2 * \mathrm{relu}(\mathrm{BN}(W_1 * x))))

    The shortcut `s` is the identity, or a 1x1 convolution with a norm where the shape changes.
    """

    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        super().__init__()
        self.change = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: Float[Tensor, "B C H W"]) -> Float[Tensor, "B C2 H2 W2"]:
        """Add the change to the shortcut."""
        return (self.shortcut(x) + self.change(x)).relu()


class ResNet18(nn.Module):
    """Eighteen layers of He et al. (2016), table 1, without the classifier.

    Parameters
    ----------
    channels
        Of the input.
    width
        C of the first stage, 64 in the source; the four stages have 1, 2, 4 and 8 times as many.
    """

    def __init__(self, channels: int, width: int = 64) -> None:
        super().__init__()
        self.features = 8 * width
        self.stem = nn.Sequential(
            nn.Conv2d(channels, width, 7, stride=2, padding=3, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.MaxPool2d(3, stride=2, padding=1),
        )
        stages: list[nn.Module] = [BasicBlock(width, width), BasicBlock(width, width)]
        for inputs in (width, 2 * width, 4 * width):
            stages += [BasicBlock(inputs, 2 * inputs, stride=2), BasicBlock(2 * inputs, 2 * inputs)]
        self.stages = nn.Sequential(*stages)
        initialise_convolutions(self)

    def forward(self, x: Float[Tensor, "B C H W"]) -> Float[Tensor, "B F"]:
        """Average the last stage over the picture."""
        return self.stages(self.stem(x)).mean((2, 3))


def answer_head(features: int, hidden: int, dropout: float) -> nn.Sequential:
    """Two linear maps to the eight answers, as all of Zhang et al.'s plain networks end."""
    return nn.Sequential(
        nn.Linear(features, hidden), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, CANDIDATES)
    )


# Models that see the whole problem --------------------------------------------------------------------------


class PanelLSTM(nn.Module):
    """Read the sixteen panels one after another, answer from the last state (Zhang et al. 2019a).

    Parameters
    ----------
    width, hidden
        Channels of the convolutions and D of the LSTM.
    size
        Side of a panel in pixels.
    """

    def __init__(self, width: int = 16, hidden: int = 96, size: int = 80) -> None:
        super().__init__()
        self.backbone = convolutions(1, width, size)
        self.lstm = nn.LSTM(width * side_after(size) ** 2, hidden, batch_first=True)
        self.head = nn.Linear(hidden, CANDIDATES)

    def forward(self, images: Shaped[Tensor, "B P H W"]) -> StateScores:
        """Score the candidates."""
        panels = as_panels(images)
        features = self.backbone(panels.flatten(0, 1).unsqueeze(1))  # (B * P, F)
        states, _ = self.lstm(features.unflatten(0, panels.shape[:2]))  # (B, P, D)
        return StateScores(self.head(states[:, -1]), states)


class CandidateLSTM(nn.Module):
    """Read the eight context panels, then one candidate, and score it: eight times, with the same weights.

    Parameters
    ----------
    width, hidden, size
        As of `PanelLSTM`.

    Notes
    -----
    Not in the source. It is what the LSTM of Barrett et al. (2018) is to theirs: `PanelLSTM` stays at chance
    because it must name the answer by its number. `states` holds the state after each of the eight context
    panels, then the one after each candidate.
    """

    def __init__(self, width: int = 16, hidden: int = 96, size: int = 80) -> None:
        super().__init__()
        self.backbone = convolutions(1, width, size)
        self.lstm = nn.LSTM(width * side_after(size) ** 2, hidden, batch_first=True)
        self.score = nn.Linear(hidden, 1)

    def forward(self, images: Shaped[Tensor, "B P H W"]) -> StateScores:
        """Score the candidates."""
        panels = as_panels(images)
        features = self.backbone(panels.flatten(0, 1).unsqueeze(1)).unflatten(
            0, panels.shape[:2]
        )  # (B, P, F)
        before, state = self.lstm(features[:, :CONTEXT])
        state = tuple(part.repeat_interleave(CANDIDATES, 1) for part in state)  # (1, B * 8, D)
        after, _ = self.lstm(features[:, CONTEXT:].flatten(0, 1).unsqueeze(1), state)
        after = after.reshape(len(panels), CANDIDATES, -1)  # (B, 8, D)
        return StateScores(self.score(after).squeeze(2), torch.cat([before, after], 1))


class PanelCNN(nn.Module):
    """Take the panels as sixteen channels of one picture, convolve, answer (Zhang et al. 2019a).

    Parameters
    ----------
    width, hidden
        Channels of the convolutions, and width of the hidden layer.
    size
        Side of a panel in pixels.
    dropout
        Of the hidden layer.
    """

    def __init__(self, width: int = 32, hidden: int = 512, size: int = 80, dropout: float = 0.5) -> None:
        super().__init__()
        self.backbone = convolutions(PANELS, width, size)
        self.head = answer_head(width * side_after(size) ** 2, hidden, dropout)

    def forward(self, images: Shaped[Tensor, "B P H W"]) -> Scores:
        """Score the candidates."""
        features = self.backbone(as_panels(images))  # (B, F)
        return Scores(self.head(features), features)


class PanelResNet(nn.Module):
    """Take the panels as sixteen channels of one picture, and a ResNet-18 to see it (Zhang et al. 2019a).

    Parameters
    ----------
    width
        Channels of the first stage.
    dropout
        Of the hidden layer.
    """

    def __init__(self, width: int = 64, dropout: float = 0.5) -> None:
        super().__init__()
        self.backbone = ResNet18(PANELS, width)
        self.head = answer_head(self.backbone.features, self.backbone.features, dropout)

    def forward(self, images: Shaped[Tensor, "B P H W"]) -> Scores:
        """Score the candidates."""
        features = self.backbone(as_panels(images))  # (B, F)
        return Scores(self.head(features), features)


# Models that never see the question -------------------------------------------------------------------------


class BlindResNet(nn.Module):
    """A ResNet-18 that takes the eight candidates as channels and never sees the context (Benny et al. 2021).

    Parameters
    ----------
    width, dropout
        As of `PanelResNet`.
    """

    def __init__(self, width: int = 64, dropout: float = 0.5) -> None:
        super().__init__()
        self.backbone = ResNet18(CANDIDATES, width)
        self.head = answer_head(self.backbone.features, self.backbone.features, dropout)

    def forward(self, images: Shaped[Tensor, "B P H W"]) -> Scores:
        """Score the candidates by their looks alone."""
        features = self.backbone(as_panels(images)[:, CONTEXT:])  # (B, F)
        return Scores(self.head(features), features)


class BlindCNN(nn.Module):
    r"""Compare each candidate with the mean of all eight, and never see the context.

    With :math:`z_c` the features of candidate `c`, its score is

    .. math:: v^\top \mathrm{relu}\Big(W \big(z_c - \tfrac{1}{8} \sum_{c'} z_{c'}\big)\Big)

    so that how it differs from the others is all there is to go by.

    Parameters
    ----------
    width, hidden
        Channels of the convolutions, and width of the hidden layers.
    size
        Side of a panel in pixels.

    Notes
    -----
    Ours. It has one set of weights for all candidates, and so finds the shortcut from few problems, where
    `BlindResNet` must learn what an odd candidate is for each of eight places anew.
    """

    def __init__(self, width: int = 64, hidden: int = 256, size: int = 80) -> None:
        super().__init__()
        self.backbone = nn.Sequential(
            convolutions(1, width, size), nn.Linear(width * side_after(size) ** 2, hidden), nn.ReLU()
        )
        self.score = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, images: Shaped[Tensor, "B P H W"]) -> Scores:
        """Score the candidates by how they differ; `features` are those differences, (B, 8, D)."""
        candidates = as_panels(images)[:, CONTEXT:]
        features = self.backbone(candidates.flatten(0, 1).unsqueeze(1)).unflatten(0, candidates.shape[:2])
        features = features - features.mean(1, keepdim=True)  # (B, 8, D)
        return Scores(self.score(features).squeeze(2), features)
