"""The segmenter: a label for every point, from one part to a scan of millions of points; not part of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from ..attention import network_cycle, number_layers
from ..blocks import TransformerBlock, as_block_options
from ..geometry import space_filling_order
from ..geometry.neighbourhoods import Level, build_levels
from ..layers.embedding import PositionEmbedding
from ..layers.local import OFFSET, PAIRED, Interpolate, LocalBlock, LocalMerge, PointNorm, in_chunks
from ..layers.neighbour_max import MOST
from ..randomness import settle_keys
from ..sets import Integers, check_points, describe, pack_sets, restore_form, segments, settle_form

WIDTHS = (32, 64, 128, 256)
HEAD_DIM = 32
AXES = "xyz"
NORMALS = "normals"
UNIT = 16.0  # spacings that attention takes for a unit of length where the stem sees no coordinates
LARGEST = 1e15  # deviations from the mean that a feature may lie away, where training hardly saw it vary
CURVE_BITS = 20  # points that share a cell of this curve coincide for all purposes


class Segmenter(nn.Module):
    """Levels down and up, each with local blocks and attention across all its points; logits per point.

        x_i = ReLU(BN(W [p_i, f_i]))                                                               (stem)
        X_t = Block(... LocalBlock(X_t) + W_p P_t)                                                 (every level t)
        X_{t+1} = LocalMerge(X_t) at the points that a grid keeps                                  (down)
        X_t = LocalBlock(Interpolate(X_t, X_{t+1}))                                                (up)
        logits_i = MLP(x_i)

    The paper proves that its transformer approximates functions from sets to sets, and then only classifies; this is
    such a function. Attention comes by name, from "Sampled Transformer for Point Sets"
    (https://openreview.net/forum?id=F7f4BYnDAIc) or beyond it. Grids instead of farthest points keep the cost at
    O(n log n). In evaluation the order of the points does not matter, nor does the unit of length, except for what
    `positions` shows of them.

    `Segmenter(classes, widths=[64], local=0, blocks=4, attended=[1])` is the plain form: a flat stack of transformer
    blocks at full resolution.

    Args:
        classes: number of classes.
        attention: name of the mechanism, see `list_attention`.
        features: what is known of each point besides its position, as {name: width}, such as {"normals": 3}.
        optional: names of features that a call may lack, or that may be NaN at some points; a further input then tells
            where they are.
        positions: the coordinates that the stem reads, some of "xyz". Scenes of any size should show only "z" or "".
        widths: for every level, the number of features.
        local: local blocks per level: one number for all levels, or one per level.
        up: local blocks per level on the way up: one number, or one per level but the last.
        blocks: transformer blocks per level with attention: one number, or one per level.
        attended: the levels that have transformer blocks, counted from 1 (default: all but the first).
        neighbours: points that a local layer reads, the point itself included.
        side: side of the cubes of the first grid, in spacings (see `build_levels`).
        dropout: of the head.
        gate: let attention begin at zero, see `TransformerBlock`.
        pairs: if "normals" are among the features, tell local layers how the normals of two neighbours lie to each
            other and to the way between them.
        attention_options: further options of the mechanism.
    """

    def __init__(
        self,
        classes: int,
        *,
        attention: str = "rotary",
        features: Mapping[str, int] | None = None,
        optional: Sequence[str] = (),
        positions: str = "xyz",
        widths: Sequence[int] = WIDTHS,
        local: int | Sequence[int] = 1,
        up: int | Sequence[int] = 1,
        blocks: int | Sequence[int] = 1,
        attended: Sequence[int] | None = None,
        neighbours: int = 16,
        side: float = 1.5,
        dropout: float = 0.3,
        gate: bool = False,
        pairs: bool = True,
        attention_options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        levels = len(widths)
        counts = {"local": _per_level("local", local, levels), "blocks": _per_level("blocks", blocks, levels)}
        ups = _per_level("up", up, max(levels - 1, 0))
        for name, values in {"classes": [classes], "widths": widths, "neighbours": [neighbours]}.items():
            if not values or min(values) < 1:
                raise ValueError(f"{name}: expected positive numbers, got {tuple(values)}")
        if neighbours > MOST:
            raise ValueError(f"neighbours: expected at most {MOST}, got {neighbours}")
        if not 0 < side < float("inf"):
            raise ValueError(f"side: expected a positive number of spacings, got {side}")
        chosen = list(range(min(2, levels), levels + 1)) if attended is None else list(attended)
        if not set(chosen) <= set(range(1, levels + 1)):
            raise ValueError(f"attended: expected levels from 1 to {levels}, got {tuple(chosen)}")
        self.features, self.optional, self.axes = _check_features(features, optional, positions)
        self.pairs = pairs and NORMALS in self.features
        offset = PAIRED if self.pairs else OFFSET
        self.levels, self.neighbours, self.side, self.keyed_by = levels, neighbours, side, settle_keys(None)
        options = as_block_options(attention_options)
        inputs = len(self.axes) + sum(self.features.values()) + len(self.optional)
        self.stem = nn.Sequential(*_layer(max(1, inputs), widths[0]))
        self.register_buffer("feature_mean", torch.zeros(sum(self.features.values())))
        self.register_buffer("feature_deviation", torch.ones(sum(self.features.values())))
        self.feature_mean: Tensor
        self.feature_deviation: Tensor
        self.local = nn.ModuleList(
            nn.ModuleList(LocalBlock(width, offset=offset) for _ in range(count))
            for width, count in zip(widths, counts["local"], strict=True)
        )
        self.embeddings, self.blocks = nn.ModuleDict(), nn.ModuleDict()
        for level in sorted(set(chosen)):
            width, key = widths[level - 1], str(level)
            heads = max(1, width // HEAD_DIM)
            own = [
                TransformerBlock(width, heads, attention, hidden=2 * width, norm=True, gate=gate, **options)
                for _ in range(counts["blocks"][level - 1])
            ]
            if own:
                self.blocks[key] = nn.ModuleList(own)
                if self.axes == (0, 1, 2):
                    self.embeddings[key] = PositionEmbedding(width)
        self.down = nn.ModuleList(LocalMerge(*pair, deep=True, offset=offset) for pair in pairwise(widths))
        self.interpolate = nn.ModuleList(Interpolate(*pair) for pair in pairwise(widths))
        self.up = nn.ModuleList(
            nn.ModuleList(LocalBlock(width, offset=offset) for _ in range(count))
            for width, count in zip(widths[:-1], ups, strict=True)
        )
        self.head = nn.Sequential(
            *_layer(widths[0], 2 * widths[0]), nn.Dropout(dropout), nn.Linear(2 * widths[0], classes)
        )
        number_layers(self)

    def forward(
        self,
        points: Tensor,
        features: Mapping[str, Tensor] | None = None,
        mask: Tensor | None = None,
        ptr: Integers | None = None,
        *,
        batch: Integers | None = None,
        spacing: Tensor | None = None,
    ) -> Tensor:
        """Logits per point, (batch, n, classes) or packed (total, classes).

        Args:
            points: (batch, n, 3), or packed (total, 3) together with `ptr` or `batch`.
            features: one tensor (..., width) per name that the network was built with, for the same points.
            mask: (batch, n), True where a point is real. The logits of padding have no meaning.
            ptr: (sets + 1,), the start and end of each packed set.
            batch: (total,), the number of each point's set, instead of ptr.
            spacing: (sets,), how far apart the points of each set lie (default: measured, see `build_levels`). Give
                that of the whole scene for a part of it.
        """
        source = points
        given = dict(features or {})
        self._check_names(given)
        settled, ptr = settle_form({"points": points, **given}, mask, ptr, batch)
        rows, columns, packed_ptr = _packed(settled[0], dict(zip(given, settled[1:], strict=True)), mask, ptr)
        logits = self._label(rows, columns, packed_ptr, spacing)
        if ptr is not None:
            return restore_form(logits, source)
        if mask is None:
            return logits.view(*source.shape[:2], logits.shape[1])
        padded: Tensor = logits.new_zeros(*mask.shape, logits.shape[1])
        padded[mask] = logits
        return padded

    def forward_points(
        self, points: Tensor, columns: Mapping[str, Tensor], ptr: Tensor, spacing: Tensor | None = None
    ) -> Tensor:
        """What the head reads, (total, first width), for packed points in any order that suits the caches."""
        normals = self._normals(points, columns) if self.pairs else None
        levels = build_levels(
            points, ptr, self.levels, self.neighbours, self.side, spacing=spacing, shift=self.training, normals=normals
        )
        inputs = self._inputs(points, columns)
        x = in_chunks(lambda some: self.stem(inputs[some]), self.stem, len(inputs))
        fine: list[Tensor] = []
        for number, level in enumerate(levels):
            x = self._level(number, x, level)
            if level.step is not None:
                fine.append(x)
                x = self.down[number](x, level, level.step.kept)
        for number in range(self.levels - 2, -1, -1):
            level = levels[number]
            assert level.step is not None
            x = self.interpolate[number](fine.pop(), x, level.step)
            for block in _listed(self.up[number]):
                x = block(x, level)
        return x

    def _level(self, number: int, x: Tensor, level: Level) -> Tensor:
        """Local blocks, then attention across all points of the level."""
        for block in _listed(self.local[number]):
            x = block(x, level)
        key = str(number + 1)
        if key not in self.blocks:
            return x
        if key in self.embeddings:
            x = x + self.embeddings[key](level.points)
        blocks: Any = self.blocks[key]
        places = level.points
        if not self.axes:  # rotary attention would otherwise see the unit of length
            places = places / (UNIT * level.spacing)[segments(level.ptr, len(places))].unsqueeze(1).to(places)
        cycle = network_cycle((block.attention for block in blocks), x, places, ptr=level.ptr)
        for block in blocks:
            x = block(x, places, ptr=level.ptr, cycle=cycle)
        return x

    def _label(self, points: Tensor, columns: Mapping[str, Tensor], ptr: Tensor, spacing: Tensor | None) -> Tensor:
        """Logits of packed points.

        In evaluation they are sorted along a curve: neighbours in space lie close in memory, and the order in which the
        points came does not matter.
        """
        if self.training or self.keyed_by != "points" or len(points) == 0:
            return self._answers(self.forward_points(points, columns, ptr, spacing))
        order = space_filling_order(points, "morton", bits=CURVE_BITS, ptr=ptr)
        sorted_columns = {name: values[order] for name, values in columns.items()}
        found = self._answers(self.forward_points(points[order], sorted_columns, ptr, spacing))
        logits = torch.empty_like(found)
        logits[order] = found
        return logits

    def _answers(self, x: Tensor) -> Tensor:
        return in_chunks(lambda some: self.head(x[some]), self.head, len(x))

    @torch.no_grad()
    def standardise(self, mean: Mapping[str, Tensor], deviation: Mapping[str, Tensor]) -> None:
        """Let the stem read (f - mean) / deviation of these features; the network stores both."""
        begin = 0
        for name, width in self.features.items():
            if name in mean:
                self.feature_mean[begin : begin + width] = mean[name]
                spread = deviation[name]
                varies = spread > torch.finfo(torch.float32).tiny  # nothing can be divided by a denormal number
                self.feature_deviation[begin : begin + width] = torch.where(varies, spread, 1)
            begin += width

    @staticmethod
    def _normals(points: Tensor, columns: Mapping[str, Tensor]) -> Tensor:
        """The normals, zero where they are unknown."""
        given = columns.get(NORMALS)
        return torch.zeros_like(points) if given is None else given.to(points).nan_to_num(0.0, 0.0, 0.0)

    def _inputs(self, points: Tensor, columns: Mapping[str, Tensor]) -> Tensor:
        parts, begin = [points[:, list(self.axes)]], 0
        for name, width in self.features.items():
            values = columns.get(name)
            if values is None:
                values = points.new_full((len(points), width), torch.nan)
            there = values.isfinite().all(1, keepdim=True)
            if name not in self.optional and not bool(there.all()):
                count = int((~there).sum())
                raise ValueError(
                    f"features: expected finite numbers for {name!r}, got NaN or infinity at {count} points"
                )
            span = slice(begin, begin + width)
            values = (values.to(points.dtype) - self.feature_mean[span]) / self.feature_deviation[span]
            largest = min(LARGEST, torch.finfo(values.dtype).max)  # the squares of larger ones overflow in norms
            values = values.clamp(-largest, largest)
            parts.append(torch.where(there, values, 0.0))
            if name in self.optional:
                parts.append(there.to(points.dtype))
            begin += width
        inputs = torch.cat(parts, 1)
        return inputs if inputs.shape[1] else points.new_ones(len(points), 1)

    def _check_names(self, given: Mapping[str, Tensor]) -> None:
        for name in given:
            if name not in self.features:
                known = ", ".join(self.features) or "none"
                raise ValueError(f"features: expected those the network was built with ({known}), got {name!r}")
        for name, width in self.features.items():
            if name not in given and name not in self.optional:
                raise ValueError(f"features: expected {name!r} of width {width}, got none")
            if name in given and given[name].shape[-1] != width:
                raise ValueError(f"features: expected {name!r} of width {width}, got {describe(given[name])}")


def _listed(modules: nn.Module) -> Iterator[nn.Module]:
    """The modules of a list of lists, of which torch's types know only that they are modules."""
    return modules.children()


def _per_level(name: str, value: int | Sequence[int], levels: int) -> list[int]:
    values = [value] * levels if isinstance(value, int) else list(value)
    if len(values) != levels or min(values, default=0) < 0:
        raise ValueError(f"{name}: expected {levels} numbers, 0 or more, got {tuple(values)}")
    return values


def _check_features(
    features: Mapping[str, int] | None, optional: Sequence[str], positions: str
) -> tuple[dict[str, int], tuple[str, ...], tuple[int, ...]]:
    """The features by name, those that may be missing, and the numbers of the axes that the stem reads.

    The stem reads them in the order of their names, because a file of weights keeps no other.
    """
    widths = dict(sorted((features or {}).items()))
    for name, width in widths.items():
        if type(width) is not int or width < 1:
            raise ValueError(f"features.{name}: expected a positive width, got {width!r}")
    for name in optional:
        if name not in widths:
            raise ValueError(f"optional: expected names of features ({', '.join(widths) or 'none'}), got {name!r}")
    if any(axis not in AXES for axis in positions) or len(set(positions)) != len(positions):
        raise ValueError(f"positions: expected some of {AXES!r}, got {positions!r}")
    return widths, tuple(optional), tuple(AXES.index(axis) for axis in positions)


def _packed(
    points: Tensor, columns: dict[str, Tensor], mask: Tensor | None, ptr: Tensor | None
) -> tuple[Tensor, dict[str, Tensor], Tensor]:
    """Points and features as packed rows with a ptr, whatever form they came in."""
    for name, values in columns.items():
        if values.shape[:-1] != points.shape[:-1]:
            expected = f"one row per point, {tuple(points.shape[:-1])}"
            raise ValueError(f"features: expected {name!r} with {expected}, got {describe(values)}")
    points, ptr = check_points(points, "points", mask, ptr)
    if points.shape[-1] != 3:
        raise ValueError(f"points: expected 3 coordinates, got {points.shape[-1]}")
    if ptr is not None:
        return points, columns, ptr
    if mask is not None:
        packed, ptr = pack_sets(points, mask)
        return packed, {name: values[mask] for name, values in columns.items()}, ptr
    sets, n = points.shape[:2]
    ptr = torch.arange(sets + 1, device=points.device) * n
    return points.flatten(0, 1), {name: values.flatten(0, 1) for name, values in columns.items()}, ptr


def _layer(inputs: int, outputs: int) -> list[nn.Module]:
    return [nn.Linear(inputs, outputs, bias=False), PointNorm(outputs), nn.ReLU()]
