"""The command `pretrain`."""

from __future__ import annotations

from ..training.settings import PretrainSettings
from .extras import training_module, with_report
from .upright import with_settled_up


def pretrain(settings: PretrainSettings, resume: bool = False) -> None:
    """Pre-train a masked autoencoder on the training split of a data set; no labels are needed.

    Args:
        resume: Continue the run in --out; its options need not be given again.
    """
    result = training_module("training.pretrain").pretrain(with_settled_up(settings), resume)
    if not training_module("training.run").is_first_process():
        return
    row = result["figures"]["last epoch"]
    probed = f", probe {100 * row['probe_accuracy']:.2f} % (on training shapes)" if "probe_accuracy" in row else ""
    print(f"last epoch, {row['epoch']:.0f}: loss {row['train_loss']:.4f}{probed}")
    written = with_report(settings.out, "model.safetensors, metrics.csv, result.json")
    print(f"{settings.out}: {result['seconds']:.0f} s; {written}")


pretrain.reads_files = True  # type: ignore[attr-defined]
