"""Which files `segment predict` labels, and where the results go."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from ..data.remote import is_url
from ..data.scan_writer import settled_name
from ..data.scans import FORMATS
from ..engine.job import Failure
from ..support.printable import printable
from .places import EmptyFolder, Place, files_at, is_pattern, without_lists


@dataclass
class Outputs:
    """Files to label with the files to write, those that are done already, and what is wrong with the others."""

    todo: list[tuple[Place, Path]] = field(default_factory=list)
    there: list[Place] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def plan_outputs(files: Sequence[str], out: Path, force: bool = False) -> Outputs:
    """The result of every file: the same name in `out`; of files in a folder, the same path below it.

    The files of a pattern keep their paths below the part of it that has no wildcards.
    """
    if out.exists() and not out.is_dir():
        raise ValueError(f"out: expected a folder, got the file {printable(out)}")
    plan, pairs = Outputs(), list[tuple[Place, Path]]()
    for source, target in _pairs(files, out):
        if isinstance(source, EmptyFolder):
            plan.problems.append(str(source))
        elif isinstance(source, Path) and not os.path.isfile(source):
            plan.problems.append(f"{printable(source)}: no such file")
        else:
            pairs.append((source, target))
    for source, written in _settled(pairs, out):
        if isinstance(written, Failure):
            plan.problems.append(written.reason)
        elif written.exists() and not force:
            plan.there.append(source)
        else:
            plan.todo.append((source, written))
    return plan


def job_outputs(files: Sequence[str], out: Path) -> dict[str, str | Failure]:
    """The result of every file by the file's name: a path below `out`, or why there is none. Every file comes once.

    A place without any file is refused. Whether a file that was named exists is left to the process that reads it.
    """
    pairs = list[tuple[Place, Path]]()
    known = set[str]()
    for source, target in _pairs(files, out):
        if isinstance(source, EmptyFolder):
            raise source
        if str(source) not in known:
            pairs.append((source, target))
        known.add(str(source))
    return {
        str(source): written if isinstance(written, Failure) else written.relative_to(out).as_posix()
        for source, written in _settled(pairs, out)
    }


def _settled(pairs: Iterable[tuple[Place, Path]], out: Path) -> Iterator[tuple[Place, Path | Failure]]:
    """The files that will be written, or why not."""
    taken = dict[Path, Place]()
    for source, target in pairs:
        try:
            written = settled_name(source if isinstance(source, Path) else Path(_name(source)), target)
        except ValueError as error:
            yield source, Failure(f"{printable(source)}: {error}")
            continue
        problem = ""
        if ".." in target.parts[len(out.parts) :]:  # as a pattern may give
            problem = f"expected a result in {printable(out)}, got {printable(target)}"
        elif written in taken:
            problem = f"expected another name than {printable(taken[written])} has"
        elif isinstance(source, Path) and written.resolve() == source.resolve():
            problem = "expected another folder than its own for the result"
        yield source, Failure(f"{printable(source)}: {problem}") if problem else written
        taken[written] = source


def _pairs(files: Sequence[str], out: Path) -> Iterator[tuple[Place | EmptyFolder, Path]]:
    """Every file and the same name in `out`; results that are in a searched folder are left out."""
    for name in without_lists(files):
        if is_url(name) or is_pattern(name):
            for place in files_at(name, FORMATS):
                if not isinstance(place, Path) or out.resolve() not in place.resolve().parents:
                    yield place, out / _below(name, place)
        elif os.path.isdir(name):
            path = Path(name)
            found = sorted(one for one in path.rglob("*") if _is_scan(one.relative_to(path)) and one.is_file())
            if not found:
                yield EmptyFolder(path, "expected scans in the folder, got none"), out
            yield from (
                (one, out / one.relative_to(path)) for one in found if out.resolve() not in one.resolve().parents
            )
        else:
            yield Path(name), out / Path(name).name


def _is_scan(below: Path) -> bool:
    """Whether a path below a searched folder has a known format; as in `predict`, what is hidden is left out."""
    return below.suffix.lower() in FORMATS and not any(part.startswith(".") for part in below.parts)


def _below(place: str, found: Place | EmptyFolder) -> str:
    """The path of a file below the folder or pattern that it was found by, or its name if it was named itself."""
    if isinstance(found, EmptyFolder):
        return ""
    if isinstance(found, Path):
        steps = Path(place).parts
        fixed = next(number for number, step in enumerate(steps) if glob.has_magic(step))
        return str(found.relative_to(Path(*steps[:fixed])))
    root = f"{_bare(place.partition('*')[0].rpartition('/')[0] if '*' in place else place).rstrip('/')}/"
    path = _bare(found)
    return path.removeprefix(root).lstrip("/") if path.startswith(root) else _name(found)


def _bare(url: str) -> str:
    """A URL without its scheme, since some file systems list their files with another number of slashes."""
    return url.partition("://")[2].lstrip("/")


def _name(url: str) -> str:
    """The name of the file that a URL names, without a query."""
    return PurePosixPath(urlsplit(url).path).name
