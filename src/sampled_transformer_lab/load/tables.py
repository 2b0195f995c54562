"""The figures of the load tests in docs/reliability.md, from the files in results/.

python -m sampled_transformer_lab.load.tables docs/reliability.md
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from sampled_transformer.support.atomic import atomic_write

BEGIN = "<!-- load: written by `python -m sampled_transformer_lab.load.tables` -->\n"
END = "<!-- end of load -->"
TASKS = {
    "predict": "`predict`",
    "scene": "`segment predict`, network of scenes, tiles",
    "shape": "`segment predict`, `brick-parts`, subsets",
}


def with_tables(page: str, results: Path) -> str:
    """The page with the figures in their place."""
    load, scans, files, speed = (
        json.loads((results / name).read_text("utf-8"))
        for name in ("faults/load.json", "bench/large-scans.json", "bench/many-files.json", "bench/predict.json")
    )
    before, rest = page.split(BEGIN)
    text = "\n".join([*_page(load), "", *_scans(scans), "", *_files(files), "", *_speed(speed), ""])
    return before + BEGIN + text + END + rest.split(END)[1]


def _page(found: dict[str, Any]) -> list[str]:
    lines = [
        f"The live page, {found['clients']} visitors at once, {found['visits']} visits, {found['uploads']:,} uploads "
        f"in {found['seconds']:,.0f} s:",
        "",
        "| upload | number | shown | refused | no answer | seconds to answer: median | 95 % | largest |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for kind, row in sorted(found["kinds"].items()):
        outcomes = [row["outcomes"].get(name, 0) for name in ("shown", "refused", "nothing")]
        cells = [kind, row["uploads"], *outcomes, *row["seconds"].values()]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    memory, after = found["memory"], found["after"]
    lines += [
        "",
        f"Memory of all its processes: {memory['before']:,.0f} MB after the first visitor, at most "
        f"{memory['peak']:,.0f} MB ({memory['peak_of_first_half']:,.0f} MB in the first half of the time, "
        f"{memory['peak_of_second_half']:,.0f} MB in the second), {memory['after']:,.0f} MB when all had left. Then "
        f"there were {after['processes']} processes, {after['threads']} threads, {after['temporary_files']} temporary "
        f"files and {after['open_files']} open files ({found['before']['processes']}, {found['before']['threads']}, "
        f"{found['before']['temporary_files']} and {found['before']['open_files']} before).",
    ]
    return lines


def _scans(found: dict[str, Any]) -> list[str]:
    lines = [
        f"Large files (`--memory {found['memory_option']:g}` for `segment predict`):",
        "",
        "| command | format | points | file, MB | most memory, MB | seconds | seconds of processor time |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in sorted(found["rows"], key=lambda row: (row["task"], row["format"], row["points"])):
        cells = [TASKS[row["task"]], row["format"].upper(), f"{row['points']:,}", f"{row['file_megabytes']:,.0f}"]
        cells += [f"{row[name]:,.0f}" for name in ("peak_megabytes", "seconds", "processor_seconds")]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _files(found: dict[str, Any]) -> list[str]:
    lines = [
        "`predict` over many files, two workers:",
        "",
        "| files | answered | seconds | most memory in each quarter of the time, MB |",
        "|---|---|---|---|",
    ]
    for row in found["rows"]:
        quarters = ", ".join(f"{size:,.0f}" for size in row["peak_of_each_quarter"])
        lines.append(f"| {row['files']:,} | {row['rows']:,} | {row['seconds']:,.0f} | {quarters} |")
    return lines


def _speed(found: dict[str, Any]) -> list[str]:
    lines = [
        f"Speed of `predict` with {found['files']} small meshes, {found['cores']} cores, other programs with a load of "
        f"{found['load_before']:g}:",
        "",
        "| run | files per pass | files per second, each round | times one by one | processor time per file, ms |",
        "|---|---|---|---|---|",
    ]
    for row in found["rows"]:
        rates, ratios = (", ".join(map(str, row[name])) for name in ("files_per_second", "ratios"))
        lines.append(
            f"| {row['name']} | {row['batch']} | {rates} | {ratios} | {row['processor_milliseconds_per_file']:.1f} |"
        )
    return lines


def main(words: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path)
    parser.add_argument("--results", type=Path, default=Path("results"))
    chosen = parser.parse_args(words)
    text = with_tables(chosen.page.read_text("utf-8"), chosen.results)
    with atomic_write(chosen.page) as file:
        file.write(text.encode("utf-8"))


if __name__ == "__main__":
    main()
