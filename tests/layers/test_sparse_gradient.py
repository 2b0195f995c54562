import pytest
import torch
from torch import nn

from sampled_transformer.layers.sparse_gradient import Linear, rows_with_gradient


def pair(bias: bool = True) -> tuple[Linear, nn.Linear]:
    torch.manual_seed(0)
    layer = Linear(5, 7, bias=bias).double()
    plain = nn.Linear(5, 7, bias=bias).double()
    plain.load_state_dict(layer.state_dict())
    return layer, plain


def sparse(rows: torch.Tensor, share: float) -> torch.Tensor:
    """Keep the gradient of a share of the rows."""
    return torch.where(torch.rand(rows.shape[:-1])[..., None] < share, rows, 0)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.95, 1.0])
@pytest.mark.parametrize("shape", [(300,), (3, 100), (2, 3, 50)])
@pytest.mark.parametrize("bias", [True, False])
def test_gradients_are_those_of_torch(share: float, shape: tuple[int, ...], bias: bool) -> None:
    layer, plain = pair(bias)
    x = torch.randn(*shape, 5, dtype=torch.float64)
    grad = sparse(torch.randn(*shape, 7, dtype=torch.float64), share)
    results = []
    for network in (layer, plain):
        own = x.clone().requires_grad_()
        out = network(own)
        results.append((out, *torch.autograd.grad(out, (own, *network.parameters()), grad)))
    assert type(results[0][0].grad_fn).__name__ == "_SparseRowsBackward"
    for one, two in zip(*results, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-12, atol=1e-12)


def test_only_rows_with_a_gradient_are_computed() -> None:
    grad = torch.zeros(1000, 4)
    grad[[3, 500], [1, 2]] = torch.tensor([1e-45, float("nan")])  # neither the smallest number nor NaN is nothing
    rows = rows_with_gradient(grad)
    assert rows is not None
    assert rows.tolist() == [3, 500]
    assert rows_with_gradient(torch.ones(1000, 4)) is None
    mostly = torch.ones(1000, 4)
    mostly[::15] = 0  # all that the probe sees, which is not what the rest is like
    assert rows_with_gradient(mostly) is None


def test_a_frozen_weight_or_input_gets_no_gradient() -> None:
    layer, _ = pair()
    layer.weight.requires_grad_(False)
    x = torch.randn(100, 5, dtype=torch.float64)
    layer(x).amax(0).sum().backward()
    assert layer.bias.grad is not None
    assert layer.weight.grad is None
    assert x.grad is None


def test_second_derivatives() -> None:
    layer, _ = pair()
    x = torch.randn(70, 5, dtype=torch.float64, requires_grad=True)

    def function(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        out = torch.func.functional_call(layer, {"weight": weight, "bias": layer.bias}, (x,))
        return out.square()[::9].sum(0)

    assert torch.autograd.gradgradcheck(function, (x, layer.weight))


def test_transforms_precision_and_compilation_take_torch_s_own() -> None:
    layer, plain = pair()
    x = torch.randn(100, 5, dtype=torch.float64)

    def loss(network: nn.Module) -> torch.Tensor:
        parameters = dict(network.named_parameters())
        return torch.func.grad(lambda p: torch.func.functional_call(network, p, (x,)).amax(0).sum())(parameters)["bias"]

    torch.testing.assert_close(loss(layer), loss(plain))
    with torch.autocast("cpu", torch.bfloat16):
        out = layer.float()(x.float())
    assert out.dtype == torch.bfloat16
    out.float().amax(0).sum().backward()
    assert layer.weight.grad is not None
    assert layer.weight.grad.dtype == torch.float32
    assert "_SparseRows" not in str(torch.export.export(layer, (x.float(),)).graph)
