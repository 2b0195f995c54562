"""What changed in the data of a run is found and said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sampled_transformer.data import Pack
from sampled_transformer.training.data_digest import changes, combined, data_digest


@pytest.fixture
def pack(make_pack) -> Pack:
    return make_pack(4, 0)


def test_equal_data_has_equal_digests(pack: Pack, make_pack) -> None:
    one, two = (data_digest({"train": one, "test": None}) for one in (pack, make_pack(4, 0)))
    assert one == two
    assert combined(one) == combined(two)
    assert changes(one, two) == []
    renamed = data_digest({"train": replace(pack, names=np.array(["x"] * len(pack)))})
    assert changes(one, renamed) == []  # training does not read the names of files


def test_what_changed_is_said(pack: Pack, make_pack) -> None:
    before = data_digest({"train": pack, "test": pack})
    points = pack.points.copy()
    points[3, 5, 1] += 1
    cases = {
        "the training split has 9 shapes instead of 12": make_pack(3, 0),
        "the training split has other points": replace(pack, points=points),
        "the training split has other labels": replace(pack, labels=pack.labels[::-1].copy()),
        "the training split has other classes": replace(pack, classes=("a", "b", "c")),
        "the training split has other normals": replace(pack, normals=None),
    }
    for text, changed in cases.items():
        now = data_digest({"train": changed, "test": pack})
        assert changes(before, now) == [text]
        assert combined(before) != combined(now)
    assert changes(before, data_digest({"train": pack})) == ["the test split is missing"]
    assert changes(data_digest({"train": pack}), before) == ["the test split is new"]


def test_ragged_sets_have_digests() -> None:
    sets = [np.random.default_rng(n).normal(size=(n, 3)) for n in (4, 5)]
    one, two = (Pack.from_arrays(list(order)) for order in (sets, sets[::-1]))
    assert changes(data_digest({"train": one}), data_digest({"train": two})) == ["the training split has other points"]
