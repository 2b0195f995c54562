"""The text that `data info` prints."""

import numpy as np
import pytest

from sampled_transformer.data import DataError, Pack
from sampled_transformer.data.preview import describe, draw, three_views


def test_a_dot_is_where_its_point_is():
    corners = np.array([-1.0, 1.0])
    lines = draw(corners, corners, 4, braille=True)
    assert lines == ["⠀⠀⠀⠈", "⡀⠀⠀⠀"]
    assert draw(corners, corners, 4, braille=False) == ["   .", ".   "]
    full = np.stack(np.meshgrid(np.linspace(-1, 1, 50), np.linspace(-1, 1, 50)), -1).reshape(-1, 2)
    assert draw(*full.T, 4, braille=True) == ["⣿⣿⣿⣿"] * 2
    assert draw(*full.T, 4, braille=False) == ["####"] * 2


def test_three_views_line_up():
    text = three_views(np.random.default_rng(0).uniform(-1, 1, (100, 3)), columns=20)
    lines = text.splitlines()
    assert lines[0].split("  ")[0] == "x right, y up"
    assert {len(line) for line in lines[1:]} == {64}
    assert len(lines) == 11


def packs() -> dict[str, Pack]:
    sets = [np.array([[0, 0, 0], [4, 0, 0], [4, 2, 0]]), np.random.default_rng(0).normal(size=(5, 3))]
    common = {"classes": ["flat", "round"], "names": ["one", "two"]}
    return {
        "train": Pack.from_arrays(sets, labels=[0, 1], extras={"year": np.array([7, 8])}, **common),
        "test": Pack.from_arrays(sets[:1] * 2, labels=[1, 1], normals=sets[:1] * 2, **common),
    }


def test_counts_classes_and_figures():
    text = " ".join(describe(packs(), 1).split())
    assert text.startswith("train 2 shapes of 3 to 5 points, with labels, year test 2 shapes of 3 points, with normals")
    assert " class train test flat 1 0 round 1 2 extents" in text
    # the triangle is 4 by 2, and its far corner lies (8, 2) / 3 from its centre
    assert " test 1.46 (1.46-1.46) 0.73 (0.73-0.73) 0.00 (0.00-0.00) 1.00 (1.00-1.00) 0.0000 " in text
    assert " shape 1 of train: two, round, year 8 x right" in text


def test_figures_of_many_sets_at_once():
    points = np.random.default_rng(0).normal(size=(2500, 4, 3))
    pack = Pack.from_arrays(points)
    batch = pack.batch(slice(None)).points.numpy()
    extent = batch.max(1) - batch.min(1)
    expected = f"{extent[:, 0].mean():.2f} ({extent[:, 0].min():.2f}-{extent[:, 0].max():.2f})"
    assert expected in describe({"train": pack})


def test_shape_that_is_not_there():
    with pytest.raises(DataError, match="shape: expected 0 to 1, got 2"):
        describe(packs(), 2)


def test_numbers_are_summed_up():
    sets = np.random.default_rng(0).normal(size=(4, 6, 3))
    both = {
        "train": Pack.from_arrays(sets, labels=[1.0, 2, 3, 10], target_name="volume"),
        "test": Pack.from_arrays(sets[:2], labels=[2.5, 2.5], target_name="volume"),
    }
    text = " ".join(describe(both, 1).split())
    assert " volume mean deviation smallest largest train 4 3.53553 1 10 test 2.5 0 2.5 2.5 extents" in text
    assert "shape 1 of train:, volume 2 " in text


def test_points_with_labels_and_features():
    points = np.random.default_rng(0).normal(size=(2, 4, 3))
    common = {"point_classes": ["floor", "a long wall"], "features": {"colour": np.zeros((2, 4, 3))}}
    train = Pack.from_arrays(points, point_labels=[[0, 0, 1, -1], [0, 0, 1, 1]], keep_size=True, **common)
    test = Pack.from_arrays(points, point_labels=np.ones((2, 4), int), **common)
    text = " ".join(describe({"train": train, "test": test}).split())
    arrays = "labels of points in 2 classes, feature colour (3 columns)"
    assert text.startswith(f"train 2 shapes of 4 points, with {arrays}, their size test 2 shapes")
    shares = "floor 50.00 % 0.00 % a long wall 37.50 % 100.00 % (ignored) 12.50 % 0.00 %"
    assert f" class of points train test {shares} extents" in text
    assert "(ignored)" not in describe({"test": test})
    fewer = Pack.from_arrays(points, point_labels=np.zeros((2, 4), int), point_classes=["floor"])
    assert "a long wall 37.50 % 0.00 %" in " ".join(describe({"train": train, "test": fewer}).split())
