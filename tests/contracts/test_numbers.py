"""Finite outputs and gradients, or a clear error, for every mechanism and network, whatever the numbers are."""

from __future__ import annotations

import pytest
import torch
from helpers.variants import DIM, VARIANTS, build

from sampled_transformer import create_model, list_models

N = 24
# Small networks: numbers fail in the same places as in large ones.
SMALL: dict[str, dict] = {
    "basic": {"classes": 3, "dim": 16, "heads": 2},
    "segmenter": {"classes": 3, "widths": [8, 16], "neighbours": 4},
    "hierarchical": {"classes": 3, "stages": 2, "blocks": (1, 1, 1, 1, 1)},
    "mae": {"groups": 3, "group_size": 3, "dim": 16, "heads": 2, "depth": 1, "decoder_depth": 1, "embedding": 8},
    "mae-classifier": {"classes": 3, "groups": 3, "group_size": 3, "dim": 16, "heads": 2, "depth": 1, "embedding": 8},
    "pooling-mixture": {"dim": 16},
    "pyramid": {"classes": 3, "attention": "sampled", "widths": (16, 32), "strides": (2, 2), "neighbours": (4, 4)},
    "set-transformer": {"classes": 3, "dim": 16},
    "set-transformer-mixture": {"dim": 16},
}
CLOUDS = {
    "ordinary": lambda p: p,
    "far from the origin": lambda p: p + 1e6,
    "very far": lambda p: p + 1e12,
    "farther": lambda p: p + 1e15,
    "huge": lambda p: p * 1e15,
    "tiny": lambda p: p * 1e-30,
    "denormal": lambda p: p * 1e-40,
    "of all sizes": lambda p: torch.cat([p[:, :1] * 1e15, p[:, 1:2] * 1e-40, p[:, 2:]], 1),
    "at one place": lambda p: p * 0 + 0.3,
    "at the origin": lambda p: p * 0,
    "on a line": lambda p: p[..., :1].expand_as(p),
    "in pairs": lambda p: p[:, torch.arange(p.shape[1]) // 2],
}
FEATURES = [1e-40, 1e-30, 1e-15, 1e6, 1e10, 1e15]
NARROW = [torch.float16, torch.bfloat16]
modes = pytest.mark.parametrize("training", [False, True], ids=["evaluation", "training"])


def draw(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed)) * 2 - 1


def check_finite(module: torch.nn.Module, outputs: list[torch.Tensor], inputs: torch.Tensor) -> None:
    assert all(bool(output.isfinite().all()) for output in outputs), "the output is not finite"
    if not any(output.requires_grad for output in outputs):
        return  # no attention at all
    sum(output.float().sum() for output in outputs).backward()
    gradients = {"input": inputs.grad, **{name: one.grad for name, one in module.named_parameters()}}
    wrong = [name for name, one in gradients.items() if one is not None and not bool(one.isfinite().all())]
    assert wrong == [], "gradients are not finite"


def check_attention(variant: str, x: torch.Tensor, positions: torch.Tensor, training: bool) -> None:
    layer = build(variant).to(x.dtype).train(training)
    x = x.requires_grad_()
    check_finite(layer, [layer(x, positions)], x)


def check_model(name: str, points: torch.Tensor, training: bool) -> None:
    torch.manual_seed(0)
    network = create_model(name, **SMALL[name]).to(points.dtype).train(training)
    points = points.requires_grad_()
    normals = torch.nn.functional.normalize(draw(*points.shape, seed=2).float(), dim=-1).to(points.dtype)
    outputs = network(points, normals) if name in ("basic", "hierarchical") else network(points)
    check_finite(network, list(outputs) if isinstance(outputs, tuple) else [outputs], points)


def refusal(name: str, points: torch.Tensor, training: bool) -> str:
    """Check the network's numbers; the error if it refuses the points, or nothing."""
    try:
        check_model(name, points, training)
    except ValueError as error:
        return str(error)
    return ""


def coordinates(name: str) -> int:
    return 2 if name.endswith("mixture") else 3


def test_every_network_is_here() -> None:
    assert sorted(SMALL) == list_models()


@modes
@pytest.mark.parametrize("variant", VARIANTS)
def test_features_of_any_size(variant: str, training: bool) -> None:
    for size in FEATURES:
        for n in (1, 3, N):
            check_attention(variant, draw(2, n, DIM) * size, draw(2, n, 3), training)


@modes
@pytest.mark.parametrize("variant", VARIANTS)
def test_positions_of_any_kind(variant: str, training: bool) -> None:
    for cloud in CLOUDS.values():
        check_attention(variant, draw(2, N, DIM), cloud(draw(2, N, 3)), training)


@modes
@pytest.mark.parametrize("variant", VARIANTS)
def test_few_points_and_narrow_types(variant: str, training: bool) -> None:
    for dtype in (torch.float32, *NARROW):
        for n in (0, 1, 2, 3):
            check_attention(variant, draw(2, n, DIM).to(dtype), draw(2, n, 3).to(dtype), training)
            check_attention(variant, draw(2, n, DIM).to(dtype), draw(2, n, 3).to(dtype) * 0, training)
    for dtype in NARROW:
        check_attention(variant, (draw(2, N, DIM) * 10).to(dtype), draw(2, N, 3).to(dtype), training)


@modes
@pytest.mark.parametrize("name", list_models())
def test_networks_with_clouds_of_any_kind(name: str, training: bool) -> None:
    for kind, cloud in CLOUDS.items():
        for dtype in (torch.float32, torch.bfloat16):
            points = cloud(draw(2, N, coordinates(name))).to(dtype)
            refused = refusal(name, points, training)
            assert not refused or "expected at most 1e+12 where gradients are wanted, got" in refused, kind


@modes
@pytest.mark.parametrize("name", list_models())
def test_networks_with_few_points_and_half_precision(name: str, training: bool) -> None:
    for dtype in (torch.float32, *NARROW):
        for n in (0, 1, 2, 3, N):
            refused = refusal(name, draw(2, n, coordinates(name)).to(dtype), training)
            assert not refused or (n < 3 and "points: expected" in refused)


@modes
@pytest.mark.parametrize("deviation", [1e-40, 1e-30, 1.0, 1e15])
def test_features_of_scans_of_any_size(deviation: float, training: bool) -> None:
    """They are divided by how much they varied in training, which may be next to nothing."""
    widths = {"colour": 3, "intensity": 1}
    for size in (*FEATURES, 1.0, 1e30, 3e38):
        torch.manual_seed(0)
        network = create_model("segmenter", **SMALL["segmenter"], features=widths).train(training)
        spread = {name: torch.full((width,), deviation) for name, width in widths.items()}
        network.standardise({name: torch.zeros(width) for name, width in widths.items()}, spread)
        features = {name: (draw(2, N, width, seed=3) * size).requires_grad_() for name, width in widths.items()}
        points = draw(2, N, 3).requires_grad_()
        check_finite(network, [network(points, features)], points)
        assert all(bool(one.grad.isfinite().all()) for one in features.values()), size


def test_what_half_precision_cannot_hold_is_named() -> None:
    with pytest.raises(ValueError, match="positions: expected finite coordinates, got NaN or infinity"):
        check_attention("sampled", draw(2, N, DIM).half(), (draw(2, N, 3) + 1e6).half(), False)
