import math

import pytest
import torch
from torch import Generator, Tensor

from sampled_transformer.data import transforms

EVERY = [
    transforms.UnitSphere(),
    transforms.Standardise(),
    transforms.FirstSubset(20),
    transforms.RandomSubset(20),
    transforms.RandomSubset(80, replace=True),
    transforms.FarthestSubset(20),
    transforms.FarthestThenRandom(30, 20),
    transforms.PointDropout(),
    transforms.RandomScale(0.5, 2),
    transforms.RandomScale(0.5, 2, per_axis=False),
    transforms.RandomShift(0.2),
    transforms.Jitter(),
    transforms.RotateUp("z"),
    transforms.RotateUp("y", 0.5),
    transforms.RotateAny(),
    transforms.Shuffle(),
    transforms.Corrupt("half_space", 1.0),
    transforms.Corrupt("rotation", 1.0),
    transforms.RandomCount(5, 50),
    transforms.Compose(),
    transforms.Compose(transforms.RandomSubset(20), transforms.RotateAny()),
]
REPEATABLE = (transforms.UnitSphere, transforms.Standardise, transforms.FirstSubset, transforms.FarthestSubset)
ALIKE = (*REPEATABLE, transforms.RandomCount)  # for all clouds of a batch
every = pytest.mark.parametrize("transform", EVERY, ids=repr)


def seeded(seed: int = 0) -> Generator:
    return Generator().manual_seed(seed)


def sphere(batch: int = 4, n: int = 50, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    """Points on unit spheres, whose normals are the points themselves."""
    points = torch.randn(batch, n, 3, generator=seeded(9), dtype=torch.float64)
    points = (points / points.norm(dim=2, keepdim=True)).to(dtype)
    return points, points.clone()


def lengths(vectors: Tensor) -> Tensor:
    return vectors.norm(dim=2)


@every
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_shape_and_type_are_kept_and_input_left_alone(transform, dtype):
    points, normals = sphere(dtype=dtype)
    before = points.clone()
    new_points, new_normals = transform(points, normals, seeded())
    assert new_points.dtype == new_normals.dtype == dtype
    assert new_points.shape == new_normals.shape
    assert new_points.shape[::2] == (4, 3)
    assert new_points.isfinite().all()
    assert torch.equal(points, before)
    assert torch.equal(normals, before)


@every
def test_normals_do_not_change_what_happens_to_points(transform):
    points, normals = sphere()
    alone, nothing = transform(points, None, seeded())
    assert nothing is None
    assert torch.equal(alone, transform(points, normals, seeded())[0])


@every
def test_the_generator_decides_and_torchs_own_is_untouched(transform):
    points, normals = sphere()
    state = torch.get_rng_state()
    first, first_normals = transform(points, normals, seeded(1))
    again, again_normals = transform(points, normals, seeded(1))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(first, again)
    assert torch.equal(first_normals, again_normals)
    random = not isinstance(transform, REPEATABLE) and repr(transform) != "Compose()"
    assert torch.equal(first, transform(points, normals, seeded(2))[0]) != random


@every
def test_each_cloud_draws_its_own_numbers(transform):
    points = sphere(1)[0].expand(2, -1, -1)
    new, _ = transform(points, None, seeded())
    random = not isinstance(transform, ALIKE) and repr(transform) != "Compose()"
    assert torch.equal(new[0], new[1]) != random


@every
def test_without_a_generator_torchs_own_is_used(transform):
    points, _ = sphere()
    torch.manual_seed(3)
    first, _ = transform(points)
    torch.manual_seed(3)
    assert torch.equal(transform(points)[0], first)


@every
def test_normals_stay_normal_to_the_surface(transform):
    """Points in a plane: all differences stay perpendicular to the normals, and the normals keep unit length."""
    plane = torch.randn(3, 60, 3, generator=seeded(4), dtype=torch.float64)
    plane[..., 2] = 0.5 * plane[..., 0] - 2 * plane[..., 1]
    normals = torch.tensor([0.5, -2.0, -1.0], dtype=torch.float64).expand_as(plane)
    normals = normals / lengths(normals).unsqueeze(2)
    new, new_normals = transform(plane, normals, seeded())
    torch.testing.assert_close(lengths(new_normals), torch.ones_like(new_normals[..., 0]))
    if not isinstance(transform, transforms.Jitter):
        angles = ((new - new[:, :1]) * new_normals).sum(2)
        torch.testing.assert_close(angles, torch.zeros_like(angles), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "transform",
    [transforms.RotateUp("x"), transforms.RotateUp("y"), transforms.RotateUp("z"), transforms.RotateAny()],
    ids=repr,
)
def test_rotations_keep_distances_and_handedness_and_turn_normals_alike(transform):
    points, normals = sphere()
    new, new_normals = transform(points, normals, seeded())
    torch.testing.assert_close(new, new_normals)
    torch.testing.assert_close(torch.cdist(new, new), torch.cdist(points, points), rtol=1e-5, atol=1e-5)
    assert (torch.linalg.det(new[:, :3]) * torch.linalg.det(points[:, :3]) > 0).all()
    assert not torch.allclose(new, points, atol=1e-2)


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_rotation_about_an_axis_keeps_that_coordinate_and_the_angle_in_bounds(axis):
    up = "xyz".index(axis)
    points = torch.eye(3)[(up + 1) % 3].expand(500, 1, 3).clone()
    points[..., up] = 0.7
    new, _ = transforms.RotateUp(axis, 0.3)(points, None, seeded())
    assert (new[..., up] == 0.7).all()
    angles = torch.atan2(new[..., (up + 2) % 3], new[..., (up + 1) % 3])
    assert -0.3 <= angles.min() < -0.28
    assert 0.28 < angles.max() <= 0.3


def test_any_rotation_is_uniform():
    """The image of a fixed vector is uniform on the sphere, so that its coordinates have mean 0 and variance 1/3."""
    for vector in torch.eye(3):
        new, _ = transforms.RotateAny()(vector.expand(20_000, 1, 3), None, seeded())
        assert new.mean(0).abs().max() < 0.02
        torch.testing.assert_close(new[:, 0].T @ new[:, 0] / 20_000, torch.eye(3) / 3, rtol=0, atol=0.01)


def test_unit_sphere():
    points = torch.randn(3, 40, 3, generator=seeded()) * 5 + 7
    new, _ = transforms.UnitSphere()(points)
    torch.testing.assert_close(new.mean(1), torch.zeros(3, 3), rtol=0, atol=1e-6)
    torch.testing.assert_close(lengths(new).amax(1), torch.ones(3))


def test_standardise():
    points = torch.randn(3, 40, 3, generator=seeded()) * torch.tensor([1.0, 5.0, 2.0]) + 7
    points = points + torch.tensor([0.0, 3.0, -1.0])
    new, _ = transforms.Standardise()(points)
    flat = points.flatten(1).double().numpy()  # one mean for all axes, as in Lee et al.
    expected = (flat - flat.mean(1, keepdims=True)) / flat.std(1, keepdims=True)
    torch.testing.assert_close(new.flatten(1).double(), torch.from_numpy(expected), rtol=1e-5, atol=1e-5)
    ratio = new.std(1) / points.std(1)
    torch.testing.assert_close(ratio, ratio[:, :1].expand(3, 3))


@pytest.mark.parametrize("transform", [transforms.UnitSphere(), transforms.Standardise()], ids=repr)
@pytest.mark.parametrize("n", [0, 1, 5])
def test_coinciding_points_and_empty_clouds_are_safe(transform, n):
    new, _ = transform(torch.full((2, n, 3), 4.0))
    assert torch.equal(new, torch.zeros(2, n, 3))


@pytest.mark.parametrize(
    "transform",
    [
        transforms.PointDropout(),
        transforms.RandomScale(1, 2),
        transforms.RandomShift(1),
        transforms.Jitter(),
        transforms.RotateAny(),
    ],
)
@pytest.mark.parametrize("shape", [(0, 5, 3), (2, 0, 3)])
def test_augmentation_of_nothing(transform, shape):
    new, normals = transform(torch.zeros(shape), torch.zeros(shape), seeded())
    assert new.shape == normals.shape == shape


@pytest.mark.parametrize(
    "transform",
    [transforms.RandomSubset(30), transforms.FarthestSubset(30), transforms.FarthestThenRandom(40, 30)],
    ids=repr,
)
def test_subsets_are_different_points_each_with_its_normal(transform):
    points, normals = sphere()
    new, new_normals = transform(points, -normals, seeded())
    assert torch.equal(new, -new_normals)
    for cloud, chosen in zip(points.tolist(), new.tolist(), strict=True):
        assert len({tuple(point) for point in chosen}) == 30
        assert all(point in cloud for point in chosen)


def test_every_point_is_equally_likely_in_a_random_subset():
    points = torch.arange(10.0).view(1, 10, 1).expand(5000, 10, 3)
    for transform in (transforms.RandomSubset(4), transforms.RandomSubset(4, replace=True)):
        new, _ = transform(points, None, seeded())
        counts = new[..., 0].flatten().long().bincount(minlength=10)
        assert (counts - 2000).abs().max() < 200


def test_farthest_then_random_draws_from_the_farthest():
    points, _ = sphere(1)
    farthest, _ = transforms.FarthestSubset(30)(points)
    new, _ = transforms.FarthestThenRandom(30, 20)(points, None, seeded())
    assert all(point in farthest[0].tolist() for point in new[0].tolist())
    few, _ = transforms.FarthestThenRandom(99, 20)(points, None, seeded())
    assert few.shape == (1, 20, 3)


def test_scale_within_bounds():
    points = torch.ones(2000, 1, 3)
    each, _ = transforms.RandomScale(0.5, 2)(points, None, seeded())
    alike, _ = transforms.RandomScale(0.5, 2, per_axis=False)(points, None, seeded())
    for new in (each, alike):
        assert 0.5 <= new.min() < 0.52
        assert 1.98 < new.max() <= 2
    assert (alike == alike[..., :1]).all()
    assert not (each == each[..., :1]).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_zero_normals_stay_zero_under_scale(dtype):
    _, normals = transforms.RandomScale(0.5, 2)(
        torch.ones(2, 4, 3, dtype=dtype), torch.zeros(2, 4, 3, dtype=dtype), seeded()
    )
    assert (normals == 0).all()


def test_shift_moves_each_cloud_as_one_within_bounds():
    new, _ = transforms.RandomShift(0.2)(torch.zeros(2000, 2, 3), None, seeded())
    assert torch.equal(new[:, 0], new[:, 1])
    assert -0.2 <= new.min() < -0.19
    assert 0.19 < new.max() <= 0.2


def test_jitter_has_its_deviation_and_its_limit():
    new, _ = transforms.Jitter(0.01, 0.02)(torch.zeros(100, 100, 3), None, seeded())
    assert new.abs().max() == pytest.approx(0.02)
    assert 0.009 < new.std() < 0.01


def test_dropout_puts_the_first_point_in_place_of_others():
    points, normals = sphere(2000, 40)
    new, new_normals = transforms.PointDropout(0.5)(points, normals, seeded())
    dropped = (new != points).any(2)
    assert torch.equal(new, new_normals)
    assert torch.equal(new[dropped], points[:, :1].expand_as(points)[dropped])
    share = dropped.double().mean(1)
    assert 0.23 < share.mean() < 0.26
    assert 0.5 < share.max() < 0.85


@pytest.mark.parametrize("name", transforms.CORRUPTIONS)
def test_a_share_of_the_clouds_is_corrupted_and_the_others_stay(name):
    points, normals = sphere(400, 20)
    transform = transforms.Corrupt(name, 0.25, 0.5, 0.9)
    new, new_normals = transform(points, normals, seeded())
    changed = ((new != points) | (new_normals != normals)).flatten(1).any(1)
    assert 70 < changed.sum() < 130
    assert torch.equal(transforms.Corrupt(name, 0.0)(points, normals, seeded())[0], points)


def test_corrupted_clouds_draw_their_own_severities():
    points, normals = sphere(1000, 100)
    _, new = transforms.Corrupt("no_normals", 1.0, 0.2, 0.6)(points, normals, seeded())
    shares = (new == 0).all(2).double().mean(1)
    assert 0.2 <= shares.min() < 0.22
    assert 0.58 < shares.max() <= 0.6


def test_a_batch_has_one_random_number_of_points():
    points, normals = sphere(2, 256)
    generator = seeded()
    counts = []
    for _ in range(2000):
        new, new_normals = transforms.RandomCount(16, 256, share=0.5)(points, normals, generator)
        assert torch.equal(new, points[:, : new.shape[1]])
        assert torch.equal(new, new_normals)
        counts.append(new.shape[1])
    fewer = sorted(count for count in counts if count < 256)
    assert 900 < len(fewer) < 1100
    assert fewer[0] == 16
    assert 56 <= fewer[len(fewer) // 2] <= 72  # the middle of 16 and 256 by their logarithms


def test_a_robust_preset_keeps_some_shapes_clean_and_all_in_the_augmented_unit_sphere():
    points, normals = sphere(600, 128)
    train, _ = transforms.preset("robust", points=64)
    new, new_normals = train(points, normals, seeded())
    assert new.shape == (600, 64, 3)
    unknown = (new_normals == 0).all(2).all(1).double().mean()
    assert unknown == pytest.approx(transforms.ROBUST["no_normals"], abs=0.06)
    assert new.abs().max() <= 3 / 2 + 0.2
    distinct = torch.tensor([len({tuple(point) for point in cloud}) for cloud in new.tolist()])
    assert 0.5 < (distinct == 64).double().mean() < 0.95


def test_the_mix_of_a_robust_preset_can_be_changed():
    """The corruptions come in one order, whatever the order in which they are given."""
    usual = transforms.preset("robust")[0].transforms
    changed = {"rotation": [0.5, 10, 20], "points": [1.0, 128], "noise": 0.9}
    train = transforms.preset("robust-bricks", 256, corruptions=changed)[0].transforms
    assert train[1] == transforms.Corrupt("noise", 0.9)
    assert train[6:9] == (
        transforms.Corrupt("rotation", 0.5, 10, 20),
        transforms.Corrupt("no_normals", transforms.ROBUST["no_normals"]),
        transforms.RandomCount(128, 256, 1.0),
    )
    assert len(train) == len(usual) + 1
    assert transforms.RandomCount(64, 1024, transforms.ROBUST["points"]) in usual


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("corruptions: expected one of .*noise", lambda: transforms.Corrupt("nose", 0.5)),
        ("corruptions.noise: expected a share", lambda: transforms.Corrupt("noise", 1.5)),
        ("corruptions.noise: expected severities", lambda: transforms.Corrupt("noise", 0.5, 0.2, 0.1)),
        ("corruptions.noise", lambda: transforms.preset("robust", corruptions={"noise": [0.5, 0.1]})),
        ("corruptions.noise", lambda: transforms.preset("robust", corruptions={"noise": True})),
        ("corruptions.noise", lambda: transforms.preset("robust", corruptions={"noise": "much"})),
        ("corruptions.points", lambda: transforms.preset("robust", corruptions={"points": [0.5, 0]})),
        ("corruptions.points", lambda: transforms.preset("robust", corruptions={"points": 2})),
        ("corruptions.points", lambda: transforms.preset("robust", corruptions={"points": [0.5, 64, 128]})),
        ("corruptions", lambda: transforms.preset("robust", corruptions={"rust": 0.5})),
        ("corruptions: .* got basic", lambda: transforms.preset("basic", corruptions={"noise": 0.5})),
        ("count", lambda: transforms.RandomCount(0, 5)),
        ("most", lambda: transforms.RandomCount(6, 5)),
        ("share", lambda: transforms.RandomCount(5, 6, -1)),
        ("count", lambda: transforms.RandomSubset(0)),
        ("count", lambda: transforms.FirstSubset(0)),
        ("count", lambda: transforms.FarthestSubset(-1)),
        ("farthest", lambda: transforms.FarthestThenRandom(10, 20)),
        ("max_ratio", lambda: transforms.PointDropout(1.5)),
        ("low, high", lambda: transforms.RandomScale(0, 1)),
        ("low, high", lambda: transforms.RandomScale(2, 1)),
        ("axis", lambda: transforms.RotateUp("w")),
        ("preset", lambda: transforms.preset("best")),
        ("count", lambda: transforms.preset("basic", points=0)),
        ("axis", lambda: transforms.preset("basic", rotate="w")),
        ("points", lambda: transforms.UnitSphere()(torch.zeros(4, 3))),
        ("points", lambda: transforms.UnitSphere()(torch.zeros(1, 4, 2))),
        ("points", lambda: transforms.UnitSphere()(torch.zeros(1, 4, 3, dtype=torch.int16))),
        ("normals", lambda: transforms.UnitSphere()(torch.zeros(1, 4, 3), torch.zeros(1, 5, 3))),
        ("at least 9", lambda: transforms.RandomSubset(9)(torch.zeros(1, 4, 3))),
        ("at least 9", lambda: transforms.FirstSubset(9)(torch.zeros(1, 4, 3))),
        ("at least 9", lambda: transforms.FarthestSubset(9)(torch.zeros(1, 4, 3))),
        ("at least 9", lambda: transforms.FarthestThenRandom(12, 9)(torch.zeros(1, 4, 3))),
        ("at least 1", lambda: transforms.RandomSubset(9, replace=True)(torch.zeros(1, 0, 3))),
    ],
)
def test_bad_arguments_are_named(name, make):
    with pytest.raises(ValueError, match=name):
        make()


@pytest.mark.parametrize("name", transforms.list_presets())
@pytest.mark.parametrize("with_normals", [True, False])
def test_presets(name, with_normals):
    points = torch.randn(3, 64, 3, generator=seeded())
    normals = torch.nn.functional.normalize(torch.randn(3, 64, 3, generator=seeded(1)), dim=2) if with_normals else None
    train, test = transforms.preset(name, points=32)
    state = torch.get_rng_state()
    for transform in (train, test):  # 32 points are too few for "robust" to have batches with fewer
        new, new_normals = transform(points, normals, seeded())
        assert new.shape == (3, 32, 3)
        assert (new_normals is None) == (normals is None)
        assert new.isfinite().all()
    assert torch.equal(test(points, normals)[0], test(points, normals)[0])
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(train(points, normals, seeded())[0], train(points, normals, seeded(1))[0]) == (name == "none")


@pytest.mark.parametrize("name", transforms.list_presets())
def test_default_number_of_points(name):
    expected = {"set-transformer": 1000, "bricks": 512, "robust-bricks": 512}.get(name, 1024)
    assert transforms.preset(name)[1](torch.randn(1, 1100, 3))[0].shape[1] == expected


def test_preset_rotation_is_about_the_axis_asked_for():
    flat = torch.randn(2, 40, 3, generator=seeded())
    flat[..., 1] = 0
    new, _ = transforms.preset("none", points=40, rotate="y")[0](flat, None, seeded())
    assert (new[..., 1] == 0).all()
    assert not torch.allclose(new, flat, atol=0.01)
    unturned = transforms.preset("none", points=40, rotate="y")[1](flat, None, seeded())[0]
    assert torch.equal(unturned, flat)


def test_brick_proportions_are_kept():
    points = torch.randn(8, 64, 3, generator=seeded())
    new, _ = transforms.preset("bricks", points=64)[0](points, None, seeded())
    ratios = new.std(1) / points.std(1)
    torch.testing.assert_close(ratios, ratios[:, :1].expand_as(ratios))


def test_set_transformer_augments_only_large_clouds():
    assert len(transforms.preset("set-transformer", points=1000)[0].transforms) == 2
    assert transforms.preset("set-transformer", points=5000)[0].transforms[2:] == (
        transforms.RotateUp("z", 0.1 * math.pi),
        transforms.RandomScale(0.8, 1.25),
    )
