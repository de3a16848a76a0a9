"""Sums of rows of a table: bags of words as vectors, several times faster than through an index.

``groups`` says which rows each sum takes. By hand, with a table of four rows::

    members [2, 0, 3, 3]   starts [0, 2, 4]      sums  row 2 + row 0,  row 3 + row 3

That is the product of a sparse matrix (R, N) of counts with the table, and its gradient the product of the
transposed matrix; both are kept as lists of places, sorted once.

Axes: N rows of the table, R sums, M members of all groups, D width.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

__all__ = ["Groups", "sum_groups"]

with warnings.catch_warnings():  # torch says once a process that this format is new
    warnings.simplefilter("ignore")
    torch.sparse_csr_tensor([0, 1], [0], [1.0], (1, 1), check_invariants=False)


@dataclass(frozen=True)
class Groups:
    """Which rows of a table belong together.

    Attributes
    ----------
    members : (M,)
        Row of the table, one group after another; a row may be there several times.
    starts : (R + 1,)
        Where each group begins in `members`, and where the last one ends.
    owners : (M,)
        Group of each member, sorted by the member's row.
    heads : (N + 1,)
        Where the owners of each row begin in `owners`.
    """

    members: Int[Tensor, " M"]
    starts: Int[Tensor, " R1"]
    owners: Int[Tensor, " M"]
    heads: Int[Tensor, " N1"]

    @classmethod
    def of(cls, members: np.ndarray, starts: np.ndarray, rows: int) -> "Groups":
        """Sort the members of groups.

        Parameters
        ----------
        members : (M,)
            Rows, one group after another.
        starts : (R + 1,)
            Where each group begins, and M.
        rows
            N.

        Raises
        ------
        ValueError
            If a member is no row of the table, or the starts do not divide the members.
        """
        if len(members) and not 0 <= members.min() <= members.max() < rows:
            raise ValueError(
                f"members must be rows from 0 to {rows - 1}, got {members.min()} to {members.max()}"
            )
        if not len(starts) or starts[0] or starts[-1] != len(members) or (np.diff(starts) < 0).any():
            raise ValueError(f"starts must rise from 0 to {len(members)}, got {starts}")
        short = members.astype(np.int16 if rows < 2**15 else np.int64)  # short ones are sorted by radix
        order = np.argsort(short, kind="stable")
        groups = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        heads = np.concatenate([[0], np.cumsum(np.bincount(members, minlength=rows))])
        kept = (members, starts, groups[order], heads)
        return cls(*(torch.from_numpy(np.ascontiguousarray(part, dtype=np.int64)) for part in kept))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def rows(self) -> int:
        """N, the rows of the table they are taken from."""
        return len(self.heads) - 1

    def to(self, device: torch.device | str) -> "Groups":
        """Move every tensor to a device."""
        return Groups(*(getattr(self, name).to(device) for name in self.__dataclass_fields__))


def _product(starts: Tensor, members: Tensor, columns: int, table: Tensor) -> Tensor:
    ones = torch.ones(len(members), dtype=table.dtype, device=table.device)
    size = (len(starts) - 1, columns)
    matrix = torch.sparse_csr_tensor(starts, members, ones, size, check_invariants=False)
    return table.new_zeros((size[0], table.shape[1])).addmm_(matrix, table, beta=0)  # @ would copy once more


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, groups: Groups) -> Tensor:
        ctx.groups = groups
        return _product(groups.starts, groups.members, groups.rows, table)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        groups: Groups = ctx.groups
        return _product(groups.heads, groups.owners, len(groups), gradients[0].contiguous()), None


def sum_groups(table: Float[Tensor, "N D"], groups: Groups) -> Float[Tensor, "R D"]:
    """Add up the rows of each group; an empty group gives zeros.

    Parameters
    ----------
    table : (N, D)
        Vectors of words, say.
    groups
        R groups of its rows: sentences, say.

    Raises
    ------
    ValueError
        If the groups were made for another number of rows.

    Examples
    --------
    >>> groups = Groups.of(np.array([2, 0, 3, 3]), np.array([0, 2, 4]), 4)
    >>> sum_groups(torch.tensor([[1.0], [10.0], [100.0], [1000.0]]), groups).tolist()
    [[101.0], [2000.0]]
    """
    if len(table) != groups.rows:
        raise ValueError(f"groups are of a table of {groups.rows} rows, got one of {len(table)}")
    result: Tensor = _Sum.apply(table, groups)
    return result
