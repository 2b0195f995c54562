"""The command `cluster train`: amortised clustering (section 6)."""

from __future__ import annotations

from ..clustering.settings import ClusterSettings
from .extras import with_report


def cluster_train(settings: ClusterSettings, resume: bool = False) -> None:
    """Train a network that reads a set of points and predicts the mixture of Gaussians it came from.

    Args:
        resume: Continue the run in --out; its options need not be given again.
    """
    from ..clustering.training import train

    result = train(settings, resume)
    print(figures_line(result["figures"]))
    written = with_report(settings.out, "model.safetensors, metrics.csv, result.json")
    print(f"{settings.out}: {result['seconds']:.0f} s; {written}")


def figures_line(figures: dict[str, float]) -> str:
    """The log-likelihoods per point, with the values of the true mixtures in brackets."""
    return (
        f"LL0 {figures['LL0']:.4f}, LL1 {figures['LL1']:.4f} "
        f"(true mixtures: {figures['oracle_LL0']:.4f}, {figures['oracle_LL1']:.4f})"
    )
