"""The command `predict`."""

from __future__ import annotations

from contextlib import closing

from ..engine.engines import EngineName
from ..inference.defaults import DEFAULT_TWIN, DEFAULT_WEIGHTS
from ..training.settings import Up
from .batch import check_batch, run_batch
from .messages import about_estimated_normals, left_out, remark


def predict(
    files: list[str],
    weights: str | None = None,
    top: int = 5,
    samples: int = 8,
    up: Up | None = None,
    workers: int | None = None,
    batch: int = 32,
    device: str | None = None,
    json: bool = False,
    csv: bool = False,
    out: str | None = None,
    shard: int = 256,
    engine: EngineName | None = None,
    address: str | None = None,
) -> int:
    """Classify meshes or point clouds, or predict a number for each.

    Args:
        files: Files, or folders to search for files; also quoted patterns such as "scans/**/*.off", lists @files.txt
            with one of them per line, and URLs.
        weights: The folder of a run, a weights file, or the name of shipped weights (default: the surer answer of
            modelnet40-points and modelnet40-robust; the latter alone for files of few points).
        top: Number of most likely classes to show, if the network knows classes.
        samples: Cycles to average over; the spread is the standard deviation over them.
        up: Axis that is up in the files; "auto" asks about all six and takes the likeliest (default: y for
            GLB and GLTF, whose standard says so; other files as they are, where networks expect z).
        workers: Processes that read and classify; 0 does it in this one (default: one per core, at most 8).
        batch: Files per forward pass.
        device: Device (default: GPU if available).
        json: Print everything as JSON.
        csv: Print a table instead, one row per file.
        out: Folder to write the answers to in parts, as Parquet, instead of printing them. The same command goes on
            where it was stopped.
        shard: Files per part of --out.
        engine: Answer in the processes of a Ray cluster; needs --out.
        address: Address of the cluster, such as "auto" (default: one on this machine, for this command).
    """
    from dataclasses import asdict
    from json import dumps
    from textwrap import indent

    from ..data.guard import current_limits
    from ..inference.answer_table import AnswerTable
    from ..inference.answering import Question, answer_files
    from ..inference.answers import Answer
    from ..support.printable import printable

    if csv and json:
        raise ValueError("csv, json: expected one of them, got both")
    table = AnswerTable()
    twin = DEFAULT_TWIN if weights is None else None
    weights = weights or DEFAULT_WEIGHTS
    question = Question(weights, samples, device, batch, up, top, current_limits(), twin)
    check_batch(out, engine, address)
    if out is not None:
        from ..inference.answer_job import answer_job
        from ..inference.places import names_below

        for name, given in (("json", json), ("csv", csv)):
            if given:
                raise ValueError(f"{name}: expected none with --out, whose parts have the same fields, got --{name}")
        return run_batch(answer_job(question, shard), names_below(files), out, engine, workers, address, device)
    warned, advised, problems, used = False, False, [], 0
    before = "[\n"
    with closing(answer_files(question, files, workers)) as answers:
        for answer in answers:
            if answer.error is not None:
                problems.append(answer.error)
                remark("could not be read", [answer.error])
            else:
                used += 1
            estimated, others = _apart(answer.notes)
            if estimated and not warned:
                warned = True
                remark("note", [about_estimated_normals(weights)])
            if isinstance(answer, Answer) and answer.familiar is False and not advised:
                advised = True
                remark("note", [_about_strangers(weights, twin, up)])
            if json:
                print(before + indent(dumps(asdict(answer), indent=2), "  "), end="", flush=True)
                before = ",\n"
            elif csv:
                print(table.add(answer), end="", flush=True)
            elif answer.error is None:
                named = [] if twin is None or not isinstance(answer, Answer) else [answer.weights]
                print(printable(answer.file), *(f"({note})" for note in [*others, *named]))
                print("\n".join(f"  {line}" for line in answer.lines()), flush=True)
    if json:
        print("\n]")
    print(table.rest(), end="")
    left_out(problems, used)
    return int(bool(problems))


predict.reads_files = True  # type: ignore[attr-defined]


def _apart(notes: list[str]) -> tuple[bool, list[str]]:
    """Whether normals were estimated, which is worth one line per run, and the other notes, worth one per file."""
    from ..inference.answers import ESTIMATED

    return ESTIMATED in notes, [note for note in notes if note != ESTIMATED]


def _about_strangers(weights: str, twin: str | None, up: str | None) -> str:
    """What a user may do about a file that looks like nothing the networks know."""
    from ..inference.defaults import robust_twins

    reasons = [] if up == "auto" else ["may be lying on its side (--up)"]
    twins = robust_twins(weights) if twin is None else []  # that one was asked already
    reasons.append(f"may be a noisy or incomplete scan{f' (--weights {twins[0]})' if twins else ''}")
    last = "may belong to none of the known classes"
    return f"A file called unfamiliar {', '.join(reasons)}{',' if len(reasons) > 1 else ''} or {last}."
