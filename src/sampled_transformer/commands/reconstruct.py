"""The command `reconstruct`."""

from __future__ import annotations

from typing import Literal


def reconstruct(
    file: str,
    weights: str = "modelnet40-mae",
    out: str = "reconstruction",
    mask_ratio: float | None = None,
    seed: int = 0,
    up: Literal["x", "y", "z", "-x", "-y", "-z"] | None = None,
    device: str | None = None,
) -> None:
    """Mask parts of a shape, rebuild them, and write visible.ply, rebuilt.ply and original.ply.

    Args:
        file: A mesh or a point cloud.
        weights: The folder of a pre-training, a weights file, or the name of shipped weights.
        out: Folder to write to; it replaces files of these names.
        mask_ratio: Share of the groups to mask (default: as in pre-training).
        seed: Seed that chooses the groups.
        up: Axis that is up in the file; what is written has z up (default: y for GLB and GLTF, else as it is).
        device: Device (default: GPU if available).
    """
    from pathlib import Path

    from ..inference import reconstruction
    from ..support.printable import printable
    from ..weights import find_weights

    clouds = reconstruction.reconstruct(
        Path(file), find_weights(weights), mask_ratio=mask_ratio, seed=seed, device=device, up=up
    )
    reconstruction.write_clouds(clouds, Path(out))
    rebuilt = f"{clouds.masked} of {clouds.groups} groups masked and rebuilt, Chamfer-L2 {clouds.loss:.5f}"
    print(f"{printable(file)}: {rebuilt}" + (f" ({clouds.note})" if clouds.note else ""))
    counts = (f"{name}.ply {len(getattr(clouds, name))}" for name in ("visible", "rebuilt", "original"))
    print(f"{printable(out)}: {', '.join(counts)} points")


reconstruct.reads_files = True  # type: ignore[attr-defined]
