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


@pytest.mark.parametrize("sampled", [True, False])
def test_weights_are_the_product_of_both_maps(sampled: bool) -> None:
    torch.manual_seed(0)
    layer = InducedAttention(8, 2, inducing=3, sampled=sampled).double().eval()
    x, context = torch.randn(1, 4, 8, dtype=torch.float64), torch.randn(1, 6, 8, dtype=torch.float64)
    _, pairs = layer(x, context=context, need_weights=True)
    first = torch.zeros(2, 3, 6, dtype=torch.float64)
    inducing, key = layer.summary_query(layer.inducing).view(3, 2, 4), layer.summary_key(context[0]).view(6, 2, 4)
    drawn = layer.draw(context, None)[0, 0].view(2, 3).T.tolist()
    for a in range(3):
        read = drawn[a] if sampled else list(range(6))
        for h in range(2):
            first[h, a, read] = torch.softmax(layer.scale * key[read, h] @ inducing[a, h], 0)
    summary = layer.key(layer.summarise(context, None)[0]).view(3, 2, 4)
    query = layer.query(x[0]).view(4, 2, 4)
    second = torch.softmax(layer.scale * torch.einsum("ihd,ahd->hia", query, summary), 2)
    torch.testing.assert_close(pairs.dense()[0], second @ first.mean(0), rtol=0, atol=1e-12)
    assert len(pairs) == (4 * len({j for two in drawn for j in two}) if sampled else 24)
