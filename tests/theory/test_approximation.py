from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch

from sampled_transformer import Cycle
from sampled_transformer.theory import FUNCTIONS, Setting, approximate, distance, run
from sampled_transformer.theory.approximation import (
    Floats,
    cell_centres,
    centred,
    constant_above,
    farthest,
    rank,
    value_mapping_by_layers,
)
from sampled_transformer.theory.grid import all_inputs

POINTS = np.random.default_rng(0).random((300, 2, 2))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_network_is_the_function_at_the_centre_of_each_cell(name: str) -> None:
    function = FUNCTIONS[name]
    network = approximate(function, 2, 2, "1/3")
    centres = (np.floor(POINTS * 3) + 0.5) / 3
    assert np.allclose(network(POINTS), function(centres))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("n", "d"), [(2, 1), (3, 1), (2, 2)])
def test_the_error_shrinks_with_delta(name: str, n: int, d: int) -> None:
    function = FUNCTIONS[name]
    networks = [approximate(function, n, d, f"1/{steps}") for steps in (2, 4, 8)]
    errors = [distance(function, network, network.setting) for network in networks]
    # The error is proportional to delta for continuous functions, and to its square root for the rank, which jumps.
    factor = 0.75 if name == "rank" else 0.55
    assert errors[1] < factor * errors[0]
    assert errors[2] < factor * errors[1]


def test_the_error_is_the_l_p_distance() -> None:
    setting = Setting(2, 1, 2)

    def shifted(points: Floats) -> Floats:
        return points + np.array([0.5, 0.25])

    for p in (1, 2, 3):
        expected = (0.5**p + 0.25**p) ** (1 / p)
        assert distance(lambda points: points, shifted, setting, p=p) == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"p: expected at least 1, got 0\.5"):
        distance(shifted, shifted, setting, p=0.5)


def test_functions_are_what_they_say() -> None:
    points = np.random.default_rng(1).random((5, 2, 4))
    for cloud, ranks, far, offset in zip(points, rank(points), farthest(points), centred(points), strict=True):
        for k in range(4):
            largest = max(np.linalg.norm(cloud[:, k] - cloud[:, j]) for j in range(4))
            assert far[0, k] == far[1, k] == pytest.approx(largest, rel=1e-14)  # the last bit is the processor's
            for row in range(2):
                assert ranks[row, k] == sum(cloud[row, j] < cloud[row, k] for j in range(4)) / 3
                assert offset[row, k] == pytest.approx(cloud[row, k] - sum(cloud[row]) / 4)


def test_the_network_of_a_set_function_is_equivariant_on_any_cycle() -> None:
    order = Cycle.sample(3, generator=torch.Generator().manual_seed(2)).order[0].tolist()
    network = approximate(rank, 3, 1, "1/4", order=order)
    points = np.random.default_rng(2).random((200, 1, 3))
    assert np.array_equal(network(points), approximate(rank, 3, 1, "1/4")(points))
    assert np.array_equal(network(points[:, :, [2, 0, 1]]), network(points)[:, :, [2, 0, 1]])


def test_looking_an_id_up_is_the_value_mapping_by_layers() -> None:
    setting = Setting(2, 2, 2)
    cells = all_inputs(setting)
    network = approximate(centred, 2, 2, "1/2")
    trace = run(cells[:, :, ::-1], setting, "cycle", constant=network.constant)  # tokens walk against the cycle
    outputs = {
        identity: [Fraction(float(value)) / setting.half_step for value in column]
        for identity, column in network.values.items()
    }
    mapped = value_mapping_by_layers(trace.values, setting, outputs)[:, :, ::-1]
    real = np.vectorize(lambda value: float(value * setting.half_step), otypes=[float])(mapped)
    assert np.array_equal(real, network(cell_centres(cells, setting)))
    assert network.layers == (2 * 2 * 2, 1 * 4 + 2, 2 * 16)
    assert len(network.values) == network.layers[2]


def test_outputs_that_look_like_ids_need_a_larger_constant() -> None:
    """With the paper's c, a later layer can mistake a finished column for an id."""
    setting = Setting(2, 1, 2)
    cells = all_inputs(setting)

    def wanted(constant: int) -> dict[int, list[Fraction]]:
        ids = sorted(run(cells, setting, "pairs", constant=constant).ids.reshape(-1))
        last = run(cells, setting, "pairs").ids.max()  # the first id is to become the paper's last one
        return {identity: [Fraction(last if identity == ids[0] else 0)] for identity in ids}

    def realised(constant: int) -> bool:
        trace = run(cells, setting, "pairs", constant=constant)
        outputs = wanted(constant)
        mapped = value_mapping_by_layers(trace.values, setting, outputs)
        expected = [[outputs[identity][0] for identity in line] for line in trace.ids]
        return mapped[:, 0].tolist() == expected

    values = np.array([float(max(output[0] for output in wanted(64).values()) * setting.half_step)])
    assert not realised(setting.all_max_constant)
    larger = constant_above(setting, values)
    assert larger > setting.all_max_constant
    assert realised(larger)


def test_bad_functions_and_grids_are_named() -> None:
    with pytest.raises(ValueError, match=r"function: expected a result of shape \(4, 1, 2\), got \(4, 2\)"):
        approximate(lambda points: points[:, 0], 2, 1, "1/2")
    with pytest.raises(ValueError, match="function: expected finite values"):
        approximate(lambda points: points * np.nan, 2, 1, "1/2")
    with pytest.raises(ValueError, match="delta: expected at most 100 cells, got 256"):
        approximate(rank, 2, 2, "1/4", limit=100)
