"""The command `segment predict`."""

from __future__ import annotations

from ..inference.defaults import DEFAULT_SEGMENTER
from ..training.settings import Up
from .messages import remark


def segment_predict(
    files: list[str],
    weights: str = DEFAULT_SEGMENTER,
    out: str = "labelled",
    features: str | None = None,
    columns: str | None = None,
    up: Up | None = None,
    samples: int = 1,
    memory: float = 4.0,
    coloured: bool = False,
    force: bool = False,
    device: str | None = None,
    json: bool = False,
) -> int:
    """Label every point of scans, and write the same scans with a class and a confidence per point.

    Args:
        files: Files, or folders to search for scans. They need no labels.
        weights: The folder of a run, a weights file, or the name of shipped weights.
        out: Folder for the labelled scans, which keep their names, formats, points and order.
        features: Where the network's features come from, separated by commas: intensity=scalar_Intensity reads the
            feature "intensity" from that field, and normals= leaves the normals out (default: fields of the same name).
        columns: Names of the columns of text files without a header, such as x,y,z,intensity; "_" skips one.
        up: Axis that is up in the files (default: they have z up).
        samples: Cycles to average over, if the network is random.
        memory: Gigabytes that one pass may need; larger scenes are labelled in tiles.
        coloured: Colour the points by class, where the format has room for colours.
        force: Replace files in --out (default: those that are there already are left alone).
        device: Device (default: GPU if available).
        json: Print everything as JSON.
    """
    from dataclasses import asdict
    from json import dumps
    from pathlib import Path
    from time import perf_counter

    from tqdm import tqdm

    from ..inference.segment_files import SegmentQuestion, label_file
    from ..inference.segment_targets import plan_outputs
    from ..inference.segmentation import most_points, point_view_of
    from ..inference.trained import pick_device
    from ..support.printable import printable
    from ..weights import find_weights, load_model

    if up == "auto":
        raise ValueError("up: expected an axis, because only classifiers can be asked, got auto")
    if samples < 1:
        raise ValueError(f"samples: expected at least 1, got {samples}")
    most_points(memory)  # which refuses too little, before anything is written
    names = None if columns is None else [name.strip() for name in columns.split(",")]
    question = SegmentQuestion(weights, names, _pairs(features), up, samples, memory, coloured, device)
    path = find_weights(weights)
    network, description = load_model(path, pick_device(device))
    view = point_view_of(description, weights)
    for name in question.features:
        if name not in view.features:
            known = ", ".join(view.features) or "none"
            raise ValueError(f"features: expected those of the network ({known}), got {name!r}")
    plan = plan_outputs(files, Path(out), force)
    Path(out).mkdir(parents=True, exist_ok=True)
    remark(
        "left alone", [f"{printable(one)}: is in {printable(out)} already; --force replaces it" for one in plan.there]
    )
    remark("could not be read", plan.problems)
    failed, answers = len(plan.problems), []
    for source, target in plan.todo:
        target.parent.mkdir(parents=True, exist_ok=True)
        begin = perf_counter()
        with tqdm(unit="points", unit_scale=True, desc=source.name, disable=None, leave=False) as bar:
            bar.total = _count(source)
            try:
                answer = label_file(network, view, description.classes, source, target, question, bar.update)
            except ValueError as error:  # a DataError, or options that do not fit this file
                failed += 1
                remark("could not be labelled", [_named(str(error), printable(source))])
                continue
        answers.append(asdict(answer))
        if not json:
            print(f"{printable(source)}: {_summary(answer.points, perf_counter() - begin, answer.classes)}", flush=True)
            for note in answer.notes:
                print(f"  ({note})")
            print(f"  {printable(answer.out or '')}", flush=True)
    if json:
        print(dumps(answers, indent=2))
    elif failed:
        print(f"{failed} of {len(plan.todo) + len(plan.problems)} files left out")
    return int(failed > 0)


def _pairs(text: str | None) -> dict[str, str]:
    """ "a=b,c=" as {"a": "b", "c": ""}; a name alone stands for itself."""
    pairs = {}
    for part in (text or "").split(","):
        name, mark, source = part.strip().partition("=")
        if name:
            pairs[name] = source if mark else name
    return pairs


def _count(source: object) -> int | None:
    """The number of points of a file, if its header tells it cheaply."""
    from pathlib import Path

    from ..data.errors import DataError
    from ..data.scans import STREAMED, scan_bounds

    try:
        return scan_bounds(Path(str(source))).count if Path(str(source)).suffix.lower() in STREAMED else None
    except (DataError, OSError):
        return None  # reading the file says what is wrong with it


def _named(message: str, name: str) -> str:
    return message if message.startswith(name) else f"{name}: {message}"


def _summary(points: int, seconds: float, classes: dict[str, int]) -> str:
    from ..support.printable import printable

    shares = sorted(classes.items(), key=lambda item: -item[1])
    shown = ", ".join(f"{printable(name)} {100 * count / points:.1f} %" for name, count in shares[:5])
    more = f" and {len(shares) - 5} more" if len(shares) > 5 else ""
    return f"{points:,} points, {points / max(seconds, 1e-3):,.0f} per second; {shown}{more}"
