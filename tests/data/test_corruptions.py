import math

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from sampled_transformer.data import corruptions
from sampled_transformer.data.corruptions import CORRUPTIONS

every = pytest.mark.parametrize("name", CORRUPTIONS)
REMOVALS = ("half_space", "crop", "sparse")
removals = pytest.mark.parametrize("name", REMOVALS)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def clouds(batch: int = 4, n: int = 200, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    """Points in balls, whose normals point outwards."""
    points = torch.randn(batch, n, 3, generator=seeded(9)).to(dtype)
    return points, normalize(points, dim=2)


def corrupt(name: str, points: Tensor, normals: Tensor | None, severity: float | Tensor, seed: int = 0):
    return CORRUPTIONS[name].function(points, normals, severity, seeded(seed))


@every
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_shape_and_type_stay_and_the_input_is_left_alone(name, dtype):
    points, normals = clouds(dtype=dtype)
    before, normals_before = points.clone(), normals.clone()
    new, new_normals = corrupt(name, points, normals, CORRUPTIONS[name].high)
    assert new.shape == new_normals.shape == points.shape
    assert new.dtype == new_normals.dtype == dtype
    assert new.isfinite().all()
    assert torch.equal(points, before)
    assert torch.equal(normals, normals_before)


@every
def test_a_corruption_follows_from_the_generator_with_and_without_normals(name):
    points, normals = clouds()
    state = torch.get_rng_state()
    first = corrupt(name, points, normals, CORRUPTIONS[name].high)[0]
    alone, nothing = corrupt(name, points, None, CORRUPTIONS[name].high)
    assert nothing is None
    assert torch.equal(first, alone)
    assert torch.equal(torch.get_rng_state(), state)
    random = name not in ("scale", "no_normals")
    assert torch.equal(first, corrupt(name, points, normals, CORRUPTIONS[name].high, seed=1)[0]) != random


@every
def test_one_severity_per_shape(name):
    points, normals = clouds(3)
    nothing = 1.0 if name == "scale" else 0.0
    severity = torch.tensor([nothing, CORRUPTIONS[name].high, nothing])
    new, new_normals = corrupt(name, points, normals, severity)
    for number in (0, 2):
        order = range(200) if name not in REMOVALS else places(new[number], points[number])
        torch.testing.assert_close(new[number], points[number, order])
        torch.testing.assert_close(new_normals[number], normals[number, order])
    before, after = torch.cat([points, normals], 2)[1], torch.cat([new, new_normals], 2)[1]
    assert not torch.allclose(before, after, atol=1e-3)


def places(new: Tensor, old: Tensor) -> list[int]:
    """Which point each one is."""
    rows = {tuple(point): number for number, point in enumerate(old.tolist())}
    return [rows[tuple(point)] for point in new.tolist()]


@every
@pytest.mark.parametrize("shape", [(0, 5, 3), (2, 0, 3), (2, 1, 3)])
def test_tiny_clouds(name, shape):
    points = torch.ones(shape)
    new, normals = corrupt(name, points, points, CORRUPTIONS[name].high)
    assert new.shape == normals.shape == shape
    assert new.isfinite().all()


@every
def test_units_do_not_matter(name):
    points, _ = clouds(dtype=torch.float64)
    small = corrupt(name, points, None, CORRUPTIONS[name].high)[0]
    large = corrupt(name, 1000 * points, None, CORRUPTIONS[name].high)[0]
    torch.testing.assert_close(large, 1000 * small)


def test_noise_is_in_units_of_the_radius():
    points = 3 * normalize(torch.randn(20, 1000, 3, generator=seeded(), dtype=torch.float64), dim=2)
    points = points - points.mean(1, keepdim=True)
    new, normals = corrupt("noise", points, points, 0.1)
    assert (new - points).std() == pytest.approx(0.3, rel=0.03)
    assert torch.equal(normals, points)


def test_outliers_are_the_share_asked_for_and_uniform_in_the_ball():
    points = torch.zeros(50, 400, 3)
    points[:, 0, 0], points[:, 1, 0] = 2, -2  # the ball has a radius of 2
    new, normals = corrupt("outliers", points, torch.ones_like(points), 0.25)
    moved = (new != points).any(2)
    assert (moved.sum(1) == 100).all()
    assert (new.norm(dim=2) <= 2 + 1e-5).all()
    radii = new[moved].norm(dim=1)
    assert ((radii / 2) ** 3).mean() == pytest.approx(0.5, abs=0.02)
    assert new[moved].mean(0).abs().max() < 0.06
    torch.testing.assert_close(normals[moved].norm(dim=1), torch.ones(moved.sum()))
    assert (normals[~moved] == 1).all()


@removals
@pytest.mark.parametrize("share", [0.3, 0.5, 0.75])
def test_what_is_left_comes_first_and_once_then_repeated(name, share):
    points, normals = clouds()
    new, new_normals = corrupt(name, points, normals, share)
    left = round(200 * (1 - share))
    for number in range(len(points)):
        order = places(new[number], points[number])
        assert len(set(order[:left])) == left
        assert set(order[left:]) <= set(order[:left])
        assert order[:left] != sorted(order[:left])
        assert torch.equal(new_normals[number], normals[number, order])


@removals
def test_one_point_stays_where_all_shall_go(name):
    new, _ = corrupt(name, clouds()[0], None, 1.0)
    assert torch.equal(new, new[:, :1].expand_as(new))


def test_what_is_left_of_half_a_shape_is_on_one_side_of_a_plane():
    points, _ = clouds()
    new, _ = corrupt("half_space", points, None, 0.5)
    for old, kept in zip(points, new, strict=True):
        own = {tuple(point) for point in kept.tolist()}
        removed = torch.tensor([point for point in old.tolist() if tuple(point) not in own])
        kept = torch.tensor(sorted(own))
        both = torch.cat([kept, removed])
        sides = torch.cat([torch.ones(len(kept)), -torch.ones(len(removed))])
        normal = torch.linalg.lstsq(both, sides[:, None]).solution
        assert ((both @ normal).squeeze(1).sign() == sides).float().mean() > 0.95
        assert len(kept) == len(removed) == 100


def test_a_crop_removes_the_nearest_to_one_of_the_points():
    points, _ = clouds(1)
    new, _ = corrupt("crop", points, None, 0.2)
    own = {tuple(point) for point in new[0].tolist()}
    gone = torch.tensor([tuple(point) not in own for point in points[0].tolist()])
    assert gone.sum() == 40
    order = torch.cdist(points[0], points[0]).argsort(1)[:, :40]
    assert any(gone[near].all() for near in order)


def test_rotation_stays_within_its_angle_and_keeps_the_axis():
    points = torch.tensor([1.0, 0.0, 0.5]).expand(2000, 1, 3)
    new, _ = corrupt("rotation", points, None, 30.0)
    angles = torch.atan2(new[..., 1], new[..., 0]) * 180 / math.pi
    assert (new[..., 2] == 0.5).all()
    assert -30.001 <= angles.min() < -28
    assert 28 < angles.max() <= 30.001
    about_y, _ = corruptions.rotation(points, None, 30.0, seeded(), axis="y")
    assert (about_y[..., 1] == 0).all()


def test_any_rotation_by_at_most_an_angle():
    frame = torch.eye(3, dtype=torch.float64).expand(4000, 3, 3)
    for largest in (1.0, 20.0, 90.0, 180.0):
        new, normals = corrupt("any_rotation", frame, frame, largest)
        torch.testing.assert_close(new, normals)
        torch.testing.assert_close(new @ new.transpose(1, 2), frame, atol=1e-6, rtol=0)
        assert torch.linalg.det(new).min() > 0.99
        cosine = (new.diagonal(dim1=1, dim2=2).sum(1) - 1) / 2
        angle = cosine.clamp(-1, 1).acos()
        bound = math.radians(largest)
        assert angle.max() <= bound + 1e-3
        share = (angle - angle.sin()) / (bound - math.sin(bound))  # uniform if the angle has its density
        assert share.quantile(torch.tensor([0.25, 0.5, 0.75]).double()).tolist() == pytest.approx(
            [0.25, 0.5, 0.75], abs=0.04
        )


def test_any_rotation_by_any_angle_is_uniform():
    for vector in torch.eye(3):
        new, _ = corrupt("any_rotation", vector.expand(20_000, 1, 3), None, 180.0)
        assert new.mean(0).abs().max() < 0.02
        torch.testing.assert_close(new[:, 0].T @ new[:, 0] / 20_000, torch.eye(3) / 3, rtol=0, atol=0.01)


def test_normals_become_unknown_for_a_share_of_the_points():
    points, normals = clouds()
    new, new_normals = corrupt("no_normals", points, normals, 0.3)
    assert torch.equal(new, points)
    zero = (new_normals == 0).all(2)
    assert (zero.sum(1) == 60).all()
    assert torch.equal(new_normals[~zero], normals[~zero])


@every
@pytest.mark.parametrize("severity", [torch.ones(3), torch.ones(4, 1)])
def test_severities_must_fit_the_shapes(name, severity):
    if name == "no_normals":
        with pytest.raises(ValueError, match="severity"):
            corrupt(name, *clouds(4), severity)
        return
    with pytest.raises(ValueError, match="severity: expected one number or one per shape"):
        corrupt(name, clouds(4)[0], None, severity)
