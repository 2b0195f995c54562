"""The command `evaluate`."""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import Any

from ..training.settings import Up
from .pages import Target, command_line, target
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
    out: str | None = None,
    report: bool = True,
    json: bool = False,
    robustness: bool = False,
    corruptions: str | None = None,
    limit: int | None = None,
    seed: int | None = None,
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
        page: HTML file for the report alone, in place of a folder.
        out: Folder for report.html and result.json: for classes confusions, mistakes, and whether the network is right
            as often as it says (default: the folder `evaluate` of a run, else runs/evaluate-NAME).
        report: Write them (report.html needs plotly).
        json: Print everything as JSON, with the whole confusion matrix, or every predicted number.
        robustness: Measure a classifier on corrupted shapes instead: fewer points, noise, outliers, missing parts,
            rotations, other scales, no normals. The options below belong to this one; its folder is called
            `robustness`, with a curve per corruption in report.html, and its figures are in robustness.json.
        corruptions: Corruptions to measure, such as noise,outliers (default: all).
        limit: Measure on this many random test shapes (default: all).
        seed: Seed of corruptions and chosen shapes (default: 0).
        save_card: Write the figures into the weights file, for `weights` and model cards to show.
    """
    from json import dumps

    from ..data.repack import shapes_below
    from ..inference import evaluation, regression
    from ..inference.target import target_of
    from ..weights import describe_model, find_weights

    path = find_weights(weights)
    own = {"corruptions": corruptions, "limit": limit, "seed": seed}
    axis = settled_up(up, None if data is None else shapes_below(data, root))
    if robustness:
        if votes:
            raise ValueError(f"votes: expected none with --robustness, got {votes}")
        to_write = target("robustness", weights, page, out, report, "robustness.json")
        result = _robustness(path, weights, data, root, samples, batch, device, save_card, to_write, up=axis, **own)
        print(dumps(result, indent=2) if json else _table(result))
        return
    for name, given in {**own, "save_card": save_card or None}.items():
        if given is not None:
            raise ValueError(f"{name}: expected --robustness with it, got {given} without")
    to_write, begin = target("evaluate", weights, page, out, report), perf_counter()
    asked: Any = {"samples": samples, "votes": votes, "batch": batch, "device": device, "up": axis}
    kept: list[Any] = []  # what was asked, and the answers
    number = target_of(describe_model(path), path) is not None
    task = regression if number else evaluation
    result = task.evaluate(path, data, root, **asked, keep=kept)
    result["weights"] = weights
    print(dumps(result, indent=2) if json else task.table(result))
    if to_write:
        from ..report import evaluation_page, regression_page
        from ..report.facts import made_now

        command = command_line("evaluate", weights, data=result["data"], samples=samples, votes=votes or None)
        whole = {**result, **made_now(command, perf_counter() - begin, path)}
        pages = regression_page if number else evaluation_page
        to_write.write(whole, lambda file: pages.write_page(file, whole, kept[0]))


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
    to_write: Target,
    **own: Any,
) -> dict[str, Any]:
    """Measure, and write the files that were asked for."""
    from ..inference.robustness import card, evaluate_robustness
    from ..report.facts import made_now
    from ..report.robustness import write_page
    from ..weights import add_notes

    begin = perf_counter()
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
    made = made_now(result["command"], perf_counter() - begin, path)
    to_write.write(result, lambda file: write_page(file, {**result, **made}))
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
