from __future__ import annotations

import pytest
import torch
from helpers.mae import SMALL, clouds

from sampled_transformer import create_model, list_attention
from sampled_transformer.models.mae import POINT_MAE, MaskedAutoencoder
from sampled_transformer.models.mae.mask import draw_mask
from sampled_transformer.models.tokens import group_points


def autoencoder(**options) -> MaskedAutoencoder:
    torch.manual_seed(0)
    return create_model("mae", **{**SMALL, **options})


def test_has_the_sizes_of_the_paper() -> None:
    network = create_model("mae")
    assert (network.groups, network.group_size, network.mask_ratio) == (64, 32, 0.7)
    assert (len(network.encoder.stack.blocks), len(network.decoder.blocks)) == (12, 1)
    for stack in (network.encoder.stack, network.decoder):
        for block in stack.blocks:
            assert (block.attention.heads, block.attention.head_dim) == (8, 32)
            assert block.feed_forward.expand.weight.shape == (256, 256)
            assert block.attention.query.bias is None
    assert network.rebuild_head.weight.shape == (96, 256)
    layers = [module.layer for module in network.modules() if hasattr(module, "layer")]
    assert layers == list(range(13))
    outcome = network.reconstruct(clouds(2, 1024))
    assert outcome.visible.points.shape == (2, 20, 32, 3)
    assert outcome.rebuilt.shape == outcome.masked.points.shape == (2, 44, 32, 3)


def test_point_mae_is_a_preset() -> None:
    with torch.device("meta"):
        network = MaskedAutoencoder(**{**POINT_MAE, "depth": 3})
    blocks = network.encoder.stack.blocks
    assert [block.drop_path.probability for block in blocks] == pytest.approx([0, 0.05, 0.1])
    assert (len(network.decoder.blocks), blocks[0].attention.head_dim) == (4, 64)
    assert blocks[0].feed_forward.expand.weight.shape == (1536, 384)


def test_the_loss_is_chamfer_on_the_masked_groups() -> None:
    network = autoencoder().eval()
    outcome = network.reconstruct(clouds())
    expected = []
    for rebuilt, wanted in zip(outcome.rebuilt, outcome.masked.points, strict=True):
        groups = []
        for one, two in zip(rebuilt, wanted, strict=True):
            squared = (one[:, None] - two[None]).square().sum(2)
            groups.append(squared.amin(0).mean() + squared.amin(1).mean())
        expected.append(torch.stack(groups).mean())
    torch.testing.assert_close(network(clouds()), torch.stack(expected))


def test_only_the_centres_of_masked_groups_are_known() -> None:
    network = autoencoder().eval()
    groups = group_points(clouds(), 8, 6)
    visible, masked = (groups.take(index) for index in draw_mask(3, 8, 0.7, torch.Generator().manual_seed(0)))
    assert visible.points.shape[1] == 3
    before = network.rebuild(visible, masked).rebuilt
    hidden = masked._replace(points=torch.full_like(masked.points, torch.nan))
    assert torch.equal(network.rebuild(visible, hidden).rebuilt, before)
    moved = masked._replace(centres=masked.centres + 0.1)
    assert not torch.allclose(network.rebuild(visible, moved).rebuilt, before)
    other = visible._replace(points=visible.points * 1.5)
    assert not torch.allclose(network.rebuild(other, masked).rebuilt, before)


@pytest.mark.parametrize("attention", list_attention())
def test_every_mechanism_learns_and_repeats_itself(attention: str) -> None:
    network = autoencoder(attention=attention)
    network(clouds()).mean().backward()
    for name, parameter in network.named_parameters():
        if attention == "none" and "attention_norm" in name:
            continue  # no attention reads it
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
    network.eval()
    torch.manual_seed(1)
    one = network(clouds())
    torch.manual_seed(2)
    assert torch.equal(network(clouds()), one)


def test_masks_change_in_training_and_with_the_generator() -> None:
    network = autoencoder(attention="dense")
    one, two = (network.reconstruct(clouds()).masked.centres for _ in range(2))
    assert not torch.equal(one, two)
    network.eval()
    one, two = (network.reconstruct(clouds(), torch.Generator().manual_seed(i)).masked.centres for i in (3, 4))
    assert not torch.equal(one, two)


def test_some_steps_lower_the_loss() -> None:
    network = autoencoder(mask_ratio=0.5)
    optimiser = torch.optim.AdamW(network.parameters(), 3e-3)
    points = clouds(8, 64)
    begin = network.eval()(points).mean().item()
    network.train()
    for _ in range(40):
        optimiser.zero_grad()
        network(points).mean().backward()
        optimiser.step()
    assert network.eval()(points).mean().item() < 0.8 * begin


def test_encoder_and_decoder_may_differ() -> None:
    network = autoencoder(attention="knn", decoder_attention="dense", attention_options={"k": 2})
    assert type(network.encoder.stack.blocks[0].attention).__name__ == "KNNAttention"
    assert type(network.decoder.blocks[0].attention).__name__ == "DenseAttention"
    network(clouds()).mean().backward()


def test_identical_points_give_finite_losses_and_gradients() -> None:
    network = autoencoder()
    loss = network(torch.zeros(2, 20, 3))
    loss.mean().backward()
    assert loss.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in network.parameters())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mask_ratio": 0}, "mask_ratio: expected more than 0"),
        ({"mask_ratio": 0.1}, "mask_ratio: expected at least one visible and one masked group, got 0 masked of 8"),
        ({"groups": 0}, "groups, group_size: expected at least 1"),
        ({"depth": 0}, "depth, decoder_depth: expected at least 1"),
        ({"normals": True}, "normals: expected False"),
        ({"heads": 3}, "heads: expected a divisor of dim=16"),
    ],
)
def test_bad_options(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        autoencoder(**options)


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="points: expected at least 8 per cloud, for 8 groups of 6, got 7"):
        autoencoder()(clouds(2, 7))
    with pytest.raises(ValueError, match="normals: expected None"):
        autoencoder()(clouds(), clouds())
    with pytest.raises(ValueError, match="points: expected finite"):
        autoencoder()(torch.full((2, 20, 3), torch.nan))
