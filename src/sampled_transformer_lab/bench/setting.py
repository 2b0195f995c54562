"""The sizes of a benchmark and their defaults. This module does not load torch."""

from __future__ import annotations

from dataclasses import dataclass

REPEATS = 7  # rounds of each measurement
LIMIT = 10.0  # seconds that one call may take


@dataclass(frozen=True)
class Setting:
    """The sizes of one measurement."""

    batch: int = 8
    heads: int = 8
    head_dim: int = 32
    device: str = "cpu"

    @property
    def dim(self) -> int:
        return self.heads * self.head_dim
