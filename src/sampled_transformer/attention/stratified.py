"""The stratified strategy (Lai et al. 2022, Fig. 3): near points densely, far points sparsely."""

from __future__ import annotations

from typing import Unpack

import torch
from torch import Tensor
from torch.nn.functional import pad

from ..cycles import Cycles
from ..geometry import farthest_points
from ..geometry.point_keys import canonical_order
from ..geometry.tracing import never_compiled
from ..sets import Sets, segments
from .attended import FewKeys, Points, check_few, few_weights, group_index
from .base import Attention, Projections
from .kernels import group_attention, restore

MOST_KEYS = 1024  # dense keys, and sparse ones, of a point
MOST_SPARSE = 16385  # points of the sparse subset: those of 131,072 points
HALVINGS = 24  # of a window; smaller ones hold points at one place


class StratifiedAttention(Attention):
    """A point attends to all points of its cubic window and to a sparse selection of the points around it.

        Head_k = W_V X_A softmax[scale * (W_K X_A)^T W_Q x_k],    A = dense keys + sparse keys

    The dense keys are the points in k's window of side w. The sparse keys are the points of a farthest-point subset of
    n // 8 + 1 that lie in the window of side 2w but not in the small one. Points of one window share their keys and are
    computed together: the cost is that of the windows, not n^2. Odd layers shift both grids by half a window. From
    "Stratified Transformer" (Fig. 3), https://arxiv.org/abs/2203.14508.

    A window of fixed size holds a share of the set, and the cost would be n^2 after all. So a window of more than
    `MOST_KEYS` points is cut in halves along every axis until its parts hold fewer, and a point reads the first
    `MOST_KEYS` sparse ones; at most `MOST_SPARSE` are chosen. So the cost is linear in n; clouds of 16,384 points of
    ordinary shape stay as they were.

    Args:
        window: w, in units of the positions. Lai et al. give none for clouds in the unit sphere. We chose 0.4,
            in the middle shape of ModelNet40 6 spacings with 256 points and 12 with 1,024. A spacing is the mean
            distance to the nearest point.
        projections: head_dim, bias, scale and layer of `Attention`.
    """

    needs_positions = True
    takes_packed = True

    def __init__(
        self,
        dim: int,
        heads: int = 8,
        *,
        window: float = 0.4,
        **projections: Unpack[Projections],
    ) -> None:
        super().__init__(dim, heads, **projections)
        if not window > 0:
            raise ValueError(f"window: expected a positive side, got {window}")
        self.window = float(window)

    @never_compiled
    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, positions: Tensor | None, sets: Sets, cycle: Cycles | None
    ) -> Tensor:
        assert positions is not None
        query, key, value = (x.flatten(0, 1)[None] for x in (query, key, value))
        rows, owners = [], []
        for queries, keys in self.groups(positions, sets):
            rows.append(group_attention(query, key, value, queries, keys, self.scale, self.dropping))
            owners.append(queries.flatten(2))
        total = query.shape[1]
        out = restore(torch.cat(rows, 1), torch.cat(owners, 2), total) if rows else torch.zeros_like(query)
        unpacked: Tensor = out.unflatten(1, positions.shape[:2]).squeeze(0)
        return unpacked

    def groups(self, positions: Tensor, sets: Sets) -> list[tuple[Tensor, Tensor]]:
        """Points that share their keys, and the keys: places in the flattened input, (1, 1, groups, size), or -1."""
        points, owner, index = _flatten(positions, sets)
        if not self.training and len(points):  # in an order of their own, so that the given one does not matter
            order = canonical_order(points, ptr=_ptr_of(owner)[0])
            points, index = points[order], index[order]
        shift = self.window / 2 if self.layer % 2 else 0.0
        whole = _cells(points, owner, self.window, shift)
        small = _divided(whole, points, self.window, shift)
        large = _cells(points, owner, 2 * self.window, 2 * shift)
        found = _groups(small, large, _sparse(points, owner), divided=small is not whole)
        return [(_places(index, queries), _places(index, keys)) for queries, keys in found]

    @never_compiled
    def weigh(self, query: Tensor, key: Tensor, asking: Points, answering: Points, cycle: Cycles | None) -> FewKeys:
        assert asking.positions is not None
        batch, n = query.shape[:2]
        groups = self.groups(asking.positions, Sets(asking.mask))
        check_few(query, max((keys.shape[3] for _, keys in groups), default=0))
        index = torch.full((batch * n, 1), -1, device=query.device)
        for queries, keys in groups:
            wider = max(index.shape[1], keys.shape[3])
            ours = pad(group_index(queries, keys, batch * n)[0, 0], (0, wider - keys.shape[3]), value=-1)
            index = torch.where(ours[:, :1] >= 0, ours, pad(index, (0, wider - index.shape[1]), value=-1))
        first = torch.arange(batch, device=index.device)[:, None, None] * n
        index = index.view(batch, n, -1)
        index = torch.where(index >= 0, index - first, -1)[:, None]
        return FewKeys(index, self.drop(few_weights(query, key, index, self.scale)))

    def context_refusal(self, cycle: Cycles | None) -> str:
        return "its windows hold the points of one set"

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, window={self.window}"


def _places(index: Tensor, numbers: Tensor) -> Tensor:
    return torch.where(numbers >= 0, index[numbers], -1)[None, None]


def _flatten(positions: Tensor, sets: Sets) -> tuple[Tensor, Tensor, Tensor]:
    """All real points in one list: coordinates, the number of each point's set, its place in the flattened input."""
    batch, n, _ = positions.shape
    index = torch.arange(batch * n, device=positions.device)
    owner = index // n if sets.ptr is None else segments(sets.ptr, n)
    points = positions.flatten(0, 1).detach()
    if sets.mask is not None:
        real = sets.mask.flatten()
        points, owner, index = points[real], owner[real], index[real]
    return points, owner, index


def _cells(points: Tensor, owner: Tensor, side: float, shift: float) -> Tensor:
    """The number of each point's grid cell; sets share no cells."""
    cell = torch.floor((points.double() + shift) / side).long()
    numbers: Tensor = torch.unique(torch.cat([owner[:, None], cell], 1), dim=0, return_inverse=True)[1]
    return numbers


def _divided(cells: Tensor, points: Tensor, side: float, shift: float) -> Tensor:
    """The numbers of the cells, where crowded ones are cut in halves along every axis until none is crowded."""
    for _ in range(HALVINGS):
        crowded = torch.bincount(cells)[cells] > MOST_KEYS
        if not crowded.any():
            return cells
        side /= 2
        finer = torch.floor((points[crowded].double() + shift) / side).long()
        numbers: Tensor = torch.unique(torch.cat([cells[crowded, None], finer], 1), dim=0, return_inverse=True)[1]
        cells = cells.masked_scatter(crowded, numbers + cells.max() + 1)
    # Points at one place share every cell: they are dealt out to cells of their own.
    order = torch.argsort(cells, stable=True)
    count = torch.bincount(cells)
    rank = torch.empty_like(cells).scatter(0, order, torch.arange(len(cells), device=cells.device))
    rank = rank - (count.cumsum(0) - count)[cells]
    dealt: Tensor = torch.unique(torch.stack([cells, rank // MOST_KEYS], 1), dim=0, return_inverse=True)[1]
    return dealt


def _sparse(points: Tensor, owner: Tensor) -> Tensor:
    """The farthest-point subset of every set, from the point farthest from the centroid: the order does not matter."""
    ptr, sizes = _ptr_of(owner)
    place = torch.repeat_interleave(sizes)
    middle = torch.zeros(len(sizes), points.shape[1], dtype=points.dtype, device=points.device)
    middle = middle.index_add(0, place, points) / sizes[:, None]
    distance = (points - middle[place]).square().sum(1)
    order = torch.argsort(distance, descending=True, stable=True)
    order = order[torch.argsort(place[order], stable=True)]  # set after set, the farthest first
    start = order[ptr[:-1]] - ptr[:-1]
    return farthest_points(points, (sizes // 8 + 1).clamp(max=MOST_SPARSE), start=start, ptr=ptr)[0]


def _ptr_of(owner: Tensor) -> tuple[Tensor, Tensor]:
    """Where the points of each set begin in a list of points, and how many they are, without sets that have none."""
    sizes = torch.bincount(owner)
    sizes = sizes[sizes > 0]
    return torch.cat([sizes.new_zeros(1), sizes.cumsum(0)]), sizes


def _groups(small: Tensor, large: Tensor, sparse: Tensor, divided: bool) -> list[tuple[Tensor, Tensor]]:
    """Queries and keys (groups, size) of the points that share both windows, -1 for none.

    Groups of similar size come together, so that padding at most doubles the work.
    """
    cells, group = torch.unique(torch.stack([small, large], 1), dim=0, return_inverse=True)
    near, near_start, near_count = _by_cell(small, torch.arange(len(small), device=small.device))
    far, far_start, far_count = _by_cell(large, sparse)
    far_count = far_count.clamp(max=MOST_KEYS)  # the first of the farthest points are spread most evenly
    members, start, count = _by_cell(group, torch.arange(len(group), device=group.device))
    keys = near_count[cells[:, 0]] + far_count[cells[:, 1]]
    bucket = _power(keys)
    if divided:
        bucket = 64 * bucket + _power(count)  # parts of windows have few points and as many sparse keys as before
    groups = []
    for size in bucket.unique():
        one = torch.nonzero(bucket == size).squeeze(1)
        dense = _ragged(near, near_start[cells[one, 0]], near_count[cells[one, 0]])
        sparse_keys = _ragged(far, far_start[cells[one, 1]], far_count[cells[one, 1]])
        # A sparse point of the small window is among the dense keys already.
        inside = small[sparse_keys.clamp(min=0)] == cells[one, :1]
        sparse_keys = sparse_keys.masked_fill(inside, -1)
        groups.append((_ragged(members, start[one], count[one]), torch.cat([dense, sparse_keys], 1)))
    return groups


def _power(count: Tensor) -> Tensor:
    """The power of two that a count falls into."""
    return (count - 1).clamp(min=1).double().log2().floor()


def _by_cell(cell: Tensor, points: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Sort points by their cell: the points, and where each cell's begin and how many they are."""
    count = torch.bincount(cell[points], minlength=int(cell.max()) + 1)
    return points[torch.argsort(cell[points], stable=True)], count.cumsum(0) - count, count


def _ragged(points: Tensor, start: Tensor, count: Tensor) -> Tensor:
    """Runs of a list as rows of one matrix, filled with -1."""
    place = torch.arange(int(count.max()), device=points.device)
    valid = place < count[:, None]
    return torch.where(valid, points[torch.where(valid, start[:, None] + place, 0)], -1)
