"""Find out which axis is up in a folder of shapes: ask a network about some of its files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ..data.axes import AXES, Axis
from ..data.errors import DataError
from ..support.printable import printable
from .defaults import DEFAULT_WEIGHTS
from .places import files_below
from .prepared import prepare_sides
from .trained_network import TrainedNetwork, load, upright_scores

FILES = 48  # that we ask about, spread over the folder


def folder_up(folder: str | Path, network: TrainedNetwork | None = None) -> tuple[Axis, str]:
    """The axis that is up in the files of a folder, and how we know, in one line.

    A folder has one axis for all its files, because one program wrote them. We take the one with the highest mean of
    `upright_scores`. The classes of the folder need not be those of the network.

    Args:
        folder: The folder of shapes.
        network: A classifier (default: that of `predict`).
    """
    net = network or load(DEFAULT_WEIGHTS)
    paths = [path for path in files_below([str(folder)]) if isinstance(path, Path)]
    some = paths[:: max(1, len(paths) // FILES)][:FILES]
    scores = [found for path in some if (found := _scores(net, path)) is not None]
    if not scores:
        raise DataError(
            f"{printable(folder)}: expected a file that can be read, to find out which axis is up, got none"
        )
    means = [sum(column) / len(scores) for column in zip(*scores, strict=True)]
    best = AXES[means.index(max(means))]
    alone = Counter(AXES[one.index(max(one))] for one in scores)[best]
    name = printable(net.name)
    chosen = f"{best} taken for up: the likeliest to {name}, for {alone} of {len(scores)} files alone"
    return best, f"{printable(folder)}: {chosen}"


def _scores(net: TrainedNetwork, path: Path) -> Sequence[float] | None:
    """How upright the shape stands with each axis up; None if the file cannot be read."""
    try:
        (sides,), _ = prepare_sides(net.view, path, up="auto")
    except DataError:  # whoever reads the folder will say so
        return None
    found: list[float] = upright_scores(net.probabilities(sides, samples=1), AXES, net.view.up).tolist()
    return found
