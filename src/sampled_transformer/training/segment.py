"""Labels for every point: loss, figures, and the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ..data import Batch
from ..data.point_transforms import PointAugmentation
from ..inference.iou import iou_figures, per_class
from ..inference.segmentation import MEMORY, most_points, scene_probabilities
from ..weights import Description
from . import run as runs
from .callbacks import Row
from .confusions import ClassTask
from .network import build_network, given_options
from .point_loading import (
    PointBatches,
    PointSplits,
    PointView,
    class_weights,
    feature_statistics,
    load_point_splits,
    network_inputs,
)
from .point_loss import EXTRA_LOSSES
from .run import Loaders, Run
from .segment_settings import LossOptions, SegmentSettings
from .settings import OptimiserOptions

DECIDED = {
    "classes": "the data",
    "attention": "--attention",
    "features": "--data.features and --data.normals",
    "optional": "--data.missing",
}


class Segment(ClassTask):
    """Minimises the weighted cross-entropy of all points with a label.

    Args:
        network: Called as network(points, features, ptr=ptr); returns logits per point.
        view: How it sees sets.
        weights: Weights of the classes, (classes,).
        loss: What training minimises besides.
        optimiser: Optimiser and learning-rate schedule.
        seed: Cycles, grids and dropout of a training step follow from it and the number of the step.
        splits: Names of the splits to evaluate after each epoch.
    """

    score: ClassVar[str] = "mean_iou"
    measure = staticmethod(iou_figures)

    def __init__(
        self,
        network: nn.Module,
        view: PointView,
        weights: Tensor,
        loss: LossOptions,
        optimiser: OptimiserOptions,
        seed: int = 0,
        splits: tuple[str, ...] = ("test",),
    ) -> None:
        super().__init__(network, len(weights), optimiser, seed, splits)
        self.view, self.loss = view, loss
        self.weights = weights  # not a buffer: a checkpoint would hold it twice
        self.most = most_points(MEMORY)

    def ask(self, batch: Batch) -> Tensor:
        logits: Tensor = self.network(**network_inputs(batch, self.view))
        return logits

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        logits, labels = self.ask(batch).float(), batch.point_labels
        assert labels is not None
        known = labels >= 0
        count = known.sum()
        if not count:  # a crop without any label: nothing to learn, but all processes must go on
            return logits.sum() * 0.0
        smoothing = self.optimiser.label_smoothing
        loss = cross_entropy(logits, labels, self.class_weights(logits), ignore_index=-1, label_smoothing=smoothing)
        if self.loss.also != "none":
            loss = loss + EXTRA_LOSSES[self.loss.also](logits.softmax(1), labels)
        right = ((logits.argmax(1) == labels) & known).sum()
        self.add_to_totals(loss.detach() * count, right.to(loss), count.to(loss))
        return loss

    def class_weights(self, logits: Tensor) -> Tensor:
        """Weights of the classes at this step: share^-balance, or share^(-balance (1 - step / steps)) if they fade."""
        weights = self.weights.to(logits.device)
        if not self.loss.fade:
            return weights
        return weights ** (1 - self.trainer.global_step / self.trainer.estimated_stepping_batches)

    def validation_step(self, batch: Batch, batch_idx: int, dataloader_idx: int = 0) -> None:
        assert batch.point_labels is not None
        scores = self.of_scene(batch) if self.view.part == "crop" and len(batch.points) > self.most else self.ask(batch)
        self.count_answers(scores, batch.point_labels, self.splits[dataloader_idx])

    def of_scene(self, batch: Batch) -> Tensor:
        """Probabilities at the points of a scene that does not fit in one pass."""
        features = network_inputs(batch, self.view)["features"]
        return scene_probabilities(self.network, batch.points, features, 1, self.most).to(batch.points.device)

    def shown(self, row: dict[str, float]) -> list[str]:
        parts = [f"train {100 * row['train_accuracy']:.2f} %"]
        return parts + [f"{split} mean IoU {100 * row[f'{split}_mean_iou']:.2f} %" for split in self.splits]


class PointData(Loaders):
    """The loaders of a run. They are built after the processes have started, when each one knows its rank."""

    def __init__(self, splits: PointSplits, augmentation: PointAugmentation, batch: int, seed: int) -> None:
        super().__init__()
        self.splits, self.augmentation, self.batch, self.seed = splits, augmentation, batch, seed

    def _batches(
        self, split: str, steps: Callable[[], int] | None = None, rank: int = 0, world: int = 1, augment: bool = True
    ) -> PointBatches:
        batch = self.batch if steps is not None or self.splits.view.part == "subset" else 1
        augmentation = self.augmentation if augment else None
        return PointBatches(
            getattr(self.splits, split), self.splits.view, augmentation, batch, self.seed, steps, rank, world
        )

    def train_dataloader(self) -> PointBatches:
        trainer = self.trainer
        assert trainer is not None
        return self._batches("train", lambda: trainer.global_step, trainer.global_rank, trainer.world_size)

    def val_dataloader(self) -> list[PointBatches]:
        trainer = self.trainer
        assert trainer is not None
        names = runs.split_names(self.splits)  # type: ignore[arg-type]
        return [self._batches(name, None, trainer.global_rank, trainer.world_size) for name in names]

    def steps_per_epoch(self, world: int) -> int:
        return len(self._batches("train", lambda: 0, 0, world))

    def sample_batches(self) -> PointBatches:
        return self._batches("train", lambda: 0, augment=False)


@dataclass
class SegmentRun(Run):
    """A run on sets whose points have labels."""

    @classmethod
    def prepare(cls, settings: SegmentSettings) -> Run:  # type: ignore[override]
        for name, who in DECIDED.items():
            if name in settings.options:
                got = repr(settings.options[name])
                raise ValueError(f"options.{name}: expected none, because {who} decides it, got {got}")
        size = settings.view_options()["size"]
        splits = load_point_splits(settings.data, size, settings.loss.ignore, settings.seed)
        view = splits.view
        options = {
            "positions": "xyz" if size == "unit" else "z",
            **given_options(settings),
            "classes": len(splits.train.point_classes),
            "attention": settings.attention,
            "features": dict(view.features),
            "optional": list(view.optional),
        }
        torch.manual_seed(settings.seed)
        network = build_network(settings.model, options, DECIDED)
        network.standardise(*feature_statistics(splits.train, view))  # type: ignore[operator]
        weights = class_weights(splits.train, settings.loss.balance)
        names = runs.split_names(splits)  # type: ignore[arg-type]
        task = Segment(network, view, weights, settings.loss, settings.optimiser, settings.seed, names)
        # `assemble` reads the classes of the training split, which here are those of the points.
        own = replace(splits, train=replace(splits.train, labels=None, classes=splits.train.point_classes))
        return cls.assemble(settings, cast(Any, own), options, task)

    def loaders(self) -> PointData:
        data, view = cast(SegmentSettings, self.settings).data, cast(PointSplits, self.splits).view
        augmentation = PointAugmentation(
            data.turn, data.flip, data.scale, data.jitter, data.missing, tuple(view.optional), data.colour_jitter
        )
        return PointData(cast(PointSplits, self.splits), augmentation, data.batch, self.settings.seed)

    def describe(self, row: Row) -> Description:
        found = super().describe(row)
        view = asdict(cast(PointSplits, self.splits).view)
        data = {**found.notes["data"], **view, "features": dict(view["features"]), "optional": list(view["optional"])}
        ignore = cast(SegmentSettings, self.settings).loss.ignore
        data |= {"ignore": list(ignore)} if ignore else {}
        return replace(found, notes={**found.notes, "data": data})

    def result(self, finished: bool) -> dict[str, Any]:
        result = super().result(finished)
        confusion = torch.tensor(self.record.confusion)
        if confusion.numel():
            result["point_classes"] = per_class(confusion, result["classes"])
        return result


def segment(settings: SegmentSettings, resume: bool = False) -> dict[str, Any]:
    """Train, or continue a run that was interrupted; see `run.train`."""
    return runs.train(settings, resume, SegmentRun.prepare)
