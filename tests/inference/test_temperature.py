"""The temperature: found again where it is known, steady with few shapes, and refused where it is nonsense."""

from __future__ import annotations

import math

import pytest
import torch

from sampled_transformer.inference.temperature import LEAST, MOST, fit_temperature, temperature_of
from sampled_transformer.weights import Description, WeightsError


def drawn(shapes: int, temperature: float, passes: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits of a network, and labels drawn with the probabilities softmax(logits / temperature)."""
    source = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(1, shapes, 5, generator=source)
    labels = torch.multinomial((logits[0] / temperature).softmax(1), 1, generator=source).squeeze(1)
    return logits.expand(passes, -1, -1), labels


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("passes", [1, 8])
def test_the_true_temperature_is_found(temperature: float, passes: int) -> None:
    assert fit_temperature(*drawn(20_000, temperature, passes)) == pytest.approx(temperature, rel=0.03)


def test_an_average_over_passes_that_differ_wants_sharper_passes() -> None:
    logits, labels = drawn(5000, 1.0, passes=4)
    noise = torch.randn(logits.shape, generator=torch.Generator().manual_seed(1))
    together = fit_temperature(logits + 1.5 * noise, labels)
    assert together < fit_temperature((logits + 1.5 * noise)[:1], labels)


def test_it_has_the_smallest_loss_of_all() -> None:
    logits, labels = drawn(300, 0.6)
    found = fit_temperature(logits, labels)

    def loss(temperature: float) -> float:
        truth = (logits[0].double() / temperature).log_softmax(1)[torch.arange(300), labels]
        return float(-truth.mean()) + (math.log(temperature) / 0.5) ** 2 / 600

    assert loss(found) <= min(loss(found * factor) for factor in (0.9, 0.99, 1.01, 1.1))


def test_few_shapes_that_are_all_right_do_not_make_the_network_certain() -> None:
    logits = torch.tensor([[[4.0, 0.0], [0.0, 4.0], [4.0, 0.0]]])
    found = fit_temperature(logits, torch.tensor([0, 1, 0]))
    assert 0.4 < found < 1
    assert 1 < fit_temperature(logits, torch.tensor([1, 0, 1])) < MOST


def test_a_file_without_a_temperature_has_one() -> None:
    assert temperature_of(Description("basic", {}), "w") == 1
    assert temperature_of(Description("basic", {}, (), {"calibration": {"temperature": 0.5}}), "w") == 0.5


@pytest.mark.parametrize("kept", ["hot", 1.5, [], {}, {"temperature": "1"}])
def test_nonsense_is_refused(kept: object) -> None:
    with pytest.raises(WeightsError, match=r"w: expected a temperature of 0\.05 to 20 in its notes, got"):
        temperature_of(Description("basic", {}, (), {"calibration": kept}), "w")


@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, True, None, LEAST / 2, MOST * 2])
def test_a_temperature_that_cannot_be_is_refused(value: object) -> None:
    with pytest.raises(WeightsError, match=r"expected a temperature") as error:
        temperature_of(Description("basic", {}, (), {"calibration": {"temperature": value}}), "w")
    assert "\n" not in str(error.value)
