"""The command `fewshot`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..support.printable import printable
from ..training.settings import FewShotSettings
from .extras import training_module, with_report
from .upright import with_settled_up


def fewshot(settings: FewShotSettings, resume: bool = False) -> None:
    """Fine-tune a pre-trained encoder on a few shapes of a few classes, fold by fold, and report mean and deviation.

    Args:
        resume: Continue with the folds in --out; its options need not be given again.
    """

    def show(one: Mapping[str, Any]) -> None:
        done = f"fold {one['fold'] + 1}/{settings.folds}"
        print(f"{done}: {100 * one['accuracy']:.2f} %, {one['seconds']:.1f} s", flush=True)

    result = training_module("training.fewshot").few_shot(with_settled_up(settings), resume, show)
    labels = {"accuracy": "one pass", "averaged_accuracy": f"averaged over {settings.samples} cycles"}
    for name, label in labels.items():
        if name in result["figures"]:
            mean, deviation = (100 * result["figures"][name][key] for key in ("mean", "deviation"))
            task = f"{settings.way}-way {settings.shot}-shot, {settings.folds} folds"
            print(f"{task}, {label}: {mean:.2f} +- {deviation:.2f} %")
    written = with_report(settings.out, "result.json and one file per fold")
    print(f"{printable(settings.out)}: {result['seconds']:.0f} s; {written}")


fewshot.reads_files = True  # type: ignore[attr-defined]
