"""The compiled pair kernel gives what the written one gives, for all sizes with one program, and is never missed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor

from sampled_transformer import SampledAttention
from sampled_transformer.attention.beyond.rotary import (
    _turn_key,
    _turn_key_back,
    _turn_query,
    _turn_query_back,
    rotary_sums,
)
from sampled_transformer.attention.kernels import _attend_to_pairs, _attend_to_pairs_backward, pair_attention
from sampled_transformer.support import compiled
from sampled_transformer.support.compiled import Compiled, without_compiling

SCALE = 0.3
TURNS = (_turn_key, _turn_key_back, _turn_query, _turn_query_back)
KERNELS = (_attend_to_pairs, _attend_to_pairs_backward, *TURNS)


def permutations(batch: int, heads: int, n: int) -> Tensor:
    return torch.rand(batch, heads, n).argsort(-1)


def results(
    shape: tuple[int, ...], successor: Tensor, scale: float = SCALE, dtype: torch.dtype = torch.float32
) -> list[Tensor]:
    """Output and gradients, from inputs that depend on the shape alone."""
    generator = torch.Generator().manual_seed(0)
    query, key, value, grad = (torch.randn(shape, generator=generator).to(dtype) for _ in range(4))
    inputs = [x.requires_grad_() for x in (query, key, value)]
    out = pair_attention(*inputs, successor, scale)
    return [out.detach(), *torch.autograd.grad(out, inputs, grad)]


@pytest.fixture
def anything_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "SMALLEST", 0)
    monkeypatch.setattr(Compiled, "works", True)
    for kernel in KERNELS:
        monkeypatch.setattr(kernel, "works", True)


@pytest.mark.usefixtures("anything_is_compiled")
@pytest.mark.skipif(sys.platform == "win32", reason="no C++ compiler to be expected")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_compiled_equals_written_for_every_size(monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype) -> None:
    """Compared with what is written in double precision, as each processor rounds its sums in its own order."""
    torch.manual_seed(0)
    cases = [
        ((3, 20, 4, 8), permutations(1, 1, 20), SCALE),
        ((2, 33, 4, 8), permutations(2, 1, 33), 1.0),  # a cycle for each set
        ((5, 50, 4, 8), permutations(1, 4, 50), SCALE),  # one for each head
        ((2, 70, 4, 8), permutations(2, 4, 70), SCALE),
        ((2, 41, 8, 32), permutations(1, 1, 41), SCALE),
    ]
    fast = [results(*case, dtype) for case in cases]
    assert all(kernel.works for kernel in KERNELS), "compiling failed"
    with torch._dynamo.config.patch(error_on_recompile=True):
        results((7, 101, 4, 8), permutations(1, 1, 101), 0.7, dtype)  # nothing new to compile
        assert all(kernel.works for kernel in KERNELS), "a new size was compiled anew"
    for kernel in KERNELS:
        monkeypatch.setattr(kernel, "works", False)
    for ours, case in zip(fast, cases, strict=True):
        for one, other in zip(ours, results(*case, torch.float64), strict=True):
            last_digits = 4 * torch.finfo(dtype).eps * other.abs().max().item()
            torch.testing.assert_close(one.double(), other, rtol=0, atol=last_digits)


@pytest.mark.usefixtures("anything_is_compiled")
@pytest.mark.skipif(sys.platform == "win32", reason="no C++ compiler to be expected")
def test_compiled_turns_equal_written_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    def outcome(batch: int, n: int) -> list[Tensor]:
        torch.manual_seed(n)
        inputs = [torch.randn(batch, n, 4, 8, requires_grad=True) for _ in range(3)]
        out = rotary_sums(*inputs, torch.randn(batch, n, 3), torch.randn(4, 4, 3), None)
        return [out.detach(), *torch.autograd.grad(out.square().sum(), inputs)]

    fast = outcome(3, 20)
    with torch._dynamo.config.patch(error_on_recompile=True):
        fast += outcome(5, 101)
    assert all(kernel.works for kernel in KERNELS), "compiling failed, or a new size was compiled anew"
    for kernel in KERNELS:
        monkeypatch.setattr(kernel, "works", False)
    for one, other in zip(fast, outcome(3, 20) + outcome(5, 101), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("anything_is_compiled")
def test_an_error_that_is_not_the_compilers_stays_an_error() -> None:
    query, value = torch.randn(1, 4, 1, 2), torch.randn(1, 5, 1, 2)
    with pytest.raises(RuntimeError):
        pair_attention(query, query, value, torch.tensor([[[1, 2, 3, 0]]]), SCALE)
    assert all(kernel.works for kernel in KERNELS)


@pytest.mark.usefixtures("anything_is_compiled")
def test_a_graph_of_ones_own_holds_the_kernel_as_written() -> None:
    torch.manual_seed(0)
    layer, x = SampledAttention(16, 2).eval(), torch.randn(2, 30, 16)
    ours = torch.compile(layer, fullgraph=True, backend="aot_eager")(x)
    torch.testing.assert_close(ours, layer(x), rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("anything_is_compiled")
def test_torch_func_does_not_end_compiling() -> None:
    x, successor = torch.randn(3, 1, 6, 1, 4), torch.tensor([[[1, 2, 3, 4, 5, 0]]])
    together = torch.func.vmap(lambda q: pair_attention(q, q, q, successor, SCALE))(x)
    torch.testing.assert_close(together[1], pair_attention(x[1], x[1], x[1], successor, SCALE), rtol=1e-5, atol=1e-6)
    assert all(kernel.works for kernel in KERNELS)


def test_without_a_compiler_the_layer_works_and_says_nothing(tmp_path: Path) -> None:
    program = """
import torch
from sampled_transformer import SampledAttention
from sampled_transformer.support.compiled import SMALLEST
from sampled_transformer.attention.kernels import _attend_to_pairs as kernel
layer = SampledAttention(32, 4)
x = torch.arange(SMALLEST // 16 * 32.0).view(32, -1, 32).sin()
torch.nn.init.eye_(layer.query.weight), torch.nn.init.eye_(layer.key.weight)
torch.nn.init.eye_(layer.value.weight), torch.nn.init.eye_(layer.output.weight)
out = layer.eval()(x)
out.sum().backward()
torch.save([kernel.works, out[:, :5].detach().clone()], "out.pt")
"""
    environment = {**os.environ, "CXX": str(tmp_path / "none"), "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    works, out = torch.load(tmp_path / "out.pt", weights_only=True)
    assert works is False
    layer = SampledAttention(32, 4).eval()
    for part in (layer.query, layer.key, layer.value, layer.output):
        torch.nn.init.eye_(part.weight)
    x = torch.arange(compiled.SMALLEST // 16 * 32.0).view(32, -1, 32).sin()
    with torch.no_grad():
        torch.testing.assert_close(out, layer(x)[:, :5], rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("anything_is_compiled")
def test_what_is_seen_once_is_not_compiled() -> None:
    calls = []
    double = Compiled(lambda x: calls.append(torch.compiler.is_compiling()) or 2 * x)
    with torch.no_grad(), without_compiling():
        assert torch.equal(double(torch.ones(3)), torch.full((3,), 2.0))
    assert double.compiled is None
    assert calls == [False]
    with torch.no_grad():
        double(torch.ones(3))
    assert double.compiled is not None
