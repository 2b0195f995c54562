"""Fig. 1 shows the patterns that the layers compute, and the kept figure is that of the code."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from sampled_transformer import Cycle, SampledAttention, create_attention
from sampled_transformer_lab.figures.fig1 import Stages, colour, fig1
from sampled_transformer_lab.figures.shapes import Polygon, Shape, Text
from sampled_transformer_lab.figures.svg import svg

KEPT = Path(__file__).parents[3] / "docs" / "figures" / "fig1.svg"
N, SUBSET = 12, 4
STAGES = Stages(Cycle.from_seed(3, N), SUBSET)


def panels(n: int, subset: int) -> list[list[Shape]]:
    """The shapes of (a) to (f)."""
    shapes = fig1(n, subset, seed=3).shapes
    begins = [place for place, one in enumerate(shapes) if isinstance(one, Text) and one.words[:1] == "("]
    return [shapes[begin:end] for begin, end in zip(begins, [*begins[1:], len(shapes)], strict=True)]


def cells(panel: list[Shape]) -> list[bool]:
    """Which cells of the matrices are filled, row by row."""
    return [one.kind == "read" for one in panel if isinstance(one, Polygon) and one.kind in ("read", "unread")]


def reads(layer: nn.Module, cycle: Cycle | None) -> torch.Tensor:
    """(n, n), True where the output of the row's point depends on the input of the column's point."""
    x = torch.randn(1, N, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    layer = layer.double().eval()

    def outputs(x: torch.Tensor) -> torch.Tensor:
        return layer(x) if cycle is None else layer(x, cycle=cycle)

    jacobian = torch.autograd.functional.jacobian(outputs, x)  # (1, n, 8, 1, n, 8)
    return jacobian[0, :, :, 0].abs().amax((1, 3)) > 1e-12


def test_the_kept_figure_is_that_of_the_code() -> None:
    assert KEPT.read_text("utf-8") == svg(fig1())  # `sampled-transformer figures` writes it


def test_a_single_subset_is_no_plural() -> None:
    words = [one.words for one in fig1(3, 4).shapes if isinstance(one, Text)]
    assert any(one.startswith("1 subset of 3 points") for one in words)
    assert any("l = 1 subset. " in one for one in words)
    assert not any("1 subsets" in one for one in words)


def test_the_panels_are_those_of_the_paper_in_its_order() -> None:
    titles = [one.words for panel in panels(N, SUBSET) for one in panel[:1] if isinstance(one, Text)]
    assert titles == [
        "(a) Dense attention",
        "(b) After sampling",
        "(c) Hamiltonian attention",
        "(d) Cycle attention",
        "(e) Swap points",
        "(f) Sampled attention",
    ]


def test_dense_and_sampled_panels_are_what_the_layers_read() -> None:
    drawn = panels(N, SUBSET)
    torch.manual_seed(0)
    dense, sampled = create_attention("dense", dim=8, heads=2), SampledAttention(8, 2)
    assert cells(drawn[0]) == reads(dense, None).flatten().tolist()
    assert cells(drawn[5]) == reads(sampled, STAGES.cycle).flatten().tolist()
    # (d) and (e): the same with the points in another order.
    for panel, points in ((drawn[3], STAGES.walk), (drawn[4], STAGES.swapped)):
        cycle = STAGES.cycle.permute(torch.tensor(points))
        assert cells(panel) == reads(sampled, cycle).flatten().tolist()


def test_after_sampling_shows_all_pairs_of_each_subset() -> None:
    walk, inside = STAGES.walk, SampledAttention(8, 2, inner="dense", subset=SUBSET)
    drawn = torch.tensor(cells(panels(N, SUBSET)[1])).view(N, N)
    read = reads(inside, STAGES.cycle)[walk][:, walk]
    linked = {subset[-1] for subset in STAGES.subsets}  # points of two subsets; the layer updates them in the later one
    alone = [place for place, point in enumerate(walk) if point not in linked]
    assert torch.equal(drawn[alone], read[alone])
    assert bool((drawn >= read).all())
    assert torch.equal(drawn, drawn.T)
    assert int(drawn.sum()) == 4 * SUBSET**2 - len(linked)


def test_each_subset_has_a_path_that_ends_where_the_next_begins() -> None:
    path = [key in (row, row + 1) for row in range(SUBSET) for key in range(SUBSET)]
    assert cells(panels(N, SUBSET)[2]) == 4 * path
    subsets = STAGES.subsets
    assert [one[-1] for one in subsets] == [two[0] for two in (*subsets[1:], subsets[0])]


def test_the_swap_exchanges_two_points() -> None:
    moved = [(one, two) for one, two in zip(STAGES.walk, STAGES.swapped, strict=True) if one != two]
    assert len(moved) == 2
    assert moved[0] == moved[1][::-1]
    words = [one.words for one in panels(N, SUBSET)[4] if isinstance(one, Text)]
    assert f"points {moved[0][0] + 1} and {moved[1][0] + 1} change places" in words


@pytest.mark.parametrize(("n", "subset"), [(3, 2), (6, 2), (7, 2), (13, 5), (8, 9), (40, 11)])
def test_any_size_shows_its_cycle(n: int, subset: int) -> None:
    drawn, stages = panels(n, subset), Stages(Cycle.from_seed(3, n), subset)
    assert cells(drawn[5]) == stages.cycle.mask()[0].flatten().tolist()
    assert sum(cells(drawn[3])) == sum(cells(drawn[4])) == 2 * n
    count = len(stages.subsets)
    colours = [colour(stages, number) for number in range(count)]
    assert count == 1 or all(one != two for one, two in zip(colours, [*colours[1:], colours[0]], strict=True))
    assert sorted(stages.home) == list(range(n))


@pytest.mark.parametrize(
    ("n", "subset", "message"),
    [
        (2, 2, "points: expected 3 to 40, got 2"),
        (41, 2, "points: expected 3 to 40, got 41"),
        (6, 1, "subset: expected 2 to 7, got 1"),
        (6, 8, "subset: expected 2 to 7, got 8"),
    ],
)
def test_what_cannot_be_drawn(n: int, subset: int, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        fig1(n, subset)
