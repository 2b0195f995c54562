"""Two networks for the same classes: which sets are for which, and which axis both take for up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .prepared import Prepared, seen_by
from .trained_network import TrainedNetwork

FEW = 0.75  # of the points that a network reads: a set with fewer is for its twin


def has_few(one: Prepared) -> bool:
    """Whether a set has so few points that it is for the twin alone."""
    return one.draw.shape.distinct < FEW * one.view.points


def joint_scores(
    net: TrainedNetwork, twin: TrainedNetwork, sides: Sequence[Sequence[Prepared]], samples: int
) -> list[np.ndarray]:
    """How upright each side of several sets stands to two networks: their mean; the twin's alone for few points."""
    others = twin.side_scores([[seen_by(twin.view, one) for one in own] for own in sides], samples)
    enough = [number for number, own in enumerate(sides) if not has_few(own[0])]
    asked = net.side_scores([sides[number] for number in enough], samples) if enough else []
    scores = dict(zip(enough, asked, strict=True))
    return [other if number not in scores else (scores[number] + other) / 2 for number, other in enumerate(others)]
