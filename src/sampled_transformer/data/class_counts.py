"""Classes that have no shape in a split: nothing is learnt about them, or nothing is measured."""

from __future__ import annotations

import numpy as np

from ..support.printable import printable
from ..support.registry import listing
from .pack import Pack


def lines_about_missing(train: Pack, test: Pack) -> list[str]:
    """At most two lines: which classes have no training shape, and which have no test shape."""
    lines = []
    for pack, word in ((train, "training"), (test, "test")):
        names = missing_classes(pack)
        if names:
            many = f"{len(names)} classes have no {word} shape: {listing(names)}"
            lines.append(f"class '{names[0]}' has no {word} shape" if len(names) == 1 else many)
    return lines


def missing_classes(pack: Pack) -> list[str]:
    """The names of the classes without a shape; none if labels are numbers."""
    if pack.labels is None or pack.has_numbers:
        return []
    counts = np.bincount(pack.labels, minlength=len(pack.classes))
    return [printable(pack.classes[number]) for number in np.flatnonzero(counts == 0)]
