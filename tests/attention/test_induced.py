from __future__ import annotations

import pytest
import torch

from sampled_transformer import InducedAttention
from sampled_transformer.attention.pairs import pairs_from_seed


def test_a_plain_batch_shares_its_keys_and_padded_sets_do_not() -> None:
    layer = InducedAttention(8, 2, sampled=True).train()
    x = torch.randn(3, 50, 8)
    assert layer.draw(x, None).shape == (1, 1, 32)
    drawn = layer.draw(x, torch.ones(3, 50).bool())
    assert drawn.shape == (3, 1, 32)
    assert not torch.equal(drawn[0], drawn[1])


def written(layer: InducedAttention, x: torch.Tensor, keys: list[list[int]]) -> torch.Tensor:
    """The docstring's formula for one set (n, dim), where inducing point m reads the points keys[m]."""
    dim, heads = layer.dim, layer.heads

    def attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        parts = [tensor.view(-1, heads, dim // heads) for tensor in (query, key, value)]
        rows = [torch.softmax(layer.scale * parts[1][:, h] @ parts[0][0, h], 0) @ parts[2][:, h] for h in range(heads)]
        return torch.cat(rows)

    summaries = []
    for inducing, some in zip(layer.inducing, keys, strict=True):
        read = attend(layer.summary_query(inducing), layer.summary_key(x[some]), layer.summary_value(x[some]))
        summary = inducing + layer.summary_output(read)
        feed_forward = layer.summary_feed_forward
        summaries.append(summary + feed_forward.contract(torch.relu(feed_forward.expand(summary))))
    summary = torch.stack(summaries)
    return torch.stack(
        [layer.output(attend(layer.query(point), layer.key(summary), layer.value(summary))) for point in x]
    )


@pytest.mark.parametrize("sampled", [False, True])
def test_is_the_formula_of_its_docstring(sampled: bool) -> None:
    torch.manual_seed(0)
    layer = InducedAttention(8, 2, inducing=3, sampled=sampled, seed=4, layer=2).double().eval()
    x = torch.randn(1, 7, 8, dtype=torch.float64)
    keys = [list(range(7))] * 3
    if sampled:
        one, two = pairs_from_seed((4, 2), 3, 7)[0, 0].chunk(2)
        keys = [[int(a), int(b)] for a, b in zip(one, two, strict=True)]
    torch.testing.assert_close(layer(x)[0], written(layer, x[0], keys))


def test_padding_is_never_read() -> None:
    layer = InducedAttention(8, 2, sampled=True).train()
    mask = torch.tensor([[True, False, True, True, True], [False, True, False, False, False]])
    drawn = layer.draw(torch.randn(2, 5, 8), mask)
    assert mask[0, drawn[0]].all()
    assert (drawn[1] == 1).all()  # the only real point, twice


@pytest.mark.parametrize("sampled", [False, True])
def test_says_whether_it_is_random(sampled: bool) -> None:
    torch.manual_seed(0)
    layer, x = InducedAttention(8, 2, sampled=sampled).eval(), torch.randn(2, 50, 8)
    assert layer.is_random is sampled
    before = layer(x)
    assert torch.equal(layer(x), before)
    layer.seed = 1
    assert torch.equal(layer(x), before) == (not sampled)


def test_no_inducing_points_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^inducing: expected at least 1, got 0"):
        InducedAttention(8, 2, inducing=0)
