"""Read mutated files with every reader, in a watched process, and keep the files that it does not survive.

A reader may read a file or refuse it in one line that names it. Anything else is a finding: another exception, a death,
more than `SECONDS` of computing or more than `MEMORY`. Shapes and scans are read as the commands read them, in a
process of their own with these limits (data/guard.py); "stopped" counts the files that reached one or killed it, which
cost their own line only. Mutations follow from a seed and a number, so that each can be made again.

    python -m sampled_transformer_lab.fuzz --count 200000 --seed 0 --out results/faults/fuzz.json

`--join` adds the figures to those of earlier pieces in the same file.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import multiprocessing
import os
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.guard import guard_here
from sampled_transformer.support.limits import Limits
from sampled_transformer.support.printable import brief
from sampled_transformer.weights import WeightsError

from .fuzz_seeds import KINDS, make_seeds

SECONDS, MEMORY = 5.0, 2 * 2**30
WARMING, PATIENCE = 120, 60  # seconds for the first file, and for a process that waits for its turn
STOPPED = ("the process that read it died", "reading it takes more than")
LARGEST_KEPT = 50_000  # bytes of a finding that is kept
EXTREMES = [bytes(8), b"\xff" * 8, b"\xff" * 7 + b"\x7f", b"\x00" * 6 + b"\xf0\x7f", b"\x00" * 7 + b"\x80"]
WORDS = [b"nan", b"inf", b"-1", b"1e400", b"999999999999", b"0", b"", b" ", b"\n", b"[" * 300, b"\x00", b"\xff\xfe"]


class Finding(NamedTuple):
    """A file that a reader neither read nor refused."""

    kind: str
    number: int
    problem: str
    file: str | None  # where it was kept


def fuzz(
    count: int,
    seed: int = 0,
    first: int = 0,
    keep: Path | None = None,
    seconds: float = SECONDS,
    memory: int = MEMORY,
    report: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Read `count` mutated files; the result counts what happened per kind and lists the findings.

    Args:
        count, seed, first: How many mutations of which seed, from which number on.
        keep: Folder for the files of findings.
        seconds, memory: What one file may take.
        report: Gets a line per finding.
    """
    begin, number = time.perf_counter(), first
    counts: dict[str, Counter[str]] = {}
    findings: list[Finding] = []
    with tempfile.TemporaryDirectory() as folder:
        seeds = make_seeds(Path(folder, "seeds"))
        while number < first + count:
            with Watched(Path(folder), seeds, seed, (number, first + count), memory) as process:
                while number < first + count:
                    kind, data = mutation(seeds, seed, number)
                    problem = process.answer(seconds if process.warm else WARMING)
                    number += 1
                    if problem.startswith("failed: "):
                        findings.append(Finding(kind, number - 1, problem[8:], _kept(kind, data, keep)))
                        report(f"{kind} {number - 1}: {problem[8:]}")
                    counts.setdefault(kind, Counter())[problem.partition(":")[0]] += 1
                    if process.is_gone:
                        break
    return {
        "count": count,
        "pieces": [{"seed": seed, "first": first, "count": count}],
        "seconds_per_file": seconds,
        "bytes_per_file": memory,
        "kinds": {kind: dict(found) for kind, found in sorted(counts.items())},
        "findings": [one._asdict() for one in findings],
        "seconds": round(time.perf_counter() - begin, 1),
    }


class Watched:
    """A process that reads mutated files one after the other and says how each went."""

    def __init__(
        self, folder: Path, seeds: Mapping[str, Sequence[bytes]], seed: int, numbers: tuple[int, int], memory: int
    ) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe(duplex=False)
        self.process = context.Process(target=_serve, args=(theirs, folder, seeds, seed, numbers, memory), daemon=True)
        self.process.start()
        theirs.close()
        self.warm = self.is_gone = False

    def answer(self, seconds: float) -> str:
        """How the next file went: "read", "refused", "stopped", or "failed: " and how."""
        begin, used = time.perf_counter(), computing_time(self.process.pid)
        while not self.connection.poll(min(seconds, 1)):
            waited = time.perf_counter() - begin
            computed = computing_time(self.process.pid) - used
            if computed > seconds or waited > seconds + PATIENCE:  # a busy machine is not the file's fault
                self.is_gone = True
                return f"failed: took more than {seconds:g} s"
        self.warm = True
        try:
            found: str = self.connection.recv()
        except EOFError:
            self.is_gone = True
            self.process.join(10)
            return f"failed: the process died ({self.process.exitcode})"
        return found

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def _serve(
    connection: Connection,
    folder: Path,
    seeds: Mapping[str, Sequence[bytes]],
    seed: int,
    numbers: tuple[int, int],
    memory: int,
) -> None:
    """The watched process. What native libraries print is nobody's business."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    warnings.simplefilter("ignore")
    guard_here(Limits(memory / 1e9, SECONDS))
    for kind in KINDS:  # so that imports count neither as time nor as memory
        attempt(kind, seeds[kind][0], folder)
    before = peak_memory()
    for number in range(*numbers):
        kind, data = mutation(seeds, seed, number)
        problem = attempt(kind, data, folder)
        used = peak_memory() - before
        if used > memory:
            connection.send(f"failed: took {used / 1e9:.1f} GB")
            return
        connection.send(problem)


def attempt(kind: str, data: bytes, folder: Path) -> str:
    """Read the bytes as a file of this kind: "read", "refused: " and why, "stopped: ", or "failed: " and how."""
    reader = KINDS[kind]
    path = folder / f"file{reader.suffix}"
    path.write_bytes(data)
    try:
        reader.read(path)
    except (DataError, WeightsError, reader.error) as error:
        text = str(error)
        if path.name not in text or not text.isprintable():
            return f"failed: expected one line that names the file, got {brief(text, 200)!r}"
        return f"{'stopped' if any(words in text for words in STOPPED) else 'refused'}: {text}"
    except BaseException as error:
        return f"failed: {type(error).__name__}: {brief(' '.join(str(error).split()), 200)}"
    finally:
        with suppress(OSError):
            path.unlink()
    return "read"


def mutation(seeds: Mapping[str, Sequence[bytes]], seed: int, number: int) -> tuple[str, bytes]:
    """Mutation `number` of a seed: its kind and its bytes. Kinds take turns."""
    random = np.random.default_rng((seed, number))
    names = sorted(seeds)
    kind = names[number % len(names)]
    some = seeds[kind]
    data = bytearray(some[int(random.integers(len(some)))])
    if data.startswith(b"PK") and random.random() < 0.7:  # a change of a packed byte would only spoil its checksum
        return kind, _repacked(bytes(data), random)
    for _ in range(int(random.geometric(0.5))):
        data = _changed(data, some, random)
    return kind, bytes(data)


def _repacked(data: bytes, random: np.random.Generator) -> bytes:
    """A zip archive with changes in one of its members, and right checksums."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        chosen = int(random.integers(len(old.namelist())))
        for number, name in enumerate(old.namelist()):
            member = bytearray(old.read(name))
            if number == chosen:
                member = _changed(member, [bytes(member)], random)
            new.writestr(zipfile.ZipInfo(name), bytes(member), zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _changed(data: bytearray, some: Sequence[bytes], random: np.random.Generator) -> bytearray:
    """The bytes with one change."""
    # Headers are short and decide most: half of all changes are among the first bytes.
    reach = min(len(data), 400) if random.random() < 0.5 else len(data)
    place = int(random.integers(reach + 1))
    choice = random.integers(8)
    if choice == 0:
        return data[:place]
    if choice == 1:
        size = int(random.integers(1, 9))
        return data[:place] + bytearray(random.bytes(size)) + data[place + size :]
    if choice == 2:
        value = EXTREMES[int(random.integers(len(EXTREMES)))][: int(random.choice([1, 2, 4, 8]))]
        return data[:place] + value + data[place + len(value) :]
    if choice == 3:
        end = place + int(random.integers(1, 65))
        return data[:place] + data[end:]
    if choice == 4:
        end = place + int(random.integers(1, 65))
        return data[:end] + data[place:end] * int(random.integers(1, 50)) + data[end:]
    if choice == 5:
        word = WORDS[int(random.integers(len(WORDS)))]
        return data[:place] + word + data[place + int(random.integers(0, len(word) + 1)) :]
    if choice == 6:
        other = some[int(random.integers(len(some)))]
        return data[:place] + other[int(random.integers(len(other) + 1)) :]
    if place < len(data):
        data[place] ^= 1 << int(random.integers(8))
    return data


def computing_time(process: int | None) -> float:
    """The seconds that a process has computed; where the system does not tell, the time of the clock."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return time.perf_counter()


def peak_memory() -> int:
    """The most memory that this process has had, in bytes."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _kept(kind: str, data: bytes, keep: Path | None) -> str | None:
    if keep is None or len(data) > LARGEST_KEPT:
        return None
    keep.mkdir(parents=True, exist_ok=True)
    name = f"{kind}-{hashlib.sha256(data).hexdigest()[:8]}{KINDS[kind].suffix}"
    (keep / name).write_bytes(data)
    return name


def joined(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The figures of two pieces together."""
    kinds = {
        kind: dict(Counter(one["kinds"].get(kind, {})) + Counter(other["kinds"].get(kind, {})))
        for kind in sorted({*one["kinds"], *other["kinds"]})
    }
    sums = {name: one[name] + other[name] for name in ("count", "findings", "seconds", "pieces")}
    return {**other, **sums, "kinds": kinds}


def main(words: Sequence[str] | None = None) -> int:
    """The command line; the exit code is 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m sampled_transformer_lab.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=200_000, help="mutated files")
    parser.add_argument("--seed", type=int, default=0, help="of the mutations")
    parser.add_argument("--first", type=int, default=0, help="number of the first mutation")
    parser.add_argument("--out", type=Path, help="JSON file for the result")
    parser.add_argument("--keep", type=Path, default=Path("tests/data/fuzz/open"), help="folder for findings")
    parser.add_argument("--join", action="store_true", help="add to the result that is in --out already")
    chosen = parser.parse_args(words)
    result = fuzz(chosen.count, chosen.seed, chosen.first, chosen.keep, report=lambda line: print(line, flush=True))
    if chosen.join and chosen.out is not None and chosen.out.exists():
        result = joined(json.loads(chosen.out.read_text("utf-8")), result)
    text = json.dumps(result, indent=2)
    if chosen.out is not None:
        chosen.out.parent.mkdir(parents=True, exist_ok=True)
        chosen.out.write_text(f"{text}\n", "utf-8")
    print(f"{result['count']} files in {result['seconds']:.0f} s, {len(result['findings'])} findings")
    return int(bool(result["findings"]))


if __name__ == "__main__":
    sys.exit(main())
