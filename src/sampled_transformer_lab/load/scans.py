"""Files of many millions of points: resident memory of `segment predict` and `predict` on LAS and PLY.

Makes a scene of LDraw parts, repeats it side by side until there are enough points, writes it as LAS and as binary PLY,
runs the program as a user would, and records the memory of all its processes, its time, and what it leaves behind.

    python -m sampled_transformer_lab.load.scans --points 20000000 --out results/bench/large-scans.json
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sampled_transformer import __version__
from sampled_transformer.data.sources.brick_scenes import brick_scene
from sampled_transformer.support.atomic import atomic_write
from sampled_transformer.support.machine import machine

from .resident import Watch, left_behind, megabytes

SCENE = 500_000  # points of the scene that is repeated
COLUMNS = ("x", "y", "z", "nx", "ny", "nz")


def copies(points: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Points (n, 3) and normals of the scene, side by side in a square, until there are `points`."""
    scene = brick_scene(min(points, SCENE), 1, "test")
    step = np.ptp(scene.points[:, :2], axis=0) + 1
    along = int(np.ceil(np.sqrt(points / len(scene.points))))
    left = points
    for number in range(along * along):
        some = slice(0, min(left, len(scene.points)))
        if left > 0:
            shift = np.array([*(step * [number % along, number // along]), 0.0])
            yield scene.points[some] + shift, scene.normals[some]
        left -= len(scene.points)


def write_ply(path: Path, points: int) -> None:
    """Binary PLY with normals, one copy of the scene after the other."""
    head = ["ply", "format binary_little_endian 1.0", f"element vertex {points}"]
    with open(path, "wb") as file:
        file.write("\n".join([*head, *(f"property float {name}" for name in COLUMNS), "end_header", ""]).encode())
        for places, normals in copies(points):
            np.concatenate([places, normals], 1).astype("<f4").tofile(file)


def write_las(path: Path, points: int) -> None:
    """LAS of point format 3."""
    import laspy

    header = laspy.LasHeader(point_format=3, version="1.2")
    header.scales = [0.0001] * 3
    with laspy.open(str(path), "w", header=header) as file:
        for places, _ in copies(points):
            record = laspy.ScaleAwarePointRecord.zeros(len(places), header=header)
            record.x, record.y, record.z = places.T
            file.write_points(record)


def measured(command: list[str], folder: Path) -> dict[str, Any]:
    """Run a program and watch it."""
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    environment = {**os.environ, "TMPDIR": str(temporary)}
    begin = time.perf_counter()
    with open(folder / "said.txt", "wb") as said:
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, env=environment)
        with Watch(process.pid) as watch:
            used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(used[1])
    return {
        "exit_code": process.returncode,
        "seconds": round(time.perf_counter() - begin, 1),
        "processor_seconds": round(used[2].ru_utime + used[2].ru_stime, 1),
        "peak_megabytes": megabytes(watch.peak),
        "processes": max((one.processes for one in watch.samples), default=0),
        "curve": watch.curve(20),
        "temporary_files_left": left_behind(temporary),
        "said": (folder / "said.txt").read_text("utf-8", "replace").replace(f"{folder}{os.sep}", "")[-400:],
    }


def scene_weights(path: Path) -> str:
    """Weights of a new network of scenes, of the usual size: what it answers does not matter here."""
    import torch

    from sampled_transformer.models import Segmenter
    from sampled_transformer.weights import Description, save_model

    torch.manual_seed(0)
    options: dict[str, Any] = {"features": {"normals": 3}, "optional": ["normals"], "positions": "z"}
    classes = tuple(f"class {number}" for number in range(11))
    notes = {"data": {"points": 50_000, "part": "crop", "size": "kept"}}
    network = Segmenter(len(classes), **options)
    save_model(network, path, Description("segmenter", {"classes": len(classes), **options}, classes, notes))
    return str(path)


def main(words: list[str] | None = None) -> int:
    """The command line; the exit code is 1 if a run failed or needed more than --limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, nargs="+", default=[20_000_000])
    parser.add_argument("--formats", nargs="+", choices=("las", "ply"), default=["las", "ply"])
    parser.add_argument("--tasks", nargs="+", choices=("predict", "shape", "scene"), default=["predict", "scene"])
    parser.add_argument("--memory", type=float, default=1.5, help="--memory of `segment predict`, in gigabytes")
    parser.add_argument("--limit", type=float, default=2.0, help="gigabytes that a run may need")
    parser.add_argument("--folder", type=Path, help="where the files are made (default: a temporary folder)")
    parser.add_argument("--out", type=Path, help="JSON file for the figures; rows of other runs in it are kept")
    chosen = parser.parse_args(words)
    rows = []
    with tempfile.TemporaryDirectory(dir=chosen.folder) as place:
        folder = Path(place)
        for points in chosen.points:
            for ending in chosen.formats:
                path = folder / f"scan.{ending}"
                (write_las if ending == "las" else write_ply)(path, points)
                for task in chosen.tasks:
                    row = {"task": task, "format": ending, "points": points, "file_megabytes": 0.0}
                    row["file_megabytes"] = megabytes(path.stat().st_size)
                    row |= measured(_command(task, path, folder, chosen.memory), folder)
                    row["within"] = row["exit_code"] == 0 and row["peak_megabytes"] <= 1000 * chosen.limit
                    print(
                        f"{task:8} {ending} {points:>11,} points: {row['peak_megabytes']:7,.0f} MB, "
                        f"{row['seconds']:,.0f} s ({row['processor_seconds']:,.0f} s of processor time)",
                        flush=True,
                    )
                    rows.append(row)
                    if chosen.out is not None:
                        write_rows(chosen.out, rows, chosen.memory)
                path.unlink()
    return int(not all(row["within"] for row in rows))


def write_rows(path: Path, rows: list[dict[str, Any]], memory: float) -> None:
    """Write the figures. Rows of the file about other tasks, formats or sizes stay."""
    known = json.loads(path.read_text("utf-8"))["rows"] if path.is_file() else []
    names = {(row["task"], row["format"], row["points"]) for row in rows}
    kept = [row for row in known if (row["task"], row["format"], row["points"]) not in names]
    found = {"command": "python -m sampled_transformer_lab.load.scans", "memory_option": memory}
    found |= {"rows": [*kept, *rows], "machine": machine(), "version": __version__}
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(f"{json.dumps(found, indent=1)}\n".encode())


def _command(task: str, path: Path, folder: Path, memory: float) -> list[str]:
    program = [sys.executable, "-m", "sampled_transformer"]
    if task == "predict":
        return [*program, "predict", str(path)]
    weights = "brick-parts" if task == "shape" else scene_weights(folder / "scene.safetensors")
    options = ["--weights", weights, "--out", str(folder / f"labelled-{task}"), "--memory", str(memory), "--force"]
    return [*program, "segment", "predict", str(path), *options]


if __name__ == "__main__":
    sys.exit(main())
