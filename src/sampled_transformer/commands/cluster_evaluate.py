"""The command `cluster evaluate`."""

from __future__ import annotations

from dataclasses import asdict
from time import perf_counter
from typing import Any, Literal

from ..clustering.settings import MixtureChanges
from .cluster_train import figures_line
from .pages import command_line, target


def cluster_evaluate(
    weights: str,
    data: MixtureChanges = MixtureChanges(),  # noqa: B008
    sets: int = 1000,
    samples: int = 1,
    covariance: Literal["diagonal", "spherical", "full"] = "diagonal",
    device: str | None = None,
    page: str | None = None,
    out: str | None = None,
    report: bool = True,
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
        page: HTML file for the report alone, in place of a folder.
        out: Folder for report.html, with the sets that were modelled worst, and result.json (default: the folder
            `evaluate` of a run, else runs/evaluate-NAME).
        report: Write them (report.html needs plotly).
        json: Print everything as JSON.
    """
    from json import dumps

    from ..clustering.evaluation import evaluate
    from ..weights import find_weights

    path = find_weights(weights)
    to_write, begin = target("evaluate", weights, page, out, report), perf_counter()
    kept: list[Any] | None = [] if to_write else None
    options: Any = {"sets": sets, "samples": samples, "covariance": covariance}
    result = evaluate(path, data, **options, device=device, keep=kept)
    print(dumps(result, indent=2) if json else figures_line(result["figures"]))
    if kept is not None:
        from ..report.cluster_evaluation_page import write_page
        from ..report.facts import made_now

        changed = {f"data.{name}": value for name, value in asdict(data).items() if value is not None}
        made = made_now(command_line("cluster evaluate", weights, **changed, **options), perf_counter() - begin, path)
        whole = {**result, "weights": weights, **made}
        to_write.write(whole, lambda file: write_page(file, whole, kept))
