"""The command `evaluate`."""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import Any

from ..training.settings import Up
from .pages import command_line, page_file
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
    robustness: bool = False,
    corruptions: str | None = None,
    limit: int | None = None,
    seed: int | None = None,
    out: str | None = None,
    save_card: bool = False,
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
        page: HTML file about a classifier's answers: classes, confusions, mistakes, and whether it is right as often
            as it says (default: evaluation.html in the folder of a run, if plotly is installed).
        json: Print everything as JSON, with the whole confusion matrix, or every predicted number.
        robustness: Measure a classifier on corrupted shapes instead: fewer points, noise, outliers, missing parts,
            rotations, other scales, no normals. The options below belong to this one.
        corruptions: Corruptions to measure, such as noise,outliers (default: all).
        limit: Measure on this many random test shapes (default: all).
        seed: Seed of corruptions and chosen shapes (default: 0).
        out: Folder for robustness.json and robustness.html, a page with a curve per corruption.
        save_card: Write the figures into the weights file, for `weights` and model cards to show.
    """
    from json import dumps

    from ..data.repack import shapes_below
    from ..inference import evaluation, regression
    from ..inference.target import target_of
    from ..weights import describe_model, find_weights

    path = find_weights(weights)
    own = {"corruptions": corruptions, "limit": limit, "seed": seed, "out": out}
    axis = settled_up(up, None if data is None else shapes_below(data, root))
    if robustness:
        for name, given in (("page", page), ("votes", votes)):
            if given:
                raise ValueError(f"{name}: expected none with --robustness, got {given}")
        result = _robustness(path, weights, data, root, samples, batch, device, save_card, up=axis, **own)
        print(dumps(result, indent=2) if json else _table(result))
        return
    for name, given in {**own, "save_card": save_card or None}.items():
        if given is not None:
            raise ValueError(f"{name}: expected --robustness with it, got {given} without")
    target = target_of(describe_model(path), path)
    if page is not None and target is not None:
        raise ValueError(f"page: expected none, because a predicted number has no classes, got {page}")
    to_write = None if target is not None else page_file(page, weights)
    task = evaluation if target is None else regression
    begin = perf_counter()
    result = task.evaluate(path, data, root, samples=samples, votes=votes, batch=batch, device=device, up=axis)
    result["weights"] = weights
    print(dumps(result, indent=2) if json else task.table(result))
    if to_write is not None:
        from ..inference.review import Review
        from ..report.evaluation_page import write_page
        from ..report.facts import made_now

        command = command_line("evaluate", weights, data=result["data"], samples=samples, votes=votes or None)
        made = made_now(command, perf_counter() - begin)
        write_page(to_write, {**result, **made}, Review.of(path, data, root, device, axis))
        print(f"{to_write}: written", file=sys.stderr)


evaluate.reads_files = True  # type: ignore[attr-defined]


def _robustness(
    path: Path,
    weights: str,
    data: str | None,
    root: str | None,
    samples: int,
    batch: int,
    device: str | None,
    save_card: bool,
    **own: Any,
) -> dict[str, Any]:
    """Measure, and write the files that were asked for."""
    from json import dumps

    from ..inference.robustness import card, evaluate_robustness
    from ..report.page import graph_objects
    from ..report.robustness import write_page
    from ..support.atomic import atomic_write
    from ..weights import add_notes

    folder = None if own["out"] is None else Path(own["out"])
    if folder is not None:
        graph_objects()  # report a missing extra before the evaluation
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"out: expected a folder, got the file {folder}")
        folder.mkdir(parents=True, exist_ok=True)
    names = [] if own["corruptions"] is None else [name.strip() for name in own["corruptions"].split(",")]
    result = evaluate_robustness(
        path,
        data,
        root,
        corruptions=names,
        limit=own["limit"],
        up=own["up"],
        seed=own["seed"] or 0,
        samples=samples,
        batch=batch,
        device=device,
        report=lambda line: print(line, file=sys.stderr, flush=True),
    )
    result["weights"] = weights
    result["command"] = _command(result, {**own, "samples": samples})
    if folder is not None:
        with atomic_write(folder / "robustness.json") as file:
            file.write(f"{dumps(result, indent=2)}\n".encode())
        write_page(folder / "robustness.html", result)
        print(f"{folder}: robustness.json and robustness.html written", file=sys.stderr)
    if save_card:
        add_notes(path, card(result))
        print(f"{path}: the figures are in its notes", file=sys.stderr)
    return result


def _command(result: dict[str, Any], given: dict[str, Any]) -> str:
    """The command that measures the same. The folders of a computer are nobody's business: of a path the last part."""
    from shlex import quote

    from ..data import SOURCES

    named = SOURCES.get(result["data"])
    words = ["sampled-transformer evaluate", quote(Path(result["weights"]).name), "--robustness", "--data"]
    words += [quote(Path(result["data"]).name), *(["--root ROOT"] if named is not None and named.needs_root else [])]
    for name, usual in (("corruptions", None), ("limit", None), ("up", None), ("seed", None), ("samples", 1)):
        words += [] if given[name] == usual else [f"--{name} {quote(str(given[name]))}"]
    return " ".join(words)


def _table(result: dict[str, Any]) -> str:
    from ..inference.robustness import table

    return table(result)
