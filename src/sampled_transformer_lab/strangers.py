"""What a classifier makes of shapes that belong to none of its classes, and of its own test shapes.

Strangers are made here, or are the test shapes of another data set. Per kind we count how many are called unfamiliar,
and how well the strangeness ranks them above the network's own test shapes (area under the ROC curve).
`python -m sampled_transformer_lab.strangers NAME [ROOT]` measures weights that come with the package. It writes
calibration, false alarms and strangers into results/weights/NAME.json, from which the page of the weights is made.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .reproduce import write_result

COUNT = 100  # sets of each kind
POINTS = 2048
# Strokes of letters: x and z of both ends.
LETTERS = {
    "A": [(0, 0, 0.6, 2), (1.2, 0, 0.6, 2), (0.3, 1, 0.9, 1)],
    "E": [(0, 0, 0, 2), (0, 0, 1, 0), (0, 1, 0.8, 1), (0, 2, 1, 2)],
    "H": [(0, 0, 0, 2), (1, 0, 1, 2), (0, 1, 1, 1)],
    "K": [(0, 0, 0, 2), (0, 0.9, 1, 2), (0, 0.9, 1, 0)],
    "N": [(0, 0, 0, 2), (0, 2, 1, 0), (1, 0, 1, 2)],
    "T": [(0, 2, 1.4, 2), (0.7, 0, 0.7, 2)],
    "X": [(0, 0, 1, 2), (0, 2, 1, 0)],
    "Z": [(0, 2, 1.2, 2), (1.2, 2, 0, 0), (0, 0, 1.2, 0)],
}
WITHOUT_NORMALS = "own test shapes as they are, without normals"


def strangers(own: list[np.ndarray], random: np.random.Generator, count: int = COUNT) -> Iterator[tuple[str, Any]]:
    """Kinds of strangers with their sets; `own` are shapes that the network knows, (n, 3) each, z up."""
    some = [own[number % len(own)] for number in range(count)]
    yield "Gaussian noise", [random.normal(size=(POINTS, 3)) for _ in some]
    yield "boxes filled with points", [random.uniform(-1, 1, (POINTS, 3)) * random.uniform(0.5, 1, 3) for _ in some]
    names = list(LETTERS)
    yield "letters", [letter(names[number % len(names)], random) for number in range(count)]
    yield "own test shapes, half of each", [half(shape, random) for shape in some]
    yield "own test shapes on a floor", [on_floor(shape, random) for shape in some]
    yield (
        "own test shapes, two side by side",
        [np.concatenate([shape, some[number - 1] + [1.5, 0, 0]]) for number, shape in enumerate(some)],
    )
    yield (
        "own test shapes, 30 % of the points replaced by noise",
        [
            np.concatenate([shape[: round(0.7 * len(shape))], random.uniform(-1, 1, (round(0.3 * len(shape)), 3))])
            for shape in some
        ],
    )
    yield "own test shapes, lying (y up)", [shape[:, [0, 2, 1]] * [1, -1, 1] for shape in some]


def letter(name: str, random: np.random.Generator) -> np.ndarray:
    """Points on the faces and sides of a solid letter that stands upright, (POINTS, 3)."""
    width, depth = random.uniform(0.08, 0.25), random.uniform(0.2, 0.8)
    strokes = np.array(LETTERS[name], float)
    begin, along = strokes[:, :2], strokes[:, 2:] - strokes[:, :2]
    length = np.linalg.norm(along, axis=1)
    chosen = random.choice(len(strokes), POINTS, p=length / length.sum())
    across = np.stack([-along[:, 1], along[:, 0]], 1) / length[:, None]
    on_face = random.random(POINTS) < 0.5
    side, anywhere = random.choice([-1.0, 1.0], POINTS), random.uniform(-1, 1, POINTS)
    flat = begin[chosen] + along[chosen] * random.random((POINTS, 1))
    flat += across[chosen] * (np.where(on_face, anywhere, side) * width)[:, None]
    return np.stack([flat[:, 0], np.where(on_face, side, anywhere) * depth / 2, flat[:, 1]], 1)


def half(shape: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """The half of the points that lies on one side of a random plane."""
    place = shape @ random.normal(size=3)
    return shape[place >= np.median(place)]


def on_floor(shape: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """The shape with a square piece of floor below it, two points of floor for three of the shape."""
    low, high = shape.min(0), shape.max(0)
    size = (high - low)[:2].max() * random.uniform(0.9, 1.6)
    floor = random.uniform(-0.5, 0.5, (2 * len(shape) // 3, 2)) * size + (low + high)[:2] / 2
    return np.concatenate([shape, np.column_stack([floor, np.full(len(floor), low[2])])])


def measure(weights: str, root: str | None = None, count: int = COUNT) -> dict[str, Any]:
    """Calibration and false alarms on the test split, and how many strangers of each kind are called unfamiliar."""
    import torch

    from sampled_transformer.data import load_data
    from sampled_transformer.inference.calibration import ranking
    from sampled_transformer.inference.evaluation import evaluate, load_with_test_split
    from sampled_transformer.inference.trained_network import load
    from sampled_transformer.weights import describe_model, find_weights

    path = find_weights(weights)
    own_data = describe_model(path).notes["data"]["source"]
    net = load(path, batch=16)
    if net.familiarity is None:
        raise ValueError(f"{weights}: expected weights that `calibrate` was run on, got others")
    result = evaluate(path, own_data, root, samples=8)
    calibrated = result["calibration"]
    before, after = calibrated.get("before", calibrated["ways"]), calibrated["ways"]
    pack = load_with_test_split(path, own_data, root, torch.device("cpu"))[2]
    random = np.random.default_rng(0)
    batch = pack.batch(np.sort(random.permutation(len(pack))[:count]))
    known = net.probabilities(batch.points, batch.normals, samples=1).strangeness
    rows = {}
    kinds = dict(strangers(list(batch.points.double().numpy()), random, count))
    if own_data != "bricks":
        bricks = load_data("bricks", "test")
        kinds["LDraw parts"] = list(bricks.batch(np.sort(random.permutation(len(bricks))[:count])).points.numpy())
    if net.view.normals:  # strangers have none, and estimated normals alone make a shape strange
        kinds[WITHOUT_NORMALS] = list(batch.points.double().numpy())
    for kind, sets in kinds.items():
        found = net.probabilities(sets, samples=1)
        both = torch.from_numpy(np.concatenate([found.strangeness, known]))
        area = ranking(both, torch.arange(len(both)) < len(sets))
        rows[kind] = {"unfamiliar": float(1 - found.familiar.mean()), "area": area, "sets": len(sets)}
    return {
        "calibration": {
            "temperature": calibrated["temperature"],
            "before": {way: row["error"] for way, row in before.items()},
            "after": {way: row["error"] for way, row in after.items()},
            "chance": {way: row["chance"] for way, row in after.items()},
        },
        "familiarity": result["familiarity"],
        "strangers": rows,
    }


def main(name: str, root: str | None = None, results: Path = Path("results/weights"), count: int = COUNT) -> None:
    path = results / f"{name}.json"
    entry = json.loads(path.read_text("utf-8"))
    command = f"python -m sampled_transformer_lab.strangers {name}{' ROOT' if root else ''}"
    commands = [line for line in entry["commands"] if "lab.strangers" not in line]
    write_result(path, {**entry, "commands": [*commands, command], **measure(name, root, count)}, None)
    print(f"{path}: written")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
