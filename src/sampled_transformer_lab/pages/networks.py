"""The section on the time of whole networks over the number of points, from results/bench/networks.json."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sampled_transformer.geometry.farthest import LARGE

from ..bench.fit import LINEAR, Exponent, fit
from ..bench.tables import milliseconds
from .markdown import listed, table

REFUTED = "**refuted**"
KEY = ("network", "passes", "mechanism")
CLEAR = 0.05  # below this share of the time, the exponent of a part is noise
TITLES = {"forward": "forward", "step": "training step"}
NOTES = (
    "Basic network: the max-pool gives at most 256 points per cloud a gradient. With `sampled`, the backward pass of "
    "the block skips the points that get none; with `dense` and `linear` all points get one through keys and values.",
    "Hierarchical network: a stage keeps a quarter of its points, so the first attention sees n / 4 of them.",
    "Autoencoder: one group per 16 points, so that attention grows with the cloud: over n / 16 groups in the decoder, "
    "and over 30 % of them in the encoder. With the usual fixed number of groups its cost would not depend on n.",
    "Farthest points to a fixed share of n compare every choice with every point, which is n² work, and so are the "
    f"neighbours of n / 16 groups. From {LARGE:,} points on, `farthest_points` updates only blocks of points near its "
    "latest choice. Its exponent mixes the times before and after this change.",
)

Row = dict[str, Any]


def networks_section(result: dict[str, Any]) -> Iterator[str]:
    """For each network its times, what follows from them, and the shares of its parts."""
    yield from ("## Whole networks against the number of points", "")
    yield (
        f"Batches of {result['plan']['batch']} clouds, networks of the paper's sizes. Forward is a pass in evaluation; "
        "a training step is forward, backward and AdamW. `sampled` stands in milliseconds, the others as multiples of "
        "its time in the same run. A dash marks what might take longer than the limit of the command. The exponent is "
        f"the slope of log time over log points, fitted to {span(result['exponents'])}, ± half its 95 % interval "
        "(Student, from the residuals, which hold noise and the curve of the true growth). Linear means that the whole "
        f"interval is at most {LINEAR:g} and that no part with a share of at least {100 * CLEAR:.0f} % has a larger "
        "exponent of its own; not linear that all of the interval is above; and else nothing is decided."
    )
    yield ""
    yield (
        "The second table of each network divides the time of one call among its parts: shares in percent at the "
        "largest size, and in brackets the exponent of each part whose share is at least "
        f"{100 * CLEAR:.0f} %. Attention includes its projections. The rest is embeddings, feed-forward layers, norms, "
        "pooling, the loss and the optimiser. A part that grows faster than the whole will dominate in larger clouds."
    )
    yield from ("", *(f"- {note}" for note in NOTES), "")
    for network in dict.fromkeys(entry["network"] for entry in result["times"]):
        times = [entry for entry in result["times"] if entry["network"] == network]
        rows = [row for row in result["exponents"] if row["network"] == network]
        yield from (f"### Network: {network}", "")
        yield from times_table(times, rows)
        yield ""
        for passes in dict.fromkeys(row["passes"] for row in rows):
            yield verdict([row for row in rows if row["passes"] == passes], times)
        yield ""
        yield from shares_table(times, rows)
        yield ""


def span(rows: list[Row]) -> str:
    """The sizes that the exponents were fitted to, where all rows have the same."""
    fitted = {(min(row["points"]), max(row["points"])) for row in rows}
    if len(fitted) != 1:
        return "the largest sizes that were measured"
    [(smallest, largest)] = fitted
    return f"{smallest:,} to {largest:,} points"


def times_table(times: list[Row], rows: list[Row]) -> list[str]:
    sizes = sorted({entry["points"] for entry in times})
    taken = {(entry["passes"], entry["mechanism"], entry["points"]): entry.get("seconds") for entry in times}
    whole = {(row["passes"], row["mechanism"]): plain(fits(row, times)["whole"]) for row in rows}

    def cell(passes: str, mechanism: str, points: int) -> str:
        own, ours = taken.get((passes, mechanism, points)), taken.get((passes, "sampled", points))
        if own is None or ours is None:
            return "-"
        return f"{milliseconds(own)} ms" if mechanism == "sampled" else f"{own / ours:.2f}"

    return table(
        ["mechanism", "pass", *(f"{n:,}" for n in sizes), "exponent"],
        [
            [
                mechanism,
                TITLES[passes],
                *(cell(passes, mechanism, n) for n in sizes),
                whole.get((passes, mechanism), ""),
            ]
            for passes, mechanism in dict.fromkeys((entry["passes"], entry["mechanism"]) for entry in times)
        ],
    )


def fits(row: Row, times: list[Row]) -> dict[str, Exponent]:
    """The exponents of a row and of its parts, each fitted anew, since the file keeps no intervals."""
    key = tuple(row[name] for name in KEY)
    entries = [one for one in times if tuple(one[name] for name in KEY) == key and one["points"] in row["points"]]
    found = {"whole": fit([(one["points"], one["seconds"]) for one in entries])}
    for part in row["exponents"]:
        if part != "whole":
            found[part] = fit([(one["points"], one["seconds"] * one["shares"][part]) for one in entries])
    return found


def plain(exponent: Exponent) -> str:
    return str(exponent).removeprefix("n^")


def judged(row: Row, times: list[Row]) -> str:
    """The verdict on the whole: its own, but no "confirmed" as long as a part seems to grow faster than linearly.

    Such a part outgrows the others in larger clouds, however small the exponent of the sum is today.
    """
    word = fits(row, times)["whole"].words()
    return "undecided" if word == "confirmed" and faster(row, times) else word


def verdict(rows: list[Row], times: list[Row]) -> str:
    """Which mechanisms keep the network linear, and which parts do not where sampled attention is used."""
    claims = []
    for word, title in (("confirmed", "linear"), (REFUTED, "not linear"), ("undecided", "undecided")):
        found = [row for row in rows if judged(row, times) == word]
        names = [f"`{row['mechanism']}` ({fits(row, times)['whole']})" for row in found]
        claims += [f"{title} with {listed(names)}"] if names else []
    text = f"- {TITLES[rows[0]['passes']].capitalize()}: {'; '.join(claims)}."
    return text + "".join(culprits(row, times) for row in rows if row["mechanism"] == "sampled")


def culprits(row: Row, times: list[Row]) -> str:
    """The parts that seem to grow faster than linearly, with their share at the largest size."""
    grows, shares = fits(row, times), largest(row, times)["shares"]
    found = [f"{part} ({100 * shares[part]:.0f} % of the time, {grows[part]})" for part in faster(row, times)]
    return f" With `sampled`, the parts that seem to grow faster are {listed(found)}." if found else ""


def faster(row: Row, times: list[Row]) -> list[str]:
    """The parts with a share of the time whose own exponent is above `LINEAR`, whatever its interval."""
    grows, shares = fits(row, times), largest(row, times)["shares"]
    return [part for part, share in shares.items() if share >= CLEAR and part in grows and grows[part].value > LINEAR]


def largest(row: Row, times: list[Row]) -> Row:
    """The entry of a row at its largest size."""
    key = (*(row[name] for name in KEY), max(row["points"]))
    [entry] = [entry for entry in times if tuple(entry[name] for name in (*KEY, "points")) == key]
    return entry


def shares_table(times: list[Row], rows: list[Row]) -> list[str]:
    entries = [(row, largest(row, times)) for row in rows]
    parts = [part for part in entries[0][1]["shares"] if any(entry["shares"][part] > 0 for _, entry in entries)]

    def cell(row: Row, share: float, part: str) -> str:
        known = share >= CLEAR and part in row["exponents"]
        return f"{100 * share:.0f} ({plain(fits(row, times)[part])})" if known else f"{100 * share:.0f}"

    return table(
        ["mechanism", "pass", "points", *parts],
        [
            [
                row["mechanism"],
                TITLES[row["passes"]],
                f"{entry['points']:,}",
                *(cell(row, entry["shares"][part], part) for part in parts),
            ]
            for row, entry in entries
        ],
    )
