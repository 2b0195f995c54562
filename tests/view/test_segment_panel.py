"""The panel for labels of points, with a small network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from helpers.point_packs import CLASSES, halves, save_segmenter, write_halves
from helpers.visits import visit

from sampled_transformer import load
from sampled_transformer.data.formats.meshes import Mesh
from sampled_transformer.data.formats.point_files import Cloud
from sampled_transformer.support.palette import PALETTE, hexadecimal
from sampled_transformer.view.colours import FADED
from sampled_transformer.view.page import Page, open_page
from sampled_transformer.view.segment_panel import CLASS, CONFIDENCE, MISTAKES, TRUTH, SegmentPanel
from sampled_transformer.view.shapes import Item, load_item
from sampled_transformer.view.visitor import Visitor
from sampled_transformer.view.visits import Visits


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_segmenter(tmp_path_factory.mktemp("weights") / "model.safetensors")


@pytest.fixture
def labelling(weights: Path) -> Iterator[Visits]:
    """A scan whose labels are the network's own, except at 40 points and at 10 without a label."""
    trained = load(weights)
    points = np.random.default_rng(0).uniform(-1, 1, size=(400, 3))
    truth = trained.segment(points).labels.astype(np.int64)
    assert 20 < truth.sum() < 380  # both classes are there
    truth[:40] = 1 - truth[:40]
    truth[390:] = -1
    item = Item("scan", Cloud(points), labels=truth, names=dict(enumerate(CLASSES)))
    running = Visits(Page(trained, None, item, str(weights)), port=0)
    yield running
    running.stop()


def panel_of(visitor: Visitor) -> SegmentPanel:
    panel = visitor.segment
    assert panel is not None, visitor.status.content
    return panel


def colours(visitor: Visitor) -> list[tuple[int, ...]]:
    return [tuple(colour) for colour in visitor.drawing.handles["points"][0].colors.tolist()]


def test_colours_legend_and_classes_on_and_off(labelling: Visits) -> None:
    with visit(labelling) as (visitor, _):
        panel = panel_of(visitor)
        assert panel.found is not None
        assert "89.7 % of the 390 points with a known class labelled correctly" in panel.said.content
        assert all(name in panel.legend.content for name in CLASSES)
        assert hexadecimal(1) in panel.legend.content
        assert colours(visitor) == [PALETTE[number] for number in panel.found.labels]
        panel.switches[1].value = False
        panel.draw()
        assert colours(visitor) == [PALETTE[0]] * int((panel.found.labels == 0).sum())
        panel.switches[1].value = True
        panel.least.value = float(np.median(panel.found.confidence))
        panel.draw()
        assert 190 < len(colours(visitor)) < 210


def test_confidence_is_a_scale_whose_ends_are_named(labelling: Visits) -> None:
    with visit(labelling) as (visitor, _):
        panel = panel_of(visitor)
        assert panel.found is not None
        panel.colour.value = CONFIDENCE
        panel.draw()
        assert colours(visitor)[int(panel.found.confidence.argmax())] == (253, 231, 37)
        low, high = panel.found.confidence.min(), panel.found.confidence.max()
        assert f"<span>{100 * low:.0f} %</span><span>{100 * high:.0f} %</span>" in panel.scale.content
        panel.colour.value = CLASS
        panel.draw()
        assert panel.scale.content == ""


def test_truth_and_mistakes_are_shown_where_labels_exist(labelling: Visits) -> None:
    with visit(labelling) as (visitor, _):
        panel = panel_of(visitor)
        assert panel.truth is not None
        panel.colour.value = MISTAKES
        panel.draw()
        assert [number for number, colour in enumerate(colours(visitor)) if colour != FADED] == list(range(40))
        assert "wrong" in panel.scale.content
        assert ">40<" in panel.scale.content
        panel.colour.value = TRUTH
        panel.draw()
        assert colours(visitor) == [FADED if number < 0 else PALETTE[number] for number in panel.truth]
        panel.colour.value = MISTAKES
        visitor.show(Item("no labels", Cloud(np.eye(3))))
        assert tuple(panel.colour.options) == (CLASS, CONFIDENCE)
        assert panel.colour.value == CLASS


def test_classes_that_the_network_lacks_are_not_compared(labelling: Visits) -> None:
    points = np.random.default_rng(1).uniform(-1, 1, size=(30, 3))
    labels = np.arange(30) % 3
    with visit(labelling) as (visitor, _):
        panel = panel_of(visitor)
        visitor.show(Item("other", Cloud(points), labels=labels, names={0: "tree", 1: "high", 2: "house"}))
        assert panel.truth is not None
        assert panel.truth.tolist() == [-1, 1, -1] * 10
        visitor.show(Item("nameless", Cloud(points), labels=labels))
        assert panel.truth is None


def test_meshes_are_labelled_on_their_surface(labelling: Visits) -> None:
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    mesh = Mesh(corners, np.array([[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]))
    with visit(labelling) as (visitor, _):
        visitor.show(Item("tetrahedron", mesh))
        panel = panel_of(visitor)
        assert "20,000 points" in panel.said.content
        assert MISTAKES not in panel.colour.options


def test_packs_and_files_give_the_features_that_the_network_reads(tmp_path: Path) -> None:
    features = {"colour": 3, "normals": 3}
    weights = save_segmenter(tmp_path / "model.safetensors", features=features, optional=["normals"])
    write_halves(tmp_path / "pack")
    page = open_page(str(tmp_path / "pack"), str(weights))
    pack = halves(4, seed=1)
    batch = pack.batch([0])
    assert batch.normals is not None
    assert batch.features is not None
    known = {"normals": batch.normals[0], "colour": batch.features["colour"][0]}
    expected = page.trained.segment(pack.coordinates(0), known)
    lines = [" ".join(f"{number:.6f}" for number in row) for row in pack.coordinates(0)]
    (tmp_path / "scan.txt").write_text("x y z red green blue\n" + "\n".join(f"{line} 0.1 0.5 1" for line in lines))
    visits = Visits(page, port=0)
    try:
        with visit(visits) as (visitor, _):
            panel = panel_of(visitor)
            assert panel.found is not None
            assert np.array_equal(panel.found.labels, expected.labels)
            assert panel.truth is not None
            assert np.array_equal(panel.truth, pack.point_labels[0])  # type: ignore[index]
            visitor.upload("scan.txt", (tmp_path / "scan.txt").read_bytes())
            assert "labels may be far worse without" in panel.found.notes[0]
            assert "no normals" in panel.said.content
            visitor.safely(lambda _: visitor.upload("bare.xyz", b"0 0 0\n1 0 0\n0 1 1\n"))(None)
            assert "features: expected colour (3 numbers per point), got none" in visitor.status.content
            assert len(panel.found.labels) == 64  # the scan before it is still there
    finally:
        visits.stop()


def test_the_network_sees_its_own_axis_up(tmp_path: Path) -> None:
    weights = save_segmenter(tmp_path / "model.safetensors", {"up": "-y"})
    points = np.random.default_rng(0).uniform(-1, 1, size=(64, 3)) * [1.0, 3.0, 1.0]
    np.save(tmp_path / "cloud.npy", points)
    visits = Visits(open_page(str(tmp_path / "cloud.npy"), str(weights)), port=0)
    try:
        with visit(visits) as (visitor, _):
            panel = panel_of(visitor)
            assert panel.found is not None
            assert np.array_equal(panel.found.labels, visits.page.trained.segment(points).labels)
            assert np.ptp(panel.points, axis=0).argmax() == 2  # drawn with z up
    finally:
        visits.stop()


def test_a_file_keeps_labels_and_their_names(tmp_path: Path) -> None:
    head = "ply\nformat ascii 1.0\ncomment class 0 low\ncomment class 1 high\nelement vertex 2\n"
    columns = "".join(f"property float {name}\n" for name in "xyz")
    (tmp_path / "scan.ply").write_text(f"{head}{columns}property short label\nend_header\n0 0 0 1\n1 1 1 0\n")
    item = load_item(tmp_path / "scan.ply", scan=True)
    truth = item.true_classes(CLASSES)
    assert truth is not None
    assert truth.tolist() == [1, 0]


def test_classes_without_a_name_are_called_by_their_number(tmp_path: Path) -> None:
    (tmp_path / "scan.csv").write_text("x,y,z,label\n0,0,0,7\n1,1,1,2\n2,2,2,3\n")
    item = load_item(tmp_path / "scan.csv", scan=True)
    for names in (("class 2", "class 7"), ("2", "7")):
        truth = item.true_classes(names)
        assert truth is not None
        assert truth.tolist() == [1, 0, -1]
    assert item.true_classes(("ground", "roof")) is None
