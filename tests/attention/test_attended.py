"""Weights written out, and the list that callers get."""

from __future__ import annotations

import pytest
import torch

from sampled_transformer import create_attention
from sampled_transformer.attention import attended
from sampled_transformer.attention.attended import AllKeys, FewKeys, Points, group_index, mean_of, pair_index


def points(batch: int, n: int, mask=None) -> Points:
    return Points(torch.zeros(batch, n, 4), None, mask)


def random_few(batch: int, heads: int, queries: int, keys: int, few: int) -> FewKeys:
    index = torch.stack([torch.randperm(keys)[:few] for _ in range(heads * queries)]).view(1, heads, queries, few)
    index[..., -1] = -1
    weight = torch.rand(batch, queries, few, max(heads, 2), dtype=torch.float64)
    weight[:, :, -1] = 0
    return FewKeys(index, weight)


@pytest.mark.parametrize("heads", [1, 2])
def test_few_keys_are_the_matrix_with_few_entries(heads: int) -> None:
    few = random_few(3, heads, 5, 7, 4)
    matrix = few.matrix(7)
    for b in range(3):
        for h in range(2):
            for q in range(5):
                row = torch.zeros(7, dtype=torch.float64)
                for slot, key in enumerate(few.index[0, h if heads > 1 else 0, q].tolist()):
                    if key >= 0:
                        row[key] += few.weight[b, q, slot, h]
                assert torch.equal(matrix[b, h, q], row)
    value = torch.randn(3, 7, 2, 6, dtype=torch.float64)
    torch.testing.assert_close(few.apply(value), AllKeys(matrix).apply(value))


@pytest.mark.parametrize("heads", [1, 2])
def test_both_forms_list_the_same_weights_without_padding(heads: int) -> None:
    mask, other = torch.rand(3, 5) < 0.7, torch.rand(3, 7) < 0.7
    few = random_few(3, heads, 5, 7, 4)
    tables = []
    for weights in (few, AllKeys(few.matrix(7))):
        one, query, key, weight = weights.listed(points(3, 5, mask), points(3, 7, other))
        table = torch.zeros(3, 5, 7, 2, dtype=torch.float64)
        table[one, query, key] = weight
        tables.append(table)
        assert len({*zip(one.tolist(), query.tolist(), key.tolist(), strict=True)}) == len(one)
        assert mask[one, query].all()
        assert other[one, key].all()
    assert torch.equal(*tables)


def test_the_mean_of_several_passes() -> None:
    one, two = random_few(2, 2, 5, 7, 4), random_few(2, 2, 5, 7, 3)
    expected = (one.matrix(7) + two.matrix(7)) / 2
    torch.testing.assert_close(mean_of([one, two]).matrix(7), expected)
    torch.testing.assert_close(mean_of([AllKeys(one.matrix(7)), AllKeys(two.matrix(7))]).matrix(7), expected)


def test_the_only_point_of_a_set_is_read_once() -> None:
    assert pair_index(torch.tensor([2, 1, 0])).tolist() == [[0, 2], [1, -1], [2, 0]]


def test_the_keys_of_a_group_are_those_of_its_points() -> None:
    queries = torch.tensor([[[[0, 3], [2, -1]]]])
    keys = torch.tensor([[[[0, 3, 1], [2, -1, -1]]]])
    assert group_index(queries, keys, 4)[0, 0].tolist() == [[0, 3, 1], [-1] * 3, [2, -1, -1], [0, 3, 1]]


def test_the_mean_over_heads_is_one_head() -> None:
    x = torch.randn(2, 5, 8)
    _, pairs = create_attention("sampled", 8, 4, cycles="per-head")(x, need_weights=True)
    average = pairs.average_heads()
    assert average.heads == 1
    torch.testing.assert_close(average.dense(), pairs.dense().mean(1, keepdim=True))


def test_packed_pairs_count_rows() -> None:
    x, context = torch.randn(5, 8), torch.randn(7, 8)
    ptr, other = torch.tensor([0, 2, 2, 5]), torch.tensor([0, 3, 4, 7])
    layer = create_attention("dense", 8, 2)
    output, pairs = layer(x, ptr=ptr, context=context, context_ptr=other, need_weights=True)
    assert pairs.set_index.tolist() == [0] * 6 + [2] * 9
    assert pairs.query_index.tolist() == [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3 + [4] * 3
    assert pairs.key_index.tolist() == [0, 1, 2] * 2 + [4, 5, 6] * 3
    assert pairs.dense().shape == (3, 2, 3, 3)
    value = layer.split(layer.value(context))
    heads = torch.zeros(5, 2, 4).index_add(0, pairs.query_index, pairs.weight[..., None] * value[pairs.key_index])
    torch.testing.assert_close(layer.output(heads.flatten(1)), output, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("layout", ["plain", "packed", "packed-empty"])
def test_nothing_to_read_gives_no_pairs(layout: str) -> None:
    layer = create_attention("dense", 8, 2)
    sets, x = {}, torch.randn(2, 3, 8)
    if layout == "plain":
        x = x[:, :0]
    else:
        x = x[0, : 3 if layout == "packed" else 0]
        sets = {"ptr": torch.tensor([0, len(x), len(x)])}
    if layout == "packed":
        sets |= {"context": torch.randn(2, 8), "context_ptr": torch.tensor([0, 0, 2])}
    output, pairs = layer(x, **sets, need_weights=True)
    assert len(pairs) == 0
    assert pairs.weight.shape == (0, 2)
    assert (output == 0).all()
    assert pairs.dense().shape == {"plain": (2, 2, 0, 0), "packed": (2, 2, 3, 2), "packed-empty": (2, 2, 0, 0)}[layout]


def test_the_limit_may_be_changed_and_few_queries_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attended, "LIMIT", 10_000)
    layer, x = create_attention("dense", 8, 2), torch.randn(1, 30, 8)
    with pytest.raises(
        ValueError, match=r"^need_weights: expected at most 9.3\S+ GiB .* 1 x 30 x 30 pairs and 2 heads; ask"
    ):
        layer(x, need_weights=True)
    _, pairs = layer(x[:, :2], context=x, need_weights=True)
    assert len(pairs) == 60
    with pytest.raises(ValueError, match=r"^need_weights: expected"):
        create_attention("knn", 8, 2, k=30)(x, torch.rand(1, 30, 3), need_weights=True)
