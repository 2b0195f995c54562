"""What a module returns is what its hooks see, and nothing writes into it afterwards."""

from __future__ import annotations

import pytest
import torch
from helpers.variants import VARIANTS
from torch import Tensor, nn

from sampled_transformer import TransformerBlock, create_model


def outputs_of(value: object) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    return [one for part in value for one in outputs_of(part)] if isinstance(value, tuple) else []


def check_hooks(network: nn.Module, *inputs: Tensor) -> int:
    """Call the network with a hook on every module; each output must still hold what it held when it was returned."""
    seen: list[tuple[str, Tensor, Tensor]] = []

    def watch(name: str) -> None:
        def hook(module: nn.Module, args: object, output: object) -> None:
            seen.extend((name, one, one.detach().clone()) for one in outputs_of(output))

        modules[name].register_forward_hook(hook)

    modules = dict(network.named_modules())
    for name in modules:
        watch(name)
    network(*inputs)
    for name, output, copy in seen:
        assert torch.equal(output, copy), name
    return len(seen)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("variant", VARIANTS)
def test_hooks_in_a_block(variant: str, training: bool) -> None:
    name, options = VARIANTS[variant]
    torch.manual_seed(0)
    block = TransformerBlock(16, 4, name, hidden=24, **options).train(training)
    seen: dict[str, Tensor] = {}
    x, positions = torch.randn(2, 40, 16, requires_grad=True), torch.rand(2, 40, 3)
    block.attention.register_forward_hook(lambda module, args, output: seen.update(attention=output))
    block.feed_forward.register_forward_hook(lambda module, args, output: seen.update(feed_forward=output))
    torch.manual_seed(1)
    y = block(x, positions)
    torch.testing.assert_close(x + seen["attention"] + seen["feed_forward"], y)
    modules = 1 + sum(1 for _ in block.children()) + len(list(block.feed_forward.children()))
    assert check_hooks(block, x, positions) >= modules  # every layer was called and has shown its output


NETWORKS = {
    "basic": {"classes": 3, "dim": 16, "heads": 2, "hidden": 16},
    "hierarchical": {"classes": 3, "stages": 2},
    "mae": {"dim": 16, "heads": 2, "hidden": 16, "depth": 2, "groups": 8, "group_size": 8, "embedding": 8},
    "set-transformer": {"classes": 3, "dim": 16},
}


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", NETWORKS)
def test_hooks_in_a_network(name: str, training: bool) -> None:
    torch.manual_seed(0)
    network = create_model(name, **NETWORKS[name]).train(training)
    points = torch.rand(4, 64, 3)
    normals = torch.rand(4, 64, 3) if name in ("basic", "hierarchical") else None
    assert check_hooks(network, points, *([] if normals is None else [normals])) > 10
