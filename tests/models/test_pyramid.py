"""The pyramid: its stages against a loop over points, its sizes, attention by name, its options."""

from __future__ import annotations

import pytest
import torch

from sampled_transformer.models import create_model
from sampled_transformer.models.pyramid import Stage

SMALL = {"widths": (16, 32), "strides": (2, 4), "neighbours": (4, 4), "stem": 8, "head": 16}


def cloud(n: int = 40, batch: int = 3) -> torch.Tensor:
    return torch.randn(batch, n, 3, generator=torch.Generator().manual_seed(0))


def test_sizes_of_the_default_network() -> None:
    network = create_model("pyramid", classes=40).eval()
    seen = []
    for stage in network.stages:
        stage.register_forward_hook(lambda module, inputs, out: seen.append(tuple(out[1].shape[1:])))
    assert network(cloud(1024, 1)).shape == (1, 40)
    assert seen == [(256, 64), (64, 128), (16, 256)]
    assert network.forward_features(cloud(64, 2)).shape == (2, 512)
    assert sum(parameter.numel() for parameter in network.parameters()) < 1_000_000


def test_a_stage_merges_groups_whose_offsets_are_divided_by_their_radius() -> None:
    torch.manual_seed(0)
    points, x = torch.randn(1, 12, 3), torch.randn(1, 12, 5)
    stage = Stage(5, 7, stride=4, neighbours=3, blocks=[]).eval()
    for norm in (stage.first_norm, stage.second_norm):
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2)
    centres, out = stage(points, x)
    expected = []
    for centre in centres[0]:
        near = sorted(range(12), key=lambda j: float((points[0, j] - centre).norm()))[:3]
        radius = max((points[0, j] - centre).norm() for j in near)
        rows = [stage.point(x[0, j]) + stage.offset((points[0, j] - centre) / radius) for j in near]
        merged = [stage.merge(stage.first_norm(row[None]).relu()) for row in rows]
        expected.append(stage.second_norm(torch.cat(merged).amax(0)[None]).relu()[0])
    assert centres.shape == (1, 3, 3)
    torch.testing.assert_close(out[0], torch.stack(expected))


@pytest.mark.parametrize("attention", ["none", "sampled", "linear", "rotary", "dense"])
def test_every_mechanism_trains_every_weight(attention: str) -> None:
    network = create_model("pyramid", classes=5, attention=attention, **SMALL)
    network(cloud()).square().sum().backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


def test_a_gate_begins_without_attention() -> None:
    gated = create_model("pyramid", classes=5, attention="dense", gate=True, **SMALL).eval()
    bare = create_model("pyramid", classes=5, attention="none", **SMALL).eval()
    bare.load_state_dict(gated.state_dict(), strict=False)
    torch.testing.assert_close(gated(cloud()), bare(cloud()))
    with torch.no_grad():
        gated.stages[0].blocks[0].gate.fill_(1)
    assert not torch.allclose(gated(cloud()), bare(cloud()))


def test_blocks_per_stage_and_stages_without() -> None:
    network = create_model("pyramid", classes=5, attention="dense", blocks=(0, 2), **SMALL)
    assert [len(stage.blocks) for stage in network.stages] == [0, 2]
    assert network(cloud()).shape == (3, 5)


def test_attention_in_chosen_stages() -> None:
    network = create_model("pyramid", classes=5, attention="dense", attended=[2], gate=True, **SMALL)
    kinds = [type(stage.blocks[0].attention).__name__ for stage in network.stages]
    assert kinds == ["NoAttention", "DenseAttention"]
    assert network(cloud()).shape == (3, 5)


def test_few_equal_and_tiny_points() -> None:
    network = create_model("pyramid", classes=5, attention="rotary", **SMALL).eval()
    for points in (cloud(1), cloud(2), cloud(5), torch.zeros(2, 9, 3), 1e-30 * cloud(), 1e-42 * cloud()):
        assert network(points).isfinite().all()


@pytest.mark.parametrize("attention", ["none", "sampled", "rotary"])
def test_the_order_of_the_points_does_not_matter_in_evaluation(attention: str) -> None:
    network = create_model("pyramid", classes=5, attention=attention, **SMALL).eval()
    points = cloud()
    assert torch.equal(network(points), network(points[:, torch.randperm(40)]))


def test_normals_are_further_features() -> None:
    network = create_model("pyramid", classes=5, normals=True, **SMALL).eval()
    points = cloud()
    assert not torch.equal(network(points, points), network(points, -points))
    with pytest.raises(ValueError, match="normals: expected one per point"):
        network(points)
    with pytest.raises(ValueError, match="normals: expected None"):
        create_model("pyramid", classes=5, **SMALL)(points, points)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strides": (4,)}, "strides: expected 3 numbers, one per stage, got 1"),
        ({"neighbours": (4, 0, 4)}, r"neighbours: expected positive numbers, got \(4, 0, 4\)"),
        ({"blocks": (1, 1)}, "blocks: expected 3 numbers, one per stage, got 2"),
        ({"widths": ()}, "widths: expected some numbers, one per stage, got 0"),
        ({"attended": [0]}, r"attended: expected stages from 1 to 3, got \(0,\)"),
        ({"stem": 0}, "stem: expected at least 1, got 0"),
        ({"classes": 0}, "classes: expected at least 1, got 0"),
    ],
)
def test_bad_options(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        create_model("pyramid", **{"classes": 5, **options})


def test_bad_points() -> None:
    network = create_model("pyramid", classes=5, **SMALL)
    for points in (torch.zeros(2, 0, 3), torch.zeros(2, 4, 2), torch.zeros(4, 3)):
        with pytest.raises(ValueError, match=r"points: expected \(batch, n, 3\) with at least one point"):
            network(points)


def test_evaluation_without_gradients_gives_the_same() -> None:
    """It merges one set at a time, and the norms that come before a ReLU are part of the layers before them."""
    network = create_model("pyramid", classes=5, **SMALL).eval()
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm1d):
            for values in (module.weight, module.bias, module.running_mean):
                torch.nn.init.normal_(values)
            torch.nn.init.uniform_(module.running_var, 0.1, 3)
    together = network(cloud()).detach()
    with torch.inference_mode():
        torch.testing.assert_close(network(cloud()), together)
        torch.testing.assert_close(network(cloud()[1:2]), together[1:2])
        assert network(cloud(batch=0)).shape == (0, 5)
        with torch.autocast("cpu", torch.bfloat16):
            assert network(cloud()).isfinite().all()
