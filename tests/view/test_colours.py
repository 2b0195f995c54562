from __future__ import annotations

import numpy as np

from sampled_transformer.support.palette import PALETTE
from sampled_transformer.view.colours import VIRIDIS, all_the_same, by_class, lightened, scaled, shaded


def test_the_scale_goes_from_dark_to_bright() -> None:
    found = scaled(np.array([3.0, 1.0, 2.0]))
    assert found[1].tolist() == VIRIDIS[0].tolist()
    assert found[0].tolist() == VIRIDIS[-1].tolist()
    assert found[1].sum() < found[2].sum() < found[0].sum()


def test_equal_numbers_and_none_have_colours_too() -> None:
    assert (scaled(np.ones(4)) == VIRIDIS[0]).all()
    assert scaled(np.zeros(0)).shape == (0, 3)
    assert shaded(np.zeros((0, 3)), None).shape == (0, 3)


def test_classes_have_the_colours_of_the_palette() -> None:
    half = [part // 2 for part in PALETTE[0]]  # the second round is darker, so that classes can be told apart
    assert by_class(np.array([0, 2, len(PALETTE)])).tolist() == [list(PALETTE[0]), list(PALETTE[2]), half]
    assert by_class(np.zeros(0, np.int64)).shape == (0, 3)
    assert all_the_same(2, (1, 2, 3)).tolist() == [[1, 2, 3]] * 2


def test_what_faces_up_or_is_higher_is_brighter() -> None:
    normals = np.array([[0, 0, 1.0], [0, 0, -1.0]])
    bright, dark = shaded(np.zeros((2, 3)), normals).sum(1)
    assert bright > dark
    low, high = shaded(np.array([[0, 0, 0], [0, 0, 1.0]]), None).sum(1)
    assert low < high
    assert (lightened(shaded(normals, None)) > shaded(normals, None)).all()
