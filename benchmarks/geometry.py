"""How much faster are farthest points, neighbours and Chamfer distance than their plain torch versions?

    python benchmarks/geometry.py [--threads 1] [--repeats 3] [--json FILE]

Both versions must agree first. Then they take turns in one process, and the ratio compares their medians.
"""

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from sampled_transformer.geometry import chamfer_distance, farthest_points, nearest_neighbours


@dataclass(frozen=True)
class Row:
    name: str
    plain_milliseconds: float
    milliseconds: float
    ratio: float
    bar: float | None

    def __str__(self) -> str:
        verdict = "" if self.bar is None else f"  bar {self.bar:3.0f}x {'met' if self.ratio >= self.bar else 'missed'}"
        return (
            f"{self.name:52} {self.plain_milliseconds:10.1f} ms {self.milliseconds:8.1f} ms {self.ratio:7.1f}x{verdict}"
        )


def plain_farthest(points: Tensor, count: int) -> Tensor:
    """The loop that PointNet++ ports share."""
    batch, n, _ = points.shape
    chosen = torch.zeros(batch, count, dtype=torch.int64)
    nearest = torch.full((batch, n), 1e10)
    latest = torch.zeros(batch, dtype=torch.int64)
    rows = torch.arange(batch)
    for step in range(count):
        chosen[:, step] = latest
        centroid = points[rows, latest].unsqueeze(1)
        squared = ((points - centroid) ** 2).sum(-1)
        nearest = torch.where(squared < nearest, squared, nearest)
        latest = nearest.max(-1).indices
    return chosen


def plain_neighbours(points: Tensor, k: int, chunk: int = 1024) -> tuple[Tensor, Tensor]:
    parts = [torch.cdist(some, points).topk(k, largest=False) for some in points.split(chunk)]
    return torch.cat([part.indices for part in parts]), torch.cat([part.values for part in parts])


def plain_chamfer(first: Tensor, second: Tensor) -> Tensor:
    """All distances at once, without the inexact matrix product, which would change the gradients."""
    squared = torch.cdist(first, second, compute_mode="donot_use_mm_for_euclid_dist").square()
    return squared.min(2).values.mean(1) + squared.min(1).values.mean(1)


def gradients(distance: Callable[[Tensor, Tensor], Tensor], first: Tensor, second: Tensor) -> tuple[Tensor, ...]:
    first, second = first.clone().requires_grad_(), second.clone().requires_grad_()
    return torch.autograd.grad(distance(first, second).sum(), (first, second))


def compare(name: str, plain: Callable[[], object], ours: Callable[[], object], repeats: int, bar: float | None) -> Row:
    times: dict[str, list[float]] = {"plain": [], "ours": []}
    for _ in range(repeats):
        for key, function in (("plain", plain), ("ours", ours)):
            begin = time.perf_counter()
            function()
            times[key].append(1000 * (time.perf_counter() - begin))
    slow, fast = statistics.median(times["plain"]), statistics.median(times["ours"])
    row = Row(name, slow, fast, slow / fast, bar)
    print(row, flush=True)
    return row


def farthest_row(batch: int, n: int, count: int, repeats: int, bar: float | None) -> Row:
    points = torch.rand(batch, n, 3)
    different = (plain_farthest(points.double(), count) != farthest_points(points.double(), count)).sum()
    assert different == 0, "farthest points differ"
    name = f"farthest points, {batch} x {n} -> {count}"
    return compare(name, lambda: plain_farthest(points, count), lambda: farthest_points(points, count), repeats, bar)


def neighbours_row(n: int, k: int, repeats: int, bar: float | None) -> Row:
    points = torch.rand(n, 3)
    _, distances = plain_neighbours(points.double(), k)
    _, squared = nearest_neighbours(points.double().unsqueeze(0), k)
    torch.testing.assert_close(squared[0].sqrt(), distances, rtol=1e-6, atol=1e-6)
    name = f"{k} neighbours of {n} points (chunked cdist + topk)"
    return compare(
        name, lambda: plain_neighbours(points, k), lambda: nearest_neighbours(points.unsqueeze(0), k), repeats, bar
    )


def chamfer_row(batch: int, n: int, repeats: int, bar: float | None) -> Row:
    first, second = torch.rand(batch, n, 3), torch.rand(batch, n, 3)
    pairs = zip(gradients(plain_chamfer, first, second), gradients(chamfer_distance, first, second), strict=True)
    for plain, ours in pairs:
        torch.testing.assert_close(ours, plain, rtol=1e-4, atol=1e-8)
    name = f"Chamfer forward and backward, {batch} x {n} points"
    return compare(
        name,
        lambda: gradients(plain_chamfer, first, second),
        lambda: gradients(chamfer_distance, first, second),
        repeats,
        bar,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    repeats, often = arguments.repeats, 10 * arguments.repeats  # calls that take milliseconds need more turns
    print(
        f"torch {torch.__version__}, {arguments.threads} threads, medians of {repeats} or {often}: plain, ours, ratio"
    )
    rows = [
        farthest_row(64, 1024, 64, often, bar=6),
        farthest_row(8, 8192, 512, repeats, bar=None),
        neighbours_row(1024, 16, often, bar=None),
        neighbours_row(65_536, 16, repeats, bar=20),
        chamfer_row(64 * 44, 32, often, bar=None),
        chamfer_row(1, 16_384, repeats, bar=50),
    ]
    if arguments.json:
        machine = {"torch": torch.__version__, "machine": platform.machine(), "threads": arguments.threads}
        arguments.json.write_text(json.dumps({**machine, "rows": [asdict(row) for row in rows]}, indent=2) + "\n")


if __name__ == "__main__":
    main()
