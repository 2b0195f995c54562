"""The command `segment evaluate`."""

from __future__ import annotations

from typing import Literal


def segment_evaluate(
    weights: str,
    data: str | None = None,
    root: str | None = None,
    split: Literal["test", "train"] = "test",
    samples: int = 1,
    without: str | None = None,
    batch: int = 16,
    device: str | None = None,
    json: bool = False,
) -> None:
    """Measure how well a network labels points: mean IoU, and IoU per class.

    Args:
        weights: The folder of a run, a weights file, or the name of shipped weights.
        data: The name of a data set, a pack, or a folder of labelled scans (default: as in training).
        root: Folder that holds a data set given by name.
        split: Part of the data set.
        samples: Cycles to average over, if the network is random.
        without: Features to leave out, separated by commas, such as normals; the network must be able to do without.
        batch: Sets per batch.
        device: Device (default: GPU if available).
        json: Print everything as JSON.
    """
    from json import dumps

    from ..inference.segment_evaluation import evaluate_points, table
    from ..weights import find_weights

    names = tuple(name.strip() for name in without.split(",")) if without else ()
    result = evaluate_points(
        find_weights(weights), data, root, split=split, samples=samples, without=names, batch=batch, device=device
    )
    result["weights"] = weights
    print(dumps(result, indent=2) if json else table(result))


segment_evaluate.reads_files = True  # type: ignore[attr-defined]
