"""A tour in about five minutes: three networks trained on the parts that come with the package, and what they say."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import torch
import yaml

from ..cycles import Cycle
from ..data import load_data
from ..inference.evaluation import evaluate
from ..inference.trained import cycle_probabilities, view_of
from ..report.page import graph_objects
from ..report.run_page import write_report
from ..training.recipes import recipe_text
from ..training.run import check_folder, train
from ..training.settings import DataOptions, OptimiserOptions, Settings
from ..weights import load_model

MECHANISMS = ("sampled", "none", "dense")
SHOWN = 6  # parts that are named


def main(out: Path, epochs: int, points: int) -> None:
    graph_objects()  # a missing extra is better said now than in five minutes
    begin = time.perf_counter()
    show_cycle()
    print(f"\nThree networks on 1,656 real parts of 18 kinds, {points} points each, epochs: {epochs}, one recipe:")
    runs = {name: out / name for name in MECHANISMS}
    for name, folder in runs.items():
        train_one(name, folder, epochs, points)
    show_accuracy(runs)
    show_answers(runs["sampled"])
    page = out / "report.html"
    write_report(page, runs, "Bricks: sampled attention beside none and dense")
    print(f"\nThe report with curves, confusion matrix and the parts it got wrong: {page}")
    print(f"{time.perf_counter() - begin:.0f} seconds in all. Your own shapes: sampled-transformer train --help")


def show_cycle() -> None:
    torch.manual_seed(0)
    cycle = Cycle.sample(8)
    print("A random cycle through 8 points:")
    print("  " + " -> ".join(map(str, [*cycle.order[0].tolist(), int(cycle.order[0, 0])])))
    print("Who attends to whom (o itself, # its successor), two keys a row instead of eight:")
    for row, successor in enumerate(cycle.successor[0].tolist()):
        print("  " + " ".join("o" if column == row else "#" if column == successor else "." for column in range(8)))


def train_one(name: str, folder: Path, epochs: int, points: int) -> None:
    """Train, go on with what an interrupted demo left, or do nothing where it had finished."""
    print(f"\n{name} attention" if name != "none" else "\nno attention", flush=True)
    settings = demo_settings(name, folder, epochs, points)
    done = folder / "result.json"
    trained = json.loads(done.read_text("utf-8"))["epochs"] if done.is_file() else 0
    if trained > epochs:
        raise ValueError(f"{folder}: trained for {trained} epochs before; give another --out, or remove it")
    if trained == epochs:
        check_folder(folder, settings, resume=True)  # refuses what was made with other options
        print(f"trained before, in {folder}")
        return
    train(settings, resume=(folder / "config.yaml").is_file())


def demo_settings(name: str, folder: Path, epochs: int, points: int) -> Settings:
    recipe: dict[str, Any] = yaml.safe_load(recipe_text(f"basic-{name}"))
    optimiser, data = OptimiserOptions(**recipe.pop("optimiser")), recipe.pop("data")
    recipe.update(epochs=epochs, out=str(folder), optimiser=optimiser)
    return Settings(data=DataOptions("bricks", points=points, **data), **recipe)


def show_accuracy(runs: dict[str, Path]) -> None:
    print("\nAccuracy on the 408 held-out parts after the last epoch:")
    for name, folder in runs.items():
        result = evaluate(folder / "model.safetensors", samples=8)
        figures = ", ".join(f"{100 * row['accuracy']:.1f} % {kind}" for kind, row in result["figures"].items())
        print(f"  {name:8} {figures}")


def show_answers(folder: Path) -> None:
    """What the network says of a few held-out parts, whose names are those of the LDraw library."""
    network, description = load_model(folder / "model.safetensors")
    view = view_of(description, folder)
    pack = load_data("bricks", "test")
    assert pack.names is not None
    assert pack.labels is not None
    some = torch.linspace(0, len(pack) - 1, SHOWN).long().numpy()
    batch = pack.batch(some)
    probabilities = cycle_probabilities(network, *view.transforms()[1](batch.points, batch.normals), samples=8)
    mean, spread = probabilities.mean(0), probabilities.std(0, correction=0)
    print("\nA few of them, averaged over 8 cycles:")
    for row, number in enumerate(some.tolist()):
        answer = int(mean[row].argmax())
        truth = pack.classes[pack.labels[number]]
        said = f"{pack.classes[answer]} ({100 * mean[row, answer]:.0f} % +- {100 * spread[row, answer]:.0f})"
        right = "right" if answer == pack.labels[number] else f"wrong: {truth}"
        print(f"  part {pack.names[number]:12} {said:28} {right}")
