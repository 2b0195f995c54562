from __future__ import annotations

from pathlib import Path

import numpy as np
from helpers.trained import save_small
from helpers.visits import visit

from sampled_transformer.view.attention_panel import FIELD, RECEIVED, SHARE
from sampled_transformer.view.colours import ASKING
from sampled_transformer.view.visits import Visits, open_page


def test_a_point_lights_up_its_successor(visits: Visits) -> None:
    with visit(visits) as (visitor, _):
        panel = visitor.attention
        assert panel is not None
        assert panel.seen is not None
        panel.select(5)
        keys, weights = panel.seen.layers[0].read_by(5)
        [lines] = visitor.drawing.handles["reading"]
        places = visitor.drawn(panel.seen.layers[0].positions)
        other = keys[keys != 5]
        assert np.allclose(lines.points[:, 0], places[5])
        assert np.allclose(lines.points[:, 1], places[other])
        assert f"{100 * weights[0]:.1f} %" in panel.said.content
        asking, read = visitor.drawing.handles["asking"]
        assert tuple(asking.color) == ASKING
        assert np.allclose(read.position, places[other[0]], atol=1e-6)


def test_another_cycle_is_another_successor(visits: Visits) -> None:
    with visit(visits) as (visitor, _):
        panel = visitor.attention
        assert panel is not None
        panel.select(5)
        first = panel.said.content
        panel.draw_cycle()
        assert panel.said.content != first
        assert "cycle 1:" in panel.said.content


def test_layers_and_heads_can_be_chosen(visits: Visits) -> None:
    with visit(visits) as (visitor, _):
        panel = visitor.attention
        assert panel is not None
        assert tuple(panel.layer.options) == ("1 (blocks.0)", "2 (blocks.1)")
        panel.select(3)
        panel.layer.value, panel.head.value = "2 (blocks.1)", "head 2"
        panel.draw()
        assert "in layer 2 (blocks.1), head 2" in panel.said.content


def test_colours(visits: Visits) -> None:
    with visit(visits) as (visitor, _):
        panel = visitor.attention
        assert panel is not None
        assert panel.seen is not None
        assert panel.seen.shares is not None
        seen = {}
        for name in (RECEIVED, SHARE):
            panel.colour.value = name
            panel.draw()
            seen[name] = visitor.drawing.handles["points"][0].colors.copy()
            assert "linear-gradient" in panel.scale.content
        assert f"<span>{100 * panel.seen.shares.max():.2f} %</span>" in panel.scale.content
        brightest = seen[SHARE].astype(int).sum(1)
        assert brightest[panel.seen.shares.argmax()] == brightest.max()
        assert not np.array_equal(seen[RECEIVED], seen[SHARE])


def test_the_field_grows_and_dense_attention_stands_beside_it(visits: Visits) -> None:
    with visit(visits) as (visitor, _):
        panel = visitor.attention
        assert panel is not None
        panel.select(2)
        counts = []
        for depth in (0, 1, 4):
            panel.depth.value = depth
            panel._show_field()
            counts.append(int(panel._fields()[depth].sum()))
        assert panel.colour.value == FIELD
        assert counts[:2] == [1, 2]
        assert counts[2] > 2
        assert "4 layers, 1 cycle" in panel.field.content
        assert "dense" in visitor.drawing.handles
        panel.beside.value = False
        panel._show_field()
        assert "dense" not in visitor.drawing.handles


def test_numbers_that_are_no_points_are_ignored(visits: Visits) -> None:
    with visit(visits) as (visitor, _):
        panel = visitor.attention
        assert panel is not None
        panel.select(10_000)
        assert panel.point is None


def test_a_network_without_attention_says_so_and_offers_no_layers(tmp_path: Path) -> None:
    running = Visits(open_page(str(save_small(tmp_path / "none.safetensors", "basic-none"))), port=0)
    try:
        with visit(running) as (visitor, _):
            panel = visitor.attention
            assert panel is not None
            assert "no attention between points" in panel.said.content
            assert not any(control.visible for control in (panel.number, panel.layer, panel.head, panel.again))
            panel.colour.value = SHARE
            panel.draw()
            assert "linear-gradient" in panel.scale.content  # which points decide can still be seen
    finally:
        running.stop()
