"""Freed memory is reused instead of being fetched from the system again."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.support.memory import _resident_by_ps, limited_memory, release_pages, resident_memory

PROGRAM = """
import resource, sys
import torch
from sampled_transformer.support.memory import keep_freed_memory
if sys.argv[1] == "keep":
    assert keep_freed_memory()
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        torch.ones(2**24)  # 64 MB: by default glibc always returns such a block to the system
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
faults()
print(faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of glibc")
def test_pages_are_kept() -> None:
    def pages(how: str) -> int:
        environment = {"THP_MEM_ALLOC_ENABLE": "0", "PATH": ""}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, check=True, env=environment
        )
        return int(done.stdout)

    assert pages("keep") < 100
    assert pages("do not") > 1000


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux can limit it")
def test_a_reader_cannot_allocate_what_a_file_claims() -> None:
    # More than tests before this one may have freed, which glibc keeps for this process.
    with pytest.raises(MemoryError), limited_memory(2**28):
        np.empty(2**32, np.uint8)
    assert len(np.empty(2**32, np.uint8)) == 2**32
    with limited_memory(2**30):
        assert np.ones(2**20).sum() == 2**20


@pytest.mark.skipif(os.name != "posix", reason="it asks /proc or ps")
def test_the_memory_of_a_process() -> None:
    kept = np.ones(2**25)
    assert kept.nbytes < resident_memory(os.getpid()) < 2**36
    assert kept.nbytes < _resident_by_ps(os.getpid()) < 2**36
    assert resident_memory(2**30) == 0  # no such process


def test_released_pages_keep_what_was_written(tmp_path: Path) -> None:
    array = np.memmap(tmp_path / "a", np.float64, "w+", shape=(1000,))
    array[:] = np.arange(1000)
    release_pages(array[10:20])
    np.testing.assert_array_equal(array, np.arange(1000))
    plain = np.arange(5)
    release_pages(plain)  # which has none
    np.testing.assert_array_equal(plain, np.arange(5))


THREADS = """
import sys, threading
from pathlib import Path
from sampled_transformer.support.memory import share_memory_among_threads
if sys.argv[1] == "share":
    assert share_memory_among_threads()
meet = threading.Barrier(17)
def work():
    held = [bytes(1000 + number) for number in range(1000)]
    meet.wait()
    meet.wait()
for _ in range(16):
    threading.Thread(target=work).start()
meet.wait()
[line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmSize")]
print(line.split()[1])
meet.wait()
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of glibc")
def test_threads_share_pools() -> None:
    def addresses(how: str) -> int:
        done = subprocess.run([sys.executable, "-c", THREADS, how], check=True, capture_output=True, text=True)
        return int(done.stdout)

    assert addresses("share") < addresses("apart") - 200_000  # kilobytes; a pool has 64 MB of addresses
