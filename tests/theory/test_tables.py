"""The tables of the command `theory`."""

import pytest

from sampled_transformer.theory import tables
from sampled_transformer.theory.steps import CLAIMS


def test_columns_line_up_and_bars_are_escaped() -> None:
    lines = tables.markdown(["a", "long head"], [["wide cell", "x|y"], ["", "z"]]).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert set(lines[1]) == {"|", "-"}
    assert "x\\|y" in lines[2]


def test_the_mapping_table_says_how_many_inputs_it_ran() -> None:
    whole, random = tables.mapping_table([(2, 1, 2), (3, 1, 3)], limit=4, samples=9).splitlines()[2:]
    assert [cell.strip() for cell in whole.split("|")[1:9]] == ["2", "1", "1/2", "4", "4", "5", "yes", "yes"]
    assert " random |" in random


def test_the_construction_table_shows_the_failure_as_written() -> None:
    rows = {
        line.split("|")[1].strip(): line.split("|")[3].strip() for line in tables.construction_table(16).splitlines()
    }
    assert rows["pairs"] == rows["closed"] == rows["cycle"] == "no"
    assert rows["written"].startswith("n=2, d=1, delta=1/2: ")


def test_the_claim_list_has_a_line_per_statement_and_a_repair_per_failure() -> None:
    text = tables.claim_list(16)
    assert sum(line.startswith("- ") for line in text.splitlines()) == len(CLAIMS)
    failures = text.count("- FAILS: ") + text.count("- no: ")
    assert text.count("  - repair: ") == text.count("  - smallest counter-example: ") == failures > 0
    assert "- holds: l_2 < l_3 < ... < l_n < l_1 [order; " in text


def test_errors_shrink_with_delta() -> None:
    for line in tables.error_table([(2, 1, (2, 4, 8))]).splitlines()[2:]:
        errors = [float(cell) for cell in line.split("|")[4:7]]
        assert errors == sorted(errors, reverse=True)
        assert errors[-1] < errors[0] / 2


def test_grids_too_large_to_draw_are_refused() -> None:
    with pytest.raises(ValueError, match="delta: expected a grid of at most 5000 inputs to draw, got 6561"):
        tables.layers_of(4, 2, "1/3", "pairs")
    assert len(tables.layers_of(2, 1, "1/2", "pairs").layers) == 1 + 2 + 2
