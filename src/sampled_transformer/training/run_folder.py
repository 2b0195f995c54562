"""The folder of a run, before anything is written to it."""

from __future__ import annotations

from pathlib import Path

from ..support.printable import printable


def config_to_resume(folder: Path, resume: bool) -> Path | None:
    """The configuration of the run that goes on, None for a new one; refuses to write over a run."""
    config = folder / "config.yaml"
    if not resume:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ValueError(f"{printable(folder)}: exists already; choose another --out, or --resume the run in it")
        return None
    if not config.is_file():
        raise ValueError(f"{printable(folder)}: no run to resume (there is no config.yaml)")
    return config


def check_unchanged(folder: Path, differing: list[str]) -> None:
    """Refuse to go on with a run that was made with other options."""
    if differing:
        raise ValueError(f"{differing[0]}: expected what the run in {printable(folder)} was started with, to resume it")
