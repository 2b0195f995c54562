from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.trained import save_small

from sampled_transformer.inference.large_sets import STATUS, Measured, measure, table


def test_every_network_is_measured_on_every_size(tmp_path: Path) -> None:
    networks = {
        "sampled": save_small(tmp_path / "one.safetensors", "basic"),
        "dense": save_small(tmp_path / "two.safetensors", "basic-dense"),
    }
    rows = list(measure(networks, (64, 128)))
    assert [(name, one.points) for name, one in rows] == [(name, n) for name in networks for n in (64, 128)]
    assert all(one.seconds > 0 for _, one in rows)


def test_memory_is_that_of_the_pass_even_if_the_process_before_had_more(tmp_path: Path) -> None:
    if not STATUS.is_file():
        pytest.skip("only Linux tells the peak of a process")
    weights = save_small(tmp_path / "model.safetensors", "basic")
    block = np.ones(100_000_000, np.uint8)  # a parent with a large memory, as after a training
    [(_, one)] = measure({"sampled": weights}, [100_000])
    assert block.all()
    assert one.megabytes is not None
    assert 100_000 * 3 * 4 / 1e6 < one.megabytes < 2000


def test_what_takes_too_long_is_not_tried_with_more_points(tmp_path: Path) -> None:
    weights = save_small(tmp_path / "model.safetensors", "basic-positions")
    assert [one.points for _, one in measure({"one": weights}, (64, 128), limit=0)] == [64]


def test_the_table_says_what_was_not_measured() -> None:
    dense = [("dense", Measured(12_500, 3.0, None)), ("dense", Measured(25_000, 12.0, None))]
    rows = [("sampled", Measured(100_000, 1.5, 600.0)), *dense, ("other", Measured(10, 1.0, None))]
    assert table(rows, 100_000).splitlines() == [
        "  sampled  100,000 points:   1.50 s, 600 MB",
        "  dense     12,500 points:   3.00 s",
        "  dense     25,000 points:  12.00 s",
        "  dense    100,000 points: not measured; about 192 s at the measured n^2.0",
        "  other         10 points:   1.00 s",
        "  other    100,000 points: not measured",
    ]
