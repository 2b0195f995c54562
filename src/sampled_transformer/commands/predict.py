"""The command `predict`."""

from __future__ import annotations

from .messages import remark


def predict(
    files: list[str],
    weights: str = "modelnet40",
    top: int = 5,
    samples: int = 8,
    device: str | None = None,
    json: bool = False,
) -> int:
    """Classify meshes or point clouds, or predict a number for each.

    Args:
        files: Files, or folders to search for files.
        weights: The folder of a run, a weights file, or the name of shipped weights.
        top: Number of most likely classes to show, if the network knows classes.
        samples: Cycles to average over; the spread is the standard deviation over them.
        device: Device (default: GPU if available).
        json: Print everything as JSON.
    """
    from dataclasses import asdict
    from json import dumps

    from ..inference import predictor as prediction
    from ..support.printable import printable
    from ..weights import find_weights

    answers = []
    for answer in prediction.predict(prediction.Predictor(find_weights(weights), samples, device), files, top):
        answers.append(answer)
        if answer.error is not None:
            remark("could not be read", [answer.error])
        elif not json:
            print(printable(answer.file), *(f"({note})" for note in answer.notes))
            for line in answer.lines():
                print(f"  {line}")
    if json:
        print(dumps([asdict(answer) for answer in answers], indent=2))
    return int(any(answer.error is not None for answer in answers))
