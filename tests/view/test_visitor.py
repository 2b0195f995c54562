from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.visits import visit

from sampled_transformer.inference.trained_network import load
from sampled_transformer.view.texts import answer
from sampled_transformer.view.visitor import Visitor
from sampled_transformer.view.visits import Visits


def npy(points: np.ndarray, folder: Path) -> bytes:
    np.save(folder / "own.npy", points)
    return (folder / "own.npy").read_bytes()


def test_an_upload_gets_the_answer_of_predict(visits: Visits, tmp_path: Path) -> None:
    content = npy(np.random.default_rng(0).normal(size=(80, 3)), tmp_path)
    trained = load(visits.page.weights)
    with visit(visits) as (visitor, _):
        visitor.upload("own.npy", content)
        found = trained.probabilities(tmp_path / "own.npy", samples=8)
        assert visitor.answer.content == answer(found.top(5), None, found.familiar)
        assert "own.npy: 80 points" in visitor.about.content
        visitor.ups.value = "y"
        visitor._again()
        found = trained.probabilities(tmp_path / "own.npy", samples=8, up="y")
        assert visitor.answer.content == answer(found.top(5), None, found.familiar)


def test_a_broken_upload_is_a_message_and_the_shape_stays(visits: Visits) -> None:
    with visit(visits) as (visitor, _):
        before, said = visitor.item, visitor.answer.content
        visitor.safely(lambda _: visitor.upload("broken.ply", b"nonsense"))(None)
        assert "broken.ply" in visitor.status.content
        assert 'data-said="problem"' in visitor.status.content
        assert (visitor.item, visitor.answer.content) == (before, said)
        visitor._go("Next")
        assert visitor.status.content == ""
        assert visitor.item is not before


def test_a_mistake_of_ours_does_not_end_the_page(visits: Visits, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(_: Any) -> None:
        raise KeyError("x")

    with visit(visits) as (visitor, _):
        visitor.safely(fail)(None)
        assert "this did not work (KeyError)" in visitor.status.content
    assert "Traceback" in capsys.readouterr().err


def test_visitors_do_not_see_each_other(visits: Visits, tmp_path: Path) -> None:
    content = npy(np.random.default_rng(1).normal(size=(40, 3)), tmp_path)
    with visit(visits) as (one, _), visit(visits) as (two, _):
        assert one.client.client_id != two.client.client_id
        other = two.item, two.answer.content, two.about.content
        one.upload("secret.npy", content)
        assert (two.item, two.answer.content, two.about.content) == other
        assert "secret" in one.about.content
    everyone = visits.server.gui._gui_input_handle_from_uuid  # elements that all visitors share
    assert not everyone


def test_a_click_near_a_point_selects_it(visits: Visits) -> None:
    with visit(visits) as (visitor, _):
        assert visitor.prepared is not None
        points = visitor.drawn(visitor.prepared.points.numpy())
        target = int(points[:, 1].argmin())  # the foremost for somebody who looks along y
        eye = points[target] + [0, -3, 0]
        click(visitor, eye, points[target] - eye)
        assert visitor.attention is not None
        assert visitor.attention.point == target
        click(visitor, eye, np.array([0, -1.0, 0]))  # into the void
        assert visitor.attention.point == target


def click(visitor: Visitor, origin: np.ndarray, direction: np.ndarray) -> None:
    visitor._clicked(SimpleNamespace(ray_origin=tuple(origin), ray_direction=tuple(direction)))


def test_the_file_itself_lies_on_what_the_network_reads(visits: Visits, tmp_path: Path) -> None:
    cloud = np.random.default_rng(2).normal(size=(60, 3)) * [5, 1, 2] + 100
    with visit(visits) as (visitor, _):
        visitor.upload("own.npy", npy(cloud, tmp_path))
        visitor.ups.value = "x"
        visitor._again()
        seen = visitor.prepared
        assert seen is not None
        assert seen.draw.rows is not None
        placed = visitor._placed(cloud)[seen.draw.rows[seen.order]]
        assert np.allclose(placed, seen.points, atol=1e-4)
        visitor.whole.value = True
        visitor._draw_file()
        assert len(visitor.drawing.handles["file"][0].points) == 60


def test_who_leaves_is_forgotten(visits: Visits) -> None:
    with visit(visits) as (visitor, _):
        number = visitor.client.client_id
    end = time.monotonic() + 20
    while number in visits.visitors and time.monotonic() < end:
        time.sleep(0.05)
    assert number not in visits.visitors
    assert visitor.is_gone()
