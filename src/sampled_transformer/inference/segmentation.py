"""Label every point of a set or a scene with a trained network: at once while it fits, else in tiles with votes.

A network of shapes was trained on subsets of a set. We deal the points of a larger set into subsets of that size, each
of which covers all of it, so that every point is labelled once at the density that the network knows. A network of
scenes sees the scene as it is: in one pass if memory allows, otherwise in tiles that overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ..data.errors import DataError
from ..geometry.neighbourhoods import SPACING_RANK, measure_spacing
from ..support.compiled import without_compiling
from ..support.printable import printable
from ..support.workspace import Workspace, add, pieces, put, take
from ..training.point_loading import PointView
from ..weights import Description, WeightsError
from .subsets import Placement, dealt
from .tiles import Tile, plan_tiles
from .trained import cycle_passes

MEMORY = 4.0  # gigabytes, the usual limit
FIXED_BYTES, BYTES_PER_POINT = 7e8, 3000  # what a pass needs: measured by benchmarks/segment.py
SPACING_QUERIES = 20_000  # points whose neighbours tell the spacing of a scene
MARGIN = 6.0  # width of a tile's margin, in cubes of the coarsest level
SUBSETS = 16  # subsets of a shape in one pass

Report = Callable[[int], None]


@dataclass(frozen=True)
class Segmentation:
    """A class and a confidence for every point, in the order in which the points came."""

    labels: np.ndarray  # int16 (n,), numbers of classes
    confidence: np.ndarray  # float32 (n,), the probability of the class
    classes: tuple[str, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def names(self) -> np.ndarray:
        """The name of every point's class, (n,)."""
        names: np.ndarray = np.array(self.classes)[self.labels]
        return names

    def counts(self) -> dict[str, int]:
        """The number of points of each class."""
        found = np.bincount(self.labels, minlength=len(self.classes))
        return dict(zip(self.classes, found.tolist(), strict=True))


class Points(NamedTuple):
    """Positions (n, 3) in the units of the file, and features (n, width) by name; arrays or memory maps."""

    positions: np.ndarray
    features: Mapping[str, np.ndarray]


def point_view_of(description: Description, where: str) -> PointView:
    """How the network of a weights file sees sets."""
    if description.model != "segmenter":
        got = f"a {description.model!r}"
        raise WeightsError(f"{printable(where)}: expected a network that labels points, a 'segmenter', got {got}")
    data = description.notes.get("data")
    options = description.options
    features = options.get("features") or {}
    try:
        assert isinstance(data, dict)
        view = PointView(
            data.get("points", 1024),
            data.get("part", "subset"),
            data.get("size", "unit"),
            {str(name): int(width) for name, width in features.items()},
            tuple(map(str, options.get("optional") or ())),
            data.get("up") or "",
        )
        valid = type(view.points) is int and view.points > 0 and isinstance(view.up, str)
        assert valid
        assert view.part in ("subset", "crop")
        assert view.size in ("unit", "kept")
    except (AssertionError, AttributeError, TypeError, ValueError):
        raise WeightsError(
            f"{printable(where)}: expected a valid view of points in its notes, got {printable(str(data))}"
        ) from None
    return view


def check_features(view: PointView, given: Mapping[str, np.ndarray], count: int) -> tuple[dict[str, Any], list[str]]:
    """The features that the network reads, as (n, width), and what it goes on without; an error if it cannot."""
    found: dict[str, Any] = {}
    notes = []
    for name, width in view.features.items():
        values = given.get(name)
        if values is None:
            if name not in view.optional:
                has = ", ".join(map(printable, given)) or "none"
                raise DataError(f"features: expected {name} ({width} numbers per point), got {has}")
            notes.append(without_note(name))
            continue
        values = values.reshape(len(values), -1) if values.ndim != 2 else values
        if values.shape != (count, width):
            raise DataError(f"{name}: expected the shape {(count, width)}, got {values.shape}")
        missing = sum(int((~np.isfinite(some).all(1)).sum()) for _, some in pieces(values))
        if missing and name not in view.optional:
            raise DataError(f"{name}: expected finite numbers, got NaN or infinity at {missing} of {count} points")
        if missing:
            notes.append(f"no {name} at {missing} of {count} points")
        found[name] = values
    return found, notes


def without_note(name: str) -> str:
    """What to say where a feature is missing that the network was trained with, but can do without."""
    return f"no {name}: labels may be far worse without; `segment evaluate --without {name}` says by how much"


def most_points(memory: float) -> int:
    """How many points fit in one pass of a network of the usual size."""
    if not memory > FIXED_BYTES / 1e9:
        raise ValueError(f"memory: expected more than {FIXED_BYTES / 1e9:g} gigabytes, got {memory:g}")
    return max(1000, int((memory * 1e9 - FIXED_BYTES) / BYTES_PER_POINT))


def label_points(
    network: nn.Module,
    view: PointView,
    points: Points,
    *,
    samples: int = 1,
    most: int | None = None,
    report: Report | None = None,
    space: Workspace | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Class numbers int16 (n,) and their probabilities float32 (n,).

    Args:
        network: A `Segmenter` in evaluation mode.
        view: How it sees sets.
        points: Positions with z up, and the features that `check_features` gives.
        samples: Average over this many cycles, if the network is random.
        most: Points per pass (default: what `MEMORY` allows). A scene that has more is cut into tiles.
        report: Called with the number of points that have been labelled since the last call.
        space: Where arrays with one row per point are made, if there is more than one pass (default: in memory).
    """
    count = len(points.positions)
    space = space or Workspace()
    ask = _Ask(network, samples)
    most = most_points(MEMORY) if most is None else most
    done = report or (lambda number: None)
    if count == 0:
        raise DataError("points: expected at least 1 point, got none")
    if view.part == "subset":
        return _in_subsets(ask, view, points, done, space)
    on_disk = isinstance(points.positions, np.memmap) and count > most
    spacing = _sampled_spacing(points.positions, most) if on_disk else scene_spacing(points.positions)
    if count <= most:
        answer = ask.probabilities(_placed(points, slice(None), _origin(points.positions)), spacing)
        done(count)
        return _best(answer.numpy())
    return _in_tiles(ask, points, most, spacing, done, space)


class _Ask:
    """A network with its cycles: points and features -> probabilities."""

    def __init__(self, network: nn.Module, samples: int) -> None:
        self.network, self.samples = network, samples
        self.device = next(network.parameters()).device

    @torch.inference_mode()
    def probabilities(
        self, points: tuple[Tensor, dict[str, Tensor]], spacing: float | None, ptr: Tensor | None = None
    ) -> Tensor:
        positions, features = points
        ptr = torch.tensor([0, len(positions)]) if ptr is None else ptr
        given = None if spacing is None else torch.tensor([spacing], dtype=torch.float64, device=self.device)
        arguments: dict[str, Any] = {
            "features": {name: values.to(self.device) for name, values in features.items()},
            "ptr": ptr.to(self.device),
            "spacing": given,
        }
        place = positions.to(self.device)

        def once() -> Tensor:
            with without_compiling():
                found: Tensor = self.network(place, **arguments).float().softmax(1)
            return found

        passes = cycle_passes(self.network, once, self.samples)
        mean = passes[0] if len(passes) == 1 else passes.mean(0)
        if not bool(mean.isfinite().all()):
            raise DataError("the network's output is not finite")
        return mean.cpu()


def _best(probabilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    labels = probabilities.argmax(1)
    confidence = np.take_along_axis(probabilities, labels[:, None], 1)[:, 0]
    return labels.astype(np.int16), confidence.astype(np.float32)


def _in_subsets(
    ask: _Ask, view: PointView, points: Points, done: Report, space: Workspace
) -> tuple[np.ndarray, np.ndarray]:
    """Deal the points, sorted along a curve, into subsets of the size that the network knows."""
    count = len(points.positions)
    labels, confidence = space.zeros((count,), np.int16), space.zeros((count,), np.float32)
    placement = Placement(view, points.positions)
    for hands in dealt(placement, points.positions, view.points, space):
        rows = np.concatenate(hands)
        order = rows.argsort()  # files are read and written from front to back
        back = np.empty_like(order)
        back[order] = np.arange(len(rows))
        positions = torch.from_numpy(placement(take(points.positions, rows[order])[back])).float()
        features = {
            name: torch.from_numpy(np.asarray(take(one, rows[order])[back], np.float32))
            for name, one in points.features.items()
        }
        best = []
        for begin in range(0, len(hands), SUBSETS):
            ptr = torch.tensor([0, *map(len, hands[begin : begin + SUBSETS])]).cumsum(0)
            first = sum(map(len, hands[:begin]))
            some = slice(first, first + int(ptr[-1]))
            own = positions[some], {name: one[some] for name, one in features.items()}
            best.append(_best(ask.probabilities(own, None, ptr).numpy()))
            done(int(ptr[-1]))
        for array, found in zip((labels, confidence), zip(*best, strict=True), strict=True):
            put(array, rows[order], np.concatenate(found)[order])
    return labels, confidence


def _origin(positions: np.ndarray) -> np.ndarray:
    """The middle of a scene on the ground and its lowest point, as `PointView.place` takes them, without a copy."""
    bounds = [([one.min() for one in some.T], [one.max() for one in some.T]) for _, some in pieces(positions)]
    lower, upper = np.min([low for low, _ in bounds], axis=0), np.max([high for _, high in bounds], axis=0)
    origin: np.ndarray = (lower + upper) / 2
    origin[2] = lower[2]
    return origin


def _placed(points: Points, rows: Any, origin: np.ndarray) -> tuple[Tensor, dict[str, Tensor]]:
    """Some points as tensors. We subtract in float64: map coordinates would lose centimetres in float32."""
    every = isinstance(rows, slice)
    positions = np.asarray(points.positions if every else take(points.positions, rows), np.float64)
    return torch.from_numpy((positions - origin).astype(np.float32)), {
        name: torch.from_numpy(np.array(values if every else take(values, rows), np.float32))
        for name, values in points.features.items()
    }


def scene_spacing(positions: np.ndarray) -> float:
    """The median distance to the 8th neighbour, of all points of a small scene or of some of a large one.

    Where a point lies decides whether it is asked, so the order of the points does not matter.
    """
    from scipy.spatial import cKDTree

    count = len(positions)
    centred = np.asarray(positions, np.float64) - _origin(positions)
    if count <= SPACING_QUERIES:
        return float(measure_spacing(torch.from_numpy(centred), torch.tensor([0, count]))[0])
    size = max(float(np.abs(centred).max()), np.finfo(np.float64).tiny)
    asked = np.flatnonzero((centred / size) @ [7919.0, 6287.0, 4391.0] % 1.0 < SPACING_QUERIES / count)
    if len(asked) == 0:  # as where all points coincide
        asked = np.arange(1)
    tree = cKDTree(centred, balanced_tree=False, compact_nodes=False)  # few queries do not repay a better one
    distance = tree.query(centred[asked], k=[SPACING_RANK + 1], workers=torch.get_num_threads())[0]
    apart = distance[distance > 0]
    return float(np.median(apart)) if len(apart) else 0.0


def scene_probabilities(
    network: nn.Module, positions: Tensor, features: Mapping[str, Tensor], samples: int, most: int
) -> Tensor:
    """The probabilities of all classes at every point of a scene that has more than `most`: votes of tiles."""
    points = Points(positions.cpu().numpy(), {name: values.cpu().numpy() for name, values in features.items()})
    spacing = scene_spacing(points.positions)
    votes = _votes(_Ask(network, samples), points, most, spacing, lambda number: None, Workspace())
    return torch.from_numpy(votes / votes.sum(1, keepdims=True))


def _in_tiles(
    ask: _Ask, points: Points, most: int, spacing: float, done: Report, space: Workspace
) -> tuple[np.ndarray, np.ndarray]:
    count = len(points.positions)
    labels, confidence = space.zeros((count,), np.int16), space.zeros((count,), np.float32)  # now, while there is room
    votes = _votes(ask, points, most, spacing, done, space)
    for some, own in pieces(votes):
        labels[some], confidence[some] = _best(own / own.sum(1, keepdims=True))
    return labels, confidence


def _votes(ask: _Ask, points: Points, most: int, spacing: float, done: Report, space: Workspace) -> np.ndarray:
    """Label tile by tile. In its margin a tile votes with less and less weight, so that no seams remain."""
    count, origin = len(points.positions), _origin(points.positions)
    levels, side = ask.network.levels, ask.network.side
    margin = MARGIN * float(side) * spacing * 2.0 ** max(0, int(levels) - 2)  # type: ignore[arg-type]
    votes: np.ndarray | None = None
    for tile in plan_tiles(points.positions, max(1, most // 2)):
        rows, distance = _members(points.positions, tile, margin)
        found = ask.probabilities(_placed(points, rows, origin), spacing).numpy()
        weight = np.clip(1 - distance / margin, 0.05, 1.0) if margin > 0 else np.ones(len(rows))
        if votes is None:
            votes = space.zeros((count, found.shape[1]), np.float32)
        add(votes, rows, weight[:, None].astype(np.float32) * found)
        done(int((distance == 0).sum()))
    assert votes is not None
    return votes


def _members(positions: np.ndarray, tile: Tile, margin: float) -> tuple[np.ndarray, np.ndarray]:
    """The rows of the points in a tile and its margin, and how far each lies outside the tile."""
    rows, far = [], []
    for some, own in pieces(positions):
        distance = tile.distance(own)
        inside = np.flatnonzero(distance <= margin)
        rows.append(inside + some.start)
        far.append(distance[inside])
    return np.concatenate(rows), np.concatenate(far)


def _sampled_spacing(positions: np.ndarray, most: int) -> float:
    """The spacing of a scene that does not fit in memory: the median over some of its tiles."""
    tiles = plan_tiles(positions, max(1000, most // 8))
    chosen = tiles[:: max(1, len(tiles) // 8)][:8]
    return float(np.median([scene_spacing(take(positions, _members(positions, tile, 0.0)[0])) for tile in chosen]))
