"""Every case has its entry, its parts add up, and exponents are those of the times. No test asserts a timing."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from sampled_transformer_lab.bench.networks import (
    MECHANISMS,
    NETWORKS,
    PASSES,
    Case,
    Plan,
    clouds,
    exponent,
    exponents,
    measure,
)

TINY = Plan(sizes=(32, 64), networks=("basic", "hierarchical, 3 stages"), batch=2, repeats=1)


def test_every_case_has_its_entry_and_its_parts_add_up() -> None:
    entries = list(measure(TINY))
    cases = [(entry["network"], entry["passes"], entry["mechanism"], entry["points"]) for entry in entries]
    assert len(set(cases)) == len(cases) == len(TINY.networks) * len(PASSES) * len(MECHANISMS) * 2
    for entry in entries:
        assert entry["seconds"] > 0
        assert sum(entry["shares"].values()) == pytest.approx(1)
        assert min(entry["shares"].values()) >= 0
        assert entry["shares"]["attention"] > 0
        assert (entry["shares"]["farthest points"] > 0) == (entry["network"] != "basic")
    rows = list(exponents(entries))
    assert len(rows) == len(entries) / 2
    assert all(row["points"] == [32, 64] for row in rows)


def test_what_might_take_too_long_is_left_out() -> None:
    plan = Plan(sizes=(64, 32), networks=("basic",), batch=2, repeats=1, limit=1e-9)
    entries = list(measure(plan))
    reasons = {entry["points"]: entry.get("left_out") for entry in entries}
    assert reasons == {32: None, 64: "might take more than 1e-09 s"}
    assert list(exponents(entries)) == []  # one size has no slope


@pytest.mark.parametrize("network", NETWORKS)
def test_a_step_trains_and_a_forward_pass_does_not(network: str) -> None:
    for passes in PASSES:
        case = Case(network, "sampled", passes, 64, batch=2)
        before = [parameter.detach().clone() for parameter in case.network.parameters()]
        case.run()
        moved = [not torch.equal(old, new) for old, new in zip(before, case.network.parameters(), strict=True)]
        assert any(moved) == (passes == "step")
        assert case.network.training == (passes == "step")


def test_the_groups_of_the_autoencoder_grow_with_the_cloud() -> None:
    assert [Case("autoencoder", "sampled", "forward", n, 2).network.groups for n in (64, 1024)] == [4, 64]


def test_clouds_lie_on_ellipsoids_with_unit_normals() -> None:
    points, normals = clouds(2, 500)
    axes = points.abs().amax(1, keepdim=True)
    assert ((points / axes).norm(dim=2) - 1).abs().max() < 0.2  # the largest points almost reach the ends of the axes
    torch.testing.assert_close(normals.norm(dim=2), torch.ones(2, 500))
    assert (points * normals).sum(2).min() > 0  # they point outwards


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_exponents_of_a_known_cost(power: float) -> None:
    """A cost a n + b n^power: the parts have exponents 1 and power over the four largest sizes, in any order."""
    entries: list[dict[str, Any]] = []
    for n in (16384, 256, 512, 1024, 2048, 4096, 8192):
        linear, other = 2e-6 * n, 3e-6 * n**power
        whole = linear + other if n > 1024 else 1.0  # the small sizes must not count
        shares = {"attention": other / whole, "rest": linear / whole, "neighbours": 0.0}
        entry = {"network": "basic", "passes": "step", "mechanism": "dense", "points": n}
        entries.append(entry | {"seconds": whole, "shares": shares})
    entries.append({"network": "basic", "passes": "step", "mechanism": "dense", "points": 32768, "left_out": "long"})
    [row] = exponents(entries)
    assert row["points"] == [2048, 4096, 8192, 16384]
    assert row["exponents"]["attention"] == pytest.approx(power)
    assert row["exponents"]["rest"] == pytest.approx(1)
    assert "neighbours" not in row["exponents"]
    low, high = sorted((power, 1.0))
    assert low - 1e-9 <= row["exponents"]["whole"] <= high + 1e-9


def test_exponent_of_a_power() -> None:
    assert exponent([(n, 5e-7 * n**1.5) for n in (100, 200, 800)]) == pytest.approx(1.5)
