"""Parts of sets, and augmentation of packed sets."""

from __future__ import annotations

import pytest
import torch

from sampled_transformer.data import Batch
from sampled_transformer.data.point_transforms import PointAugmentation, choose_rows

PTR = torch.tensor([0, 30, 30, 50])
STILL = {"turn": "none", "flip": False, "scale": (1.0, 1.0)}


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def batch() -> Batch:
    points = torch.rand(50, 3, generator=generator(9)) * 2 - 1
    features = {"colour": torch.rand(50, 3, generator=generator(8)), "height": torch.ones(50, 1)}
    normals = torch.nn.functional.normalize(points, dim=1)
    return Batch(points, normals, None, PTR, torch.arange(50) % 4 - 1, features)


def test_a_subset_is_random_and_a_crop_is_what_lies_nearest_on_the_ground() -> None:
    points = torch.rand(100, 3)
    assert choose_rows(points, 100, "subset", None).tolist() == list(range(100))
    assert choose_rows(points, 200, "crop", None).tolist() == list(range(100))
    subset = choose_rows(points, 20, "subset", generator())
    assert len(set(subset.tolist())) == 20
    assert torch.equal(subset, choose_rows(points, 20, "subset", generator()))
    assert not torch.equal(subset, choose_rows(points, 20, "subset", generator(1)))
    crop = choose_rows(points, 20, "crop", generator())
    assert crop.tolist() == sorted(set(crop.tolist()))
    found = []
    for middle in points[:, :2]:
        nearest = (points[:, :2] - middle).norm(dim=1).argsort()[:20]
        found.append(sorted(nearest.tolist()) == crop.tolist())
    assert any(found)  # around one of the points


@pytest.mark.parametrize("turn", ["none", "up", "any"])
@pytest.mark.parametrize("flip", [False, True])
def test_sets_turn_as_a_whole_with_their_normals(turn: str, flip: bool) -> None:
    before = batch()
    after = PointAugmentation(turn=turn, flip=flip, scale=(2.0, 2.0))(before, generator())
    assert torch.equal(after.point_labels, before.point_labels)
    assert torch.equal(after.features["colour"], before.features["colour"])
    signs = set()
    for number in (0, 2):
        own = slice(int(PTR[number]), int(PTR[number + 1]))
        matrix = torch.linalg.lstsq(before.points[own], after.points[own]).solution.T / 2
        torch.testing.assert_close(matrix @ matrix.T, torch.eye(3), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(after.normals[own], before.normals[own] @ matrix.T, rtol=1e-4, atol=1e-4)
        if turn != "any":
            torch.testing.assert_close(matrix[2], torch.tensor([0.0, 0.0, 1.0]), rtol=1e-4, atol=1e-4)
        signs.add(round(float(torch.linalg.det(matrix))))
    assert signs <= ({1, -1} if flip else {1})
    if turn == "none" and not flip:
        torch.testing.assert_close(after.points, 2 * before.points)


def test_half_of_the_sets_are_mirrored() -> None:
    many = Batch(torch.ones(400, 3), None, None, torch.arange(401), torch.zeros(400, dtype=torch.int64), None)
    after = PointAugmentation(turn="none", scale=(1.0, 1.0))(many, generator())
    mirrored = (after.points < 0).any(1)
    assert 150 < int(mirrored.sum()) < 250
    assert (after.points[:, 2] == 1).all()


def test_sizes_stay_in_their_range() -> None:
    many = Batch(torch.ones(400, 3), None, None, torch.arange(401), torch.zeros(400, dtype=torch.int64), None)
    sizes = PointAugmentation(turn="none", flip=False, scale=(0.5, 2.0))(many, generator()).points[:, 0]
    assert 0.5 <= float(sizes.min()) < 0.6
    assert 1.9 < float(sizes.max()) <= 2.0


def test_noise_is_measured_in_spacings() -> None:
    before = batch()
    large = before._replace(points=before.points * 1024)
    one = PointAugmentation(**STILL, jitter=0.1)(before, generator())
    other = PointAugmentation(**STILL, jitter=0.1)(large, generator())
    moved = (one.points - before.points).norm(dim=1)
    assert 0.01 < float(moved.mean()) < 0.3
    torch.testing.assert_close(other.points, one.points * 1024, rtol=1e-4, atol=1e-1)


def test_each_feature_goes_missing_by_itself_for_whole_sets() -> None:
    sets = 200
    before = Batch(
        torch.rand(2 * sets, 3),
        torch.rand(2 * sets, 3),
        None,
        torch.arange(sets + 1) * 2,
        torch.zeros(2 * sets, dtype=torch.int64),
        {"colour": torch.rand(2 * sets, 3), "height": torch.rand(2 * sets, 1)},
    )
    after = PointAugmentation(**STILL, missing=0.3, optional=("normals", "colour"))(before, generator())
    lost = []
    for values in (after.normals, after.features["colour"]):
        gone = values.isnan().all(1)
        assert torch.equal(gone, values.isnan().any(1))
        assert torch.equal(gone[::2], gone[1::2])
        assert 0.2 < float(gone.double().mean()) < 0.4
        lost.append(gone)
    assert 0.02 < float((lost[0] & lost[1]).double().mean()) < 0.2
    assert after.features["height"].isfinite().all()
    assert after.points.isfinite().all()


def test_colours_stay_colours_and_a_seed_fixes_everything() -> None:
    augmentation = PointAugmentation(jitter=0.1, colour_jitter=0.5)
    before = batch()
    one, other = augmentation(before, generator(3)), augmentation(before, generator(3))
    assert torch.equal(one.points, other.points)
    colour = one.features["colour"]
    assert float(colour.min()) >= 0
    assert float(colour.max()) <= 1
    assert not torch.equal(colour, before.features["colour"])
    assert torch.equal(one.features["height"], before.features["height"])
    assert torch.equal(before.features["colour"], batch().features["colour"])  # nothing was changed in place


def test_sets_without_normals_and_features() -> None:
    after = PointAugmentation(jitter=0.1, missing=0.5, optional=("normals",))(Batch(torch.rand(50, 3), ptr=PTR))
    assert after.normals is None
    assert after.features is None
