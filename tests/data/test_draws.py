import math

import pytest
import torch
from torch.nn.functional import normalize

from sampled_transformer.data import draws


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("draw", [draws.uniform, draws.normal])
@pytest.mark.parametrize(
    ("dtype", "wide"), [(torch.float16, torch.float32), (torch.float32, torch.float32), (torch.float64, torch.float64)]
)
def test_random_numbers_are_at_least_single_precision_and_follow_the_generator(draw, dtype, wide):
    points = torch.zeros(1, 1, 3, dtype=dtype)
    first = draw((2, 5), points, seeded())
    assert first.dtype == wide
    assert first.shape == (2, 5)
    assert torch.equal(first, draw((2, 5), points, seeded()))
    assert not torch.equal(first, draw((2, 5), points, seeded(1)))


def test_picked_points_take_their_normals_along():
    points = torch.randn(2, 6, 3, generator=seeded())
    indices = torch.tensor([[5, 0, 0], [1, 2, 3]])
    new, normals = draws.pick(points, -points, indices)
    assert torch.equal(new, torch.stack([points[0, [5, 0, 0]], points[1, [1, 2, 3]]]))
    assert torch.equal(normals, -new)
    assert draws.pick(points, None, indices)[1] is None


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_a_quarter_turn_about_an_axis(axis):
    up = "xyz".index(axis)
    right, ahead = torch.eye(3)[(up + 1) % 3], torch.eye(3)[(up + 2) % 3]
    rotation = draws.about_axis(axis, torch.tensor([math.pi / 2]))
    new, normals = draws.turn(right.view(1, 1, 3), torch.eye(3)[up].view(1, 1, 3), rotation)
    torch.testing.assert_close(new[0, 0], ahead, atol=1e-6, rtol=0)
    torch.testing.assert_close(normals[0, 0], torch.eye(3)[up])


def test_quaternions_are_rotations_about_their_axis():
    angle = torch.tensor(0.7)
    quaternion = torch.stack([(angle / 2).cos(), torch.tensor(0.0), torch.tensor(0.0), (angle / 2).sin()])
    torch.testing.assert_close(draws.from_quaternion(quaternion[None]), draws.about_axis("z", angle[None]))
    many = draws.from_quaternion(normalize(torch.randn(50, 4, generator=seeded(), dtype=torch.float64), dim=1))
    identity = torch.eye(3, dtype=torch.float64).expand(50, 3, 3)
    torch.testing.assert_close(many @ many.transpose(1, 2), identity)
    torch.testing.assert_close(torch.linalg.det(many), torch.ones(50, dtype=torch.float64))
