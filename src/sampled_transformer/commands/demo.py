"""The command `demo`: a tour in about five minutes."""

from __future__ import annotations

import json
import time
from pathlib import Path

from ..support.printable import printable
from .extras import training_module

MECHANISMS = ("sampled", "none", "dense")
SHOWN = 6  # parts whose answers are printed


def demo(out: str = "runs/demo", epochs: int = 8, points: int = 256, largest: int = 100_000) -> None:
    """Train three small networks on the shipped parts, in about five minutes, and write a report.

    Args:
        out: Folder for the runs and report.html; a demo that was stopped continues in it.
        epochs: Epochs per network.
        points: Points per part.
        largest: Points of the largest set whose time and memory are measured at the end; 0 measures none.
    """
    if largest < 0:
        raise ValueError(f"largest: expected at least 0, got {largest}")
    training_module("training.run")
    from ..report.page import graph_objects
    from ..report.run_page import write_report

    graph_objects()  # report a missing extra now, not in five minutes
    begin = time.perf_counter()
    _show_cycle()
    print(f"\nThree networks on 1,656 real parts of 18 kinds, {points} points each, epochs: {epochs}, one recipe:")
    runs = {name: Path(out, name) for name in MECHANISMS}
    for name, folder in runs.items():
        _train_one(name, folder, epochs, points)
    _show_accuracy(runs)
    _show_answers(runs["sampled"])
    page = Path(out, "report.html")
    first, last = _show_large_sets(runs, points, largest) if largest else ([], [])
    write_report(page, runs, "Bricks: sampled attention compared with none and dense", first, last)
    print(f"\nThe report with curves, confusion matrix and the wrong answers: {page}")
    print(f"{time.perf_counter() - begin:.0f} seconds in all. Your own shapes: sampled-transformer train --help")


def _show_cycle() -> None:
    import torch

    from ..cycles import Cycle

    torch.manual_seed(0)
    cycle = Cycle.sample(8)
    print("A random cycle through 8 points:")
    print("  " + " -> ".join(map(str, [*cycle.order[0].tolist(), int(cycle.order[0, 0])])))
    print("Who attends to whom (o itself, # its successor), two keys per row instead of eight:")
    for row, successor in enumerate(cycle.successor[0].tolist()):
        print("  " + " ".join("o" if column == row else "#" if column == successor else "." for column in range(8)))


def _train_one(name: str, folder: Path, epochs: int, points: int) -> None:
    """Train, continue what an interrupted demo left, or do nothing if it had finished."""
    from ..training.run import train
    from ..training.run_folder import check_folder
    from ..training.settings import Settings

    print(f"\n{name} attention" if name != "none" else "\nno attention", flush=True)
    data = {"source": "bricks", "points": points}
    settings = Settings.from_recipe(f"basic-{name}", out=str(folder), epochs=epochs, data=data)
    done = folder / "result.json"
    trained = json.loads(done.read_text("utf-8"))["epochs"] if done.is_file() else 0
    if trained > epochs:
        least = f"at least {trained}, because {printable(folder)} was trained for {trained}; or choose another --out"
        raise ValueError(f"epochs: expected {least}, got {epochs}")
    if trained == epochs:
        check_folder(folder, settings, resume=True)  # refuses a run with other options
        print(f"trained before, in {folder}")
        return
    train(settings, resume=(folder / "config.yaml").is_file())


def _show_accuracy(runs: dict[str, Path]) -> None:
    from ..inference.evaluation import evaluate

    print("\nAccuracy on the 408 held-out parts after the last epoch:")
    for name, folder in runs.items():
        result = evaluate(folder / "model.safetensors", samples=8)
        figures = ", ".join(f"{100 * row['accuracy']:.1f} % {kind}" for kind, row in result["figures"].items())
        print(f"  {name:8} {figures}")


def _show_large_sets(runs: dict[str, Path], points: int, largest: int) -> tuple[list[str], list[str]]:
    """Say what the comparison above does not show, and measure where linear cost matters; returns it for the page."""
    from ..inference.large_sets import measure, table
    from ..report.large_sets_page import sections, small_sets

    print("\nWith so few points, sampled attention takes about as long as dense attention and is less accurate.")
    print("Linear cost matters for large sets. The same two networks, one set, one pass, measured now:", flush=True)
    sizes = [max(1, largest // part) for part in (16, 8, 4, 2, 1)]
    networks = {name: runs[name] / "model.safetensors" for name in ("sampled", "dense")}
    rows = list(measure(networks, sizes))
    print(table(rows, largest))
    small = list(measure(networks, [points]))
    results = {name: json.loads((runs[name] / "result.json").read_text("utf-8")) for name in networks}
    accuracies = {name: result["figures"]["last epoch"]["test_accuracy"] for name, result in results.items()}
    return [small_sets(small, accuracies, points)], sections(rows, largest)


def _show_answers(folder: Path) -> None:
    """Print the answers for a few held-out parts, by their names in the LDraw library."""
    import torch

    from ..data import load_data
    from ..inference.temperature import temperature_of
    from ..inference.trained import cycle_probabilities, view_of
    from ..weights import load_model

    network, description = load_model(folder / "model.safetensors")
    view = view_of(description, folder)
    pack = load_data("bricks", "test")
    assert pack.names is not None
    assert pack.labels is not None
    some = torch.linspace(0, len(pack) - 1, SHOWN).long().numpy()
    batch = pack.batch(some)
    seen = view.transforms()[1](batch.points, batch.normals)
    probabilities = cycle_probabilities(network, *seen, samples=8, temperature=temperature_of(description, folder))
    mean, spread = probabilities.mean(0), probabilities.std(0, correction=0)
    print("\nA few of them, averaged over 8 cycles:")
    for row, number in enumerate(some.tolist()):
        answer = int(mean[row].argmax())
        truth = pack.classes[pack.labels[number]]
        said = f"{pack.classes[answer]} ({100 * mean[row, answer]:.0f} % +- {100 * spread[row, answer]:.0f})"
        right = "right" if answer == pack.labels[number] else f"wrong: {truth}"
        print(f"  part {pack.names[number]:12} {said:28} {right}")
