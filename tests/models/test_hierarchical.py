"""The hierarchical network: its stages against a loop over points, its sizes, its readings."""

from __future__ import annotations

import pytest
import torch

from sampled_transformer.blocks import TransformerBlock
from sampled_transformer.models import create_model
from sampled_transformer.models.hierarchical import PARENT_BLOCKS, PARENT_STRIDES, Stage

SMALL = {"widths": (32, 64, 64), "neighbours": (4, 4, 4), "strides": (2, 2, 2), "blocks": (1, 2, 1)}


def cloud(n: int = 40, batch: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    points, normals = torch.randn(2, batch, n, 3, generator=generator)
    return points, normals


def sizes(network: torch.nn.Module, n: int) -> list[tuple[int, int]]:
    """Points and features after each stage."""
    seen = []
    for stage in network.stages:
        stage.register_forward_hook(lambda module, inputs, out: seen.append((out[1].shape[1], out[1].shape[2])))
    network.eval()(*cloud(n, 1))
    return seen


def test_the_paper_s_sizes_and_both_readings_of_the_strides() -> None:
    widths = [32, 64, 128, 256, 512]
    network = create_model("hierarchical", classes=40)
    assert [len(stage.blocks) for stage in network.stages] == [2, 3, 4, 6, 3]
    assert [block.attention.heads for stage in network.stages for block in stage.blocks[:1]] == [1, 2, 4, 8, 16]
    assert sizes(network, 1024) == list(zip([256, 64, 16, 4, 1], widths, strict=True))
    parent = create_model("hierarchical", classes=40, strides=PARENT_STRIDES, blocks=PARENT_BLOCKS)
    assert sizes(parent, 1024) == list(zip([1024, 256, 64, 16, 4], widths, strict=True))


def test_a_stage_is_farthest_points_neighbours_and_the_largest_of_each_group() -> None:
    torch.manual_seed(0)
    points, x = torch.randn(1, 12, 3), torch.randn(1, 12, 5)
    stage = Stage(5, 7, neighbours=3, stride=4, blocks=[]).eval()
    centres, out = stage(points, x)
    chosen, expected = [0], []
    while len(chosen) < 3:
        gaps = [min(float((p - points[0, j]).norm()) for j in chosen) for p in points[0]]
        chosen.append(gaps.index(max(gaps)))
    for i in chosen:
        near = sorted(range(12), key=lambda j: float((points[0, j] - points[0, i]).norm()))[:3]
        rows = [stage.merge(torch.cat([points[0, j] - points[0, i], x[0, j]])) for j in near]
        merged = torch.stack([stage.norm(row[None])[0].relu() for row in rows]).amax(0)
        expected.append(merged + stage.embedding.layers[0].weight @ points[0, i])
    assert torch.equal(centres[0], points[0, chosen])
    torch.testing.assert_close(out[0], torch.stack(expected))


def test_blocks_read_positions_only_through_the_embedding() -> None:
    points, x = torch.randn(2, 10, 3), torch.randn(2, 10, 4)
    for positions in (True, False):
        torch.manual_seed(0)
        block = TransformerBlock(8, 1, "sampled")
        stage = Stage(4, 8, neighbours=1, stride=1, blocks=[block], positions=positions).eval()
        moved = stage(points + 1.0, x)[1]
        assert torch.equal(stage(points, x)[1], moved) != positions


@pytest.mark.parametrize("attention", ["sampled", "knn", "dense"])
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_every_depth_trains(attention: str, stages: int) -> None:
    network = create_model("hierarchical", classes=5, attention=attention, stages=stages, **SMALL)
    network(*cloud()).square().sum().backward()
    assert len(network.stages) == stages
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


def test_knn_has_the_neighbours_of_its_stage_and_vectors() -> None:
    network = create_model("hierarchical", classes=5, attention="knn", stages=5, attention_options={"vector": True})
    attentions = [stage.blocks[0].attention for stage in network.stages]
    assert [layer.k for layer in attentions] == [8, 16, 16, 16, 16]
    assert all(layer.vector for layer in attentions)
    small = create_model(
        "hierarchical", classes=5, attention="knn", attention_options={"vector": True}, **SMALL, stages=3
    )
    small(*cloud()).square().sum().backward()
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in small.parameters())


def test_few_points_and_evaluation_that_repeats() -> None:
    network = create_model("hierarchical", classes=5, **SMALL, stages=3).eval()
    for n in (1, 2, 7):
        once = network(*cloud(n))
        assert once.isfinite().all()
        assert torch.equal(once, network(*cloud(n)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stages": 6}, "stages: expected 1 to 5"),
        ({"stages": 0}, "stages: expected 1 to 5"),
        ({"strides": (0, 4, 4, 4, 4)}, "strides: expected at least 1 per stage, got"),
        ({"blocks": (2, -1, 4, 6, 3)}, "blocks: expected at least 0 per stage, got"),
        ({"classes": 0}, "classes: expected at least 1"),
    ],
)
def test_bad_options(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        create_model("hierarchical", **{"classes": 5, **options})


def test_bad_calls() -> None:
    network = create_model("hierarchical", classes=5, **SMALL, stages=1)
    with pytest.raises(ValueError, match=r"normals: expected one per point, of shape \(3, 40, 3\), got None"):
        network(cloud()[0])
    with pytest.raises(ValueError, match="points: expected"):
        network(torch.zeros(2, 0, 3), torch.zeros(2, 0, 3))
    bare = create_model("hierarchical", classes=5, **SMALL, stages=1, normals=False)
    assert bare(cloud()[0]).shape == (3, 5)
    with pytest.raises(ValueError, match="normals: expected None"):
        bare(*cloud())


def test_wrong_shapes_are_told() -> None:
    network = create_model("hierarchical", classes=5, **SMALL, stages=1)
    points, normals = cloud(10)
    with pytest.raises(
        ValueError, match=r"points: expected \(batch, n, 3\) with at least one point, got torch.float32"
    ):
        network(points[..., :2], normals)
    with pytest.raises(ValueError, match=r"normals: expected the shape of the points \(3, 10, 3\), got \(3, 9, 3\)"):
        network(points, normals[:, :9])
