"""The section on whole networks says what the file says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sampled_transformer_lab.bench.networks import exponents
from sampled_transformer_lab.pages.networks import networks_section, span
from sampled_transformer_lab.pages.speed import speed_section

SIZES = (2048, 4096, 8192, 16384)
COMMON = {
    "command": "python benchmarks/networks.py",
    "machine": {"cores": 2, "threads": 2, "processor": "x86_64", "load": 0.1},
    "versions": {"torch": "2.13.0"},
    "plan": {"batch": 4},
}


def entry(network: str, passes: str, mechanism: str, points: int, **parts: float) -> dict[str, Any]:
    """An entry whose parts take the given seconds."""
    whole = sum(parts.values())
    key = {"network": network, "passes": passes, "mechanism": mechanism, "points": points}
    names = {name: name.replace("_", " ") for name in parts}
    return key | {"seconds": whole, "shares": {names[name]: taken / whole for name, taken in parts.items()}}


def made_up() -> dict[str, Any]:
    """A basic network where dense attention is quadratic, and a hierarchical one whose farthest points are."""
    times = []
    for n in SIZES:
        linear, square = n / 16384, (n / 16384) ** 2
        nothing = {"farthest_points": 0.0, "neighbours": 0.0}
        times.append(entry("basic", "forward", "sampled", n, **nothing, attention=0.25 * linear, rest=0.25 * linear))
        if n < 16384:
            times.append(entry("basic", "forward", "dense", n, **nothing, attention=9.6 * square, rest=0.4 * square))
        geometry = {"farthest_points": 0.8 * square, "neighbours": 0.02 * linear}
        both = {"attention": 0.1 * linear, "rest": 0.08 * linear}
        times.append(entry("hierarchical", "step", "sampled", n, **geometry, **both))
    key = {"network": "basic", "passes": "forward", "mechanism": "dense", "points": 16384}
    times.append(key | {"left_out": "might take more than 60 s"})
    return {**COMMON, "times": times, "exponents": list(exponents(times))}


def test_times_and_exponents() -> None:
    page = "\n".join(networks_section(made_up()))
    assert "| mechanism | pass | 2,048 | 4,096 | 8,192 | 16,384 | exponent |" in page
    assert "| sampled | forward | 62.5 ms | 125.0 ms | 250.0 ms | 500.0 ms | 1.00 ± 0.00 |" in page
    assert "| dense | forward | 2.50 | 5.00 | 10.00 | - | 2.00 ± 0.00 |" in page
    assert "fitted to the largest sizes that were measured" in page


def test_where_the_time_is_linear_and_where_it_is_not() -> None:
    page = "\n".join(networks_section(made_up()))
    assert "- Forward: linear with `sampled` (n^1.00 ± 0.00); not linear with `dense` (n^2.00 ± 0.00)." in page
    assert "- Training step: not linear with `sampled` (n^1.58 ± 0.22). With" in page
    assert (
        "With `sampled`, the parts that seem to grow faster are farthest points (80 % of the time, n^2.00 ± 0.00)."
        in page
    )


def test_a_part_that_seems_to_grow_faster_keeps_a_network_from_being_linear() -> None:
    times = []
    for n in SIZES:  # the whole is linear by a rest that grows slowly
        square = 0.5 * (n / 16384) ** 2
        times.append(entry("x", "forward", "sampled", n, neighbours=square, rest=n / 16384 - square))
    page = "\n".join(networks_section({**COMMON, "times": times, "exponents": list(exponents(times))}))
    assert "- Forward: undecided with `sampled` (n^1.00 ± 0.00). With `sampled`, the parts that seem to grow" in page


def test_shares_at_the_largest_size_of_each_row() -> None:
    page = "\n".join(networks_section(made_up()))
    basic, hierarchical = page.split("### Network: ")[1:]
    assert "| mechanism | pass | points | attention | rest |" in basic  # no column for geometry that it does not have
    assert "| sampled | forward | 16,384 | 50 (1.00 ± 0.00) | 50 (1.00 ± 0.00) |" in basic
    assert "| dense | forward | 8,192 | 96 (2.00 ± 0.00) | 4 |" in basic  # no exponent for a small share
    assert (
        "| sampled | training step | 16,384 | 80 (2.00 ± 0.00) | 2 | 10 (1.00 ± 0.00) | 8 (1.00 ± 0.00) |"
        in hierarchical
    )


def test_span_of_the_fit() -> None:
    assert span([{"points": [2048, 16384]}, {"points": [2048, 16384]}]) == "2,048 to 16,384 points"


def test_the_section_stands_on_the_speed_page_if_there_is_a_file(tmp_path: Path) -> None:
    title = "## Whole networks against the number of points"
    assert title not in speed_section(tmp_path)
    (tmp_path / "networks.json").write_text(json.dumps(made_up()))
    page = speed_section(tmp_path)
    assert title in page
    assert "python benchmarks/networks.py" in page
    assert any(line.startswith("Machine: x86_64, 2 threads on 2 cores") for line in page)
