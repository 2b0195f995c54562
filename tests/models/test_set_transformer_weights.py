from __future__ import annotations

import pytest
import torch
from public_set_transformer import PublicNetwork, PublicPMA, PublicSAB, public_classifier, public_mixture
from torch import nn

from sampled_transformer.models.set_transformer_weights import convert, load_public


def test_mixture_network_gives_the_same_outputs() -> None:
    torch.manual_seed(0)
    public = public_mixture()
    network = load_public(public.state_dict(), heads=4)
    points = torch.randn(3, 50, 2) * 3
    torch.testing.assert_close(network.raw(points, None), public(points), rtol=1e-6, atol=1e-6)
    assert network.components == 3
    assert network(points).means.shape == (3, 3, 2)


def test_the_published_sizes_give_the_same_outputs() -> None:
    torch.manual_seed(0)
    public = public_mixture(dim=128, heads=4, inducing=32, components=4)
    for module in public.modules():  # as the public code starts; the small networks here have larger points
        if isinstance(module, PublicPMA):
            nn.init.xavier_uniform_(module.S)
        elif hasattr(module, "I"):
            nn.init.xavier_uniform_(module.I)
    points = torch.randn(2, 400, 2) * 3
    network = load_public(public.state_dict())
    torch.testing.assert_close(network.raw(points, None), public(points), rtol=1e-6, atol=1e-6)


def test_classifier_gives_the_same_outputs() -> None:
    torch.manual_seed(0)
    public = public_classifier(heads=2)
    points = torch.randn(3, 50, 3)
    network = load_public(public.state_dict(), heads=2)
    torch.testing.assert_close(network(points), public(points).squeeze(1), rtol=1e-6, atol=1e-6)


def test_encoder_of_dense_blocks() -> None:
    torch.manual_seed(0)
    enc = [PublicSAB(2, 8, 2), PublicSAB(8, 8, 2)]
    public = PublicNetwork(enc, [PublicPMA(8, 2, 4), nn.Linear(8, 5)]).eval()
    points = torch.randn(2, 9, 2)
    network = load_public(public.state_dict(), heads=2)
    torch.testing.assert_close(network.raw(points, None), public(points), rtol=1e-6, atol=1e-6)


def test_every_tensor_is_converted() -> None:
    state = public_mixture().state_dict()
    assert len(convert(state)) == len(state)
    assert "encoder.blocks.0.mab0.query.weight" in convert(state)


def test_other_state_dicts_are_refused() -> None:
    state = public_mixture().state_dict()
    with pytest.raises(ValueError, match="state: expected the state_dict of a public Set Transformer"):
        convert({"conv.weight": torch.zeros(3)})
    with pytest.raises(ValueError, match=r"without LayerNorm, got 'enc\.0\.mab0\.ln0\.weight'"):
        convert({**state, "enc.0.mab0.ln0.weight": torch.ones(16)})
    with pytest.raises(ValueError, match="state: expected weights that fit one network"):
        load_public({**state, "dec.3.bias": torch.zeros(2)})
