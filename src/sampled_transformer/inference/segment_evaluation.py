"""Evaluate a network that labels points on the test split of a data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..data import Pack
from ..data.axes import turn_pack
from ..data.errors import DataError
from ..data.per_point import IGNORE, expect_point_labels
from ..data.point_transforms import PointAugmentation
from ..support.printable import printable
from ..support.registry import listing
from ..training.point_loading import NORMALS, PointBatches, PointView, ignore_classes, load_point_split, network_inputs
from ..weights import load_model
from .calibration import binned
from .iou import iou_figures, per_class, point_confusion, set_ious
from .metrics import confused_pairs
from .segmentation import MEMORY, most_points, point_view_of, scene_probabilities
from .trained import cycle_passes, pick_device
from .worst_sets import WorstSets


def evaluate_points(
    weights: Path,
    source: str | None = None,
    root: str | None = None,
    *,
    split: str = "test",
    samples: int = 1,
    without: tuple[str, ...] = (),
    batch: int = 16,
    memory: float = MEMORY,
    device: str | None = None,
    worst: WorstSets | None = None,
) -> dict[str, Any]:
    """Mean IoU, IoU per class and per set of a weights file on a split of a data set.

    Args:
        weights: The weights file.
        source: Data set (default: the one that the network was trained on).
        root: Folder that holds the data set, if it needs one.
        split: "test" or "train".
        samples: Average the probabilities over this many cycles.
        without: Names of features to leave out, to see what they contribute.
        batch: Sets per batch; scenes are read one by one.
        memory: Gigabytes that one pass may need; larger scenes are labelled in tiles, as `label_points` does.
        device: Device (default: GPU if available).
        worst: Is given every set and its answers.
    """
    for name, value in (("samples", samples), ("batch", batch)):
        if value < 1:
            raise ValueError(f"{name}: expected at least 1, got {value}")
    most = most_points(memory)
    place = pick_device(device)
    network, description = load_model(weights, place)
    view = point_view_of(description, str(weights))
    data = description.notes.get("data", {})
    ignored = _names(data.get("ignore"))
    up = None
    if source is None:
        source, root, up = (data.get(name) for name in ("source", "root", "up_in_files"))
    if not isinstance(source, str):
        raise ValueError(f"data: expected a data set, because {printable(weights)} does not name its own, got none")
    pack = with_point_classes(load_point_split(source, root, split, up), tuple(description.classes), printable(source))
    pack = ignore_classes(pack, [name for name in ignored if name in pack.point_classes])
    if pack.up and view.up and pack.up != view.up:
        pack = turn_pack(pack, pack.up, view.up)
    check_pack(pack, view, without, printable(source))
    return {
        "weights": str(weights),
        "data": source,
        "split": split,
        "sets": len(pack),
        "points": view.points if view.part == "subset" else int(pack.counts().sum()),
        "samples": samples,
        "without": list(without),
        **measure(network, pack, view, samples, without, batch, worst, most),
        "up": view.up or pack.up or "z",
        "worst": _worst(pack, worst),
    }


def measure(
    network: torch.nn.Module,
    pack: Pack,
    view: PointView,
    samples: int,
    without: tuple[str, ...],
    batch: int,
    worst: WorstSets | None = None,
    most: int | None = None,
) -> dict[str, Any]:
    """All figures of a network on a pack. Scenes of more than `most` points are labelled in tiles (default: none)."""
    classes = len(pack.point_classes)
    matrix = torch.zeros(classes, classes, dtype=torch.int64)
    known_kinds = pack.labels is not None and bool(pack.classes) and not pack.has_numbers
    kinds = torch.from_numpy(pack.labels) if known_kinds and pack.labels is not None else None
    parts = None if kinds is None else parts_of_kinds(pack)
    ious: list[Tensor] = []
    sure: list[tuple[Tensor, Tensor, Tensor]] = []  # of labelled points: confidence, right, probability of the truth
    place = next(network.parameters()).device
    seen = 0
    loader = PointBatches(pack, view, PointAugmentation(), batch if view.part == "subset" else 1)
    for one in loader:
        inputs = network_inputs(one.to(place), view)
        inputs["features"] = {name: values for name, values in inputs["features"].items() if name not in without}
        if most is not None and view.part == "crop" and len(one.points) > most:
            scores = scene_probabilities(network, one.points, inputs["features"], samples, most)
        else:
            with torch.inference_mode():
                scores = cycle_passes(network, lambda: network(**inputs).float().softmax(1), samples).mean(0).cpu()  # noqa: B023
        labels, ptr = one.point_labels, one.ptr
        assert labels is not None
        assert ptr is not None
        answers = scores.argmax(1)
        matrix += point_confusion(labels, answers, classes)
        known = labels >= 0
        true = scores[known].gather(1, labels[known][:, None])[:, 0]
        sure.append((scores[known].amax(1), (answers == labels)[known], true))
        if worst is not None:
            worst.add(one.points, labels, answers, ptr, classes)
        sets = len(ptr) - 1
        own = None
        if kinds is not None and parts is not None:  # as the field does: the category is known, its parts are asked for
            own = parts[kinds[seen : seen + sets]]
            scores = scores.masked_fill(~own.repeat_interleave(ptr.diff(), 0), -1.0)
        ious.append(set_ious(labels, scores.argmax(1), ptr, classes, own))
        seen += sets
    per_set = torch.cat(ious)
    result: dict[str, Any] = {**iou_figures(matrix), "instance_mean_iou": float(per_set.nanmean())}
    if kinds is not None:
        means = [per_set[kinds == number].nanmean() for number in kinds.unique().tolist()]
        result["category_mean_iou"] = float(torch.stack(means).nanmean())
    result["classes"] = per_class(matrix, pack.point_classes)
    pairs = confused_pairs(matrix, pack.point_classes)
    result["confused"] = [dict(zip(("class", "taken_for", "points"), pair, strict=True)) for pair in pairs]
    result["confusion"] = matrix.tolist()
    confidence, right, true = (torch.cat(parts) for parts in zip(*sure, strict=True))
    result["calibration"] = binned(confidence, right, true, counted="points")
    return result


def parts_of_kinds(pack: Pack) -> Tensor:
    """Which point classes the sets of each category have, (categories, point classes), from their labels."""
    assert pack.labels is not None
    assert pack.point_labels is not None
    found = torch.zeros(len(pack.classes), len(pack.point_classes), dtype=torch.bool)
    counts = pack.counts()
    kinds = torch.from_numpy(pack.labels).repeat_interleave(torch.from_numpy(counts))
    labels = torch.from_numpy(pack.point_labels.reshape(-1)).long()
    known = labels != IGNORE
    found[kinds[known], labels[known]] = True
    return found


def with_point_classes(pack: Pack, classes: tuple[str, ...], where: str) -> Pack:
    """The pack, if its point classes are those of the network."""
    if pack.point_classes != classes:
        got = f"{listing(pack.point_classes)}"
        raise DataError(f"{where}: expected the point classes of the network, {listing(classes)}, got {got}")
    expect_point_labels(pack, where)
    return pack


def check_pack(pack: Pack, view: PointView, without: tuple[str, ...], where: str) -> None:
    """Refuse data that lacks features which the network cannot do without."""
    for name in without:
        if name not in view.optional:
            can = ", ".join(view.optional) or "nothing"
            raise ValueError(f"without: expected what the network can do without ({can}), got {name!r}")
    for name in view.features:
        there = pack.normals is not None if name == NORMALS else name in pack.features
        if not there and name not in view.optional:
            raise DataError(f"{where}: expected the feature {name!r}, which the network reads, got none")


def _worst(pack: Pack, worst: WorstSets | None) -> list[dict[str, Any]]:
    """The names and figures of the worst sets, worst first."""
    sets = [] if worst is None else worst.sets
    names = [f"set {one.number}" if pack.names is None else str(pack.names[one.number]) for one in sets]
    return [{"set": name, "mean_iou": one.iou, "accuracy": one.right} for name, one in zip(names, sets, strict=True)]


def _names(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else []


def table(result: dict[str, Any]) -> str:
    """The figures for people."""
    lines = [
        f"{result['sets']} sets of {result['data']}, {result['split']} split"
        + (f", without {', '.join(result['without'])}" if result["without"] else ""),
        f"mean IoU {100 * result['mean_iou']:.2f} %, points right {100 * result['accuracy']:.2f} %, "
        f"mean over sets {100 * result['instance_mean_iou']:.2f} %"
        + (f", over categories {100 * result['category_mean_iou']:.2f} %" if "category_mean_iou" in result else ""),
    ]
    widest = max(len(printable(one["class"])) for one in result["classes"])
    for one in result["classes"]:
        iou = "   -  " if one["iou"] is None else f"{100 * one['iou']:5.1f} %"
        lines.append(f"  {printable(one['class']):<{widest}}  {iou}  of {one['points']:,} points")
    for one in result["confused"][:5]:
        lines.append(f"  {printable(one['class'])} taken for {printable(one['taken_for'])}: {one['points']:,} points")
    return "\n".join(lines)
