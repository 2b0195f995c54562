"""Every geometry function compiles and exports; an exported graph accepts any number of sets and points."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.export import Dim, export

from sampled_transformer.geometry import chamfer_distance, farthest_points, nearest_neighbours, space_filling_order
from sampled_transformer.geometry.tracing import exporting, never_compiled, uncompiled

FUNCTIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "farthest_points": lambda points, mask: farthest_points(points, 5),
    "farthest_points, masked": lambda points, mask: farthest_points(points, 5, mask=mask),
    "nearest_neighbours": lambda points, mask: nearest_neighbours(points, 4)[0],
    "nearest_neighbours, masked": lambda points, mask: nearest_neighbours(points, 4, mask=mask)[1],
    "nearest_neighbours, queries": lambda points, mask: nearest_neighbours(points, 4, queries=points[:, :9])[0],
    "chamfer_distance": lambda points, mask: chamfer_distance(points, points[:, :9] + 1),
    "chamfer_distance, masked": lambda points, mask: chamfer_distance(points, points[:, :9] + 1, first_mask=mask),
    "space_filling_order": lambda points, mask: space_filling_order(points, "hilbert"),
    "space_filling_order, masked": lambda points, mask: space_filling_order(points, "morton", mask=mask),
}
every = pytest.mark.parametrize("name", FUNCTIONS)


class Module(torch.nn.Module):
    def __init__(self, function: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, points: Tensor, mask: Tensor) -> Tensor:
        return self.function(points, mask)


def example(batch: int, n: int) -> tuple[Tensor, Tensor]:
    points = torch.randn(batch, n, 3, generator=torch.Generator().manual_seed(n))
    return points, points[..., 0] > -1


@every
@pytest.mark.parametrize("n", [40, 600])
def test_compile(name, n):
    torch.compiler.reset()
    module, inputs = Module(FUNCTIONS[name]), example(3, n)
    torch.testing.assert_close(torch.compile(module, backend="eager")(*inputs), module(*inputs))


@every
def test_export(name):
    module = Module(FUNCTIONS[name])
    shape = {0: Dim("batch", min=1, max=64), 1: Dim("n", min=10, max=4096)}
    graph = export(module, example(3, 40), dynamic_shapes=(shape, shape)).module()
    for batch, n in ((3, 40), (2, 77), (4, 700)):
        inputs = example(batch, n)
        torch.testing.assert_close(graph(*inputs), module(*inputs))


class Flag(torch.nn.Module):
    """Adds 1 when torch.export traces it, and 2 when torch.compile does."""

    def forward(self, points: Tensor) -> Tensor:
        if exporting():
            return points + 1
        return points + 2 if torch.compiler.is_compiling() else points


def test_exporting_tells_export_from_compilation_and_eager():
    points = torch.zeros(2)
    assert Flag()(points).tolist() == [0, 0]
    assert torch.compile(Flag(), backend="eager")(points).tolist() == [2, 2]
    assert export(Flag(), (points,)).module()(points).tolist() == [1, 1]


@pytest.mark.parametrize("decorate", [uncompiled, never_compiled])
def test_a_decorated_function_runs_eagerly_inside_a_compiled_one(decorate):
    @decorate
    def compiling(points: Tensor) -> Tensor:
        """Whether it is compiled."""
        return points + torch.compiler.is_compiling()

    compiled = torch.compile(lambda points: compiling(points) * 1, backend="eager")
    assert compiled(torch.zeros(2)).tolist() == [0, 0]
    assert compiling.__doc__ == "Whether it is compiled."


def test_export_looks_into_an_uncompiled_function():
    module = Module(lambda points, mask: uncompiled(lambda x: x + exporting())(points))
    inputs = example(1, 4)
    torch.testing.assert_close(export(module, inputs).module()(*inputs), inputs[0] + 1)
