"""The claims about time and memory, judged by what the benchmarks wrote to results/bench."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..bench.fit import Exponent, fit
from ..bench.study import LARGE
from .claim import Claim
from .markdown import listed
from .networks import REFUTED, TITLES, faster, fits, judged
from .speed import PAPER_MEMORY

Result = dict[str, Any]
Fitted = dict[tuple[str, str], Exponent]  # by what was timed, and which passes
RIVALS = ("dense", "induced-16", "knn", "stratified")  # the paper's, but sparse, which reads two keys per point too
# These do all the work of `sampled` and more, so where one takes less time, that is noise.
MORE_WORK = ("sampled-4-rounds", "sampled-4-consistent", "sampled-linear-rest")
LEVELS = {"block": "block", "core": "kernel"}
PASSES = {"both": "forward and backward", "forward": "forward pass"}


def costs(results: Path) -> Iterator[Claim]:
    """The claims whose files are there."""
    yield from linear_cost(results / "bench")
    for name, claims in (
        ("networks", linear_networks),
        ("bench", cheapest),
        ("paper-memory", memory),
    ):
        path = results / "bench" / f"{name}.json"
        if path.is_file():
            yield from claims(json.loads(path.read_text("utf-8")))


def linear_cost(folder: Path) -> Iterator[Claim]:
    """How the time of a block and of its kernel grows: from growth.json and, where that has no timings, bench.json."""
    fitted: Fitted = {}
    points = list[int]()
    for one in _read(folder / "growth.json").get("levels", []):
        fitted[LEVELS[one["level"]], PASSES["both"]] = Exponent(one["value"], one["interval"])
        points += [time["points"] for time in one["times"]]
    times = [one for one in _read(folder / "bench.json").get("times", []) if one["mechanism"] == "sampled"]
    for level, passes in dict.fromkeys((one["level"], one["passes"]) for one in times if one["level"] in LEVELS):
        entries = [one for one in times if (one["level"], one["passes"]) == (level, passes) and "seconds" in one]
        found = [(one["points"], one["seconds"]) for one in entries if one["points"] >= LARGE]
        key = LEVELS[level], PASSES[passes]
        if key not in fitted and len(found) > 2:
            fitted[key] = fit(found)
            points += [n for n, _ in found]
    if fitted:
        yield Claim(
            "Time grows linearly with n",
            "speed.md",
            "O(n)",
            _shown(fitted) + _without_timings(folder),
            f"{min(points):,} to {max(points):,} points",
            _judged({key: one.words() for key, one in fitted.items()}),
        )


def _without_timings(folder: Path) -> str:
    """The slopes of attention.json, which kept no timings and so has no intervals."""
    if (folder / "growth.json").is_file():
        return ""
    bars = _read(folder / "attention.json").get("bars", [])
    kept = {row["claim"].partition(",")[0]: row["value"] for row in bars if "exponent of the time" in row["claim"]}
    slopes = [f"{LEVELS[level]} n^{value:.2f}" for level, value in sorted(kept.items())]
    return f" (over more sizes, without an interval: {' and '.join(slopes)})" if slopes else ""


def _read(path: Path) -> Result:
    found: Result = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return found


def linear_networks(result: Result) -> Iterator[Claim]:
    """How the time of whole networks with sampled attention grows, from results/bench/networks.json."""
    rows = [row for row in result["exponents"] if row["mechanism"] == "sampled"]
    fitted: Fitted = {}
    words: dict[tuple[str, str], str] = {}
    parts: dict[str, list[str]] = {}
    for row in rows:
        name = row["network"].replace(", ", " with ")
        fitted[name, TITLES[row["passes"]]] = fits(row, result["times"])["whole"]
        words[name, TITLES[row["passes"]]] = judged(row, result["times"])
        for part in faster(row, result["times"]):
            parts.setdefault(part, []).append(name.partition(" ")[0])
    points = rows[0]["points"]
    bent = listed([f"{part} ({listed(list(dict.fromkeys(names)))})" for part, names in parts.items()])
    yield Claim(
        "Whole networks are linear too",
        "speed.md",
        "O(n)",
        _span(fitted),
        f"{points[0]:,} to {points[-1]:,} points",
        _judged(words) + (f"; parts that seem to grow faster: {bent}" if bent else ""),
    )


def _shown(fitted: Fitted) -> str:
    """The exponents, pass by pass."""
    by_pass: dict[str, list[str]] = {}
    for (name, passes), one in fitted.items():
        by_pass.setdefault(passes, []).append(f"{name} {one}")
    return "; ".join(f"{passes}: {', '.join(found)}" for passes, found in by_pass.items())


def _span(fitted: Fitted) -> str:
    """The smallest and the largest exponent of each pass."""
    by_pass: dict[str, list[tuple[Exponent, str]]] = {}
    for (name, passes), one in fitted.items():
        by_pass.setdefault(passes, []).append((one, name))
    ends = []
    for passes, found in by_pass.items():
        found.sort(key=lambda one: one[0].value)
        shown = [f"{one} ({name})" for one, name in dict.fromkeys((found[0], found[-1]))]
        ends.append(f"{passes} {' to '.join(shown)}")
    return "; ".join(ends)


def _judged(words: dict[tuple[str, str], str]) -> str:
    """The verdicts, each with what it is about; the passes are named where their verdicts differ."""
    by_name: dict[str, dict[str, str]] = {}
    for (name, passes), word in words.items():
        by_name.setdefault(name, {})[passes] = word
    grouped: dict[str, list[str]] = {"confirmed": [], REFUTED: [], "undecided": []}
    for name, found in by_name.items():
        for word in dict.fromkeys(found.values()):
            same = [passes for passes, one in found.items() if one == word]
            grouped[word].append(name if len(same) == len(found) else f"{name} ({' and '.join(same)})")
    if len(grouped["undecided"]) > 2 and (grouped["confirmed"] or grouped[REFUTED]):
        grouped["undecided"] = ["the others"]
    return "; ".join(f"{word} for {listed(names)}" for word, names in grouped.items() if names)


def cheapest(result: Result) -> Iterator[Claim]:
    """Where a rival takes less time than sampled attention in a block, with and without the backward pass."""
    here, sizes = [], set[int]()
    places: dict[str, dict[str, list[str]]] = {"confirmed": {}, REFUTED: {}, "undecided": {}}
    bands = list[str]()
    for passes, title in PASSES.items():
        found, band = ratios(result["times"], passes), noise(result["times"], passes)
        if not found:
            continue
        sizes |= set(found)
        bands.append(f"{1 / band:.2f} ({title})")
        nearest = {points: min(rivals.values()) for points, rivals in found.items()}
        here.append(f"{min(nearest.values()):.2f} to {max(nearest.values()):.2f} times as long ({title})")
        for points, ratio in nearest.items():
            word = REFUTED if ratio < band else "confirmed" if ratio > 1 / band else "undecided"
            places[word].setdefault(title, []).append(f"{points:,}")
    if here:
        yield Claim(
            "Cheaper than all other attention but sparse",
            "speed.md",
            "O(n) against O(n²)",
            f"the cheapest rival takes {listed(here)}",
            f"one block, {min(sizes):,} to {max(sizes):,} points; noise up to a factor of {listed(bands)}",
            _where(places),
        )


def _where(places: dict[str, dict[str, list[str]]]) -> str:
    """The sizes of each verdict, pass by pass; those where nothing is decided are not listed."""
    decided = [
        f"{word} {' and '.join(f'at {listed(sizes)} points ({title})' for title, sizes in found.items())}"
        for word, found in places.items()
        if found and word != "undecided"
    ]
    if places["undecided"]:
        decided.append("undecided elsewhere" if decided else "undecided")
    return "; ".join(decided)


def ratios(times: list[Result], passes: str, names: tuple[str, ...] = RIVALS) -> dict[int, dict[str, float]]:
    """Times of a block as multiples of the time of sampled attention, by the number of points."""
    seconds: dict[int, dict[str, float]] = {}
    for one in times:
        if (one["level"], one["passes"]) == ("block", passes) and one.get("seconds"):
            seconds.setdefault(one["points"], {})[one["mechanism"]] = one["seconds"]
    found = {
        points: {name: taken[name] / taken["sampled"] for name in names if name in taken}
        for points, taken in sorted(seconds.items())
        if "sampled" in taken
    }
    return {points: rivals for points, rivals in found.items() if rivals}


def noise(times: list[Result], passes: str) -> float:
    """The smallest ratio that is noise for certain: one of `MORE_WORK` at any size; at most 0.95.

    The file keeps medians and no single repeats, so this is all that it says about its own noise.
    """
    impossible = [ratio for found in ratios(times, passes, MORE_WORK).values() for ratio in found.values()]
    return min([0.95, *impossible])


def memory(result: Result, points: int = 2048) -> Iterator[Claim]:
    place = result["plan"]["points"].index(points)
    peak = {(one["mechanism"], one["points"]): one.get("peak_bytes") for one in result["memory"]}
    names = ("sampled", "dense-explicit")
    if not all(peak.get((name, points)) for name in names):
        return
    ours, written_out = (peak[name, points] / 1e9 for name in names)
    paper = [PAPER_MEMORY[name][place] for name in names]
    here = f"{ours:.2f} against {written_out:.2f} GB"
    verdict = "confirmed against a written-out matrix" if ours < written_out else "**refuted**"
    size = f"{points:,} points"
    both = [n for n in result["plan"]["points"] if peak.get(("sampled", n)) and peak.get(("dense", n))]
    if both:
        sampled, fused = (peak[name, both[-1]] / 1e9 for name in ("sampled", "dense"))
        here += f"; fused dense {fused:.2f} against {sampled:.2f} GB"
        size += f"; fused: {both[-1]:,} points"
        verdict += "; **refuted** against a fused kernel" if fused <= 1.1 * sampled else ""
    batch = result["plan"].get("setting", {}).get("batch")
    size += f"; one training step of {batch} clouds" if batch else "; one training step"
    yield Claim(
        "Sampled needs less memory than dense", "speed.md", f"{paper[0]} against {paper[1]} GB", here, size, verdict
    )
