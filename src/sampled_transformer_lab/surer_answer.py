"""How honest the answers of the two networks are that `predict` asks, and the temperatures that make them so.

Each of both is calibrated, but the larger of two probabilities is too large on average, and so is what one of them says
about few points. `python -m sampled_transformer_lab.surer_answer ROOT` fits a temperature for each case on the training
shapes of ModelNet40 that both networks held out, keeps them in the weights of the twin, and measures on test shapes
what `predict` then says about files; it writes results/predict/surer.json.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sampled_transformer.data import Pack, load_data
from sampled_transformer.inference.answers import Answer
from sampled_transformer.inference.calibrate import HeldOut
from sampled_transformer.inference.calibration import reliability
from sampled_transformer.inference.defaults import DEFAULT_TWIN, DEFAULT_WEIGHTS
from sampled_transformer.inference.predictor import Predictor, predict
from sampled_transformer.inference.temperature import NOTE, fit_temperature
from sampled_transformer.inference.twins import OF_FEW, SOFTENED
from sampled_transformer.support.machine import machine
from sampled_transformer.training.loading import hold_out
from sampled_transformer.weights import add_notes, describe_model, find_weights

from .reproduce import write_result
from .strange_files import SEED, SHAPES, corrupted, save

SPARSE = (64, 128, 256, 512)  # points of the held-out shapes that the temperature of few points is fitted on
CORRUPTED = (
    ("points", 128.0),
    ("points", 256.0),
    ("points", 512.0),
    ("noise", 0.02),
    ("outliers", 0.1),
    ("half_space", 0.5),
)


def held_out(train: Pack, names: Sequence[str] = (DEFAULT_WEIGHTS, DEFAULT_TWIN)) -> Pack:
    """The shapes of a training split that none of the networks was trained on."""
    parts = {HeldOut.of(describe_model(name), find_weights(name), None, None) for name in names}
    if len(parts) != 1:
        raise ValueError(f"{' and '.join(names)}: expected networks that held out the same shapes, got others")
    (part,) = parts
    return hold_out(train, part.share, part.seed)[1]


def answered(predictor: Predictor, clouds: Sequence[Any], classes: Sequence[str]) -> Tensor:
    """The probabilities (files, classes) that `predict` prints about files of these points."""
    place = {name: number for number, name in enumerate(classes)}
    found = torch.zeros(len(clouds), len(classes), dtype=torch.float64)
    with tempfile.TemporaryDirectory() as folder:
        save(list(clouds), folder)
        for row, answer in zip(found, predict(predictor, [folder], len(classes)), strict=True):
            assert isinstance(answer, Answer)
            for each in answer.classes:
                row[place[each["class"]]] = each["probability"]
    return found


def asking(*, both: bool = True, weights: str = DEFAULT_WEIGHTS) -> Predictor:
    """What answers about files: by default both networks, as in `predict`."""
    return Predictor(find_weights(weights), 1, batch=32, twin=find_weights(DEFAULT_TWIN) if both else None)


def fit(held: Pack) -> dict[str, Any]:
    """The temperatures with the smallest log loss on held-out shapes: of the surer answer, and of few points."""
    predictor, labels = asking(), held.batch(slice(None)).labels
    assert labels is not None
    predictor.softening = predictor.softening_of_few = 1.0
    filled, sparse, rows = asking(both=False, weights=DEFAULT_TWIN), [], []
    for count in SPARSE:
        clouds = reduced(held, count)
        ways = {"as they are": predictor, "filled up": filled}
        found = {way: answered(one, clouds, held.classes) for way, one in ways.items()}
        rows.append({"points": count, **{way: reliability(one, labels)["accuracy"] for way, one in found.items()}})
        sparse.append(found["as they are"])
    whole = answered(predictor, list(held.batch(slice(None)).points.numpy()), held.classes)
    return {
        "temperature": fit_temperature(_logits(whole), labels),
        "of_few": fit_temperature(_logits(torch.cat(sparse)), labels.repeat(len(SPARSE))),
        "shapes": len(held),
        "sparse": rows,
    }


def reduced(held: Pack, count: int) -> list[Any]:
    """Random points of every shape."""
    return corrupted(held.batch(slice(None)).points, "points", count, torch.Generator().manual_seed(SEED))


def _logits(probabilities: Tensor) -> Tensor:
    return probabilities.clamp(min=torch.finfo(torch.float32).tiny).log()[None]


def measure(test: Pack, shapes: int = SHAPES) -> list[dict[str, Any]]:
    """The calibration error of what `predict` says, softened and not, on all clean test shapes and corrupted ones."""
    plain = asking()
    plain.softening = plain.softening_of_few = 1.0
    ways = {
        DEFAULT_WEIGHTS: asking(both=False),
        DEFAULT_TWIN: asking(both=False, weights=DEFAULT_TWIN),
        "both, not softened": plain,
        "both, the default": asking(),
    }
    rows = []
    for name, severity in (("clean", 0.0), *CORRUPTED):
        count = len(test) if name == "clean" else shapes
        order = torch.randperm(len(test), generator=torch.Generator().manual_seed(SEED))
        raw = test.batch(order[:count].sort().values.numpy())
        assert raw.labels is not None
        clouds = corrupted(raw.points, name, severity, torch.Generator().manual_seed(SEED))
        row: dict[str, Any] = {"corruption": name, "severity": severity, "shapes": count}
        for way, predictor in ways.items():
            found = reliability(answered(predictor, clouds, test.classes), raw.labels)
            row[way] = {key: found[key] for key in ("accuracy", "probability", "error", "chance", "log_loss")}
        rows.append(row)
    return rows


def main(root: str | None = None, out: Path = Path("results/predict/surer.json")) -> None:
    fitted = fit(held_out(load_data("modelnet40", "train", root)))
    path = find_weights(DEFAULT_TWIN)
    kept = dict(describe_model(path).notes[NOTE])
    add_notes(path, {NOTE: {**kept, SOFTENED: {DEFAULT_WEIGHTS: fitted["temperature"], OF_FEW: fitted["of_few"]}}})
    result = {
        "command": "python -m sampled_transformer_lab.surer_answer ROOT",
        "fitted": fitted,
        "rows": measure(load_data("modelnet40", "test", root)),
        "machine": machine(),
    }
    write_result(out, result, None)
    print(f"{out}: written")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
