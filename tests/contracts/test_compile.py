"""torch.compile and torch.export see the layers as they are, for any number of points."""

from __future__ import annotations

import shutil

import pytest
import torch
from helpers.variants import VARIANTS, build, cloud

# Sequential unrolls one step a subset: its graph has a length of its own for every n.
COMPILED = [name for name in VARIANTS if name != "sampled-sequential"]
EXPORTED = ["none", "dense", "sparse", "induced", "induced-sampled", "sampled", "sampled-per-head", "sampled-average"]


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


@pytest.mark.parametrize(
    ("variant", "form"),
    [(name, "plain") for name in COMPILED]
    + [(name, form) for name in ("sampled", "dense") for form in ("padded", "packed")],
)
def test_a_new_number_of_points_does_not_recompile(variant: str, form: str) -> None:
    layer = build(variant).eval()
    compiled = torch.compile(layer, dynamic=True, backend="eager")

    def call(function, n: int) -> torch.Tensor:
        if form == "packed":
            x, positions = cloud(n)
            return function(x, positions, ptr=torch.tensor([0, 5, 5, n]))
        x, positions = cloud(3, n)
        mask = torch.arange(n) < torch.tensor([n, 4, n - 2])[:, None]
        return function(x, positions, mask if form == "padded" else None)

    call(compiled, 20)
    call(compiled, 27)
    with torch.compiler.set_stance("fail_on_recompile"):
        for n in (18, 24, 33, 50):
            torch.testing.assert_close(call(compiled, n), call(layer, n), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("variant", ["dense", "induced-sampled", "knn", "sampled"])
def test_compiled_training_has_the_same_gradients(variant: str) -> None:
    layer = build(variant).eval()  # the fixed cycle, so that both see the same one
    compiled = torch.compile(layer, dynamic=True, backend="aot_eager")
    grads = []
    for function in (layer, compiled):
        x, positions = cloud(2, 21)
        x.requires_grad_()
        layer.zero_grad()
        (x + function(x, positions)).square().sum().backward()
        grads.append([x.grad, *(p.grad.clone() for p in layer.parameters())])
    for one, two in zip(*grads, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-5)


def test_a_layer_used_twice_compiles() -> None:
    layer = build("sampled", scale=0.3).eval()
    compiled = torch.compile(lambda x: layer(layer(x)), dynamic=True, backend="aot_eager", fullgraph=True)
    for n in (9, 12):
        x, _ = cloud(2, n)
        torch.testing.assert_close(compiled(x), layer(layer(x)), rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="it needs a C++ compiler")
def test_the_default_backend_compiles_training_of_the_sampled_layer() -> None:
    layer = build("sampled").train()
    compiled = torch.compile(layer, dynamic=True)
    for n in (20, 27):
        x, _ = cloud(2, n)
        x.requires_grad_()
        one, two = compiled(x), compiled(x)
        assert not torch.equal(one, two)
        one.square().sum().backward()
        assert x.grad is not None
        assert x.grad.isfinite().all()
    layer.eval()
    x, _ = cloud(2, 31)
    torch.testing.assert_close(compiled(x), layer(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("variant", EXPORTED)
def test_exports_with_any_number_of_points(variant: str) -> None:
    layer = build(variant).eval()
    batch, n = torch.export.Dim("batch", min=1, max=64), torch.export.Dim("n", min=2, max=1 << 20)
    shape = {0: batch, 1: n}
    program = torch.export.export(layer, cloud(2, 12), dynamic_shapes=(shape, shape)).module()
    for sets, points in ((1, 2), (3, 17), (5, 100)):
        x, positions = cloud(sets, points)
        torch.testing.assert_close(program(x, positions), layer(x, positions), rtol=1e-5, atol=1e-6)
