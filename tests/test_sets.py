"""Plain, padded and packed sets: one check, one conversion."""

from __future__ import annotations

import numpy as np
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
    refuse_foreign,
    restore_form,
    segments,
    settle_form,
    warn_of_padding_alone,
)

PTR = torch.tensor([0, 3, 3, 7, 8])


def test_ptr_and_batch_vector_are_two_ways_to_write_the_same() -> None:
    batch = segments(PTR, 8)
    assert batch.tolist() == [0, 0, 0, 2, 2, 2, 2, 3]
    assert torch.equal(ptr_from_batch(batch), PTR)
    assert ptr_from_batch(batch, batch_size=6).tolist() == [0, 3, 3, 7, 8, 8, 8]
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
        ([0, 8.0], "ptr: expected int64 of shape .sets . 1,., got list"),
        ([[0], [0, 8]], "ptr: expected int64 of shape .sets . 1,., got list"),
        ([], "ptr: expected int64 of shape .sets . 1,., got list"),
        ("08", "ptr: expected int64 of shape .sets . 1,., got str"),
        (np.array([0.0, 8.0]), "ptr: expected int64 of shape .sets . 1,., got numpy float64 of shape .2,."),
        ([0, 5, 4, 8], "ptr: expected values that start at 0 and never fall, got .0, 5, 4, 8."),
        (np.array([0, 7]), "ptr: expected the last value to be the number of points, 8, got 7"),
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
    with pytest.raises(ValueError, match="batch: expected set numbers in ascending order, got 1 after 2; sort"):
        ptr_from_batch(torch.tensor([0, 2, 1]))
    with pytest.raises(ValueError, match="batch: expected set numbers from 0 on, got -1"):
        ptr_from_batch([-1, 0])
    with pytest.raises(ValueError, match="batch_size: expected at least 3, the sets of batch, got 2"):
        ptr_from_batch(torch.tensor([0, 2]), batch_size=2)
    with pytest.raises(ValueError, match=r"batch: expected int64 of shape \(total,\), got torch.float32"):
        ptr_from_batch(torch.zeros(3))


@pytest.mark.parametrize("form", [list, tuple, np.array, lambda values: np.array(values, dtype=np.uint8)])
def test_lists_and_numpy_arrays_cut_points_as_tensors_do(form) -> None:
    assert torch.equal(check_ptr(form(PTR.tolist()), 8), PTR)
    assert torch.equal(ptr_from_batch(form([0, 0, 0, 2, 2, 2, 2, 3])), PTR)
    assert ptr_from_batch(form([0]), batch_size=3).tolist() == [0, 1, 1, 1]
    (points,), ptr = settle_form({"points": torch.randn(8, 3)}, None, form(PTR.tolist()), None)
    assert points.shape == (8, 3)
    assert torch.equal(ptr, PTR)


def test_no_points_at_all_are_no_sets_unless_their_number_is_given() -> None:
    assert ptr_from_batch([]).tolist() == [0]
    assert ptr_from_batch([], batch_size=2).tolist() == [0, 0, 0]


@pytest.mark.parametrize("layout", [torch.jagged, torch.strided])
def test_nested_tensors_are_packed_and_come_back(layout: torch.layout) -> None:
    parts = [torch.randn(size, 4) for size in (3, 1, 5)]
    nested = torch.nested.nested_tensor(parts, layout=layout, requires_grad=True)
    (x, positions), ptr = settle_form({"x": nested, "positions": None}, None, None, None)
    assert positions is None
    assert ptr.tolist() == [0, 3, 4, 9]
    assert torch.equal(x, torch.cat(parts))
    back = restore_form(2 * x, nested)
    assert back.layout == layout
    assert all(torch.equal(one, 2 * two) for one, two in zip(back.unbind(), parts, strict=True))
    (nested + back).to_padded_tensor(0.0).sum().backward()  # adding them needs the same ragged axis
    assert all((part == 3).all() for part in nested.grad.unbind())


def test_forms_that_contradict_each_other_are_named() -> None:
    points, nested = torch.randn(8, 3), torch.nested.nested_tensor([torch.randn(3, 4)], layout=torch.jagged)
    mask, batch = torch.ones(2, 4, dtype=torch.bool), torch.zeros(8, dtype=torch.int64)
    cases = [
        ({"x": points}, {"ptr": PTR, "batch": batch}, "ptr, batch: expected at most one of them, got both"),
        ({"x": points}, {"mask": mask, "batch": batch}, "mask, batch: expected at most one of them, got both"),
        ({"x": points}, {"batch": batch[:5]}, "batch: expected one set number for each of the 8 points, got 5"),
        ({"x": points}, {"batch_size": 3}, "batch_size: expected it only with batch, got 3 without"),
        ({"x": points}, {}, r"x: expected floats of shape \(batch, n, width\), or \(total, width\) with ptr or batch"),
        ({"x": points[None]}, {"ptr": PTR}, r"x: expected floats of shape \(total, width\), got torch.float32"),
        ({"x": points.numpy()}, {}, r"x: expected a tensor, got numpy float32 of shape \(8, 3\)"),
        ({"x": nested}, {"ptr": PTR}, "ptr: expected None with nested tensors"),
        ({"x": nested, "positions": points}, {}, "positions: expected a nested tensor, as x is, got torch.float32"),
        ({"x": points[None], "positions": nested}, {}, "x: expected a nested tensor, as the others are"),
        ({"x": nested.transpose(1, 2)}, {}, r"x: expected a nested tensor of shape \(batch, ragged, dim\)"),
    ]
    for tensors, ways, message in cases:
        given = {"mask": None, "ptr": None, "batch": None, **ways}
        with pytest.raises(ValueError, match=message):
            settle_form(tensors, **given)


def test_batch_vectors_of_other_points_are_named_by_their_own_name() -> None:
    points = torch.randn(8, 3)
    with pytest.raises(ValueError, match="query_batch: expected one set number for each of the 8 points, got 3"):
        check_points(points, "queries", None, None, "query_", [0, 0, 1])
    with pytest.raises(ValueError, match="batch: expected the device of points, meta, got cpu"):
        settle_form({"points": points.to("meta")}, None, None, torch.zeros(8, dtype=torch.int64))
    with pytest.raises(ValueError, match="context_ptr, context_batch: expected at most one of them, got both"):
        settle_form({"context": points}, None, PTR, [0] * 8, prefix="context_")
    # Lists and numpy arrays go where the points are.
    assert settle_form({"points": points.to("meta")}, None, [0, 8], None)[1].is_meta


def test_nested_tensors_of_other_sets_or_with_gaps_are_named() -> None:
    one, two = (
        torch.nested.nested_tensor([torch.randn(size, 4) for size in sizes], layout=torch.jagged)
        for sizes in ((3, 2), (2, 3))
    )
    with pytest.raises(ValueError, match="positions: expected sets of the same sizes as those of x, got other sizes"):
        settle_form({"x": one, "positions": two}, None, None, None)
    start, length = torch.tensor([0, 1]), torch.tensor([2, 3])
    gaps = torch.nested.narrow(torch.randn(2, 6, 4), 1, start, length, layout=torch.jagged)
    with pytest.raises(ValueError, match=r"x: expected a contiguous nested tensor, got one with gaps"):
        settle_form({"x": gaps}, None, None, None)
    assert settle_form({"x": gaps.contiguous()}, None, None, None)[1].tolist() == [0, 2, 5]


def test_masks_of_other_libraries_are_refused_with_the_conversion() -> None:
    refuse_foreign((), "call()")
    with pytest.raises(TypeError, match="expected mask=~key_padding_mask, as True means padding there and a real"):
        refuse_foreign({"key_padding_mask": None}, "call()")
    with pytest.raises(TypeError, match=r"expected mask=attention_mask.bool\(\), as 1 means a real point there"):
        refuse_foreign({"attention_mask": None}, "call()")
    with pytest.raises(TypeError, match=r"call\(\) got an unexpected keyword argument 'maks'"):
        refuse_foreign({"maks": None}, "call()")


def test_a_mask_of_numbers_or_without_any_real_point_gives_a_hint() -> None:
    with pytest.raises(ValueError, match=r"got torch.int64 of shape \(2, 5\); write mask == 1 if 1 means a real"):
        check_mask(torch.ones(2, 5, dtype=torch.int64), torch.Size([2, 5]))
    with pytest.warns(UserWarning, match=r"mask: expected a real point in some set, got none \(True means real"):
        warn_of_padding_alone(torch.zeros(2, 5, dtype=torch.bool))
