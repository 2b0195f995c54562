"""Amortised clustering (section 6, appendix C): training on sets that are drawn when they are needed.

We use a plain loop instead of Lightning: there are no epochs, splits, labels or loaders, and a step takes some
hundredths of a second. Everything random follows from the seed and the number of the step.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn
from tqdm import tqdm

from .. import __version__
from ..data.sources.gaussians import FIXED_SEED, Mixtures
from ..inference.trained import pick_device
from ..models import REGISTRY as MODELS
from ..models.mixture import MixtureNetwork
from ..support.machine import machine
from ..support.registry import look_up
from ..support.signals import Stopped, StopRequest
from ..training.checkpoints import LAST, Every, Timer, find_checkpoint, set_aside_damaged, write_checkpoint
from ..training.loading import CYCLES, ORDER, derive
from ..training.network import build_network
from ..training.run_folder import (
    check_folder,
    failing_writes,
    result_without_checkpoint,
    running,
    stopped,
    write_json,
    write_settings,
    write_table,
)
from ..weights import Description, save_model
from .evaluation import draw, fixed_sets, mean_likelihood, measure, predict
from .likelihood import check_scikit, log_likelihood
from .settings import ClusterSettings

Row = dict[str, float]
COLUMNS = ("step", "train_LL0", "LL0", "learning_rate", "seconds")
IN_A_ROW = 20  # skipped steps after which a run stops all the same
WATCHED_SETS, WATCHED_SEED = 100, FIXED_SEED + 1  # watched during training; results are measured on other sets


@dataclass
class ClusterRun:
    """One run and its folder: config.yaml, metrics.csv, checkpoints, model.safetensors, result.json."""

    settings: ClusterSettings
    network: MixtureNetwork
    optimiser: torch.optim.Optimizer
    step: int = 0
    seconds: float = 0.0
    rows: list[Row] = field(default_factory=list)
    values: list[float] = field(default_factory=list)  # the likelihood of every step since the last row
    skipped: int = 0  # steps that were not finite
    in_a_row: int = 0  # of them, since the last good one

    @classmethod
    def prepare(cls, settings: ClusterSettings) -> ClusterRun:
        device = pick_device(settings.device)
        torch.manual_seed(settings.seed)
        kind = look_up("model", settings.model, MODELS)
        if not (isinstance(kind, type) and issubclass(kind, MixtureNetwork)):
            raise ValueError(f"model: expected a network that predicts mixtures, got {settings.model!r}")
        network = build_network(settings.model, settings.network_options(), decided=("inputs", "components")).to(device)
        assert isinstance(network, MixtureNetwork)
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

    def train_step(self) -> float | None:
        """One step on freshly drawn sets; returns their log-likelihood per point before it, or None if it is skipped.

        The networks have no batch statistics, so that a step which is skipped leaves no trace.
        """
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
        (-value).backward()  # type: ignore[no-untyped-call, unused-ignore]
        norm = nn.utils.clip_grad_norm_(self.network.parameters(), self.settings.clip or math.inf)
        finite = bool(value.isfinite() & norm.isfinite())
        if finite:
            self.optimiser.step()
        self.step += 1
        self.in_a_row = 0 if finite else self.in_a_row + 1
        if finite:
            return value.item()
        if self.settings.nonfinite == "stop" or self.in_a_row >= IN_A_ROW:
            advice = "lower --rate or --clip, or --resume with --nonfinite skip"
            which = f"in step {self.step}, whose sets follow from the seed {seed} and its number"
            raise ValueError(f"the likelihood is no longer finite {which}: {advice}")
        self.skipped += 1
        return None

    def save(self) -> None:
        """Write the table of figures, the network and the checkpoint.

        The checkpoint comes last: if we are killed before it, the run makes these steps and files again.
        """
        state = {
            "step": self.step,
            "seconds": self.seconds,
            "rows": self.rows,
            "values": self.values,
            "skipped": self.skipped,
            "network": self.network.state_dict(),
            "optimiser": self.optimiser.state_dict(),
        }
        write_table(self.folder / "metrics.csv", self.rows, COLUMNS)
        notes = {
            "data": self.settings.tree()["data"],
            "recipe": self.settings.recipe,
            "seed": self.settings.seed,
            "step": self.step,
            "steps": self.settings.steps,
        }
        description = Description(self.settings.model, self.settings.network_options(), (), notes)
        save_model(self.network, self.folder / "model.safetensors", description)
        write_checkpoint(self.folder / LAST, state)

    def load(self) -> None:
        """Continue from the newest good checkpoint of the folder, if there is one."""
        found = find_checkpoint(self.folder, self._take)
        if found is not None:
            set_aside_damaged(self.folder, found[0])

    def _take(self, state: dict[str, Any]) -> None:
        self.network.load_state_dict(state["network"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.step, self.seconds, self.rows = state["step"], state["seconds"], list(state["rows"])
        self.values, self.skipped = list(state.get("values", ())), state.get("skipped", 0)  # older ones have none


def train(settings: ClusterSettings, resume: bool = False) -> dict[str, Any]:
    """Train, or continue a run that was interrupted; returns the content of result.json.

    After Ctrl-C and the signals of systems and schedulers it raises Stopped, a KeyboardInterrupt with a line that says
    how to continue. While it runs, no other process can use the folder.
    """
    check_scikit()
    folder = Path(settings.out)
    with running(settings):
        check_folder(folder, settings, resume)
        if resume and (result := result_without_checkpoint(folder, settings.steps)) is not None:
            return result
        run = ClusterRun.prepare(settings)
        if resume:
            run.load()
        with failing_writes(folder):
            write_settings(folder, settings)
            with (
                StopRequest() as request,
                tqdm(total=settings.steps, initial=run.step, unit="step", disable=None) as bar,
            ):
                _loop(run, bar, request)
            if run.step < settings.steps:
                where = f"after step {run.step} of {settings.steps}"
                raise Stopped(stopped(settings, where), request.signal or signal.SIGINT)
            return finish(run)


def finish(run: ClusterRun) -> dict[str, Any]:
    """Measure the network of a complete run, and write its result."""
    settings = run.settings
    figures = measure(run.network.eval(), settings.data, settings.sets)
    result = {
        "command": settings.command(),
        "recipe": settings.recipe,
        "model": settings.model,
        "seed": settings.seed,
        "steps": run.step,
        "figures": figures,
        "skipped_steps": run.skipped,
        "seconds": round(run.seconds, 3),
        "parameters": sum(parameter.numel() for parameter in run.network.parameters()),
        "machine": machine(),
        "versions": {"sampled_transformer": __version__, "torch": torch.__version__},
    }
    write_json(run.folder / "result.json", result)
    return result


def _loop(run: ClusterRun, bar: tqdm, request: StopRequest) -> None:
    """Train until the run is complete or someone asks to stop; writes a row and a checkpoint every `every` steps."""
    timer = Timer(Every.read(run.settings.checkpoint_every, "checkpoint_every"))
    timer.restart(run.step)
    watched = fixed_sets(run.settings.data, WATCHED_SETS, WATCHED_SEED)
    values = run.values
    begin = time.perf_counter()
    run.network.train()
    while run.step < run.settings.steps and not request.asked:
        value = run.train_step()
        values.extend([] if value is None else [value])
        bar.update()
        if run.step % run.settings.every == 0 or run.step == run.settings.steps:
            now = time.perf_counter()
            run.seconds, begin = run.seconds + now - begin, now
            row = {
                "step": run.step,
                "train_LL0": sum(values) / max(1, len(values)),
                "LL0": watched_likelihood(run, watched),
            }
            run.rows.append({**row, "learning_rate": run.optimiser.param_groups[0]["lr"], "seconds": run.seconds})
            tqdm.write(f"step {run.step}: LL0 {row['train_LL0']:.4f} in training, {row['LL0']:.4f} on held-out sets")
            values.clear()
            run.save()
            timer.restart(run.step)
        elif timer.is_due(run.step):
            now = time.perf_counter()
            run.seconds, begin = run.seconds + now - begin, now
            run.save()
            timer.restart(run.step)
    if request.asked and run.step < run.settings.steps:
        run.seconds += time.perf_counter() - begin
        run.save()


def watched_likelihood(run: ClusterRun, watched: Sequence[Mixtures]) -> float:
    """Mean log-likelihood per point of the watched sets."""
    run.network.eval()
    found = predict(run.network, watched)
    run.network.train()
    return mean_likelihood(watched, found)
