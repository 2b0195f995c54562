"""Does a second worker halve the time to pack a tree of meshes, and are the cores busy?

Generates a tree of meshes like ModelNet40's (40 classes, class/{train,test}/*.off, joined headers in some files), packs
it with 1 and with 2 workers, and prints the time, the speed-up and how busy the cores were.

    python benchmarks/packing.py [--meshes 2000] [--points 2048]
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from sampled_transformer.data.packing import pack_folder

CLASSES = 40


def surface(kind: int, side: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A grid of side x side quads bent into a box, a cylinder, a sphere or a torus, scaled and dented."""
    u, v = (grid.ravel() for grid in np.meshgrid(np.linspace(0, 1, side + 1), np.linspace(0, 1, side + 1)))
    across, along = 2 * np.pi * u, np.pi * v
    sphere = np.stack([np.sin(along) * np.cos(across), np.sin(along) * np.sin(across), np.cos(along)], 1)
    if kind == 0:
        vertices = sphere / np.abs(sphere).max(1, keepdims=True)
    elif kind == 1:
        vertices = np.stack([np.cos(across), np.sin(across), 2 * v], 1)
    elif kind == 2:
        vertices = sphere
    else:
        tube = 1 + 0.4 * np.cos(2 * along)
        vertices = np.stack([tube * np.cos(across), tube * np.sin(across), 0.4 * np.sin(2 * along)], 1)
    waves = np.sin(vertices @ generator.normal(size=(3, 3)) * 3)
    vertices = (vertices + 0.1 * waves) * generator.uniform(10, 40, 3)
    corner = (np.arange(side)[:, None] * (side + 1) + np.arange(side)).ravel()
    quads = np.stack([corner, corner + 1, corner + side + 2, corner + side + 1], 1)
    return vertices, np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])


def make_tree(root: Path, meshes: int) -> int:
    """Write the tree, with 200 to 5,000 faces per mesh, and return its size in bytes."""
    generator = np.random.default_rng(0)
    size = 0
    for number in range(meshes):
        category = number % CLASSES
        split = "test" if number // CLASSES % 5 == 0 else "train"
        vertices, faces = surface(category % 4, int(generator.integers(10, 51)), generator)
        header = f"OFF{'' if number % 3 == 0 else chr(10)}{len(vertices)} {len(faces)} 0"
        rows = [f"{x:.6f} {y:.6f} {z:.6f}" for x, y, z in vertices.tolist()]
        rows += [f"3 {a} {b} {c}" for a, b, c in faces.tolist()]
        path = root / f"class_{category:02d}" / split / f"class_{category:02d}_{number:04d}.off"
        path.parent.mkdir(parents=True, exist_ok=True)
        size += path.write_text("\n".join([header, *rows, ""]))
    return size


def processor_seconds() -> float:
    """User and system time of this process and of its finished children."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--meshes", type=int, default=2000)
    parser.add_argument("--points", type=int, default=2048)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        size = make_tree(tree, arguments.meshes)
        print(
            f"{arguments.meshes} meshes, {CLASSES} classes, {size / 1e6:.0f} MB of OFF; {arguments.points} points each"
        )
        print(f"{'workers':>7} {'seconds':>8} {'meshes/s':>9} {'speed-up':>9} {'cores busy':>10} {'of them':>8}")
        first = 0.0
        for workers in (1, 2):
            busy, start = processor_seconds(), time.perf_counter()
            report = pack_folder(tree, Path(folder, f"pack{workers}"), points=arguments.points, workers=workers)
            seconds, busy = time.perf_counter() - start, processor_seconds() - busy
            assert sum(report.counts.values()) == arguments.meshes, report.problems
            first = first or seconds
            print(
                f"{workers:7d} {seconds:8.2f} {arguments.meshes / seconds:9.1f} {first / seconds:9.2f} "
                f"{busy / seconds:10.2f} {busy / seconds / workers:8.0%}"
            )
        same = all(
            Path(folder, "pack1", name).read_bytes() == Path(folder, "pack2", name).read_bytes()
            for name in ("train.npz", "test.npz")
        )
        print(f"both runs wrote the same bytes: {'yes' if same else 'NO'}")


if __name__ == "__main__":
    main()
