"""Classification of shapes: loss and figures."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import cross_entropy

from ..data import Batch
from ..inference.metrics import accuracies
from .confusions import ClassTask
from .task import make_optimiser, schedule

__all__ = ["Classify", "make_optimiser", "schedule"]


class Classify(ClassTask):
    """Minimises the cross-entropy on batches of points and labels; calls network(points, normals)."""

    measure = staticmethod(accuracies)

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        assert batch.labels is not None
        logits = self.network(batch.points, batch.normals)
        loss = cross_entropy(logits.float(), batch.labels, label_smoothing=self.optimiser.label_smoothing)
        count = len(batch.labels)
        right = (logits.argmax(1) == batch.labels).sum()
        self.add_to_totals(loss.detach() * count, right.to(loss), loss.new_tensor(count))
        return loss

    def validation_step(self, batch: Batch, batch_idx: int, dataloader_idx: int = 0) -> None:
        assert batch.labels is not None
        logits = self.network(batch.points, batch.normals)
        self.count_answers(logits, batch.labels, self.splits[dataloader_idx])

    def shown(self, row: dict[str, float]) -> list[str]:
        return [f"{split} {100 * row[f'{split}_accuracy']:.2f} %" for split in ("train", *self.splits)]
