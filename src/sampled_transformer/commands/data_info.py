"""The command `data info`."""

from __future__ import annotations

import sys


def data_info(pack: str, root: str | None = None, shape: int = 0) -> None:
    """Show what a pack holds: counts, classes, extents, and one shape as text.

    Args:
        pack: A pack (a folder or an .npz file), or the name of a data set.
        root: Folder that holds a data set given by name.
        shape: Number of the shape to draw.
    """
    from ..data.preview import describe
    from ..data.repack import load_splits

    print(describe(load_splits(pack, root), shape, braille=_can_show("\u28ff")))


def _can_show(character: str) -> bool:
    try:
        character.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
