"""Two networks for the same classes: which sets are for which, how sure both are, and which axis they take for up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..support.printable import brief, printable
from ..weights import WeightsError
from .notes import Section
from .prepared import Prepared, seen_by
from .temperature import LEAST, MOST
from .temperature import NOTE as CALIBRATION
from .trained_network import TrainedNetwork

SOFTENED = "beside"  # where the note on calibration keeps a temperature for each network that may be asked, too
FEW = 0.75  # of the points that a network reads: a set with fewer is for its twin


def has_few(one: Prepared) -> bool:
    """Whether a set has so few points that it is for the twin alone."""
    return one.draw.shape.distinct < FEW * one.view.points


def softening(twin: TrainedNetwork, name: str) -> float:
    """The temperature that makes the surer answer of two calibrated networks honest; 1 if none was fitted.

    Each of both is right as often as it says, but the larger of two probabilities is too large on average. The file of
    the twin keeps the temperature, by the name of the other network.
    """
    kept = Section(twin.description, CALIBRATION, twin.name).values.get(SOFTENED)
    value = 1.0 if kept is None else kept.get(name, 1.0) if isinstance(kept, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not LEAST <= value <= MOST:
        expected = f"expected temperatures of {LEAST:g} to {MOST:g} in its note {CALIBRATION}.{SOFTENED}"
        raise WeightsError(f"{printable(twin.name)}: {expected}, got {brief(str(kept))}")
    return float(value)


def joint_scores(
    net: TrainedNetwork, twin: TrainedNetwork, sides: Sequence[Sequence[Prepared]], samples: int
) -> list[np.ndarray]:
    """How upright each side of several sets stands to two networks: their mean; the twin's alone for few points."""
    others = twin.side_scores([[seen_by(twin.view, one) for one in own] for own in sides], samples)
    enough = [number for number, own in enumerate(sides) if not has_few(own[0])]
    asked = net.side_scores([sides[number] for number in enough], samples) if enough else []
    scores = dict(zip(enough, asked, strict=True))
    return [other if number not in scores else (scores[number] + other) / 2 for number, other in enumerate(others)]
