"""What a masked autoencoder makes of a file: the visible points, the rebuilt ones and the original, as PLY."""

from __future__ import annotations

from dataclasses import dataclass
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

SAME = 1e-10  # squared distance of a point to itself, after rounding


@dataclass(frozen=True)
class Clouds:
    """One shape three times, and how far the rebuilt groups are from what was masked (Chamfer-L2, in their size)."""

    visible: np.ndarray  # points of the visible groups
    rebuilt: np.ndarray  # points of the masked groups as the network rebuilt them
    original: np.ndarray  # all points that it was given
    loss: float
    masked: int
    groups: int
    note: str = ""  # on how the file was read


@torch.inference_mode()
def reconstruct(
    file: Path, weights: Path, *, mask_ratio: float | None = None, seed: int = 0, device: str | None = None
) -> Clouds:
    """Mask groups of a shape and rebuild them.

    Args:
        mask_ratio: share of the groups to mask; that of the training if not given.
        seed: chooses the groups.
    """
    place = pick_device(device)
    network, description = load_model(weights, place)
    if not isinstance(network, MaskedAutoencoder):
        raise WeightsError(f"{printable(weights)}: expected a 'mae', it is a {description.model!r}")
    if mask_ratio is not None:
        network.mask_ratio = mask_ratio
    masked = masked_count(network.groups, network.mask_ratio)
    view = view_of(description, weights)
    shape = read_shape(file, points=view.points, normals="none")
    points, _ = view.transforms()[1](torch.from_numpy(shape.points)[None])
    outcome = network.reconstruct(points.to(place), torch.Generator().manual_seed(seed))
    original = points[0]
    # Neighbouring groups share points, and a point less its centre plus its centre is no longer quite that point.
    _, squared = nearest_neighbours(_absolute(outcome.visible).cpu()[None], 1, queries=points)
    repeated = f"{shape.distinct} points, some of them repeated: the network reads {view.points}"
    return Clouds(
        original[squared[0, :, 0] < SAME].numpy(),
        _absolute(Groups(outcome.masked.centres, outcome.rebuilt)).cpu().numpy(),
        original.numpy(),
        float(outcome.loss()),
        masked,
        network.groups,
        repeated if shape.distinct < view.points else "",
    )


def _absolute(groups: Groups) -> Tensor:
    """All points of the groups of one cloud where they lie in the cloud."""
    return (groups.points + groups.centres.unsqueeze(2)).flatten(0, 2)


def write_clouds(clouds: Clouds, folder: Path) -> list[Path]:
    """visible.ply, rebuilt.ply and original.ply in a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name in ("visible", "rebuilt", "original"):
        paths.append(folder / f"{name}.ply")
        write_ply(getattr(clouds, name), paths[-1])
    return paths


def write_ply(points: np.ndarray, path: Path) -> None:
    """A cloud (n, 3) as binary PLY."""
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {len(points)}"]
    header += [f"property float {axis}" for axis in "xyz"]
    with atomic_write(path) as file:
        file.write("\n".join([*header, "end_header\n"]).encode("ascii"))
        file.write(np.ascontiguousarray(points, "<f4").tobytes())
