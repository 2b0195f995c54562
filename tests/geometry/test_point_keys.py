"""Keys follow the points of a set: not their order, their units, nor the last bits of their coordinates."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sampled_transformer.geometry.point_keys import CHUNK, KEY_BITS, TIE_BITS, canonical_order, point_keys, sorted_keys


def cloud(sets: int, n: int, seed: int = 0) -> Tensor:
    return torch.randn(sets, n, 3, generator=torch.Generator().manual_seed(seed))


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 40), st.integers(1, 5), st.integers(0, 2**31))
def test_a_point_keeps_its_key_in_any_order(n: int, dimension: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    points, order = torch.randn(2, n, dimension, generator=generator), torch.randperm(n, generator=generator)
    keys = point_keys(points)
    assert torch.equal(point_keys(points[:, order]), keys[:, order])
    assert keys.min() >= 0
    assert keys.max() < 1 << KEY_BITS
    first = canonical_order(points)
    assert torch.equal(
        points[:, order].gather(1, canonical_order(points[:, order])[..., None].expand_as(points)),
        points.gather(1, first[..., None].expand_as(points)),
    )


def test_padded_and_packed_sets_have_the_keys_of_plain_ones() -> None:
    points = cloud(3, 9)
    keys = point_keys(points)
    mask = torch.tensor([[True] * 9 + [False] * 2, [False] + [True] * 9 + [False], [True, False, False] + [True] * 8])
    padded = torch.full((3, 11, 3), torch.nan)
    padded[mask] = points.flatten(0, 1)
    assert torch.equal(point_keys(padded, mask)[mask], keys.flatten())
    assert torch.equal(point_keys(points.flatten(0, 1), ptr=[0, 9, 9, 18, 27]), keys.flatten())
    packed = canonical_order(points.flatten(0, 1), ptr=torch.tensor([0, 9, 18, 27]))
    assert torch.equal(packed.view(3, 9) - torch.tensor([[0], [9], [18]]), canonical_order(points))
    first = canonical_order(padded, mask)
    assert mask.gather(1, first)[:, :9].all()


def test_zeros_of_both_signs_are_one_place() -> None:
    points = torch.tensor([[[0.0, 1.0], [-0.0, 1.0], [2.0, -0.0], [2.0, 0.0]]])
    one, two, three, four = point_keys(points)[0].tolist()
    assert one == two != three == four


def test_units_and_shifts_do_not_matter_and_last_bits_hardly() -> None:
    points = cloud(4, 512).double()
    names = point_keys(points) >> TIE_BITS
    moved = point_keys(points * 1000 - torch.tensor([3e4, 0.0, -7.0]).double()) >> TIE_BITS
    assert (moved == names).double().mean() > 0.999
    rounded = points.float() * 1.0000001
    assert (point_keys(rounded) >> TIE_BITS == names).double().mean() > 0.98
    # Planes of symmetry are where shapes have many points: they lie inside a cell, not on its border.
    flat = points.clone()
    flat[..., 2] = 0
    flat[:, 0], flat[:, 1] = -2.0, 2.0
    noise = 1e-9 * torch.randn_like(flat)
    assert (point_keys(flat + noise) >> TIE_BITS == point_keys(flat) >> TIE_BITS).double().mean() > 0.999


@pytest.mark.parametrize("far", [1e3, 1e9])
def test_points_are_told_apart_beside_one_that_is_far_away(far: float) -> None:
    points = cloud(1, 300).double()
    points[0, 0] = far
    assert len(point_keys(points).unique()) == 300


def test_many_points_have_different_keys_in_parts_and_at_once() -> None:
    points = cloud(1, 2 * CHUNK + 5)
    keys = point_keys(points)
    assert len(keys.unique()) == points.shape[1]
    assert torch.equal(torch.compile(point_keys, backend="eager")(points), keys)  # which takes no parts


@pytest.mark.parametrize("shape", [(0, 4, 3), (2, 0, 3)])
def test_nothing_has_no_keys(shape: tuple[int, ...]) -> None:
    assert point_keys(torch.zeros(shape)).shape == shape[:2]
    assert canonical_order(torch.zeros(shape)).shape == shape[:2]


def test_points_at_one_place_keep_their_order() -> None:
    assert canonical_order(torch.ones(1, 6, 3)).tolist() == [list(range(6))]
    assert sorted_keys(torch.tensor([3, 1, 3, 1])).tolist() == [1, 3, 0, 2]


def test_keys_are_the_same_for_ever() -> None:
    """Weights are shared with the cycles that they are evaluated on: a change here changes published results."""
    points = torch.tensor([[[0.0, 0.0, 0.0], [1.0, 0.5, 0.25], [0.1, 0.2, 0.3]]])
    assert point_keys(points).tolist() == [[435461638, 4487843702415597062, 52505939794365401]]


def test_what_is_no_set_is_refused() -> None:
    with pytest.raises(ValueError, match="points: expected finite"):
        point_keys(torch.full((1, 2, 3), torch.nan))
    with pytest.raises(ValueError, match="points: expected a tensor of shape"):
        point_keys(torch.zeros(4, 3))
