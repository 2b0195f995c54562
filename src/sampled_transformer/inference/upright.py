"""Find out which axis is up in a folder of shapes: ask a network about some of its files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ..data.axes import AXES, STANDARD, Axis, standard_up
from ..data.errors import DataError
from ..support.printable import printable
from .defaults import DEFAULT_TWIN, DEFAULT_WEIGHTS
from .places import files_below
from .prepared import prepare_sides
from .trained_network import TrainedNetwork, load
from .twins import joint_scores

FILES = 48  # that we ask about, spread over the folder


def folder_up(folder: str | Path, network: TrainedNetwork | None = None) -> tuple[Axis | None, str]:
    """The axis that is up in the files of a folder, and how we know, in one line.

    A folder has one axis for all its files, because one program wrote them. We take the one with the highest mean of
    `upright_scores`. The classes of the folder need not be those of the network. Files whose format prescribes an axis
    keep theirs and are not asked about; None, what formats prescribe or else z, is the answer where that is right for
    them and for all others.

    Args:
        folder: The folder of shapes.
        network: A classifier (default: the two of `predict`, as it asks them).
    """
    everything = [path for path in files_below([str(folder)]) if isinstance(path, Path)]
    paths = [path for path in everything if standard_up(path) is None]
    given = {axis for path in everything if (axis := standard_up(path)) is not None}
    where = printable(folder)
    if everything and not paths:
        return None, f"{where}: {', '.join(given)} is up, as the format of all its files prescribes"
    nets = [load(name) for name in (DEFAULT_WEIGHTS, DEFAULT_TWIN)] if network is None else [network]
    who = " and ".join(printable(net.name) for net in nets)
    some = paths[:: max(1, len(paths) // FILES)][:FILES]
    scores = [found for path in some if (found := _scores(nets, path)) is not None]
    if not scores:
        raise DataError(f"{where}: expected a file that can be read, to find out which axis is up, got none")
    means = [sum(column) / len(scores) for column in zip(*scores, strict=True)]
    best = AXES[means.index(max(means))]
    alone = Counter(AXES[one.index(max(one))] for one in scores)[best]
    agreeing = f"for {alone} of {len(scores)} files alone"
    why = f"{where}: {best} taken for up: the likeliest to {who}, {agreeing}"
    if 2 * alone <= len(scores):
        why += ", which is no majority: give the axis if you know it"
    if given <= {best}:
        return best, why
    standard = f"those of {' and '.join(sorted({path.suffix for path in everything} & STANDARD.keys()))}"
    if best == "z":
        return None, f"{why}; {standard} keep the axis that their format prescribes"
    expected = f"expected one axis for all files, but {standard} prescribe another: pack them apart, or give the axis"
    raise DataError(f"{why}; {expected}")


def _scores(nets: Sequence[TrainedNetwork], path: Path) -> Sequence[float] | None:
    """How upright the shape stands with each axis up, to one or two networks; None if the file cannot be read."""
    net, *twins = nets
    try:
        sides, _ = prepare_sides(net.view, path, up="auto")
    except DataError:  # whoever reads the folder will say so
        return None
    (scores,) = joint_scores(net, twins[0], sides, 1) if twins else net.side_scores(sides, 1)
    found: list[float] = scores.tolist()
    return found
