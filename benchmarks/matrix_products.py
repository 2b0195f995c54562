"""How fast are the products of matrices behind a linear layer on this CPU, in float32 and in bfloat16?

    python benchmarks/matrix_products.py [--json results/bench/matrix-products.json]

torch's float32 products come from Intel's MKL, which takes its AVX-512 code on Intel's processors alone. On others it
can be told to by a library of one line, which docs/guide/speed.md shows; this benchmark builds that, too, if there is a
C compiler. The processes with and without it take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

SHIM = "int mkl_serv_intel_cpu_true(void) { return 1; }\n"
WAYS = {
    "x W^T, forward": lambda x, weight, gradient: x @ weight.T,
    "g W, gradient of x": lambda x, weight, gradient: gradient @ weight,
    "g^T x, gradient of W": lambda x, weight, gradient: gradient.T @ x,
}
ROWS, WIDTH = 16384, 256  # 64 clouds of 256 points in the basic network


def measured(seconds: float = 1.0) -> dict[str, dict[str, float]]:
    """Billions of operations per second of one thread, for every type and product."""
    import time

    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    found: dict[str, dict[str, float]] = {}
    for kind in (torch.float32, torch.bfloat16):
        x, gradient = torch.randn(2, ROWS, WIDTH).to(kind)
        weight = torch.randn(WIDTH, WIDTH).to(kind)
        name = str(kind).removeprefix("torch.")
        found[name] = {}
        for way, product in WAYS.items():
            product(x, weight, gradient)
            count, begin = 0, time.perf_counter()
            while (passed := time.perf_counter() - begin) < seconds:
                product(x, weight, gradient)
                count += 1
            found[name][way] = 2e-9 * count * ROWS * WIDTH * WIDTH / passed
    return found


def in_process(library: Path | None) -> dict[str, dict[str, float]]:
    """`measured` in a process of its own, which loads the library before torch."""
    environment = dict(os.environ)
    if library is not None:
        environment["LD_PRELOAD"] = f"{library}:{environment.get('LD_PRELOAD', '')}".rstrip(":")
    told = subprocess.run([sys.executable, __file__, "--once"], env=environment, capture_output=True, check=True)
    found: dict[str, dict[str, float]] = json.loads(told.stdout)
    return found


def build(folder: str) -> Path | None:
    """The library that answers MKL's question, or None without a C compiler or off Linux."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        return None
    source, library = Path(folder, "avx512.c"), Path(folder, "avx512.so")
    source.write_text(SHIM, "utf-8")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    return library


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="processes of each kind (default: 3)")
    parser.add_argument("--json", help="file to write")
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.once:
        print(json.dumps(measured()))
        return
    with tempfile.TemporaryDirectory() as folder:
        kinds = {"as installed": None}
        if library := build(folder):
            kinds["told to use AVX-512"] = library
        runs = [{kind: in_process(one) for kind, one in kinds.items()} for _ in range(arguments.rounds)]
    rates = {
        kind: {
            name: {way: round(median(run[kind][name][way] for run in runs), 1) for way in WAYS}
            for name in ("float32", "bfloat16")
        }
        for kind in kinds
    }
    base = rates["as installed"]["float32"]
    for kind, found in rates.items():
        for name, ways in found.items():
            for way, rate in ways.items():
                print(f"{name}, {kind}, {way}: {rate:.0f} GFLOP/s, {rate / base[way]:.2f} x float32 as installed")
    if arguments.json:
        import torch

        versions = {"torch": torch.__version__}
        result = {"rates": rates, "rows": ROWS, "width": WIDTH, "processor": processor(), "versions": versions}
        Path(arguments.json).write_text(json.dumps(result, indent=1) + "\n", "utf-8")


def processor() -> str:
    """What the system calls the processor; Linux alone tells more than its kind."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


if __name__ == "__main__":
    main()
