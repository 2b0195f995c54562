"""Random element sampling (Eq. 3) and the Hamiltonian cycle that its subsets form together (Eq. 4).

    X^i = X_(R^i with R^gamma(i)_1),   gamma(i) = 1 + (i mod l)     (Eq. 3: subsets of n_s points, `Cycle.subsets`)
    A_k = {k, k + 1} for k < n_s,  A_(n_s) = {n_s}                   (Eq. 4: paths that join to one cycle, `Cycle.mask`)

A cycle visits every point of a set once and returns to the first. Drawn at random, each of the (n - 1)! directed cycles
is equally likely, and so is every edge between two different points: sampled attention is a Monte Carlo sample of the
edges of dense attention.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .geometry.point_keys import TIE_BITS, point_keys, scramble, sort_in_sets, sorted_keys
from .geometry.tracing import exporting
from .sets import Integers, check_ptr, pad_sets, segments

# We order points by sorting random keys. 40 bits make a tie among a million points rare, and leave 23 bits of an int64
# for the number of the set: one sort shuffles all packed sets.
KEY_BITS = 40


@dataclass(frozen=True, eq=False)
class Cycle:
    """One Hamiltonian cycle per set and, where wanted, per head.

    | sets   | `order` and `successor`                                                    |
    |--------|----------------------------------------------------------------------------|
    | plain  | (heads, n), the same for every set of a batch                              |
    | padded | (batch, heads, n); order ends in -1 where points are padding, and padding follows itself |
    | packed | (heads, total), set after set, as `ptr` cuts them                          |

    `heads` is 1 when all heads share the cycle.
    """

    order: Tensor
    successor: Tensor
    ptr: Tensor | None = None

    @classmethod
    def sample(
        cls,
        n: int | None = None,
        heads: int = 1,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        *,
        mask: Tensor | None = None,
        ptr: Integers | None = None,
    ) -> Cycle:
        """Draw uniformly from all Hamiltonian cycles (Eq. 3) of n points, or of the sets that `mask` or `ptr` describe.

        With a generator the global random state stays untouched, and the draw is the same on every device.
        """
        shape, device, ptr = _shape(n, heads, device, mask, ptr)
        return cls._from_keys(random_integers(1 << KEY_BITS, shape, generator, device), mask, ptr)

    @classmethod
    def from_seed(
        cls,
        seed: int | Sequence[int],
        n: int | None = None,
        heads: int = 1,
        device: torch.device | str | None = None,
        *,
        mask: Tensor | None = None,
        ptr: Integers | None = None,
    ) -> Cycle:
        """The cycle that belongs to `seed`: a pure function of the seed and the size of the set.

        No random state is read or changed, and plain, padded and packed sets of one size get the same cycle.
        """
        shape, device, ptr = _shape(n, heads, device, mask, ptr)
        keys = seeded_keys(seed, heads, _rank_in_set(shape[-1], device, mask, ptr))
        return cls._from_keys(keys, mask, ptr)

    @classmethod
    def from_points(
        cls,
        seed: int | Sequence[int],
        points: Tensor,
        heads: int = 1,
        *,
        mask: Tensor | None = None,
        ptr: Integers | None = None,
    ) -> Cycle:
        """The cycle that belongs to `seed` and to the points themselves: their order does not matter.

        It sorts the points (batch, n, coordinates), or packed (total, coordinates), by a hash of their `point_keys`,
        the seed and the head. Every set of a plain batch has its own cycle, (batch, heads, n). Points at one place
        follow each other as they are given.
        """
        keys = point_keys(points, mask, ptr)[..., None, :]
        tie = (keys ^ _salt(seed)) & ((1 << TIE_BITS) - 1)
        keys = (seeded_keys(seed, heads, keys >> TIE_BITS) << TIE_BITS) | tie
        ptr = None if ptr is None else check_ptr(ptr, points.shape[0], device=points.device)
        return cls._close(sort_in_sets(keys, None if mask is None else mask[:, None], ptr), mask, ptr)

    @classmethod
    def identity(
        cls,
        n: int | None = None,
        device: torch.device | str | None = None,
        *,
        mask: Tensor | None = None,
        ptr: Integers | None = None,
    ) -> Cycle:
        """The cycle through the points in their given order: the pattern of sparse attention."""
        shape, device, ptr = _shape(n, 1, device, mask, ptr)
        return cls._from_keys(_rank_in_set(shape[-1], device, mask, ptr).expand(shape), mask, ptr)

    @classmethod
    def from_order(cls, order: Tensor, ptr: Integers | None = None) -> Cycle:
        """Your own cycle, written out as in the table above."""
        if ptr is not None and order.dim() != 2:
            raise ValueError(f"order: expected the shape (heads, total) with ptr, got {tuple(order.shape)}")
        if order.dim() not in (2, 3) or order.dtype != torch.int64:
            raise ValueError(
                "order: expected int64 of shape (heads, n) or (batch, heads, n), "
                f"got {order.dtype} of shape {tuple(order.shape)}"
            )
        position = torch.arange(order.shape[-1], device=order.device)
        visits = _visits(order)
        once = bool((visits == 1).all())
        if order.dim() == 2:
            if ptr is not None:
                ptr = check_ptr(ptr, order.shape[-1], device=order.device)
                segment = segments(ptr, order.shape[-1])
                once = once and bool((segment[order] == segment).all())
            if not once:
                raise ValueError("order: expected each point of a set exactly once, set after set, got another order")
            return cls._close(order, None, ptr)
        real = position < visits.sum(-1, keepdim=True)
        if (
            bool((visits > 1).any())
            or not bool((visits == visits[:, :1]).all())
            or not bool((real == (order >= 0)).all())
        ):
            raise ValueError("order: expected the same points for all heads, each once, then -1, got another order")
        # The points not visited are the padding: they fill the tail.
        mask = visits[:, 0].bool()
        return cls._close(torch.where(real, order, real_first(mask)[:, None]), mask, None)

    @classmethod
    def _from_keys(cls, keys: Tensor, mask: Tensor | None, ptr: Tensor | None) -> Cycle:
        """Sort the points of each set by their keys and close the cycle."""
        if mask is not None:
            keys = keys.masked_fill(~mask[:, None], 1 << KEY_BITS)  # padding last
        if ptr is not None:
            keys = keys + (segments(ptr, keys.shape[-1]) << KEY_BITS)  # set after set
        return cls._close(sorted_places(keys), mask, ptr)

    @classmethod
    def _close(cls, order: Tensor, mask: Tensor | None, ptr: Tensor | None) -> Cycle:
        """Join the last point of each set to its first: `order` holds every index, padding in the tail."""
        position = torch.arange(order.shape[-1], device=order.device)
        if mask is not None:
            lengths = mask.sum(-1)[:, None, None]
            following = torch.where(position + 1 < lengths, position + 1, 0)
            real = position < lengths
            following = torch.where(real, following, position).expand_as(order)
        elif ptr is not None:
            segment = segments(ptr, position.shape[0])
            following = torch.where(position + 1 < ptr[segment + 1], position + 1, ptr[segment]).expand_as(order)
        else:
            following = position.roll(-1).expand_as(order)
        successor = torch.empty_like(order).scatter(-1, order, order.gather(-1, following))
        if mask is not None:
            order = order.masked_fill(~real, -1)
        return cls(order, successor, ptr)

    @property
    def heads(self) -> int:
        return self.order.shape[-2]

    @property
    def n(self) -> int:
        """Points per set, padding included; when packed, the points of all sets together."""
        return self.order.shape[-1]

    def to(self, device: torch.device | str) -> Cycle:
        return Cycle(
            self.order.to(device), self.successor.to(device), None if self.ptr is None else self.ptr.to(device)
        )

    @property
    def longest(self) -> int:
        """The size of the largest set, or an upper bound."""
        return self.n if self.ptr is None else int(self.ptr.diff().max())

    def sizes(self) -> Tensor:
        """The size of each point's set, with the batch in front: (batch or 1, n or 1)."""
        if self.ptr is not None:
            return self.ptr.diff()[segments(self.ptr, self.n)][None]
        return self.with_batch((self.order >= 0).sum(-1))[:, :1]

    def repeat(self, heads: int) -> Cycle:
        """The cycle of one head for several."""
        times = (*[1] * (self.order.dim() - 2), heads, 1)
        return Cycle(self.order.repeat(times), self.successor.repeat(times), self.ptr)

    def with_batch(self, index: Tensor) -> Tensor:
        """An index of this cycle with the batch in front; for a plain batch one row serves all sets."""
        return index if self.order.dim() == 3 else index[None]

    def padded(self, sets: Tensor) -> Cycle:
        """The named sets of a packed cycle, as a cycle of padded sets."""
        assert self.ptr is not None
        place, mask = pad_sets(torch.arange(self.n, device=self.order.device), self.ptr, sets)  # (sets, longest)
        begin, mask = self.ptr[sets][:, None, None], mask[:, None]
        order = self.order[:, place].transpose(0, 1) - begin  # (sets, heads, longest)
        successor = self.successor[:, place].transpose(0, 1) - begin
        slot = torch.arange(place.shape[1], device=place.device)
        return Cycle(torch.where(mask, order, -1), torch.where(mask, successor, slot))

    def is_for(self, mask: Tensor | None, ptr: Tensor | None) -> bool:
        """Whether the cycle was made for these sets, as far as can be told without making a device wait."""
        if (self.ptr is None) != (ptr is None) or (mask is not None and self.order.dim() == 2):
            return False
        if self.order.device.type != "cpu" or torch.compiler.is_compiling():
            return True
        if ptr is not None and self.ptr is not None:
            return torch.equal(self.ptr, ptr)
        if mask is not None:
            return bool((_visits(self.order).bool() == mask[:, None]).all())
        return bool((self.order >= 0).all())

    def permute(self, permutation: Tensor) -> Cycle:
        """The same cycle for points that were reordered as `points[permutation]`."""
        inverse = torch.empty_like(permutation)
        inverse[permutation] = torch.arange(permutation.shape[0], device=permutation.device)
        order = torch.where(self.order >= 0, inverse[self.order], -1)
        return Cycle(order, inverse[self.successor[..., permutation]], self.ptr)

    def mask(self) -> Tensor:
        """Eq. 4 as a matrix, (..., heads, n, n): True where the row's point attends to the column's.

        For tests and pictures: it takes the n^2 memory that a cycle avoids.
        """
        index = torch.arange(self.n, device=self.order.device)
        pattern = (index == index[:, None]) | (index == self.successor[..., None])
        if self.order.dim() == 3:
            pattern = pattern & _visits(self.order).bool()[..., None]
        return pattern

    def subsets(self, size: int) -> Tensor:
        """Eq. 3: windows of `size` points with stride `size - 1`, wrapping; a shorter last window is padded with -1.

        Plain (heads, windows, size); padded (batch, heads, windows, size), where a small set has rows of -1; packed
        (heads, windows of all sets, size). Neighbouring windows share one point, the link. A set of fewer
        than `size` points is one window, without a link: the paper has n_s <= n and leaves this case open. Its path
        closes on its own first point, so that the pattern of Eq. 4 stays one cycle.
        """
        return self._windows(size, linked=True)

    def members(self, size: int) -> Tensor:
        """The disjoint index sets R^i of Eq. 3: the windows of `subsets` without their links, `size - 1` wide."""
        return self._windows(size, linked=False)

    def _windows(self, size: int, linked: bool) -> Tensor:
        if size < 2:
            raise ValueError(f"size: expected at least 2 points in a subset, got {size}")
        stride = size - 1
        if self.ptr is None:
            lengths = (self.order >= 0).sum(-1)[..., None, None]
            start = torch.arange((self.n + stride - 1) // stride, device=self.order.device)[:, None] * stride
            offset: Tensor | int = 0
        else:
            sizes = self.ptr.diff()
            windows = (sizes + stride - 1) // stride
            segment = torch.repeat_interleave(windows)
            first = windows.cumsum(0) - windows
            start = (torch.arange(segment.shape[0], device=segment.device) - first[segment])[:, None] * stride
            lengths, offset = sizes[segment][:, None], self.ptr[segment][:, None]
        width = size if linked else stride
        place = start + torch.arange(width, device=start.device)  # in the set's own order
        link = (place == lengths) & (lengths > stride)
        valid = (start < lengths) & ((place < lengths) | link) if linked else place < lengths
        place = torch.where(link, 0, place) + offset
        place = torch.where(valid, place, 0).expand(*self.order.shape[:-1], *place.shape[-2:])
        window = self.order.gather(-1, place.flatten(-2)).view_as(place)
        return torch.where(valid, window, -1)


Cycles = Cycle | Sequence[Cycle]  # one cycle, or several whose results are averaged


def each(cycles: Cycles) -> list[Cycle]:
    """The cycles as a list."""
    return [cycles] if isinstance(cycles, Cycle) else list(cycles)


def real_first(mask: Tensor) -> Tensor:
    """Indices of the points of padded sets, (batch, n): the real ones in their order, then the padding."""
    return sorted_places((~mask).long())


def sorted_places(keys: Tensor) -> Tensor:
    """The places of non-negative integers below 2^63 / n in ascending order along the last axis; of equal ones, the
    first comes first.

    ONNX has no stable sort. An exported graph looks for the n smallest of all different numbers instead.
    """
    if not exporting():
        return sorted_keys(keys)
    n = keys.shape[-1]
    return torch.topk(keys * n + torch.arange(n, device=keys.device), n, dim=-1, largest=False).indices


def random_integers(
    bound: int, shape: tuple[int, ...], generator: torch.Generator | None, device: torch.device
) -> Tensor:
    """Integers below `bound`, drawn on the generator's device."""
    if generator is None:  # passing a generator, even None, does not compile with dynamic shapes
        return torch.randint(bound, shape, device=device)
    return torch.randint(bound, shape, generator=generator, device=generator.device).to(device)


def _visits(order: Tensor) -> Tensor:
    """How often each point occurs in a written-out cycle; -1 stands for no point."""
    n = order.shape[-1]
    if order.numel() and (order.max() >= n or order.min() < -1):
        raise ValueError(f"order: expected indices below {n}, or -1, got {int(order.min())} to {int(order.max())}")
    counts = torch.zeros(*order.shape[:-1], n + 1, dtype=torch.int64, device=order.device)
    return counts.scatter_add(-1, torch.where(order >= 0, order, n), torch.ones_like(order))[..., :n]


def seeded_keys(seed: int | Sequence[int], heads: int, index: Tensor) -> Tensor:
    """Keys of 32 bits per head and index, (..., heads, n): a hash, which torch.compile can trace.

    Seeds count modulo 2^32. Within one head all keys differ, because every step of the hash is invertible.
    """
    salt = _salt(seed)
    salts = [scramble(scramble((salt + head) & 0xFFFFFFFF)) for head in range(heads)]
    return scramble((index + torch.tensor(salts, device=index.device)[:, None]) & 0xFFFFFFFF)


def _salt(seed: int | Sequence[int]) -> int:
    salt = 0
    for part in seed if isinstance(seed, Sequence) else (seed,):
        salt = scramble((salt + int(part) + 0x9E3779B9) & 0xFFFFFFFF)
    return salt


def _rank_in_set(n: int, device: torch.device, mask: Tensor | None, ptr: Tensor | None) -> Tensor:
    """Each point's place among the points of its own set; (n,), or (batch, 1, n) for padded sets."""
    if mask is not None:
        return (mask.cumsum(-1) - 1).clamp(min=0)[:, None]
    position = torch.arange(n, device=device)
    return position if ptr is None else position - ptr[segments(ptr, n)]


def _shape(
    n: int | None, heads: int, device: torch.device | str | None, mask: Tensor | None, ptr: Integers | None
) -> tuple[tuple[int, ...], torch.device, Tensor | None]:
    """The shape of the keys, the device and the ptr, from whichever of n, mask and ptr describes the sets."""
    if heads < 1:
        raise ValueError(f"heads: expected at least 1, got {heads}")
    if mask is not None and ptr is not None:
        raise ValueError("mask, ptr: expected at most one of them, got both")
    if ptr is not None:
        ptr = check_ptr(ptr, n, device=device)
    for name, sets in (("mask", mask), ("ptr", ptr)):
        if sets is not None and device is not None and torch.device(device).type != sets.device.type:
            raise ValueError(f"device: expected the device of {name}, {sets.device}, got {device}")
    if mask is not None:
        if mask.dim() != 2 or mask.dtype != torch.bool or (n is not None and n != mask.shape[1]):
            wanted = "n" if n is None else n
            got = f"{mask.dtype} of shape {tuple(mask.shape)}"
            raise ValueError(f"mask: expected bool of shape (batch, {wanted}), got {got}")
        return (mask.shape[0], heads, mask.shape[1]), torch.device(device or mask.device), None
    if ptr is not None:
        n = int(ptr[-1]) if n is None else n
        return (heads, n), torch.device(device or ptr.device), ptr
    if n is None:
        raise ValueError("n: expected the number of points, or a mask or ptr instead, got None")
    if n < 0:
        raise ValueError(f"n: expected at least 0 points, got {n}")
    return (heads, n), torch.device(device) if device is not None else torch.get_default_device(), None
