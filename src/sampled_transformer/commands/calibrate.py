"""The command `calibrate`."""

from __future__ import annotations


def calibrate(
    weights: str,
    data: str | None = None,
    root: str | None = None,
    validation: float | None = None,
    seed: int | None = None,
    alarms: float = 0.05,
    out: str | None = None,
    batch: int = 64,
    device: str | None = None,
    json: bool = False,
) -> None:
    """Fit honest probabilities of a classifier, and what it should call unfamiliar, on held-out training shapes.

    Both are stored in the weights file. `train --data.validation 0.05` does this at its end.

    Args:
        weights: The folder of a run, a weights file, or the name of shipped weights.
        data: The training data of the network: a name, a pack, or a folder of shapes (default: as in the weights).
        root: Folder that holds a data set given by name.
        validation: Share of the training split that was held out in the training (default: as in the weights).
        seed: Seed of the training, which decides what was held out (default: as in the weights).
        alarms: Share of the held-out shapes that may be called unfamiliar.
        out: Weights file to write (default: the file itself).
        batch: Shapes per forward pass.
        device: Device (default: GPU if available).
        json: Print everything as JSON.
    """
    from json import dumps
    from pathlib import Path

    from ..inference import calibrate as fitting
    from ..support.atomic import check_target
    from ..support.printable import printable
    from ..weights import find_weights, list_pretrained

    path = find_weights(weights)
    if out is None and weights in list_pretrained() and not Path(weights).exists():
        raise ValueError(f"out: expected a file, because {weights} came with the package, got nothing")
    check_target("out", out, ".safetensors")
    target = path if out is None else Path(out)
    result = fitting.calibrate(
        path, target, data, root, validation=validation, seed=seed, alarms=alarms, batch=batch, device=device
    )
    result["weights"] = weights
    if json:
        print(dumps(result, indent=2))
        return
    print("\n".join(fitting.lines(result, alarms)))
    print(f"{printable(target)}: written")


calibrate.reads_files = True  # type: ignore[attr-defined]
