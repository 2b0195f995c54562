from __future__ import annotations

import pytest
import torch
from helpers.public_set_transformer import PublicISAB, PublicMAB, PublicPMA, PublicSAB
from helpers.set_transformer import DIM, HEADS, INPUTS, seeded, softmax_mean

from sampled_transformer import Cycle
from sampled_transformer.models.set_transformer import ISAB, MAB, PMA, SAB
from sampled_transformer.models.set_transformer.reading import average_of_two


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


def test_generator_decides_what_training_draws() -> None:
    x = seeded(2, 50, INPUTS)

    def result(seed: int) -> torch.Tensor:
        torch.manual_seed(0)
        generator = torch.Generator().manual_seed(seed)
        layer = ISAB(INPUTS, DIM, HEADS, reading="rows", generator=generator).train()
        return layer(x)

    assert torch.equal(result(3), result(3))
    assert not torch.equal(result(3), result(4))


@pytest.mark.parametrize(("reading", "random"), [("all", False), ("rows", True), ("columns", True)])
def test_blocks_say_whether_they_are_random(reading: str, random: bool) -> None:
    assert ISAB(INPUTS, DIM, HEADS, reading=reading).is_random is random


def test_the_seed_and_the_layer_decide_what_evaluation_draws() -> None:
    x = seeded(2, 500, INPUTS)
    layer = ISAB(INPUTS, DIM, HEADS, reading="rows").eval()
    first = layer.draw(x, None)
    assert torch.equal(layer.draw(x, None), first)
    layer.seed = 1
    assert not torch.equal(layer.draw(x, None), first)
    layer.seed, layer.layer = 0, 1
    assert not torch.equal(layer.draw(x, None), first)
