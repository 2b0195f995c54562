from __future__ import annotations

import pytest
import torch
from helpers.public_set_transformer import PublicISAB, PublicMAB, PublicPMA, PublicSAB

from sampled_transformer import Cycle, create_model
from sampled_transformer.data.transforms import PRESETS
from sampled_transformer.models.set_transformer import (
    ISAB,
    MAB,
    PMA,
    SAB,
    SetEncoder,
    average,
    average_of_dealt,
    average_of_two,
    dealt_mask,
)
from sampled_transformer.training.recipes import list_recipes, read_recipe
from sampled_transformer.training.settings import DataOptions, OptimiserOptions

INPUTS, DIM, HEADS = 3, 16, 4
# Every way the points are read, as options of SetEncoder.
VARIANTS = {
    "induced": {"inducing": 5},
    "rows": {"inducing": 5, "reading": "rows"},
    "shared rows": {"inducing": 5, "reading": "rows", "pairs": "shared"},
    "columns": {"inducing": 5, "reading": "columns", "kept": 2},
    "dense": {"attention": "dense"},
    "sampled": {"attention": "sampled"},
    "windows": {"attention": "sampled", "inner": "dense", "subset": 4},
    "sparse": {"attention": "sparse"},
}
RANDOM = ["rows", "shared rows", "columns", "sampled", "windows"]
every = pytest.mark.parametrize("variant", VARIANTS)


def seeded(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def classifier(variant: str) -> torch.nn.Module:
    torch.manual_seed(0)
    options = dict(VARIANTS[variant])
    attention = options.pop("attention", "induced")
    return create_model(
        "set-transformer", classes=6, attention=attention, dim=DIM, heads=HEADS, attention_options=options
    ).eval()


def copy_mab(ours: torch.nn.Module, public: PublicMAB) -> None:
    for name, theirs in (("query", "fc_q"), ("key", "fc_k"), ("value", "fc_v"), ("output", "fc_o")):
        getattr(ours, name).load_state_dict(getattr(public, theirs).state_dict())


def test_blocks_are_the_published_ones() -> None:
    torch.manual_seed(0)
    x = seeded(2, 11, INPUTS)
    wide = seeded(2, 9, DIM, seed=1)
    mab, sab = PublicMAB(INPUTS, DIM, DIM, HEADS), PublicSAB(INPUTS, DIM, HEADS)
    isab, pma = PublicISAB(INPUTS, DIM, HEADS, 5), PublicPMA(DIM, HEADS, 3)
    ours = MAB(DIM, HEADS, query_dim=INPUTS), SAB(INPUTS, DIM, HEADS), ISAB(INPUTS, DIM, HEADS, inducing=5)
    pool = PMA(DIM, HEADS, 3)
    copy_mab(ours[0], mab)
    copy_mab(ours[1].attention, sab.mab)
    copy_mab(ours[2].mab0, isab.mab0)
    copy_mab(ours[2].mab1, isab.mab1)
    copy_mab(pool.mab, pma.mab)
    with torch.no_grad():
        ours[2].inducing.copy_(isab.I[0])
        pool.seeds.copy_(pma.S[0])
    torch.testing.assert_close(ours[0](x, wide), mab(x, wide), rtol=0, atol=2e-6)
    torch.testing.assert_close(ours[1](x), sab(x), rtol=0, atol=2e-6)
    torch.testing.assert_close(ours[2](x), isab(x), rtol=0, atol=2e-6)
    torch.testing.assert_close(pool(wide), pma(wide), rtol=0, atol=2e-6)


def test_gradients_are_the_published_ones() -> None:
    torch.manual_seed(0)
    public, ours = PublicISAB(INPUTS, DIM, HEADS, 5).double(), ISAB(INPUTS, DIM, HEADS, inducing=5).double()
    copy_mab(ours.mab0, public.mab0)
    copy_mab(ours.mab1, public.mab1)
    with torch.no_grad():
        ours.inducing.copy_(public.I[0])
    x = seeded(2, 80, INPUTS, dtype=torch.float64)
    for block in (public, ours):
        block(x).square().sum().backward()
    torch.testing.assert_close(ours.inducing.grad, public.I.grad[0])
    for name, theirs in (("query", "fc_q"), ("key", "fc_k"), ("value", "fc_v"), ("output", "fc_o")):
        for half in ("mab0", "mab1"):
            mine, other = (getattr(getattr(b, half), n) for b, n in ((ours, name), (public, theirs)))
            torch.testing.assert_close(mine.weight.grad, other.weight.grad)
            torch.testing.assert_close(mine.bias.grad, other.bias.grad)


def test_learnable_points_start_as_published() -> None:
    torch.manual_seed(0)
    bound = (6 / (16 * 128 + 128)) ** 0.5  # xavier of a tensor (1, 16, 128)
    inducing = ISAB(2, 128, 4, inducing=16).inducing
    assert inducing.abs().max() <= bound
    assert inducing.abs().max() > 0.98 * bound


def softmax_mean(query: torch.Tensor, points: torch.Tensor) -> torch.Tensor:
    return torch.softmax(points @ query, 0) @ points


@pytest.mark.parametrize("n", [1, 2, 4, 5, 12, 23])
@pytest.mark.parametrize("kept", [1, 2, 3, 5])
def test_dealt_points_are_read_by_their_queries(n: int, kept: int) -> None:
    queries, y = seeded(5, 2, 3, dtype=torch.float64), seeded(2, n, 3, seed=1, dtype=torch.float64)
    found = average_of_dealt(queries, y, kept)
    size = n // 5
    for query in range(5):
        heaps = [(query + turn) % 5 for turn in range(kept)]
        places = [place for heap in heaps for place in range(heap * size, (heap + 1) * size)]
        places += range(5 * size, n)
        for number in range(2):
            for head in range(2):
                expected = softmax_mean(queries[query, head], y[number, places])
                torch.testing.assert_close(found[number, query, head], expected)


def test_dealt_points_are_all_read_equally_often() -> None:
    allowed = dealt_mask(torch.ones(1, 40, dtype=torch.bool), 8, 3)[0]
    assert (allowed.sum(0) == 3).all()
    assert (allowed.sum(1) == 15).all()


@pytest.mark.parametrize("size", [1, 3, 5, 17, 20])
def test_padded_dealing_is_that_of_the_set_alone(size: int) -> None:
    queries, y = seeded(5, 2, 3, dtype=torch.float64), seeded(2, 20, 3, seed=1, dtype=torch.float64)
    mask = torch.arange(20) < torch.tensor([[size], [20]])
    found = average(queries, y, dealt_mask(mask, 5, 2))
    torch.testing.assert_close(found[:1], average_of_dealt(queries, y[:1, :size], 2))
    torch.testing.assert_close(found[1:], average_of_dealt(queries, y[1:], 2))


def test_all_columns_kept_is_dense() -> None:
    queries, y = seeded(5, 2, 3, dtype=torch.float64), seeded(2, 23, 3, seed=1, dtype=torch.float64)
    torch.testing.assert_close(average_of_dealt(queries, y, 5), average(queries, y))


@pytest.mark.parametrize("pairs", ["own", "shared"])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("padded", [True, False])
def test_rows_keep_two_points(pairs: str, training: bool, padded: bool) -> None:
    queries, y = seeded(5, 2, 3, dtype=torch.float64), seeded(2, 23, 3, seed=1, dtype=torch.float64)
    layer = ISAB(3, DIM, 2, inducing=5, reading="rows", pairs=pairs).train(training)
    mask = torch.arange(23) < torch.tensor([[9], [23]]) if padded else None
    drawn = layer.draw(y, mask)
    found = average_of_two(queries, y, drawn)
    for number in range(2):
        for head in range(2):
            one, two = drawn[number % len(drawn), head % drawn.shape[1]].chunk(2)
            assert (one != two).all()
            if mask is not None:
                assert mask[number, one].all()
                assert mask[number, two].all()
            for query in range(5):
                pair = y[number, [int(one[query]), int(two[query])]]
                torch.testing.assert_close(found[number, query, head], softmax_mean(queries[query, head], pair))


def test_who_shares_the_points_of_rows() -> None:
    """In training each set and head has its own; in evaluation each head, and every set of one size the same."""
    x = seeded(3, 1000, INPUTS)
    layer = ISAB(INPUTS, DIM, HEADS, inducing=5, reading="rows")
    drawn = layer.train().draw(x, None)
    assert drawn.shape == (3, HEADS, 10)
    assert len({tuple(row.tolist()) for row in drawn.flatten(0, 1)}) == 3 * HEADS
    fixed = layer.eval().draw(x, None)
    assert fixed.shape == (1, HEADS, 10)
    assert len({tuple(row.tolist()) for row in fixed[0]}) == HEADS
    assert torch.equal(layer.draw(x[:1], None), fixed)
    shared = ISAB(INPUTS, DIM, HEADS, inducing=5, reading="rows", pairs="shared")
    assert shared.train().draw(x, None).shape == shared.eval().draw(x, None).shape == (1, 1, 10)


def test_sampled_self_attention_reads_itself_and_its_successor() -> None:
    torch.manual_seed(0)
    block = SAB(INPUTS, DIM, HEADS, "sampled").double().eval()
    x = seeded(1, 7, INPUTS, dtype=torch.float64)
    layer = block.attention
    successor = Cycle.from_seed((0, 0, 0), 7).successor[0]
    query, key, value = (layer.split(part(x))[0] for part in (layer.query, layer.key, layer.value))
    for point in range(7):
        pair = [point, int(successor[point])]
        heads = [
            torch.softmax(key[pair, h] @ query[point, h] / DIM**0.5, 0) @ value[pair, h] + query[point, h]
            for h in range(HEADS)
        ]
        out = torch.cat(heads)
        torch.testing.assert_close(block(x)[0, point], out + torch.relu(layer.output(out)))


@every
def test_plain_padded_and_packed_agree(variant: str) -> None:
    network = classifier(variant)
    points = seeded(3, 20, 3)
    expected = network(points)
    assert expected.shape == (3, 6)
    packed = network(points.flatten(0, 1), ptr=torch.arange(4) * 20)
    torch.testing.assert_close(packed, expected, rtol=1e-5, atol=1e-5)
    mask = torch.zeros(3, 25, dtype=torch.bool)
    mask[:, 3:23] = True
    wide = torch.full((3, 25, 3), torch.nan).index_put((mask,), points.flatten(0, 1))
    torch.testing.assert_close(network(wide, mask=mask), expected, rtol=1e-5, atol=1e-5)


@every
def test_packed_sets_are_those_alone(variant: str) -> None:
    network = classifier(variant)
    sizes = [7, 0, 1, 40, 6, 2]
    points = seeded(sum(sizes), 3)
    ptr = torch.tensor([0, *sizes]).cumsum(0)
    found = network(points, ptr=ptr)
    for number, part in enumerate(points.split(sizes)):
        torch.testing.assert_close(found[number], network(part[None])[0], rtol=1e-5, atol=1e-5)


@every
@pytest.mark.parametrize("n", [0, 1, 2, 33])
def test_gradients_reach_everything_and_are_finite(variant: str, n: int) -> None:
    network = classifier(variant).train()
    for mask in (None, torch.zeros(2, n, dtype=torch.bool)):
        network.zero_grad()
        out = network(seeded(2, n, 3), mask=mask)
        assert out.isfinite().all()
        out.square().sum().backward()
        for name, parameter in network.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.isfinite().all(), name


@every
def test_evaluation_is_repeatable_and_training_is_not(variant: str) -> None:
    network = classifier(variant)
    points = seeded(2, 60, 3)
    torch.manual_seed(1)
    first = network(points)
    torch.manual_seed(2)
    assert torch.equal(network(points), first)
    for module in network.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    network.train()
    differs = not torch.allclose(network(points), network(points), atol=1e-6)
    assert differs == (variant in RANDOM)


def test_columns_do_not_follow_the_order_of_the_points() -> None:
    """Sorted points fall into heaps at random: all heaps have about the same mean."""
    encoder = SetEncoder(1, DIM, HEADS, 1, 1, inducing=4, reading="columns").eval()
    points = torch.arange(400.0)[None, :, None]
    shuffled, mask = encoder.shuffle(points, None)
    assert mask is None
    assert torch.equal(shuffled.sort(1).values, points)
    assert (shuffled.view(4, 100).mean(1) - 199.5).abs().max() < 50  # four standard errors
    trained = encoder.train().shuffle(points, None)[0]
    assert not torch.equal(trained, encoder.shuffle(points, None)[0])


def test_shuffled_padding_comes_last() -> None:
    encoder = SetEncoder(1, DIM, HEADS, 1, 1, inducing=4, reading="columns")
    mask = torch.tensor([[False, True, True, False, True], [False] * 5])
    points = torch.arange(10.0).view(2, 5, 1)
    for training in (True, False):
        shuffled, real = encoder.train(training).shuffle(points, mask)
        assert real.tolist() == [[True] * 3 + [False] * 2, [False] * 5]
        assert sorted(shuffled[0, :3, 0].tolist()) == [1, 2, 4]


def test_layers_read_different_points() -> None:
    encoder = SetEncoder(2, DIM, HEADS, 3, 1, inducing=4, reading="rows").eval()
    draws = [block.draw(seeded(1, 500, 2), None) for block in encoder.blocks]
    assert not torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[1], draws[2])
    numbers = [block.attention.layer for block in SetEncoder(2, DIM, HEADS, 3, 1, "sampled").blocks]
    assert numbers == [0, 1, 2]


def test_generator_decides_what_training_draws() -> None:
    x = seeded(2, 50, INPUTS)

    def result(seed: int) -> torch.Tensor:
        torch.manual_seed(0)
        generator = torch.Generator().manual_seed(seed)
        layer = ISAB(INPUTS, DIM, HEADS, reading="rows", generator=generator).train()
        return layer(x)

    assert torch.equal(result(3), result(3))
    assert not torch.equal(result(3), result(4))


def test_has_the_sizes_of_lee_et_al() -> None:
    network = create_model("set-transformer", classes=40)
    shapes = {name: tuple(parameter.shape) for name, parameter in network.named_parameters()}
    assert shapes["encoder.blocks.0.inducing"] == shapes["encoder.blocks.1.inducing"] == (16, 256)
    assert shapes["encoder.blocks.0.mab0.key.weight"] == (256, 3)
    assert shapes["encoder.blocks.1.mab0.key.weight"] == (256, 256)
    assert shapes["encoder.pool.seeds"] == (1, 256)
    assert shapes["head.weight"] == (40, 256)
    assert [module.p for module in network.modules() if isinstance(module, torch.nn.Dropout)] == [0.5, 0.5]


def test_normals_are_further_features() -> None:
    network = create_model("set-transformer", classes=3, dim=DIM, heads=HEADS, normals=True).eval()
    points, normals = seeded(2, 9, 3), seeded(2, 9, 3, seed=1)
    assert not torch.equal(network(points, normals), network(points, points))
    with pytest.raises(ValueError, match="normals: expected those of the points"):
        network(points)
    with pytest.raises(ValueError, match="normals: expected none"):
        create_model("set-transformer", classes=3)(points, normals)


def test_bad_arguments_are_named() -> None:
    for options, message in (
        ({"heads": 3}, "heads: expected a divisor of dim=16, got 3"),
        ({"depth": 0}, "inputs, depth: expected at least 1"),
        ({"attention": "knn"}, "attention: expected one of induced, dense, sampled, sparse, got 'knn'"),
        ({"attention_options": {"reading": "half"}}, "reading: expected one of all, rows, columns"),
        ({"attention_options": {"reading": "rows", "pairs": "none"}}, "pairs: expected own or shared, got 'none'"),
        ({"attention_options": {"inducing": 0}}, "inducing: expected at least 1"),
        ({"attention_options": {"reading": "columns", "kept": 17}}, "kept: expected 1 to 16"),
        ({"classes": 0}, "classes: expected at least 1"),
    ):
        with pytest.raises(ValueError, match=f"^{message}"):
            create_model("set-transformer", **{"classes": 3, "dim": DIM, **options})
    network = create_model("set-transformer", classes=3, dim=DIM)
    with pytest.raises(ValueError, match="points: expected 3 coordinates, those of the network, got 2"):
        network(seeded(1, 4, 2))
    with pytest.raises(ValueError, match="finite"):
        network(torch.full((1, 4, 3), torch.nan))


@pytest.mark.parametrize("name", [name for name in list_recipes() if name.startswith("set-transformer-")])
def test_recipes_build_the_network_of_the_table(name: str) -> None:
    tree = read_recipe(name)
    assert (tree["recipe"], tree["model"]) == (name, "set-transformer")
    OptimiserOptions(**tree["optimiser"])
    assert not DataOptions("modelnet40", **tree["data"]).normals
    assert tree["data"]["preset"] in PRESETS
    network = create_model("set-transformer", classes=40, attention=tree["attention"], **tree.get("options", {}))
    expected = {"set-transformer-induced": "all", "set-transformer-rows": "rows"}[name]
    assert [block.reading for block in network.encoder.blocks] == [expected] * 2
