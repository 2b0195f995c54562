from __future__ import annotations

import pytest
import torch
from helpers.public_set_transformer import (
    PublicNetwork,
    PublicPMA,
    PublicSAB,
    public_classifier,
    public_mixture,
    public_parse,
)
from torch import nn

from sampled_transformer.models.set_transformer.weights import convert, load_public


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


def wrapped(state: dict, form: str) -> dict:
    """A state_dict as files hold it."""
    if "module" in form:
        state = {f"module.{name}": tensor for name, tensor in state.items()}
    return {"state_dict": state} if "wrapped" in form else state


@pytest.mark.parametrize("form", ["plain", "wrapped", "module", "wrapped module"])
def test_the_head_of_the_public_script_is_the_same_mixture(form: str) -> None:
    """Its head is 4 wide for 2-D points: one deviation for both axes."""
    torch.manual_seed(0)
    public = public_mixture(outputs=4)
    network = load_public(wrapped(public.state_dict(), form))
    points = torch.randn(3, 50, 2) * 3
    weights, means, deviations = public_parse(public(points), 2)
    found = network(points)
    torch.testing.assert_close(found.log_weights.exp(), weights, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(found.means, means, rtol=1e-5, atol=2e-6)
    torch.testing.assert_close(found.deviations, deviations, rtol=1e-5, atol=2e-6)


def test_classifiers_are_unwrapped_too() -> None:
    public = public_classifier()
    network = load_public(wrapped(public.state_dict(), "wrapped module"))
    points = torch.randn(2, 20, 3)
    torch.testing.assert_close(network(points), public(points).squeeze(1), rtol=1e-5, atol=1e-5)


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
    with pytest.raises(ValueError, match=r"^state: expected the state_dict of a public Set .*, got conv\.weight"):
        convert({"conv.weight": torch.zeros(3)})
    with pytest.raises(ValueError, match=r"without LayerNorm, got 'enc\.0\.mab0\.ln0\.weight'"):
        convert({**state, "enc.0.mab0.ln0.weight": torch.ones(16)})
    with pytest.raises(ValueError, match="state: expected weights that fit one network"):
        load_public({**state, "dec.3.bias": torch.zeros(2)})
    for odd in ({"state_dict": [1, 2]}, [1, 2], "weights.pth", {"epoch": 3}):
        with pytest.raises(ValueError, match="state: expected tensors by name, or these under 'state_dict', got "):
            load_public(odd)
    for name in ("step", "enc.0.mab0", "enc.0.mab0.fc_q", "dec.9.S.weight"):
        with pytest.raises(ValueError, match=f"state: expected names of a public Set Transformer.*got '{name}'"):
            load_public({**state, name: torch.zeros(1)})
    for name, ours in {"enc.0.mab1.fc_q.weight": "mab1.query.weight", "dec.3.weight": "head.weight"}.items():
        with pytest.raises(ValueError, match=f"state: expected the state_dict of a whole .*, got one without .*{ours}"):
            load_public({key: tensor for key, tensor in state.items() if key != name})
    with pytest.raises(ValueError, match="state: expected weights that fit one network"):
        load_public(public_mixture(inputs=4, outputs=8).state_dict())  # three deviations for four axes
