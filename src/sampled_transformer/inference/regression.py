"""Evaluate a network that predicts a number, on the test split of a data set; `evaluation` is for classes.

The main figure is one pass. Averages over cycles and over augmentations are reported under their own names.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..data import Pack
from ..data.errors import DataError
from ..randomness import is_random
from ..support.printable import printable
from ..training.loading import VOTES, derive
from ..weights import WeightsError, load_model
from .evaluation import ONE_PASS, ask_cycles, check_counts, load_test_split
from .target import Target, error_figures, error_sums, target_of, written
from .trained import cycle_values, pick_device

MOST_LISTED = 10


@dataclass(frozen=True)
class Answers:
    """The test split, and the answers about it in standard units."""

    source: str
    pack: Pack
    points: int  # that the network reads
    target: Target
    ways: dict[str, Tensor]  # (shapes,) by name: one pass, averages over cycles and augmentations
    cycles: Tensor  # (cycles, shapes)

    @property
    def truth(self) -> np.ndarray:
        """The labels, float64 (shapes,)."""
        assert self.pack.labels is not None
        return self.pack.labels

    def values(self, way: str = ONE_PASS) -> np.ndarray:
        """Answers in the target's own unit, float64 (shapes,)."""
        found: np.ndarray = self.target.restored(self.ways[way]).numpy()
        return found

    def worst(self, most: int) -> list[int]:
        """The numbers of the shapes with the largest errors in one pass, largest first."""
        found: list[int] = np.argsort(-np.abs(self.values() - self.truth), kind="stable")[:most].tolist()
        return found

    def name(self, number: int) -> str:
        return f"number {number}" if self.pack.names is None else str(self.pack.names[number])


def ask(
    weights: Path,
    source: str | None = None,
    root: str | None = None,
    *,
    samples: int = 1,
    votes: int = 0,
    batch: int = 64,
    device: str | None = None,
    up: str | None = None,
) -> Answers:
    """Ask a network about the test split of a data set; see `evaluate`."""
    check_counts(samples, votes, batch)
    place = pick_device(device)
    network, description = load_model(weights, place)
    target = target_of(description, weights)
    if target is None:
        raise WeightsError(f"{printable(weights)}: expected a network that predicts a number, got a classifier")
    view, pack, source = load_test_split(description, weights, source, root, numbers=True, up=up)
    if pack.target_name and pack.target_name != target.name:
        got = printable(pack.target_name)
        raise DataError(
            f"{printable(source)}: expected {printable(target.name)}, which the network predicts, got {got}"
        )
    train, test = view.transforms()
    options: Any = {"batch": batch, "device": place, "ask": cycle_values}
    cycles = ask_cycles(network, pack, view, test, samples if is_random(network) else 1, **options)
    if not cycles.isfinite().all():
        raise DataError(f"{printable(weights)}: the network's output is not finite")
    ways = {ONE_PASS: cycles[0]}
    if len(cycles) > 1:
        ways[f"averaged over {samples} cycles"] = cycles.mean(0)
    if votes:
        voted = [ask_cycles(network, pack, view, train, 1, derive(vote, VOTES), **options)[0] for vote in range(votes)]
        ways[f"averaged over {votes} augmentations"] = torch.stack(voted).mean(0)
    return Answers(source, pack, view.points, target, ways, cycles)


def evaluate(
    weights: Path, source: str | None = None, root: str | None = None, keep: list[Any] | None = None, **options: Any
) -> dict[str, Any]:
    """Evaluate a weights file on the test split of a data set: MAE, RMSE and R^2.

    Args:
        weights: The weights file.
        source: Data set (default: the one that the network was trained on).
        root: Folder that holds the data set, if it needs one.
        keep: Gets the answers, for a page about them.
        options: `samples`, `votes`, `batch`, `device` and `up`, as in `evaluation.evaluate`.
    """
    found = ask(weights, source, root, **options)
    if keep is not None:
        keep.append(found)
    target = found.target
    standard = target.standardised(found.pack).labels
    assert standard is not None
    rows = [
        {"name": found.name(number), "truth": float(truth), "answer": float(answer)}
        for number, (truth, answer) in enumerate(zip(found.truth, found.values(), strict=True))
    ]
    result: dict[str, Any] = {
        "weights": str(weights),
        "data": found.source,
        "shapes": len(found.pack),
        "points": found.points,
        "target": target.name,
        "figures": {
            way: error_figures(error_sums(answers, torch.from_numpy(standard)), target.deviation)
            for way, answers in found.ways.items()
        },
        "answers": rows,
        "largest_errors": [rows[number] for number in found.worst(MOST_LISTED)],
    }
    if len(found.cycles) > 1:
        result["spread"] = target.deviation * float(found.cycles.double().std(0, correction=0).mean())
    return result


def table(result: dict[str, Any]) -> str:
    """The result of `evaluate` as text."""
    data = printable(result["data"])
    lines = [f"{data}: {printable(result['target'])} of {result['shapes']} test shapes, {result['points']} points"]
    width = max(map(len, result["figures"]))
    lines += [f"  {way:{width}}  {written(figures)}" for way, figures in result["figures"].items()]
    if "spread" in result:
        lines.append(f"  standard deviation over cycles, mean over the shapes: {result['spread']:.4g}")
    lines.append(f"\n{'truth':>12}{'answer':>12}  largest errors in one pass")
    lines += [
        f"{row['truth']:12.6g}{row['answer']:12.6g}  {printable(row['name'])}" for row in result["largest_errors"]
    ]
    return "\n".join(lines)
