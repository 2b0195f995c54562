"""How many answers change when the points of a shape are shuffled: none, unless cycles are keyed by places.

In evaluation a cycle is a function of the points, the seed and the layer: the same points in another order walk the
same cycle. Keyed by "places" in the list of points, as once all cycles were, another order is another cycle through the
shape, and may give another answer. Averaging over cycles makes such changes rarer. `python -m
sampled_transformer_lab.point_order` measures both, and writes results/order/bricks.json.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

SAMPLES, SHUFFLES = 8, 4
LAYERS, ANSWERS = f"the layer averages {SAMPLES} cycles", f"the answer averages {SAMPLES} passes"


def changed_answers(weights: str = "bricks", shapes: int | None = None, shuffles: int = SHUFFLES) -> dict[str, Any]:
    """Share of test shapes whose answer differs between the stored order and a shuffled one, per way to ask.

    "changed" and "accuracy" are those of cycles keyed by places; "by_points" has both, keyed by points.
    """
    from sampled_transformer import key_by
    from sampled_transformer.attention.sampled import SampledAttention
    from sampled_transformer.inference.evaluation import load_with_test_split
    from sampled_transformer.training.loading import Batches
    from sampled_transformer.weights import find_weights

    network, view, pack, source = load_with_test_split(find_weights(weights), None, None, torch.device("cpu"))
    if shapes is not None:
        pack = pack.select(range(shapes))
    batches = list(Batches(pack, view.transforms()[1], view.normals, 64, 0))
    generator = torch.Generator().manual_seed(0)
    orders = [torch.arange(view.points)]
    orders += [torch.randperm(view.points, generator=generator) for _ in range(shuffles)]
    layers = [module for module in network.modules() if isinstance(module, SampledAttention)]
    ways = {"one pass": (1, 1), LAYERS: (SAMPLES, 1), ANSWERS: (1, SAMPLES)}
    labels = torch.from_numpy(pack.labels)
    measured: dict[str, dict[str, dict[str, float]]] = {}
    for keyed_by in ("places", "points"):
        key_by(network, keyed_by)
        changed, accuracy = {}, {}
        for way, (cycles, passes) in ways.items():
            for layer in layers:
                layer.samples = cycles
            found = [torch.cat([answers(network, batch, order, passes) for batch in batches]) for order in orders]
            changed[way] = sum(float((one != found[0]).double().mean()) for one in found[1:]) / shuffles
            accuracy[way] = float((found[0] == labels).double().mean())
        measured[keyed_by] = {"changed": changed, "accuracy": accuracy}
    return {
        "command": "python -m sampled_transformer_lab.point_order",
        "weights": weights,
        "data": source,
        "shapes": len(pack),
        "points": view.points,
        "shuffles": shuffles,
        **measured["places"],
        "by_points": measured["points"],
    }


def answers(network: torch.nn.Module, batch: Any, order: Tensor, passes: int) -> Tensor:
    """The likeliest class of each shape, by the mean of the probabilities over passes with cycles of their own."""
    from sampled_transformer.inference.trained import cycle_probabilities

    normals = None if batch.normals is None else batch.normals[:, order]
    return cycle_probabilities(network, batch.points[:, order], normals, passes).mean(0).argmax(1)


def main(path: Path = Path("results/order/bricks.json")) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(changed_answers(), indent=1) + "\n", "utf-8")
    print(f"{path}: written")


if __name__ == "__main__":
    main()
