"""Reconstruct a file with a masked autoencoder: the visible, the rebuilt and the original points, as PLY files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ..data.files import read_shape
from ..geometry import nearest_neighbours
from ..models.mae import MaskedAutoencoder
from ..models.mae.mask import masked_count
from ..models.tokens import Groups
from ..support.atomic import atomic_write
from ..support.printable import printable
from ..weights import WeightsError, load_model
from .trained import pick_device, view_of

SAME = 1e-10  # squared distance below which two points are the same, up to rounding


@dataclass(frozen=True)
class Clouds:
    """The clouds of one reconstruction, and its loss: the Chamfer-L2 distance of the rebuilt to the masked groups."""

    visible: np.ndarray  # points of the visible groups
    rebuilt: np.ndarray  # points of the masked groups, as the network rebuilt them
    original: np.ndarray  # all points of the input
    loss: float  # mean over the masked groups, with each group in its own unit
    masked: int  # masked groups
    groups: int  # all groups
    note: str = ""  # how the file was read


@torch.inference_mode()
def reconstruct(
    file: Path,
    weights: Path,
    *,
    mask_ratio: float | None = None,
    seed: int = 0,
    device: str | None = None,
    up: str | None = None,
) -> Clouds:
    """Mask groups of points in a shape and let the network rebuild them.

    Args:
        file: The shape.
        weights: Weights file of a 'mae'.
        mask_ratio: Share of the groups to mask (default: as in training).
        seed: Seed for choosing the masked groups.
        device: Device (default: GPU if available).
        up: The axis that is up in the file, see `read_shape`.
    """
    place = pick_device(device)
    network, description = load_model(weights, place)
    if not isinstance(network, MaskedAutoencoder):
        raise WeightsError(f"{printable(weights)}: expected a 'mae', got {description.model!r}")
    if mask_ratio is not None:
        masked_count(network.groups, mask_ratio)  # refuse nonsense before we read the file
    view = view_of(description, weights)
    shape = read_shape(file, points=view.points, normals="none", up=up)
    points, _ = view.transforms()[1](torch.from_numpy(shape.points)[None])
    repeated = f"only {shape.distinct} points; repeated some to get the {view.points} the network reads"
    clouds = reconstruct_points(network, points[0], mask_ratio, seed)
    return replace(clouds, note=repeated) if shape.distinct < view.points else clouds


@torch.inference_mode()
def reconstruct_points(
    network: MaskedAutoencoder, points: Tensor, mask_ratio: float | None = None, seed: int = 0
) -> Clouds:
    """`reconstruct` for points (n, 3) as the network reads them."""
    place, before = next(network.parameters()).device, network.mask_ratio
    ratio = before if mask_ratio is None else mask_ratio
    masked = masked_count(network.groups, ratio)
    try:
        network.mask_ratio = ratio
        outcome = network.reconstruct(points[None].to(place), torch.Generator().manual_seed(seed))
    finally:
        network.mask_ratio = before
    # We look up the visible points in the original by distance: groups overlap, and subtracting and adding a centre
    # changes the last digit.
    _, squared = nearest_neighbours(_absolute(outcome.visible).cpu()[None], 1, queries=points[None])
    return Clouds(
        points[squared[0, :, 0] < SAME].numpy(),
        _absolute(Groups(outcome.masked.centres, outcome.rebuilt)).cpu().numpy(),
        points.numpy(),
        float(outcome.loss()),
        masked,
        network.groups,
    )


def _absolute(groups: Groups) -> Tensor:
    """The points of all groups of one cloud, in the coordinates of the cloud."""
    return (groups.points + groups.centres.unsqueeze(2)).flatten(0, 2)


def write_clouds(clouds: Clouds, folder: Path) -> list[Path]:
    """Create the folder and write visible.ply, rebuilt.ply and original.ply."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name in ("visible", "rebuilt", "original"):
        paths.append(folder / f"{name}.ply")
        write_ply(getattr(clouds, name), paths[-1])
    return paths


def write_ply(points: np.ndarray, path: Path) -> None:
    """Write a cloud (n, 3) as binary PLY."""
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {len(points)}"]
    header += [f"property float {axis}" for axis in "xyz"]
    with atomic_write(path) as file:
        file.write("\n".join([*header, "end_header\n"]).encode("ascii"))
        file.write(np.ascontiguousarray(points, "<f4").tobytes())
