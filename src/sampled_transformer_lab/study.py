"""What a table of the paper is made of: its rows, the command of each, and which rows are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Row:
    """One row of a table: one run per seed.

    Args:
        command: arguments of the program. {root} stands for the folder of the data set, {runs} for the folder of the
            study's runs, and {seed} for the seed. `reproduce` adds --seed, and --out with the run's folder.
        seeds: number of runs, with the seeds 0, 1, 2, ...
        after: the row whose run must be finished before this one starts.
        prints: the command prints its result, so it gets --json instead of --out.
        seeded: the command takes --seed.
        paper: the paper's figures, by name.
        bar: the value that the headline should reach.
        shown: what a table calls the row (default: its name without the first word).
        compared: whether the row is compared with the study's own.
    """

    command: str
    seeds: int = 1
    after: str | None = None
    prints: bool = False
    seeded: bool = True
    paper: Mapping[str, float] = field(default_factory=dict)
    bar: float | None = None
    shown: str = ""
    compared: bool = True

    @property
    def needs_root(self) -> bool:
        """Whether the run reads a data set that does not come with the package."""
        return "{root}" in self.command


Kind = Literal["classification", "clustering", "autoencoder", "calibration", "search", "segmentation"]


@dataclass(frozen=True)
class Study:
    """One table.

    Args:
        title: heading of its page.
        rows: its rows, by name.
        kind: how its page is laid out.
        ours: the row that all others are compared with. With `rival`, the prefix of our rows.
        rival: the prefix of the rival rows; "ours-x" is then compared with "rival-x".
        subject: what a sentence calls `ours`.
        versus: further pairs of rows to compare.
        trends: pairs of rows that differ in their number of points alone, the one with more points first.
        borrowed: rows of other studies, as (study, row), that are shown and compared too.
        paper_column: the setting of the paper's figures, shown in the heading of their column.
        note: text above the table.
        keyed_by: what the network's choices in evaluation follow, see `sampled_transformer.key_by`. Results from before
            these followed the points were made by "places", and are made again like that.
    """

    title: str
    rows: Mapping[str, Row]
    kind: Kind = "classification"
    ours: str = ""
    rival: str = ""
    subject: str = "sampled"
    versus: Sequence[tuple[str, str]] = ()
    trends: Sequence[tuple[str, str]] = ()
    borrowed: Sequence[tuple[str, str]] = ()
    paper_column: str = ""
    note: str = ""
    keyed_by: Literal["points", "places"] = "points"

    @property
    def needs_root(self) -> bool:
        """Whether a run reads a data set that does not come with the package."""
        return any(row.needs_root for row in self.rows.values())

    def runs(self) -> list[tuple[str, int]]:
        """All runs as (row, seed). The first seed of every row comes before the second seed of any row."""
        seeds = range(max(row.seeds for row in self.rows.values()))
        return [(name, seed) for seed in seeds for name, row in self.rows.items() if seed < row.seeds]

    def pairs(self) -> list[tuple[str, str]]:
        """The rows to compare: ours with each other row or the rival row of the same suffix, and `versus`."""
        if not self.ours:
            return list(self.versus)
        if not self.rival:
            rivals = {name: row for name, row in self.rows.items() if name != self.ours}
            own = [name for name, row in rivals.items() if row.compared and not row.prints]
            return [*((self.ours, name) for name in (*own, *(row for _, row in self.borrowed))), *self.versus]
        names = [(name, self.rival + name.removeprefix(self.ours)) for name in self.rows if name.startswith(self.ours)]
        return [*(pair for pair in names if pair[1] in self.rows), *self.versus]
