"""The command-line program: its parser and `main`. The commands are in commands/, one per file."""

from __future__ import annotations

import os

# torch reads these when it loads: idle threads sleep instead of spinning, and large tensors use huge pages.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

import io
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import IO, Any, cast

from . import __version__
from .commands import Function, all_commands, all_families
from .commands.messages import PROGRAM, announced_compilation, fail, warn
from .commands.options import Command
from .support.lack_of_memory import memory_errors
from .support.memory import keep_freed_memory
from .support.registry import look_up
from .support.signals import Stopped
from .support.terminal import Shown

DESCRIPTION = "Attention over sets and point clouds at linear cost."


def run(words: Sequence[str]) -> Any:
    """Run the command that the words name; returns what it returns."""
    name, commands, summary = PROGRAM, all_commands(), DESCRIPTION
    for place, word in enumerate(words):
        if word in ("-h", "--help", "help"):
            print(overview(name, commands, summary))
            return 0
        if word == "--version" and name == PROGRAM:
            print(PROGRAM, __version__)
            return 0
        chosen = look_up("command", word, commands)
        name = f"{name} {word}"
        if not isinstance(chosen, Mapping):
            return Command(name, chosen)(words[place + 1 :])
        commands, summary = dict(chosen), all_families()[word]
    raise ValueError(f"command: expected one of {', '.join(commands)}, got nothing (see {name} --help)")


def overview(name: str, commands: Mapping[str, Function | dict[str, Function]], summary: str) -> str:
    """The help of a command that has further commands below it."""
    width = max(map(len, commands))
    lines = [f"usage: {name} COMMAND ...", "", summary, "", "commands:"]
    for word, chosen in commands.items():
        text = all_families()[word] if isinstance(chosen, Mapping) else Command(word, chosen).summary
        lines.append(f"  {word:{width}}  {text}")
    lines += ["", f"`{name} COMMAND --help` explains a command."]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run the program. An expected problem ends in one line and an exit code, never in a traceback."""
    keep_freed_memory()
    if isinstance(sys.stdout, io.TextIOWrapper):  # the terminal may not be able to show all class names
        sys.stdout.reconfigure(errors="backslashreplace")
    out, errors = (cast(IO[str], Shown(stream)) for stream in (sys.stdout, sys.stderr))
    with redirect_stdout(out), redirect_stderr(errors):
        return _run_to_the_end(sys.argv[1:] if arguments is None else arguments)


def _run_to_the_end(arguments: list[str]) -> int:
    try:
        with warnings.catch_warnings(), announced_compilation(), memory_errors():
            warnings.showwarning = _show_each_once()
            result = run(arguments)
        sys.stdout.flush()  # here, where we can still ignore a closed pipe
        return result if isinstance(result, int) else 0
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt as stop:
        return fail(str(stop) or "stopped", stop.code if isinstance(stop, Stopped) else 130)
    except (ValueError, OSError, MemoryError) as error:
        return fail(str(error), 2)


def _show_each_once() -> Callable[..., None]:
    """What shows warnings: every text once, since a training and its report read the same files."""
    shown = set[str]()

    def show(message: Warning | str, *_place: Any, **_more: Any) -> None:
        if str(message) not in shown:
            shown.add(str(message))
            warn(str(message))

    return show


if __name__ == "__main__":
    sys.exit(main())
