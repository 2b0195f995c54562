"""`need_weights=True`: the pairs of every mechanism are those of the pass, and its output follows from them."""

from __future__ import annotations

import pytest
import torch
from helpers.variants import HEADS, VARIANTS, build, cloud

from sampled_transformer import Cycle

# The others read values that changed before, that pass another layer, or that have a weight per channel.
OTHERS = ("none", "induced", "induced-sampled", "knn-vector", "sampled-sequential")
REBUILT = [name for name in VARIANTS if name not in OTHERS]
MASK = torch.arange(11) < torch.tensor([11, 0, 1, 6])[:, None]
PTR = torch.tensor([0, 7, 7, 8, 20])


def call(layer, layout: str, **options):
    if layout == "packed":
        x, positions = cloud(20)
        return x, layer(x, positions, ptr=PTR, **options)
    x, positions = cloud(4, 11)
    return x, layer(x, positions, MASK if layout == "padded" else None, **options)


def rebuild(layer, x: torch.Tensor, pairs) -> torch.Tensor:
    """W_O sum_j w_ij W_V x_j, from the list of pairs alone."""
    value = layer.split(layer.value(x))
    packed = pairs.ptr is not None
    read = value[pairs.key_index] if packed else value[pairs.set_index, pairs.key_index]
    place = (pairs.query_index,) if packed else (pairs.set_index, pairs.query_index)
    heads = torch.zeros_like(value).index_put(place, pairs.weight[..., None] * read, accumulate=True)
    return layer.output(heads.flatten(-2))


@pytest.mark.parametrize("layout", ["plain", "padded", "packed"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_output_is_that_of_the_ordinary_call(variant: str, layout: str) -> None:
    layer = build(variant).eval()
    _, expected = call(layer, layout)
    _, (output, pairs) = call(layer, layout, need_weights=True)
    torch.testing.assert_close(output, expected, rtol=1e-5, atol=1e-6)
    assert pairs.weight.shape == (len(pairs), HEADS)
    rank = (pairs.set_index * 50 + pairs.query_index) * 50 + pairs.key_index
    assert (rank.diff() > 0).all(), "sorted, and every pair once"


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("layout", ["plain", "padded", "packed"])
@pytest.mark.parametrize("variant", REBUILT)
def test_the_output_follows_from_the_pairs(variant: str, layout: str, dropout: float, training: bool) -> None:
    layer = build(variant, dropout=dropout).train(training)
    x, (output, pairs) = call(layer, layout, need_weights=True)
    if layout == "padded":
        x = x.masked_fill(~MASK[..., None], 0)
    torch.testing.assert_close(output, rebuild(layer, x, pairs), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("layout", ["plain", "padded", "packed"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_weights_sum_to_one_and_stay_in_their_set(variant: str, layout: str) -> None:
    layer = build(variant).eval()
    _, (_, pairs) = call(layer, layout, need_weights=True)
    matrix = pairs.dense()
    assert matrix.shape == (4, HEADS, *((12, 12) if layout == "packed" else (11, 11)))
    real = torch.arange(12) < PTR.diff()[:, None] if layout == "packed" else MASK if layout == "padded" else MASK | True
    assert (matrix.permute(0, 2, 3, 1)[~(real[:, :, None] & real[:, None])] == 0).all()
    if variant == "none":
        assert len(pairs) == 0
    elif variant == "rotary":
        assert (pairs.weight < 0).any()  # its features turn
    else:
        assert (pairs.weight >= 0).all()
        expected = real[:, None].expand(-1, HEADS, -1).float()
        torch.testing.assert_close(matrix.sum(3), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("variant", ["sampled", "sampled-per-head", "sampled-hilbert", "estimated", "induced-sampled"])
def test_one_draw_serves_output_and_pairs_in_training(variant: str) -> None:
    layer = build(variant).train()
    x, positions = cloud(2, 9)
    torch.manual_seed(3)
    expected = layer(x, positions)
    torch.manual_seed(3)
    output, _ = layer(x, positions, need_weights=True)
    torch.testing.assert_close(output, expected, rtol=1e-5, atol=1e-6)
    torch.manual_seed(4)
    assert not torch.allclose(layer(x, positions), expected, atol=1e-4)


def test_the_pairs_of_sampled_attention_are_the_cycle() -> None:
    cycle = Cycle.sample(9, HEADS)
    x, _ = cloud(2, 9)
    _, pairs = build("sampled").train()(x, cycle=cycle, need_weights=True)
    assert torch.equal(pairs.dense() != 0, cycle.mask().expand(2, -1, -1, -1))
    _, pairs = build("sampled")(x, cycle=Cycle.sample(9), need_weights=True)
    assert len(pairs) == 2 * 9 * 2
    _, pairs = build("sampled")(x[:, :1], need_weights=True)
    assert len(pairs) == 2
    torch.testing.assert_close(pairs.weight, torch.ones(2, HEADS))
    _, pairs = build("sampled", samples=3).eval()(x, need_weights=True)
    assert len(pairs) <= 2 * 9 * 4
    torch.testing.assert_close(pairs.dense().sum(3), torch.ones(2, HEADS, 9))


@pytest.mark.parametrize("variant", [name for name in REBUILT if build(name).takes_context])
@pytest.mark.parametrize("training", [True, False])
def test_pairs_of_a_context(variant: str, training: bool) -> None:
    layer = build(variant).train(training)
    (x, positions), (context, there) = cloud(2, 4), cloud(2, 7, seed=2)
    mask = torch.arange(7) < torch.tensor([7, 3])[:, None]
    arguments = {"context": context, "context_positions": there, "context_mask": mask}
    output, pairs = layer(x, positions, **arguments, need_weights=True)
    value = layer.split(layer.value(context)).transpose(1, 2)
    rebuilt = layer.output((pairs.dense() @ value).transpose(1, 2).flatten(2))
    torch.testing.assert_close(output, rebuilt, rtol=1e-5, atol=1e-5)
    assert (pairs.dense()[1, :, :, 3:] == 0).all()
    if not training:
        torch.testing.assert_close(layer(x, positions, **arguments), output, rtol=1e-5, atol=1e-6)
    if variant == "sampled":
        assert ((pairs.dense() != 0).sum(3) == 2).all()


@pytest.mark.parametrize("layout", ["padded", "packed"])
@pytest.mark.parametrize("variant", ["sampled", "sampled-subsets", "estimated-rounds", "sampled-sequential"])
def test_given_cycles_are_walked(variant: str, layout: str) -> None:
    layer = build(variant).train()
    sets = {"mask": MASK} if layout == "padded" else {"ptr": PTR}
    cycles = [Cycle.sample(**sets) for _ in range(2)]
    _, expected = call(layer, layout, cycle=cycles)
    _, (output, pairs) = call(layer, layout, cycle=cycles, need_weights=True)
    torch.testing.assert_close(output, expected, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(pairs.dense().sum(3).amax((1, 2)), torch.tensor([1.0, 0.0, 1.0, 1.0]))


def test_weights_carry_gradients() -> None:
    layer = build("sampled")
    _, pairs = layer(cloud(2, 5)[0], need_weights=True)
    pairs.weight.square().sum().backward()
    assert layer.query.weight.grad.any()


@pytest.mark.parametrize(
    "variant", ["dense", "linear", "rotary", "summed", "induced", "estimated-rest-linear", "stratified"]
)
def test_too_many_pairs_are_refused_before_they_are_made(variant: str) -> None:
    x, positions = torch.zeros(1, 60_000, 16), torch.zeros(1, 60_000, 3)  # coincident: one window holds them all
    with pytest.raises(ValueError, match=r"^need_weights: expected at most 4 GiB of weights, got about [\d,.]+ GiB"):
        build(variant).eval()(x, positions, need_weights=True)
