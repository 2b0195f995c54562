"""The part of the live page about masked autoencoders: what the network sees, and what it makes of the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..inference.reconstruction import reconstruct_points
from . import texts
from .camera import BESIDE
from .colours import ASKING, READ, all_the_same
from .drawing import point_size

if TYPE_CHECKING:
    from .visitor import Visitor


class ReconstructionPanel:
    """Controls and pictures of one visitor."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor, self.drawing = visitor, visitor.drawing
        self.seed = 0
        network = visitor.page.trained.network
        usual = float(network.mask_ratio)  # type: ignore[arg-type]
        gui: Any = visitor.client.gui
        with gui.add_folder("Reconstruction"):
            self.said = gui.add_html(texts.paragraph("Visible points in blue, rebuilt ones in orange."))
            self.ratio = gui.add_slider("Masked", 0.05, 0.95, 0.05, round(usual, 2))
            self.again = gui.add_button("Draw another mask", icon=visitor.icon("REFRESH"))
        self.ratio.on_update(visitor.safely(lambda _: self.show()))
        self.again.on_click(visitor.safely(lambda _: self.draw_mask()))

    def draw_mask(self) -> None:
        """Rebuild with another mask."""
        self.seed += 1
        self.show()

    def show(self) -> None:
        """Rebuild the visitor's shape, and draw the result beside it."""
        prepared, page = self.visitor.prepared, self.visitor.page
        if prepared is None:
            return
        with page.asking():
            clouds = reconstruct_points(page.trained.network, prepared.points, float(self.ratio.value), self.seed)  # type: ignore[arg-type]
        points = self.visitor.drawn(np.vstack([clouds.visible, clouds.rebuilt]))
        colours = np.vstack([all_the_same(len(clouds.visible), READ), all_the_same(len(clouds.rebuilt), ASKING)])
        self.drawing.cloud("rebuilt", points + BESIDE, colours, point_size(len(points)))
        share = f"{clouds.masked} of {clouds.groups} groups masked"
        self.said.content = texts.paragraph(
            f"{share} and rebuilt; Chamfer-L2 {clouds.loss:.5f}",
            "Left: visible points in blue, rebuilt ones in orange.",
            kind="reconstruction",
        )
