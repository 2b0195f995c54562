"""Do tiles with votes give the same labels as one pass, if the network has been trained?

    sampled-transformer data pack brick-scenes packs/scenes --points 100000 --options.scenes 12
    sampled-transformer segment train --data packs/scenes --data.part crop --data.points 20000 --data.batch 1 \
        --recipe segment-rotary --epochs 3 --out runs/scenes
    python benchmarks/tiles.py runs/scenes [--points 300000] [--passes 3 10] [--json FILE]

A new network answers with much the same class everywhere, so that its agreement says little. A trained one reads all
points of a scene through its attention, of which a tile has only a part. We label a scene of parts that no training
scene has, once as a whole and once for every number in --passes with at most that fraction of the points per pass, and
compare. The mistakes are counted, too: a network that has learnt nothing agrees with itself.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sampled_transformer.data.sources.brick_scenes import brick_scene
from sampled_transformer.inference.iou import iou_figures, point_confusion
from sampled_transformer.inference.segmentation import Points, label_points, point_view_of
from sampled_transformer.weights import find_weights, load_model


def compare(weights: str, points: int, passes: list[int]) -> dict[str, Any]:
    """The share of equal labels, and the mean IoU of both, for every fraction of the scene."""
    network, description = load_model(find_weights(weights))
    view = point_view_of(description, weights)
    scene = brick_scene(points, 2, "test")
    if scene.classes != tuple(description.classes):
        raise SystemExit(f"weights: expected the classes of brick-scenes, got {', '.join(description.classes)}")
    cloud = Points(scene.points.astype("float64"), {"normals": scene.normals})

    def figures(labels: np.ndarray) -> dict[str, float]:
        pairs = (torch.from_numpy(values.astype(np.int64)) for values in (scene.labels, labels))
        return iou_figures(point_confusion(*pairs, len(scene.classes)))

    whole, confidence = label_points(network, view, cloud, most=points)
    rows = []
    for number in passes:
        tiled, _ = label_points(network, view, cloud, most=points // number)
        same = whole == tiled
        row = {
            "most": points // number,
            "same": float(same.mean()),
            "same_of_parts": float(same[scene.labels > 0].mean()),  # without the ground, which is easy
            "confidence_where_not": float(confidence[~same].mean()) if not same.all() else None,
            **figures(tiled),
        }
        print(
            f"at most {row['most']:,} points per pass: {100 * row['same']:.2f} % the same labels as one pass, "
            f"{100 * row['same_of_parts']:.2f} % on the parts, mean IoU {100 * row['mean_iou']:.2f} %",
            flush=True,
        )
        rows.append(row)
    data = description.notes.get("data", {})
    training = {"crop": data.get("points"), "epochs": description.notes.get("epochs")}
    return {"points": points, "training": training, "whole": figures(whole), "tiles": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", help="the run of a network of scenes")
    parser.add_argument("--points", type=int, default=300_000)
    parser.add_argument("--passes", type=int, nargs="+", default=[3, 10])
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    result = compare(chosen.weights, chosen.points, chosen.passes)
    print(f"one pass: mean IoU {100 * result['whole']['mean_iou']:.2f} % of {chosen.points:,} points")
    if chosen.json is not None:
        from sampled_transformer.support.atomic import atomic_write

        with atomic_write(chosen.json) as file:
            file.write(f"{json.dumps(result, indent=1)}\n".encode())


if __name__ == "__main__":
    main()
