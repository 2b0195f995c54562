from __future__ import annotations

import pytest
import torch
from helpers.mae import SMALL, clouds

from sampled_transformer.models.mae.encoder import CentreEmbedding, Encoder, Stack, check_groups
from sampled_transformer.models.mae.mask import draw_mask
from sampled_transformer.models.tokens import group_points

OPTIONS = {name: SMALL[name] for name in ("dim", "heads", "hidden", "depth", "embedding")}


def small_encoder(attention: str = "sampled") -> Encoder:
    torch.manual_seed(0)
    rest = {"norm": True, "activation": "relu", "bias": False, "drop_path": 0.0, "attention_options": None}
    return Encoder(attention=attention, **OPTIONS, **rest)


def test_embedding_only_the_visible_groups_changes_nothing_but_batch_statistics() -> None:
    network = small_encoder().eval()
    groups = group_points(clouds(), 8, 6)
    visible, _ = draw_mask(3, 8, 0.7)
    every = network.embedding(groups.points)
    chosen = torch.stack([one[index] for one, index in zip(every, visible, strict=True)])
    torch.testing.assert_close(network.embedding(groups.take(visible).points), chosen)


def test_positions_are_added_before_every_block() -> None:
    encoder = small_encoder("dense").eval()
    groups = group_points(clouds(), 8, 6)
    x, embedded = encoder.embedding(groups.points), encoder.position(groups.centres)
    for block in encoder.stack.blocks:
        x = block(x + embedded, groups.centres)
    torch.testing.assert_close(encoder(groups), encoder.stack.norm(x))


def test_drop_path_rises_linearly_to_the_last_block() -> None:
    stack = Stack(5, 8, heads=2, drop_path=0.2)
    assert [block.drop_path.probability for block in stack.blocks] == pytest.approx([0, 0.05, 0.1, 0.15, 0.2])
    assert Stack(1, 8, heads=2, drop_path=0.2).blocks[0].drop_path.probability == 0
    with pytest.raises(ValueError, match=r"^depth, decoder_depth: expected at least 1, got 0"):
        Stack(0, 8)


def test_the_last_norm_is_optional() -> None:
    x = torch.randn(2, 5, 8) * 3
    normed, plain = (Stack(1, 8, heads=2, attention="dense", norm=norm)(x, x, x[..., :3]) for norm in (True, False))
    torch.testing.assert_close(normed.mean(2), torch.zeros(2, 5), rtol=0, atol=1e-6)
    assert plain.mean(2).abs().max() > 1e-3


def test_the_centre_embedding_is_one_hidden_layer_with_gelu() -> None:
    embedding, centres = CentreEmbedding(8, hidden=6), torch.randn(2, 5, 3)
    first, _, last = embedding
    hidden = torch.nn.functional.gelu(centres @ first.weight.T + first.bias)
    torch.testing.assert_close(embedding(centres), hidden @ last.weight.T + last.bias)


def test_shape_holds_what_decides_the_meaning_of_the_weights() -> None:
    dense, sampled = small_encoder("dense"), small_encoder("sampled")
    assert dense.shape == sampled.shape == {**OPTIONS, "norm": True, "activation": "relu", "bias": False}
    sampled.load_state_dict(dense.state_dict(), strict=True)


@pytest.mark.parametrize(
    ("groups", "size", "normals", "message"),
    [
        (0, 4, False, "groups, group_size: expected at least 1, got 0 and 4"),
        (4, 0, False, "groups, group_size: expected at least 1, got 4 and 0"),
        (4, 4, True, "normals: expected False, as tokens are made of positions alone, got True"),
    ],
)
def test_impossible_groups_are_named(groups: int, size: int, normals: bool, message: str) -> None:
    check_groups(4, 4, False)
    with pytest.raises(ValueError, match=f"^{message}"):
        check_groups(groups, size, normals)
