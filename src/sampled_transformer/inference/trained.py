"""Helpers for trained networks: their view of shapes, their device, and their probabilities over several cycles."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor, nn

from ..data.axes import AXES
from ..data.transforms import PRESETS
from ..models import REGISTRY
from ..randomness import cycle_seed, is_random
from ..support.printable import brief, printable
from ..support.registry import look_up
from ..training.loading import View
from ..weights import Description, WeightsError
from .target import target_of

MOST_POINTS = 1 << 17  # per set that weights may ask for; whoever trained with more raises it


def view_of(description: Description, path: str | Path) -> View:
    """The view of shapes that the network was trained with (default: 1024 points, no preset)."""
    data = description.notes.get("data", {})
    usual = inspect.signature(look_up("model", description.model, REGISTRY)).parameters.get("normals")
    normals = bool(description.options.get("normals", usual is not None and usual.default))
    try:
        up = data.get("up") or ("-y" if data.get("source") == "bricks" else "")  # older files do not say
        view = View(data.get("preset", "none"), data.get("points", 1024), normals, up, data.get("corruptions", {}))
        if type(view.points) is not int or not 1 <= view.points <= MOST_POINTS or up not in ("", *AXES):
            raise ValueError
        if view.preset not in PRESETS or not isinstance(view.corruptions, Mapping):
            raise ValueError
        view.transforms()  # which refuses corruptions that do not exist
    except (AttributeError, TypeError, ValueError):
        expected = f"expected a valid preset and 1 to {MOST_POINTS:,} points in its notes"
        raise WeightsError(f"{printable(path)}: {expected}, got {brief(str(data))}") from None
    return view


def check_classifier(description: Description, path: str | Path) -> None:
    """Raise a WeightsError unless the weights belong to a classifier."""
    if description.model == "mae":
        raise WeightsError(
            f"{printable(path)}: expected a classifier, got a 'mae', which gives features and rebuilds shapes; "
            "`train --recipe finetune-modelnet40-small --init` turns it into a classifier"
        )
    refuse_mixture(description, path, "a classifier")
    target = target_of(description, path)
    if target is not None:
        got = f"a network that predicts a number ({printable(target.name)})"
        raise WeightsError(f"{printable(path)}: expected a classifier, got {got}")


def refuse_mixture(description: Description, path: str | Path, expected: str) -> None:
    """Raise a WeightsError if the weights belong to a network that finds clusters or labels points."""
    if description.model.endswith("-mixture"):
        raise WeightsError(
            f"{printable(path)}: expected {expected}, got {description.model!r}, which finds clusters; "
            "use it with `cluster evaluate` and `cluster fit`"
        )
    if description.model == "segmenter":
        raise WeightsError(
            f"{printable(path)}: expected {expected}, got a 'segmenter', which labels points; "
            "use it with `segment predict` and `segment evaluate`"
        )


def pick_device(name: str | torch.device | None) -> torch.device:
    """The device of this name (default: GPU if available), or a ValueError if it does not work here."""
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.zeros(0, device=name).device
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"device: expected a device that works here, got '{name}' ({reason})") from None
    if device.type == "meta":
        raise ValueError(f"device: expected a device that works here, got '{name}' (it stores no numbers)")
    return device


@contextmanager
def in_evaluation(network: nn.Module) -> Iterator[None]:
    """Let the network evaluate, then let every part train that was training."""
    before = [(module, module.training) for module in network.modules()]
    network.eval()
    try:
        yield
    finally:
        for module, training in before:
            module.training = training


def cycle_passes(network: nn.Module, ask: Callable[[], Tensor], samples: int) -> Tensor:
    """What `ask()` gives with the cycle seeds 0 to samples - 1, (samples, ...); once if the network is not random."""
    passes = []
    for seed in range(samples if is_random(network) else 1):
        with cycle_seed(network, seed):
            passes.append(ask())
    return torch.stack(passes)


@torch.inference_mode()
def cycle_probabilities(
    network: nn.Module, points: Tensor, normals: Tensor | None, samples: int, temperature: float = 1.0
) -> Tensor:
    """Probabilities softmax(logits / temperature), (samples, batch, classes), per cycle seed from 0 to samples - 1.

    A network that is not random gives the same answer each time and is asked once.
    """
    return (cycle_logits(network, points, normals, samples) / temperature).softmax(2)


@torch.inference_mode()
def cycle_logits(network: nn.Module, points: Tensor, normals: Tensor | None, samples: int) -> Tensor:
    """Logits (samples, batch, classes), one pass per cycle seed as in `cycle_probabilities`."""
    return cycle_passes(network, lambda: network(points, normals).float(), samples).expand(samples, -1, -1)


@contextmanager
def head_passes(network: nn.Module) -> Iterator[list[tuple[Tensor, Tensor]]]:
    """Note what the head of a classifier reads, (batch, d), and what it says, (batch, classes), in every pass."""
    seen: list[tuple[Tensor, Tensor]] = []

    def note(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        seen.append((inputs[0].float().cpu(), output.float().cpu()))

    handle = network.get_submodule("head").register_forward_hook(note)
    try:
        yield seen
    finally:
        handle.remove()


@torch.inference_mode()
def cycle_values(network: nn.Module, points: Tensor, normals: Tensor | None, samples: int) -> Tensor:
    """Predicted numbers in standard units, (samples, batch), one pass per cycle seed as in `cycle_probabilities`."""
    return cycle_passes(network, lambda: network(points, normals).float().squeeze(1), samples).expand(samples, -1)
