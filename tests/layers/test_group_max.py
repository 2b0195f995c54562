"""group_max against torch.max: the same values, and a gradient that goes to one of the largest."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from sampled_transformer.layers.group_max import group_max

INFINITE = torch.inf
TYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16]
# The last is large enough to be compiled.
SHAPES = [
    ((5, 1, 3), 1),
    ((5, 7, 3), 1),
    ((2, 4, 16, 8), 2),
    ((40, 6), 0),
    ((3, 300), -1),
    ((2, 3, 0), 1),
    ((64, 512, 64), 1),
]


def example(shape: tuple[int, ...], kind: torch.dtype) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape))).to(kind).requires_grad_()


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(("shape", "dim"), SHAPES)
def test_values_and_gradients_are_those_of_max(shape: tuple[int, ...], dim: int, kind: torch.dtype) -> None:
    x = example(shape, kind)
    found, (expected, _) = group_max(x, dim), x.max(dim)
    assert torch.equal(found, expected)
    with torch.no_grad():
        assert torch.equal(group_max(x, dim), expected)
    gradient = torch.randn_like(found)
    (one,) = torch.autograd.grad(found, x, gradient)
    # Equal values share the winner's place in no fixed way: the gradient reaches one of them, whole.
    assert torch.equal(one.sum(dim), gradient)
    assert torch.equal((one != 0).sum(dim) <= 1, torch.ones_like(found, dtype=torch.bool))
    assert torch.equal(x.masked_fill(one == 0, -INFINITE).amax(dim)[gradient != 0], expected[gradient != 0])


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(
    "values",
    [
        [0.0, 0.0, 0.0],
        [-1.0, -1.0, -2.0],
        [-INFINITE, 1.0, -INFINITE],
        [INFINITE, 1.0, INFINITE],
        [-INFINITE, -INFINITE, -INFINITE],
        [-0.0, 0.0, -1.0],
        [6e-8, 1e-7, 0.0],  # below what a float16 holds in full
    ],
)
def test_equal_and_infinite_values(values: list[float], kind: torch.dtype) -> None:
    x = torch.tensor(values, dtype=kind)[:, None].requires_grad_()
    found = group_max(x, 0)
    assert torch.equal(found, x.max(0).values)
    (gradient,) = torch.autograd.grad(found, x, torch.ones_like(found))
    assert gradient.sum() == 1
    assert x[gradient == 1] == found


@pytest.mark.parametrize("kind", TYPES)
def test_what_is_not_a_number_stays_so(kind: torch.dtype) -> None:
    x = torch.tensor([[1.0, torch.nan, 2.0], [1.0, 3.0, 2.0]], dtype=kind, requires_grad=True)
    assert group_max(x, 1).isnan().tolist() == [True, False]


def test_second_derivatives() -> None:
    x = torch.randn(4, 5, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda x: group_max(x, 1).square(), (x,))


def test_inside_other_transforms_of_torch() -> None:
    x = torch.randn(6, 5, 3)

    def loss(x: Tensor) -> Tensor:
        return group_max(x, 0).square().sum()

    own = torch.autograd.grad(loss(x.requires_grad_()), x)[0]
    each = torch.stack([torch.autograd.grad(loss(one), one)[0] for one in x.detach().requires_grad_().unbind()])
    assert torch.equal(torch.func.grad(loss)(x.detach()), own)
    assert torch.equal(torch.func.vmap(torch.func.grad(loss))(x.detach()), each)


def test_a_network_compiles_with_it() -> None:
    class Pool(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return group_max(x, 1)

    x = torch.randn(3, 4, 5, requires_grad=True)
    compiled = torch.compile(Pool(), backend="aot_eager", fullgraph=True)(x)
    assert torch.equal(compiled, x.max(1).values)
    assert torch.equal(torch.autograd.grad(compiled.sum(), x)[0], torch.autograd.grad(x.max(1).values.sum(), x)[0])
