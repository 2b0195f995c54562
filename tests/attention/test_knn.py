"""kNN attention."""

from __future__ import annotations

import pytest
import torch

from sampled_transformer import DenseAttention, KNNAttention
from sampled_transformer.attention.knn import search, search_without_order
from sampled_transformer.sets import Sets


def test_every_point_reads_its_nearest_points() -> None:
    torch.manual_seed(0)
    layer = KNNAttention(8, 2, k=3).double()
    x, positions = torch.randn(1, 12, 8, dtype=torch.float64, requires_grad=True), torch.rand(1, 12, 3).double()
    (grad,) = torch.autograd.grad(layer(x, positions)[0, 4].sum(), x)
    nearest = torch.cdist(positions[0], positions[0])[4].topk(3, largest=False).indices
    assert (grad[0].abs().amax(1) > 0).nonzero().flatten().tolist() == sorted(nearest.tolist())


def test_as_many_neighbours_as_points_are_dense_attention() -> None:
    torch.manual_seed(0)
    layer, dense = KNNAttention(8, 2, k=50).double(), DenseAttention(8, 2).double()
    dense.load_state_dict(layer.state_dict())
    x, positions = torch.randn(2, 9, 8, dtype=torch.float64), torch.rand(2, 9, 3).double()
    torch.testing.assert_close(layer(x, positions), dense(x), rtol=0, atol=1e-12)


def test_training_finds_the_neighbours_that_evaluation_finds() -> None:
    positions = torch.rand(2, 40, 3, generator=torch.Generator().manual_seed(0))
    found = search_without_order(positions, 5, Sets())
    assert torch.equal(found.sort(2).values, search(positions, 5, Sets()).sort(2).values)


def test_a_point_finds_itself_among_more_equal_points_than_it_has_neighbours() -> None:
    positions = torch.zeros(1, 9, 3)
    found = search_without_order(positions, 3, Sets())
    assert (found == torch.arange(9)[:, None]).any(2).all()


def test_the_vector_form_wants_the_coordinates_it_was_built_for() -> None:
    layer = KNNAttention(8, 2, vector=True, coordinates=2)
    assert layer(torch.randn(1, 5, 8), torch.rand(1, 5, 2)).shape == (1, 5, 8)
    with pytest.raises(ValueError, match="positions: expected 2 coordinates, got 3"):
        layer(torch.randn(1, 5, 8), torch.rand(1, 5, 3))


@pytest.mark.parametrize("padded", [False, True])
def test_collected_neighbours_and_dense_attention_behind_a_mask_agree(
    padded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    layer = KNNAttention(8, 2, k=3).double()
    x, positions = torch.randn(2, 20, 8, dtype=torch.float64), torch.rand(2, 20, 3).double()
    mask = torch.arange(20) < torch.tensor([[20], [2]]) if padded else None
    masked = layer(x, positions, mask)
    monkeypatch.setattr("sampled_transformer.attention.knn.DENSE_BELOW", 0)
    torch.testing.assert_close(masked, layer(x, positions, mask), rtol=0, atol=1e-12)
