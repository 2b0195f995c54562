"""Does a set look like anything that the network was trained on? Statistics that are stored beside its weights.

The score of a set with features x (what the head reads, one pass) and logits z is

    score(x, z) = min_k |x scale - anchor_k| - energy logsumexp(z).

The anchors are features of training shapes. The first term is large for features unlike any of them, the second for
sets that no class wants. Both are measured in their standard deviation over shapes that were held out of the training.
A set is unfamiliar if its score is among the highest: with m held-out scores and a false-alarm rate r,

    (1 + number of held-out scores >= score) / (m + 1) <= r.

Then at most a share r of new shapes like the held-out ones is called unfamiliar (conformal prediction). Where k
networks are asked, any of them may call a set unfamiliar, each with the rate r / k, so that together they keep to r.

A weights file keeps this as three tensors, `beside.familiarity.anchors` (k, d), `beside.familiarity.scale` (d,) and
`beside.familiarity.scores` (m,), ascending, and as the note `familiarity` with the numbers `energy` and `alarms` (r).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..support.printable import printable
from ..weights import Description, WeightsError
from .notes import Section
from .trained import cycle_probabilities, head_passes

NOTE = "familiarity"  # where the notes of a weights file keep the two numbers
TENSORS = ("anchors", "scale", "scores")
ANCHORS = 256  # training shapes to keep, equally many of each class; 800 find hardly more strangers
MOST_SCORES = 4096  # held-out scores to keep
ALARMS = 0.05
LEAST_VARIANCE = 1e-3  # of a feature, as a share of the mean variance; some features never change


@dataclass(frozen=True)
class Familiarity:
    """Scores of sets, and how they compare with those of held-out shapes.

    Args:
        anchors: Features of training shapes times `scale`, (k, d).
        scale: Factor per feature, (d,).
        scores: Of the held-out shapes, in ascending order, (m,).
        energy: Weight of the logits.
        alarms: The share of held-out shapes that may be called unfamiliar.
    """

    anchors: Tensor
    scale: Tensor
    scores: Tensor
    energy: float
    alarms: float

    @classmethod
    def fit(
        cls,
        train: Tensor,
        labels: Tensor,
        held_out: tuple[Tensor, Tensor],
        alarms: float = ALARMS,
        seed: int = 0,
    ) -> Familiarity:
        """Statistics of a trained network.

        Args:
            train: Features of the training shapes, (shapes, d).
            labels: Their classes, (shapes,).
            held_out: Features (m, d) and logits (m, classes) of shapes that the network was not trained on.
            alarms: The share of held-out shapes that may be called unfamiliar.
            seed: Of the choice of the anchors.
        """
        features, logits = held_out
        if too_few(len(features), alarms):
            raise ValueError(f"alarms: expected at least {1 / (len(features) + 1):.3g}, got {alarms:g}")
        train = train.float()
        variance = torch.stack([train[labels == label].var(0, correction=0) for label in labels.unique()]).mean(0)
        scale = (variance + LEAST_VARIANCE * variance.mean()).clamp(min=1e-12).rsqrt()
        anchors = train[balanced(labels, ANCHORS, seed)]
        distance, energy = nearest(features.float() * scale, anchors * scale), logits.float().logsumexp(1)
        scale = scale / distance.std(correction=0).clamp(min=1e-6)
        weight = float(1 / energy.std(correction=0).clamp(min=1e-6))
        limit = torch.finfo(torch.float16).max
        found = cls((anchors * scale).clamp(-limit, limit).half(), scale, torch.zeros(0), weight, alarms)
        scores = found.score(features, logits).sort().values
        kept = torch.linspace(0, len(scores) - 1, min(len(scores), MOST_SCORES)).round().long()
        return cls(found.anchors, scale, scores[kept], weight, alarms)

    def score(self, features: Tensor, logits: Tensor) -> Tensor:
        """The scores (sets,) of features (sets, d) and logits (sets, classes), on the CPU."""
        features, logits = features.cpu().float(), logits.cpu().float()
        if features.shape[1:] != self.scale.shape:
            expected = f"expected statistics of {features.shape[1]} features, which the head reads"
            raise WeightsError(f"familiarity: {expected}, got {len(self.scale)}")
        return nearest(features * self.scale, self.anchors.float()) - self.energy * logits.logsumexp(1)

    def strangeness(self, scores: Tensor) -> Tensor:
        """The share of held-out shapes with a lower score, (sets,)."""
        return torch.searchsorted(self.scores, scores) / len(self.scores)

    def is_familiar(self, scores: Tensor) -> Tensor:
        """Whether each set looks like the training shapes, (sets,)."""
        return self.is_usual(self.strangeness(scores))

    def is_usual(self, strangeness: Tensor, networks: int = 1) -> Tensor:
        """Whether sets of this strangeness look like the training shapes, (sets,).

        Where one of several networks may call a set unfamiliar, each has its share of the false alarms (Bonferroni).
        """
        count = len(self.scores)
        at_least = (count * (1 - strangeness.double())).round()
        return (1 + at_least) / (count + 1) > self.alarms / networks

    def notes(self) -> dict[str, Any]:
        """What the notes of a weights file keep of it."""
        return {NOTE: {"energy": self.energy, "alarms": self.alarms}}

    def tensors(self) -> dict[str, Tensor]:
        """What a weights file keeps of it beside the network."""
        return {f"{NOTE}.{name}": getattr(self, name) for name in TENSORS}


class Ask:
    """Asks a classifier for probabilities, as `cycle_probabilities` does, and notes the scores of the first pass.

    Args:
        temperature: Of the classifier.
        known: Its statistics; without them no scores are noted.
    """

    def __init__(self, temperature: float, known: Familiarity | None = None) -> None:
        self.temperature, self.known = temperature, known
        self.scores: list[Tensor] = []

    def __call__(self, network: nn.Module, points: Tensor, normals: Tensor | None, samples: int) -> Tensor:
        if self.known is None:
            return cycle_probabilities(network, points, normals, samples, self.temperature)
        with head_passes(network) as seen:
            passes = cycle_probabilities(network, points, normals, samples, self.temperature)
        self.scores.append(self.known.score(*seen[0]))
        return passes


def too_few(held_out: int, alarms: float) -> bool:
    """Whether so few held-out shapes cannot keep a false-alarm rate."""
    return 1 / (held_out + 1) > alarms


def balanced(labels: Tensor, count: int, seed: int = 0) -> Tensor:
    """The numbers of about `count` shapes, equally many of each class where there are enough."""
    source = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(labels), generator=source)
    classes = labels.unique()
    each = max(1, count // len(classes))
    return torch.cat([order[labels[order] == label][:each] for label in classes])


def nearest(x: Tensor, anchors: Tensor) -> Tensor:
    """The distance from each row to the nearest anchor, (sets,)."""
    return torch.cdist(x, anchors, compute_mode="donot_use_mm_for_euclid_dist").amin(1)


def familiarity_of(description: Description, beside: Mapping[str, Tensor], path: str | Path) -> Familiarity | None:
    """The statistics in a weights file, checked; None if it has none."""
    kept = description.notes.get(NOTE)
    if kept is None:
        return None
    section = Section(description, NOTE, path)
    energy, alarms = section.number("energy"), section.number("alarms")
    try:
        anchors, scale, scores = (beside[f"{NOTE}.{name}"] for name in TENSORS)
    except KeyError:
        anchors = None
    if anchors is None or energy is None or alarms is None:
        raise _wrong(path, "the tensors anchors, scale and scores, and the numbers energy and alarms")
    if not (0 < alarms < 1 and 0 <= energy < math.inf):
        raise _wrong(path, f"alarms between 0 and 1 and a finite energy, got {alarms:g} and {energy:g}")
    sizes = (anchors.ndim, scale.ndim, scores.ndim)
    if sizes != (2, 1, 1) or anchors.shape[1:] != scale.shape or 0 in (*anchors.shape, *scores.shape):
        shapes = ", ".join(str(tuple(one.shape)) for one in (anchors, scale, scores))
        raise _wrong(path, f"anchors (k, d), scale (d,) and scores (m,), got {shapes}")
    if not all(one.is_floating_point() and bool(one.isfinite().all()) for one in (anchors, scale, scores)):
        raise _wrong(path, "finite numbers")
    if bool((scores.diff() < 0).any()):
        raise _wrong(path, "scores in ascending order")
    return Familiarity(anchors, scale.float(), scores.float(), energy, alarms)


def _wrong(path: str | Path, expected: str) -> WeightsError:
    return WeightsError(f"{printable(path)}: familiarity: expected {expected}")
