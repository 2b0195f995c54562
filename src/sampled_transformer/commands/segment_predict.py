"""The command `segment predict`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..engine.engines import EngineName
from ..inference.defaults import DEFAULT_SEGMENTER
from ..training.settings import Up
from .batch import check_batch, run_batch
from .messages import remark

if TYPE_CHECKING:
    from ..inference.segment_files import SegmentQuestion

SHARD = 8  # scans are large, so that a few are enough for a process at once


def segment_predict(
    files: list[str],
    weights: str = DEFAULT_SEGMENTER,
    out: str = "labelled",
    features: str | None = None,
    columns: str | None = None,
    up: Up | None = None,
    samples: int = 1,
    memory: float = 4.0,
    coloured: bool = False,
    force: bool = False,
    device: str | None = None,
    json: bool = False,
    shard: int | None = None,
    workers: int | None = None,
    engine: EngineName | None = None,
    address: str | None = None,
) -> int:
    """Label every point of scans, and write the same scans with a class and a confidence per point.

    Args:
        files: Files, or folders to search for scans; also patterns, lists and URLs, as in `predict`. They need no
            labels.
        weights: The folder of a run, a weights file, or the name of shipped weights.
        out: Folder for the labelled scans, which keep their names, formats, points and order.
        features: Where the network's features come from, separated by commas: intensity=scalar_Intensity reads the
            feature "intensity" from that field, and normals= leaves the normals out (default: fields of the same name).
        columns: Names of the columns of text files without a header, such as x,y,z,intensity; "_" skips one.
        up: Axis that is up in the files (default: they have z up).
        samples: Cycles to average over, if the network is random.
        memory: Gigabytes that one pass may need; larger scenes are labelled in tiles.
        coloured: Colour the points by class, where the format has room for colours.
        force: Replace files in --out (default: those that are there already are left alone).
        device: Device (default: GPU if available).
        json: Print everything as JSON.
        shard: Files per part of the record that --engine keeps in --out (default: 8).
        workers: Processes of --engine (default: one per core).
        engine: Label in the processes of a Ray cluster, which write into --out; all its machines have to see that
            folder. The same command goes on where it was stopped.
        address: Address of the cluster, such as "auto" (default: one on this machine, for this command).
    """
    from dataclasses import asdict
    from json import dumps
    from pathlib import Path
    from time import perf_counter

    from tqdm import tqdm

    from ..data.errors import DataError
    from ..data.guard import current_limits
    from ..inference.segment_files import SegmentQuestion, label_place, load_segmenter
    from ..inference.segment_targets import plan_outputs
    from ..support.printable import printable

    names = None if columns is None else [name.strip() for name in columns.split(",")]
    limits = current_limits()
    question = SegmentQuestion(weights, names, _pairs(features), up, samples, memory, coloured, device, limits)
    check_batch(out, engine, address)
    if engine is not None:
        for name, given in (("force", force), ("json", json)):
            if given:
                raise ValueError(f"{name}: expected none with --engine, got --{name}")
        return _by_engine(question, files, out, SHARD if shard is None else shard, engine, workers, address)
    for name, number in (("workers", workers), ("shard", shard)):
        if number is not None:
            raise ValueError(f"{name}: expected none without --engine, got {number}")
    segmenter = load_segmenter(question)
    plan = plan_outputs(files, Path(out), force)
    Path(out).mkdir(parents=True, exist_ok=True)
    remark(
        "left alone", [f"{printable(one)}: is in {printable(out)} already; --force replaces it" for one in plan.there]
    )
    remark("could not be read", plan.problems)
    failed, answers = len(plan.problems), []
    for source, target in plan.todo:
        begin = perf_counter()
        with tqdm(unit="points", unit_scale=True, desc=target.name, disable=None, leave=False) as bar:
            try:
                answer = label_place(segmenter, source, target, question, bar.update, bar.reset)
            except DataError as error:
                failed += 1
                remark("could not be labelled", [str(error)])
                continue
        answers.append(asdict(answer))
        if not json:
            print(f"{printable(source)}: {_summary(answer.points, perf_counter() - begin, answer.classes)}", flush=True)
            for note in answer.notes:
                print(f"  ({note})")
            print(f"  {printable(answer.out or '')}", flush=True)
    if json:
        print(dumps(answers, indent=2))
    elif failed:
        print(f"{failed} of {len(plan.todo) + len(plan.problems)} files left out")
    return int(failed > 0)


segment_predict.reads_files = True  # type: ignore[attr-defined]


def _by_engine(
    question: SegmentQuestion,
    files: list[str],
    out: str,
    shard: int,
    engine: EngineName,
    workers: int | None,
    address: str | None,
) -> int:
    """Label the files in the processes of an engine; returns the exit code."""
    from pathlib import Path

    from ..inference.segment_job import segment_job
    from ..inference.segment_targets import job_outputs
    from ..support.atomic import clear_leftovers

    outputs = job_outputs(files, Path(out))
    job = segment_job(question, outputs, out, shard)
    code = run_batch(job, outputs, out, engine, workers, address, question.device)
    for folder in {Path(out, path).parent for path in outputs.values() if isinstance(path, str)}:
        clear_leftovers(folder)  # of processes that were killed while they wrote
    return code


def _pairs(text: str | None) -> dict[str, str]:
    """ "a=b,c=" as {"a": "b", "c": ""}; a name alone stands for itself."""
    pairs = {}
    for part in (text or "").split(","):
        name, mark, source = part.strip().partition("=")
        if name:
            pairs[name] = source if mark else name
    return pairs


def _summary(points: int, seconds: float, classes: dict[str, int]) -> str:
    from ..support.printable import printable

    shares = sorted(classes.items(), key=lambda item: -item[1])
    shown = ", ".join(f"{printable(name)} {100 * count / points:.1f} %" for name, count in shares[:5])
    more = f" and {len(shares) - 5} more" if len(shares) > 5 else ""
    counted = "1 point" if points == 1 else f"{points:,} points"
    return f"{counted}, {points / max(seconds, 1e-3):,.0f} per second; {shown}{more}"
