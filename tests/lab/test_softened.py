"""The study of the softened proof: its inputs, its distances and its tables."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sampled_transformer.theory import FUNCTIONS, Setting, Softened, approximate, distance
from sampled_transformer_lab.softened import (
    GRIDS,
    TABLES,
    distance_on_all,
    error_table,
    grid_table,
    ids_after,
    inputs_on_ramps,
    measured_gap,
    share_on_ramps,
    study,
    tables,
)

NETWORK = approximate(FUNCTIONS["farthest"], 2, 1, "1/2")


@pytest.mark.parametrize("ramp", [0.3, 0.01])
def test_inputs_on_ramps_are_the_uniform_inputs_of_which_a_coordinate_is_on_a_ramp(ramp: float) -> None:
    """Compared with what rejection leaves of uniform inputs."""
    setting = Setting(2, 2, 3)
    drawn = inputs_on_ramps(setting, ramp, 20_000)
    assert drawn.shape == (20_000, 2, 2)
    assert drawn.min() >= 0
    assert drawn.max() < 1
    uniform = np.random.default_rng(1).random((400_000, 2, 2))
    on = (uniform * 3 % 1 > 1 - ramp).any(axis=(1, 2))
    assert on.mean() == pytest.approx(share_on_ramps(setting, ramp), rel=0.05)
    expected, found = ((x * 3 % 1 > 1 - ramp) for x in (uniform[on], drawn))
    assert found.any(axis=(1, 2)).all()
    assert np.allclose(found.mean(axis=0), expected.mean(axis=0), atol=0.03)
    assert np.allclose(drawn.mean(axis=0), uniform[on].mean(axis=0), atol=0.02)


@pytest.mark.parametrize("tau", [0.5, 2**-10])
def test_the_distance_is_that_of_uniform_inputs(tau: float) -> None:
    """With wide ramps the plain estimate of Eq. 2 sees them too."""
    softened = Softened(NETWORK, tau, 0.25, clipped=True)
    plain = distance(NETWORK, softened, NETWORK.setting, samples=20_000)
    assert distance_on_all(softened, 20_000) == pytest.approx(plain, rel=0.03)


def test_ids_and_distances_shrink_with_tau_and_the_ramps() -> None:
    hot, warm, cold = (ids_after(Softened(NETWORK, tau))[0] for tau in (1.0, 2**-7, 2**-10))
    assert hot > 1 > warm > cold == 0
    assert ids_after(Softened(NETWORK, 2**-10))[1] == 1  # exact ids are steps of delta
    wide, narrow = (distance_on_all(Softened(NETWORK, 2**-10, ramp, clipped=True)) for ramp in (2**-4, 2**-16))
    assert narrow < wide / 32  # as the root of the width, which falls by 2^12
    assert narrow > 0


def test_figures_survive_the_file_and_fill_the_tables() -> None:
    result = study([(2, 1, 2), (2, 2, 2)], [2**-5, 2**-6, 2**-9], [2**-4, 2**-8], samples=50)
    assert json.loads(json.dumps(result))["grids"][1]["n"] == 2
    assert [grid["temperatures"][-1]["outputs"] for grid in result["grids"]] == [0, 0]
    for grid in result["grids"]:
        assert measured_gap(grid) == pytest.approx(grid["gap"], rel=0.1)
    table = error_table(result, "temperatures", "tau", "outputs").splitlines()
    assert [line.split("|")[1].strip() for line in table[2:]] == ["2^-5", "2^-6", "2^-9"]
    assert table[-1].split("|")[2].strip() == "0"
    assert "| 4     | 4 + 4 + 8  | 16 " in grid_table(result)
    assert "\n".join(tables(result)).count("\n## ") == len(TABLES)


def test_the_last_grid_alone_is_too_large_for_float64() -> None:
    bits = [max(approximate(FUNCTIONS["farthest"], n, d, f"1/{steps}").values).bit_length() for n, d, steps in GRIDS]
    assert bits == sorted(bits)
    assert max(bits[:-1]) <= 53 < bits[-1]
