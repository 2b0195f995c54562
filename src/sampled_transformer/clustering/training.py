"""Amortised clustering (section 6, appendix C): training on sets that are drawn as they are needed.

A plain loop and not the training engine: there are no epochs, no splits, no labels and no loader, a step takes some
hundredths of a second, and everything random follows from the seed and the number of the step.
"""

from __future__ import annotations

import csv
import io
import json
import math
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
import yaml
from torch import nn
from tqdm import tqdm

from .. import __version__
from ..data.sources.gaussians import FIXED_SEED, Mixtures
from ..inference.trained import pick_device
from ..models import create_model
from ..models.mixture import MixtureNetwork
from ..support.atomic import atomic_write
from ..support.machine import machine
from ..support.printable import printable
from ..training.loading import CYCLES, ORDER, derive
from ..training.run_folder import check_unchanged, config_to_resume
from ..weights import Description, save_model
from .evaluation import draw, fixed_sets, mean_likelihood, measure, predict
from .likelihood import check_scikit, log_likelihood
from .settings import ClusterSettings, changed

Row = dict[str, float]
WATCHED_SETS, WATCHED_SEED = 100, FIXED_SEED + 1  # looked at during training; the reported ones are others


@dataclass
class ClusterRun:
    """One run and its folder: config.yaml, metrics.csv, last.ckpt, model.safetensors, result.json."""

    settings: ClusterSettings
    network: MixtureNetwork
    optimiser: torch.optim.Optimizer
    step: int = 0
    seconds: float = 0.0
    rows: list[Row] = field(default_factory=list)
    values: list[float] = field(default_factory=list)  # the likelihood of every step since the last row

    @classmethod
    def prepare(cls, settings: ClusterSettings) -> ClusterRun:
        device = pick_device(settings.device)
        torch.manual_seed(settings.seed)
        try:
            network = create_model(settings.model, **settings.network_options())
        except TypeError as error:
            raise ValueError(f"options: {error}") from None
        if not isinstance(network, MixtureNetwork):
            raise ValueError(f"model: expected a network that gives mixtures, got {settings.model!r}")
        network = network.to(device)
        return cls(settings, network, torch.optim.Adam(network.parameters(), settings.rate, fused=True))

    @property
    def device(self) -> torch.device:
        return next(self.network.parameters()).device

    @property
    def folder(self) -> Path:
        return Path(self.settings.out)

    def rate(self) -> float:
        """The learning rate of the next step: a tenth from `decay_at` of the run on, or a half cosine to zero."""
        done = self.step / self.settings.steps
        if self.settings.schedule == "cosine":
            return self.settings.rate * (1 + math.cos(math.pi * done)) / 2
        return self.settings.rate * (0.1 if done >= self.settings.decay_at else 1.0)

    def train_step(self) -> float:
        """One step on freshly drawn sets; returns their log-likelihood per point before it."""
        seed = self.settings.seed
        points = draw(
            self.settings.data,
            self.settings.batch,
            torch.Generator().manual_seed(derive(seed, ORDER, self.step)),
        ).points.to(self.device)
        torch.manual_seed(derive(seed, CYCLES, self.step))
        for group in self.optimiser.param_groups:
            group["lr"] = self.rate()
        value = log_likelihood(points, self.network(points)).mean()
        self.optimiser.zero_grad()
        (-value).backward()
        if self.settings.clip:
            nn.utils.clip_grad_norm_(self.network.parameters(), self.settings.clip)
        self.optimiser.step()
        self.step += 1
        return value.item()

    def save(self) -> None:
        """The checkpoint, the table of figures and the network, each replaced only when whole."""
        buffer = io.BytesIO()
        state = {
            "step": self.step,
            "seconds": self.seconds,
            "rows": self.rows,
            "values": self.values,
            "network": self.network.state_dict(),
            "optimiser": self.optimiser.state_dict(),
        }
        torch.save(state, buffer)
        with atomic_write(self.folder / "last.ckpt") as file:
            file.write(buffer.getbuffer())
        text = io.StringIO()
        writer = csv.DictWriter(text, ["step", "train_LL0", "LL0", "learning_rate", "seconds"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        write_text(self.folder / "metrics.csv", text.getvalue())
        notes = {
            "data": {**asdict(self.settings.data), "points": list(self.settings.data.points)},
            "recipe": self.settings.recipe,
            "seed": self.settings.seed,
            "step": self.step,
            "steps": self.settings.steps,
        }
        description = Description(self.settings.model, self.settings.network_options(), (), notes)
        save_model(self.network, self.folder / "model.safetensors", description)

    def load(self) -> None:
        path = self.folder / "last.ckpt"
        if not path.is_file():
            return
        try:
            state = torch.load(path, map_location="cpu", weights_only=True)
            self.network.load_state_dict(state["network"])
            self.optimiser.load_state_dict(state["optimiser"])
            self.step, self.seconds, self.rows = state["step"], state["seconds"], list(state["rows"])
            self.values = list(state.get("values", ()))  # checkpoints of before have none
        except Exception as error:  # a damaged file can make the reader raise anything
            raise ValueError(
                f"{printable(path)}: not a whole checkpoint of this run ({type(error).__name__})"
            ) from None


def train(settings: ClusterSettings, resume: bool = False) -> dict[str, Any]:
    """Train, or go on with a run that was interrupted; returns what result.json holds.

    Raises KeyboardInterrupt, with a line that says how to go on, after Ctrl-C.
    """
    check_scikit()
    folder = Path(settings.out)
    check_folder(folder, settings, resume)
    run = ClusterRun.prepare(settings)
    if resume:
        run.load()
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "config.yaml", yaml.safe_dump(settings.tree(), sort_keys=False, allow_unicode=True))
    with interrupts() as asked, tqdm(total=settings.steps, initial=run.step, unit="step", disable=None) as bar:
        _loop(run, bar, asked)
    if run.step < settings.steps:
        where = f"stopped after step {run.step} of {settings.steps}"
        raise KeyboardInterrupt(
            f"{where}; go on with: sampled-transformer cluster train --out {printable(folder)} --resume"
        )
    figures = measure(run.network.eval(), settings.data, settings.sets)
    result = {
        "command": settings.command(),
        "recipe": settings.recipe,
        "model": settings.model,
        "seed": settings.seed,
        "steps": run.step,
        "figures": figures,
        "seconds": round(run.seconds, 3),
        "parameters": sum(parameter.numel() for parameter in run.network.parameters()),
        "machine": machine(),
        "versions": {"sampled_transformer": __version__, "torch": torch.__version__},
    }
    write_text(folder / "result.json", json.dumps(result, indent=2) + "\n")
    return result


def _loop(run: ClusterRun, bar: tqdm, asked: threading.Event) -> None:
    """Steps until the run is done or someone asks to stop; a row of figures and a checkpoint `every` so many."""
    watched = fixed_sets(run.settings.data, WATCHED_SETS, WATCHED_SEED)
    values = run.values
    begin = time.perf_counter()
    run.network.train()
    while run.step < run.settings.steps and not asked.is_set():
        values.append(run.train_step())
        bar.update()
        if not math.isfinite(values[-1]):
            raise ValueError(f"the likelihood is no longer finite in step {run.step}: lower --rate or --clip")
        if run.step % run.settings.every == 0 or run.step == run.settings.steps:
            now = time.perf_counter()
            run.seconds, begin = run.seconds + now - begin, now
            row = {"step": run.step, "train_LL0": sum(values) / len(values), "LL0": watched_likelihood(run, watched)}
            run.rows.append({**row, "learning_rate": run.optimiser.param_groups[0]["lr"], "seconds": run.seconds})
            tqdm.write(f"step {run.step}: LL0 {row['train_LL0']:.4f} in training, {row['LL0']:.4f} on held-out sets")
            values.clear()
            run.save()
    if asked.is_set():
        run.seconds += time.perf_counter() - begin
        run.save()


def watched_likelihood(run: ClusterRun, watched: Sequence[Mixtures]) -> float:
    run.network.eval()
    found = predict(run.network, watched)
    run.network.train()
    return mean_likelihood(watched, found)


def check_folder(folder: Path, settings: ClusterSettings, resume: bool) -> None:
    """Refuse to write over a run, and to go on with one that was made with other options."""
    config = config_to_resume(folder, resume)
    if config is None:
        return
    check_unchanged(folder, changed(read_settings(config), settings))


def read_settings(config: Path) -> ClusterSettings:
    try:
        return ClusterSettings.from_tree(yaml.safe_load(config.read_text("utf-8")))
    except (AttributeError, TypeError, KeyError, ValueError, yaml.YAMLError):
        raise ValueError(f"{printable(config)}: not the configuration of a run of cluster train") from None


@contextmanager
def interrupts() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets, so that a step is finished and saved; a second Ctrl-C stops at once."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = signal.getsignal(signal.SIGINT)

    def ask(number: int, frame: Any) -> None:
        asked.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    signal.signal(signal.SIGINT, ask)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)


def write_text(path: Path, text: str) -> None:
    with atomic_write(path) as file:
        file.write(text.encode("utf-8"))
