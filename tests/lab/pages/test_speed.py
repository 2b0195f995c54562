"""The part of the results page on speed says what the files say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sampled_transformer_lab.pages.speed import PAPER_MEMORY, plain_label, speed_section

MACHINE = {"cores": 2, "threads": 2, "processor": "x86_64", "load": 0.26}
COMMON = {"machine": MACHINE, "versions": {"torch": "2.13.0"}}


def test_bars_met_and_missed(tmp_path: Path) -> None:
    bars = [
        {"claim": "one", "value": 81.234, "bar": "at least 60 x", "met": True},
        {"claim": "two", "value": 1.2, "bar": "at most 1.15 x", "met": False},
    ]
    (tmp_path / "attention.json").write_text(json.dumps({**COMMON, "command": "python a.py", "bars": bars}))
    page = "\n".join(speed_section(tmp_path))
    assert "| one | 81.2 | at least 60 x | met |" in page
    assert "| two | 1.2 | at most 1.15 x | **missed** |" in page
    assert "```bash\npython a.py\n```" in page
    assert "2 threads on 2 cores, load 0.3 in the minute before" in page


def test_times_are_ratios_to_sampled(tmp_path: Path) -> None:
    def entry(name: str, points: int, seconds: float | None) -> dict[str, object]:
        row = {"level": "block", "passes": "both", "mechanism": name, "points": points}
        return row | ({"left_out": "does not fit"} if seconds is None else {"seconds": seconds})

    times = [entry("sampled", 256, 0.01), entry("dense", 256, 0.03), entry("dense", 1024, None)]
    times += [entry("sampled", 1024, 0.04), entry("flex", 256, None), entry("flex", 1024, None)]
    exponents = [{"level": "block", "passes": "both", "mechanism": "sampled", "exponent": 1.0}]
    result = {**COMMON, "command": "bench", "times": times, "exponents": exponents}
    (tmp_path / "bench.json").write_text(json.dumps(result))
    page = "\n".join(speed_section(tmp_path))
    assert "| sampled | 10.0 ms | 40.0 ms | 1.00 |" in page
    assert "| dense | 3.00 | - |  |" in page
    assert "flex" not in page


def test_our_memory_is_compared_with_the_papers(tmp_path: Path) -> None:
    points = [256, 512, 768, 1024, 2048, 3072, 4096, 8192]
    memory = [{"mechanism": "sampled", "points": n, "peak_bytes": n * 10**6} for n in points]
    memory += [{"mechanism": "dense-explicit", "points": n, "left_out": "does not fit"} for n in points]
    plan = {"points": points, "mechanisms": ["sampled", "dense-explicit"], "setting": {"batch": 16}}
    (tmp_path / "paper-memory.json").write_text(json.dumps({**COMMON, "command": "b", "plan": plan, "memory": memory}))
    page = "\n".join(speed_section(tmp_path))
    assert "| sampled | 0.26 (1.0) | 0.51 (1.1) |" in page
    assert page.count("- (-)") == PAPER_MEMORY["dense-explicit"].count(None) == 3


def test_growth(tmp_path: Path) -> None:
    times = [{"points": n, "seconds": n / 1e5} for n in (2048, 4096, 4096, 2048)]
    levels = [{"level": "block", "sets": 4, "value": 1.0, "interval": 0.05, "times": times}]
    (tmp_path / "growth.json").write_text(json.dumps({**COMMON, "command": "g", "levels": levels}))
    page = "\n".join(speed_section(tmp_path))
    assert "| block, 4 sets | 20.5 and 20.5 | 41.0 and 41.0 | n^1.00 ± 0.05 | confirmed |" in page


def test_a_training_step(tmp_path: Path) -> None:
    figures = {"points": 1024, "torch_mm_gflops": 116.4, "whole_seconds": 1.517, "whole_percent": 86.2}
    figures |= {"step_seconds": 1.049, "points_per_second": 61857.1, "computed_percent": 61.8, "data_percent": 1.02}
    (tmp_path / "training.json").write_text(json.dumps({**COMMON, "command": "c", **figures}))
    page = "\n".join(speed_section(tmp_path))
    assert "a step takes 1.52 s, of which the products alone would take 86 % (bar: at least 65 %)" in page
    assert "a step then takes 1.05 s, 61,857 points per second" in page


def test_subsets_stand_below_the_bars(tmp_path: Path) -> None:
    further = {"subset_points": 1024, "subsets": {"dense": 2.771, "2": 1.45, "256": 1.804}}
    (tmp_path / "beyond.json").write_text(json.dumps({**COMMON, "command": "d", "bars": [], **further}))
    page = "\n".join(speed_section(tmp_path))
    assert "a block of 1,024 points" in page
    assert "| n_s | dense | 2 | 256 |\n|---|---:|---:|---:|\n| time | 2.77 | 1.45 | 1.80 |" in page


def test_clustering_in_times_of_the_first_variant(tmp_path: Path) -> None:
    rows = [
        {"n": n, "variant": name, "milliseconds": ratio * n / 10, "ratio": ratio}
        for n in (500, 5000)
        for name, ratio in (("ISAB", 1.0), ("columns", 0.812))
    ]
    (tmp_path / "clustering.json").write_text(json.dumps({**COMMON, "command": "e", "rows": rows}))
    page = "\n".join(speed_section(tmp_path))
    assert "Multiples of the time of ISAB, by the number of points per set:\n\n| network | 500 | 5,000 |" in page
    assert "| ISAB | 50 ms | 500 ms |" in page
    assert "| columns | 0.81 | 0.81 |" in page


@pytest.mark.parametrize(
    ("recorded", "shown"),
    [
        ("rows: 2 points an inducing point", "rows: 2 points per inducing point"),
        ("columns: 1 inducing points a point", "columns: 1 inducing point per point"),
        ("columns: 4 inducing points a point", "columns: 4 inducing points per point"),
        ("columns: 1 inducing point per point", "columns: 1 inducing point per point"),
        ("sampled, dense in subsets of 16", "sampled, dense in subsets of 16"),
    ],
)
def test_older_labels_are_shown_in_plain_english(recorded: str, shown: str) -> None:
    assert plain_label(recorded) == shown
