"""Many small files: resident memory of `predict` over time, all its processes together.

Writes meshes of a few hundred bytes, runs `sampled-transformer predict FOLDER --csv` as a user would, and records how
many answers came and how much memory there was at each moment.

    python -m sampled_transformer_lab.load.files --files 10000 --out results/bench/many-files.json
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from sampled_transformer import __version__
from sampled_transformer.support.atomic import atomic_write
from sampled_transformer.support.machine import machine

from .resident import Watch, left_behind, megabytes

CORNERS = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
SIDES = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))


def write_files(folder: Path, count: int) -> None:
    """Boxes of different proportions, as OFF; every hundredth file is broken."""
    faces = [f"3 {a} {b} {c}\n3 {a} {c} {d}" for a, b, c, d in SIDES]
    generator = np.random.default_rng(0)
    folder.mkdir(parents=True)
    for number in range(count):
        rows = [f"{x:.4f} {y:.4f} {z:.4f}" for x, y, z in CORNERS * generator.uniform(0.1, 1, 3)]
        text = "\n".join(["OFF", "8 12 0", *rows, *faces, ""])
        (folder / f"{number:06d}.off").write_text(text if number % 100 else text[:40])


def run(files: int) -> dict[str, Any]:
    """Ask about so many files; the result has the figures."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_files(folder / "files", files)
        (folder / "temporary").mkdir()
        command = [sys.executable, "-m", "sampled_transformer", "predict", str(folder / "files"), "--csv"]
        environment = {**os.environ, "TMPDIR": str(folder / "temporary")}
        begin = time.perf_counter()
        with open(folder / "out.csv", "wb") as out, open(folder / "said.txt", "wb") as said:
            process = subprocess.Popen(command, stdout=out, stderr=said, env=environment)
            with Watch(process.pid, 0.2) as watch:
                used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(used[1])
        seconds = time.perf_counter() - begin
        lines = (folder / "out.csv").read_text("utf-8").splitlines()
        left = left_behind(folder / "temporary")
    last = watch.samples[-1].seconds
    quarters = [
        max((one.resident for one in watch.samples if low * last <= one.seconds < (low + 0.25) * last), default=0)
        for low in (0.0, 0.25, 0.5, 0.75)
    ]
    return {
        "files": files,
        "broken_files": -(-files // 100),
        "rows": len(lines) - 1,
        "exit_code": process.returncode,
        "seconds": round(seconds, 1),
        "processor_seconds": round(used[2].ru_utime + used[2].ru_stime, 1),
        "peak_megabytes": megabytes(watch.peak),
        "peak_of_each_quarter": [megabytes(size) for size in quarters],
        "processes": max(one.processes for one in watch.samples),
        "temporary_files_left": left,
        "curve": watch.curve(),
    }


def main(words: list[str] | None = None) -> int:
    """The command line; the exit code is 1 if a file was not answered."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--out", type=Path, help="JSON file for the figures")
    chosen = parser.parse_args(words)
    rows = []
    for files in chosen.files:
        row = run(files)
        rows.append(row)
        quarters = ", ".join(f"{size:,.0f}" for size in row["peak_of_each_quarter"])
        print(f"{files:,} files: {row['seconds']:,.0f} s, at most {row['peak_megabytes']:,.0f} MB ({quarters} MB in")
        print(f"  each quarter of the time), {row['rows']:,} rows, exit code {row['exit_code']}", flush=True)
    if chosen.out is not None:
        known = {"command": "python -m sampled_transformer_lab.load.files", "rows": rows}
        chosen.out.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(chosen.out) as file:
            file.write(f"{json.dumps({**known, 'machine': machine(), 'version': __version__}, indent=1)}\n".encode())
    return int(any(row["rows"] != row["files"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
