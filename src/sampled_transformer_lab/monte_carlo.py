"""How sampled attention approaches dense attention as each point reads more others: a measurement, not a proof.

Each estimate is the output of a whole attention layer, projections included. The layer is in evaluation mode, where a
seed fixes the cycles, so every process finds the same figures. Errors are relative over all points and features:
|estimate - dense| / |dense|.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sampled_transformer.attention import Attention, SampledAttention, create_attention
from sampled_transformer.attention.dense import read_all
from sampled_transformer.support.machine import machine
from sampled_transformer.theory.tables import markdown

from .bench.study import slope as line_slope

# The options of a layer in which every point reads R others. "average" is the paper's: the mean of R layers' outputs.
ESTIMATES: dict[str, dict[str, Any]] = {
    "average": {},
    "one softmax": {},
    "consistent": {"estimator": "consistent"},
    "linear rest": {"rest": "linear"},
}
LIMIT = "average, to its limit"
SEEDS = 2


def with_options(layer: SampledAttention, **options: Any) -> Attention:
    """The same weights in a sampled layer or an estimator with these options."""
    other = create_attention("sampled", layer.dim, layer.heads, head_dim=layer.head_dim, layer=layer.layer, **options)
    other.load_state_dict(layer.state_dict())
    return other.eval()


def dense_output(layer: SampledAttention, x: Tensor) -> Tensor:
    """Eq. 1 with the weights of the layer: every point reads all points."""
    query, key, value = (layer.split(project(x)) for project in (layer.query, layer.key, layer.value))
    out: Tensor = layer.output(read_all(query, key, value, None, layer.scale).flatten(2))
    return out


def average_limit(layer: SampledAttention, x: Tensor) -> Tensor:
    """The limit of the mean over more and more cycles.

    A random cycle makes every other point j the successor of i equally often, so the mean tends to

        out_i = 1 / (n - 1) * sum over j != i of softmax over {i, j} alone.
    """
    query, key, value = (layer.split(project(x)).transpose(1, 2) for project in (layer.query, layer.key, layer.value))
    scores = layer.scale * query @ key.transpose(2, 3)  # (sets, heads, n, n)
    share = torch.sigmoid(scores - scores.diagonal(dim1=2, dim2=3)[..., None])  # of j in the pair i, j
    n = x.shape[1]
    share = share.masked_fill(torch.eye(n, dtype=torch.bool), 0) / max(n - 1, 1)
    mixed = share @ value + (1 - share.sum(-1, keepdim=True)) * value
    out: Tensor = layer.output(mixed.transpose(1, 2).flatten(2))
    return out


def estimate(layer: SampledAttention, x: Tensor, name: str, rounds: int, seed: int) -> Tensor:
    """The output of the layer when every point reads `rounds` others by the estimate of this name."""
    reading = {"samples": rounds} if name == "average" else {"rounds": rounds, **ESTIMATES[name]}
    out: Tensor = with_options(layer, seed=seed, **reading)(x)
    return out


def relative_error(estimated: Tensor, exact: Tensor) -> float:
    return float((estimated - exact).norm() / exact.norm())


@torch.inference_mode()
def errors(layer: SampledAttention, x: Tensor, rounds: Sequence[int], seeds: int = SEEDS) -> dict[str, Any]:
    """Relative errors against dense attention by estimate and rounds (means over seeds), the limit included."""
    dense, limit = dense_output(layer, x), average_limit(layer, x)
    found: dict[str, list[float]] = {name: [] for name in (*ESTIMATES, LIMIT)}
    for count in rounds:
        for name in ESTIMATES:
            outputs = [estimate(layer, x, name, count, seed) for seed in range(seeds)]
            found[name].append(sum(relative_error(one, dense) for one in outputs) / seeds)
            if name == "average":
                found[LIMIT].append(sum(relative_error(one, limit) for one in outputs) / seeds)
    return {"rounds": list(rounds), "errors": found, "limit": relative_error(limit, dense)}


def powers(n: int) -> list[int]:
    """The powers of two below n - 1, and n - 1 itself, which means all other points."""
    return [*(2**power for power in range(20) if 2**power < n - 1), n - 1]


def slope(rounds: Sequence[int], values: Sequence[float], most: int) -> float:
    """The exponent p of an error that falls as R^p, fitted by least squares for R up to `most`."""
    return line_slope([(math.log(r), math.log(v)) for r, v in zip(rounds, values, strict=True) if r <= most])


def layer_and_input(weights: str, shapes: int = 4, points: int = 256, *, fresh: bool = False) -> tuple[Any, Tensor]:
    """The first attention layer of a network that comes with the package, and the layer's input for some bricks.

    With `fresh`, the network has new random weights instead of the trained ones.
    """
    from sampled_transformer.inference.trained import view_of
    from sampled_transformer.models import create_model
    from sampled_transformer.training.loading import Batches, load_split
    from sampled_transformer.weights import find_weights, load_model

    path = find_weights(weights)
    network, description = load_model(path)
    if fresh:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            network = create_model(description.model, **description.options)
    view = replace(view_of(description, path), points=points)
    pack = load_split("bricks", None, "test", points)
    pack = pack.select(np.arange(shapes) * (len(pack) // shapes))  # spread over the classes
    batch = next(iter(Batches(pack, view.transforms()[1], view.normals, shapes)))
    layer = next(module for module in network.modules() if isinstance(module, SampledAttention))
    seen: list[Tensor] = []
    hook = layer.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    with torch.inference_mode():
        network.eval()(batch.points, batch.normals)
    hook.remove()
    return layer, seen[0]


def study(weights: str = "bricks") -> dict[str, Any]:
    """Measure random and trained weights; the results page reads what this returns."""
    begin = time.perf_counter()
    cases = {}
    for case, fresh in (("random", True), ("trained", False)):
        layer, x = layer_and_input(weights, fresh=fresh)
        cases[case] = errors(layer, x, powers(x.shape[1]))
    return {
        "command": "sampled-transformer theory --monte_carlo",
        "weights": weights,
        "points": x.shape[1],
        "shapes": x.shape[0],
        "seeds": SEEDS,
        "cases": cases,
        "seconds": round(time.perf_counter() - begin, 3),
        "machine": machine(),
        "versions": {"torch": torch.__version__},
    }


def tables(result: dict[str, Any]) -> Iterator[str]:
    """The errors as Markdown tables, with their exponents and the distance of the average's limit."""
    n = result["points"]
    for case, found in result["cases"].items():
        yield f"### {case.capitalize()} weights\n"
        columns = found["errors"]
        rows = [
            [str(count), *(f"{columns[name][place]:.4f}" for name in columns)]
            for place, count in enumerate(found["rounds"])
        ]
        yield markdown(["R", *columns], rows)
        falls = {name: slope(found["rounds"], columns[name], n // 8) for name in (LIMIT, "consistent")}
        yield (
            f"\nThe limit of the average is {found['limit']:.4f} away from dense attention. Exponents of R up to "
            f"{n // 8}: {falls[LIMIT]:.2f} for the average towards its limit, {falls['consistent']:.2f} for the "
            "consistent estimate towards dense attention.\n"
        )
