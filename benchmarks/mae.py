"""How much faster does pre-training get by embedding only the visible groups and by grouping whole batches?

    python benchmarks/mae.py [--threads 1] [--repeats 3] [--batch 64] [--attention sampled] [--small] [--json FILE]

Results that should agree are compared first. Then all versions take turns in one process; ratios compare medians.
"""

from attention import Bars, finish  # first, because it sets variables that torch reads when it loads

# isort: split
import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from sampled_transformer.geometry.gather import gather_rows
from sampled_transformer.models.mae import MaskedAutoencoder
from sampled_transformer.models.mae.mask import draw_mask
from sampled_transformer.models.tokens import group_points
from sampled_transformer.support.machine import machine
from sampled_transformer_lab.bench.measure import load

SMALL = {"dim": 192, "heads": 6, "hidden": 192, "depth": 6, "embedding": 32}  # the sizes of the recipes *-small
POINTS = 1024


def plain_groups(points: Tensor, groups: int, size: int) -> tuple[Tensor, Tensor]:
    """Farthest points with the loop that PointNet++ ports share, and neighbours with cdist and topk."""
    batch, n, _ = points.shape
    nearest, latest, rows = torch.full((batch, n), 1e10), torch.zeros(batch, dtype=torch.int64), torch.arange(batch)
    chosen = []
    for _ in range(groups):
        chosen.append(latest)
        squared = ((points - points[rows, latest].unsqueeze(1)) ** 2).sum(2)
        nearest = torch.where(squared < nearest, squared, nearest)
        latest = nearest.max(1).indices
    centres = points[rows.unsqueeze(1), torch.stack(chosen, 1)]
    members = torch.cdist(centres, points).topk(size, largest=False).indices
    return centres, points[rows.view(-1, 1, 1), members] - centres.unsqueeze(2)


def plain_groups_cloud_by_cloud(points: Tensor, groups: int, size: int) -> None:
    for cloud in points:
        plain_groups(cloud[None], groups, size)


def step(network: MaskedAutoencoder, points: Tensor) -> None:
    network.zero_grad()
    network(points).mean().backward()


def step_with_all_groups_embedded(network: MaskedAutoencoder, points: Tensor) -> None:
    """The same step as in Point-MAE: embed all groups, then throw the masked ones away."""
    network.zero_grad()
    groups = group_points(points, network.groups, network.group_size)
    visible, masked = draw_mask(len(points), network.groups, network.mask_ratio)
    encoder, seen = network.encoder, groups.take(visible)
    tokens = gather_rows(encoder.embedding(groups.points), visible)
    encoder_forward = encoder.forward
    encoder.forward = lambda some: encoder.stack(tokens, encoder.position(some.centres), some.centres)  # type: ignore
    try:
        network.rebuild(seen, groups.take(masked)).loss().mean().backward()
    finally:
        encoder.forward = encoder_forward  # type: ignore


def medians(repeats: int, *ways: Callable[[], object]) -> list[float]:
    """Median milliseconds of each version. They take turns, and the first round does not count."""
    times: list[list[float]] = [[] for _ in ways]
    for turn in range(repeats + 1):
        for way, spent in zip(ways, times, strict=True):
            begin = time.perf_counter()
            way()
            if turn:
                spent.append(1000 * (time.perf_counter() - begin))
    return [statistics.median(spent) for spent in times]


def check(points: Tensor, groups: int, size: int) -> None:
    own, (centres, members) = group_points(points, groups, size), plain_groups(points, groups, size)
    assert torch.equal(own.centres, centres)
    distances = [t.norm(dim=-1).sort(-1).values for t in (own.points, members)]
    torch.testing.assert_close(*distances, rtol=1e-4, atol=1e-5)


def measure(bars: Bars, batch: int, repeats: int, attention: str, small: bool) -> None:
    torch.manual_seed(0)
    # Points on surfaces, here ellipsoids, rounded to the 16 bits of a pack, which makes some distances equal.
    points = torch.nn.functional.normalize(torch.randn(batch, POINTS, 3), dim=2) * (0.2 + 0.8 * torch.rand(batch, 1, 3))
    points = (points * 32767).round() / 32767
    network = MaskedAutoencoder(attention=attention, **(SMALL if small else {}))
    groups, size = network.groups, network.group_size
    check(points[:4], groups, size)
    visible = group_points(points, groups, size).take(draw_mask(batch, groups, network.mask_ratio)[0]).points

    def embed() -> None:
        network.encoder.embedding(visible).sum().backward()

    whole, all_embedded, embedding, grouping, plain, looped = medians(
        repeats,
        lambda: step(network, points),
        lambda: step_with_all_groups_embedded(network, points),
        embed,
        lambda: group_points(points, groups, size),
        lambda: plain_groups(points, groups, size),
        lambda: plain_groups_cloud_by_cloud(points, groups, size),
    )
    bars.at_least("step: faster than with all groups embedded", all_embedded / whole, 2)
    bars.at_most("tokenisation (farthest points and neighbours): share of the step", 100 * grouping / whole, 20, "%")
    with_network = 100 * (grouping + embedding) / whole
    bars.at_most("tokenisation with the mini-PointNet, both ways: share of the step", with_network, 20, "%")
    bars.at_least("grouping: faster than naive FPS and cdist, cloud by cloud", looped / grouping, 5)
    bars.at_least("grouping: faster than naive FPS and cdist on the whole batch", plain / grouping, 5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--attention", default="sampled")
    parser.add_argument("--small", action="store_true", help="the network of the recipes *-small")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    here, bars = {**machine(), "load": load()}, Bars()
    measure(bars, arguments.batch, arguments.repeats, arguments.attention, arguments.small)
    given = [f"--{name} {getattr(arguments, name)}" for name in ("threads", "repeats", "batch", "attention")]
    command = " ".join(["python benchmarks/mae.py", *given, *(["--small"] if arguments.small else [])])
    finish(arguments, bars, here, command)


if __name__ == "__main__":
    main()
