"""The command `train`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from ..training.settings import Settings
from .extras import training_module
from .upright import with_settled_up


def train(settings: Settings, resume: bool = False) -> None:
    """Train a network on shapes with classes, or with numbers to predict.

    Args:
        resume: Continue the run in --out; its options need not be given again.
    """
    run = training_module("training.run")
    result = run.train(with_settled_up(settings), resume)
    if not run.is_first_process():
        return
    for name, row in result["figures"].items():
        print(f"{name}, {row['epoch']:.0f}: {_test_figures(row)}")
    out = Path(settings.out)
    written = "model.safetensors, metrics.csv, result.json"
    if find_spec("plotly") is not None:
        from ..report.run_page import write_report

        write_report(out / "report.html", {result["attention"]: out}, out.name)
        written += ", report.html"
    print(f"{settings.out}: {result['seconds']:.0f} s; {written}")


train.reads_files = True  # type: ignore[attr-defined]


def _test_figures(row: Mapping[str, float]) -> str:
    if "test_r2" in row:
        from ..inference.target import written

        return f"test {written(row, 'test_')}"
    overall, mean = row["test_accuracy"], row["test_mean_class_accuracy"]
    return f"test accuracy {100 * overall:.2f} %, mean over classes {100 * mean:.2f} %"
