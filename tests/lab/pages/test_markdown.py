"""Tables, code blocks and lists of names."""

from __future__ import annotations

import shlex

import pytest

from sampled_transformer_lab.pages.markdown import WIDTH, commands, listed, table


def test_figures_stand_to_the_right() -> None:
    rows = [["a", "1.00 ± 0.10", "+3", "256 points"], ["b", "", "-4", "1"]]
    assert table(["name", "here", "there", "scale"], rows) == [
        "| name | here | there | scale |",
        "|---|---:|---:|---|",
        "| a | 1.00 ± 0.10 | +3 | 256 points |",
        "| b |  | -4 | 1 |",
    ]


def test_long_commands_are_folded_and_stay_commands() -> None:
    long = "sampled-transformer train " + " ".join(f"--option.number_{place} 'a b {place}'" for place in range(12))
    first, *folded, last = commands(long)
    assert (first, last) == ("```bash", "```")
    assert len(folded) > 2
    assert max(map(len, folded)) <= WIDTH
    assert shlex.split("\n".join(folded).replace("\\\n", "")) == shlex.split(long)
    assert commands("short") == ["```bash", "short", "```"]


@pytest.mark.parametrize(("count", "text"), [(0, ""), (1, "a"), (2, "a and b"), (3, "a, b and c")])
def test_names_in_a_sentence(count: int, text: str) -> None:
    assert listed(["a", "b", "c"][:count]) == text
