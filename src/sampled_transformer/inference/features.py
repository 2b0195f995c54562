"""Features of a network, before its head: per set or per point, of the last layer or of another one."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from .prepared import Prepared
from .trained import cycle_passes


class PointFeatures(NamedTuple):
    """Features per point, or per group of points: row i belongs to points[i], the centre of its group."""

    features: np.ndarray  # (m, d) float32
    points: np.ndarray  # (m, 3) float64, in the units of the input
    rows: np.ndarray | None  # (m,), which rows of the input they are, in ascending order; None if drawn from a mesh


def layer_name(network: nn.Module, layer: int | str | None) -> str | None:
    """The name of a layer, given by name or by number; negative numbers count from the last."""
    names: list[str] = network.feature_layers  # type: ignore[assignment]
    if layer is None or layer in names:
        return None if layer is None else str(layer)
    if isinstance(layer, int) and -len(names) <= layer < len(names):
        return names[layer]
    known = f"0 to {len(names) - 1}, or one of {', '.join(names)}" if names else "None, as the network has no block"
    raise ValueError(f"layer: expected {known}, got {layer!r}")


@torch.inference_mode()
def set_features(
    network: nn.Module, points: Tensor, normals: Tensor | None, layer: str | None = None, samples: int = 1
) -> Tensor:
    """What the head reads, (batch, d), averaged over cycles; of a layer, the largest values over its points."""

    def ask() -> Tensor:
        if layer is not None:
            return _of_layer(network, points, normals, layer)[1].float().amax(1)
        features: Tensor = network.forward_features(points, normals).float()  # type: ignore[operator]
        return features

    return cycle_passes(network, ask, samples).mean(0)


@torch.inference_mode()
def point_features(
    network: nn.Module, sets: Sequence[Prepared], layer: str | None = None, samples: int = 1
) -> list[PointFeatures]:
    """Features before pooling, averaged over cycles. A point that was read several times has one row."""
    points, normals = stack(sets, next(network.parameters()).device)
    found: list[np.ndarray] = []

    def ask() -> Tensor:
        if layer is None:
            positions, x = network.forward_points(points, normals)  # type: ignore[operator]
        else:
            positions, x = _of_layer(network, points, normals, layer)
        # A network may put the points in another order, another one per cycle.
        found[:] = [_match(*pair) for pair in zip(points.cpu().numpy(), positions.cpu().numpy(), strict=True)]
        orders = torch.from_numpy(np.stack([np.argsort(index) for index in found])).to(x.device)
        found[:] = [np.sort(index) for index in found]
        sorted_rows: Tensor = x.float().gather(1, orders[..., None].expand(-1, -1, x.shape[-1]))
        return sorted_rows

    features = cycle_passes(network, ask, samples).mean(0).cpu().numpy()
    return [_rows(*each) for each in zip(sets, features, found, strict=True)]


def stack(sets: Sequence[Prepared], device: torch.device) -> tuple[Tensor, Tensor | None]:
    """The points and normals of several sets, (batch, n, 3)."""
    points = torch.stack([one.points for one in sets]).to(device)
    normals = [one.normals for one in sets if one.normals is not None]
    return points, torch.stack(normals).to(device) if normals else None


def _of_layer(network: nn.Module, points: Tensor, normals: Tensor | None, layer: str) -> tuple[Tensor, Tensor]:
    """Positions (batch, m, 3) and features (batch, m, d) of one layer."""
    seen: list[Any] = []
    handle = network.get_submodule(layer).register_forward_hook(lambda module, inputs, output: seen.append(output))
    try:
        positions, _ = network.forward_points(points, normals)  # type: ignore[operator]
    finally:
        handle.remove()
    (output,) = seen
    if isinstance(output, tuple):  # a stage, which says what points it keeps
        return output[0], output[1]
    return positions, output[:, -positions.shape[1] :]  # without a class token, which comes first


def _match(points: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """For every position, the number of the point that it is; points at one place are used one after the other."""
    places: dict[bytes, deque[int]] = defaultdict(deque)
    for number, place in enumerate(points):
        places[place.tobytes()].append(number)
    return np.array([places[place.tobytes()].popleft() for place in positions])


def _rows(one: Prepared, features: np.ndarray, index: np.ndarray) -> PointFeatures:
    """Name the points that features belong to, in the order of the input."""
    drawn = one.order[index]
    rows = None if one.draw.rows is None else one.draw.rows[drawn]
    number = drawn if rows is None else rows
    if len(index) == len(one.order):  # every point has its row; a cloud with too few points was read with repetitions
        chosen = np.unique(number, return_index=True)[1]
    else:
        chosen = np.argsort(number, kind="stable")
    return PointFeatures(features[chosen], one.draw.places[drawn[chosen]], None if rows is None else rows[chosen])
