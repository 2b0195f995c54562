"""The commands of the laboratory, one family per file. The program finds them by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .bench import bench
from .figures import figures
from .tables import tables_check, tables_list, tables_make, tables_page
from .theory import theory

FAMILIES = {"tables": "Measure the tables of the paper."}
COMMANDS: dict[str, Callable[..., Any] | dict[str, Callable[..., Any]]] = {
    "bench": bench,
    "figures": figures,
    "theory": theory,
    "tables": {"list": tables_list, "make": tables_make, "check": tables_check, "page": tables_page},
}
