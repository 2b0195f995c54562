"""The default weights exist, and the ones to turn to read positions alone."""

from __future__ import annotations

from sampled_transformer.inference.defaults import DEFAULT_WEIGHTS, reads_positions, robust_twins
from sampled_transformer.inference.trained import view_of
from sampled_transformer.weights import describe_model, list_pretrained


def test_the_default_ships_with_the_package() -> None:
    assert DEFAULT_WEIGHTS in list_pretrained()


def test_others_know_the_same_classes_and_read_no_normals() -> None:
    for name in list_pretrained():
        for other in reads_positions(name):
            assert set(describe_model(other).classes) == set(describe_model(name).classes)
            assert not view_of(describe_model(other), other).normals
    assert reads_positions("bricks") == []


def test_robust_twins_know_the_same_classes() -> None:
    assert robust_twins("modelnet40-points") == robust_twins("modelnet40") == ["modelnet40-robust"]
    assert robust_twins("modelnet40-robust") == robust_twins("bricks") == []
