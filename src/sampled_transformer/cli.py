"""The command-line program: one function a command, nothing but glue."""

from __future__ import annotations

import os

# Read when torch loads: idle threads sleep instead of spinning, and large tensors lie in huge pages.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

import io
import sys
import warnings
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from jsonargparse import ActionYesNo, ArgumentError, ArgumentParser, auto_cli

from . import __version__
from .commands import cluster, mae
from .commands.extras import training_module
from .support.memory import keep_freed_memory
from .training.recipes import expand
from .training.settings import DataOptions, OptimiserOptions, Settings, TrainerOptions

PROGRAM = "sampled-transformer"


def data_list() -> None:
    """List the data sets that are known by name, and the file formats of your own."""
    from .data import SOURCES
    from .data.files import READERS

    width = max(len(name) for name in SOURCES)
    for name, source in SOURCES.items():
        print(f"{name:{width}}  {source.description}{'' if source.needs_root else ' (no --root needed)'}")
    print(f"\nA folder of your own, class/file, may hold {' '.join(READERS)}.")


def data_info(pack: str, root: str | None = None, shape: int = 0) -> None:
    """Show what a pack holds: counts, classes, extents, and one shape as text.

    Args:
        pack: a pack (a folder or an .npz file), or the name of a data set.
        root: the folder that holds a data set given by name.
        shape: number of the shape to draw.
    """
    from .data.preview import describe
    from .data.repack import load_splits

    print(describe(load_splits(pack, root), shape, braille=_shows("\u28ff")))


def data_pack(
    source: str,
    target: str,
    points: int | None = None,
    workers: int | None = None,
    normals: Literal["keep", "estimate", "none"] = "keep",
    seed: int = 0,
    test_fraction: float = 0.2,
    root: str | None = None,
    options: dict[str, Any] | None = None,
    strict: bool = False,
) -> int:
    """Turn a folder of shapes, or a data set given by name, into a pack.

    Args:
        source: a folder of shapes (class/file, with train and test above or below the class if there is a split),
            a pack, or the name of a data set.
        target: the folder to write train.npz and test.npz to, or one .npz file for all shapes without a split.
        points: points of each shape; 2048 from files if not given, and as many as are stored from other data.
        workers: processes; all cores if not given.
        normals: keep those there are, also estimate missing ones from neighbours, or none.
        seed: decides which points are drawn, and which shapes are for testing where the folder does not say.
        test_fraction: share of each class for testing where the folder does not say.
        root: the folder that holds a data set given by name.
        options: further options of a data set given by name, such as --options.variant.
        strict: end with an error when any file could not be read.
    """
    from .data import SOURCES
    from .data.packing import NothingPacked, pack_folder
    from .data.repack import repack, shapes_below
    from .support.printable import printable

    folder = shapes_below(source, root)
    if options and source not in SOURCES:
        raise ValueError(f"options: expected none for a folder or pack of your own, got {', '.join(options)}")
    if options:
        folder = None  # only the data set's own reader knows them
    try:
        if folder is None:
            report = repack(source, target, root, points=points, normals=normals, seed=seed, **(options or {}))
        else:
            report = pack_folder(
                folder,
                target,
                points=2048 if points is None else points,
                normals=normals,
                seed=seed,
                test_fraction=test_fraction,
                workers=workers,
                progress=True,
            )
    except NothingPacked as error:
        _report("could not be read", error.problems)
        raise
    except KeyboardInterrupt:
        raise KeyboardInterrupt("stopped" + "; the same command goes on from here" * (folder is not None)) from None
    _report("left out", report.problems)
    _report("note", report.notes)
    counts = ", ".join(f"{split} {count}" for split, count in report.counts.items())
    print(f"{printable(target)}: {counts} shapes in {len(report.classes)} classes")
    return _fail(f"{len(report.problems)} left out, and --strict was given", 1) if strict and report.problems else 0


def train(
    data: DataOptions,
    out: str = "",
    model: str = "basic",
    attention: str | None = None,
    options: dict[str, Any] | None = None,
    epochs: int = 20,
    seed: int = 0,
    optimiser: OptimiserOptions = OptimiserOptions(),  # noqa: B008
    trainer: TrainerOptions = TrainerOptions(),  # noqa: B008
    recipe: str | None = None,
    init: str | None = None,
    resume: bool = False,
) -> None:
    """Train a network on labelled shapes.

    Args:
        data: what is trained on.
        out: the folder of the run, required; it must not exist.
        model: name of the network; a mae-classifier wants a recipe, such as finetune-modelnet40-small.
        attention: name of the mechanism; if not given that of the weights to begin with, or sampled.
        options: further options of the network, such as --options.dim 128.
        epochs: passes through the training split.
        seed: decides everything that is random.
        optimiser: how the weights are moved.
        trainer: where it runs.
        recipe: name of a recipe, whose options the line overrides, such as basic-sampled.
        init: weights to begin with: the folder of a run, a file of weights, or a name that comes with the package;
            options of the network that are not given are theirs.
        resume: go on with the run in --out, whose options then need not be given again.
    """
    run = training_module("training.run")
    attention = attention or training_module("training.initial").attention_of(init)
    settings = Settings(data, out, model, attention, options or {}, epochs, seed, optimiser, trainer, recipe, init)
    result = run.train(settings, resume)
    if not run.is_first_process():
        return
    for name, row in result["figures"].items():
        overall, mean = row["test_accuracy"], row["test_mean_class_accuracy"]
        print(f"{name}, {row['epoch']:.0f}: test accuracy {100 * overall:.2f} %, mean over classes {100 * mean:.2f} %")
    written = "model.safetensors, metrics.csv, result.json"
    if find_spec("plotly") is not None:
        from .report.run_page import write_report

        write_report(Path(out, "report.html"), {attention: Path(out)}, Path(out).name)
        written += ", report.html"
    print(f"{out}: {result['seconds']:.0f} s; {written}")


def evaluate(
    weights: str,
    data: str | None = None,
    root: str | None = None,
    samples: int = 1,
    votes: int = 0,
    batch: int = 64,
    device: str | None = None,
    page: str | None = None,
    json: bool = False,
) -> None:
    """Measure a trained network on a test split.

    Args:
        weights: the folder of a run, a file of weights, or the name of weights that come with the package.
        data: the name of a data set, a pack, or a folder of shapes; what the network was trained on if not given.
        root: the folder that holds a data set given by name.
        samples: also average the probabilities over so many cycles.
        votes: also average them over so many random augmentations.
        batch: shapes that are evaluated at once.
        device: where it runs; a GPU if there is one, if not given.
        page: an HTML file to draw its calibration to: is it right as often as it says?
        json: print everything as JSON, the whole confusion matrix included.
    """
    from json import dumps

    from .inference import evaluation
    from .report.calibration import write_page
    from .report.page import graph_objects
    from .weights import find_weights

    if page is not None:
        graph_objects()  # a missing extra is better said before than after
        if Path(page).is_dir() or not Path(page).absolute().parent.is_dir():
            raise ValueError(f"page: expected a file in a folder that exists, got {page}")
    result = evaluation.evaluate(
        find_weights(weights), data, root, samples=samples, votes=votes, batch=batch, device=device
    )
    result["weights"] = weights
    print(dumps(result, indent=2) if json else evaluation.table(result))
    if page is not None:
        write_page(Path(page), result)
        print(f"{page}: written", file=sys.stderr)


def predict(
    files: list[str],
    weights: str = "modelnet40",
    top: int = 5,
    samples: int = 8,
    device: str | None = None,
    json: bool = False,
) -> int:
    """Classify files of meshes or points.

    Args:
        files: files, or folders that are searched for them.
        weights: the folder of a run, a file of weights, or the name of weights that come with the package.
        top: how many of the likeliest classes to show.
        samples: cycles to average; the spread is the standard deviation over them.
        device: where it runs; a GPU if there is one, if not given.
        json: print everything as JSON.
    """
    from dataclasses import asdict
    from json import dumps

    from .inference import predictor as prediction
    from .support.printable import printable
    from .weights import find_weights

    answers = []
    for answer in prediction.predict(prediction.Predictor(find_weights(weights), samples, device), files, top):
        answers.append(answer)
        if answer.error is not None:
            _report("could not be read", [answer.error])
        elif not json:
            print(printable(answer.file), *(f"({note})" for note in answer.notes))
            for row in answer.classes:
                print(f"  {100 * row['probability']:5.1f} % +- {100 * row['spread']:4.1f}  {row['class']}")
    if json:
        print(dumps([asdict(answer) for answer in answers], indent=2))
    return int(any(answer.error is not None for answer in answers))


def demo(out: str = "runs/demo", epochs: int = 8, points: int = 256) -> None:
    """Train three small networks on the parts that come with the package, in about five minutes, and write a report.

    Args:
        out: the folder for the runs and report.html; a demo that was stopped goes on in it.
        epochs: of each network.
        points: of each part.
    """
    training_module("training.run")
    from .commands.demo import main

    main(Path(out), epochs, points)


def report(runs: list[str], out: str | None = None) -> None:
    """Write a page with the curves, the confusion matrix and the wrong answers of finished runs.

    Args:
        runs: folders of runs; the first is looked at closely.
        out: the file to write; report.html in the first folder if not given.
    """
    from .report.run_page import write_report

    folders = {name: Path(name) for name in runs}
    page = Path(runs[0], "report.html") if out is None else Path(out)
    write_report(page, folders, " and ".join(folder.name for folder in folders.values()))
    print(f"{page}: written")


COMMANDS: dict[str, Any] = {
    "data": {
        "_help": "List, look at and pack data sets.",
        "list": data_list,
        "info": data_info,
        "pack": data_pack,
    },
    "pretrain": mae.pretrain,
    "train": train,
    "probe": mae.probe,
    "fewshot": mae.fewshot,
    "reconstruct": mae.reconstruct,
    "evaluate": evaluate,
    "predict": predict,
    "report": report,
    "cluster": {
        "_help": "Amortised clustering.",
        "train": cluster.cluster_train,
        "evaluate": cluster.cluster_evaluate,
        "fit": cluster.cluster_fit,
    },
    # The laboratory comes with the same wheel, but the library does not import it.
    **import_module("sampled_transformer_lab.commands").COMMANDS,
    "demo": demo,
}


class _Parser(ArgumentParser):
    """A parser for which a switch is a switch, `--strict`, not `--strict true`, and a list of files is `a b c`."""

    def add_argument(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("type") is bool:
            del kwargs["type"]
            kwargs["action"] = ActionYesNo(no_prefix="no-")
        if args in (("files",), ("runs",)):
            kwargs = {"type": str, "nargs": "+", "help": kwargs.get("help")}
        return super().add_argument(*args, **kwargs)


def main(arguments: list[str] | None = None) -> int:
    """Run a command. What can be expected to go wrong ends in one line and an exit code, never in a traceback."""
    keep_freed_memory()
    if isinstance(sys.stdout, io.TextIOWrapper):  # names of classes may not fit the terminal's encoding
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            result = auto_cli(
                COMMANDS,
                args=expand(sys.argv[1:] if arguments is None else arguments),
                parser_class=_Parser,
                prog=PROGRAM,
                version=__version__,
                description="Attention over sets and point clouds at linear cost.",
                exit_on_error=False,
            )
        sys.stdout.flush()  # here, where a closed pipe can still be met in silence
        return result if isinstance(result, int) else 0
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt as stop:
        return _fail(str(stop) or "stopped", 130)
    except (ArgumentError, ValueError, OSError) as error:
        return _fail(str(error), 2)


def _fail(message: str, code: int) -> int:
    print(f"{PROGRAM}: error: {' '.join(message.split())}", file=sys.stderr)
    return code


def _show_warning(message: Warning | str, *_place: Any, **_more: Any) -> None:
    print(f"{PROGRAM}: warning: {' '.join(str(message).split())}", file=sys.stderr)


def _report(what: str, lines: list[str]) -> None:
    for line in lines:
        print(f"{what}: {line}", file=sys.stderr)


def _shows(character: str) -> bool:
    try:
        character.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
