"""The number of clusters: merging by moments, the criterion, and heaps counted with the shipped weights."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
import torch
from torch import Tensor

from sampled_transformer.clustering.evaluation import load_mixture_network
from sampled_transformer.clustering.fit import central_points, likeliest
from sampled_transformer.clustering.number import check_number, criterion, merge, with_clusters
from sampled_transformer.models.mixture import Mixture, MixtureNetwork
from sampled_transformer.weights import find_weights


def mixture(weights: list[float], means: list[list[float]], deviations: list[list[float]]) -> Mixture:
    parts = (torch.tensor(weights).log(), torch.tensor(means), torch.tensor(deviations))
    return Mixture(*(part.double()[None] for part in parts))


THREE = mixture([0.5, 0.3, 0.2], [[0.0, 0], [1, 2], [9, 9]], [[1.0, 1], [2, 0.5], [1, 1]])


def test_a_merged_component_has_the_moments_of_both() -> None:
    found = merge(THREE, 0, 1)
    assert found.log_weights.exp()[0].tolist() == pytest.approx([0.2, 0.8])
    generator = torch.Generator().manual_seed(0)
    chosen = (torch.rand(400_000, generator=generator) < 0.3 / 0.8).long()
    noise = torch.randn(400_000, 2, generator=generator, dtype=torch.float64)
    drawn = THREE.means[0, chosen] + THREE.deviations[0, chosen] * noise
    torch.testing.assert_close(found.means[0, 1], drawn.mean(0), rtol=0, atol=0.02)
    torch.testing.assert_close(found.deviations[0, 1], drawn.std(0), rtol=0, atol=0.02)
    torch.testing.assert_close(found.means[0, 0], THREE.means[0, 2])


def test_components_without_weight_give_no_nan() -> None:
    light = THREE._replace(log_weights=torch.tensor([[0.0, -2000.0, -2000.0]], dtype=torch.float64))
    for part in merge(light, 1, 2):
        assert part.isfinite().all()
    torch.testing.assert_close(merge(light, 0, 1).means[0, 1], THREE.means[0, 0])


def test_the_criterion_is_what_its_formula_says() -> None:
    points = torch.randn(1, 7, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    likelihood, entropy = 0.0, 0.0
    for point in points[0]:
        joint = []
        for k in range(3):
            each = ((point - THREE.means[0, k]) / THREE.deviations[0, k]).square().sum() / 2
            density = float((-each).exp()) / (2 * math.pi * float(THREE.deviations[0, k].prod()))
            joint.append(math.exp(THREE.log_weights[0, k]) * density)
        likelihood += math.log(sum(joint))
        entropy -= sum(one / sum(joint) * math.log(one / sum(joint)) for one in joint if one)
    # three components with two means and two deviations each, and two free weights
    assert criterion(points, THREE) == pytest.approx(-2 * likelihood + 14 * math.log(7) + 2 * entropy)


def test_the_cheapest_pair_is_merged_and_a_full_mixture_stays_as_it_is() -> None:
    generator = torch.Generator().manual_seed(0)
    points = torch.cat([torch.randn(50, 2, generator=generator), 9 + torch.randn(50, 2, generator=generator)])
    two = with_clusters(points.double()[None], THREE, 2)
    torch.testing.assert_close(two.means, merge(THREE, 0, 1).means)
    assert with_clusters(points.double()[None], THREE, 3) is THREE
    assert with_clusters(points.double()[None], THREE, 1).means.shape == (1, 1, 2)


def test_numbers_are_checked() -> None:
    for number in ("auto", 1, 4):
        check_number(number, 4)
    for wrong in (0, 5, -1, "many", True):
        with pytest.raises(ValueError, match="clusters: expected auto, or 1 to 4, which these weights know, got"):
            check_number(wrong, 4)


@pytest.fixture(scope="module")
def shipped() -> tuple[MixtureNetwork, float]:
    network, _, trained_on = load_mixture_network(find_weights("mixtures"))
    return network, trained_on.spread + trained_on.deviation


def heaps(count: int, form: str, seed: int) -> np.ndarray:
    """Well separated heaps of different sizes and widths: round Gaussians, tilted ones, or even discs."""
    generator = np.random.default_rng([seed, count])
    while True:
        centres = generator.uniform(-4, 4, (count, 2))
        if all(np.linalg.norm(one - two) > 2.4 for one, two in combinations(centres, 2)):
            break
    parts = []
    for centre in centres:
        size, width = int(generator.integers(40, 150)), generator.uniform(0.15, 0.4)
        if form == "disc":
            angle, radius = generator.uniform(0, 2 * np.pi, size), 2 * width * np.sqrt(generator.uniform(size=size))
            parts.append(centre + radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1))
        else:
            stretch = np.array([1, 0.5]) if form == "tilted" else np.ones(2)
            turn = generator.uniform(0, np.pi)
            rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
            parts.append(centre + generator.normal(0, width, (size, 2)) * stretch @ rotation)
    return np.concatenate(parts) * generator.uniform(0.1, 100) + generator.uniform(-100, 100, 2)


def predicted(shipped: tuple[MixtureNetwork, float], points: np.ndarray) -> tuple[Tensor, Mixture]:
    network, extent = shipped
    frame, found = likeliest(network, points, central_points(points), extent, 2)
    return torch.from_numpy(frame.into(points))[None], found


@pytest.mark.parametrize("form", ["round", "tilted", "disc"])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_heaps_are_counted(shipped: tuple[MixtureNetwork, float], count: int, form: str) -> None:
    for seed in range(4):
        scaled, four = predicted(shipped, heaps(count, form, seed))
        assert four.means.shape[1] == 4
        assert with_clusters(scaled, four, "auto").means.shape[1] == count


def test_the_number_can_be_decided_on_a_part_of_the_points(
    shipped: tuple[MixtureNetwork, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    scaled, four = predicted(shipped, heaps(3, "round", 0))
    monkeypatch.setattr("sampled_transformer.clustering.number.MOST_POINTS", 100)
    assert with_clusters(scaled, four, "auto").means.shape[1] == 3
