"""The part of the live page about labels of points: colours by class, confidence, mistakes, classes on and off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.axes import turn
from ..data.files import draw_shape
from ..data.formats.meshes import Mesh
from ..inference.segmentation import Segmentation, point_view_of
from ..support.palette import class_colour, colour, hexadecimal
from ..training.point_loading import NORMALS
from . import texts
from .colours import FADED, all_the_same, by_class, scaled
from .drawing import point_size
from .shapes import UNITS, Item

if TYPE_CHECKING:
    from .visitor import Visitor

MESH_POINTS = 20_000  # drawn from the surface of a mesh
CLASS, CONFIDENCE, TRUTH, MISTAKES = "class", "confidence", "true class", "mistakes"
MOST_SWITCHES = 40  # classes that can be switched off one by one
WRONG, GREY = hexadecimal(1), "#{:02x}{:02x}{:02x}".format(*FADED)


class SegmentPanel:
    """Controls and pictures of one visitor."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor, self.drawing = visitor, visitor.drawing
        self.points = np.zeros((0, 3))
        self.truth: np.ndarray | None = None  # -1 where nobody knows the class
        self.found: Segmentation | None = None
        trained = visitor.page.trained
        self.view = point_view_of(trained.description, trained.name)
        gui: Any = visitor.client.gui
        with gui.add_folder("Segmentation"):
            self.said = gui.add_html(texts.paragraph("Labels of all points."))
            self.colour = gui.add_dropdown("Colour by", (CLASS, CONFIDENCE))
            self.scale = gui.add_html("")
            self.least = gui.add_slider("Least confidence", 0.0, 1.0, 0.05, 0.0)
            self.legend = gui.add_html("")
            names = trained.classes[:MOST_SWITCHES]
            with gui.add_folder("Classes", expand_by_default=False):
                self.switches = [gui.add_checkbox(name, True) for name in names]
        for control in (self.colour, self.least, *self.switches):
            control.on_update(visitor.safely(lambda _: self.draw()))

    def show(self) -> None:
        """Label the points of the visitor's shape, and draw them."""
        item, page = self.visitor.item, self.visitor.page
        assert item is not None
        trained = page.trained
        points, features = self._read(item)
        with page.asking():
            found = trained.segment(points * UNITS.get(self.visitor.unit(), 1.0), features)
        self.found = found
        self.truth = None if isinstance(item.raw, Mesh) else item.true_classes(trained.classes)
        drawn = self.visitor.drawn(points)
        centre = (drawn.min(0) + drawn.max(0)) / 2
        self.points = (drawn - centre) / max(float(np.linalg.norm(drawn - centre, axis=1).max()), 1e-12)
        choices = (CLASS, CONFIDENCE) if self.truth is None else (CLASS, CONFIDENCE, TRUTH, MISTAKES)
        if tuple(self.colour.options) != choices:
            self.colour.options = choices
        self.draw()

    def _read(self, item: Item) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Points with the axis up that the network expects, and those of their features that it reads."""
        raw = item.raw
        if isinstance(raw, Mesh):
            shape = draw_shape(raw, points=MESH_POINTS, normals="keep")
            points, normals, known = shape.places, shape.shape.normals, {}
        else:
            points, normals, known = np.asarray(raw.points), raw.normals, dict(item.features)
        if normals is not None:
            known[NORMALS] = np.asarray(normals)
        up = self.visitor.chosen_up() or item.up
        if up is not None:
            points = turn(points, up, self.visitor.up)
            if NORMALS in known:
                known[NORMALS] = turn(known[NORMALS], up, self.visitor.up)
        return points, {name: values for name, values in known.items() if name in self.view.features}

    def draw(self) -> None:
        """Draw the points of the classes that are on."""
        found = self.found
        if found is None:
            return
        labels, confidence = found.labels, found.confidence
        shown = confidence >= float(self.least.value)
        for number, switch in enumerate(self.switches):
            if not switch.value:
                shown &= labels != number
        self.drawing.cloud("points", self.points[shown], self._colours(found)[shown], self._size())
        counts = np.bincount(labels, minlength=len(found.classes))
        order = [number for number in np.argsort(-counts, kind="stable").tolist() if counts[number]]
        self.legend.content = texts.legend(
            [found.classes[number] for number in order],
            [int(counts[number]) for number in order],
            [class_colour(number) for number in order],
        )
        self.said.content = texts.paragraph(*self._lines(found), kind="segmentation")
        self._say_colours(confidence)

    def _say_colours(self, confidence: np.ndarray) -> None:
        """What the colours mean, where they are not those of the classes."""
        said = ""
        if self.colour.value == CONFIDENCE and len(confidence):
            least, most = (f"{100 * end:.0f} %" for end in (confidence.min(), confidence.max()))
            said = texts.scale(least, most, "Confidence in the class of a point.")
        elif self.colour.value == MISTAKES and self.truth is not None:
            known = self.truth >= 0
            wrong = int((self.found.labels != self.truth)[known].sum()) if self.found is not None else 0
            said = texts.legend(["wrong", "right, or no known class"], [wrong, len(known) - wrong], [WRONG, GREY])
        self.scale.content = said

    def _lines(self, found: Segmentation) -> list[str]:
        confidence = found.confidence
        lines = [f"{len(confidence):,} points, mean confidence {100 * confidence.mean():.0f} %", *found.notes]
        if self.truth is not None:
            known = self.truth >= 0
            right = (found.labels == self.truth)[known].mean()
            whose = "the points" if known.all() else f"the {known.sum():,} points with a known class"
            lines.append(f"{100 * right:.1f} % of {whose} labelled correctly")
        return lines

    def _colours(self, found: Segmentation) -> np.ndarray:
        if self.colour.value == CONFIDENCE:
            return scaled(found.confidence)
        if self.truth is None or self.colour.value == CLASS:
            return by_class(found.labels)
        faded = all_the_same(len(found.labels), FADED)
        known = (self.truth >= 0)[:, None]
        if self.colour.value == TRUTH:
            return np.where(known, by_class(self.truth.clip(0)), faded)
        wrong = (found.labels != self.truth)[:, None]
        return np.where(known & wrong, np.array(colour(1), np.uint8), faded)

    def _size(self) -> float:
        return 1.5 * point_size(len(self.points))  # so that nearer points hide those behind them
