"""How much a trained classifier withstands: accuracy against the severity of each corruption, on the test split.

Every shape is treated as `predict` treats a file: corrupt all stored points, take as many as the network reads, and
normalise. A corruption draws the same random numbers at each of its severities, whatever the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor, nn

from ..data import Pack
from ..data.axes import check_up
from ..data.corruptions import CORRUPTIONS, Function, rotation
from ..data.draws import Cloud
from ..data.normals import estimate_normals
from ..data.transforms import UnitSphere, preset
from ..randomness import is_random
from ..support.printable import printable
from ..support.registry import look_up
from ..training.loading import View, derive
from ..weights import load_model
from .evaluation import check_counts, load_test_split, with_classes
from .metrics import accuracies, confusion_counts
from .trained import check_classifier, cycle_probabilities, pick_device

CHUNK = 64  # shapes that share a generator
ROBUSTNESS = 6  # a use of a seed, see training.loading
NOTE = "robustness"  # where the notes of a weights file keep the figures
Levels = tuple[float, ...] | tuple[str, ...]


@dataclass(frozen=True)
class Curve:
    """One corruption and the severities at which it is measured."""

    title: str
    unit: str  # what a severity is
    levels: Levels


SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
CURVES = {
    "points": Curve("number of points", "points that the network reads", (64, 128, 256, 512, 1024, 2048, 4096)),
    "repeated": Curve("points in the file", "points, repeated to what the network reads", (64, 128, 256, 512)),
    "noise": Curve("noise", "standard deviation, radius of the shape = 1", (0.01, 0.02, 0.03, 0.05, 0.075, 0.1)),
    "outliers": Curve("outliers", "share of the points", (0.01, 0.02, 0.05, 0.1, 0.2, 0.3)),
    "half_space": Curve("missing half-space", "share of the points that a plane cuts off", SHARES),
    "crop": Curve("hole", "share of the points, nearest to a random one", SHARES),
    "rotation": Curve("rotation about the up axis", "largest angle in degrees", (15, 30, 45, 90, 180)),
    "any_rotation": Curve("rotation about any axis", "largest angle in degrees", (15, 30, 45, 90, 180)),
    "scale": Curve("scale", "factor", (0.01, 0.5, 2, 100)),
    "normals": Curve("without normals", "normals instead of those of the data", ("estimated", "zero")),
}


def evaluate_robustness(
    weights: Path,
    source: str | None = None,
    root: str | None = None,
    *,
    corruptions: Sequence[str] = (),
    limit: int | None = None,
    up: str | None = None,
    seed: int = 0,
    samples: int = 1,
    batch: int = CHUNK,
    device: str | None = None,
    report: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Measure a weights file at all severities of the corruptions.

    Args:
        weights: The weights file of a classifier.
        source: Data set (default: the one that the network was trained on).
        root: Folder that holds the data set, if it needs one.
        corruptions: Names in CURVES (default: all).
        limit: Measure on this many random test shapes (default: all).
        up: Axis that is up in a folder of shapes or a pack; "rotation" turns about the one the network expects up.
        seed: Seed of the corruptions and of the choice of shapes.
        samples: Average the probabilities over this many cycles.
        batch: Shapes per forward pass, at most 64.
        device: Device (default: GPU if available).
        report: Is told what has been measured, line by line.
    """
    check_counts(samples, 0, batch)
    chosen = check_names(corruptions)
    if limit is not None and limit < 1:
        raise ValueError(f"limit: expected at least 1 shape, got {limit}")
    if seed < 0:
        raise ValueError(f"seed: expected 0 or more, got {seed}")
    check_up(up)
    place = pick_device(device)
    network, description = load_model(weights, place)
    check_classifier(description, weights)
    most = int(max(CURVES["points"].levels)) if "points" in chosen else None  # folders draw as many as we ask for
    view, pack, source = load_test_split(description, weights, source, root, up=up, points=most)
    pack = _some(with_classes(pack, description.classes, printable(source)), limit, seed)
    axis = (view.up or "z")[-1]
    subject = Subject(network, view, pack, samples, batch, place, seed)
    clean = subject.accuracy(view.points)
    report(f"clean: {_percent(clean)}")
    curves = {}
    for name in chosen:
        if name == "normals" and not view.normals:
            report("normals: left out, because the network reads positions alone")
            continue
        curves[name] = _measure(subject, name, axis, report)
    return {
        "weights": str(weights),
        "data": source,
        "shapes": len(pack),
        "points": view.points,
        "stored": int(pack.counts().min()),
        "normals": view.normals,
        "samples": samples if is_random(network) else 1,
        "seed": seed,
        "up": axis,
        "clean": clean,
        "corruptions": curves,
    }


def check_names(corruptions: Sequence[str]) -> list[str]:
    """The chosen corruptions, or all of them, in the order of CURVES."""
    for name in corruptions:
        look_up("corruptions", name, CURVES)
    return [name for name in CURVES if not corruptions or name in corruptions]


@dataclass(frozen=True)
class Subject:
    """A network, and the shapes that it is asked about."""

    network: nn.Module
    view: View
    pack: Pack
    samples: int
    batch: int
    device: torch.device
    seed: int

    def accuracy(self, count: int, corrupt: Callable[[Cloud, Generator], Cloud] | None = None) -> dict[str, float]:
        """Accuracies on corrupted shapes, of which the network reads `count` points.

        `corrupt` gets a batch of shapes in the unit sphere with all their points.
        """
        classes = len(self.pack.classes)
        matrix = torch.zeros(classes, classes, dtype=torch.long)
        for points, normals, labels in self._shapes(count, corrupt):
            for begin in range(0, len(points), self.batch):
                part = slice(begin, begin + self.batch)
                own = None if normals is None else normals[part].to(self.device)
                passes = cycle_probabilities(self.network, points[part].to(self.device), own, self.samples)
                matrix += confusion_counts(labels[part], passes.mean(0).cpu(), classes)
        return accuracies(matrix)

    def _shapes(
        self, count: int, corrupt: Callable[[Cloud, Generator], Cloud] | None
    ) -> Iterator[tuple[Tensor, Tensor | None, Tensor]]:
        test = preset(self.view.preset, count)[1]
        for number, begin in enumerate(range(0, len(self.pack), CHUNK)):
            raw = self.pack.batch(np.arange(begin, min(begin + CHUNK, len(self.pack))))
            assert raw.labels is not None
            generator = torch.Generator().manual_seed(derive(self.seed, ROBUSTNESS, number))
            cloud = UnitSphere()(raw.points, raw.normals if self.view.normals else None)
            points, normals = cloud if corrupt is None else corrupt(cloud, generator)
            points, normals = UnitSphere()(points[:, :count], None if normals is None else normals[:, :count])
            yield (*test(points, normals), raw.labels)


def _measure(subject: Subject, name: str, axis: str, report: Callable[[str], None]) -> dict[str, Any]:
    """The curve of one corruption."""
    curve, view = CURVES[name], subject.view
    stored = int(subject.pack.counts().min())
    rows, left_out = [], []
    for level in curve.levels:
        reason = None
        if name == "repeated" and int(level) >= view.points:
            continue  # there is nothing to repeat
        if name == "points" and int(level) > stored:
            reason = f"the shapes have only {stored} points"
        else:
            try:
                row = subject.accuracy(int(level) if name == "points" else view.points, corruption(name, level, axis))
                rows.append({"severity": level, **row})
                report(f"{name} {level}: {_percent(row)}")
            except ValueError as error:  # some networks need more points than others
                if name != "points":
                    raise
                reason = str(error)
        if reason is not None:
            left_out.append({"severity": level, "reason": reason})
            report(f"{name} {level}: left out, because {reason}")
    return {"title": curve.title, "unit": curve.unit, "levels": rows, "left_out": left_out}


def corruption(name: str, level: float | str, axis: str = "z") -> Callable[[Cloud, Generator], Cloud] | None:
    """What happens to a batch of clouds at one severity; None for the number of points, of which we take the first."""
    if name == "points":
        return None
    if name == "repeated":
        return partial(_repeat, int(level))
    if level == "estimated":
        return lambda cloud, generator: (cloud[0], _estimated(cloud[0]))
    if level == "zero":
        return lambda cloud, generator: (cloud[0], None if cloud[1] is None else torch.zeros_like(cloud[1]))
    function: Function = partial(rotation, axis=axis) if name == "rotation" else CORRUPTIONS[name].function
    return lambda cloud, generator: function(*cloud, float(level), generator)


def _repeat(count: int, cloud: Cloud, generator: Generator) -> Cloud:
    """A file of `count` points: all of them, and then random ones of them again."""
    points, normals = cloud
    return CORRUPTIONS["sparse"].function(points, normals, 1 - count / points.shape[1], generator)


def _estimated(points: Tensor) -> Tensor:
    generator = np.random.default_rng(0)  # which thins out clouds of more than 65,536 points
    found = [estimate_normals(one, one, generator) for one in points.double().numpy()]
    return torch.from_numpy(np.stack(found)).to(points)


def _some(pack: Pack, limit: int | None, seed: int) -> Pack:
    """A random part of the shapes, in their order; all if there are no more."""
    if limit is None or limit >= len(pack):
        return pack
    return pack.select(np.sort(np.random.default_rng(derive(seed, ROBUSTNESS)).permutation(len(pack))[:limit]))


def _percent(row: dict[str, float]) -> str:
    return f"{100 * row['accuracy']:.2f} %"


def table(result: dict[str, Any]) -> str:
    """The result of `evaluate_robustness` as text."""
    normals = " with normals" if result["normals"] else ""
    lines = [
        f"{printable(result['data'])}: {result['shapes']} test shapes, {result['points']} points{normals}",
        f"clean shapes: accuracy {_percent(result['clean'])}",
    ]
    for name, curve in result["corruptions"].items():
        lines += ["", f"{name}: {curve['title']} ({curve['unit']})"]
        cells = [[f"{row['severity']}", f"{100 * row['accuracy']:.1f}"] for row in curve["levels"]]
        width = max((len(text) for cell in cells for text in cell), default=0)
        for label, place in (("severity", 0), ("accuracy %", 1)):
            lines.append(f"  {label:10}  " + "  ".join(f"{cell[place]:>{width}}" for cell in cells))
        lines += [f"  {row['severity']} left out, because {row['reason']}" for row in curve["left_out"]]
    return "\n".join(lines)


def card(result: dict[str, Any]) -> dict[str, Any]:
    """What a weights file keeps of a result: accuracies by corruption and severity."""
    kept = {key: result[key] for key in ("data", "shapes", "points", "samples", "seed")}
    curves = {
        name: [[row["severity"], round(row["accuracy"], 4)] for row in curve["levels"]]
        for name, curve in result["corruptions"].items()
    }
    return {NOTE: {**kept, "clean": round(result["clean"]["accuracy"], 4), "curves": curves}}


def card_lines(notes: Any) -> list[str]:
    """What the notes of a weights file say about robustness, as text; nothing if they say nothing."""
    found = notes.get(NOTE)
    try:
        begin = f"on {found['shapes']} test shapes of {printable(found['data'])}"
        lines = [f"{begin}, accuracy in %: {100 * found['clean']:.1f} on clean shapes"]
        for name, curve in CURVES.items():
            rows = found["curves"].get(name, [])
            figures = ", ".join(f"{100 * accuracy:.1f} at {printable(str(level))}" for level, accuracy in rows)
            lines += [f"{curve.title} ({curve.unit}): {figures}"] if rows else []
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):  # no notes, or those of somebody else
        return []
    return lines
