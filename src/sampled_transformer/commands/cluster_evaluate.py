"""The command `cluster evaluate`."""

from __future__ import annotations

from typing import Literal

from ..clustering.settings import MixtureChanges
from .cluster_train import figures_line


def cluster_evaluate(
    weights: str,
    data: MixtureChanges = MixtureChanges(),  # noqa: B008
    sets: int = 1000,
    samples: int = 1,
    covariance: Literal["diagonal", "spherical", "full"] = "diagonal",
    device: str | None = None,
    json: bool = False,
) -> None:
    """Measure a trained network by log-likelihood per point, before (LL0) and after (LL1) one EM step.

    Args:
        weights: The folder of a run of `cluster train`, its weights file, or the name of shipped weights.
        data: Changes to the sets of the training.
        sets: Number of sets; their order is the same in every process.
        samples: Passes of a sampled network; each set keeps the pass with the highest likelihood.
        covariance: Form of the covariances in the EM step.
        device: Device (default: GPU if available).
        json: Print everything as JSON.
    """
    from json import dumps

    from ..clustering.evaluation import evaluate
    from ..weights import find_weights

    result = evaluate(find_weights(weights), data, sets=sets, samples=samples, covariance=covariance, device=device)
    print(dumps(result, indent=2) if json else figures_line(result["figures"]))
