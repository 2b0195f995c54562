"""Linear probe: logistic regression on the features of a frozen encoder."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ..data import Pack
from ..data.class_counts import lines_about_missing
from ..data.errors import DataError
from ..models import create_model
from ..models.mae import Encoder
from ..models.tokens import Groups, group_points
from ..support.atomic import check_target
from ..support.printable import printable
from ..training.loading import Batches, View, derive, hold_out, load_split
from ..weights import Description, WeightsError, load_model, save_model
from .metrics import accuracies, confusion_counts
from .notes import data_source
from .trained import cycle_passes, in_evaluation, pick_device, view_of

PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1)
HELD_OUT = 0.2  # share of the training split that we hold out to choose the penalty
ITERATIONS = 200
# Options of networks with an encoder that say nothing about the encoder.
NOT_OF_ENCODER = ("decoder_attention", "decoder_depth", "mask_ratio", "pooling", "head_width", "head_dropout")


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

    def as_linear(self) -> nn.Linear:
        """The same logits as one layer: W x + b with W = weight / deviation and b = bias - W mean."""
        weight = self.weight.double() / self.deviation.double()
        layer = nn.Linear(weight.shape[1], len(weight))
        with torch.no_grad():
            layer.weight.copy_(weight)
            layer.bias.copy_(self.bias.double() - weight @ self.mean.double())
        return layer

    def accuracies(self, features: Tensor, labels: Tensor) -> dict[str, float]:
        """Accuracy and mean class accuracy on labelled features."""
        return accuracies(confusion_counts(labels, self(features), len(self.bias)))


@torch.enable_grad()
def fit(features: Tensor, labels: Tensor, classes: int, penalty: float) -> Regression:
    """Minimise mean cross-entropy + penalty / 2 * |weight|^2 with L-BFGS. It is convex and nothing is random."""
    deviation, mean = torch.std_mean(features, 0, correction=0)
    deviation = torch.where(deviation > 1e-6, deviation, 1)
    x = (features - mean) / deviation
    weight = torch.zeros(classes, features.shape[1], requires_grad=True)
    bias = torch.zeros(classes, requires_grad=True)
    optimiser: Any = torch.optim.LBFGS([weight, bias], max_iter=ITERATIONS, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimiser.zero_grad()
        loss = cross_entropy(x @ weight.T + bias, labels) + penalty / 2 * weight.square().sum()
        torch.autograd.backward(loss)
        return loss

    optimiser.step(closure)
    return Regression(mean, deviation, weight.detach(), bias.detach())


def choose_penalty(features: Tensor, labels: Tensor, held: Tensor, classes: int) -> tuple[float, float | None]:
    """The penalty with the best accuracy on the held-out shapes, and that accuracy. Ties go to the larger penalty.

    If no shape is held out, because every class is too small, return the largest penalty and None.
    """
    if not held.any():
        return max(PENALTIES), None
    best = (0.0, 0.0)
    for penalty in sorted(PENALTIES, reverse=True):
        regression = fit(features[~held], labels[~held], classes, penalty)
        accuracy = regression.accuracies(features[held], labels[held])["accuracy"]
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

    def pooled(groups: Groups) -> Tensor:
        tokens = encoder(groups).float()
        return torch.cat([tokens.amax(1), tokens.mean(1)], 1)

    parts = []
    with in_evaluation(network):
        for one in Batches(pack, view.transforms()[1], False, batch):
            points, cut = one.points.to(device), (network.groups, network.group_size, network.in_any_order)
            groups = group_points(points, *cut)  # type: ignore[arg-type]
            parts.append(cycle_passes(encoder, partial(pooled, groups), samples).mean(0).cpu())
    features = torch.cat(parts)
    if not features.isfinite().all():
        raise ValueError("encoder: expected finite features, got others: its training has diverged")
    return features


def load_encoder(weights: Path, device: torch.device, scratch: bool = False, seed: int = 0) -> tuple[nn.Module, Any]:
    """Load a network with an encoder, and its description. With `scratch`, give it new random weights."""
    network, description = load_model(weights, device)
    if not isinstance(getattr(network, "encoder", None), Encoder):
        raise WeightsError(f"{printable(weights)}: expected a 'mae' or 'mae-classifier', got {description.model!r}")
    if scratch:
        torch.manual_seed(seed)
        network = create_model(description.model, **description.options).to(device).eval()
    return network, description


def probe_classifier(
    network: nn.Module, description: Description, regression: Regression, classes: Sequence[str]
) -> tuple[nn.Module, dict[str, Any]]:
    """The frozen encoder with the regression as its head: a 'mae-classifier', and its options."""
    options = {name: value for name, value in description.options.items() if name not in NOT_OF_ENCODER}
    options |= {"classes": len(classes), "pooling": "max-mean", "head_depth": 0}
    classifier: Any = create_model("mae-classifier", **options)
    classifier.encoder.load_state_dict(network.encoder.state_dict())  # type: ignore[union-attr]
    classifier.head[0] = regression.as_linear()
    return classifier.eval(), options


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
    out: str | Path | None = None,
) -> dict[str, Any]:
    """Fit a linear probe on the training split of a data set and measure it on the test split.

    Args:
        weights: Weights file of a masked autoencoder, or of a classifier built on one.
        source: Data set (default: the one that the encoder was trained on).
        root: Folder that holds the data set, if it needs one.
        points: Points per shape (default: as in training, or all points if fewer are stored).
        samples: Average the features over this many cycles.
        batch: Shapes per batch.
        seed: Seed for choosing the held-out shapes that decide the penalty.
        scratch: Probe the same network with new random weights, for comparison.
        device: Device (default: GPU if available).
        out: Weights file to write: the encoder and the fitted classifier, for `predict` and everything else.
    """
    check_target("out", out, ".safetensors")
    for name, value in (("samples", samples), ("batch", batch), ("points", 1 if points is None else points)):
        if value < 1:
            raise ValueError(f"{name}: expected at least 1, got {value}")
    place = pick_device(device)
    network, description = load_encoder(weights, place, scratch, seed)
    view = view_of(description, weights)
    if source is None:
        source, root = data_source(description, weights)
    if source is None:
        raise ValueError(f"data: expected a data set, because {printable(weights)} does not name its own, got none")
    train, test = (load_split(source, root, split, points or view.points) for split in ("train", "test"))
    if train.classes != test.classes:
        raise DataError(f"{printable(source)}: expected the same classes in train and test, got different classes")
    for line in lines_about_missing(train, test):
        warnings.warn(f"{printable(source)}: {line}", stacklevel=2)
    points = points or min(view.points, *(int(pack.counts().min()) for pack in (train, test)))
    view = View(view.preset, points, False, train.up)
    options: dict[str, Any] = {"samples": samples, "batch": batch, "device": place}
    features, test_features = (features_of(network, pack, view, **options) for pack in (train, test))
    labels, test_labels = (torch.from_numpy(pack.labels) for pack in (train, test))
    held = held_out(train, seed)
    penalty, held_accuracy = choose_penalty(features, labels, held, len(train.classes))
    regression = fit(features, labels, len(train.classes), penalty)
    result = {
        "weights": str(weights),
        "scratch": scratch,
        "data": source,
        "points": view.points,
        "samples": samples,
        "shapes": [len(train), len(test)],
        "features": features.shape[1],
        "penalty": penalty,
        "held_out_accuracy": held_accuracy,
        "train_accuracy": regression.accuracies(features, labels)["accuracy"],
        **{f"test_{name}": value for name, value in regression.accuracies(test_features, test_labels).items()},
    }
    if out is not None:
        classifier, options_of_network = probe_classifier(network, description, regression, train.classes)
        figures = {name: result[name] for name in ("train_accuracy", "test_accuracy", "test_mean_class_accuracy")}
        notes = {
            "data": {"source": source, "root": root, **asdict(view)},
            "init": printable(weights),
            "seed": seed,
            "figures": figures,
            "probe": {"penalty": penalty, "samples": samples, "scratch": scratch},
        }
        save_model(classifier, out, Description("mae-classifier", options_of_network, train.classes, notes))
    return result


def held_out(pack: Pack, seed: int) -> Tensor:
    """Mask of the shapes that we hold out to choose the penalty, (shapes,) bool."""
    numbered = Pack(pack.points, pack.classes, pack.labels, extras={"number": np.arange(len(pack))})
    held = hold_out(numbered, HELD_OUT, seed)[1].extras["number"]
    return torch.zeros(len(pack), dtype=torch.bool).index_fill_(0, torch.from_numpy(held), True)


class QuickProbe:
    """A quick probe on part of a training split, to monitor pre-training without looking at the test split.

    Args:
        pack: Labelled shapes. We measure on a fifth of them and fit on the rest.
        view: The view of the shapes: preset, points and normals.
        seed: Seed for choosing the shapes.
        most: Use at most this many shapes.
        batch: Shapes per batch.
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
        return regression.accuracies(features[held], labels[held])["accuracy"]
