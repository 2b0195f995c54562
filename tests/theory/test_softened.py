"""Softmax heads and ReLU ramps: the softened network is what it says, and meets the exact one as tau shrinks."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
import torch
from helpers import slow_softened as slow

from sampled_transformer import Cycle
from sampled_transformer.attention import SampledAttention
from sampled_transformer.layers.feed_forward import FeedForward
from sampled_transformer.theory import FUNCTIONS, Approximation, Setting, Softened, approximate
from sampled_transformer.theory.approximation import Floats, cell_centres
from sampled_transformer.theory.contextual import windows
from sampled_transformer.theory.grid import all_inputs, embedding
from sampled_transformer.theory.heads import hardmax_head
from sampled_transformer.theory.patterns import cycle_to_previous
from sampled_transformer.theory.softened import project, ramp_down, score_gap, softmax_head, window

SMALL = [(2, 1, 2), (2, 1, 3), (2, 2, 2), (3, 1, 2)]


def network_of(n: int, d: int, steps: int, name: str = "farthest") -> Approximation:
    return approximate(FUNCTIONS[name], n, d, f"1/{steps}")


def centres(setting: Setting) -> Floats:
    return cell_centres(all_inputs(setting), setting)


def largest_error(network: Approximation, tau: float) -> float:
    """Over all cells, which is over all inputs off the ramps."""
    points = centres(network.setting)
    return float(np.abs(Softened(network, tau)(points) - network(points)).max())


def decimals(values: Floats) -> list[list[Decimal]]:
    return [[Decimal(value) for value in line] for line in values.tolist()]


def slow_outputs(softened: Softened) -> list[tuple[list[Decimal], list[Decimal]]]:
    """Every column after the exact attention layers, and the output that belongs to it, as real numbers."""
    setting = softened.setting
    columns = softened.exact.values.swapaxes(1, 2).reshape(-1, setting.d).tolist()
    outputs = [softened.network.values[identity] for identity in softened.exact.ids.reshape(-1).tolist()]
    real = [[Decimal(value) / (2 * setting.steps) for value in column] for column in columns]
    return list(zip(real, [[Decimal(value) for value in output] for output in outputs], strict=True))


@pytest.mark.parametrize("tau", [0.5, 2**-5, 2**-9])
@pytest.mark.parametrize(("n", "d", "steps"), SMALL)
def test_all_stages_are_those_of_the_slow_network(n: int, d: int, steps: int, tau: float) -> None:
    """On random inputs, with ramps wide enough to be hit."""
    ramp = 0.25
    softened = Softened(network_of(n, d, steps), tau, ramp)
    points = np.random.default_rng(0).random((6, d, n))
    order = list(range(n))[::-1]  # the tokens of the default order of the points
    half_step = float(softened.setting.half_step)
    quantised = softened.quantise(points[:, :, order])
    attended = softened.attend(quantised)
    outputs = softened(points)
    for row, cloud in enumerate(points[:, :, order]):
        expected = slow.quantise(decimals(cloud), steps, Decimal(ramp))
        assert np.allclose(half_step * quantised[row], np.array(expected, dtype=float), rtol=0, atol=1e-12)
        expected = slow.attend(expected, steps, Decimal(tau), softened.network.constant)
        assert np.allclose(half_step * attended[row], np.array(expected, dtype=float), rtol=1e-9)
        expected = slow.answer(expected, steps, slow_outputs(softened))
        largest = float(max(abs(value) for line in expected for value in line))
        assert np.allclose(outputs[row][:, order], np.array(expected, dtype=float), rtol=0, atol=1e-9 * (1 + largest))


@pytest.mark.parametrize(("n", "d", "steps"), SMALL)
def test_the_error_falls_with_tau_until_the_networks_are_equal(n: int, d: int, steps: int) -> None:
    network = network_of(n, d, steps)
    large, small, smaller, smallest = (largest_error(network, tau) for tau in (1.0, 2**-7.5, 2**-9, 2**-11))
    assert large > 1  # a hardmax in disguise would have no error here
    assert large > small >= smaller
    assert smaller < 1e-6
    assert smallest < 1e-15


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_met_along_any_cycle(name: str) -> None:
    order = [1, 2, 0]
    network = approximate(FUNCTIONS[name], 3, 1, "1/2", order=order)
    points = np.random.default_rng(1).random((200, 1, 3))
    assert np.allclose(Softened(network, 2**-10)(points), network(points), rtol=0, atol=1e-12)
    assert np.abs(Softened(network, 2**-3)(points) - network(points)).max() > 1


@pytest.mark.parametrize(("n", "d", "steps", "tau"), [(2, 1, 2, 2**-7), (2, 1, 3, 2**-8), (2, 2, 2, 2**-5.5)])
def test_the_error_of_ids_falls_as_the_gap_of_scores_says(n: int, d: int, steps: int, tau: float) -> None:
    """|error| ~ exp(-gap / tau): from tau to tau / 1.25 it falls by exp(-gap / 4 tau)."""
    network = network_of(n, d, steps)

    def error(temperature: float) -> float:
        softened = Softened(network, temperature)
        found = project(softened.attend(softened.quantise(centres(network.setting))), network.setting)
        return float(np.abs(found - softened.exact.ids.astype(float)).max())

    measured = math.log(error(tau) / error(tau / 1.25)) * 4 * tau
    assert measured == pytest.approx(float(score_gap(network)), rel=0.02)


def test_the_gap_is_that_of_the_closest_scores() -> None:
    assert score_gap(network_of(2, 1, 2)) == network_of(2, 1, 2).setting.delta ** 2 / 2
    assert score_gap(network_of(3, 1, 3)) == network_of(3, 1, 3).setting.delta ** 2 / 2


def test_where_float64_ends_more_digits_still_meet_the_exact_network() -> None:
    """n=4, d=1, delta=1/3: ids have 61 bits."""
    network = network_of(4, 1, 3)
    softened = Softened(network, 2**-11)
    assert max(network.values).bit_length() > 53
    assert largest_error(network, softened.tau) > 1
    cell = all_inputs(network.setting)[[37]]
    order = [3, 2, 1, 0]
    with localcontext() as context:
        context.prec = 60
        real = [[Decimal(int(value)) / 6 for value in line] for line in (cell + embedding(network.setting))[0]]
        attended = slow.attend(real, 3, Decimal(softened.tau), network.constant)
        found = slow.answer(attended, 3, slow_outputs(softened))
    expected = network(cell_centres(cell[:, :, order], network.setting))[0][:, order]
    assert np.allclose(np.array(found, dtype=float), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("threshold", [-1.0, 0.0, 3.0])
def test_a_cold_head_is_a_hardmax_head_and_a_hot_one_averages(threshold: float) -> None:
    ids = np.array([[2.0, 8.0, 4.0], [6.0, 2.0, 10.0]])
    pattern = cycle_to_previous(3)
    hard = hardmax_head(ids.astype(int).astype(object), pattern, int(threshold)).astype(float)
    assert np.array_equal(softmax_head(ids, pattern, threshold, 1e-3), hard)
    averages = (ids + np.roll(ids, 1, axis=1)) / 2
    assert np.allclose(softmax_head(ids, pattern, threshold, 1e9), averages)
    assert not np.allclose(softmax_head(ids, pattern, threshold, 10.0), hard)


@pytest.mark.parametrize("tau", [0.25, 2**-9])
@pytest.mark.parametrize(("n", "d", "steps"), SMALL)
def test_sampled_attention_with_the_weights_of_the_proof_does_the_same(n: int, d: int, steps: int, tau: float) -> None:
    """Two heads of size 1 on one fixed cycle, scale 1 / tau: the layers are those that people train."""
    softened = Softened(network_of(n, d, steps), tau)
    setting = softened.setting
    values = softened.quantise(centres(setting))
    cycle = Cycle.from_order(torch.arange(n - 1, -1, -1)[None])  # the successor of each token is the one before it
    direction = torch.tensor([float(steps) ** row for row in range(d)], dtype=torch.float64)

    def layer(thresholds: list[float], constants: list[float]) -> SampledAttention:
        heads = len(thresholds)
        made = SampledAttention(d, heads, head_dim=1, bias=True, scale=float(setting.half_step) ** 2 / tau).double()
        for projection in (made.query, made.key, made.value):
            projection.weight.data = direction.repeat(heads, 1)
            projection.bias.data.zero_()
        made.query.bias.data = -torch.tensor(thresholds, dtype=torch.float64)
        made.output.weight.data.zero_()
        made.output.weight.data[0] = torch.tensor(constants, dtype=torch.float64)
        made.output.bias.data.zero_()
        return made

    base, constant = float(setting.base), float(softened.network.constant)
    layers = [layer([b - 1, b + 1], [base, -base]) for token in range(1, n) for b in windows(setting, token)]
    layers += [layer([0.0], [constant]) for _ in range(n)]
    x = torch.tensor(values.swapaxes(1, 2))
    with torch.no_grad():
        for one in layers:
            x = x + one(x, cycle=cycle)
    assert np.allclose(x.numpy().swapaxes(1, 2), softened.attend(values), rtol=1e-10)


def feed_forward(weights: list[float], biases: list[float], outputs: list[float]) -> FeedForward:
    made = FeedForward(1, len(weights), bias=True).double()
    made.expand.weight.data = torch.tensor(weights, dtype=torch.float64)[:, None]
    made.expand.bias.data = torch.tensor(biases, dtype=torch.float64)
    made.contract.weight.data = torch.tensor(outputs, dtype=torch.float64)[None]
    made.contract.bias.data.zero_()
    return made


def test_ramps_and_windows_are_feed_forward_layers_of_at_most_four_units() -> None:
    x = np.linspace(-4, 8, 97)
    ramp, lower = 0.25, 2.0
    down = feed_forward([1.0] * 3, [-lower, -lower - 2 * (1 - ramp), -lower - 2], [-1, 1 / ramp, 1 - 1 / ramp])
    near = feed_forward([1.0] * 4, [1.5, 0.5, -0.5, -1.5], [1, -1, -1, 1])
    with torch.no_grad():
        column = torch.tensor(x)[:, None]
        assert np.allclose((column + down(column))[:, 0].numpy(), ramp_down(x, lower, ramp), atol=1e-12)
        assert np.allclose(near(column)[:, 0].numpy(), window(x), atol=1e-12)


def test_a_ramp_moves_its_cell_alone() -> None:
    x = np.array([1.0, 2.0, 2.7, 3.0, 3.25, 3.5, 4.0, 4.3])
    assert ramp_down(x, 2.0, 0.5).tolist() == [1.0, 2.0, 2.0, 2.0, 2.5, 3.0, 4.0, 4.3]
    assert window(np.array([-2.0, -1.0, -0.5, 0.0, 0.5, 1.25, 9.0])).tolist() == [0.0, 0.5, 1.0, 1.0, 1.0, 0.25, 0.0]


@pytest.mark.parametrize("ramp", [0.25, 2.0**-20])
def test_inputs_off_the_ramps_get_the_grid_exactly(ramp: float) -> None:
    setting = Setting(3, 2, 3)
    generator = np.random.default_rng(2)
    cells = generator.integers(3, size=(200, 2, 3))
    points = (cells + (1 - ramp) * 0.999 * generator.random(cells.shape)) / 3
    softened = Softened(network_of(3, 2, 3), 1.0, ramp)
    assert np.array_equal(softened.quantise(points), (2 * cells + embedding(setting)).astype(float))


def test_clipping_keeps_inputs_on_a_ramp_in_the_range_of_the_function() -> None:
    network = network_of(2, 1, 2)
    on_ramp = np.array([[[0.45, 0.1]]])
    plain, clipped = (Softened(network, 2**-11, 0.5, clipped=clip)(on_ramp) for clip in (False, True))
    bound = max(float(np.abs(column).max()) for column in network.values.values())
    assert np.abs(plain).max() > 1000
    assert np.abs(clipped).max() <= bound
    points = centres(network.setting)
    assert np.array_equal(Softened(network, 2**-11, clipped=True)(points), network(points))


def test_bad_arguments_are_named() -> None:
    network = network_of(2, 1, 2)
    with pytest.raises(ValueError, match="tau: expected a positive temperature, got 0"):
        Softened(network, 0)
    with pytest.raises(ValueError, match="ramp: expected a share between 0 and 1, got 1"):
        Softened(network, 1, 1)
    with pytest.raises(ValueError, match=r"points: expected shape \(inputs, 1, 2\), got \(2, 1\)"):
        Softened(network, 1)(np.zeros((2, 1)))
