"""Export a trained network to ONNX or to torch's own format, for programs that do not have this package."""

from __future__ import annotations

import json
import logging
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn

from ..attention import SampledAttention, StratifiedAttention
from ..attention.cyclic import CyclicAttention
from ..models.mixture import MixtureNetwork
from ..support.atomic import check_target
from ..support.printable import printable
from ..training.loading import View
from ..weights import Description, WeightsError, find_weights, load_model
from .target import Target, target_of
from .temperature import temperature_of
from .trained import view_of

FORMATS = (".onnx", ".pt2")
TOLERANCE = 1e-4
TRACED_POINTS = 5003  # enough that no stage of a hierarchy is left with a single point, which torch would fix
MIXTURE_POINTS = 300  # of the sets that we try; mixtures have no number of their own
DESCRIPTION = "description.json"  # name of the description inside a .pt2 file
# Stored clouds have points at equal distances and at one place. Random ones do not, and a graph that chooses otherwise
# among equals would pass with them alone.
TIES: dict[str, Callable[[Tensor], Tensor]] = {
    "random": lambda points: points,
    "rounded to 2 decimals": lambda points: (points * 100).round() / 100,
    "a lattice": lambda points: (points * 6).round() / 6,
    "every point twice": lambda points: points[:, torch.arange(points.shape[1]) // 2],
}


class ExportError(ValueError):
    """A network that cannot be exported, or whose exported file gives other answers."""


@dataclass(frozen=True)
class Exported:
    """What `export_network` wrote, and how far the file's answers are from the network's."""

    file: str
    inputs: list[str]
    outputs: list[str]
    fewest: int  # points that a set must have
    difference: float  # the largest, over all outputs and all sets tried, with and without ties
    tried: list[tuple[int, int]]  # sets and points per set of every comparison


def export_network(weights: str | Path, out: str | Path, tolerance: float = TOLERANCE) -> Exported:
    """Write the network of a weights file to `out`, run both, and compare them.

    The number of sets and the number of points per set stay free. The file holds one pass of evaluation: the cycles of
    seed 0, as `network.eval()` walks them. A difference above `tolerance` raises an ExportError and leaves no file.

    Args:
        weights: The folder of a run, a weights file, or the name of shipped weights.
        out: The file to write, `.onnx` or `.pt2`.
        tolerance: Largest difference between an output of the file and of the network.
    """
    out = Path(out)
    check_target("out", out, *FORMATS)
    weights = find_weights(str(weights))
    network, description = load_model(weights)
    if description.model == "mae":
        raise WeightsError(
            f"{printable(weights)}: expected a network with one answer per set, got a 'mae', which masks parts of a "
            "set at random; train a classifier with `train --init` and export that"
        )
    if description.model == "segmenter":
        raise WeightsError(
            f"{printable(weights)}: expected a network with one answer per set, got a 'segmenter', whose grids and "
            "searches for neighbours depend on the points; use it with `segment predict` or in Python"
        )
    reason = _refusal(network)
    if reason is not None:
        raise ExportError(f"{printable(weights)}: cannot be exported: {reason}")
    view = None if isinstance(network, MixtureNetwork) else view_of(description, weights)
    wrapped = _Plain(network, view, target_of(description, weights), temperature_of(description, weights))
    points = MIXTURE_POINTS if view is None else view.points
    program = _trace(wrapped)
    with TemporaryDirectory(dir=out.parent, prefix=f".{out.name[:100]}.") as folder:
        draft = Path(folder) / f"draft{out.suffix}"
        run = (_write_onnx if out.suffix == ".onnx" else _write_pt2)(program, wrapped, description, draft)
        tried = [(1, points), (3, points), (2, wrapped.fewest), (2, points + points // 2 + 1)]
        differences = [_difference(wrapped, run, *sizes, kind) for sizes in tried for kind in TIES]
        difference = torch.tensor(differences, dtype=torch.float64).max().item()  # NaN if one of them is
        if not difference <= tolerance:
            raise ExportError(
                f"{printable(out)}: expected the network's answers to {tolerance:g}, got a difference of "
                f"{difference:.2g}; nothing was written"
            )
        os.replace(draft, out)
    return Exported(str(out), wrapped.inputs, wrapped.outputs, wrapped.fewest, difference, tried)


class _Plain(nn.Module):
    """A network whose inputs and outputs are tensors with names, nothing optional, nothing nested.

    A regression answers in the unit of its target. Logits are divided by the temperature of the network, so that their
    softmax is what `predict` says in one pass.
    """

    def __init__(
        self, network: nn.Module, view: View | None, target: Target | None = None, temperature: float = 1.0
    ) -> None:
        super().__init__()
        self.network, self.target, self.temperature = network, target, temperature
        self.width = network.inputs if isinstance(network, MixtureNetwork) else int(getattr(network, "coordinates", 3))
        reads_normals = view is not None and view.normals
        self.inputs = ["points", "normals"] if reads_normals else ["points"]
        self.outputs = ["log_weights", "means", "deviations"] if isinstance(network, MixtureNetwork) else ["logits"]
        if target is not None:
            self.outputs = ["value"]
        self.fewest = 1

    def forward(self, points: Tensor, normals: Tensor | None = None) -> Tensor | tuple[Tensor, ...]:
        answer = self.network(points) if normals is None else self.network(points, normals)
        if not isinstance(answer, Tensor):
            return tuple(answer)
        if self.target is not None:
            return answer[:, 0] * self.target.deviation + self.target.mean
        return answer if self.temperature == 1 else answer / self.temperature

    def example(self, sets: int, n: int, kind: str = "random") -> tuple[Tensor, ...]:
        """Random sets in the unit cube around the origin, the same for the same sizes, with ties of one kind."""
        source = torch.Generator().manual_seed(1000 * sets + n)
        points, *rest = (torch.rand(sets, n, self.width, generator=source) * 2 - 1 for _ in self.inputs)
        return TIES[kind](points), *rest


def _refusal(network: nn.Module) -> str | None:
    """Why no graph of tensors can hold this network, or None."""
    for layer in network.modules():
        if isinstance(layer, StratifiedAttention):
            return "stratified attention cuts space into windows, and how many there are depends on the points"
        if isinstance(layer, CyclicAttention) and layer.needs_positions:
            return "a space-filling curve through the points is a search, which ONNX has no operators for"
        if isinstance(layer, SampledAttention) and layer.composition == "sequential":
            return "composition='sequential' takes one step per subset, and how many there are depends on the set"
    return None


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the exporters, which warn of torchvision and of each other: nothing that a user can act on."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "torch.export", "torch._export", "onnxscript")]
    before = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def _trace(network: _Plain) -> torch.export.ExportedProgram:
    """One graph for any number of sets and points; what the code around cannot promise for all sizes is an error."""
    sizes: Any = torch.fx.experimental._config
    example = network.example(3, TRACED_POINTS)
    free = {0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO}
    shapes: Any = dict.fromkeys(network.inputs, free)
    try:
        # Without the setting a graph that was traced with more than one point would refuse sets of one.
        with torch.no_grad(), _quiet(), sizes.patch(backed_size_oblivious=True):
            program = torch.export.export(network, example, dynamic_shapes=shapes, strict=False)
    except Exception as error:
        reason = str(error).strip().splitlines()[0]
        raise ExportError(f"the network cannot be exported: torch.export says {reason!r}") from error
    numbers = _sizes(program)
    if not all(isinstance(number, torch.SymInt) for number in numbers):
        fixed = ", ".join(map(str, numbers))
        raise ExportError(f"the network cannot be exported: its graph would hold for one size alone, ({fixed})")
    # torch guards the graph against sizes at which some of its own shortcuts begin, such as one set or one point. The
    # operations hold for them all the same, and `export_network` tries just these sizes.
    program._guards_code = [code for code in program._guards_code if not code.endswith(("!= 1", ">= 2"))]
    network.fewest = max(1, int(program.range_constraints[numbers[1].node.expr].lower))
    return program


def _sizes(program: torch.export.ExportedProgram) -> tuple[Any, Any]:
    """The number of sets and of points per set in the graph."""
    first = next(
        node
        for node in program.graph.nodes
        if node.op == "placeholder" and node.name in program.graph_signature.user_inputs
    )
    shape = first.meta["val"].shape
    return shape[0], shape[1]


def _metadata(description: Description) -> dict[str, str]:
    """What a file of weights says about itself, for the exported file."""
    return {
        "format": "sampled-transformer export 1",
        "model": description.model,
        "options": json.dumps(dict(description.options), sort_keys=True),
        "classes": json.dumps(list(description.classes)),
        "notes": json.dumps(dict(description.notes), sort_keys=True),
    }


def _write_pt2(program: torch.export.ExportedProgram, network: _Plain, description: Description, path: Path) -> Any:
    with _quiet():
        torch.export.save(program, path, extra_files={DESCRIPTION: json.dumps(_metadata(description), indent=1)})
        loaded = torch.export.load(path).module()

    def run(*inputs: Tensor) -> tuple[Tensor, ...]:
        with torch.no_grad():
            return _listed(loaded(*inputs))

    return run


def _write_onnx(program: torch.export.ExportedProgram, network: _Plain, description: Description, path: Path) -> Any:
    try:
        import onnxruntime  # type: ignore[import-untyped]
        import onnxscript  # noqa: F401  torch needs it and says so in ten lines
    except ModuleNotFoundError as error:
        raise ExportError(f'{error.name} is not installed: pip install "sampled-transformer[export]"') from None
    try:
        with torch.no_grad(), _quiet():
            converted: Any = torch.onnx.export(
                program, dynamo=True, verbose=False, input_names=network.inputs, output_names=network.outputs
            )
    except Exception as error:
        reason = str(error).strip().splitlines()[-1]
        raise ExportError(f"the network cannot be written as ONNX: {reason}") from error
    names = dict(zip(map(str, _sizes(program)), ("batch", "n"), strict=True))
    for value in (*converted.model.graph.inputs, *converted.model.graph.outputs):
        value.shape = type(value.shape)([names.get(str(getattr(size, "value", size)), size) for size in value.shape])
    converted.model.metadata_props.update(_metadata(description))
    converted.save(str(path))
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])

    def run(*inputs: Tensor) -> tuple[Tensor, ...]:
        answers = session.run(network.outputs, dict(zip(network.inputs, (x.numpy() for x in inputs), strict=True)))
        return tuple(map(torch.from_numpy, answers))

    return run


def _difference(network: _Plain, run: Any, sets: int, n: int, kind: str) -> float:
    """The largest difference between an output of the file and of the network, for sets of this size and kind."""
    example = network.example(sets, n, kind)
    with torch.no_grad():
        wanted = _listed(network(*example))
    unit = 1.0 if network.target is None else network.target.deviation  # so that the tolerance suits every unit
    found = run(*example)
    return max(float((one - other).abs().max()) / unit for one, other in zip(wanted, found, strict=True))


def _listed(answer: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return (answer,) if isinstance(answer, Tensor) else tuple(answer)
