"""Claims about time and memory are judged by intervals and by the noise that the files show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sampled_transformer_lab.pages.costs import cheapest, costs, linear_cost, linear_networks, memory, noise


def test_without_files_no_claims(tmp_path: Path) -> None:
    assert list(costs(tmp_path)) == []


def test_the_whole_interval_decides(tmp_path: Path) -> None:
    times = [{"points": 2048, "seconds": 1.0}, {"points": 131072, "seconds": 64.0}]
    levels = [
        {"level": "core", "value": 1.25, "interval": 0.05, "times": times},
        {"level": "block", "value": 0.98, "interval": 0.3, "times": times},
    ]
    (tmp_path / "growth.json").write_text(json.dumps({"levels": levels}))
    (claim,) = linear_cost(tmp_path)
    assert claim.here == "forward and backward: kernel n^1.25 ± 0.05, block n^0.98 ± 0.30"
    assert claim.scale == "2,048 to 131,072 points"
    assert claim.verdict == "**refuted** for kernel; undecided for block"


def test_slopes_without_timings_are_shown_but_not_judged(tmp_path: Path) -> None:
    times = [entry("sampled", n, n / 1024, "forward") for n in (1024, 4096, 16384)]
    times += [entry("sampled", 256, 9.0, "forward"), entry("dense", 4096, 9.0, "forward")]  # neither counts
    (tmp_path / "bench.json").write_text(json.dumps({"times": times}))
    bars = [{"claim": "core, 8 sets: exponent of the time", "value": 1.25}]
    (tmp_path / "attention.json").write_text(json.dumps({"bars": bars}))
    (claim,) = linear_cost(tmp_path)
    assert claim.here == "forward pass: block n^1.00 ± 0.00 (over more sizes, without an interval: kernel n^1.25)"
    assert claim.verdict == "confirmed for block"


def fitted(name: str) -> tuple[str, ...]:
    return ("whole", "neighbours") if name == "slow" else ("whole",)


def networks(**seconds: list[float]) -> dict[str, Any]:
    """Forward passes of networks with sampled attention; half of the time goes to a part that grows with n^2."""
    sizes = [2048, 4096, 8192, 16384]
    key = {"passes": "forward", "mechanism": "sampled"}
    times: list[dict[str, Any]] = []
    for name, taken in seconds.items():
        for n, one in zip(sizes, taken, strict=True):
            share = 0.5 * (n / 16384) ** 2 * taken[-1] / one if name == "slow" else 0.0
            shares = {"neighbours": share, "rest": 1 - share}
            times.append({**key, "network": name, "points": n, "seconds": one, "shares": shares})
    exponents = [
        {
            **key,
            "network": name,
            "points": sizes,
            "exponents": dict.fromkeys(fitted(name), 0.0),
        }
        for name in seconds
    ]
    return {"times": times, "exponents": exponents}


def test_whole_networks() -> None:
    result = networks(
        basic=[1.0, 2.0, 4.0, 8.0], wild=[1.0, 3.0, 2.0, 20.0], slow=[1.0, 2.0, 4.0, 8.0], bad=[1.0, 4.0, 16.0, 64.0]
    )
    (claim,) = linear_networks(result)
    assert claim.here == "forward n^1.00 ± 0.00 (basic) to n^2.00 ± 0.00 (bad)"
    assert claim.scale == "2,048 to 16,384 points"
    assert claim.verdict == (
        "confirmed for basic; **refuted** for bad; undecided for wild and slow; "
        "parts that seem to grow faster: neighbours (slow)"
    )


def test_many_undecided_networks_are_the_others() -> None:
    wild = [1.0, 3.0, 2.0, 20.0]
    (claim,) = linear_networks(networks(basic=[1.0, 2.0, 4.0, 8.0], one=wild, two=wild, three=wild))
    assert claim.verdict == "confirmed for basic; undecided for the others"
    (claim,) = linear_networks(networks(one=wild, two=wild, three=wild))
    assert claim.verdict == "undecided for one, two and three"


def entry(mechanism: str, points: int, seconds: float, passes: str = "both") -> dict[str, Any]:
    return {"level": "block", "passes": passes, "mechanism": mechanism, "points": points, "seconds": seconds}


def test_a_rival_within_the_noise_is_undecided() -> None:
    times = [entry("sampled", n, 1.0) for n in (256, 1024, 4096, 16384)]
    times += [entry("dense", 256, 0.9), entry("dense", 1024, 1.2), entry("dense", 4096, 1.3), entry("knn", 4096, 2.0)]
    times += [
        entry("induced-16", 16384, 0.7),
        entry("sampled-4-rounds", 256, 0.8),
        entry("sampled-4-rounds", 1024, 1.5),
    ]
    assert noise(times, "both") == pytest.approx(0.8)
    times += [entry("sampled", 256, 1.0, "forward"), entry("dense", 256, 1.1, "forward")]
    (claim,) = cheapest({"times": times})
    spans = "0.70 to 1.30 times as long (forward and backward) and 1.10 to 1.10 times as long (forward pass)"
    assert claim.here == f"the cheapest rival takes {spans}"
    factors = "1.25 (forward and backward) and 1.05 (forward pass)"
    assert claim.scale == f"one block, 256 to 16,384 points; noise up to a factor of {factors}"
    assert claim.verdict == (
        "confirmed at 4,096 points (forward and backward) and at 256 points (forward pass); "
        "**refuted** at 16,384 points (forward and backward); undecided elsewhere"
    )


def test_without_a_clear_rival_nothing_is_decided() -> None:
    times = [entry("sampled", 256, 1.0), entry("dense", 256, 1.01)]
    (claim,) = cheapest({"times": times})
    assert claim.verdict == "undecided"


def test_memory() -> None:
    peak = {("sampled", 2048): 1, ("dense-explicit", 2048): 4, ("sampled", 8192): 3, ("dense", 8192): 3}
    found = [{"mechanism": name, "points": n, "peak_bytes": size * 10**9} for (name, n), size in peak.items()]
    plan = {"points": [256, 512, 768, 1024, 2048, 8192], "setting": {"batch": 16}}
    (claim,) = memory({"plan": plan, "memory": found})
    assert (claim.paper, claim.here) == (
        "1.7 against 11.9 GB",
        "1.00 against 4.00 GB; fused dense 3.00 against 3.00 GB",
    )
    assert claim.scale == "2,048 points; fused: 8,192 points; one training step of 16 clouds"
    assert claim.verdict == "confirmed against a written-out matrix; **refuted** against a fused kernel"


def test_passes_are_named_where_they_differ(tmp_path: Path) -> None:
    times = [entry("sampled", n, n / 1024, "forward") for n in (1024, 4096, 16384)]
    times += [entry("sampled", n, (n / 1024) ** 2) for n in (1024, 4096, 16384)]
    (tmp_path / "bench.json").write_text(json.dumps({"times": times}))
    (claim,) = linear_cost(tmp_path)
    assert claim.verdict == "confirmed for block (forward pass); **refuted** for block (forward and backward)"
