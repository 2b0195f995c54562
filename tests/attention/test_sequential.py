"""Eq. 5c to the letter, beside the parallel reading."""

from __future__ import annotations

import pytest
import torch

from sampled_transformer import Cycle, SampledAttention


def pair(**options: object) -> tuple[SampledAttention, SampledAttention]:
    torch.manual_seed(0)
    parallel = SampledAttention(8, 2, **options).double()
    sequential = SampledAttention(8, 2, composition="sequential", **options).double()
    sequential.load_state_dict(parallel.state_dict())
    return parallel, sequential


@pytest.mark.parametrize("inner", ["hamiltonian", "dense"])
@pytest.mark.parametrize("n", [1, 2, 5, 7])
def test_both_compositions_agree_where_one_subset_holds_the_set(inner: str, n: int) -> None:
    parallel, sequential = pair(subset=8, inner=inner)
    x, cycle = torch.randn(3, n, 8, dtype=torch.float64), Cycle.sample(n)
    torch.testing.assert_close(sequential(x, cycle=cycle), parallel(x, cycle=cycle), rtol=0, atol=1e-12)


def test_as_many_points_as_a_subset_has_make_two_subsets() -> None:
    """R^i has n_s - 1 points: the last one is alone with its link, and composing differs."""
    parallel, sequential = pair(subset=8)
    x, cycle = torch.randn(3, 8, 8, dtype=torch.float64), Cycle.sample(8)
    assert cycle.subsets(8).shape[1] == 2
    assert not torch.allclose(sequential(x, cycle=cycle), parallel(x, cycle=cycle))


def test_both_agree_for_small_sets_among_larger_ones() -> None:
    parallel, sequential = pair(subset=5)
    x, ptr = torch.randn(14, 8, dtype=torch.float64), torch.tensor([0, 3, 3, 7, 14])
    cycle = Cycle.sample(ptr=ptr)
    one, two = parallel(x, ptr=ptr, cycle=cycle), sequential(x, ptr=ptr, cycle=cycle)
    torch.testing.assert_close(two[:7], one[:7], rtol=0, atol=1e-12)  # sets of 3 and 4 points
    assert not torch.allclose(two[7:], one[7:])  # seven points make two subsets, and one after the other differs


def test_later_subsets_see_what_earlier_ones_changed() -> None:
    """Parallel, a point reads two points; sequential, the first subset reaches the last through the links."""
    parallel, sequential = pair(subset=3)
    x = torch.randn(1, 6, 8, dtype=torch.float64, requires_grad=True)
    reach = []
    for layer in (parallel, sequential):
        (grad,) = torch.autograd.grad(layer(x, cycle=Cycle.identity(6))[0, 5].sum(), x)
        reach.append(int((grad[0].abs().amax(1) > 0).sum()))
    assert reach[0] == 2
    assert reach[1] > 2


@pytest.mark.parametrize("inner", ["hamiltonian", "dense"])
@pytest.mark.parametrize(("n", "subset"), [(1, 3), (2, 3), (3, 3), (6, 3), (7, 3), (7, 2), (9, 4), (5, 8)])
def test_weights_are_the_mean_over_the_updates_of_a_point(inner: str, n: int, subset: int) -> None:
    """Subset after subset by hand: every point's softmax over the points as the subset before left them."""
    _, layer = pair(subset=subset, inner=inner)
    x, cycle = torch.randn(1, n, 8, dtype=torch.float64), Cycle.sample(n)
    _, pairs = layer(x, cycle=cycle, need_weights=True)
    columns, total, updates = x[0].clone(), torch.zeros(2, n, n, dtype=torch.float64), torch.zeros(n)
    windows = cycle.subsets(subset)[0].tolist()
    for window in windows:
        points = [k for k in window if k >= 0]
        now = columns[points]
        query, key = (part(now).view(-1, 2, 4) for part in (layer.query, layer.key))
        after = now.clone()
        for place, k in enumerate(points):
            read = list(range(len(points)))
            if inner == "hamiltonian":
                read = [place, place + 1] if place + 1 < len(points) else [place]
                if len(windows) == 1 and place == len(points) - 1 > 0:
                    read = [place, 0]  # one subset holds the set: its path closes
            weight = torch.softmax(layer.scale * torch.einsum("hd,jhd->hj", query[place], key[read]), 1)
            for j, share in zip(read, weight.T, strict=True):
                total[:, k, points[j]] += share
            value = layer.value(now[read]).view(-1, 2, 4)
            after[place] = now[place] + layer.output(torch.einsum("hj,jhd->hd", weight, value).flatten())
            updates[k] += 1
        columns[points] = after
    torch.testing.assert_close(pairs.dense()[0], total / updates[None, :, None], rtol=0, atol=1e-12)
