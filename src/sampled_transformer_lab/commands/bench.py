"""The command `bench`: time and memory of attention on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from importlib.util import find_spec
from json import dumps
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ..bench.setting import LIMIT, REPEATS, Setting

if TYPE_CHECKING:
    from ..bench.study import Plan


def bench(
    points: list[int] | None = None,
    mechanisms: list[str] | None = None,
    levels: list[str] | None = None,
    passes: list[str] | None = None,
    batch: int | None = None,
    heads: int | None = None,
    head_dim: int | None = None,
    repeats: int | None = None,
    limit: float | None = None,
    memory: bool = True,
    preset: str | None = None,
    threads: int | None = None,
    device: str | None = None,
    out: str = "runs/bench",
) -> None:
    """Measure time and memory of sampled attention and its rivals, and draw them over the number of points.

    Args:
        points: Sizes of the sets, such as "[256,1024]" (default: 256 to 65,536, and 1,048,576 where it fits).
        mechanisms: Rows of the tables, such as "[sampled,dense]" (default: all).
        levels: Any of core (attention on q, k, v alone), layer (with its projections), block and network (the basic
            one) (default: all).
        passes: Any of forward and both, which is forward and backward (default: all).
        batch: Sets per call (default: {batch}).
        heads: Attention heads (default: {heads}).
        head_dim: Width of a head (default: {head_dim}).
        repeats: Repetitions, whose median is reported (default: {repeats}, fewer for calls of more than half a second).
        limit: Seconds that one call may take; slower ones are left out (default: {limit:g}).
        memory: Measure memory too, each row in a fresh process.
        preset: Name of a benchmark, paper-memory (the table of the paper) or quick; other options override it.
        threads: CPU threads (default: as torch chooses).
        device: Device, such as cpu or cuda (default: {device}).
        out: Folder for bench.json and, if plotly is installed, report.html.
    """
    from tqdm import tqdm

    from ..bench.study import run

    sizes = given(batch=batch, heads=heads, head_dim=head_dim, device=device)
    changes = given(points=points, mechanisms=mechanisms, levels=levels, passes=passes, repeats=repeats, limit=limit)
    plan = make_plan(preset, sizes, changes, memory)
    set_threads(threads)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    begin = perf_counter()
    with tqdm(total=plan.steps(), unit="measurement", disable=None, leave=False) as bar:
        result = run(plan, bar.update)
    result["seconds"] = perf_counter() - begin
    result["command"] = command(given(preset=preset, **changes, **sizes, threads=threads), memory)
    show(result, folder)
    if result["stopped"]:
        raise KeyboardInterrupt("stopped; the measurements so far are kept")


# The help shows the defaults, which `Setting` and `Plan` hold; each option is None unless it overrides the preset.
bench.__doc__ = str(bench.__doc__).format(**asdict(Setting()), repeats=REPEATS, limit=LIMIT)


def make_plan(preset: str | None, sizes: Mapping[str, Any], changes: Mapping[str, Any], memory: bool) -> Plan:
    """The plan of a preset, or the usual plan, with changes."""
    import torch

    from sampled_transformer.support.registry import look_up

    from ..bench.study import PRESETS, Plan

    plan = Plan() if preset is None else look_up("preset", preset, PRESETS)
    plan = replace(plan, **changes, memory=plan.memory and memory, setting=replace(plan.setting, **sizes))
    if plan.setting.device != "cpu" and not torch.accelerator.is_available():
        raise ValueError(f"device: expected cpu, because there is no GPU here, got {plan.setting.device}")
    return plan


def set_threads(threads: int | None) -> None:
    """Set the number of CPU threads; None leaves it to torch."""
    import torch

    if threads is None:
        return
    if threads < 1:
        raise ValueError(f"threads: expected at least 1, got {threads}")
    torch.set_num_threads(threads)


def command(options: Mapping[str, Any], memory: bool) -> str:
    """The command that repeats a benchmark."""
    words = ["sampled-transformer bench"]
    for name, value in options.items():
        words.append(f"--{name} {dumps(value, separators=(',', ':')) if isinstance(value, list) else value}")
    return " ".join(words if memory else [*words, "--no-memory"])


def show(result: dict[str, Any], folder: Path) -> None:
    """Print the tables of a result, and write bench.json and, if plotly is installed, report.html."""
    from sampled_transformer.support.atomic import atomic_write

    from ..bench.tables import tables

    with atomic_write(folder / "bench.json") as file:
        file.write((dumps(result, indent=1) + "\n").encode("utf-8"))
    print("\n\n".join(tables(result)))
    print(f"\n{folder / 'bench.json'}: written")
    if find_spec("plotly") is not None:
        from ..bench.page import write_page

        write_page(folder / "report.html", result)
        print(f"{folder / 'report.html'}: written")


def given(**options: Any) -> dict[str, Any]:
    """The options that are not None."""
    return {name: value for name, value in options.items() if value is not None}
