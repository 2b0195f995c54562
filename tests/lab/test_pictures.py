"""The picture of the README shows the cycle that it was drawn from."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch

from sampled_transformer import Cycle
from sampled_transformer_lab.pictures import ORANGE, POINTS, SEED, cycle_picture, ring

KEPT = Path(__file__).parents[2] / "docs" / "pictures" / "cycle.svg"
SVG = "{http://www.w3.org/2000/svg}"


def test_the_kept_picture_is_that_of_the_code() -> None:
    if not KEPT.is_file():
        pytest.skip("an installed package has no docs folder")
    assert KEPT.read_text("utf-8") == cycle_picture(Cycle.from_seed(SEED, POINTS))


@pytest.mark.parametrize("n", [3, 8])
def test_cells_and_arrows_are_those_of_the_cycle(n: int) -> None:
    cycle = Cycle.sample(n, generator=torch.Generator().manual_seed(0))
    dense, walk, sampled = ElementTree.fromstring(cycle_picture(cycle, chosen=1)).findall(f"{SVG}g")
    assert [cell.get("class") for cell in dense.findall(f"{SVG}rect")] == ["read"] * n * n
    cells = [cell.get("class") == "read" for cell in sampled.findall(f"{SVG}rect")]
    assert cells == cycle.mask()[0].flatten().tolist()
    lines = walk.findall(f"{SVG}line")
    assert len(lines) == n
    assert [line.get("stroke") == ORANGE for line in lines] == [point == 1 for point in range(n)]
    places = ring(n)
    for point, line in enumerate(lines):
        x, y = places[int(cycle.successor[0, point])]
        end = float(line.get("x2", "nan")), float(line.get("y2", "nan"))
        assert (end[0] - x) ** 2 + (end[1] - y) ** 2 == pytest.approx(15**2, rel=0.05)  # at the rim of the successor
