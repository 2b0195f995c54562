"""Pre-training of the masked autoencoder (section 5.1), as a run like all others."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from ..data import Batch, Pack
from ..data.errors import DataError
from ..data.transforms import PRESETS
from ..inference.probe import QuickProbe
from ..sets import NotFiniteError
from ..support.printable import printable
from . import run as runs
from .loading import Splits, View, choose_points, choose_preset, load_shapes, refuse_normals
from .network import build_network, check_given_options, check_points, given_options
from .run import Run
from .settings import DataOptions, OptimiserOptions, PretrainSettings
from .task import DIVERGED, Task


class Pretrain(Task):
    """Minimises the Chamfer distance of rebuilt masked groups, and sometimes runs a linear probe.

    Args:
        network: Called as network(points); returns the loss of each cloud.
        optimiser: Optimiser and learning-rate schedule.
        seed: Masks and cycles of a step follow from it and the number of the step.
        probe: Measures the network after every `probe_every` epochs and after the last.
        probe_every: Epochs between two probes.
    """

    def __init__(
        self,
        network: nn.Module,
        optimiser: OptimiserOptions,
        seed: int = 0,
        probe: QuickProbe | None = None,
        probe_every: int = 10,
    ) -> None:
        super().__init__(network, optimiser, seed, sums=2)  # loss, clouds
        self.probe, self.probe_every = probe, probe_every

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        try:
            losses: Tensor = self.network(batch.points)
        except NotFiniteError:  # the clouds are finite, so the rebuilt points are not; `WatchFinite` sees to that
            return torch.stack([weight.sum() for weight in self.network.parameters()]).sum() * math.nan
        self.add_to_totals(losses.detach().sum(), losses.new_tensor(len(losses)))
        return losses.mean()

    def take_totals(self) -> dict[str, float]:
        loss, count = self.summed()
        if not math.isfinite(loss):
            raise ValueError(f"the loss is {DIVERGED}")
        return {"train_loss": loss / count}

    def figures(self) -> dict[str, float]:
        epoch = self.current_epoch + 1
        if self.probe is None or (epoch % self.probe_every and epoch != self.trainer.max_epochs):
            return {}
        return {"probe_accuracy": self.probe(self.network, self.device)}

    def shown(self, row: dict[str, float]) -> list[str]:
        return [f"probe {100 * row['probe_accuracy']:.2f} %"] if "probe_accuracy" in row else []


class PretrainRun(Run):
    """A run on the training split alone; its shapes need no labels."""

    @classmethod
    def prepare(cls, settings: PretrainSettings) -> Run:  # type: ignore[override]
        if settings.model != "mae":
            raise ValueError(f"model: expected 'mae', because nothing else is pre-trained, got {settings.model!r}")
        check_given_options(settings.options)
        splits = load_corpus(settings.data)
        options: dict[str, Any] = {"attention": settings.attention, "normals": False, **given_options(settings)}
        torch.manual_seed(settings.seed)
        network = build_network(settings.model, options)
        check_points(network, splits.view)
        probe = None
        if settings.probe_every and can_be_probed(splits.train):
            probe = QuickProbe(splits.train, splits.view, settings.seed, batch=settings.data.batch)
        task = Pretrain(network, settings.optimiser, settings.seed, probe, settings.probe_every)
        return cls.assemble(settings, splits, options, task)


def load_corpus(options: DataOptions) -> Splits:
    """Load the training split; the test split is not even opened."""
    name = choose_preset(options, "pretrain")
    refuse_normals(options)
    train = load_shapes(options.source, options.root, "train", options.points, options.up)
    if len(train) < 2:
        raise DataError(f"{printable(options.source)}: expected at least 2 training shapes, got {len(train)}")
    points = choose_points(options, [train], PRESETS[name][1])
    return Splits(train, None, None, View(name, points, False, train.up, options.corruptions))


def can_be_probed(pack: Pack) -> bool:
    """Whether at least two classes have enough labelled shapes to fit and to measure a probe."""
    if pack.labels is None or not pack.classes:
        return False
    return int((torch.from_numpy(pack.labels).bincount() >= 2).sum()) >= 2


def pretrain(settings: PretrainSettings, resume: bool = False) -> dict[str, Any]:
    """Pre-train, or continue a run that was interrupted; see `run.train`."""
    return runs.train(settings, resume, PretrainRun.prepare)
