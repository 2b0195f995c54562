"""The part of the live page about clustering: points in the plane, and the mixture that a network finds for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..clustering.fit import Clusters, fit_points
from ..data.sources.gaussians import sample_mixtures
from ..models.mixture import MixtureNetwork
from ..support.palette import colour, hexadecimal
from . import texts
from .colours import by_class
from .shapes import Item

if TYPE_CHECKING:
    from .visitor import Visitor

CORNERS = 64  # of an ellipse
MOST_REFINED = 10


class MixturePanel:
    """Controls and pictures of one visitor."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor, self.drawing = visitor, visitor.drawing
        self.seed = 0
        self.points: np.ndarray | None = None
        self.name = ""
        gui: Any = visitor.client.gui
        with gui.add_folder("Clusters"):
            self.said = gui.add_html(texts.paragraph("Points in the plane, and Gaussians of two deviations."))
            self.refine = gui.add_slider("EM steps", 0, MOST_REFINED, 1, 0)
            self.again = gui.add_button("Draw other points", icon=visitor.icon("REFRESH"))
            self.table = gui.add_html("")
        self.refine.on_update(visitor.safely(lambda _: self.draw()))
        self.again.on_click(visitor.safely(lambda _: self.draw_points()))

    def draw_points(self) -> None:
        """Draw a set like those of the training, and cluster it."""
        trained_on = self.visitor.page.mixtures
        self.seed += 1
        drawn = sample_mixtures(
            1,
            trained_on.points,
            torch.Generator().manual_seed(self.seed),
            components=trained_on.components,
            dim=trained_on.dimension,
            spread=trained_on.spread,
            deviation=trained_on.deviation,
        )
        self.points, self.name = drawn.points[0].double().numpy(), f"drawn set {self.seed}"
        self.draw()

    def show(self) -> None:
        """Cluster the points of the visitor's file, or drawn ones if there is none."""
        item: Item | None = self.visitor.item
        if item is None:
            self.draw_points()
            return
        self.points, self.name = item.vertices, item.name
        self.draw()

    def draw(self) -> None:
        """Find the mixture, and draw the points by cluster with an ellipse around each cluster."""
        if self.points is None:
            return
        page = self.visitor.page
        network = page.trained.network
        assert isinstance(network, MixtureNetwork)
        with page.asking():
            found = fit_points(network, page.mixtures, self.points, self.name, refine=int(self.refine.value))
        flat, scale, centre = _in_plane(found)
        self.drawing.cloud("points", flat, by_class(found.assignments), 0.015)
        for number in range(len(found.weights)):
            ring = _ellipse(found, number, scale, centre)
            shade = np.tile(np.array(colour(number), np.uint8), (CORNERS, 1))
            self.drawing.path(f"cluster {number}", ring, shade, 3)
        self.said.content = texts.paragraph(
            f"{self.name}: {len(self.points)} points, log-likelihood per point {found.log_likelihood:.3f}",
            kind="clusters",
        )
        counts = np.bincount(found.assignments, minlength=len(found.weights))
        names = [f"weight {weight:.2f}" for weight in found.weights]
        colours = [hexadecimal(number) for number in range(len(names))]
        self.table.content = texts.legend(names, counts.tolist(), colours)


def _in_plane(found: Clusters) -> tuple[np.ndarray, float, np.ndarray]:
    """The points in the unit square of the plane z = 0, and the scale and the centre that put them there."""
    points = found.points[:, :3]
    points = np.pad(points, ((0, 0), (0, 3 - points.shape[1])))
    low, high = points.min(0), points.max(0)
    centre = (low + high) / 2
    scale = 2 / max(float((high - low).max()), 1e-12)
    return (points - centre) * scale, scale, centre


def _ellipse(found: Clusters, number: int, scale: float, centre: np.ndarray) -> np.ndarray:
    """Two deviations around the mean of a cluster, in the first two coordinates, (CORNERS + 1, 3)."""
    angle = np.linspace(0, 2 * np.pi, CORNERS + 1)
    mean = np.pad(found.means[number], (0, 3))[:3]
    deviation = np.pad(found.deviations[number], (0, 2))[:2]
    ring = np.zeros((CORNERS + 1, 3))
    ring[:, :2] = 2 * deviation * np.stack([np.cos(angle), np.sin(angle)], 1)
    placed: np.ndarray = (ring + mean - centre) * scale
    return placed
