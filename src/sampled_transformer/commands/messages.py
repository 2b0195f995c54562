"""What commands write to the error output."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from ..support.printable import one_line

PROGRAM = "sampled-transformer"
LONGEST = 20_000  # characters of a message; one names all shapes of a batch
COMPILER = "sampled_transformer.support.compiled"  # the logger that says when a kernel is being compiled


def fail(message: str, code: int) -> int:
    """Write an error in one line; returns the exit code."""
    print(f"{PROGRAM}: error: {one_line(message, LONGEST)}", file=sys.stderr)
    return code


def warn(message: str) -> None:
    """Write a warning in one line."""
    print(f"{PROGRAM}: warning: {one_line(message, LONGEST)}", file=sys.stderr)


def remark(kind: str, lines: Iterable[str]) -> None:
    """Write one line for each remark about the input."""
    for line in lines:
        print(f"{kind}: {one_line(line, LONGEST)}", file=sys.stderr)


def about_estimated_normals(weights: str) -> str:
    """What to know, once per run, where a network that reads normals is asked about points without them."""
    from ..inference.defaults import reads_positions
    from ..support.printable import printable

    others = reads_positions(weights)
    use = f"; --weights {others[0]} reads positions alone" if others else ""
    return f"{printable(weights)} reads normals, and normals estimated from points are not those of meshes{use}"


def left_out(problems: Iterable[str], used: int) -> None:
    """Write how many of several files were left out, and why, in one line."""
    from ..data.left_out import total_left_out

    problems = list(problems)
    line = total_left_out(problems, used)
    if line and len(problems) + used > 1:
        print(line, file=sys.stderr)


@contextmanager
def announced_compilation() -> Iterator[None]:
    """Say once, within the block, why nothing moves while a kernel is being compiled."""
    logger, level = logging.getLogger(COMPILER), logging.getLogger(COMPILER).level
    handler = _SaysOnce(logging.INFO)
    logger.addHandler(handler)
    logger.setLevel(min(level, logging.INFO) if level else logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


class _SaysOnce(logging.Handler):
    """Writes one line about the first compilation of the first process."""

    said = False

    def emit(self, record: logging.LogRecord) -> None:
        if self.said or not record.getMessage().startswith("compiling ") or os.environ.get("LOCAL_RANK", "0") != "0":
            return
        self.said = True
        from tqdm import tqdm  # which keeps a progress bar whole

        tqdm.write("note: compiling a kernel; this takes seconds, and up to a minute the first time", file=sys.stderr)
