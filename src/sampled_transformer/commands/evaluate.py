"""The command `evaluate`."""

from __future__ import annotations

import sys
from pathlib import Path

from ..training.settings import Up
from .upright import settled_up


def evaluate(
    weights: str,
    data: str | None = None,
    root: str | None = None,
    samples: int = 1,
    votes: int = 0,
    batch: int = 64,
    up: Up | None = None,
    device: str | None = None,
    page: str | None = None,
    json: bool = False,
) -> None:
    """Measure a trained network on a test split.

    Args:
        weights: The folder of a run, a weights file, or the name of shipped weights.
        data: The name of a data set, a pack, or a folder of shapes (default: the training data of the network).
        root: Folder that holds a data set given by name.
        samples: Also average the answers over this many cycles.
        votes: Also average the answers over this many random augmentations.
        batch: Shapes per forward pass.
        up: Axis that is up in a folder of shapes or in a pack; "auto" as in `data pack` (default: as in training).
        device: Device (default: GPU if available).
        page: HTML file for a calibration plot of a classifier: is the network right as often as it says?
        json: Print everything as JSON, with the whole confusion matrix, or every predicted number.
    """
    from json import dumps

    from ..data.repack import shapes_below
    from ..inference import evaluation, regression
    from ..inference.target import target_of
    from ..report.calibration import write_page
    from ..report.page import graph_objects
    from ..weights import describe_model, find_weights

    path = find_weights(weights)
    target = target_of(describe_model(path), path)
    if page is not None:
        if target is not None:
            raise ValueError(f"page: expected none, because a predicted number has no calibration plot, got {page}")
        graph_objects()  # report a missing extra before the evaluation
        if Path(page).is_dir() or not Path(page).absolute().parent.is_dir():
            raise ValueError(f"page: expected a file in a folder that exists, got {page}")
    task = evaluation if target is None else regression
    axis = settled_up(up, None if data is None else shapes_below(data, root))
    result = task.evaluate(path, data, root, samples=samples, votes=votes, batch=batch, device=device, up=axis)
    result["weights"] = weights
    print(dumps(result, indent=2) if json else task.table(result))
    if page is not None:
        write_page(Path(page), result)
        print(f"{page}: written", file=sys.stderr)
