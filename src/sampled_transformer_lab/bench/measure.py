"""Measure seconds and bytes."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import torch
from torch import Tensor

from sampled_transformer.support.compiled import SMALLEST
from sampled_transformer.support.memory import give_back_memory

from .setting import Setting
from .subjects import Subject

TIMEOUT = 600  # seconds that a process may take to measure memory
TOO_LONG = "takes too long"
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def wait(device: str) -> None:
    """Wait until the device has finished its work."""
    if device != "cpu":
        torch.get_device_module(device).synchronize(device)


def seconds(run: Callable[[], None], device: str = "cpu") -> float:
    """The wall time of one call."""
    wait(device)
    begin = time.perf_counter()
    run()
    wait(device)
    return time.perf_counter() - begin


def interleaved(
    runs: Mapping[str, Callable[[], None]], repeats: int, device: str = "cpu", enough: float = 3.0
) -> dict[str, float]:
    """The median time of each run. Every round calls all runs, so that all see the same state of the machine.

    Each must have been called before, so that compilation does not count. A run that has taken `enough` seconds skips
    the remaining rounds.
    """
    times: dict[str, list[float]] = {name: [] for name in runs}
    names = list(runs)
    for round_ in range(repeats):
        turn = round_ % max(1, len(names))
        for name in names[turn:] + names[:turn]:  # no run always comes first
            if sum(times[name]) < enough:
                times[name].append(seconds(runs[name], device))
    return {name: median(values) for name, values in times.items()}


def kept_bytes(subject: Subject) -> int:
    """Bytes that autograd keeps between the forward and the backward pass, without the parameters."""
    parameters = {parameter.untyped_storage().data_ptr() for parameter in subject.module.parameters()}
    kept: dict[int, Tensor] = {}  # keeps the tensors alive: another tensor could reuse the address of a freed one

    def keep(tensor: Tensor) -> Tensor:
        if tensor.untyped_storage().data_ptr() not in parameters:
            kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        subject.call()
    return sum(tensor.untyped_storage().nbytes() for tensor in kept.values())


def load() -> float | None:
    """The load average of the last minute, this process included, or None where the system does not report it."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def available_memory() -> int:
    """Bytes that a process may still take, as far as the system reports them."""
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError, OSError):
        return 2**33


@dataclass(frozen=True)
class Bytes:
    """The memory of one pass in a fresh process.

    Args:
        peak: peak memory beyond what the process held before.
        kept: bytes kept for the backward pass, or None without one.
    """

    peak: int
    kept: int | None


def memory(name: str, level: str, setting: Setting, points: int, backward: bool = True) -> Bytes | str:
    """The memory of one pass in a fresh process, or one line that says why it could not be measured."""
    return memories(name, level, setting, [points], backward)[0]


def memories(
    name: str,
    level: str,
    setting: Setting,
    sizes: Sequence[int],
    backward: bool = True,
    patience: float = math.inf,
) -> list[Bytes | str]:
    """The memory of several sizes, smallest first.

    Starting a process takes longer than most measurements, so one process measures all sizes where the system can
    reset the peak. After a measurement that took more than `patience` seconds, no larger size is measured.
    """
    if len(sizes) > 1 and setting.device == "cpu" and not CLEAR.is_file():
        answers: list[Bytes | str] = []
        for points in sizes:
            begin = time.monotonic()
            answers += memories(name, level, setting, [points], backward)
            if time.monotonic() - begin > patience:
                break
        return answers + [TOO_LONG] * (len(sizes) - len(answers))
    request = {
        "name": name,
        "level": level,
        "setting": asdict(setting),
        "sizes": list(sizes),
        "backward": backward,
        "patience": None if math.isinf(patience) else patience,
    }
    command = [sys.executable, "-c", f"from {__name__} import measure_here; measure_here()"]
    environment = {**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads())}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True
    ) as process:
        try:
            printed, complaint = process.communicate(json.dumps(request), timeout=TIMEOUT)
            reason = TOO_LONG
        except subprocess.TimeoutExpired:
            process.kill()
            printed, complaint = process.communicate()
            reason = f"failed: took more than {TIMEOUT} s"
        except BaseException:
            process.kill()
            raise
    if process.returncode > 0 or (process.returncode < 0 and reason == TOO_LONG):
        reason = f"failed: {(complaint.strip().splitlines() or [f'exit code {process.returncode}'])[-1][:200]}"
    measured: list[Bytes | str] = [Bytes(**json.loads(line)) for line in printed.splitlines()]
    return measured + [reason] * (len(sizes) - len(measured))


def measure_here() -> None:
    """The other end of `memories`, in the fresh process: read the request and print one line per size."""
    request = json.load(sys.stdin)
    setting, backward = Setting(**request["setting"]), request["backward"]
    passes = "both" if backward else "forward"
    # Compile first, on a set just large enough for the compiled kernel, so that compilation does not count.
    small = max(64, -(-SMALLEST // (setting.batch * setting.dim)))
    getattr(Subject(request["name"], request["level"], setting, min(small, max(request["sizes"]))), passes)()
    for points in request["sizes"]:
        begin = time.monotonic()
        before = _most_memory(setting.device, reset=True)
        subject = Subject(request["name"], request["level"], setting, points)
        getattr(subject, passes)()
        peak = _most_memory(setting.device) - before
        print(json.dumps(asdict(Bytes(peak, kept_bytes(subject) if backward else None))), flush=True)
        del subject
        if request["patience"] is not None and time.monotonic() - begin > request["patience"]:
            return


def _most_memory(device: str, reset: bool = False) -> int:
    """The peak memory of this process. With `reset`, start a new peak and return what the process holds now."""
    if device != "cpu":
        module = torch.get_device_module(device)
        if reset:
            module.reset_peak_memory_stats()
        return int(module.memory_allocated() if reset else module.max_memory_allocated())
    if reset:
        give_back_memory()
    if STATUS.is_file():
        if reset:
            CLEAR.write_text("5")
        lines = STATUS.read_text("ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
