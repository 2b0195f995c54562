"""Every report in a real browser: all plots are drawn, nothing goes wrong, and nothing is asked of the outside."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest
from helpers.browser import DESKTOP, PHONE, browser, complaints, requests, wait_for

from sampled_transformer.cli import main

pytestmark = pytest.mark.browser

SMALL = ["--options.dim", "32", "--options.hidden", "32", "--data.points", "64", "--epochs", "2", "--data", "bricks"]
ENCODER = ["--options.depth", "1", "--options.dim", "24", "--options.hidden", "24", "--options.heads", "2"]
ENCODER += ["--options.groups", "16", "--options.group_size", "16", "--options.embedding", "16"]
PAGES = {  # page and plots on it
    "train/report.html": 7,
    "both.html": 8,
    "train/evaluate/report.html": 5,
    "measured.html": 2,
    "number/report.html": 3,
    "number/evaluate/report.html": 1,
    "pretrain/report.html": 4,
    "fewshot/report.html": 1,
    "cluster/report.html": 1,
    "robust/report.html": 2,
    "bench/report.html": 1,
    "benches.html": 1,
    "labels.html": 6,
    "clusters.html": 1,
    "fit.html": 1,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, regressor: Path, segmenter: Path) -> Path:
    """A folder with a report of every kind."""
    out = tmp_path_factory.mktemp("reports")
    for name, recipe in (("train", "basic-sampled"), ("none", "basic-none")):
        assert main(["train", "--recipe", recipe, "--out", str(out / name), *SMALL]) == 0
    runs = [str(out / "train"), str(out / "none")]
    assert main(["report", *runs, "--out", str(out / "both.html")]) == 0
    for run in runs:
        assert main(["evaluate", run]) == 0
    measured = [f"{run}/evaluate" for run in runs]
    assert main(["report", *measured, "--out", str(out / "measured.html")]) == 0
    (out / "number").mkdir()
    assert main(["report", str(regressor), "--out", str(out / "number" / "report.html")]) == 0
    assert main(["evaluate", str(regressor), "--out", str(out / "number" / "evaluate")]) == 0
    words = ["pretrain", "--recipe", "pretrain-sampled-small", "--data", "bricks", "--out", str(out / "pretrain")]
    assert main([*words, "--data.points", "256", "--epochs", "1", *ENCODER]) == 0
    words = ["fewshot", str(out / "pretrain"), "--data", "bricks", "--out", str(out / "fewshot"), "--folds", "2"]
    assert main([*words, "--way", "3", "--shot", "3", "--queries", "2", "--epochs", "1"]) == 0
    words = ["cluster", "train", "--recipe", "cluster-pooling", "--out", str(out / "cluster"), "--steps", "4"]
    assert main([*words, "--every", "2", "--sets", "2"]) == 0
    words = ["evaluate", "bricks", "--robustness", "--corruptions", "noise,scale", "--limit", "10"]
    assert main([*words, "--out", str(out / "robust")]) == 0
    assert main(["segment", "evaluate", str(segmenter), "--page", str(out / "labels.html")]) == 0
    assert main(["cluster", "evaluate", "mixtures", "--sets", "20", "--page", str(out / "clusters.html")]) == 0
    np.savetxt(out / "points.csv", np.random.default_rng(0).normal(size=(50, 2)), delimiter=",")
    assert main(["cluster", "fit", str(out / "points.csv"), "--page", str(out / "fit.html")]) == 0
    words = ["bench", "--points", "[16,32]", "--mechanisms", "[sampled,dense]", "--levels", "[layer]"]
    assert main([*words, "--passes", "[forward]", "--no-memory", "--out", str(out / "bench")]) == 0
    copytree(out / "bench", out / "again")
    assert main(["report", str(out / "bench"), str(out / "again"), "--out", str(out / "benches.html")]) == 0
    return out


@pytest.fixture(scope="module", params=[(DESKTOP, False), (PHONE, True)], ids=["desktop", "dark-phone"])
def driver(request: pytest.FixtureRequest) -> Iterator[Any]:
    size, dark = request.param
    with browser(size, dark) as running:
        yield running


@pytest.mark.parametrize("name", PAGES)
def test_a_report_is_drawn_from_its_file_alone(name: str, folder: Path, driver: Any) -> None:
    page = folder / name
    assert page.stat().st_size < 8_000_000
    driver.get(page.as_uri())
    drawn = "return document.querySelectorAll('.js-plotly-plot .main-svg:first-child').length"
    wait_for(lambda: driver.execute_script(drawn) == PAGES[name], 60)
    time.sleep(0.5)
    assert complaints(driver) == []
    assert {one.partition(":")[0] for one in requests(driver)} == {"file"}
    width = driver.execute_script("return [document.scrollingElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1]  # nobody scrolls sideways


def test_text_is_readable_in_light_and_dark(folder: Path, driver: Any) -> None:
    driver.get((folder / "train/report.html").as_uri())
    look = """
        const ink = getComputedStyle(document.querySelector(arguments[0]))[arguments[1]].match(/\\d+/g).slice(0, 3)
        const paper = getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3)
        return [ink, paper].map(one => one.reduce((sum, part) => sum + Number(part), 0))
    """
    for selector, part in (("body", "color"), (".xtick text", "fill"), (".note", "color")):
        wait_for(lambda selector=selector: driver.find_elements("css selector", selector))
        ink, paper = driver.execute_script(look, selector, part)
        assert abs(ink - paper) > 250, selector
