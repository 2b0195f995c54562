"""The live page under load: many visitors at once, and many uploads, good and bad.

Starts `sampled-transformer view` as a user would, and visits it with clients that speak viser's protocol, each over a
websocket of its own (page_client.py). Every visitor uploads one file after the other, waits for each answer, and comes
again now and then, sometimes in the middle of an upload. Writes times to answer, memory over time, and what was left.

    python -m sampled_transformer_lab.load.page --clients 50 --uploads 1000 --out results/faults/load.json
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import urlopen

import numpy as np

from sampled_transformer import __version__
from sampled_transformer.data.guard import MOST_IDLE
from sampled_transformer.support.atomic import atomic_write
from sampled_transformer.support.machine import machine

from ..fuzz_seeds import make_seeds
from .page_client import PageClient, in_turn
from .page_files import BROKEN, EMPTY, GOOD, LARGE, TOO_LARGE, UNKNOWN, Upload, make_upload
from .resident import Watch, family, left_behind, megabytes, open_files, threads

PATIENCE = 300.0  # seconds that a visitor waits for an answer
MOST_GROWTH = 1.5  # of the memory that is left when all visitors have gone; 32 threads keep some for reuse
STAY = 7  # uploads after which a visitor goes and comes again
EXPECTED = {  # what may come of each kind
    GOOD: {"shown"},
    LARGE: {"shown"},
    BROKEN: {"shown", "refused"},  # a changed byte may do no harm
    UNKNOWN: {"refused"},
    EMPTY: {"refused"},
    TOO_LARGE: {"refused"},
}


class Seen(NamedTuple):
    """One upload and what came of it."""

    kind: str
    suffix: str
    outcome: str
    seconds: float
    text: str


class State(NamedTuple):
    """What the program holds at one moment."""

    processes: int
    threads: int
    open_files: int
    temporary_files: int
    megabytes: float


class Server:
    """`sampled-transformer view` in a process of its own, in a `with` block."""

    def __init__(self, folder: Path, shown: str) -> None:
        self.folder, self.shown = folder, shown
        self.said = folder / "said.txt"
        self.temporary = folder / "temporary"
        self.temporary.mkdir()

    def __enter__(self) -> Server:
        command = [sys.executable, "-m", "sampled_transformer", "view", self.shown, "--port", "0", "--no-open"]
        environment = {**os.environ, "TMPDIR": str(self.temporary), "PYTHONUNBUFFERED": "1"}
        with open(self.said, "wb") as said:
            self.process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, env=environment)
        self.address = self._address()
        return self

    def __exit__(self, *error: object) -> None:
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _address(self) -> str:
        end = time.monotonic() + 120
        while time.monotonic() < end and self.process.poll() is None:
            if found := re.search(r"open (http://\S+)", self.said.read_text("utf-8", "replace")):
                return urlsplit(found[1]).netloc
            time.sleep(0.1)
        raise OSError(f"view: expected an address, got {self.said.read_text('utf-8', 'replace')[-500:]!r}")

    def state(self) -> State:
        own = self.process.pid
        left = left_behind(self.temporary)
        with Watch(own) as watch:
            time.sleep(0.3)
        processes = len(family(own))
        return State(processes, threads(own), open_files(own), left, megabytes(watch.peak))

    def complaints(self) -> list[str]:
        """Lines of the terminal that name an exception."""
        lines = self.said.read_text("utf-8", "replace").splitlines()
        return [line for line in lines if re.match(r"\s*(\w+\.)*\w*(Error|Exception|Warning)\b", line)]


def run(clients: int, uploads: int, seed: int = 0, shown: str = "bricks") -> dict[str, Any]:
    """Visit and upload; the result says what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        seeds = make_seeds(Path(folder, "seeds"))
        with Server(Path(folder), shown) as server:
            asyncio.run(_alone(server, clients + 1))  # the first visitor loads what all need
            before = server.state()
            with Watch(server.process.pid, 0.25) as watch:
                begin = time.perf_counter()
                seen, arrivals, strangers = asyncio.run(_visits(server, clients, uploads, seeds, seed))
                seconds = time.perf_counter() - begin
            time.sleep(2)
            after = server.state()
            again = asyncio.run(_alone(server, clients + 2))
            complaints = server.complaints()
        ended = server.process.returncode
        left = left_behind(server.temporary)
    halves = [_peak(watch, 0.0, 0.5), _peak(watch, 0.5, 1.0)]
    return {
        "clients": clients,
        "uploads": uploads,
        "seed": seed,
        "shown": shown,
        "seconds": round(seconds, 1),
        "kinds": _table(seen),
        "unexpected": [one._asdict() for one in seen if one.outcome not in EXPECTED[one.kind]],
        "arrival_seconds": _spread(arrivals),
        "visits": len(arrivals),
        "foreign_files_seen": strangers,
        "memory": {
            "before": before.megabytes,
            "peak": megabytes(watch.peak),
            "peak_of_first_half": halves[0],
            "peak_of_second_half": halves[1],
            "after": after.megabytes,
            "curve": watch.curve(),
        },
        "before": before._asdict(),
        "after": after._asdict(),
        "temporary_files_left": left,
        "exit_code": ended,
        "complaints": dict(Counter(complaints)),
        "page_after": again,
    }


def problems(result: dict[str, Any]) -> list[str]:
    """What does not hold, in one line each."""
    found = []
    if result["unexpected"]:
        found.append(f"{len(result['unexpected'])} uploads had other answers than expected")
    if result["foreign_files_seen"]:
        found.append("a visitor saw the name of another visitor's file")
    before, after = result["before"], result["after"]
    # One of the processes that read files waits from the start, and one more may; it has two pipes.
    for name, more in (("processes", MOST_IDLE - 1), ("open_files", 2 * (MOST_IDLE - 1)), ("temporary_files", 0)):
        if after[name] > before[name] + more:
            found.append(f"{name}: {before[name]} before, {after[name]} after")
    if after["threads"] > before["threads"] + 32:  # viser's pool of threads, which it fills as need be
        found.append(f"threads: {before['threads']} before, {after['threads']} after")
    if after["megabytes"] > MOST_GROWTH * before["megabytes"]:
        found.append(f"memory: {before['megabytes']:,.0f} MB before, {after['megabytes']:,.0f} MB after")
    if result["temporary_files_left"]:
        found.append(f"{result['temporary_files_left']} temporary files left")
    if result["complaints"]:
        found.append(f"the terminal complained {sum(result['complaints'].values())} times")
    if result["page_after"]["outcome"] != "shown":
        found.append("the page did not answer afterwards")
    return found


async def _alone(server: Server, number: int) -> dict[str, Any]:
    """One visitor, one good file; and the page itself by HTTP."""
    status = await asyncio.to_thread(lambda: urlopen(f"http://{server.address}/", timeout=60).status)
    async with PageClient(server.address, number) as client:
        arrival = await client.arrive(PATIENCE)
        cloud = b"".join(b"%d %d %d\n" % (place % 7, place % 5, place % 3) for place in range(105))
        reply = await client.upload(Upload(GOOD, ".xyz", cloud, len(cloud)), f"visitor{number}-alone.xyz", PATIENCE)
    return {"http_status": status, "arrival_seconds": round(arrival, 2), "outcome": reply.outcome}


async def _visits(
    server: Server, clients: int, uploads: int, seeds: dict[str, list[bytes]], seed: int
) -> tuple[list[Seen], list[float], int]:
    seen: list[Seen] = []
    arrivals: list[float] = []
    strangers: set[tuple[int, int]] = set()

    async def visitor(number: int) -> None:
        own = list(range(number, uploads, clients))
        while own:
            async with PageClient(server.address, number) as client:
                arrivals.append(await client.arrive(PATIENCE))
                for _ in range(min(STAY, len(own))):
                    place = own.pop(0)
                    seen.append(await _upload(client, make_upload(place, seeds, seed), place))
                strangers.update((number, other) for other in client.strangers)
                if number % 3 == 0:
                    await client.leave_in_the_middle(f"visitor{number}-half.ply")

    await in_turn(visitor, range(clients))
    return seen, arrivals, len(strangers)


async def _upload(client: PageClient, upload: Upload, place: int) -> Seen:
    reply = await client.upload(upload, f"visitor{client.number}-{place}{upload.suffix}", PATIENCE)
    unexpected = reply.outcome not in EXPECTED[upload.kind]
    return Seen(upload.kind, upload.suffix, reply.outcome, reply.seconds, reply.text[:300] if unexpected else "")


def _table(seen: list[Seen]) -> dict[str, Any]:
    rows = {}
    for kind in dict.fromkeys(one.kind for one in seen):
        own = [one for one in seen if one.kind == kind]
        rows[kind] = {
            "uploads": len(own),
            "formats": len({one.suffix for one in own}),
            "outcomes": dict(Counter(one.outcome for one in own)),
            "seconds": _spread([one.seconds for one in own]),
        }
    return rows


def _spread(values: list[float]) -> dict[str, float]:
    shares = {"median": 50, "95 %": 95, "largest": 100}
    return {name: round(float(np.percentile(values, share)), 2) for name, share in shares.items()} if values else {}


def _peak(watch: Watch, begin: float, end: float) -> float:
    last = watch.samples[-1].seconds
    own = [one.resident for one in watch.samples if begin * last <= one.seconds <= end * last]
    return megabytes(max(own, default=0))


def main(words: list[str] | None = None) -> int:
    """The command line; the exit code is 1 if something does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=50, help="visitors at once")
    parser.add_argument("--uploads", type=int, default=1000, help="files, all visitors together")
    parser.add_argument("--seed", type=int, default=0, help="seed of the broken files")
    parser.add_argument("--shown", default="bricks", help="what `view` shows")
    parser.add_argument("--out", type=Path, help="JSON file for the figures")
    chosen = parser.parse_args(words)
    result = run(chosen.clients, chosen.uploads, chosen.seed, chosen.shown)
    result["problems"] = problems(result)
    command = f"python -m sampled_transformer_lab.load.page --clients {chosen.clients} --uploads {chosen.uploads}"
    known = {"command": command, **result, "machine": machine(), "version": __version__}
    if chosen.out is not None:
        chosen.out.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(chosen.out) as file:
            file.write(f"{json.dumps(known, indent=1)}\n".encode())
    print(json.dumps({name: value for name, value in result.items() if name not in ("memory", "unexpected")}, indent=1))
    for one in result["unexpected"][:20]:
        print(f"  unexpected: {one}")
    print(*[f"does not hold: {line}" for line in result["problems"]] or ["all of it holds"], sep="\n")
    return int(bool(result["problems"]))


if __name__ == "__main__":
    sys.exit(main())
