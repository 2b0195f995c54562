"""What a module returns is what its hooks see, and nothing writes into it afterwards."""

from __future__ import annotations

import pytest
import torch
from helpers.variants import VARIANTS
from torch import Tensor, nn

from sampled_transformer import TransformerBlock, create_model, list_models


def outputs_of(value: object) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    return [one for part in value for one in outputs_of(part)] if isinstance(value, tuple) else []


def check_hooks(network: nn.Module, *inputs: Tensor, **options: Tensor) -> set[str]:
    """Call the network with a hook on every module; each output must still hold what it held when it was returned.

    Returns the names of the modules that were called.
    """
    seen: list[tuple[str, Tensor, Tensor]] = []

    def watch(name: str) -> None:
        def hook(module: nn.Module, args: object, output: object) -> None:
            seen.extend((name, one, one.detach().clone()) for one in outputs_of(output))

        modules[name].register_forward_hook(hook)

    modules = dict(network.named_modules())
    for name in modules:
        watch(name)
    network(*inputs, **options)
    for name, output, copy in seen:
        assert torch.equal(output, copy), name
    return {name for name, _, _ in seen}


def silent(network: nn.Module, called: set[str]) -> set[str]:
    """The layers without layers inside that were not called, by the end of their names."""
    leaves = {name for name, module in network.named_modules() if not list(module.children())}
    return {".".join(name.split(".")[-2:]) for name in leaves - called}


@pytest.mark.parametrize("layout", ["plain", "mask", "ptr"])
@pytest.mark.parametrize(("training", "gradients"), [(True, True), (False, True), (False, False)])
@pytest.mark.parametrize("variant", VARIANTS)
def test_hooks_in_a_block(variant: str, training: bool, gradients: bool, layout: str) -> None:
    name, options = VARIANTS[variant]
    torch.manual_seed(0)
    block = TransformerBlock(16, 4, name, hidden=24, **options).train(training)
    x, positions = torch.randn(2, 40, 16, requires_grad=gradients), torch.rand(2, 40, 3)
    sets = {"mask": torch.ones(2, 40, dtype=torch.bool)} if layout == "mask" else {}
    if layout == "ptr":
        x, positions, sets = x.flatten(0, 1), positions.flatten(0, 1), {"ptr": torch.tensor([0, 40, 80])}
    seen: dict[str, Tensor] = {}
    block.attention.register_forward_hook(lambda module, args, output: seen.update(attention=output))
    block.feed_forward.register_forward_hook(lambda module, args, output: seen.update(feed_forward=output))
    with torch.set_grad_enabled(gradients):
        y = block(x, positions, **sets)
        torch.testing.assert_close(x + seen["attention"] + seen["feed_forward"], y)
        assert silent(block, check_hooks(block, x, positions, **sets)) == set()


def test_a_mechanism_that_keeps_its_output_finds_it_unchanged() -> None:
    class Remembers(nn.Module):
        def forward(self, x: Tensor, *others: object) -> Tensor:
            self.output = 2 * x
            return self.output

    block = TransformerBlock(16, 4)
    block.attention = Remembers()  # type: ignore[assignment]
    x = torch.randn(2, 100, 16, requires_grad=True)
    block(x)
    assert torch.equal(block.attention.output, 2 * x)


AUTOENCODER = {"dim": 16, "heads": 2, "hidden": 16, "depth": 2, "groups": 8, "group_size": 8, "embedding": 8}
NETWORKS = {
    "basic": {"classes": 3, "dim": 16, "heads": 2, "hidden": 16},
    "hierarchical": {"classes": 3, "stages": 2},
    "mae": AUTOENCODER,
    "mae-classifier": {"classes": 3, **AUTOENCODER},
    "pooling-mixture": {"dim": 16},
    "pyramid": {"classes": 3, "widths": (16, 32), "strides": (4, 4), "neighbours": (8, 8), "attention": "sampled"},
    "segmenter": {"classes": 3, "widths": (16, 32), "attention": "sampled"},
    "set-transformer": {"classes": 3, "dim": 16},
    "set-transformer-mixture": {"dim": 16},
}
# Queries that all sets share are folded into the projections of keys and values: nothing calls these two layers. The
# maximum over neighbours reads the weights of `offset` itself.
MAB = {"mab0.key", "mab0.value", "mab.key", "mab.value"}
FOLDED = {"set-transformer": MAB, "set-transformer-mixture": MAB, "segmenter": {"merge.offset"}}


@pytest.mark.parametrize(("training", "gradients"), [(True, True), (False, True), (False, False)])
@pytest.mark.parametrize("name", list_models())
def test_hooks_in_a_network(name: str, training: bool, gradients: bool) -> None:
    torch.manual_seed(0)
    network = create_model(name, **NETWORKS[name]).train(training)
    points = torch.rand(4, 64, 2 if name.endswith("mixture") else 3)
    normals = [torch.rand(4, 64, 3)] if name in ("basic", "hierarchical") else []
    with torch.set_grad_enabled(gradients):
        called = check_hooks(network, points, *normals)
    assert silent(network, called) == FOLDED.get(name, set())
