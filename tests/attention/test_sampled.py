from __future__ import annotations

from itertools import permutations

import torch

from sampled_transformer import Cycle, DenseAttention, SampledAttention, SparseAttention
from sampled_transformer.sets import Sets


def make(**options: object) -> SampledAttention:
    torch.manual_seed(0)
    return SampledAttention(8, 2, **options).double()


def test_the_size_of_hamiltonian_subsets_does_not_matter_in_parallel() -> None:
    x, cycle = torch.randn(2, 12, 8, dtype=torch.float64), Cycle.sample(12)
    expected = make()(x, cycle=cycle)
    for subset in (3, 5, 13):
        assert torch.equal(make(subset=subset)(x, cycle=cycle), expected)
    torch.testing.assert_close(make(inner="dense", subset=2)(x, cycle=cycle), expected, rtol=0, atol=1e-12)


def test_the_whole_set_as_one_subset_is_dense_attention() -> None:
    x = torch.randn(2, 12, 8, dtype=torch.float64)
    layer = make(inner="dense", subset=13)
    dense = DenseAttention(8, 2).double()
    dense.load_state_dict(layer.state_dict())
    torch.testing.assert_close(layer(x), dense(x), rtol=0, atol=1e-12)


def test_the_cycle_in_the_given_order_is_sparse_attention() -> None:
    x = torch.randn(2, 12, 8, dtype=torch.float64)
    layer = make()
    sparse = SparseAttention(8, 2).double()
    sparse.load_state_dict(layer.state_dict())
    assert torch.equal(layer(x, cycle=Cycle.identity(12)), sparse(x))


def test_sequential_updates_the_shared_point_twice() -> None:
    """Two points, two pairs: g^1 sees the points as they are, g^2 as g^1 has left them."""
    layer = make(composition="sequential")
    x = torch.randn(1, 2, 8, dtype=torch.float64)
    cycle = Cycle.identity(2)

    def pair(first: torch.Tensor, second: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        both = torch.stack([first, second])[None]
        to_both = DenseAttention(8, 2).double()
        to_both.load_state_dict(layer.state_dict())
        return first + to_both(both)[0, 0], second + layer.output(layer.value(second))

    one, two = pair(x[0, 0], x[0, 1])
    two, one = pair(two, one)
    torch.testing.assert_close(x + layer(x, cycle=cycle), torch.stack([one, two])[None], rtol=0, atol=1e-12)


def test_samples_average_fixed_cycles_in_evaluation_only() -> None:
    layer = make(samples=4, seed=3, layer=5)
    x = torch.randn(2, 9, 8, dtype=torch.float64)
    cycles = [Cycle.from_seed((3, 5, sample), 9) for sample in range(4)]
    expected = torch.stack([layer(x, cycle=cycle) for cycle in cycles]).mean(0)
    torch.testing.assert_close(layer.eval()(x), expected, rtol=0, atol=1e-12)
    assert len(layer.train().draw(x, Sets(), None)) == 1


def test_one_cycle_for_a_batch_and_one_for_each_padded_set() -> None:
    layer = make().train()
    same = torch.randn(1, 30, 8, dtype=torch.float64).expand(3, -1, -1)
    y = layer(same)
    assert torch.equal(y[0], y[1])
    y = layer(same, mask=torch.ones(3, 30).bool())
    assert not torch.equal(y[0], y[1])


def test_two_points_make_dense_attention() -> None:
    layer = make()
    dense = DenseAttention(8, 2).double()
    dense.load_state_dict(layer.state_dict())
    x = torch.randn(3, 2, 8, dtype=torch.float64)
    torch.testing.assert_close(layer(x), dense(x), rtol=0, atol=1e-12)


def test_averaging_over_all_cycles_gives_every_pair_the_same_share() -> None:
    """The limit of the paper's Monte Carlo average: the mean of the two-key softmaxes over all other points."""
    layer, n = make(), 5
    x = torch.randn(1, n, 8, dtype=torch.float64)
    cycles = [Cycle.from_order(torch.tensor([[0, *rest]])) for rest in permutations(range(1, n))]
    average = torch.stack([layer(x, cycle=cycle) for cycle in cycles]).mean(0)
    dense = DenseAttention(8, 2).double()
    dense.load_state_dict(layer.state_dict())
    pairs = [[dense(x[:, [k, j]])[0, 0] for j in range(n) if j != k] for k in range(n)]
    expected = torch.stack([torch.stack(row).mean(0) for row in pairs])[None]
    torch.testing.assert_close(average, expected, rtol=0, atol=1e-12)
    assert not torch.allclose(average, dense(x), atol=1e-3)  # which is not dense attention


def test_a_subset_larger_than_the_set_costs_nothing_more() -> None:
    """A million slots for five points would not fit into memory if they were filled with padding."""
    x = torch.randn(1, 5, 8, dtype=torch.float64)
    for options in ({"inner": "dense"}, {"composition": "sequential"}):
        large, small = make(subset=1_000_000, **options).eval(), make(subset=6, **options).eval()
        torch.testing.assert_close(large(x), small(x), rtol=0, atol=1e-12)
        packed = large(x[0], ptr=torch.tensor([0, 2, 5]))
        torch.testing.assert_close(packed, small(x[0], ptr=torch.tensor([0, 2, 5])), rtol=0, atol=1e-12)
