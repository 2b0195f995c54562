"""The part of the live page about labels of points: colours by class, confidence, mistakes, classes on and off.

It needs a network with `segment(points, normals)`, which gives `labels`, `confidence` and `classes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.axes import turn
from ..data.files import draw_shape
from ..data.formats.meshes import Mesh
from ..support.palette import colour, hexadecimal
from . import texts
from .colours import FADED, all_the_same, by_class, scaled
from .drawing import point_size
from .shapes import UNITS

if TYPE_CHECKING:
    from .visitor import Visitor

MESH_POINTS = 20_000  # drawn from the surface of a mesh
CLASS, CONFIDENCE, MISTAKES = "class", "confidence", "mistakes"
MOST_SWITCHES = 40  # classes that can be switched off one by one


class SegmentPanel:
    """Controls and pictures of one visitor."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor, self.drawing = visitor, visitor.drawing
        self.points = np.zeros((0, 3))
        self.truth: np.ndarray | None = None
        self.found: Any = None
        gui: Any = visitor.client.gui
        with gui.add_folder("Segmentation"):
            self.said = gui.add_html(texts.paragraph("Labels of all points."))
            self.colour = gui.add_dropdown("Colour by", (CLASS, CONFIDENCE))
            self.least = gui.add_slider("Least confidence", 0.0, 1.0, 0.05, 0.0)
            self.legend = gui.add_html("")
            names = visitor.page.trained.classes[:MOST_SWITCHES]
            with gui.add_folder("Classes", expand_by_default=False):
                self.switches = [gui.add_checkbox(name, True) for name in names]
        for control in (self.colour, self.least, *self.switches):
            control.on_update(visitor.safely(lambda _: self.draw()))

    def show(self) -> None:
        """Label the points of the visitor's shape, and draw them."""
        item, page = self.visitor.item, self.visitor.page
        assert item is not None
        raw, self.truth = item.raw, item.labels
        if isinstance(raw, Mesh):
            drawn = draw_shape(raw, points=MESH_POINTS, normals="keep")
            points, normals = drawn.places, drawn.shape.normals
            self.truth = None
        else:
            points, normals = np.asarray(raw.points), raw.normals
        up = self.visitor.chosen_up() or item.up
        if up is not None:
            points = turn(points, up, self.visitor.up)
            normals = None if normals is None else turn(np.asarray(normals), up, self.visitor.up)
        scale = UNITS.get(self.visitor.unit(), 1.0)
        trained: Any = page.trained
        with page.asking():
            self.found = trained.segment(points * scale, normals)
        centre = (points.min(0) + points.max(0)) / 2
        self.points = (points - centre) / max(float(np.linalg.norm(points - centre, axis=1).max()), 1e-12)
        choices = (CLASS, CONFIDENCE) if self.truth is None else (CLASS, CONFIDENCE, MISTAKES)
        if tuple(self.colour.options) != choices:
            self.colour.options = choices
        self.draw()

    def draw(self) -> None:
        """Draw the points of the classes that are on."""
        if self.found is None:
            return
        labels = np.asarray(self.found.labels)
        confidence = np.asarray(self.found.confidence)
        shown = confidence >= float(self.least.value)
        for number, switch in enumerate(self.switches):
            if not switch.value:
                shown &= labels != number
        self.drawing.cloud("points", self.points[shown], self._colours(labels, confidence)[shown], self._size())
        counts = np.bincount(labels, minlength=len(self.found.classes))
        order = [number for number in np.argsort(-counts, kind="stable").tolist() if counts[number]]
        self.legend.content = texts.legend(
            [self.found.classes[number] for number in order],
            [int(counts[number]) for number in order],
            [hexadecimal(number) for number in order],
        )
        said = [f"{len(labels):,} points, mean confidence {100 * confidence.mean():.0f} %"]
        if self.truth is not None:
            said.append(f"{100 * (labels == self.truth).mean():.1f} % of the points labelled correctly")
        self.said.content = texts.paragraph(*said, kind="segmentation")

    def _colours(self, labels: np.ndarray, confidence: np.ndarray) -> np.ndarray:
        if self.colour.value == CONFIDENCE:
            return scaled(confidence)
        if self.colour.value == MISTAKES and self.truth is not None:
            wrong = labels != self.truth
            return np.where(wrong[:, None], np.array(colour(1), np.uint8), all_the_same(len(labels), FADED))
        return by_class(labels)

    def _size(self) -> float:
        return point_size(len(self.points))
