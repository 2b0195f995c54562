"""The command `data scene`."""

from __future__ import annotations

from typing import Literal


def data_scene(
    points: int = 100_000,
    seed: int = 0,
    split: Literal["train", "test"] = "train",
    labels: Literal["primitive", "kind"] = "primitive",
    layout: Literal["strewn", "built"] = "strewn",
    out: str = "scene.ply",
) -> None:
    """Make a scene of LDraw parts on the ground, with a class per point, and write it to a file.

    Args:
        points: Number of points, from 4096 to 5000000.
        seed: Seed of the scene.
        split: Split that the parts are from.
        labels: Classes of the points: the primitive that drew them (stud, tube, hole), or the kind of part.
        layout: Single parts that lie about, or stacks of parts.
        out: File to write: .ply (x y z nx ny nz label) or .npz (a pack of one scene).
    """
    import numpy as np

    from ..data.scene_files import ENDINGS, write_scene
    from ..data.sources.brick_scenes import brick_scene
    from ..support.atomic import check_target
    from ..support.printable import printable

    check_target("out", out, *ENDINGS)
    scene = brick_scene(points, seed, split, labels, layout)
    write_scene(scene, out)
    counts = np.bincount(scene.labels, minlength=len(scene.classes))
    print(f"{printable(out)}: {points} points in {len(scene.classes)} classes")
    for name, count in zip(scene.classes, counts.tolist(), strict=True):
        print(f"  {name:16} {100 * count / points:6.2f} %")
