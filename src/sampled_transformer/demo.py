"""What the layer does, shown on a set small enough to print and on one of the shapes that come with the package."""

from __future__ import annotations

import time

import torch

from .attention import create_attention
from .cycles import Cycle
from .data import load_data

SIZES = (512, 2048, 4096)


def main() -> None:
    torch.manual_seed(0)
    show_cycle()
    show_layer()
    show_cost()


def show_cycle() -> None:
    cycle = Cycle.sample(8)
    print("A random cycle through 8 points:")
    print("  " + " -> ".join(map(str, [*cycle.order[0].tolist(), int(cycle.order[0, 0])])))
    print("\nWho attends to whom (o itself, # its successor): two keys in every row instead of eight.")
    for row, successor in enumerate(cycle.successor[0].tolist()):
        print("  " + " ".join("o" if column == row else "#" if column == successor else "." for column in range(8)))
    print("\nThe subsets of Eq. 3 with n_s = 4, each sharing one point with the next:")
    print("  " + "  ".join(str([k for k in window if k >= 0]) for window in cycle.subsets(4)[0].tolist()))


@torch.no_grad()
def show_layer() -> None:
    pack = load_data("bricks", "test")
    shape = pack.batch(torch.tensor([0]))
    features = torch.randn(3, 64)
    x = shape.points @ features
    layer = create_attention("sampled", dim=64, heads=8)
    assert pack.names is not None
    assert shape.labels is not None
    part = f"{pack.names[0]} ({pack.classes[int(shape.labels[0])]}, {x.shape[1]} points)"
    print(f"\nOne layer of 8 heads on part {part}:")
    layer.train()
    print(f"  training, two calls:    differ by {spread(layer(x), layer(x)):.3f}: a fresh cycle each time")
    layer.eval()
    print(f"  evaluation, two calls:  differ by {spread(layer(x), layer(x)):.3f}: the cycle follows from size and seed")
    turned = torch.randperm(x.shape[1])
    cycle = Cycle.sample(x.shape[1])
    moved = spread(layer(x[:, turned], cycle=cycle.permute(turned)), layer(x, cycle=cycle)[:, turned])
    print(f"  points and cycle permuted together: differ by {moved:.3f}: only the choice of the cycle is random")


def show_cost() -> None:
    print("\nForward and backward of the layer alone, milliseconds on this machine:")
    print(f"  {'points':>8} {'dense':>9} {'sampled':>9}")
    for n in SIZES:
        x = torch.randn(1, n, 64, requires_grad=True)
        dense, sampled = (measure(create_attention(name, dim=64, heads=8), x) for name in ("dense", "sampled"))
        print(f"  {n:>8} {1e3 * dense:>9.1f} {1e3 * sampled:>9.1f}   {dense / sampled:.0f}x")


def spread(one: torch.Tensor, two: torch.Tensor) -> float:
    """The distance of two outputs, relative to their size."""
    return float((one - two).norm() / one.norm())


def measure(layer: torch.nn.Module, x: torch.Tensor) -> float:
    """Seconds for one forward and backward pass, the best of three."""
    best = float("inf")
    for _ in range(3):
        begin = time.perf_counter()
        layer(x).sum().backward()
        best = min(best, time.perf_counter() - begin)
    return best
