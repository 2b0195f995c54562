"""report.html, parsed as HTML."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.cli import main
from sampled_transformer.report.run_page import classes_beside, curves, read_metrics

SMALL = ["--options.dim", "16", "--options.hidden", "16", "--data.points", "16", "--epochs", "2", "--data", "bricks"]


class Page(HTMLParser):
    """Text and tags, apart from scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: list[str] = []
        self.sources: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.sources += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] not in ("script", "style"):
            self.words.append(data)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    for name in ("sampled", "none"):
        assert (
            main(["train", "--recipe", f"basic-{name}", "--data", "bricks", "--out", str(folder / name), *SMALL]) == 0
        )
    return {name: folder / name for name in ("sampled", "none")}


def test_a_run_has_its_page(runs: dict[str, Path]) -> None:
    folder = runs["sampled"]
    page = Page((folder / "report.html").read_text("utf-8"))
    result = json.loads((folder / "result.json").read_text("utf-8"))
    text = " ".join(page.words)
    assert f"{100 * result['figures']['last epoch']['test_accuracy']:.2f} %" in text
    matrix = np.array(result["confusion"])
    assert f"{matrix.sum() - matrix.trace()} of 408 test shapes" in text
    assert page.tags.count("svg") == 24
    assert page.sources == ["data:,"]  # an empty icon; the page loads nothing from elsewhere
    assert result["command"] in text


def test_several_runs_on_one_page(runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "both.html"
    assert main(["report", *map(str, runs.values()), "--out", str(target)]) == 0
    text = " ".join(Page(target.read_text("utf-8")).words)
    assert all(str(folder) in text for folder in runs.values())
    assert "Classes, run beside run" in text
    assert main(["report", str(tmp_path), "--out", str(target)]) == 2
    assert (
        f"runs: expected the folder of a run with at least one finished epoch, got {tmp_path}"
        in capsys.readouterr().err
    )


def test_the_classes_of_several_runs_are_beside_each_other() -> None:
    one = {"classes": ["a", "b"], "confusion": [[3, 1], [0, 0]]}
    two = {"classes": ["a", "b"], "confusion": [[1, 3], [0, 0]]}
    text = "".join(classes_beside({"one": one, "two": two}))
    assert '<td>a</td><td class="number">75.00 %</td><td class="number">25.00 %</td>' in text
    assert '<td>b</td><td class="number">-</td><td class="number">-</td>' in text  # nothing to recognise
    one["confusion"] = [[2, 2], [1, 5]]
    assert '<td class="number">40.00 %</td>' in "".join(classes_beside({"one": one, "two": two}, iou=True))
    assert classes_beside({"one": one}) == []


def test_metrics_are_numbers(runs: dict[str, Path]) -> None:
    rows = read_metrics(runs["none"] / "metrics.csv")
    assert [row["epoch"] for row in rows] == [1, 2]
    assert all(0 <= row["test_accuracy"] <= 1 for row in rows)


def test_a_run_says_how_it_was_made(runs: dict[str, Path]) -> None:
    text = (runs["sampled"] / "report.html").read_text("utf-8")
    assert "torch 2." in text
    assert (runs["sampled"] / "config.yaml").read_text("utf-8").splitlines()[0] in text
    for title in ("Confusion matrix", "Classes", "Most confused", "Mistakes", "Calibration"):
        assert f"<h2>{title}</h2>" in text
    assert len(text) < 8_000_000
    assert text.count("plotly.js v") == 1  # its script is there once


def test_accuracies_are_drawn_from_nothing_to_all(runs: dict[str, Path]) -> None:
    rows = {"run": read_metrics(runs["none"] / "metrics.csv")}
    assert curves(rows, "test_accuracy", "accuracy", percent=True).layout.yaxis.range == (0, 1.02)


def test_runs_of_different_commands_are_not_compared(
    runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "result.json").write_text(json.dumps({"command": "sampled-transformer fewshot x --data y"}))
    assert main(["report", str(runs["none"]), str(other), "--out", str(tmp_path / "page.html")]) == 2
    assert "runs: expected runs of one command, got fewshot and train" in capsys.readouterr().err
