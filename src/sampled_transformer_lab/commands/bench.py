"""The command `bench`: time and memory of attention on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any


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
    """Measure time and memory of sampled attention beside its rivals, and draw them over the number of points.

    Args:
        points: Sizes of the sets, such as "[256,1024]" (default: 256 to 65,536, and 1,048,576 where it fits).
        mechanisms: Rows of the tables, such as "[sampled,dense]" (default: all).
        levels: Any of core (attention on q, k, v alone), layer (with its projections), block and network (the basic
            one) (default: all).
        passes: Any of forward and both, which is forward and backward (default: all).
        batch: Sets per call (default: 8).
        heads: Attention heads (default: 8).
        head_dim: Width of a head (default: 32).
        repeats: Repetitions, whose median is reported (default: 7, fewer for calls of more than half a second).
        limit: Seconds that one call may take; slower ones are left out (default: 10).
        memory: Measure memory too, each row in a fresh process.
        preset: Name of a benchmark, paper-memory (the table of the paper) or quick; other options override it.
        threads: CPU threads (default: as torch chooses).
        device: Device, such as cpu or cuda (default: cpu).
        out: Folder for bench.json and, if plotly is installed, bench.html.
    """
    from dataclasses import replace
    from importlib.util import find_spec
    from json import dumps

    import torch
    from tqdm import tqdm

    from sampled_transformer.support.atomic import atomic_write
    from sampled_transformer.support.registry import look_up

    from ..bench.study import PRESETS, Plan, run
    from ..bench.tables import tables

    plan = Plan() if preset is None else look_up("preset", preset, PRESETS)
    sizes = given(batch=batch, heads=heads, head_dim=head_dim, device=device)
    changes = given(points=points, mechanisms=mechanisms, levels=levels, passes=passes, repeats=repeats, limit=limit)
    plan = replace(plan, **changes, memory=plan.memory and memory, setting=replace(plan.setting, **sizes))
    if plan.setting.device != "cpu" and not torch.accelerator.is_available():
        raise ValueError(f"device: expected cpu, because there is no GPU here, got {plan.setting.device}")
    if threads is not None:
        if threads < 1:
            raise ValueError(f"threads: expected at least 1, got {threads}")
        torch.set_num_threads(threads)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    with tqdm(total=plan.steps(), unit="measurement", disable=None, leave=False) as bar:
        result = run(plan, bar.update)
    result["command"] = "sampled-transformer bench" + "".join(
        f" --{name} {dumps(value, separators=(',', ':')) if isinstance(value, list) else value}"
        for name, value in given(preset=preset, **changes, **sizes, threads=threads).items()
    )
    result["command"] += "" if memory else " --no-memory"
    with atomic_write(folder / "bench.json") as file:
        file.write((dumps(result, indent=1) + "\n").encode("utf-8"))
    print("\n\n".join(tables(result)))
    print(f"\n{folder / 'bench.json'}: written")
    if find_spec("plotly") is not None:
        from ..bench.page import write_page

        write_page(folder / "bench.html", result)
        print(f"{folder / 'bench.html'}: written")
    if result["stopped"]:
        raise KeyboardInterrupt("stopped; the measurements so far are kept")


def given(**options: Any) -> dict[str, Any]:
    """The options that are not None."""
    return {name: value for name, value in options.items() if value is not None}
