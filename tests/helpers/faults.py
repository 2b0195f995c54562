"""Runs of the program that are killed, starved and stopped on purpose.

Starting a process with torch and Lightning takes seconds, which no kill should have to wait for. So one process loads
them, and forks for every life of a run.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import resource
import signal
import stat
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "helpers.faults",
        "sampled_transformer.cli",
        "sampled_transformer.commands.train",
        "sampled_transformer.commands.pretrain",
        "sampled_transformer.commands.fewshot",
        "sampled_transformer.commands.cluster_train",
        "sampled_transformer.commands.segment_train",
        "sampled_transformer.training.pretrain",
        "sampled_transformer.training.fewshot",
        "sampled_transformer.training.segment",
        "sampled_transformer.clustering.training",
        "sampled_transformer.report.run_page",
        "torch.utils.tensorboard",
        "torchmetrics",
        "sklearn.mixture",
    ]
)
LIMIT = 120.0  # seconds after which a life hangs


@dataclass
class Fault:
    """What happens to a life: it dies at a write, or its files cannot grow, or it runs elsewhere."""

    write: int = 0  # dies at this step of a write, counted from 1
    file_size: int | None = None  # the largest size of a file, as if the disk were full
    environment: dict[str, str] = field(default_factory=dict)
    counted: str = ""  # a file for the number of steps of writes


def live(words: list[str], log: str, fault: Fault) -> None:
    """The life of a run, in its own process: the program, its output in a file."""
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1) for number in (1, 2))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.update(fault.environment)
    writes = Writes(fault.write)
    if fault.file_size is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (fault.file_size, resource.RLIM_INFINITY))

    from sampled_transformer.cli import main

    code = main(words)
    if fault.counted:
        Path(fault.counted).write_text(str(writes.count))
    sys.stdout.flush()
    os._exit(code)


class Writes:
    """Counts the steps of atomic writes, and kills the process at one of them: a power cut inside a write."""

    def __init__(self, last: int) -> None:
        from sampled_transformer.support import atomic

        self.count, self.last = 0, last
        kernel = atomic.os
        steps = {name: getattr(kernel, name) for name in ("fsync", "link", "replace")}
        atomic.os = _With(kernel, {name: self._counted(name, step) for name, step in steps.items()})  # type: ignore

    def _counted(self, name: str, step: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            self.count += 1
            if self.count == self.last:
                if name == "fsync" and stat.S_ISREG(os.fstat(arguments[0]).st_mode):  # half of the file has arrived
                    os.truncate(f"/proc/self/fd/{arguments[0]}", os.fstat(arguments[0]).st_size // 2)
                os.kill(os.getpid(), signal.SIGKILL)
            return step(*arguments)

        return counted


class _With:
    """A module with some of its functions replaced, for one of its users."""

    def __init__(self, module: Any, functions: dict[str, Any]) -> None:
        self.__dict__.update(functions)
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


@dataclass
class Life:
    """A life that has begun. `code` is negative if a signal ended it."""

    process: Any
    log: Path
    begin: float

    def end(self) -> int:
        self.process.join(LIMIT)
        if self.process.exitcode is None:
            self.process.kill()
            raise AssertionError(f"a run hangs:\n{self.text()}")
        return int(self.process.exitcode)

    def send(self, number: int) -> bool:
        """Send a signal; returns whether the process was there to get it."""
        if self.process.exitcode is not None:
            return False
        os.kill(self.process.pid, number)
        return True

    def text(self) -> str:
        return self.log.read_text() if self.log.exists() else ""


def begin(words: list[str], log: Path, fault: Fault | None = None) -> Life:
    process = FORKS.Process(target=live, args=(words, str(log), fault or Fault()), daemon=True)
    process.start()
    return Life(process, log, time.monotonic())


@dataclass
class Kind:
    """A kind of run: its command, and the options that make it small."""

    name: str
    words: list[str]
    same: Callable[[Path, Path], bool]  # whether two folders hold the same results

    def command(self, out: Path) -> list[str]:
        """Starts the run anew, or continues it: one of the two has to be accepted, whatever was killed."""
        if (out / "config.yaml").is_file():
            first = self.name.split()
            return [*first, *(self.words[1:2] if self.name == "fewshot" else []), "--out", str(out), "--resume"]
        return [*self.words, "--out", str(out)]

    def begin(self, out: Path, fault: Fault | None = None) -> Life:
        return begin(self.command(out), out.with_suffix(".log"), fault)

    def complete(self, out: Path) -> None:
        """Let the run in a folder come to its end."""
        life = self.begin(out)
        code = life.end()
        assert code == 0, f"{self.name} in {out.name} ended with {code}:\n{life.text()}"

    def check(self, out: Path, whole: Path) -> None:
        """A run that was disturbed must have the results of one that was not, and leave nothing else behind."""
        assert self.same(out, whole), f"{self.name}: {out} differs from {whole}"
        left = [path.name for path in out.iterdir() if path.name.startswith(".")]
        assert left == [], f"{self.name}: {out} holds {left}"


@dataclass
class Whole:
    """A run that was not disturbed, and what it took."""

    folder: Path
    seconds: float
    writes: int


def undisturbed(kind: Kind, folder: Path) -> Whole:
    """The run without faults, timed in the second of two lives, when everything is in memory."""
    seconds, writes = 0.0, 0
    for name in ("first", "whole"):
        count = folder / f"{name}.count"
        life = kind.begin(folder / name, Fault(counted=str(count)))
        code = life.end()
        assert code == 0, life.text()
        seconds, writes = time.monotonic() - life.begin, int(count.read_text())
    kind.check(folder / "first", folder / "whole")
    return Whole(folder / "whole", seconds, writes)


def kill_often(kind: Kind, folder: Path, whole: Whole, kills: int, seed: int, inside_writes: bool) -> dict[str, int]:
    """Kill a run again and again, and continue it after every kill, until it has been killed often enough.

    A run that comes to its end in between is compared, and another one begins.
    """
    choice, done, lives, runs = random.Random(seed), 0, 0, 0
    out = folder / f"killed-{inside_writes}-0"
    while done < kills:
        lives += 1
        fault = Fault(write=choice.randint(1, max(2, whole.writes // 3))) if inside_writes else Fault()
        if inside_writes and not out.exists():
            fault.write = done % 4 + 1  # the first file of a run is where a folder is worth least
        life = kind.begin(out, fault)
        if not inside_writes:
            life.process.join(choice.uniform(0, whole.seconds))
            life.send(signal.SIGKILL)
        code = life.end()
        if code == -signal.SIGKILL:
            done += 1
            continue
        assert code == 0, f"{kind.name} (seed {seed}) ended with {code} after {done} kills:\n{life.text()}"
        kind.check(out, whole.folder)
        runs += 1
        out = folder / f"killed-{inside_writes}-{runs}"
    kind.complete(out)
    kind.check(out, whole.folder)
    return {"kills": done, "lives": lives + 1, "runs": runs + 1}
