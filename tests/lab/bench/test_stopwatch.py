"""The stopwatch counts every part once, and leaves the network as it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from sampled_transformer.models import create_model, hierarchical
from sampled_transformer_lab.bench.stopwatch import PARTS, Stopwatch, watch

AUTOENCODER = {"groups": 8, "group_size": 8, "dim": 16, "heads": 2, "hidden": 16, "depth": 2, "embedding": 8}
NETWORKS = {
    "basic": {"classes": 3, "dim": 16, "heads": 2, "hidden": 16},
    "hierarchical": {"classes": 3, "stages": 2},
    "mae": AUTOENCODER,
}


def test_a_part_inside_another_counts_for_itself_alone() -> None:
    times: Iterator[float] = iter([0.0, 1.0, 3.0, 7.0, 10.0, 15.0])
    stopwatch = Stopwatch(lambda: next(times))
    inner = stopwatch.around(lambda: "result", "inner")
    outer = stopwatch.around(inner, "outer")
    assert outer() == "result"  # 0 to 7, of which 1 to 3 inside
    assert inner() == "result"  # 10 to 15
    assert stopwatch.seconds == {"outer": 1.0 + 4.0, "inner": 2.0 + 5.0}


def test_a_call_that_fails_ends_its_part() -> None:
    times: Iterator[float] = iter([0.0, 1.0, 5.0, 7.0])
    stopwatch = Stopwatch(lambda: next(times))

    def fails() -> None:
        raise ValueError("expected")

    with pytest.raises(ValueError, match="expected"):
        stopwatch.around(fails, "one")()
    stopwatch.around(lambda: None, "two")()
    assert stopwatch.seconds == {"one": 1.0, "two": 2.0}


@pytest.mark.parametrize("mechanism", ["sampled", "linear", "dense"])
@pytest.mark.parametrize("name", NETWORKS)
def test_the_parts_of_a_network(name: str, mechanism: str) -> None:
    torch.manual_seed(0)
    network = create_model(name, attention=mechanism, **NETWORKS[name]).train()
    inputs = [torch.rand(4, 64, 3) for _ in range(1 if name == "mae" else 2)]
    function = hierarchical.farthest_points
    with watch(network) as stopwatch:
        out = network(*inputs)
        forward = stopwatch.seconds["attention"]
        out.mean().backward()
    assert stopwatch.seconds["attention"] > forward > 0  # the backward pass counts, too
    for part in ("farthest points", "neighbours"):
        assert (stopwatch.seconds[part] > 0) == (name != "basic")
    assert set(stopwatch.seconds) <= set(PARTS)
    counted = dict(stopwatch.seconds)
    network(*inputs).mean().backward()
    assert stopwatch.seconds == counted  # nothing is counted after the block
    assert hierarchical.farthest_points is function


def test_watching_does_not_change_the_gradients() -> None:
    torch.manual_seed(0)
    network = create_model("hierarchical", attention="sampled", dropout=0.0, **NETWORKS["hierarchical"]).eval()
    inputs = torch.rand(4, 64, 3), torch.rand(4, 64, 3)
    network(*inputs).sum().backward()
    expected = [parameter.grad.clone() for parameter in network.parameters() if parameter.grad is not None]
    network.zero_grad()
    with watch(network):
        network(*inputs).sum().backward()
    found = [parameter.grad for parameter in network.parameters() if parameter.grad is not None]
    torch.testing.assert_close(found, expected)
