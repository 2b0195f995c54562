"""The command `segment evaluate`."""

from __future__ import annotations

from time import perf_counter
from typing import Literal

from .pages import command_line, target


def segment_evaluate(
    weights: str,
    data: str | None = None,
    root: str | None = None,
    split: Literal["test", "train"] = "test",
    samples: int = 1,
    without: str | None = None,
    batch: int = 16,
    memory: float = 4.0,
    device: str | None = None,
    page: str | None = None,
    out: str | None = None,
    report: bool = True,
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
        memory: Gigabytes that one pass may need; larger scenes are labelled in tiles.
        device: Device (default: GPU if available).
        page: HTML file for the report alone, in place of a folder.
        out: Folder for report.html and result.json: classes, confusions, the worst sets, and whether the network is
            right as often as it says (default: the folder `evaluate` of a run, else runs/evaluate-NAME).
        report: Write them (report.html needs plotly).
        json: Print everything as JSON.
    """
    from json import dumps

    from ..inference.segment_evaluation import evaluate_points, table
    from ..inference.worst_sets import WorstSets
    from ..weights import find_weights

    path = find_weights(weights)
    to_write, worst, begin = target("evaluate", weights, page, out, report), WorstSets(), perf_counter()
    names = tuple(name.strip() for name in without.split(",")) if without else ()
    result = evaluate_points(
        path,
        data,
        root,
        split=split,
        samples=samples,
        without=names,
        batch=batch,
        memory=memory,
        device=device,
        worst=worst,
    )
    result["weights"] = weights
    print(dumps(result, indent=2) if json else table(result))
    if to_write:
        from ..report.facts import made_now
        from ..report.segment_evaluation_page import write_page

        asked = {"data": result["data"], "split": split, "samples": samples, "without": without}
        command = command_line("segment evaluate", weights, **asked)
        whole = {**result, **made_now(command, perf_counter() - begin, path)}
        to_write.write(whole, lambda file: write_page(file, whole, worst.sets))


segment_evaluate.reads_files = True  # type: ignore[attr-defined]
