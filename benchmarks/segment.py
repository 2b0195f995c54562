"""How do time and memory of labelling a scene grow with its points?

    python benchmarks/segment.py [--points 10000 100000 1000000] [--tiled 5000000] [--weights FILE] [--json FILE]

Makes scenes of LDraw parts with normals, labels them in one pass, each in a process of its own, and compares the time
with that of scipy's cKDTree, which finds 16 neighbours of every point in the same process. Dense attention is measured
beside as far as it goes. A larger scene is labelled in tiles within the same memory. A training step on a crop of
50,000 points is timed, and whole and tiled labels of one scene are compared. The network has new weights, or those of a
run.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

MEMORY = 4.0  # gigabytes
DENSE_MOST = 30_000  # points for which dense attention is measured
CROP = 50_000


def network_of(attention: str, weights: str | None) -> Any:
    import torch

    from sampled_transformer.models import Segmenter
    from sampled_transformer.weights import load_model

    if weights:
        return load_model(weights)[0]
    torch.manual_seed(0)
    return Segmenter(11, attention=attention, features={"normals": 3}, positions="z").eval()


def measure(points: int, attention: str, weights: str | None, most: int | None, threads: int) -> dict[str, Any]:
    """One scene, in this process: seconds for the tree and for the labels, and the peak memory."""
    import torch
    from scipy.spatial import cKDTree

    from sampled_transformer.data.sources.brick_scenes import brick_scene
    from sampled_transformer.inference.segmentation import Points, label_points, most_points
    from sampled_transformer.training.point_loading import PointView

    torch.set_num_threads(threads)
    scene = brick_scene(points, 1, "test")
    view = PointView(CROP, "crop", "kept", {"normals": 3})
    network = network_of(attention, weights)
    cloud = Points(scene.points.astype("float64"), {"normals": scene.normals})
    warm = Points(cloud.positions[:5000], {"normals": scene.normals[:5000]})
    label_points(network, view, warm)
    begin = time.perf_counter()
    tree = cKDTree(cloud.positions)
    tree.query(cloud.positions, k=16, workers=threads)
    neighbours = time.perf_counter() - begin
    del tree
    begin = time.perf_counter()
    label_points(network, view, cloud, most=most or most_points(MEMORY))
    seconds = time.perf_counter() - begin
    return {
        "points": points,
        "attention": attention,
        "seconds": seconds,
        "neighbour_seconds": neighbours,
        "points_per_second": points / seconds,
        "peak_memory": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "passes": "tiles" if points > (most or most_points(MEMORY)) else "one",
    }


def agreement(points: int, weights: str | None, threads: int) -> dict[str, Any]:
    """The share of points that get the same label in tiles as in one pass."""
    import torch

    from sampled_transformer.data.sources.brick_scenes import brick_scene
    from sampled_transformer.inference.segmentation import Points, label_points
    from sampled_transformer.training.point_loading import PointView

    torch.set_num_threads(threads)
    scene = brick_scene(points, 2, "test")
    view = PointView(CROP, "crop", "kept", {"normals": 3})
    network = network_of("rotary", weights)
    cloud = Points(scene.points.astype("float64"), {"normals": scene.normals})
    whole, _ = label_points(network, view, cloud, most=points)
    tiled, _ = label_points(network, view, cloud, most=points // 3)
    found = {"points": points, "same": float((whole == tiled).mean())}
    if weights:
        found["right"] = float((whole == scene.labels).mean())
    return found


def training_step(threads: int) -> dict[str, Any]:
    """Seconds of a training step on a crop."""
    import torch

    from sampled_transformer.data.sources.brick_scenes import brick_scene

    torch.set_num_threads(threads)
    scene = brick_scene(CROP, 3)
    network = network_of("rotary", None).train()
    points, normals = torch.from_numpy(scene.points), torch.from_numpy(scene.normals)
    labels = torch.from_numpy(scene.labels).long()
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        logits = network(points, {"normals": normals}, ptr=[0, CROP])
        torch.nn.functional.cross_entropy(logits, labels).backward()
        times.append(time.perf_counter() - begin)
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"points": CROP, "seconds": sorted(times)[1], "peak_memory": peak}


def apart(*words: object) -> Any:
    """The answer of this program with other words, in a process of its own, whose peak memory is that of one scene."""
    command = [sys.executable, __file__, "--run", *map(str, words)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def exponent(rows: list[dict[str, Any]], key: str) -> float:
    """The slope from the first to the last row on logarithmic axes."""
    first, last = rows[0], rows[-1]
    return math.log(last[key] / first[key]) / math.log(last["points"] / first["points"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--tiled", type=int, default=5_000_000)
    parser.add_argument("--agreement", type=int, default=300_000)
    parser.add_argument("--weights", default="")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--run", nargs="+", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.run:
        kind, *words = chosen.run
        if kind == "step":
            found = training_step(int(words[0]))
        elif kind == "agree":
            found = agreement(int(words[0]), words[1].removeprefix("@") or None, int(words[2]))
        else:
            found = measure(int(words[0]), kind, words[1].removeprefix("@") or None, None, int(words[2]))
        print(json.dumps(found))
        return
    weights = f"@{chosen.weights}"
    rows = [apart("rotary", count, weights, chosen.threads) for count in chosen.points]
    dense = [
        apart("dense", count, "@", chosen.threads) for count in [*chosen.points, DENSE_MOST] if count <= DENSE_MOST
    ]
    result: dict[str, Any] = {"threads": chosen.threads, "rows": rows, "dense": dense}
    for row in [*rows, *dense]:
        ratio = row["seconds"] / row["neighbour_seconds"]
        print(
            f"{row['points']:>9,} points  {row['attention']:7} {row['seconds']:7.2f} s  {ratio:5.2f} x neighbours  "
            f"{row['points_per_second']:>9,.0f} points/s  {row['peak_memory'] / 1e9:5.2f} GB",
            flush=True,
        )
    result["exponents"] = {key: exponent(rows, key) for key in ("seconds", "peak_memory")}
    print("exponents of time and memory:", {key: round(value, 2) for key, value in result["exponents"].items()})
    if chosen.tiled:
        result["tiled"] = apart("rotary", chosen.tiled, weights, chosen.threads)
        seconds, peak = result["tiled"]["seconds"], result["tiled"]["peak_memory"]
        print(f"{chosen.tiled:,} points in tiles: {seconds:.1f} s, {peak / 1e9:.2f} GB")
    result["agreement"] = apart("agree", chosen.agreement, weights, chosen.threads)
    print(f"tiles and one pass agree on {100 * result['agreement']['same']:.2f} % of {chosen.agreement:,} points")
    result["training_step"] = apart("step", chosen.threads)
    print(f"a training step on {CROP:,} points: {result['training_step']['seconds']:.2f} s")
    if chosen.json is not None:
        from sampled_transformer.support.atomic import atomic_write
        from sampled_transformer.support.machine import machine

        with atomic_write(chosen.json) as file:
            file.write(f"{json.dumps({**result, 'machine': machine()}, indent=1)}\n".encode())


if __name__ == "__main__":
    main()
