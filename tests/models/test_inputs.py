from __future__ import annotations

import pytest
import torch
from torch import Tensor

from sampled_transformer.models.inputs import apply_per_set, check_normals, check_width


def test_width_is_that_of_the_network() -> None:
    check_width(torch.zeros(2, 5, 3), 3)
    with pytest.raises(ValueError, match=r"^points: expected 3 coordinates, as the network was built for, got 2"):
        check_width(torch.zeros(2, 5, 2), 3)


def test_normals_match_the_points_or_are_missing() -> None:
    points = torch.zeros(2, 5, 3)
    check_normals(points, points, wanted=True)
    check_normals(None, points, wanted=False)
    with pytest.raises(ValueError, match=r"^normals: expected one per point, of shape \(2, 5, 3\), got None"):
        check_normals(None, points, wanted=True)
    with pytest.raises(ValueError, match=r"^normals: expected the shape of the points \(2, 5, 3\), got \(2, 4, 3\)"):
        check_normals(points[:, :4], points, wanted=True)
    with pytest.raises(ValueError, match=r"^normals: expected None, .* got torch.float32 of shape \(2, 5, 3\)"):
        check_normals(points, points, wanted=False)


def total(points: Tensor, mask: Tensor | None) -> Tensor:
    """The sum of the real points of each set."""
    if mask is not None:
        points = points.masked_fill(~mask[..., None], 0)
    return points.sum(1)


def test_every_form_gives_one_row_per_set_in_order() -> None:
    sizes = [5, 0, 1, 40, 33, 2]
    points = torch.randn(sum(sizes), 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = torch.stack([part.sum(0) for part in points.split(sizes)])
    torch.testing.assert_close(apply_per_set(total, points, None, torch.tensor([0, *sizes]).cumsum(0)), expected)
    mask = torch.arange(40) < torch.tensor(sizes)[:, None]
    padded = torch.full((6, 40, 2), torch.nan, dtype=torch.float64).index_put((mask,), points)
    torch.testing.assert_close(apply_per_set(total, padded, mask, None), expected)
    torch.testing.assert_close(apply_per_set(total, points[None], None, None), points.sum(0, keepdim=True))


def test_packed_sets_are_padded_with_sets_of_similar_size() -> None:
    """Padding at most doubles the points: a large set does not make the small ones large."""
    seen = []

    def read(points: Tensor, mask: Tensor | None) -> Tensor:
        assert mask is not None
        seen.append((mask.numel(), int(mask.sum())))
        return total(points, mask)

    ptr = torch.tensor([0, 1000, 1003, 1006, 1008]).to(torch.int32)
    assert apply_per_set(read, torch.randn(1008, 2), None, ptr).shape == (4, 2)
    assert all(padded <= 2 * real for padded, real in seen)


def test_no_sets_at_all() -> None:
    assert apply_per_set(total, torch.zeros(0, 2), None, torch.tensor([0])).shape == (0, 2)


def test_points_that_are_not_finite_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^points: expected finite coordinates"):
        apply_per_set(total, torch.full((1, 4, 2), torch.nan), None, None)
