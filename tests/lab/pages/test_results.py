"""docs/results/ holds what is under results/, and its arithmetic is right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sampled_transformer.attention import list_attention
from sampled_transformer_lab.pages.results import README, TITLES, all_rows, results_pages, with_claims, write_pages
from sampled_transformer_lab.reproduce import result_file
from sampled_transformer_lab.studies import STUDIES

ROOT = Path(__file__).parents[3]


def run(accuracy: float, shapes: int = 100, once: float = 1.0) -> dict:
    right = round(accuracy * shapes)
    row = {"test_accuracy": accuracy, "test_mean_class_accuracy": accuracy - 0.1, "epoch": 20.0, "train_loss": 1.0}
    return {
        "command": "sampled-transformer train",
        "data": "modelnet40",
        "points": 256,
        "epochs": 10,
        "figures": {"last epoch": row, "best epoch (chosen on test, not the headline)": {**row, "train_loss": once}},
        "confusion": [[right, shapes - right], [0, 0]],
        "seconds": 10.0,
        "machine": {"cores": 2, "threads": 1, "processor": "x"},
        "versions": {"torch": "2"},
    }


def keep(results: Path, study: str, row: str, *runs: dict) -> None:
    for seed, one in enumerate(runs):
        path = result_file(results, study, row, seed)
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(one))


@pytest.fixture(scope="module")
def kept() -> dict[str, str]:
    return results_pages(ROOT / "results")


def test_the_pages_are_those_of_the_results(kept: dict[str, str]) -> None:
    written = {path.name: path.read_text("utf-8") for path in (ROOT / "docs" / "results").glob("*.md")}
    assert written == kept  # `sampled-transformer tables page` writes them


def test_the_claims_of_the_readme_are_those_of_the_results() -> None:
    readme = ROOT / "README.md"
    text = readme.read_text("utf-8")
    assert text.count("| verdict |") == 1
    assert with_claims(text, ROOT / "results") == text  # `sampled-transformer tables page` writes it


ROWS = {"induced": "basic-induced-wide", "sparse": "basic-sparse"}  # what the guide shows under another name
STUDY_OF = dict.fromkeys(("linear", "rotary", "summed"), "variants-modelnet40") | {"sparse": "ordered-modelnet40"}


def test_the_guide_has_the_accuracies_of_the_results() -> None:
    text = (ROOT / "docs" / "guide" / "choose.md").read_text("utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    shown = {name.strip("`"): accuracy for name, _, _, accuracy, _ in rows}
    found = all_rows(ROOT / "results")
    for name, accuracy in shown.items():
        if accuracy != "-":
            label, study = ROWS.get(name, f"basic-{name}"), STUDY_OF.get(name, "basic-modelnet40")
            (row,) = (row for row in found[study] if row.label == label)
            assert accuracy == f"{row.accuracy():.2f}", name
    assert len(shown) == len(list_attention())


def test_a_readme_without_a_place_for_claims_is_left_alone(tmp_path: Path) -> None:
    assert with_claims("# Other\n", tmp_path) == "# Other\n"
    text = with_claims(f"a\n{README[0]}old\n{README[1]}\nb\n", tmp_path)
    assert text.startswith(f"a\n{README[0]}| claim | the paper | here | scale | verdict |\n")
    assert text.endswith(f"|\n{README[1]}\nb\n")
    assert "old" not in text


def test_every_study_has_a_short_title_and_a_link(kept: dict[str, str]) -> None:
    assert set(STUDIES) <= set(TITLES)
    assert max(map(len, TITLES.values())) < 30
    for name in kept.keys() - {"index.md"}:
        assert f"({name})" in kept["index.md"]


def test_a_title_that_ends_with_a_stop_gets_no_second_one(tmp_path: Path) -> None:
    keep(tmp_path, "set-transformer-modelnet40", "set-transformer-rows-100", run(0.8))
    page = results_pages(tmp_path)["set-transformer-modelnet40.md"]
    assert "in the setting of Lee et al.\n" in page
    assert "| sampled rows (100 points) | 1 | 80.00 |" in page


def test_means_deviations_and_the_order(tmp_path: Path) -> None:
    keep(tmp_path, "basic-modelnet40", "basic-sampled", run(0.8), run(0.82), run(0.84))
    keep(tmp_path, "basic-modelnet40", "basic-dense", run(0.7), run(0.71), run(0.72))
    keep(tmp_path, "basic-modelnet40", "basic-none", run(0.81))
    pages = results_pages(tmp_path)
    page = pages["basic-modelnet40.md"]
    assert "7 of 31 runs have been made" in page
    assert "| sampled | 3 | 82.00 ± 2.00 | 87.34 | ± 3.84 | 72.00 ± 2.00 | 82.00 ± 2.00 | 10 |" in page
    assert "| none | 1 | 81.00 | 85.96 | ± 3.92 |" in page
    # 11 +- hypot(sqrt((2^2 + 1^2) / 2) sqrt(2 / 3), split), while the paper claims to be close
    assert "| dense | +11.00 ± 2.43 | 6.9 | better | -0.44 ± 2.76 | confirmed, and ahead |" in page
    assert (
        "| none | +1.00 ± 2.64 | 7.8 | open | +1.38 ± 2.79 | undecided (would resolve 7.8 points) | no number |" in page
    )
    assert "```bash\nsampled-transformer tables make basic-modelnet40 --root ROOT\n" in page
    assert set(pages) == {"index.md", "basic-modelnet40.md"}  # nothing else was measured


def test_a_run_that_diverged_decides_no_order(tmp_path: Path) -> None:
    keep(tmp_path, "basic-modelnet40", "basic-sampled", run(0.8))
    keep(tmp_path, "basic-modelnet40", "basic-induced", run(0.2, once=0.5))
    page = results_pages(tmp_path)["basic-modelnet40.md"]
    assert "| induced (1 of 1 diverged) | 1 | 20.00 |" in page
    assert "| diverged | +3.13 ± 1.71 | says nothing: diverged |" in page
    assert "| sampled | 1 | 80.00 |" in page


def test_a_result_without_the_figures_of_its_page_is_named(tmp_path: Path) -> None:
    result = run(0.8)
    del result["confusion"]
    keep(tmp_path, "basic-modelnet40", "basic-sampled", result)
    with pytest.raises(ValueError, match=r"basic-modelnet40: got a result without 'confusion'; expected one of this"):
        results_pages(tmp_path)
    (tmp_path / "basic-modelnet40" / "basic-sampled-seed0.json").unlink()
    (tmp_path / "order").mkdir()
    (tmp_path / "order" / "bricks.json").write_text("{}")
    with pytest.raises(ValueError, match=r"bricks\.json: got a result without 'by_points'"):
        results_pages(tmp_path)


def test_pages_of_results_that_are_gone_are_removed(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    folder = tmp_path / "pages"
    folder.mkdir()
    for name in ("basic-bricks.md", "notes.md"):
        (folder / name).write_text("old")
    assert write_pages(tmp_path / "results", folder) == [folder / "index.md"]
    assert sorted(path.name for path in folder.iterdir()) == ["index.md", "notes.md"]
