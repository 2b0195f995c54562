"""Several benchmarks on one page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sampled_transformer.cli import main
from sampled_transformer.report.bench_comparison import OTHER, SAME, chart, sections


def benchmark(factor: float, batch: int = 8, **machine: Any) -> dict[str, Any]:
    times = [
        {"level": "layer", "passes": "both", "mechanism": name, "points": n, "seconds": factor * n / 1000}
        for name in ("sampled", "dense")
        for n in (64, 256)
    ]
    times.append({"level": "layer", "passes": "both", "mechanism": "knn", "points": 64, "left_out": "failed"})
    return {
        "plan": {"setting": {"batch": batch}},
        "machine": {"cores": 2, "load": factor, **machine},
        "versions": {},
        "times": times,
        "memory": [{"level": "layer", "mechanism": "dense", "points": 64, "peak_bytes": 2**20 * factor}],
        "command": "sampled-transformer bench",
        "seconds": 1.0,
    }


def test_every_mechanism_of_every_benchmark_has_a_line_and_a_row() -> None:
    text = "".join(sections({"one": benchmark(1), "two": benchmark(2)}))
    assert text.count("<h2>") == text.count("<table>") == 2
    assert "<h2>layer, forward and backward</h2>" in text
    for row in ("<td>sampled</td>", '<td class="number">one</td>', '<td class="number">512</td>'):
        assert row in text
    assert "knn" not in text  # it was left out in both


def test_a_mechanism_keeps_its_colour_and_a_benchmark_its_line() -> None:
    found = {name: benchmark(1)["times"][:4] for name in ("one", "two")}
    lines = {line.name: line.line for line in chart(found, "seconds", "", 1, {"sampled": "red", "dense": "blue"}).data}
    assert lines["sampled, one"].color == lines["sampled, two"].color == "red"
    assert lines["sampled, one"].dash == lines["dense, one"].dash != lines["dense, two"].dash


def test_it_says_whether_they_may_be_compared() -> None:
    assert SAME in sections({"one": benchmark(1), "two": benchmark(2)})[0]  # a busier machine is the same machine
    assert OTHER in sections({"one": benchmark(1), "two": benchmark(1, batch=4)})[0]
    assert OTHER in sections({"one": benchmark(1), "two": benchmark(1, cores=4)})[0]


def test_the_command_compares_benchmarks(tmp_path: Path) -> None:
    for number, name in enumerate(("one", "two"), 1):
        (tmp_path / name).mkdir()
        (tmp_path / name / "bench.json").write_text(json.dumps(benchmark(number)), "utf-8")
    out = tmp_path / "both.html"
    assert main(["report", str(tmp_path / "one"), str(tmp_path / "two"), "--out", str(out)]) == 0
    assert "one and two" in out.read_text("utf-8")
