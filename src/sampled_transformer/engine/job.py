"""Answers about many files, in parts on disk, so that a stopped job goes on: a folder with

| file               | what is in it                                                                      |
|--------------------|------------------------------------------------------------------------------------|
| part-00000.parquet | answers about the first files, in their order; failures are in its metadata as well |
| files.list         | all files, one per line, in their order                                            |
| manifest.json      | the job, its parts and the lines of files.list in each, and failures with reasons  |

A part appears when it is complete, and is then never touched again. What is missing is done by the next run of the same
job; another job is refused. Nothing is pickled.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from .. import __version__
from ..support.atomic import atomic_write
from ..support.printable import printable
from ..support.workers import Announce, Engine, Pairs, ProcessDied, in_chunks

FORMAT = 1
MANIFEST, FILES = "manifest.json", "files.list"
OURS = b"sampled-transformer"  # the key of our metadata in a part


@dataclass(frozen=True)
class Failure:
    """Why there is no answer about a file, in one line that begins with its name."""

    reason: str


class Actor(Protocol):
    """Loads what it needs when it is made, once per process, and then answers about files.

    It announces the number of each file before it reads it, and None before it works on all of them at once, see
    `support.workers.run_in_processes`. It returns one answer per file, or a `Failure`.
    """

    def __call__(self, files: list[str], announce: Announce) -> list[Any]: ...


@dataclass(frozen=True)
class Job:
    """What to do with every file.

    Args:
        command: Name of the command, for the manifest.
        settings: All that the answers depend on, as JSON: a job with others is another one.
        actor: Makes the actor in a worker process, such as `partial(MyActor, weights)`; it has to be picklable.
        table: From files and their answers (or failures) to a `pyarrow.Table`. All tables need the same columns.
        batch: Files that an actor gets at once.
        shard: Files per part.
    """

    command: str
    settings: Mapping[str, Any]
    actor: Callable[[], Actor]
    table: Callable[[Pairs], Any]
    batch: int = 8
    shard: int = 256


@dataclass
class Summary:
    """What a job has done: `failures` has a reason for each file without an answer."""

    files: int = 0
    failed: int = 0  # more than there are failures if a file was named several times
    parts: int = 0
    earlier: int = 0  # parts that were finished by an earlier run
    failures: dict[str, str] = field(default_factory=dict)


class Loaded:
    """The work of a process: make the actor for the first chunk, and keep it."""

    def __init__(self, make: Callable[[], Actor]) -> None:
        self.make = make
        self.actor: Actor | None = None

    def __call__(self, files: list[str], announce: Announce) -> list[Any]:
        if self.actor is None:
            self.actor = self.make()
        return self.actor(files, announce)


def run_job(job: Job, files: Iterable[str], out: str | Path, engine: Engine, progress: bool = False) -> Summary:
    """Answer about all files that an earlier run has not answered, and write the parts and the manifest.

    Args:
        job: What to do.
        files: Names of files, in the order of the answers.
        out: Folder of the job: new, empty, or that of the same job.
        engine: Where the work runs, see `find_engine`.
        progress: Show a progress bar in a terminal.
    """
    from tqdm import tqdm

    _parquet()
    for name, value in (("batch", job.batch), ("shard", job.shard)):
        if value < 1:
            raise ValueError(f"{name}: expected at least 1, got {value}")
    if job.shard % job.batch:
        raise ValueError(f"shard: expected a multiple of batch, which is {job.batch}, got {job.shard}")
    out = Path(out)
    known = _open_folder(job, files, out)
    parts = _finished(out, known)
    missing = [number for number in range(known["parts"]) if number not in parts]
    earlier = len(parts)
    units = _units(out / FILES, missing, job)
    before = sum(part["files"] for part in parts.values())
    with tqdm(total=known["files"], initial=before, unit="file", disable=None if progress else True) as bar:
        for index, pairs in engine(Loaded(job.actor), units):
            number = missing[index]
            parts[number] = _write_part(out, number, [(name, _settled(name, one)) for name, one in pairs], job)
            bar.update(len(pairs))
    failures = {name: reason for number in sorted(parts) for name, reason in parts[number]["failures"].items()}
    listed = [_described(number, parts[number], job.shard) for number in sorted(parts)]
    _write_json(out / MANIFEST, {**known, "complete": True, "parts": listed, "failures": failures})
    return Summary(known["files"], sum(part["failed"] for part in listed), len(parts), earlier, failures)


def _open_folder(job: Job, files: Iterable[str], out: Path) -> dict[str, Any]:
    """Compare the job with that of the folder, or begin a new one; returns what the manifest says of the job."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"out: expected a folder, got the file {printable(out)}")
    before = _read_manifest(out)
    try:
        out.mkdir(parents=True, exist_ok=True)
        with atomic_write(out / FILES) if before is None else open(os.devnull, "wb") as file:
            count, digest = _write_list(files, file)
    except OSError as error:
        raise ValueError(f"{printable(out)}: cannot write ({error.strerror})") from None
    finally:
        with suppress(OSError):
            out.rmdir()  # fails unless it is empty: nothing is left if the files cannot be listed
    known = {
        "format": FORMAT,
        "version": __version__,
        "command": job.command,
        "settings": dict(job.settings),
        "batch": job.batch,
        "shard": job.shard,
        "files": count,
        "digest": digest,  # of the names in files.list
    }
    if before is None:
        _write_json(out / MANIFEST, {**known, "complete": False})
    else:
        _compare(before, known, out)
    return {**known, "parts": -(-count // job.shard)}


def _write_list(files: Iterable[str], file: Any) -> tuple[int, str]:
    """Write the names, one per line; returns their number and their digest."""
    count, digest = 0, hashlib.blake2b(digest_size=16)
    for name in files:
        line = os.fsencode(name)
        if b"\n" in line or b"\r" in line:
            raise ValueError(f"files: expected names without line breaks, got {printable(name)}")
        file.write(line + b"\n")
        digest.update(line + b"\n")
        count += 1
    if not count:
        raise ValueError("files: expected at least one, got none")
    return count, digest.hexdigest()


def _read_manifest(out: Path) -> dict[str, Any] | None:
    """The manifest of a folder, or None if the folder is new or empty."""
    path = out / MANIFEST
    if not path.exists():
        if out.is_dir() and any(not name.startswith(".") and name != FILES for name in os.listdir(out)):
            raise ValueError(
                f"out: expected a new folder or that of the same job, got {printable(out)} with other files"
            )
        return None
    try:
        found = json.loads(path.read_text("utf-8"))
        if isinstance(found, dict) and found.get("format") == FORMAT and isinstance(found.get("settings"), dict):
            return found
    except (OSError, ValueError):
        pass
    raise ValueError(f"{printable(path)}: not the manifest of a job; expected format {FORMAT}")


def _compare(before: dict[str, Any], now: dict[str, Any], out: Path) -> None:
    """Refuse another job than that of the folder, and say what is different."""
    was, given = ({**job, **job["settings"]} for job in (before, json.loads(json.dumps(now))))
    for name, value in given.items():
        if name == "settings" or was.get(name) == value:
            continue
        difference = f"{name} {was.get(name)}, got {value}"
        if name in ("files", "digest"):
            difference = f"its {before['files']} files, got {now['files']}, or others"
        raise ValueError(f"out: expected the job of {printable(out)} with {difference}; choose another folder")


def _units(path: Path, missing: list[int], job: Job) -> Iterator[list[list[str]]]:
    """The files of the missing parts, in batches; only one part is in memory at a time."""
    wanted = set(missing)
    with open(path, "rb") as file:
        names = (os.fsdecode(line[:-1]) for line in file)
        for number in range(max(missing, default=-1) + 1):
            part = list(islice(names, job.shard))
            if number in wanted:
                yield list(in_chunks(part, job.batch))


def _settled(name: str, answer: Any) -> Any:
    if not isinstance(answer, ProcessDied):
        return answer
    reason = f"the process that read it died ({answer}); the file may be damaged or too large for memory"
    return Failure(f"{printable(name)}: {reason}")


def _part_name(number: int) -> str:
    return f"part-{number:05d}.parquet"


def _write_part(out: Path, number: int, pairs: Pairs, job: Job) -> dict[str, Any]:
    """Write the answers about some files, with what the manifest says of them in the metadata of the part."""
    parquet = _parquet()
    table = job.table(pairs)
    failed = [(printable(name), answer.reason) for name, answer in pairs if isinstance(answer, Failure)]
    part = {"files": len(pairs), "rows": table.num_rows, "failed": len(failed), "failures": dict(failed)}
    with atomic_write(out / _part_name(number)) as file:
        own = {OURS: json.dumps(part).encode()}
        parquet.write_table(table.replace_schema_metadata({**(table.schema.metadata or {}), **own}), file)
    return part


def _finished(out: Path, known: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """What earlier runs finished, from the metadata of the parts. We delete a damaged part, and it is made again."""
    parquet = _parquet()
    for path in out.glob(".*.tmp"):  # of a run that was killed while it wrote
        path.unlink()
    parts = {}
    for number in range(known["parts"]):
        path = out / _part_name(number)
        if not path.exists():
            continue
        expected = min(known["shard"], known["files"] - number * known["shard"])
        try:
            part = json.loads(parquet.read_metadata(path).metadata[OURS])
            if part["files"] != expected:
                raise ValueError
            parts[number] = part
        except (OSError, ValueError, KeyError, TypeError):  # Arrow's errors are ValueErrors or OSErrors
            path.unlink()
    return parts


def _described(number: int, part: dict[str, Any], shard: int) -> dict[str, Any]:
    """What the manifest says of a part. Lines of files.list count from 1."""
    lines = [number * shard + 1, number * shard + part["files"]]
    return {"name": _part_name(number), "lines": lines, "rows": part["rows"], "failed": part["failed"]}


def _write_json(path: Path, tree: Mapping[str, Any]) -> None:
    with atomic_write(path) as file:
        file.write((json.dumps(tree, indent=1) + "\n").encode())


def _parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise ValueError('pyarrow is not installed: pip install "sampled-transformer[parquet]"') from None
    return pyarrow.parquet
