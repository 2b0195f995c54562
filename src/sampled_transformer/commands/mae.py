"""The commands around the masked autoencoder: `pretrain`, `probe`, `fewshot` and `reconstruct`."""

from __future__ import annotations

from typing import Any

from ..training.settings import (
    FINE_TUNING,
    PRETRAINING,
    DataOptions,
    FewShotSettings,
    OptimiserOptions,
    PretrainSettings,
    TrainerOptions,
)
from .extras import training_module


def pretrain(
    data: DataOptions,
    out: str = "",
    model: str = "mae",
    attention: str | None = None,
    options: dict[str, Any] | None = None,
    epochs: int = 300,
    seed: int = 0,
    optimiser: OptimiserOptions = PRETRAINING,
    trainer: TrainerOptions = TrainerOptions(),  # noqa: B008
    recipe: str | None = None,
    init: str | None = None,
    probe_every: int = 10,
    resume: bool = False,
) -> None:
    """Pre-train a masked autoencoder on the training split of a data set; no labels are needed.

    Args:
        data: what is trained on.
        out: the folder of the run, required; it must not exist.
        model: name of the network.
        attention: name of the mechanism; if not given that of the weights to begin with, or sampled.
        options: further options of the network, such as --options.mask_ratio 0.6.
        epochs: passes through the training split.
        seed: decides everything that is random.
        optimiser: how the weights are moved.
        trainer: where it runs.
        recipe: name of a recipe, whose options the line overrides, such as pretrain-sampled.
        init: weights to begin with: the folder of a run, a file of weights, or a name that comes with the package;
            options of the network that are not given are theirs.
        probe_every: epochs between two linear probes on a part of the training split, if it has labels; 0 for none.
        resume: go on with the run in --out, whose options then need not be given again.
    """
    tasks = training_module("training.pretrain")
    attention = attention or training_module("training.initial").attention_of(init)
    settings = PretrainSettings(
        data, out, model, attention, options or {}, epochs, seed, optimiser, trainer, recipe, init, probe_every
    )
    result = tasks.pretrain(settings, resume)
    if not tasks.runs.is_first_process():
        return
    row = result["figures"]["last epoch"]
    probed = f", probe {100 * row['probe_accuracy']:.2f} % (on training shapes)" if "probe_accuracy" in row else ""
    print(f"last epoch, {row['epoch']:.0f}: loss {row['train_loss']:.4f}{probed}")
    print(f"{out}: {result['seconds']:.0f} s; model.safetensors, metrics.csv, result.json")


def probe(
    weights: str,
    data: str | None = None,
    root: str | None = None,
    points: int | None = None,
    samples: int = 1,
    batch: int = 64,
    seed: int = 0,
    scratch: bool = False,
    device: str | None = None,
    json: bool = False,
) -> None:
    """Measure the frozen features of a pre-trained encoder by logistic regression.

    Args:
        weights: the folder of a run, a file of weights, or the name of weights that come with the package.
        data: the name of a data set, a pack, or a folder of shapes; what the network was trained on if not given.
        root: the folder that holds a data set given by name.
        points: points of each shape; as many as in pre-training if not given, or all where fewer are stored.
        samples: average the features over so many cycles.
        batch: shapes that are encoded at once.
        seed: chooses the training shapes on which the penalty is chosen, and new weights.
        scratch: the same network with new weights, to compare with.
        device: where it runs; a GPU if there is one, if not given.
        json: print everything as JSON.
    """
    from json import dumps

    from ..support.printable import printable
    from ..weights import find_weights

    result = training_module("inference.probe").probe(
        find_weights(weights),
        data,
        root,
        points=points,
        samples=samples,
        batch=batch,
        seed=seed,
        scratch=scratch,
        device=device,
    )
    if json:
        print(dumps(result, indent=2))
        return
    train, test = result["shapes"]
    what = "new weights" if scratch else printable(weights)
    print(f"{printable(result['data'])}: {train} shapes to fit, {test} to measure, {result['points']} points; {what}")
    overall, mean = 100 * result["test_accuracy"], 100 * result["test_mean_class_accuracy"]
    print(f"  linear probe  accuracy {overall:6.2f} %   mean over classes {mean:6.2f} %")
    if result["held_out_accuracy"] is None:
        print(f"  penalty {result['penalty']:g}: no class has a shape to spare to choose it on")
        return
    held_out = f"{100 * result['held_out_accuracy']:.2f} % there"
    print(f"  penalty {result['penalty']:g}, chosen on held-out shapes of the training split: {held_out}")


def fewshot(
    weights: str,
    data: DataOptions,
    out: str = "",
    way: int = 5,
    shot: int = 10,
    folds: int = 10,
    queries: int = 20,
    attention: str | None = None,
    options: dict[str, Any] | None = None,
    epochs: int = 150,
    samples: int = 1,
    seed: int = 0,
    scratch: bool = False,
    frozen: bool = False,
    optimiser: OptimiserOptions = FINE_TUNING,
    trainer: TrainerOptions = TrainerOptions(),  # noqa: B008
    recipe: str | None = None,
    resume: bool = False,
) -> None:
    """Fine-tune a pre-trained encoder on a few shapes of a few classes, fold after fold: mean and deviation.

    Args:
        weights: the folder of a run, a file of weights, or the name of weights that come with the package.
        data: what shots and queries are drawn from.
        out: the folder for one file a fold, required; it must not exist.
        way: classes of a fold.
        shot: shapes of each class to train on, from the training split.
        folds: how many.
        queries: shapes of each class to measure, from the test split.
        attention: name of the mechanism, if another one than that of the weights.
        options: further options of the classifier, such as --options.pooling cls-max.
        epochs: passes through the shots.
        samples: also average probabilities over so many cycles.
        seed: decides everything that is random.
        scratch: the same network with new weights, to compare with.
        frozen: leave the encoder as it is, and fit a logistic regression on its features; seconds instead of minutes.
        optimiser: how the weights are moved.
        trainer: where it runs.
        recipe: name of a recipe, whose options the line overrides, such as fewshot-5way-10shot.
        resume: go on with the folds in --out.
    """
    from ..support.printable import printable

    tasks = training_module("training.fewshot")
    settings = FewShotSettings(
        data,
        out,
        attention=attention or "",
        options=options or {},
        epochs=epochs,
        seed=seed,
        optimiser=optimiser,
        trainer=trainer,
        recipe=recipe,
        init=weights,
        way=way,
        shot=shot,
        folds=folds,
        queries=queries,
        samples=samples,
        scratch=scratch,
        frozen=frozen,
    )

    def show(one: Any) -> None:
        print(f"fold {one['fold'] + 1}/{folds}: {100 * one['accuracy']:.2f} %, {one['seconds']:.1f} s", flush=True)

    result = tasks.few_shot(settings, resume, show)
    for name, label in (("accuracy", "one pass"), ("averaged_accuracy", f"averaged over {samples} cycles")):
        if name in result["figures"]:
            mean, deviation = (100 * result["figures"][name][key] for key in ("mean", "deviation"))
            print(f"{way}-way {shot}-shot, {folds} folds, {label}: {mean:.2f} +- {deviation:.2f} %")
    print(f"{printable(out)}: {result['seconds']:.0f} s; result.json and one file a fold")


def reconstruct(
    file: str,
    weights: str = "modelnet40-mae",
    out: str = "reconstruction",
    mask_ratio: float | None = None,
    seed: int = 0,
    device: str | None = None,
) -> None:
    """Mask parts of a shape, rebuild them, and write visible.ply, rebuilt.ply and original.ply.

    Args:
        file: a file of a mesh or of points.
        weights: the folder of a pre-training, a file of weights, or the name of weights that come with the package.
        out: the folder to write to; files of these names in it are replaced.
        mask_ratio: share of the groups to mask; that of the pre-training if not given.
        seed: chooses the groups.
        device: where it runs; a GPU if there is one, if not given.
    """
    from pathlib import Path

    from ..inference import reconstruction
    from ..support.printable import printable
    from ..weights import find_weights

    clouds = reconstruction.reconstruct(
        Path(file), find_weights(weights), mask_ratio=mask_ratio, seed=seed, device=device
    )
    reconstruction.write_clouds(clouds, Path(out))
    rebuilt = f"{clouds.masked} of {clouds.groups} groups masked and rebuilt, Chamfer-L2 {clouds.loss:.5f}"
    print(f"{printable(file)}: {rebuilt}" + (f" ({clouds.note})" if clouds.note else ""))
    counts = (f"{name}.ply {len(getattr(clouds, name))}" for name in ("visible", "rebuilt", "original"))
    print(f"{printable(out)}: {', '.join(counts)} points")
