"""How much a frozen encoder knows: logistic regression on its features."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ..data import Pack
from ..data.errors import DataError
from ..models import create_model
from ..models.mae import Encoder
from ..models.tokens import group_points
from ..randomness import cycle_seed, is_random
from ..support.printable import printable
from ..training.loading import Batches, View, derive, hold_out, load_split
from ..weights import WeightsError, load_model
from .metrics import accuracies
from .trained import pick_device, view_of

PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1)
HELD_OUT = 0.2  # of the training split, on which the penalty is chosen
ITERATIONS = 200


@dataclass(frozen=True)
class Regression:
    """Logistic regression on standardised features."""

    mean: Tensor
    deviation: Tensor
    weight: Tensor  # (classes, features)
    bias: Tensor

    def __call__(self, features: Tensor) -> Tensor:
        """Logits (shapes, classes)."""
        return (features - self.mean) / self.deviation @ self.weight.T + self.bias

    def confusion(self, features: Tensor, labels: Tensor) -> Tensor:
        classes = len(self.bias)
        pairs = labels * classes + self(features).argmax(1)
        return pairs.bincount(minlength=classes**2).view(classes, classes)


@torch.enable_grad()
def fit(features: Tensor, labels: Tensor, classes: int, penalty: float) -> Regression:
    """Mean cross-entropy + penalty / 2 * |weight|^2, whose one minimum L-BFGS finds; nothing is random."""
    deviation, mean = torch.std_mean(features, 0, correction=0)
    deviation = torch.where(deviation > 1e-6, deviation, 1)
    x = (features - mean) / deviation
    weight = torch.zeros(classes, features.shape[1], requires_grad=True)
    bias = torch.zeros(classes, requires_grad=True)
    optimiser = torch.optim.LBFGS([weight, bias], max_iter=ITERATIONS, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimiser.zero_grad()
        loss = cross_entropy(x @ weight.T + bias, labels) + penalty / 2 * weight.square().sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    return Regression(mean, deviation, weight.detach(), bias.detach())


def choose_penalty(features: Tensor, labels: Tensor, held: Tensor, classes: int) -> tuple[float, float | None]:
    """The penalty with the best accuracy on the held-out shapes, and that accuracy; the larger one of two equals.

    The largest one, and no accuracy, where no class has a shape to spare.
    """
    if not held.any():
        return max(PENALTIES), None
    best = (0.0, 0.0)
    for penalty in sorted(PENALTIES, reverse=True):
        regression = fit(features[~held], labels[~held], classes, penalty)
        accuracy = accuracies(regression.confusion(features[held], labels[held]))["accuracy"]
        best = max(best, (accuracy, penalty), key=lambda pair: pair[0])
    return best[1] or max(PENALTIES), best[0]


@torch.no_grad()
def features_of(
    network: nn.Module, pack: Pack, view: View, *, samples: int = 1, batch: int = 64, device: Any = "cpu"
) -> Tensor:
    """The largest and the mean value of every feature over a shape's tokens, (shapes, 2 * dim), on the CPU.

    The network is asked in evaluation. `samples` cycles are averaged where attention walks any.
    """
    encoder: Any = network.encoder
    training = network.training
    network.eval()
    parts = []
    try:
        for one in Batches(pack, view.transforms()[1], False, batch):
            groups = group_points(one.points.to(device), network.groups, network.group_size)  # type: ignore[arg-type]
            passes = []
            for seed in range(samples if is_random(encoder) else 1):
                with cycle_seed(encoder, seed):
                    tokens = encoder(groups).float()
                passes.append(torch.cat([tokens.amax(1), tokens.mean(1)], 1))
            parts.append(torch.stack(passes).mean(0).cpu())
    finally:
        network.train(training)
    features = torch.cat(parts)
    if not features.isfinite().all():
        raise ValueError("the features of the encoder are not finite: its training has diverged")
    return features


def load_encoder(weights: Path, device: torch.device, scratch: bool = False, seed: int = 0) -> tuple[nn.Module, Any]:
    """A network that has an encoder, and its description; with new weights if asked to begin from scratch."""
    network, description = load_model(weights, device)
    if not isinstance(getattr(network, "encoder", None), Encoder):
        raise WeightsError(f"{printable(weights)}: expected a 'mae' or 'mae-classifier', it is a {description.model!r}")
    if scratch:
        torch.manual_seed(seed)
        network = create_model(description.model, **description.options).to(device).eval()
    return network, description


def probe(
    weights: Path,
    source: str | None = None,
    root: str | None = None,
    *,
    points: int | None = None,
    samples: int = 1,
    batch: int = 64,
    seed: int = 0,
    scratch: bool = False,
    device: str | None = None,
) -> dict[str, Any]:
    """Linear probe: fitted on the training split of a data set, measured on its test split.

    Args:
        source: what the encoder was trained on, if not given.
        points: of each shape; as many as in its training if not given, or all where fewer are stored.
        samples: cycles over which features are averaged.
        seed: chooses the shapes of the training split on which the penalty is chosen.
        scratch: the same network with new weights, to compare with.
    """
    for name, value in (("samples", samples), ("batch", batch), ("points", 1 if points is None else points)):
        if value < 1:
            raise ValueError(f"{name}: expected at least 1, got {value}")
    place = pick_device(device)
    network, description = load_encoder(weights, place, scratch, seed)
    view = view_of(description, weights)
    if source is None:
        source, root = (description.notes.get("data", {}).get(key) for key in ("source", "root"))
    if source is None:
        raise ValueError(f"data: expected --data, as {printable(weights)} does not say what it was trained on")
    train, test = (load_split(source, root, split, points or view.points) for split in ("train", "test"))
    if train.classes != test.classes:
        raise DataError(f"{printable(source)}: its train and test splits name different classes")
    view = View(view.preset, points or min(view.points, *(int(pack.counts().min()) for pack in (train, test))), False)
    options: dict[str, Any] = {"samples": samples, "batch": batch, "device": place}
    features, asked = (features_of(network, pack, view, **options) for pack in (train, test))
    labels, expected = (torch.from_numpy(pack.labels) for pack in (train, test))
    held = held_out(train, seed)
    penalty, on_held = choose_penalty(features, labels, held, len(train.classes))
    regression = fit(features, labels, len(train.classes), penalty)
    return {
        "weights": str(weights),
        "scratch": scratch,
        "data": source,
        "points": view.points,
        "samples": samples,
        "shapes": [len(train), len(test)],
        "features": features.shape[1],
        "penalty": penalty,
        "held_out_accuracy": on_held,
        "train_accuracy": accuracies(regression.confusion(features, labels))["accuracy"],
        **{f"test_{name}": value for name, value in accuracies(regression.confusion(asked, expected)).items()},
    }


def held_out(pack: Pack, seed: int) -> Tensor:
    """Which shapes do not fit the regressions among which the penalty is chosen, (shapes,) bool."""
    numbered = Pack(pack.points, pack.classes, pack.labels, extras={"number": np.arange(len(pack))})
    held = hold_out(numbered, HELD_OUT, seed)[1].extras["number"]
    return torch.zeros(len(pack), dtype=torch.bool).index_fill_(0, torch.from_numpy(held), True)


class QuickProbe:
    """A probe on a fixed part of a training split, to follow a pre-training: the test split is not looked at.

    Args:
        pack: labelled shapes, of which at most `most` are used: one in five to measure, the others to fit.
        view: how they are seen.
        seed: chooses them.
    """

    def __init__(self, pack: Pack, view: View, seed: int, most: int = 2000, batch: int = 64) -> None:
        chosen = np.random.default_rng(derive(seed)).permutation(len(pack))[:most]
        self.pack, self.view, self.batch = pack.select(np.sort(chosen)), view, batch
        self.held = held_out(self.pack, seed)

    def __call__(self, network: nn.Module, device: Any = "cpu") -> float:
        """Accuracy on the held-out shapes."""
        assert self.pack.labels is not None
        features = features_of(network, self.pack, self.view, batch=self.batch, device=device)
        labels, held = torch.from_numpy(self.pack.labels), self.held
        regression = fit(features[~held], labels[~held], len(self.pack.classes), 1e-2)
        return accuracies(regression.confusion(features[held], labels[held]))["accuracy"]
