from __future__ import annotations

import numpy as np
from helpers.visits import visit

from sampled_transformer.view.visits import Visits


def test_drawn_points_get_a_mixture(clustering: Visits) -> None:
    with visit(clustering) as (visitor, _):
        panel = visitor.mixture
        assert panel is not None
        assert "drawn set 1" in panel.said.content
        assert "weight" in panel.table.content
        rings = [name for name in visitor.drawing.handles if name.startswith("cluster ")]
        assert 1 <= len(rings) <= clustering.page.mixtures.components
        panel.draw_points()
        assert "drawn set 2" in panel.said.content


def test_clusters_of_an_upload(clustering: Visits) -> None:
    generator = np.random.default_rng(0)
    centres = np.array([[0, 0], [90, 0], [0, 90], [90, 90.0]])
    points = np.repeat(centres, 40, 0) + generator.normal(size=(160, 2)) * 5
    text = "\n".join(f"{x},{y}" for x, y in points).encode()
    with visit(clustering) as (visitor, _):
        visitor.upload("own.csv", text)
        panel = visitor.mixture
        assert panel is not None
        panel.refine.value = 3
        panel.draw()
        assert "own.csv: 160 points" in panel.said.content
        colours = visitor.drawing.handles["points"][0].colors
        assert all(len(np.unique(colours[start : start + 40], axis=0)) == 1 for start in range(0, 160, 40))
        before = panel.said.content
        visitor.safely(lambda _: visitor.upload("flat.csv", b"1,2,3\n3,4,5\n"))(None)
        assert "expected 2 numbers per point" in visitor.status.content
        assert panel.said.content == before
