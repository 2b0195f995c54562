"""The command `segment train`."""

from __future__ import annotations

from ..training.segment_settings import SegmentSettings
from .extras import training_module, with_report


def segment_train(settings: SegmentSettings, resume: bool = False) -> None:
    """Train a network that labels every point.

    Args:
        resume: Continue the run in --out; its options need not be given again.
    """
    run = training_module("training.run")
    result = training_module("training.segment").segment(settings, resume)
    if not run.is_first_process():
        return
    for name, row in result["figures"].items():
        print(f"{name}, {row['epoch']:.0f}: {_test_figures(row)}")
    for one in result.get("point_classes", []):
        iou = "no points" if one["iou"] is None else f"{100 * one['iou']:.1f} %"
        print(f"  {one['class']}: IoU {iou}")
    written = with_report(settings.out, "model.safetensors, metrics.csv, result.json")
    print(f"{settings.out}: {result['seconds']:.0f} s; {written}")


segment_train.reads_files = True  # type: ignore[attr-defined]


def _test_figures(row: dict[str, float]) -> str:
    return f"test mean IoU {100 * row['test_mean_iou']:.2f} %, points right {100 * row['test_accuracy']:.2f} %"
