"""Plain, padded and packed sets: one check, one conversion."""

from __future__ import annotations

import pytest
import torch

from sampled_transformer.sets import (
    NotFiniteError,
    buckets,
    check_mask,
    check_pair,
    check_points,
    check_ptr,
    pack_sets,
    pad_sets,
    ptr_from_batch,
    segments,
)

PTR = torch.tensor([0, 3, 3, 7, 8])


def test_ptr_and_batch_vector_are_two_ways_to_write_the_same() -> None:
    batch = segments(PTR, 8)
    assert batch.tolist() == [0, 0, 0, 2, 2, 2, 2, 3]
    assert torch.equal(ptr_from_batch(batch), PTR)
    assert ptr_from_batch(batch, sets=6).tolist() == [0, 3, 3, 7, 8, 8, 8]
    assert ptr_from_batch(torch.zeros(0, dtype=torch.int64)).tolist() == [0]


def test_padding_and_packing_undo_each_other() -> None:
    points = torch.randn(8, 3)
    padded, mask = pad_sets(points, PTR)
    assert padded.shape == (4, 4, 3)
    assert mask.sum(1).tolist() == [3, 0, 4, 1]
    packed, ptr = pack_sets(padded, mask)
    assert torch.equal(packed, points)
    assert torch.equal(ptr, PTR)


def test_some_sets_can_be_padded_alone() -> None:
    padded, mask = pad_sets(torch.arange(8.0), PTR, torch.tensor([3, 0]))
    assert padded[0, 0] == 7
    assert padded[1].tolist() == [0, 1, 2]
    assert mask.tolist() == [[True, False, False], [True, True, True]]
    assert pad_sets(torch.randn(0, 3), torch.tensor([0]))[0].shape == (0, 0, 3)


def test_buckets_hold_sets_of_similar_size_and_every_set_once() -> None:
    ptr = torch.tensor([0, 5, 6, 13, 13, 29, 36]).cumsum(0)
    groups = list(buckets(ptr))
    assert sorted(torch.cat(groups).tolist()) == list(range(len(ptr) - 1))
    for group in groups:
        sizes = ptr.diff()[group]
        assert sizes.max() <= 2 * sizes.min()


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_a_ptr_of_either_width_becomes_int64(dtype: torch.dtype) -> None:
    checked = check_ptr(PTR.to(dtype), 8)
    assert checked.dtype == torch.int64
    assert torch.equal(checked, PTR)
    _, ptr = check_points(torch.randn(8, 3), "points", None, PTR.to(dtype))
    assert ptr is not None
    assert ptr.dtype == torch.int64


@pytest.mark.parametrize(
    ("ptr", "message"),
    [
        (torch.tensor([0.0, 8.0]), "ptr: expected int64 of shape .sets . 1,., got torch.float32"),
        (torch.tensor([[0, 8]]), "ptr: expected int64 of shape"),
        (torch.zeros(0, dtype=torch.int64), "ptr: expected int64 of shape"),
        ([0, 8], "ptr: expected int64 of shape .sets . 1,., got list"),
        (torch.tensor([1, 8]), "ptr: expected values that start at 0 and never fall, got .1, 8."),
        (torch.tensor([0, 5, 4, 8]), "ptr: expected values that start at 0 and never fall"),
        (torch.tensor([0, 7]), "ptr: expected the last value to be the number of points, 8, got 7"),
    ],
)
def test_a_bad_ptr_is_named(ptr: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_ptr(ptr, 8)  # type: ignore[arg-type]


def test_padding_is_cleared_and_may_hold_anything() -> None:
    points = torch.tensor([[[1.0], [torch.nan]], [[torch.inf], [2.0]]])
    mask = torch.tensor([[True, False], [False, True]])
    cleared, _ = check_points(points, "points", mask, None)
    assert cleared.flatten().tolist() == [1, 0, 0, 2]
    with pytest.raises(NotFiniteError, match="cloud: expected finite coordinates, got NaN or infinity"):
        check_points(points, "cloud", None, None)


def test_masks_and_pairs_that_do_not_fit_are_named() -> None:
    points = torch.randn(2, 5, 3)
    with pytest.raises(ValueError, match=r"mask: expected bool of shape \(2, 5\), got torch.float32 of shape \(2, 5\)"):
        check_mask(torch.ones(2, 5), points.shape[:2])
    names = ("points", "queries", "", "query_")
    with pytest.raises(ValueError, match="queries: expected 2 sets, as many as points has, got 3"):
        check_pair(points, torch.randn(3, 5, 3), None, None, names)
    with pytest.raises(ValueError, match="queries: expected 3 coordinates, as many as points has, got 2"):
        check_pair(points, torch.randn(2, 5, 2), None, None, names)
    with pytest.raises(ValueError, match="ptr, query_ptr: expected both or neither, got one"):
        check_pair(points, points, PTR, None, names)


def test_a_batch_vector_that_is_not_sorted_is_named() -> None:
    with pytest.raises(ValueError, match=r"batch: expected set numbers in ascending order, got \[0, 2, 1\]"):
        ptr_from_batch(torch.tensor([0, 2, 1]))
    with pytest.raises(ValueError, match="sets: expected at least 3, the sets of the batch vector, got 2"):
        ptr_from_batch(torch.tensor([0, 2]), sets=2)
