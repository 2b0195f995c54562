"""The panel for labels of points, with a stand-in for the network, which gives every point its nearest octant."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.visits import visit

from sampled_transformer.data.formats.meshes import Mesh
from sampled_transformer.data.formats.point_files import Cloud
from sampled_transformer.support.palette import PALETTE, hexadecimal
from sampled_transformer.view.colours import FADED
from sampled_transformer.view.page import Page
from sampled_transformer.view.segment_panel import MISTAKES
from sampled_transformer.view.shapes import Item
from sampled_transformer.view.visits import Visits

CLASSES = tuple(f"octant {number}" for number in range(8))


class StandIn:
    """A segmenter until there is a real one: it has what the page asks of a trained network."""

    description = SimpleNamespace(model="segmenter", notes={})
    classes, device, name, target = CLASSES, "cpu", "stand-in", None

    def __init__(self) -> None:
        import torch

        self.network = torch.nn.Identity()

    def segment(self, points: np.ndarray, normals: np.ndarray | None = None) -> Any:
        labels = (points > points.mean(0)) @ np.array([1, 2, 4])
        confidence = np.linspace(0, 1, len(points))
        return SimpleNamespace(labels=labels, confidence=confidence, classes=CLASSES)


@pytest.fixture
def labelling() -> Iterator[Visits]:
    points = np.random.default_rng(0).uniform(-1, 1, size=(400, 3))
    truth = (points > points.mean(0)) @ np.array([1, 2, 4])
    truth[:40] = (truth[:40] + 1) % 8
    stand_in: Any = StandIn()
    running = Visits(Page(stand_in, None, Item("scan", Cloud(points), labels=truth)), port=0)
    yield running
    running.stop()


def test_colours_legend_and_classes_on_and_off(labelling: Visits) -> None:
    with visit(labelling) as (visitor, _):
        panel = visitor.segment
        assert panel is not None
        assert "90.0 % of the points labelled correctly" in panel.said.content
        assert all(name in panel.legend.content for name in CLASSES)
        assert hexadecimal(3) in panel.legend.content
        drawn = visitor.drawing.handles["points"][0]
        assert len(drawn.points) == 400
        assert {tuple(colour) for colour in drawn.colors.tolist()} == set(PALETTE[:8])
        panel.switches[3].value = False
        panel.draw()
        drawn = visitor.drawing.handles["points"][0]
        assert len(drawn.points) == int((panel.found.labels != 3).sum())
        assert PALETTE[3] not in {tuple(colour) for colour in drawn.colors.tolist()}
        panel.least.value = 0.5
        panel.draw()
        assert len(visitor.drawing.handles["points"][0].points) < 210


def test_mistakes_are_marked_where_labels_exist(labelling: Visits) -> None:
    with visit(labelling) as (visitor, _):
        panel = visitor.segment
        assert panel is not None
        panel.colour.value = MISTAKES
        panel.draw()
        colours = visitor.drawing.handles["points"][0].colors
        wrong = (colours != np.array(FADED)).any(1)
        assert wrong.nonzero()[0].tolist() == list(range(40))


def test_meshes_are_labelled_on_their_surface(labelling: Visits) -> None:
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    mesh = Mesh(corners, np.array([[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]))
    with visit(labelling) as (visitor, _):
        visitor.show(Item("tetrahedron", mesh))
        panel = visitor.segment
        assert panel is not None
        assert "20,000 points" in panel.said.content
        assert MISTAKES not in panel.colour.options
