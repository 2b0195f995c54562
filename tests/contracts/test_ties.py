"""Where points are equally near, networks, compiled ones and exported ones choose the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import sampled_transformer
from sampled_transformer import create_model
from sampled_transformer.data import load_data
from sampled_transformer.inference.export import TIES, export_network
from sampled_transformer.weights import Description, save_model

NETWORKS: dict[str, tuple[str, dict[str, Any]]] = {
    "pyramid": ("pyramid", {"widths": (8, 16), "strides": (2, 2), "neighbours": (6, 4), "stem": 8, "head": 16}),
    "hierarchical": ("hierarchical", {"stages": 3, "widths": (8, 16, 16), "blocks": (1, 1, 1), "normals": False}),
    "hierarchical, kNN": (
        "hierarchical",
        {"stages": 2, "widths": (16, 32), "blocks": (1, 1), "normals": False, "attention": "knn"},
    ),
    "mae-classifier": (
        "mae-classifier",
        {"groups": 16, "group_size": 6, "dim": 16, "heads": 2, "hidden": 16, "depth": 1, "embedding": 8},
    ),
    "kNN": ("basic", {"dim": 16, "heads": 2, "hidden": 16, "normals": False, "attention": "knn"}),
}
SIZES = (90, 800)  # all distances at once, and search trees


@pytest.fixture(autouse=True)
def fresh_compiler() -> Iterator[None]:
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def built(name: str) -> tuple[nn.Module, Description]:
    """A network whose answers differ between shapes, as those of a trained one do."""
    torch.manual_seed(0)
    model, options = NETWORKS[name][0], {"classes": 3, **NETWORKS[name][1]}
    network = create_model(model, **options)
    with torch.no_grad():
        for _ in range(20):
            network(torch.rand(8, 60, 3) * 2 - 1)  # statistics of BatchNorm
    return network.eval(), Description(model, options, ["a", "b", "c"], {"data": {"points": 90}})


def clouds(kind: str, n: int) -> Tensor:
    return TIES[kind](torch.rand(3, n, 3, generator=torch.Generator().manual_seed(n)) * 2 - 1)


def check_equal(network: nn.Module, other: Callable[[Tensor], Tensor], *sizes: int) -> None:
    for n in sizes:
        for kind in TIES:
            points = clouds(kind, n)
            with torch.no_grad():
                expected = network(points)
                message = f"{kind}, {n} points"
                torch.testing.assert_close(other(points), expected, rtol=1e-5, atol=1e-5, msg=message)
                order = torch.randperm(n)
                torch.testing.assert_close(other(points[:, order]), expected, rtol=1e-5, atol=1e-5, msg=message)


@pytest.mark.parametrize("name", ["pyramid", "hierarchical, kNN"])  # which call all searches; compiling takes long
def test_a_compiled_network_gives_the_same_answers(name: str) -> None:
    network, _ = built(name)
    check_equal(network, torch.compile(network, backend="aot_eager"), SIZES[1])


def onnx_runner(path: Path) -> Callable[[Tensor], Tensor]:
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return lambda points: torch.from_numpy(session.run(["logits"], {"points": points.numpy()})[0])


@pytest.mark.parametrize(
    ("name", "suffix"), [*((name, ".onnx") for name in NETWORKS), ("pyramid", ".pt2"), ("kNN", ".pt2")]
)
def test_an_exported_network_gives_the_same_answers(name: str, suffix: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    network, description = built(name)
    save_model(network, tmp_path / "w.safetensors", description)
    out = tmp_path / f"n{suffix}"
    export_network(tmp_path / "w.safetensors", out)
    check_equal(network, onnx_runner(out) if suffix == ".onnx" else torch.export.load(out).module(), *SIZES)


def test_shipped_weights_give_the_same_answers_about_stored_shapes(tmp_path: Path) -> None:
    """Stored shapes have coordinates of 16 bits, and many equal distances."""
    pytest.importorskip("onnxscript")
    trained = sampled_transformer.load("modelnet40-points", "cpu")
    export_network("modelnet40-points", tmp_path / "n.onnx")
    ask = onnx_runner(tmp_path / "n.onnx")
    points = load_data("bricks", "test").batch(list(range(0, 200, 10))).points
    with torch.no_grad():
        expected = trained.network(points) / trained.temperature
    torch.testing.assert_close(ask(points), expected, rtol=0, atol=1e-4)
