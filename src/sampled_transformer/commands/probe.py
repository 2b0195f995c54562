"""The command `probe`."""

from __future__ import annotations

from typing import Any

from .extras import training_module


def probe(
    weights: str,
    data: str | None = None,
    root: str | None = None,
    points: int | None = None,
    samples: int = 1,
    batch: int = 64,
    seed: int = 0,
    scratch: bool = False,
    device: str | None = None,
    out: str | None = None,
    json: bool = False,
) -> None:
    """Measure the frozen features of a pre-trained encoder by logistic regression.

    Args:
        weights: The folder of a run, a weights file, or the name of shipped weights.
        data: The name of a data set, a pack, or a folder of shapes (default: the training data of the network).
        root: Folder that holds a data set given by name.
        points: Points per shape (default: as in pre-training, or all if fewer are stored).
        samples: Average the features over this many cycles.
        batch: Shapes per forward pass.
        seed: Seed of new weights, and of the training shapes on which the penalty is chosen.
        scratch: Use new weights in the same network, for comparison.
        device: Device (default: GPU if available).
        out: Weights file to write (.safetensors), with which `predict`, `evaluate`, `features` and `export` classify as
            the probe does.
        json: Print everything as JSON.
    """
    from json import dumps

    from ..support.printable import printable
    from ..weights import find_weights

    result = training_module("inference.probe").probe(
        find_weights(weights),
        data,
        root,
        points=points,
        samples=samples,
        batch=batch,
        seed=seed,
        scratch=scratch,
        device=device,
        out=out,
    )
    print(dumps(result, indent=2) if json else _table(result, "new weights" if scratch else printable(weights)))
    if out is not None and not json:
        print(f"{printable(out)}: written; `predict FILE --weights {printable(out)}` uses it")


probe.reads_files = True  # type: ignore[attr-defined]


def _table(result: dict[str, Any], weights: str) -> str:
    from ..support.printable import printable

    train, test = result["shapes"]
    overall, mean = 100 * result["test_accuracy"], 100 * result["test_mean_class_accuracy"]
    lines = [
        f"{printable(result['data'])}: {train} shapes to fit, {test} to measure, {result['points']} points; {weights}",
        f"  linear probe  accuracy {overall:6.2f} %   mean over classes {mean:6.2f} %",
    ]
    penalty = f"  penalty {result['penalty']:g}"
    if result["held_out_accuracy"] is None:
        lines.append(f"{penalty}: no class has a spare shape to choose it on")
    else:
        held_out = f"{100 * result['held_out_accuracy']:.2f} % there"
        lines.append(f"{penalty}, chosen on held-out shapes of the training split: {held_out}")
    return "\n".join(lines)
