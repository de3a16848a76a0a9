"""RoI align: cut a square patch of features out of a pyramid for every box, whatever its size.

A box is laid over with a grid of ``size x size`` bins, each read at a few points between the cells of the
feature map. A value between cells is a weighted sum of the four around it, so a bin is a weighted sum of rows
of one table: the pyramid, written cell under cell. That is what an embedding bag computes.

Source: He et al. (2017), "Mask R-CNN", section 3; Lin et al. (2017), "Feature Pyramid Networks", section 4.2
(which level serves which box). https://arxiv.org/abs/1703.06870 https://arxiv.org/abs/1612.03144

Axes: B panels, C features, H W cells, L levels, R boxes, K bins along a side, T points along a side of a bin.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from reasonlib.visual_iq.models.detector.boxes import sides

__all__ = ["bilinear", "level_of", "roi_align"]


def level_of(boxes: Float[Tensor, "*R 4"], strides: Sequence[int], bins: int) -> Int[Tensor, "*R"]:
    """Choose the level whose cells are as large as the bins of a box, or one to two times smaller.

    >>> level_of(torch.tensor([[0., 0., 20., 20.], [0., 0., 60., 60.]]), (4, 8), 7)
    tensor([0, 1])
    """
    side = sides(boxes).clamp(min=1).prod(-1).sqrt()
    return torch.log2(side / (bins * strides[0])).floor().clamp(0, len(strides) - 1).long()


def bilinear(
    position: Float[Tensor, "*R"], cells: Int[Tensor, "*R"]
) -> tuple[Int[Tensor, "*R 2"], Float[Tensor, "*R 2"]]:
    """Find the two cells on both sides of a place along one axis, and the share of each.

    Cell 0 has its centre at 0. A place beyond the outermost centres reads the outermost cell.
    """
    last = (cells - 1).to(position.dtype)
    position = torch.minimum(position.clamp(min=0), last)
    low = torch.minimum(position.floor(), (last - 1).clamp(min=0))
    share = position - low
    index = torch.stack([low, torch.minimum(low + 1, last)], -1).long()
    return index, torch.stack([1 - share, share], -1)


def roi_align(
    pyramid: Sequence[Float[Tensor, "B C _ _"]],
    strides: Sequence[int],
    boxes: Float[Tensor, "R 4"],
    panel: Int[Tensor, "R"],
    *,
    bins: int = 7,
    points: int = 2,
) -> Float[Tensor, "R C {bins} {bins}"]:
    """Read a patch of features for each box.

    Parameters
    ----------
    pyramid
        Feature maps, the finest first.
    strides
        Pixels from cell to cell, of each.
    boxes
        In pixels. No gradient flows to them.
    panel
        Which panel of the batch each is on.
    bins
        K, the patch's side.
    points
        T: a bin is the mean of ``T x T`` readings.
    """
    boxes = boxes.detach().float()
    table = torch.cat(
        [level.permute(0, 2, 3, 1).flatten(0, 2) for level in pyramid]
    ).float()  # (sum B H W, C)
    rows = [len(level) * level.shape[2] * level.shape[3] for level in pyramid]
    level_index = level_of(boxes, strides, bins)
    device = boxes.device

    def of_level(values: Sequence[int]) -> Int[Tensor, "R"]:
        return torch.tensor(values, device=device)[level_index]

    start = of_level([sum(rows[:level]) for level in range(len(rows))])
    height, width = (
        of_level([level.shape[2] for level in pyramid]),
        of_level([level_map.shape[3] for level_map in pyramid]),
    )
    step = (torch.arange(bins * points, device=device) + 0.5) / (
        bins * points
    )  # readings, as parts of the side
    positions = boxes[:, None, :2] + step[:, None] * sides(boxes)[:, None]  # (R, KT, 2)
    positions = positions / of_level(strides)[:, None, None] - 0.5

    def along(axis: int, cells: Tensor) -> tuple[Tensor, Tensor]:
        index, share = bilinear(positions[..., axis], cells[:, None])
        return index.view(-1, bins, 2 * points), share.view(-1, bins, 2 * points) / points

    (column, across), (row, down) = along(0, width), along(1, height)  # (R, K, 2T) each
    first_row = start + panel * height * width
    index = first_row[:, None, None, None, None] + (
        row[:, :, None, :, None] * width[:, None, None, None, None] + column[:, None, :, None, :]
    )  # (R, K, K, 2T, 2T)
    weight = down[:, :, None, :, None] * across[:, None, :, None, :]
    patches = functional.embedding_bag(
        index.flatten(0, 2).flatten(1), table, per_sample_weights=weight.flatten(0, 2).flatten(1), mode="sum"
    )
    return patches.view(-1, bins, bins, table.shape[1]).permute(0, 3, 1, 2)
