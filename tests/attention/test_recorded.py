"""The pairs of a whole network."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from sampled_transformer import attention_pairs, create_model


def test_every_layer_is_listed_and_the_output_stays() -> None:
    torch.manual_seed(0)
    network = create_model("basic", classes=4, attention="sampled", depth=2, dim=16, heads=2, normals=False).eval()
    points = torch.rand(2, 20, 3)
    output, layers = attention_pairs(network, points)
    torch.testing.assert_close(output, network(points), rtol=1e-5, atol=1e-6)
    assert [len(pairs) for pairs in layers] == [2 * 20 * 2] * 2
    assert not torch.equal(layers[0].key_index, layers[1].key_index), "each layer walks its own cycle"
    assert isinstance(network(points), torch.Tensor), "the network is as it was"


def test_others_that_watch_see_features() -> None:
    network = create_model("basic", classes=4, attention="dense", dim=16, heads=2, normals=False)
    seen = []
    network.blocks[0].attention.register_forward_hook(lambda layer, given, result: seen.append(result.shape))
    attention_pairs(network, torch.rand(2, 6, 3))
    assert seen == [(2, 6, 16)]


def test_a_failed_call_leaves_no_trace() -> None:
    network = create_model("basic", classes=4, attention="dense", dim=16, heads=2, normals=False)
    with pytest.raises(ValueError, match="points: expected 3 coordinates"):
        attention_pairs(network, torch.rand(2, 6, 5))
    assert network(torch.rand(2, 6, 3)).shape == (2, 4)


def test_a_network_without_attention_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^network: expected attention layers that are called, got Linear with none"):
        attention_pairs(nn.Linear(3, 2), torch.rand(4, 3))
