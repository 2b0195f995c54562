"""What weeks bring: kills, signals, full disks, two writers. `make test-faults` runs this; it takes minutes.

Every run is really made, killed and continued, and has to end with the bytes of a run that was left alone.
"""

from __future__ import annotations

import csv
import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.faults import Fault, Kind, Whole, begin, kill_often, undisturbed
from helpers.faults_page import joined, with_table
from helpers.point_packs import write_halves

from sampled_transformer import __version__, create_model
from sampled_transformer.data import Pack, write_pack
from sampled_transformer.support.atomic import atomic_write
from sampled_transformer.support.machine import machine
from sampled_transformer.weights import Description, save_model

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="forks and half-written files as on Linux"),
]

KINDS = ("train", "pretrain", "cluster train", "fewshot", "segment train")
SEED = int(os.environ.get("FAULTS_SEED", time.time_ns() % 2**32))
PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
RESULTS = os.environ.get("FAULTS_RESULTS")  # the file for the figures; they go to the page, too
FIGURES: dict[str, Any] = {"kills": {}, "signals": {}, "full_disks": {}, "locks": {}}
SMALL = {"dim": 16, "heads": 2, "hidden": 16, "embedding": 8}
ENCODER = {**SMALL, "depth": 1, "groups": 8, "group_size": 8}


@pytest.fixture(scope="module", autouse=True)
def figures(request: pytest.FixtureRequest) -> Iterator[None]:
    """Write what was done, if all of it went well."""
    failed, begin = request.session.testsfailed, time.monotonic()
    yield
    if RESULTS and request.session.testsfailed == failed and FIGURES["kills"]:
        here = {"machine": machine(), "versions": {"sampled_transformer": __version__, "torch": torch.__version__}}
        known = {"command": "make test-faults", "seed": SEED, **FIGURES}
        known |= {"seconds": round(time.monotonic() - begin), **here}
        if set(FIGURES["kills"]) != set(KINDS):
            known = joined(json.loads(Path(RESULTS).read_text("utf-8")), known)
        Path(RESULTS).parent.mkdir(parents=True, exist_ok=True)
        for path, text in {
            Path(RESULTS): json.dumps(known, indent=1) + "\n",
            PAGE: with_table(PAGE.read_text("utf-8"), known),
        }.items():
            with atomic_write(path) as file:
                file.write(text.encode("utf-8"))


def rows(folder: Path) -> list[dict[str, str]]:
    """The figures of a run, without its times."""
    with open(folder / "metrics.csv", newline="") as file:
        return [{name: value for name, value in row.items() if name != "seconds"} for row in csv.DictReader(file)]


def same_run(one: Path, two: Path) -> bool:
    weights = [path.name for path in two.glob("*.safetensors")]
    return rows(one) == rows(two) and all((one / name).read_bytes() == (two / name).read_bytes() for name in weights)


def same_folds(one: Path, two: Path) -> bool:
    folds = [json.loads((folder / "result.json").read_text())["folds"] for folder in (one, two)]
    return [{**fold, "seconds": 0} for fold in folds[0]] == [{**fold, "seconds": 0} for fold in folds[1]]


def options(values: dict[str, int]) -> list[str]:
    return [f"--options.{name}={value}" for name, value in values.items()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a pack of needles, discs and balls, and weights to begin with."""
    folder = tmp_path_factory.mktemp("faults")
    flatness = np.array([[0.05, 0.05, 1.0], [1.0, 1.0, 0.05], [1.0, 1.0, 1.0]])
    (folder / "pack").mkdir()
    for seed, (split, each) in enumerate({"train": 11, "test": 8}.items()):
        labels = np.repeat(np.arange(3), each)
        clouds = np.random.default_rng(seed).normal(size=(len(labels), 32, 3)) * flatness[labels][:, None]
        pack = Pack.from_arrays(clouds, labels=labels, classes=("needle", "disc", "ball"))
        write_pack(pack, folder / "pack" / f"{split}.npz")
    write_halves(folder / "parts")
    torch.manual_seed(0)
    full = {"attention": "sampled", "normals": False, "mask_ratio": 0.5, "decoder_depth": 1, **ENCODER}
    save_model(create_model("mae", **full), folder / "mae.safetensors", Description("mae", full))
    return folder


def make_kind(name: str, folder: Path) -> Kind:
    data = ["--data", str(folder / "pack"), "--data.points", "24", "--data.batch", "8", "--data.preset", "bricks"]
    data += ["--trainer.accelerator", "cpu"]
    often = ["--trainer.checkpoint_every", "2 steps"]
    if name == "train":
        held = ["--data.validation", "0.65", "--epochs", "4"]
        return Kind(name, ["train", *data, *held, *often, *options(SMALL)], same_run)
    if name == "pretrain":
        probed = ["--epochs", "3", "--probe_every", "2"]
        return Kind(name, ["pretrain", *data, *probed, *often, *options(ENCODER)], same_run)
    if name == "fewshot":
        shots = ["--way", "2", "--shot", "6", "--folds", "4", "--queries", "5", "--epochs", "1"]
        return Kind(name, ["fewshot", str(folder / "mae.safetensors"), *data, *shots], same_folds)
    if name == "segment train":
        data = ["--data", str(folder / "parts"), "--data.points", "48", "--data.batch", "4", "--attention", "sampled"]
        small = ["--epochs", "4", "--options.widths", "[8,16]", "--trainer.accelerator", "cpu"]
        return Kind(name, ["segment", "train", *data, *small, *often], same_run)
    steps = ["--steps", "40", "--every", "10", "--checkpoint_every", "7 steps", "--batch", "2", "--sets", "4"]
    small = ["--data.points", "[8,12]", "--options.dim=8", "--options.heads=2"]
    return Kind(name, ["cluster", "train", *steps, *small], same_run)


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest, folder: Path) -> Kind:
    return make_kind(request.param, folder)


@pytest.fixture(scope="module")
def home(kind: Kind, folder: Path) -> Path:
    home = folder / kind.name.replace(" ", "-")
    home.mkdir()
    return home


@pytest.fixture(scope="module")
def whole(kind: Kind, home: Path) -> Whole:
    return undisturbed(kind, home)


def test_kills_at_any_moment(kind: Kind, home: Path, whole: Whole) -> None:
    moments = kill_often(kind, home, whole, 20, SEED, inside_writes=False)
    writes = kill_often(kind, home, whole, 8, SEED, inside_writes=True)
    FIGURES["kills"][kind.name] = {"at_random_moments": moments, "inside_writes": writes}


def test_signals_save_and_say_how_to_go_on(kind: Kind, home: Path, whole: Whole) -> None:
    choice, stopped = random.Random(SEED), 0
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"):
        out, number = home / name, signal.Signals[name]
        life = kind.begin(out)
        while not (out / "config.yaml").exists() and life.process.exitcode is None:
            time.sleep(0.002)
        life.process.join(choice.uniform(0, 0.25 * whole.seconds))
        life.send(number)
        code = life.end()
        if code == 128 + number and "; go on with: sampled-transformer " in life.text():
            assert "error: stopped " in life.text()
            stopped += 1
        else:  # it was faster than the signal, which may still have stopped the writing of its report
            assert code in (0, -number, 128 + number), life.text()
            assert (out / "result.json").is_file()
        kind.complete(out)
        kind.check(out, whole.folder)
    assert stopped >= 1  # how many depends on how fast the machine is
    FIGURES["signals"][kind.name] = stopped


def test_three_writers_leave_one_run_and_two_refusals(kind: Kind, home: Path, whole: Whole) -> None:
    out = home / "shared"
    words = [*kind.words, "--out", str(out)]
    lives = [begin(words, home / f"writer-{number}.log") for number in range(3)]
    codes = sorted(life.end() for life in lives)
    assert codes == [0, 2, 2], [life.text() for life in lives]
    refusals = [life.text() for life in lives if life.process.exitcode == 2]
    for text in refusals:
        assert text.startswith("sampled-transformer: error: out: expected "), text
        assert text.count("\n") == 1
    kind.check(out, whole.folder)
    FIGURES["locks"][kind.name] = {"runs": 1, "refusals": len(refusals)}


def test_a_living_run_is_not_resumed(kind: Kind, home: Path, whole: Whole) -> None:
    out = home / "living"
    life = kind.begin(out)
    while not (out / "config.yaml").exists():
        time.sleep(0.002)
    life.send(signal.SIGSTOP)  # it lives, and does not end before the other has asked
    other = kind.begin(out)
    assert other.end() == 2, other.text()
    assert f"which process {life.process.pid} on " in other.text()
    life.send(signal.SIGCONT)
    assert life.end() == 0, life.text()
    kind.check(out, whole.folder)


def test_a_full_disk_costs_nothing_that_was_saved(kind: Kind, home: Path, whole: Whole) -> None:
    files = [path for path in whole.folder.iterdir() if path.is_file() and path.name != "report.html"]
    sizes = [path.stat().st_size for path in files]
    choice, refused = random.Random(SEED), 0
    for number in range(2):
        out = home / f"full-{number}"
        limit = choice.randint(1500, max(sizes) - 1) if number else max(sizes) - 1
        life = kind.begin(out, Fault(file_size=limit))
        code = life.end()
        assert code in (0, 2), life.text()
        if code == 2:
            refused += 1
            last = life.text().splitlines()[-1]
            assert "File too large" in last, life.text()
            assert "Traceback" not in life.text()
        kind.complete(out)
        kind.check(out, whole.folder)
    assert refused
    FIGURES["full_disks"][kind.name] = refused


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own, if we may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=130k", "tmpfs", str(disk)], capture_output=True).returncode:
        pytest.skip("only the superuser may mount a disk")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_a_disk_that_is_full_and_one_that_cannot_be_written(folder: Path, small_disk: Path, tmp_path: Path) -> None:
    kind = make_kind("cluster train", folder)
    whole = undisturbed(kind, tmp_path)
    out = small_disk / "run"
    life = begin(kind.command(out), tmp_path / "full.log")
    assert life.end() == 2, life.text()
    assert f"{out}: No space left on device; the files saved before are complete" in life.text().splitlines()[-1]
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    life = begin(kind.command(out), tmp_path / "read-only.log")
    assert life.end() == 2, life.text()
    assert life.text().endswith(f"out: expected a place that can be written, got {out} (Read-only file system)\n")
    subprocess.run(["mount", "-o", "remount,rw,size=9m", str(small_disk)], check=True)
    life = begin(kind.command(out), tmp_path / "more.log")
    assert life.end() == 0, life.text()
    kind.check(out, whole.folder)


def test_data_that_vanishes(folder: Path) -> None:
    """A run has its data in memory; one that continues says what is missing, and goes on when it is there again."""
    home = folder / "vanishing"
    home.mkdir()
    shutil.copytree(folder / "pack", home / "pack")
    shutil.copy(folder / "mae.safetensors", home)
    kind = make_kind("train", home)
    whole = undisturbed(kind, home)
    life = kind.begin(home / "run")
    while not (home / "run" / "last.ckpt").exists():
        time.sleep(0.002)
    os.rename(home / "pack", home / "elsewhere")
    life.send(signal.SIGTERM)
    assert life.end() in (0, 143)
    life = kind.begin(home / "run")
    assert life.end() == 2
    assert f"{home / 'pack'}: no such file, folder or data set" in life.text().splitlines()[-1]
    os.rename(home / "elsewhere", home / "pack")
    kind.complete(home / "run")
    kind.check(home / "run", whole.folder)


def test_slurm_requeues_a_run_that_has_saved(folder: Path) -> None:
    """The variables are those of `srun`, and `scontrol` notes what it is asked."""
    home = folder / "slurm"
    home.mkdir()
    (home / "scontrol").write_text(f'#!/bin/sh\necho "$@" >> {home}/asked\nls -a {home}/run >> {home}/there\n')
    (home / "scontrol").chmod(0o755)
    names = {"NTASKS": "1", "JOB_ID": "77", "PROCID": "0", "LOCALID": "0", "NODEID": "0", "JOB_NAME": "train"}
    job = {f"SLURM_{name}": value for name, value in names.items()} | {"PATH": f"{home}:{os.environ['PATH']}"}
    kind = make_kind("train", folder)
    whole = undisturbed(kind, home)
    life = kind.begin(home / "run", Fault(environment=job))
    while not (home / "run" / "metrics.csv").exists() and life.process.exitcode is None:
        time.sleep(0.002)
    life.send(signal.SIGUSR1)
    assert life.end() == 128 + signal.SIGUSR1, life.text()
    assert "SLURM will start job 77 again" in life.text()
    assert (home / "asked").read_text() == "requeue 77\n"
    there = (home / "there").read_text().split()
    assert "last.ckpt" in there
    assert ".lock" not in there  # the job may be started again at once
    life = kind.begin(home / "run", Fault(environment={**job, "SLURM_RESTART_COUNT": "1"}))
    assert life.end() == 0, life.text()
    kind.check(home / "run", whole.folder)
