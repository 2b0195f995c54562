"""Evaluate a trained classifier on the test split of a data set.

The main figure is one pass. Averages over cycles and votes over augmentations are reported under their own names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..data import Pack
from ..data.axes import turn_pack
from ..data.errors import DataError
from ..data.transforms import Transform
from ..randomness import is_random
from ..support.printable import printable
from ..training.loading import VOTES, Batches, View, check_normals, derive, load_split
from ..weights import Description, describe_model, load_beside, load_model
from .calibration import calibration
from .calibration import table as calibration_table
from .familiarity import Ask, familiarity_of
from .metrics import accuracies, confused_pairs, confusion_counts
from .notes import Section, data_source
from .temperature import temperature_of
from .trained import check_classifier, cycle_probabilities, pick_device, view_of

ONE_PASS = "one pass"


@dataclass(frozen=True)
class Asked:
    """A classifier, its test split, and its answers in one pass."""

    network: nn.Module
    model: str
    view: View
    pack: Pack
    probabilities: Tensor  # (shapes, classes)
    temperature: float
    where: str  # what is shown as the source of the shapes


def evaluate(
    weights: Path,
    source: str | None = None,
    root: str | None = None,
    *,
    samples: int = 1,
    votes: int = 0,
    batch: int = 64,
    device: str | None = None,
    up: str | None = None,
    keep: list[Any] | None = None,
) -> dict[str, Any]:
    """Evaluate a weights file on the test split of a data set.

    Args:
        weights: The weights file.
        source: Data set (default: the one that the network was trained on).
        root: Folder that holds the data set, if it needs one.
        samples: With more than 1, also average the probabilities over this many cycles.
        votes: With more than 0, also average over this many randomly augmented passes.
        batch: Shapes per batch.
        device: Device (default: GPU if available).
        up: The axis that is up in a folder of shapes or in a pack (default: as in training, or as the data says).
        keep: Gets what was asked and the answers of one pass, for a page about them.
    """
    check_counts(samples, votes, batch)
    place = pick_device(device)
    network, view, pack, source = load_with_test_split(weights, source, root, place, up)
    assert pack.labels is not None
    description = describe_model(weights)
    temperature, known = (
        temperature_of(description, weights),
        familiarity_of(description, load_beside(weights), weights),
    )
    ask = Ask(temperature, known)
    passes, cycles = _passes(network, pack, view, samples, votes, batch, place, ask)
    labels = torch.from_numpy(pack.labels)
    if keep is not None:
        keep.append(Asked(network, description.model, view, pack, passes[ONE_PASS], temperature, printable(source)))
    matrices = {name: confusion_counts(labels, answer, len(pack.classes)) for name, answer in passes.items()}
    one = matrices[ONE_PASS]
    result = {
        "weights": str(weights),
        "data": source,
        "shapes": len(pack),
        "points": view.points,
        "figures": {name: accuracies(matrix) for name, matrix in matrices.items()},
        "classes": [
            {"class": name, "shapes": int(row.sum()), "accuracy": float(row[i] / row.sum()) if row.sum() else None}
            for i, (name, row) in enumerate(zip(pack.classes, one, strict=True))
        ],
        "confused": [
            dict(zip(("class", "taken_for", "times"), c, strict=True)) for c in confused_pairs(one, pack.classes)
        ],
        "confusion": one.tolist(),
        "calibration": calibration(cycles, labels, temperature),
    }
    if known is not None:
        strange = ~known.is_familiar(torch.cat(ask.scores)[: len(pack)])  # votes come later
        result["familiarity"] = {"alarms": known.alarms, "unfamiliar": float(strange.double().mean())}
    return result


def check_counts(samples: int, votes: int, batch: int) -> None:
    """Refuse counts that are too small."""
    for name, value, least in (("samples", samples, 1), ("votes", votes, 0), ("batch", batch, 1)):
        if value < least:
            raise ValueError(f"{name}: expected at least {least}, got {value}")


def load_with_test_split(
    weights: Path, source: str | None, root: str | None, device: torch.device, up: str | None = None
) -> tuple[nn.Module, View, Pack, str]:
    """Load a network, its view of shapes, and the test split of `source` (default: its own data set)."""
    network, description = load_model(weights, device)
    check_classifier(description, weights)
    view, pack, source = load_test_split(description, weights, source, root, up=up)
    return network, view, with_classes(pack, description.classes, printable(source)), source


def load_test_split(
    description: Description,
    weights: Path,
    source: str | None,
    root: str | None,
    numbers: bool = False,
    up: str | None = None,
    points: int | None = None,
) -> tuple[View, Pack, str]:
    """A network's view of shapes, and the test split of `source` (default: its own data set).

    With `numbers`, its labels are numbers to predict, not classes. The shapes are turned as the network expects them if
    both say which axis is up; `up` says it for a folder of shapes or a pack. From a folder of files we draw `points`
    (default: as many as the network reads).
    """
    view = view_of(description, weights)
    if source is None:
        up = up or Section(description, "data", weights).text("up_in_files")
        source, root = data_source(description, weights)
    if source is None:
        raise ValueError(f"data: expected a data set, because {printable(weights)} does not name its own, got none")
    pack = load_split(source, root, "test", max(points or 0, view.points), numbers, up)
    expected = view.up or ("z" if up else "")
    if pack.up and expected and pack.up != expected:
        pack = turn_pack(pack, pack.up, expected)
    if numbers and not pack.has_numbers:
        raise DataError(f"{printable(source)}: expected shapes with numbers to predict, got classes")
    check_normals(pack, view, printable(source))
    if pack.counts().min() < view.points:
        fewest = pack.counts().min()
        raise DataError(f"{printable(source)}: expected at least {view.points} points per shape, got {fewest}")
    return view, pack, source


def with_classes(pack: Pack, classes: tuple[str, ...] | Any, where: str) -> Pack:
    """Renumber the labels in the order of the network's classes. The pack may lack some of them."""
    unknown = [name for name in pack.classes if name not in classes]
    if unknown:
        raise DataError(f"{where}: expected the {len(classes)} classes of the network, got {unknown[0]!r}")
    assert pack.labels is not None
    order = np.array([list(classes).index(name) for name in pack.classes])
    return replace(pack, classes=tuple(classes), labels=order[pack.labels])


def _passes(
    network: nn.Module,
    pack: Pack,
    view: View,
    samples: int,
    votes: int,
    batch: int,
    device: torch.device,
    ask_network: Ask,
) -> tuple[dict[str, Tensor], Tensor]:
    """Probabilities (shapes, classes) of one pass, of the average over cycles and of the vote, by name.

    The second result has the probabilities of every cycle, (cycles, shapes, classes).
    """
    train, test = view.transforms()
    ask = partial(ask_cycles, network, pack, view, batch=batch, device=device, ask=ask_network)
    cycles = ask(test, samples if is_random(network) else 1)
    passes = {ONE_PASS: cycles[0]}
    if len(cycles) > 1:
        passes[f"averaged over {samples} cycles"] = cycles.mean(0)
    if votes:
        voted = torch.stack([ask(train, 1, derive(vote, VOTES))[0] for vote in range(votes)])
        # The mean of the logits, as in Point-MAE: log-probabilities differ from logits by a constant per pass.
        logits = voted.clamp(min=torch.finfo(voted.dtype).tiny).log()
        passes[f"voted over {votes} augmentations"] = logits.mean(0).softmax(1)
    return passes, cycles


def ask_cycles(
    network: nn.Module,
    pack: Pack,
    view: View,
    transform: Transform,
    cycles: int,
    seed: int = 0,
    *,
    batch: int,
    device: torch.device,
    ask: Callable[[nn.Module, Tensor, Tensor | None, int], Tensor] = cycle_probabilities,
) -> Tensor:
    """What `ask` gives for all shapes of a pack, (cycles, shapes, ...), on the CPU; the transform draws by the seed."""
    answers = []
    for one in Batches(pack, transform, view.normals, batch, seed):
        one = one.to(device)
        answers.append(ask(network, one.points, one.normals, cycles).cpu())
    return torch.cat(answers, 1)


def table(result: dict[str, Any]) -> str:
    """The result of `evaluate` as text."""
    lines = [f"{printable(result['data'])}: {result['shapes']} test shapes, {result['points']} points"]
    width = max(map(len, result["figures"]))
    for name, figures in result["figures"].items():
        overall, mean = 100 * figures["accuracy"], 100 * figures["mean_class_accuracy"]
        lines.append(f"  {name:{width}}  accuracy {overall:6.2f} %   mean over classes {mean:6.2f} %")
    width = max(len(printable(row["class"])) for row in result["classes"])
    lines.append(f"\n{'class':{width}}  shapes  accuracy in one pass")
    for row in result["classes"]:
        share = "-" if row["accuracy"] is None else f"{100 * row['accuracy']:.1f} %"
        lines.append(f"{printable(row['class']):{width}}  {row['shapes']:6}  {share:>8}")
    if result["confused"]:
        lines.append("\nmost frequent mistakes")
        for row in result["confused"]:
            pair = [printable(row[key]) for key in ("class", "taken_for")]
            lines.append(f"{row['times']:6} x {pair[0]} classified as {pair[1]}")
    lines += ["", calibration_table(result["calibration"])]
    if "familiarity" in result:
        found = result["familiarity"]
        lines.append(f"unfamiliar: {100 * found['unfamiliar']:.1f} % of these shapes (at most ")
        lines[-1] += f"{100 * found['alarms']:g} % expected of shapes like those of the training)"
    return "\n".join(lines)
