"""The commands of the laboratory, which the program finds by name."""

from __future__ import annotations

from typing import Any

from .bench import bench
from .tables import tables_list, tables_make, tables_page
from .theory import theory

COMMANDS: dict[str, Any] = {
    "bench": bench,
    "theory": theory,
    "tables": {
        "_help": "Measure the paper's tables.",
        "list": tables_list,
        "make": tables_make,
        "page": tables_page,
    },
}
