"""Few-shot classification (section 5.1): fine-tune a classifier on each fold; one file per fold."""

from __future__ import annotations

import hashlib
import signal
import statistics
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Trainer
from torch import nn

from .. import __version__
from ..data import Pack
from ..data.sources.fewshot import Fold, fold
from ..inference.metrics import accuracies, confusion_counts
from ..inference.probe import features_of
from ..inference.probe import fit as fit_regression
from ..inference.trained import cycle_probabilities, view_of
from ..support.machine import machine
from ..support.printable import printable
from ..support.safetensors_file import tensor_digest
from ..support.signals import Stopped
from ..weights import WeightsError, describe_model, find_weights
from .batch_statistics import FreshStatistics
from .classify import Classify
from .data_digest import combined, data_digest
from .initial import Loaded, classifier_options, load_initial, with_changes
from .loading import Batches, Splits, View, choose_points, choose_preset, derive, load_split, refuse_normals
from .network import build_network, check_given_options, check_points
from .nonfinite import NotFinite, WatchFinite
from .run import RunData, make_trainer
from .run_folder import check_folder, failing_writes, read_json, running, stopped, write_json, write_settings
from .settings import DataOptions, FewShotSettings

FROZEN_PENALTY = 1e-2  # of the regression on frozen features; results of 1e-4 to 1 differ by only half a point


class FewShot:
    """What all folds share, checked before the first one begins."""

    def __init__(self, settings: FewShotSettings) -> None:
        self.settings = settings
        self.weights = find_weights(settings.init or "")
        where = printable(self.weights)
        check_given_options(settings.options)
        description = describe_model(self.weights)
        self.digest = tensor_digest(self.weights)
        self.file_digest = hashlib.sha256(self.weights.read_bytes()).hexdigest()  # what older folds name
        options = classifier_options(description, where)
        self.options = with_changes(options, settings.attention or options["attention"], settings.options)
        self.train, self.test, self.view = load_both(settings.data, view_of(description, self.weights).points)
        self.data_digest = combined(data_digest({"train": self.train, "test": self.test}))
        self.loaded: Loaded | None = None
        self.network(settings.way, 0)
        self.fold(0)
        self.trainer()

    def fold(self, number: int) -> Fold:
        settings = self.settings
        return fold(self.train, self.test, settings.way, settings.shot, number, settings.queries, settings.seed)

    def network(self, classes: int, number: int) -> nn.Module:
        """A new classifier for a fold; its encoder comes from the file, unless it starts from scratch."""
        torch.manual_seed(derive(self.settings.seed, number))
        network = build_network("mae-classifier", {**self.options, "classes": classes})
        check_points(network, self.view)
        if not self.settings.scratch:
            self.loaded = load_initial(network, "mae-classifier", (), self.weights)
        return network

    def measure(self, number: int) -> dict[str, Any]:
        """Train on a fold and measure after the last epoch."""
        begin = time.perf_counter()
        task, settings = self.fold(number), self.settings
        network = self.network(settings.way, number)
        if settings.frozen:
            figures = self.regress(network, task)
        else:
            try:
                self.fine_tune(network, task, derive(settings.seed, number) % 2**32)
            except NotFinite as error:
                raise NotFinite(f"fold {number + 1} of {settings.folds}: {error}") from None
            figures = self.evaluate(network, task.test)
        seconds = round(time.perf_counter() - begin, 3)
        return {
            "fold": number,
            "classes": list(task.classes),
            **figures,
            "seconds": seconds,
            "weights_sha256": self.digest,
            "data_sha256": self.data_digest,
        }

    def fine_tune(self, network: nn.Module, task: Fold, seed: int) -> None:
        settings = self.settings
        module = Classify(network, settings.way, settings.optimiser, seed)
        data = RunData(Splits(task.train, task.test, None, self.view), settings.data.batch, seed)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="lightning|torch.optim")
            trainer = self.trainer()
            trainer.fit(module, data)
        FreshStatistics().refresh(trainer, module)

    def regress(self, network: nn.Module, task: Fold) -> dict[str, float]:
        """Fit a logistic regression on the features of the unchanged encoder, and measure it."""
        device = self.trainer().strategy.root_device
        network.to(device)
        labels, expected = (torch.as_tensor(part.labels).long() for part in (task.train, task.test))
        figures = {}
        for samples in sorted({1, self.settings.samples}):
            shots, asked = (
                features_of(network, part, self.view, samples=samples, batch=self.settings.data.batch, device=device)
                for part in (task.train, task.test)
            )
            answers = fit_regression(shots, labels, self.settings.way, FROZEN_PENALTY)(asked)
            figures["averaged_accuracy" if samples > 1 else "accuracy"] = _accuracy(answers, expected)
        return figures

    def trainer(self) -> Trainer:
        """A trainer that writes no files: a fold is short enough to start again."""
        watch = WatchFinite(self.settings.trainer.nonfinite)
        return make_trainer(self.settings, limit_val_batches=0, logger=False, callbacks=[watch])

    def evaluate(self, network: nn.Module, pack: Pack) -> dict[str, float]:
        network.eval()
        device = next(network.parameters()).device
        answers, labels = [], []
        for batch in Batches(pack, self.view.transforms()[1], False, self.settings.data.batch):
            one = batch.to(device)
            answers.append(cycle_probabilities(network, one.points, None, self.settings.samples).cpu())
            assert batch.labels is not None
            labels.append(batch.labels)
        passes, expected = torch.cat(answers, 1), torch.cat(labels)
        figures = {"accuracy": _accuracy(passes[0], expected)}
        if self.settings.samples > 1:
            figures["averaged_accuracy"] = _accuracy(passes.mean(0), expected)
        return figures


def _accuracy(probabilities: torch.Tensor, labels: torch.Tensor) -> float:
    return accuracies(confusion_counts(labels, probabilities, probabilities.shape[1]))["accuracy"]


def load_both(options: DataOptions, usual_points: int) -> tuple[Pack, Pack, View]:
    """Load both splits: shots come from the training split and queries from the test split, as in Point-MAE."""
    name = choose_preset(options, "finetune-modelnet40")
    refuse_normals(options)
    train, test = (
        load_split(options.source, options.root, split, options.points, up=options.up) for split in ("train", "test")
    )
    points = choose_points(options, (train, test), usual_points)
    return train, test, View(name, points, False, train.up, options.corruptions)


def few_shot(
    settings: FewShotSettings,
    resume: bool = False,
    report: Callable[[Mapping[str, Any]], None] | None = None,
) -> dict[str, Any]:
    """Measure all folds that have no file in `settings.out` yet; returns the content of result.json.

    A fold depends only on the seed and its number. `report` is called with the figures of each finished fold. Ctrl-C
    and the signals of systems and schedulers end it with Stopped; finished folds are kept. While it runs, no other
    process can use the folder.
    """
    folder = Path(settings.out)
    with running(settings) as came:
        check_folder(folder, settings, resume)
        shared = FewShot(settings)
        if shared.loaded is not None:
            print(shared.loaded, flush=True)
        done = []
        with failing_writes(folder):
            write_settings(folder, settings)
            for number in range(settings.folds):
                path = folder / f"fold-{number}.json"
                try:
                    if not path.is_file():
                        write_json(path, shared.measure(number))
                except (KeyboardInterrupt, SystemExit):  # Lightning turns the first into the second
                    where = f"in fold {number + 1} of {settings.folds}"
                    raise Stopped(stopped(settings, where), [*came, signal.SIGINT][0]) from None
                done.append(read_json(path))
                check_fold(done[-1], path, shared)
                if report is not None:
                    report(done[-1])
            result = summary(settings, done)
            write_json(folder / "result.json", result)
    return result


def check_fold(one: Mapping[str, Any], path: Path, shared: FewShot) -> None:
    """Refuse a fold that was measured with other weights or on other data."""
    if one.get("weights_sha256") not in (shared.digest, shared.file_digest):
        held = f"measured with weights that {printable(shared.weights)} no longer holds"
        raise WeightsError(f"{printable(path)}: {held}; expected another --out")
    if one.get("data_sha256", shared.data_digest) != shared.data_digest:  # older folds do not say
        source = printable(shared.settings.data.source)
        raise WeightsError(
            f"{printable(path)}: measured on shapes that {source} no longer holds; expected another --out"
        )


def summary(settings: FewShotSettings, folds: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean and deviation over the folds; the deviation divides by their number."""
    figures = {}
    for name in ("accuracy", "averaged_accuracy"):
        values = [one[name] for one in folds if name in one]
        if values:
            figures[name] = {"mean": statistics.fmean(values), "deviation": statistics.pstdev(values)}
    return {
        "command": settings.command(),
        "recipe": settings.recipe,
        "weights": settings.init,
        "scratch": settings.scratch,
        "frozen": settings.frozen,
        "data": settings.data.source,
        "way": settings.way,
        "shot": settings.shot,
        "queries": settings.queries,
        "epochs": 0 if settings.frozen else settings.epochs,
        "seed": settings.seed,
        "figures": figures,
        "folds": folds,
        "seconds": round(sum(one["seconds"] for one in folds), 3),
        "machine": machine(),
        "versions": {"sampled_transformer": __version__, "torch": torch.__version__},
    }
