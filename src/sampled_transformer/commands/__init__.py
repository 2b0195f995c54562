"""The commands of the program, one per file. No module here loads torch before a command runs."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from .calibrate import calibrate
from .cluster_evaluate import cluster_evaluate
from .cluster_fit import cluster_fit
from .cluster_train import cluster_train
from .data_info import data_info
from .data_list import data_list
from .data_pack import data_pack
from .data_scene import data_scene
from .demo import demo
from .evaluate import evaluate
from .export import export
from .features import features
from .fewshot import fewshot
from .predict import predict
from .pretrain import pretrain
from .probe import probe
from .reconstruct import reconstruct
from .report import report
from .segment_evaluate import segment_evaluate
from .segment_predict import segment_predict
from .segment_train import segment_train
from .train import train
from .view import view
from .weights_info import weights_info
from .weights_list import weights_list

LABORATORY = "sampled_transformer_lab"
Function = Callable[..., Any]

FAMILIES = {
    "data": "List, show and pack data sets.",
    "weights": "List and describe trained weights.",
    "cluster": "Amortised clustering.",
    "segment": "Label every point of a shape or a scan.",
}
COMMANDS: dict[str, Function | dict[str, Function]] = {
    "data": {"list": data_list, "info": data_info, "pack": data_pack, "scene": data_scene},
    "weights": {"list": weights_list, "info": weights_info},
    "pretrain": pretrain,
    "train": train,
    "probe": probe,
    "fewshot": fewshot,
    "reconstruct": reconstruct,
    "calibrate": calibrate,
    "evaluate": evaluate,
    "predict": predict,
    "features": features,
    "export": export,
    "report": report,
    "view": view,
    "cluster": {"train": cluster_train, "evaluate": cluster_evaluate, "fit": cluster_fit},
    "segment": {"train": segment_train, "evaluate": segment_evaluate, "predict": segment_predict},
}


def all_commands() -> dict[str, Function | dict[str, Function]]:
    """All commands by name. Those of the laboratory are found by name: the library never imports it."""
    found = {} if find_spec(LABORATORY) is None else import_module(f"{LABORATORY}.commands").COMMANDS
    return {**COMMANDS, **found, "demo": demo}


def all_families() -> dict[str, str]:
    """The help texts of commands that have further commands below them."""
    found = {} if find_spec(LABORATORY) is None else import_module(f"{LABORATORY}.commands").FAMILIES
    return {**FAMILIES, **found}
