"""The command `data list`."""

from __future__ import annotations


def data_list() -> None:
    """List the data sets with a name, and the formats of your own files."""
    from ..data import SOURCES
    from ..data.files import READERS

    width = max(len(name) for name in SOURCES)
    for name, source in SOURCES.items():
        print(f"{name:{width}}  {source.description}{'' if source.needs_root else ' (no --root needed)'}")
    print(f"\nA folder of your own, class/file, may hold {' '.join(READERS)}.")
