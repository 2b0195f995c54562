"""Two networks for the same classes: which sets are for which, how sure both are, and which axis they take for up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..data.files import Draw, draw_shape
from ..data.formats.point_files import Cloud
from ..support.printable import brief, printable
from ..training.loading import View
from ..weights import WeightsError
from .notes import Section
from .prepared import Prepared, repeats_points, repetition_note, seen_by
from .temperature import LEAST, MOST
from .temperature import NOTE as CALIBRATION
from .trained_network import TrainedNetwork

SOFTENED = "beside"  # where the note on calibration keeps a temperature for each network that may be asked, too
OF_FEW = "few points"  # its name for the temperature of sets of few points
FEW = 0.75  # of the points that a network reads: a set with fewer is for its twin
FEWEST = 0.25  # of the points that a network reads: a set with fewer is filled up to so many


def has_few(one: Prepared) -> bool:
    """Whether a set has so few points that it is for the twin alone."""
    return one.draw.shape.distinct < FEW * one.view.points


def as_few(view: View, one: Prepared) -> Prepared:
    """A set of few points as the twin reads it: every point once, and copies of some only if there are very few.

    Filled up to all the points that the network reads, a set of 128 is mostly copies, and harder to recognise.
    """
    draw, distinct = one.draw, one.draw.shape.distinct
    count = min(view.points, max(round(FEWEST * view.points), distinct))
    normals = None if draw.shape.normals is None else draw.shape.normals[:distinct]
    # Drawn anew, since copies move the centre.
    drawn = draw_shape(Cloud(draw.shape.points[:distinct], normals), points=count)
    assert drawn.rows is not None
    shape = draw.shape._replace(points=drawn.shape.points, normals=drawn.shape.normals)
    cut = Draw(shape, draw.places[drawn.rows], None if draw.rows is None else draw.rows[drawn.rows])
    before = repetition_note(draw, one.view.points)
    notes = tuple(_few_note(draw, count, view.points) if note == before else note for note in one.notes)
    return replace(seen_by(replace(view, points=count), replace(one, draw=cut, notes=notes)), view=view)


def _few_note(draw: Draw, count: int, usual: int) -> str:
    distinct = draw.shape.distinct
    text = f"only {distinct} points{' that differ' * repeats_points(draw)}, where the network usually reads {usual}"
    return text if distinct >= count else f"{text}; repeated some to get {count}"


def softening(twin: TrainedNetwork, name: str) -> float:
    """The temperature that makes an answer of two calibrated networks honest; 1 if none was fitted.

    Each of both is right as often as it says, but the larger of two probabilities is too large on average, and so is
    what the twin says about few points. The file of the twin keeps one temperature by the name of the other network,
    and one as `OF_FEW`.
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
