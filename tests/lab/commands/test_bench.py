"""The command `bench` through the program."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from sampled_transformer.cli import main
from sampled_transformer.support.trees import help_texts
from sampled_transformer_lab.bench.setting import LIMIT, REPEATS, Setting
from sampled_transformer_lab.commands.bench import bench

SMALL = ["--points", "[16,32]", "--batch", "1", "--heads", "2", "--head_dim", "4", "--repeats", "1"]


def test_bench_writes_what_it_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "bench"
    rows = ["--mechanisms", "[sampled,dense,products]", "--levels", "[block]", "--passes", "[both]", "--no-memory"]
    assert main(["bench", *SMALL, *rows, "--out", str(out)]) == 0
    result = json.loads((out / "bench.json").read_text("utf-8"))
    assert [entry["mechanism"] for entry in result["times"]] == ["sampled", "dense", "products"] * 2
    assert '--mechanisms ["sampled","dense","products"]' in result["command"]
    assert "--batch 1" in result["command"]
    page = (out / "report.html").read_text("utf-8")
    assert "block, forward and backward" in page
    assert "sampled (" in page
    assert 'src="http' not in page  # opens offline
    screen = capsys.readouterr().out
    assert "block, forward and backward: milliseconds" in screen
    assert "report.html: written" in screen


def test_the_help_shows_the_defaults_of_the_plan() -> None:
    texts = help_texts(bench)
    for name, value in asdict(Setting()).items():
        assert f"(default: {value})" in texts[name]
    assert f"(default: {REPEATS}, " in texts["repeats"]
    assert f"(default: {LIMIT:g})" in texts["limit"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--mechanisms", "[sampeld]"], "got 'sampeld'; did you mean 'sampled'?"),
        (["--preset", "papermemory"], "did you mean 'paper-memory'?"),
        (["--points", "[0]"], "points: expected at least 1, got 0"),
        (["--device", "cuda"], "device: expected cpu, because there is no GPU here, got cuda"),
        (["--threads", "0"], "threads: expected at least 1, got 0"),
    ],
)
def test_wrong_options(options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *options, "--out", str(tmp_path / "bench")]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert not (tmp_path / "bench").exists()
