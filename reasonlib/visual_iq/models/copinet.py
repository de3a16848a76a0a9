r"""CoPINet: guess the rules, then see how each candidate differs from what all of them share.

Source: Zhang et al. (2019b), "Learning Perceptual Inference by Contrasting", sections 3.1 to 3.3, and its
authors' published code. https://arxiv.org/abs/1912.00086

    8 context ─ convolution ─ sums of rows and columns ─ rules of each attribute ─┐
                                                                                  │
    16 panels ─ convolution ─ sums of rows and columns, the last with a candidate │
                   ┌──────────────────────────────────────────────────────────────┤
                contrast ─ block ─ contrast ─ block ─ score              (both contrasts are told)

The published loss is the binary cross-entropy of each candidate, `contrast.choice_loss`.

Rows and columns are sums, so that it does not matter which of them comes first, nor in which order a row is
read. The last row and column are summed once for each candidate, and all that follows has one set of weights
for all.

Axes: B problems, P 16 panels, H x W pixels, C channels, A attributes, R rules.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from reasonlib.arguments import check_at_least
from reasonlib.visual_iq.data.example import CONTEXT, PANELS
from reasonlib.visual_iq.models.baselines import CANDIDATES, BasicBlock, as_panels, initialise_convolutions

__all__ = [
    "CoPINet",
    "CoPINetConfig",
    "CoPINetScores",
    "ContrastOutput",
    "RuleContrast",
    "RuleInference",
    "rows_and_columns",
]

COMPLETE_LINES = ([0, 1, 2], [3, 4, 5], [0, 3, 6], [1, 4, 7])
"""The complete rows 1 and 2, and columns 1 and 2."""
OPEN_LINES = ([6, 7], [2, 5])
"""Row 3 and column 3, which a candidate completes."""


@dataclass(frozen=True, kw_only=True)
class CoPINetConfig:
    """Sizes and parts of CoPINet; the defaults are those of the authors' code.

    Raises `ValueError` if a number is out of range, or rules are inferred with no contrast module to use
    them.
    """

    width: int = 64  # C of the first stage; the two blocks have 2 and 4 times as many
    attributes: int = 10  # A
    rules: int = 6  # R
    contrast: bool = True  # the contrast modules
    inference: bool = True  # the inference branch, which tells them the rules
    line_eps: float = 64.0  # of the norms after rows and columns: see the notes of `LineConvolution`

    def __post_init__(self) -> None:
        check_at_least(self, 1, "width", "attributes", "rules")
        if self.inference and not self.contrast:
            raise ValueError("inference must be False without contrast, got True: nobody would use the rules")


# Parts ------------------------------------------------------------------------------------------------------


def rows_and_columns(panels: Float[Tensor, "B P *C"]) -> Float[Tensor, "B 20 *C"]:
    """Sum the panels of every row and column (section 3.3).

    Returns
    -------
    Tensor of shape (B, 20, ...)
        Rows 1 and 2; columns 1 and 2; row 3 with each of the eight candidates; column 3 with each of them.
    """
    context, candidates = panels.split((CONTEXT, CANDIDATES), 1)
    complete = [context[:, line].sum(1, keepdim=True) for line in COMPLETE_LINES]
    completed = [context[:, line].sum(1, keepdim=True) + candidates for line in OPEN_LINES]
    return torch.cat([*complete, *completed], 1)


class LineConvolution(nn.Module):
    """A convolution of sums over rows or columns, with its norm and ReLU.

    Notes
    -----
    The authors' code writes ``BatchNorm2d(64, 64)``, whose second number is added to the variance (epsilon).
    So the published figures come from norms that hardly normalise, and 64 is the default here too.
    """

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(width, eps=eps)

    def forward(self, sums: Float[Tensor, "B L C H W"]) -> Float[Tensor, "B L C H W"]:
        """Convolve each sum; the norm is over all of them."""
        return self.norm(self.convolution(sums.flatten(0, 1))).relu().unflatten(0, sums.shape[:2])


def stem(width: int) -> nn.Sequential:
    """One convolution in steps of 2 and one pooling: a quarter of the panel's side is left."""
    return nn.Sequential(
        nn.Conv2d(1, width, 7, stride=2, padding=3, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        nn.MaxPool2d(3, stride=2, padding=1),
    )


def mlp(inputs: int, outputs: int) -> nn.Sequential:
    """Two linear maps with a ReLU between them."""
    return nn.Sequential(nn.Linear(inputs, inputs), nn.ReLU(), nn.Linear(inputs, outputs))


class InferenceOutput(NamedTuple):
    """The rules, as probabilities for each attribute, and the vector that tells the contrast modules."""

    rules: Float[Tensor, "B A R"]
    rule_embedding: Float[Tensor, "B C"]


class RuleInference(nn.Module):
    r"""Guess the rules from the two complete rows and columns (section 3.2).

    With :math:`p_a` the probabilities of the R rules of attribute `a`, what is told is :math:`\sum_a W p_a`.

    Notes
    -----
    The source samples the rules by Gumbel-softmax; its published code has that switched off, and so has this.
    No rule label is used: what an "attribute" or a "rule" is to the model is its own affair.
    """

    def __init__(self, config: CoPINetConfig) -> None:
        super().__init__()
        self.shape = (config.attributes, config.rules)
        self.backbone = stem(config.width)
        self.rows = LineConvolution(config.width, config.line_eps)
        self.columns = LineConvolution(config.width, config.line_eps)
        self.classifier = nn.Linear(config.width, config.attributes * config.rules)
        self.embed_rules = nn.Linear(config.rules, config.width, bias=False)

    def forward(self, context: Float[Tensor, "B 8 H W"]) -> InferenceOutput:
        """Guess from the eight context panels."""
        features = self.backbone(context.flatten(0, 1).unsqueeze(1)).unflatten(0, context.shape[:2])
        sums = [features[:, line].sum(1) for line in COMPLETE_LINES]
        rows, columns = self.rows(torch.stack(sums[:2], 1)), self.columns(torch.stack(sums[2:], 1))
        gathered = (rows.sum(1) + columns.sum(1)).mean((2, 3))  # (B, C)
        rules = self.classifier(gathered).unflatten(1, self.shape).softmax(2)  # (B, A, R)
        return InferenceOutput(rules, self.embed_rules(rules).sum(1))


class ContrastOutput(NamedTuple):
    """Candidates without what they share, and what they share."""

    candidates: Float[Tensor, "B 8 C H W"]
    common: Float[Tensor, "B C H W"]


class RuleContrast(nn.Module):
    r"""Take from each candidate what all share, :math:`z_c - h(\sum_{c'} z_{c'}, r)` (section 3.1, eq. 5).

    `h` is a convolution with its norm, and `r` the vector of the inferred rules, at every pixel the same.

    Parameters
    ----------
    width
        C.
    rule_width
        Width of the rule embedding; 0 without an inference branch.
    """

    def __init__(self, width: int, rule_width: int) -> None:
        super().__init__()
        self.translate = mlp(rule_width, rule_width) if rule_width else None
        self.convolution = nn.Conv2d(width + rule_width, width, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(width)

    def forward(
        self, candidates: Float[Tensor, "B 8 C H W"], rule_embedding: Float[Tensor, "B T"] | None = None
    ) -> ContrastOutput:
        """Contrast each candidate with all."""
        total = candidates.sum(1)
        if self.translate is not None:
            rules = self.translate(rule_embedding)[:, :, None, None].expand(-1, -1, *total.shape[2:])
            total = torch.cat([total, rules], 1)
        common = self.norm(self.convolution(total))
        return ContrastOutput(candidates - common.unsqueeze(1), common)


# Model ------------------------------------------------------------------------------------------------------


class CoPINetScores(NamedTuple):
    """What CoPINet says.

    Attributes
    ----------
    logits : (B, 8)
        Score of each candidate.
    rules : (B, A, R) or None
        Probability of each rule of each attribute; None without the inference branch.
    common : two of (B, C, H, W), or none
        What the contrast modules took from all candidates.
    features : (B, 8, 4 C)
        What the last layers judged.
    """

    logits: Float[Tensor, "B 8"]
    rules: Float[Tensor, "B A R"] | None
    common: tuple[Tensor, ...]
    features: Float[Tensor, "B 8 F"]


class CoPINet(nn.Module):
    """Perceptual inference by contrasting (section 3).

    Without the inference branch the contrast modules see the sum of the candidates alone; without contrast
    modules too, what is left scores each candidate by itself: the ablations of the source's table 2.
    """

    def __init__(self, config: CoPINetConfig) -> None:
        super().__init__()
        self.config = config
        width, rule_width = config.width, config.width * config.inference
        self.inference = RuleInference(config) if config.inference else None
        self.backbone = stem(width)
        self.rows = LineConvolution(width, config.line_eps)
        self.columns = LineConvolution(width, config.line_eps)
        self.contrasts = nn.ModuleList(
            RuleContrast(channels, rule_width) for channels in (width, 2 * width) if config.contrast
        )
        self.blocks = nn.ModuleList(
            BasicBlock(channels, 2 * channels, stride=2) for channels in (width, 2 * width)
        )
        self.score = mlp(4 * width, 1)
        initialise_convolutions(self)

    def forward(self, images: Shaped[Tensor, "B P H W"]) -> CoPINetScores:
        """Score the candidates."""
        panels = as_panels(images)
        inferred = None if self.inference is None else self.inference(panels[:, :CONTEXT])

        features_of_panels = self.backbone(panels.flatten(0, 1).unsqueeze(1)).unflatten(
            0, (-1, PANELS)
        )  # (B, P, C, H, W)
        sums = rows_and_columns(features_of_panels)  # (B, 20, C, H, W)
        complete_rows, complete_columns, last_rows, last_columns = sums.split(
            (2, 2, CANDIDATES, CANDIDATES), 1
        )
        rows = self.rows(torch.cat([complete_rows, last_rows], 1))
        columns = self.columns(torch.cat([complete_columns, last_columns], 1))
        complete = (rows[:, :2] + columns[:, :2]).sum(1, keepdim=True)
        x = complete + rows[:, 2:] + columns[:, 2:]  # (B, 8, C, H, W)

        common = []
        for number, block in enumerate(self.blocks):
            if self.config.contrast:
                x, shared = self.contrasts[number](x, None if inferred is None else inferred.rule_embedding)
                common.append(shared)
            x = block(x.flatten(0, 1)).unflatten(0, (-1, CANDIDATES))  # (B, 8, 2 C, H / 2, W / 2)
        features = x.mean((3, 4))
        rules = None if inferred is None else inferred.rules
        return CoPINetScores(self.score(features).squeeze(2), rules, tuple(common), features)
