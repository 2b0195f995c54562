"""Trained networks by path or name, how they see shapes, and their probabilities over several cycles."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from ..data.transforms import PRESETS
from ..randomness import cycle_seed, is_random
from ..support.printable import printable
from ..training.loading import View
from ..weights import Description, WeightsError


def view_of(description: Description, path: Path) -> View:
    """How the network saw shapes in training, as its file says; 1024 points as they are if it does not say."""
    data = description.notes.get("data", {})
    normals = bool(description.options.get("normals", True))
    view = View(data.get("preset", "none"), data.get("points", 1024), normals) if isinstance(data, dict) else None
    if view is None or view.preset not in PRESETS or not isinstance(view.points, int) or view.points < 1:
        raise WeightsError(f"{printable(path)}: its notes on data are not those of a run")
    return view


def check_classifier(description: Description, path: Path) -> None:
    """Refuse weights that say no class."""
    if description.model == "mae":
        raise WeightsError(
            f"{printable(path)}: a 'mae' rebuilds shapes and names no class; "
            "`train --model mae-classifier --init` makes a classifier of it"
        )
    if description.model.endswith("-mixture"):
        raise WeightsError(
            f"{printable(path)}: a {description.model!r} finds clusters and names no class; "
            "`cluster evaluate` and `cluster fit` use it"
        )


def pick_device(name: str | None) -> torch.device:
    """The device of this name, which must be there; a GPU if there is one, if no name is given."""
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.zeros(0, device=name).device
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ValueError(f"device: {name!r} cannot be used here ({str(error).splitlines()[0]})") from None
    if device.type == "meta":
        raise ValueError(f"device: {name!r} cannot be used here (it holds no numbers)")
    return device


@torch.inference_mode()
def cycle_probabilities(network: nn.Module, points: Tensor, normals: Tensor | None, samples: int) -> Tensor:
    """Probabilities (samples, batch, classes), one pass per cycle seed from 0 to samples - 1.

    A network that is not random gives the same answer each time and is asked once.
    """
    passes = []
    for seed in range(samples if is_random(network) else 1):
        with cycle_seed(network, seed):
            passes.append(network(points, normals).float().softmax(1))
    return torch.stack(passes).expand(samples, -1, -1)
