from __future__ import annotations

import pytest
import torch

from sampled_transformer import create_model, list_attention

SMALL = {"classes": 5, "dim": 16, "heads": 4, "hidden": 8, "embedding": 8}


def cloud(*shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.rand(*shape, 3, generator=generator) * 2 - 1, torch.randn(*shape, 3, generator=generator)


def test_has_the_sizes_of_the_paper() -> None:
    shapes = {
        name: tuple(p.shape) for name, p in create_model("basic", classes=40, batch_norm=False).named_parameters()
    }
    assert shapes == {
        "position_mlp.layers.0.weight": (64, 3),
        "position_mlp.layers.0.bias": (64,),
        "position_mlp.layers.2.weight": (256, 64),
        "position_mlp.layers.2.bias": (256,),
        "normal_mlp.layers.0.weight": (64, 3),
        "normal_mlp.layers.0.bias": (64,),
        "normal_mlp.layers.2.weight": (256, 64),
        "normal_mlp.layers.2.bias": (256,),
        "blocks.0.attention.query.weight": (256, 256),
        "blocks.0.attention.key.weight": (256, 256),
        "blocks.0.attention.value.weight": (256, 256),
        "blocks.0.attention.output.weight": (256, 256),
        "blocks.0.feed_forward.expand.weight": (256, 256),
        "blocks.0.feed_forward.contract.weight": (256, 256),
        "head.weight": (40, 256),
        "head.bias": (40,),
    }


@pytest.mark.parametrize("attention", list_attention())
def test_plain_padded_and_packed_agree(attention: str) -> None:
    torch.manual_seed(0)
    model = create_model("basic", attention=attention, **SMALL).eval()
    points, normals = cloud(3, 20)
    expected = model(points, normals)
    assert expected.shape == (3, 5)
    packed = model(points.flatten(0, 1), normals.flatten(0, 1), ptr=torch.arange(4) * 20)
    torch.testing.assert_close(packed, expected, rtol=1e-5, atol=1e-5)
    mask = torch.zeros(3, 25, dtype=torch.bool)
    mask[:, 3:23] = True
    wide = [torch.full((3, 25, 3), torch.nan).index_put((mask,), t.flatten(0, 1)) for t in (points, normals)]
    torch.testing.assert_close(model(*wide, mask=mask), expected, rtol=1e-5, atol=1e-5)


def test_batch_statistics_are_those_of_real_points() -> None:
    model = create_model("basic", **SMALL).train()
    points, normals = cloud(2, 10)
    mask = torch.arange(10) < torch.tensor([[10], [4]])
    model(torch.where(mask[..., None], points, 1e6), normals, mask)
    assert model.position_mlp.layers[1].running_mean.abs().max() < 10


def test_no_attention_means_no_block() -> None:
    assert len(create_model("basic", attention="none", **SMALL).blocks) == 0
    assert [b.attention.layer for b in create_model("basic", depth=3, **SMALL).blocks] == [0, 1, 2]


def test_normals_must_be_given_or_not_as_built() -> None:
    points, normals = cloud(2, 10)
    with pytest.raises(ValueError, match=r"normals: expected one per point, of shape \(2, 10, 3\), got None"):
        create_model("basic", **SMALL)(points)
    without = create_model("basic", normals=False, **SMALL)
    assert without(points).shape == (2, 5)
    with pytest.raises(ValueError, match="normals: expected None"):
        without(points, normals)
    with pytest.raises(ValueError, match=r"normals: expected the shape of the points \(2, 10, 3\), got \(2, 9, 3\)"):
        create_model("basic", **SMALL)(points, normals[:, :9])


def test_sets_without_points_give_finite_logits() -> None:
    model = create_model("basic", **SMALL).eval()
    points, normals = cloud(2, 4)
    mask = torch.tensor([[True] * 4, [False] * 4])
    assert model(points, normals, mask).isfinite().all()
    assert model(points[0], normals[0], ptr=torch.tensor([0, 0, 4])).isfinite().all()
    assert model(*cloud(2, 0)).isfinite().all()


def test_bad_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="classes: expected at least 1, got 0"):
        create_model("basic", classes=0)
