"""The command `figures` through the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from sampled_transformer.cli import main
from sampled_transformer_lab.commands.figures import SOURCES
from sampled_transformer_lab.figures.fig1 import fig1
from sampled_transformer_lab.figures.svg import svg

pytest.importorskip("PIL")
RESULTS = Path(__file__).parents[3] / "results"


def test_fig1_for_a_chosen_n_and_subset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "figures"
    words = ["--only", "[fig1]", "--points", "6", "--subset", "3", "--seed", "5", "--out", str(out)]
    assert main(["figures", *words]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["fig1.png", "fig1.svg"]
    assert (out / "fig1.svg").read_text("utf-8") == svg(fig1(6, 3, seed=5))
    assert (out / "fig1.png").read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().out == f"{out / 'fig1.svg'}: written\n{out / 'fig1.png'}: written\n"


def test_figures_without_their_results_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "theory" / "monte-carlo.json"
    place.parent.mkdir()
    place.write_bytes((RESULTS / "theory" / "monte-carlo.json").read_bytes())
    out = tmp_path / "out"
    assert main(["figures", "--points", "4", "--subset", "2", "--results", str(tmp_path), "--out", str(out)]) == 0
    left_out = f"cost: left out, because there is no {tmp_path / 'bench' / 'bench.json'}\n"
    assert left_out in capsys.readouterr().out
    assert {path.stem for path in out.iterdir()} == {"fig1", "monte-carlo"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--only", "[fig2]"], "only: expected one of cost, fig1, monte-carlo"),
        (["--only", "[cost]"], "cost: expected "),
        (["--only", "[fig1]", "--points", "6", "--subset", "9"], "subset: expected 2 to 7, got 9"),
    ],
)
def test_what_cannot_be_drawn(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["figures", *words, "--results", str(tmp_path / "none"), "--out", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_documentation_shows_every_figure() -> None:
    docs = RESULTS.parent / "docs"
    page = (docs / "figures.md").read_text("utf-8")
    for name in SOURCES:
        assert f"(figures/{name}.svg)" in page
        assert {path.suffix for path in (docs / "figures").glob(f"{name}.*")} == {".svg", ".png"}
    assert "(docs/figures/fig1.svg)" in (docs.parent / "README.md").read_text("utf-8")
