"""Fit what makes a trained classifier honest, and store it with the weights: a temperature, and what it knows.

Both need shapes that the network was not trained on and that are not test shapes: the part of the training split that
`train --data.validation` held out. On shapes that it has learnt, a network is right more often than on new ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..data import Pack
from ..data.errors import DataError
from ..randomness import is_random
from ..support.printable import printable
from ..training.loading import Batches, View, check_normals, hold_out, load_split
from ..weights import Description, WeightsError, add_to_model, describe_model, load_model
from .calibration import calibration
from .familiarity import ALARMS, Familiarity, balanced, too_few
from .notes import data_source
from .temperature import NOTE, fit_temperature
from .trained import check_classifier, cycle_logits, head_passes, pick_device, view_of

PASSES = 8  # as many as `predict` averages over
MOST_SHAPES = 2048  # training shapes whose features we look at


@dataclass(frozen=True)
class HeldOut:
    """The part of a training split that a network was not trained on: a share of each class, drawn by a seed."""

    share: float
    seed: int

    @classmethod
    def of(cls, description: Description, weights: Path, share: float | None, seed: int | None) -> HeldOut:
        """What was held out according to the weights file; a given share or seed goes first."""
        data = description.notes.get("data")
        if share is None:
            share = data.get("validation", 0) if isinstance(data, dict) else 0
        if seed is None:
            seed = description.notes.get("seed", 0)
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share < 1:
            raise ValueError(f"validation: expected a share of the training split between 0 and 1, got {share}")
        if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
            raise ValueError(f"seed: expected 0 or more, got {seed}")
        if share == 0:
            raise WeightsError(
                f"{printable(weights)}: expected a network that part of the training split was held out from "
                "(`train --data.validation 0.05`), got none; if it was, give that share with --validation"
            )
        return cls(float(share), seed)


def calibrate(
    weights: Path,
    out: Path,
    source: str | None = None,
    root: str | None = None,
    *,
    validation: float | None = None,
    seed: int | None = None,
    alarms: float = ALARMS,
    batch: int = 64,
    device: str | None = None,
) -> dict[str, Any]:
    """Fit the temperature and the statistics of a classifier on what was held out, and write both into `out`.

    Args:
        weights: The weights file.
        out: The file to write; may be the same.
        source: Data set that the network was trained on (default: the one that its file names).
        root: Folder that holds the data set, if it needs one.
        validation: Share of the training split that was held out (default: as the file says).
        seed: Seed of the training (default: as the file says).
        alarms: The share of held-out shapes that may be called unfamiliar.
        batch: Shapes per batch.
        device: Device (default: GPU if available).
    """
    if not 0 < alarms < 1:
        raise ValueError(f"alarms: expected more than 0 and less than 1, got {alarms:g}")
    if batch < 1:
        raise ValueError(f"batch: expected at least 1, got {batch}")
    description = describe_model(weights)
    check_classifier(description, weights)
    held_out = HeldOut.of(description, weights, validation, seed)
    if source is None:
        source, root = data_source(description, weights)
    if source is None:
        raise ValueError(f"data: expected a data set, because {printable(weights)} does not name its own, got none")
    view = view_of(description, weights)
    split = load_split(source, root, "train", view.points)
    check_normals(split, view, printable(source))
    if tuple(split.classes) != tuple(description.classes):
        raise DataError(
            f"{printable(source)}: expected the {len(description.classes)} classes of the network, got others"
        )
    train, held = hold_out(split, held_out.share, held_out.seed)
    result = calibrate_on(weights, out, view, train, held, alarms, batch, device)
    return {"weights": str(weights), "data": source, **result}


def calibrate_on(
    weights: Path,
    out: Path,
    view: View,
    train: Pack,
    held: Pack,
    alarms: float = ALARMS,
    batch: int = 64,
    device: str | torch.device | None = None,
) -> dict[str, Any]:
    """`calibrate` with the training shapes and the held-out ones at hand."""
    if len(held) == 0:
        raise DataError("validation: expected at least one held-out shape, got none")
    assert train.labels is not None
    assert held.labels is not None
    place = pick_device(device)
    network = load_model(weights, place)[0]
    labels = torch.from_numpy(held.labels)
    logits, features = _ask(network, held, view, PASSES if is_random(network) else 1, batch, place)
    temperature = fit_temperature(logits, labels)
    found = calibration((logits / temperature).softmax(2), labels, temperature)
    before, after = found.get("before", found["ways"]), found["ways"]
    notes: dict[str, Any] = {NOTE: {"temperature": temperature, "shapes": len(held)}}
    result: dict[str, Any] = {"held_out": len(held), "temperature": temperature, "alarms": None}
    result |= {"before": _figures(before), "after": _figures(after)}
    beside: dict[str, Tensor] = {}
    if not too_few(len(held), alarms):
        chosen = balanced(torch.from_numpy(train.labels), MOST_SHAPES).sort().values
        seen = _ask(network, train.select(chosen.numpy()), view, 1, batch, place)[1]
        known = Familiarity.fit(seen, torch.from_numpy(train.labels)[chosen], (features, logits[0]), alarms)
        notes, beside, result = {**notes, **known.notes()}, known.tensors(), {**result, "alarms": alarms}
    else:
        notes["familiarity"] = None  # of an earlier calibration
    add_to_model(weights, out, notes, beside)
    return result


def _figures(ways: dict[str, Any]) -> dict[str, Any]:
    """The reliability of each way to ask, without its bins."""
    return {way: {key: value for key, value in row.items() if key != "bins"} for way, row in ways.items()}


def _ask(
    network: nn.Module, pack: Pack, view: View, passes: int, batch: int, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Logits (passes, shapes, classes), and what the head reads in the first pass, (shapes, d)."""
    logits, features = [], []
    for one in Batches(pack, view.transforms()[1], view.normals, batch):
        one = one.to(device)
        with head_passes(network) as seen:
            logits.append(cycle_logits(network, one.points, one.normals, passes).cpu())
        features.append(seen[0][0])
    return torch.cat(logits, 1), torch.cat(features)


def lines(result: dict[str, Any], wanted: float = ALARMS) -> list[str]:
    """The result of `calibrate` as text."""
    text = [f"temperature {result['temperature']:.3f}, fitted on {result['held_out']} held-out training shapes"]
    for way, after in result["after"].items():
        errors = [100 * row["error"] for row in (result["before"][way], after)]
        text.append("  {}: calibration error {:.1f} points before, {:.1f} after".format(way, *errors))
    if result["alarms"] is not None:
        text.append(f"shapes are called unfamiliar with a false-alarm rate of {100 * result['alarms']:g} %")
    else:
        few = f"{result['held_out']} held-out shapes are too few for a false-alarm rate of {100 * wanted:g} %"
        text.append(f"{few}, so the network does not say what is unfamiliar")
    return text
