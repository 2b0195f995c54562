"""A benchmark has one entry per case: its measurement, or the reason why there is none."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from sampled_transformer_lab.bench import study
from sampled_transformer_lab.bench.setting import Setting
from sampled_transformer_lab.bench.study import PRESETS, Plan, exponents, run, slope
from sampled_transformer_lab.bench.subjects import MECHANISMS

SMALL = Plan(
    points=(16, 32),
    mechanisms=("sampled", "dense", "flex-cycle", "copy"),
    levels=("core", "block"),
    setting=Setting(batch=1, heads=2, head_dim=4),
    repeats=1,
    memory=False,
)


def test_every_case_has_its_entry_and_progress_counts_them() -> None:
    plan = replace(SMALL, mechanisms=("sampled", "dense", "copy"))
    done: list[int] = []
    result = run(plan, done.append)
    cases = {(entry["level"], entry["passes"], entry["mechanism"], entry["points"]) for entry in result["times"]}
    assert len(cases) == len(result["times"]) == 2 * 2 * (3 + 2)  # no copy of a block
    assert all(entry["seconds"] > 0 for entry in result["times"])
    assert sum(done) == plan.steps() == len(result["times"])


def test_what_has_no_backward_pass_says_so() -> None:
    result = run(replace(SMALL, mechanisms=("sampled", "flex-cycle"), passes=("both",), levels=("core",)))
    reasons = {entry["mechanism"]: entry.get("left_out") for entry in result["times"]}
    assert reasons == {"sampled": None, "flex-cycle": "has no backward pass"}


def test_what_would_take_too_long_or_does_not_fit_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = replace(SMALL, points=(16, 4096), mechanisms=("sampled",), levels=("core",), passes=("forward",), limit=1e-9)
    reasons = [entry.get("left_out") for entry in run(plan)["times"]]
    assert reasons == [None, "takes more than 1e-09 s"]
    monkeypatch.setattr(study, "available_memory", lambda: 2**20)
    result = run(replace(plan, limit=10.0, memory=True))
    assert [entry.get("left_out") for entry in result["times"]] == [None, "does not fit"]
    assert result["memory"][1]["left_out"] == "does not fit"
    assert result["memory"][0]["peak_bytes"] >= 0
    assert result["memory"][0]["kept_bytes"] is None  # no backward pass was asked for


def test_a_mechanism_that_fails_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = replace(MECHANISMS["sparse"], options={"no_such_option": 1})
    monkeypatch.setitem(MECHANISMS, "sparse", broken)
    result = run(replace(SMALL, mechanisms=("sparse", "sampled"), levels=("core",), passes=("both",)))
    for entry in result["times"]:
        assert ("seconds" in entry) == (entry["mechanism"] == "sampled")
        assert entry["mechanism"] == "sampled" or entry["left_out"].startswith("failed: ")


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_exponent_of_a_power(power: float) -> None:
    times: list[dict[str, Any]] = [
        {"level": "core", "passes": "both", "mechanism": "x", "points": n, "seconds": 3e-6 * n**power}
        for n in (2000, 4000, 16000)
    ]
    small = {"level": "core", "passes": "both", "mechanism": "x", "points": 100, "seconds": 1.0}
    times.append(small)  # small sets do not count where there are larger ones
    times.append({"level": "core", "passes": "both", "mechanism": "x", "points": 10**6, "left_out": "does not fit"})
    [entry] = exponents(times)
    assert entry["exponent"] == pytest.approx(power)
    assert slope([(math.log(2), 0.0), (math.log(4), math.log(2))]) == pytest.approx(1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mechanisms": ("sampeld",)}, "mechanisms: expected one of"),
        ({"levels": ("blok",)}, "levels: expected one of"),
        ({"passes": ()}, "passes: expected at least one, got none"),
        ({"points": (0, 5)}, "points: expected at least 1, got 0"),
        ({"points": ()}, "points: expected at least 1"),
        ({"setting": Setting(batch=0)}, "batch: expected at least 1, got 0"),
        ({"points": (64, 32, 64)}, "points: expected different sizes"),
        ({"mechanisms": ("copy",), "levels": ("block",)}, "expected something to measure"),
        ({"memory": False, "times": False}, "expected something to measure"),
        ({"limit": 0.0}, "limit: expected a positive number"),
    ],
)
def test_wrong_plans(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(SMALL, **change)


def test_presets_are_plans_of_known_rows() -> None:
    paper = PRESETS["paper-memory"]
    assert paper.points == (256, 512, 768, 1024, 2048, 3072, 4096, 8192)
    assert all(plan.steps() > 0 for plan in PRESETS.values())


def test_what_was_measured_before_an_interruption_is_kept() -> None:
    def stop(steps: int) -> None:
        raise KeyboardInterrupt

    result = run(replace(SMALL, mechanisms=("sampled",), levels=("core",), passes=("both",)), stop)
    assert result["stopped"] is True
    assert [entry["points"] for entry in result["times"]] == [16]
    assert run(replace(SMALL, mechanisms=("sampled",), levels=("core",)))["stopped"] is False
