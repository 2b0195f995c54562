"""neighbour_max against the array of all candidates."""

from __future__ import annotations

import pytest
import torch

from sampled_transformer.layers.neighbour_max import MOST, neighbour_max


def example(n: int, k: int, width: int = 6) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(n + k)
    x, weight = torch.randn(n, width, generator=generator), torch.randn(width, 4, generator=generator)
    return x, weight, torch.randint(n, (n, k), generator=generator), torch.randn(n, k, 4, generator=generator)


def written_out(x: torch.Tensor, weight: torch.Tensor, neighbours: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    return (x.double()[neighbours] + offsets.double() @ weight.double().t()).max(1).values


@pytest.mark.parametrize(("n", "k"), [(1, 1), (5, 1), (20, 2), (30, 16), (30, 17), (300, MOST)])
def test_without_gradients_it_is_exact(n: int, k: int) -> None:
    given = example(n, k)
    found = neighbour_max(*given)
    torch.testing.assert_close(found, written_out(*given).float(), rtol=1e-6, atol=1e-6)
    with torch.no_grad():
        given[0].requires_grad_()
        assert torch.equal(neighbour_max(*given), found)


@pytest.mark.parametrize(("n", "k"), [(5, 1), (20, 2), (30, 16), (30, 17), (300, MOST)])
def test_with_gradients_only_the_last_bits_differ(n: int, k: int) -> None:
    x, weight, neighbours, offsets = example(n, k)
    bits = max(1, (k - 1).bit_length())
    one, two = x.clone().requires_grad_(), weight.clone().requires_grad_()
    slow_x, slow_weight = x.double().requires_grad_(), weight.double().requires_grad_()
    found, expected = (
        neighbour_max(one, two, neighbours, offsets),
        written_out(slow_x, slow_weight, neighbours, offsets),
    )
    torch.testing.assert_close(found.double(), expected, rtol=2.0 ** (bits - 23), atol=1e-5)
    pull = torch.randn(found.shape, generator=torch.Generator().manual_seed(1))
    (found * pull).sum().backward()
    (expected * pull).sum().backward()
    # Two candidates that agree up to the last bits may swap, which moves single entries of the gradient.
    close = (one.grad - slow_x.grad).abs() < 1e-4
    assert close.double().mean() > (0.99 if k <= 17 else 0.9)
    assert torch.nn.functional.cosine_similarity(two.grad.flatten(), slow_weight.grad.float().flatten(), 0) > 0.999
    torch.testing.assert_close(one.grad.sum(0).double(), slow_x.grad.sum(0), rtol=1e-4, atol=1e-4)


def test_negative_candidates_and_ties() -> None:
    """The bits of a negative float count the other way, and equal candidates need one winner."""
    neighbours, offsets = torch.tensor([[0, 1, 2]]), torch.zeros(1, 3, 4)
    for values in ([-3.0, -1.0, -2.0], [0.0, -0.0, 0.0], [2.0, 2.0, 2.0], [-1e-30, -1e30, -1.0]):
        x = torch.tensor(values).unsqueeze(1).requires_grad_()
        found = neighbour_max(x, torch.zeros(1, 4, requires_grad=True), neighbours, offsets)
        assert found.item() == pytest.approx(max(values), rel=1e-6, abs=1e-30)
        found.sum().backward()
        assert float(x.grad.sum()) == 1.0
        assert float(x.grad.max()) == 1.0


def test_one_gradient_alone() -> None:
    x, weight, neighbours, offsets = example(20, 4)
    both = [one.clone().requires_grad_() for one in (x, weight)]
    neighbour_max(*both, neighbours, offsets).sum().backward()
    for number in range(2):
        alone = [x, weight]
        alone[number] = alone[number].clone().requires_grad_()
        neighbour_max(*alone, neighbours, offsets).sum().backward()
        assert torch.equal(alone[number].grad, both[number].grad)


def test_other_types_and_autocast() -> None:
    x, weight, neighbours, offsets = example(30, 8)
    expected = neighbour_max(x, weight, neighbours, offsets)
    for dtype in (torch.bfloat16, torch.float64):
        own = x.to(dtype).requires_grad_()
        found = neighbour_max(own, weight, neighbours, offsets)
        assert found.dtype == torch.float32
        torch.testing.assert_close(found, expected, rtol=0.02, atol=0.02)
        found.sum().backward()
        assert own.grad.dtype == dtype
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(neighbour_max(x, weight, neighbours, offsets), expected)


def test_no_points_and_too_many_neighbours() -> None:
    x, weight, _, _ = example(5, 2)
    none = neighbour_max(x, weight, torch.zeros(0, 2, dtype=torch.int64), torch.zeros(0, 2, 4))
    assert none.shape == (0, 6)
    with pytest.raises(ValueError, match=f"neighbours: expected at most {MOST}, got {MOST + 1}"):
        neighbour_max(*example(5, MOST + 1))
