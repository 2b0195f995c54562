from __future__ import annotations

import torch

from sampled_transformer.layers.embedding import PositionEmbedding


def test_is_one_matrix_by_default() -> None:
    embedding = PositionEmbedding(8)
    positions = torch.rand(2, 5, 3)
    (weight,) = embedding.parameters()
    torch.testing.assert_close(embedding(positions), positions @ weight.T)


def test_hidden_layers_make_it_an_mlp_with_relu() -> None:
    deep = PositionEmbedding(8, 2, hidden=[6, 7], bias=True)
    assert [p.shape[0] for p in deep.parameters() if p.dim() == 2] == [6, 7, 8]
    positions = torch.rand(4, 2)
    one, two, three = (deep.layers[place] for place in (0, 2, 4))
    expected = three(torch.relu(two(torch.relu(one(positions)))))  # no ReLU at the end
    torch.testing.assert_close(deep(positions), expected)
    assert (expected < 0).any()


def test_no_points() -> None:
    assert PositionEmbedding(8)(torch.zeros(2, 0, 3)).shape == (2, 0, 8)
