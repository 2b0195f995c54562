"""How many spacings wide is the window of stratified attention?

A spacing is the mean distance of the points of a shape to their nearest other point. `python -m
sampled_transformer_lab.spacings [ROOT]` measures the window of 0.4 in spacings, on test shapes of the bricks in the
package and, if ROOT is given, of ModelNet40, and writes results/window/spacings.json.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

WINDOW = 0.4  # the default of StratifiedAttention
SIZES = (256, 1024)
SHAPES = 120
SHARES = (0, 5, 50, 95, 100)  # per cent of the shapes


def window_in_spacings(points: np.ndarray) -> float:
    """The window as a multiple of the mean distance to the nearest other point; points are (n, 3)."""
    distances, _ = cKDTree(points).query(points, 2)
    return float(WINDOW / distances[:, 1].mean())


def measure(source: str, root: str | None = None, shapes: int = SHAPES) -> list[dict[str, Any]]:
    """One entry per number of points: the window in spacings, over evenly chosen test shapes."""
    from sampled_transformer.data import load_data
    from sampled_transformer.data.quantise import POINT_SCALE

    pack = load_data(source, "test", root)
    chosen = np.linspace(0, len(pack) - 1, min(shapes, len(pack))).astype(int)
    generator = np.random.default_rng(0)
    stored = pack.select(chosen).points / POINT_SCALE
    found = []
    for n in SIZES:
        if n > stored.shape[1]:
            continue
        drawn = [shape[generator.choice(len(shape), n, replace=False)] for shape in stored]
        spacings = np.percentile([window_in_spacings(shape) for shape in drawn], SHARES)
        percentiles = {str(share): round(float(value), 2) for share, value in zip(SHARES, spacings, strict=True)}
        found.append({"data": source, "shapes": len(chosen), "points": n, "spacings": percentiles})
    return found


def main(root: str | None = None, path: Path = Path("results/window/spacings.json")) -> None:
    rows = measure("bricks") + ([] if root is None else measure("modelnet40", root))
    command = "python -m sampled_transformer_lab.spacings" + ("" if root is None else " ROOT")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"command": command, "window": WINDOW, "rows": rows}, indent=1) + "\n", "utf-8")
    for row in rows:
        print(row)
    print(f"{path}: written")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
