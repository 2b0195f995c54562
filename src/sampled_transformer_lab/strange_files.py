"""What `predict` answers about files that are sparse, noisy, littered or incomplete: with one network, and by default.

By default it asks two networks, see `inference.predictor`. Test shapes of ModelNet40 are corrupted, written to files of
points and read by `predict` itself. `python -m sampled_transformer_lab.strange_files ROOT` writes
results/predict/files.json.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from sampled_transformer.support.atomic import atomic_write
from sampled_transformer.support.machine import machine

from .strangers import strangers

SHAPES = 300
STRANGERS = 60  # files of each kind
SEED = 0
LEVELS: dict[str, tuple[float, ...]] = {
    "clean": (0,),
    "points": (64, 128, 256, 512, 768, 1024),
    "noise": (0.01, 0.02, 0.05),
    "outliers": (0.02, 0.05, 0.1, 0.2),
    "half_space": (0.1, 0.3, 0.5),
    "crop": (0.1, 0.3, 0.5),
}


def measure(
    root: str | None,
    shapes: int = SHAPES,
    levels: dict[str, tuple[float, ...]] = LEVELS,
    strangers_of_each: int = STRANGERS,
) -> dict[str, Any]:
    """Accuracy by way to ask, corruption and severity, on the same random test shapes of ModelNet40; and strangers."""
    import torch

    from sampled_transformer.data import load_data
    from sampled_transformer.inference.answering import Question
    from sampled_transformer.inference.defaults import DEFAULT_TWIN, DEFAULT_WEIGHTS

    pack = load_data("modelnet40", "test", root)
    chosen = np.sort(np.random.default_rng(SEED).permutation(len(pack))[:shapes])
    raw = pack.batch(chosen)
    assert raw.labels is not None
    truth = [pack.classes[int(label)] for label in raw.labels]
    ways = {
        DEFAULT_WEIGHTS: Question(DEFAULT_WEIGHTS),
        DEFAULT_TWIN: Question(DEFAULT_TWIN),
        "both": Question(DEFAULT_WEIGHTS, twin=DEFAULT_TWIN),
    }
    rows = []
    for name, severities in levels.items():
        for severity in severities:
            clouds = corrupted(raw.points, name, severity, torch.Generator().manual_seed(SEED))
            with tempfile.TemporaryDirectory() as folder:
                save(clouds, folder)
                found = {way: right(question, folder, truth) for way, question in ways.items()}
            rows.append({"corruption": name, "severity": severity, **found})
    return {
        "command": "python -m sampled_transformer_lab.strange_files ROOT",
        "shapes": len(truth),
        "unfamiliar_to": "any",  # of the networks that were asked; older files have what one of them says
        "rows": rows,
        "strangers": unfamiliar_strangers(raw.points.double().numpy(), ways, strangers_of_each),
        "machine": machine(),
    }


def unfamiliar_strangers(own: np.ndarray, ways: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """The share of files of each kind of stranger that is called unfamiliar, by way to ask; `own` are known shapes."""
    rows = []
    for kind, clouds in strangers(list(own), np.random.default_rng(SEED), count):
        with tempfile.TemporaryDirectory() as folder:
            save(clouds, folder)
            found = {way: right(question, folder, [""] * len(clouds))["unfamiliar"] for way, question in ways.items()}
        rows.append({"kind": kind, **found})
    return rows


def save(clouds: list[np.ndarray], folder: str) -> None:
    """Write a file for each cloud."""
    for number, cloud in enumerate(clouds):
        np.save(Path(folder, f"{number:05d}.npy"), cloud)


def corrupted(points: Any, name: str, severity: float, generator: Any) -> list[np.ndarray]:
    """The points of each file, (n, 3); `points` are those of the shapes, (shapes, n, 3)."""
    import torch

    from sampled_transformer.data.corruptions import CORRUPTIONS
    from sampled_transformer.data.transforms import UnitSphere

    points = UnitSphere()(points, None)[0]
    if name == "points":
        order = torch.randperm(points.shape[1], generator=generator)[: int(severity)]
        points = points[:, order]
    elif name != "clean":
        points = CORRUPTIONS[name].function(points, None, severity, generator)[0]
    return list(points.numpy())


def right(question: Any, folder: str, truth: list[str]) -> dict[str, float]:
    """The share of files whose likeliest class is the true one, and of those that are called unfamiliar."""
    from sampled_transformer.inference.answering import answer_files

    answers = list(answer_files(question, [folder], workers=0))
    correct = [answer.classes[0]["class"] == true for answer, true in zip(answers, truth, strict=True)]  # type: ignore[union-attr]
    strange = [answer.familiar is False for answer in answers]  # type: ignore[union-attr]
    return {"accuracy": float(np.mean(correct)), "unfamiliar": float(np.mean(strange))}


def main(root: str | None = None, out: Path = Path("results/predict/files.json")) -> None:
    found = measure(root)
    out.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(out) as file:
        file.write(f"{json.dumps(found, indent=1)}\n".encode())
    print(f"{out}: written")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
