"""Evaluate amortised clustering: LL0, LL1 and the oracle on fixed sets (appendix C)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..data.sources.gaussians import FIXED_SEED, Mixtures, sample_mixtures
from ..inference.trained import pick_device
from ..models.mixture import Mixture, MixtureNetwork
from ..randomness import cycle_seed, is_random
from ..support.printable import printable
from ..weights import Description, WeightsError, load_model
from .likelihood import Covariance, log_likelihood, scikit_log_likelihood
from .settings import MixtureChanges, MixtureOptions


def draw(options: MixtureOptions, sets: int, generator: torch.Generator) -> Mixtures:
    """Draw sets of equal size and the mixtures that generate them."""
    return sample_mixtures(
        sets,
        options.points,
        generator,
        components=options.components,
        dim=options.dimension,
        spread=options.spread,
        deviation=options.deviation,
    )


def fixed_sets(options: MixtureOptions, sets: int = 1000, seed: int = FIXED_SEED, batch: int = 10) -> list[Mixtures]:
    """The test sets: the same in every process, in batches of equal size. Asking for fewer gives the first ones.

    With default options they equal `fixed_mixtures`.
    """
    if sets < 1:
        raise ValueError(f"sets: expected at least 1, got {sets}")
    generator = torch.Generator().manual_seed(seed)
    drawn = [draw(options, batch, generator) for _ in range(0, sets, batch)]
    return [*drawn[:-1], Mixtures(*(part[: sets - batch * (len(drawn) - 1)] for part in drawn[-1]))]


@torch.inference_mode()
def predict(network: nn.Module, batches: Sequence[Mixtures], samples: int = 1) -> list[Mixture]:
    """The network's mixture for each set. With several samples, the mixture under which the set is likeliest.

    This choice does not use the true mixture: the likelihood depends only on the set and the prediction.
    """
    place = next((parameter.device for parameter in network.parameters()), torch.device("cpu"))
    found = (best_of(network, batch.points.to(place), samples) for batch in batches)
    return [Mixture(*(part.cpu() for part in mixture)) for mixture in found]


@torch.inference_mode()
def best_of(network: nn.Module, points: Tensor, samples: int = 1) -> Mixture:
    """The likeliest mixture of points (sets, n, D) among passes with the seeds 0 to samples - 1."""
    if samples < 1:
        raise ValueError(f"samples: expected at least 1, got {samples}")
    best: Mixture | None = None
    for seed in range(samples if is_random(network) else 1):
        with cycle_seed(network, seed):
            found: Mixture = network(points)
        likelihood = log_likelihood(points, found)
        if best is None:
            best, value = found, likelihood
            continue
        better = likelihood > value
        value = torch.where(better, likelihood, value)
        parts = zip(best, found, strict=True)
        best = Mixture(*(torch.where(better.view(-1, *[1] * (a.dim() - 1)), b, a) for a, b in parts))
    assert best is not None
    return best


def mean_likelihood(batches: Sequence[Mixtures], found: Sequence[Mixture]) -> float:
    """LL0: the log-likelihood per point, averaged over the sets."""
    return torch.cat([log_likelihood(b.points, m) for b, m in zip(batches, found, strict=True)]).mean().item()


def truth(batch: Mixtures) -> Mixture:
    """The mixtures that generated the sets, in the form that a network returns."""
    return Mixture(batch.weights.log(), batch.means, batch.deviations)


def measure(
    network: nn.Module,
    options: MixtureOptions,
    sets: int = 1000,
    samples: int = 1,
    covariance: Covariance = "diagonal",
    keep: list[tuple[Mixtures, Mixture]] | None = None,
) -> dict[str, float]:
    """LL0, and LL1 after one EM step by scikit-learn, for the network and for the true mixtures (the oracle).

    `keep` gets the batches of sets with the mixtures that the network found.
    """
    batches = fixed_sets(options, sets)
    figures = {}
    answers = predict(network, batches, samples)
    if keep is not None:
        keep.extend(zip(batches, answers, strict=True))
    for name, found in (("", answers), ("oracle_", [truth(batch) for batch in batches])):
        pairs = list(zip(batches, found, strict=True))
        scores = [value for batch, one in pairs for value in scikit_log_likelihood(batch.points, one, covariance)]
        figures[f"{name}LL0"] = mean_likelihood(batches, found)
        figures[f"{name}LL1"] = float(sum(scores) / len(scores))
    return figures


def evaluate(
    weights: Path,
    changes: MixtureChanges | None = None,
    *,
    sets: int = 1000,
    samples: int = 1,
    covariance: Covariance = "diagonal",
    device: str | None = None,
    keep: list[tuple[Mixtures, Mixture]] | None = None,
) -> dict[str, Any]:
    """Evaluate a weights file on fixed sets.

    Args:
        weights: The weights file.
        changes: Changes to the sets that the network was trained on (default: none).
        sets: Number of sets.
        samples: Predict this many times and keep the likeliest mixture of each set.
        covariance: Covariance type of the EM step.
        device: Device (default: GPU if available).
        keep: Gets the batches of sets with the mixtures that the network found.
    """
    network, description, trained_on = load_mixture_network(weights, device)
    options = trained_on if changes is None else changes.of(trained_on)
    for name, own in (("dimension", network.inputs), ("components", network.components)):
        if getattr(options, name) != own:
            raise ValueError(f"data.{name}: expected {own}, as in the network, got {getattr(options, name)}")
    return {
        "weights": str(weights),
        "model": description.model,
        "data": {**asdict(options), "points": list(options.points)},
        "sets": sets,
        "samples": samples,
        "covariance": covariance,
        "figures": measure(network, options, sets, samples, covariance, keep),
    }


def load_mixture_network(path: Path, device: str | None = None) -> tuple[MixtureNetwork, Description, MixtureOptions]:
    """Load a network with its description and the options of the sets that it was trained on."""
    network, description = load_model(path, pick_device(device))
    if not isinstance(network, MixtureNetwork):
        raise WeightsError(f"{printable(path)}: expected a network that predicts mixtures, got {description.model!r}")
    try:
        data = dict(description.notes.get("data", {}))
        if "points" in data:
            data["points"] = tuple(data["points"])
        options = MixtureOptions(**{"dimension": network.inputs, "components": network.components, **data})
    except (TypeError, ValueError):
        raise WeightsError(f"{printable(path)}: expected valid options of the training sets in its notes") from None
    return network, description, options
