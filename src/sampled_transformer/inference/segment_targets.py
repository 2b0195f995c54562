"""Which files `segment predict` labels, and where the results go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..data.scan_writer import settled_name
from ..data.scans import FORMATS
from ..support.printable import printable


@dataclass
class Outputs:
    """Files to label with the files to write, those that are done already, and what is wrong with the others."""

    todo: list[tuple[Path, Path]] = field(default_factory=list)
    there: list[Path] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def plan_outputs(files: Sequence[str], out: Path, force: bool = False) -> Outputs:
    """The result of every file: the same name in `out`; of files in a folder, the same path below it."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"out: expected a folder, got the file {printable(out)}")
    plan, taken = Outputs(), dict[Path, Path]()
    for source, target in _pairs(files, out, plan):
        try:
            written = settled_name(source, target)
        except ValueError as error:
            plan.problems.append(f"{printable(source)}: {error}")
            continue
        if written in taken:
            plan.problems.append(f"{printable(source)}: expected another name than {printable(taken[written])} has")
        elif written.resolve() == source.resolve():
            plan.problems.append(f"{printable(source)}: expected another folder than its own for the result")
        elif written.exists() and not force:
            plan.there.append(source)
        else:
            plan.todo.append((source, written))
        taken[written] = source
    return plan


def _pairs(files: Sequence[str], out: Path, plan: Outputs) -> list[tuple[Path, Path]]:
    pairs = []
    for name in files:
        path = Path(name)
        if path.is_dir():
            found = sorted(one for one in path.rglob("*") if one.suffix.lower() in FORMATS and one.is_file())
            if not found:
                plan.problems.append(f"{printable(path)}: expected scans in the folder, got none")
            pairs += [(one, out / one.relative_to(path)) for one in found if out.resolve() not in one.resolve().parents]
        elif not path.is_file():
            plan.problems.append(f"{printable(path)}: no such file")
        else:
            pairs.append((path, out / path.name))
    return pairs
