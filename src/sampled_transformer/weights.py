"""Self-describing weights files: weights, configuration and class names in one `.safetensors` file.

The metadata holds five texts: `format`, `model` (a name), and as JSON `options`, `classes` and `notes`. Tensors whose
names begin with `beside.` do not belong to the network; `inference/familiarity.py` says what they are. Files without
them load as before.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch
from torch import nn

from .models.described import Stored, build_described, check_description
from .support.atomic import atomic_write
from .support.printable import brief, one_line, printable
from .support.registry import did_you_mean
from .support.safetensors_file import in_fixed_order
from .support.trees import check_nesting

FORMAT = "sampled-transformer 1"
BESIDE = "beside."  # how the names of tensors begin that are not the network's
LONGEST = 1 << 21  # letters of metadata: JSON takes up to thirty times as much memory as its text
MOST_DIGITS = 20  # of a whole number in the metadata
DEEPEST = 32  # levels of nesting in the metadata
FILE = "model.safetensors"  # the weights in a run folder, and in a repository on the Hugging Face Hub


class WeightsError(ValueError):
    """A weights file that cannot be used. The message is one line: `path: problem`."""

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))


@dataclass(frozen=True)
class Description:
    """The metadata of a weights file."""

    model: str  # name for create_model
    options: Mapping[str, Any]  # options for create_model
    classes: Sequence[str] = ()  # class names
    notes: Mapping[str, Any] = field(default_factory=dict)  # how it was trained, and its results


def list_pretrained() -> list[str]:
    """The names of the weights that ship with the package: what `load` and `create_model(pretrained=...)` take."""
    folder = files("sampled_transformer") / "weights_shipped"
    if not folder.is_dir():
        return []
    return sorted(Path(item.name).stem for item in folder.iterdir() if item.name.endswith(".safetensors"))


def find_weights(name: str | Path) -> Path:
    """The weights file for a path, a run folder, the name of weights that ship with the package, or "owner/name".

    The last is a repository on the Hugging Face Hub. We ask for it only if there is no folder called "owner" here, and
    "owner" is not "runs", where our commands put runs: a mistyped path is no reason to ask the network.
    """
    if not isinstance(name, str | Path):
        raise WeightsError(f"weights: expected a name, a run folder or a file, got {type(name).__name__}")
    path = Path(name)
    if path.is_dir():
        return path / FILE
    if path.is_file():
        return path
    if str(name) in list_pretrained():
        return Path(str(files("sampled_transformer") / "weights_shipped" / f"{name}.safetensors"))
    is_repository = re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", str(name)) and path.parent != Path("runs")
    if is_repository and not path.parent.is_dir():
        return download_weights(str(name))
    raise WeightsError(f"{_nowhere(str(name))}{did_you_mean(str(name), list_pretrained())}")


def download_weights(repository: str, **options: Any) -> Path:
    """The weights file of a repository on the Hugging Face Hub, from the local cache if it is there already.

    Args:
        repository: "owner/name".
        options: of `huggingface_hub.hf_hub_download`, such as `revision`.
    """
    try:
        from huggingface_hub import hf_hub_download
    except ImportError:
        install = 'to look on the Hugging Face Hub: pip install "sampled-transformer[hub]"'
        raise WeightsError(f"{_nowhere(repository)}; {install}") from None
    try:
        return Path(hf_hub_download(repository, FILE, **options))
    except (OSError, ValueError) as error:  # every failure of the Hub is one of them
        raise not_on_the_hub(repository, error) from None


def not_on_the_hub(repository: str, error: Exception) -> WeightsError:
    """The error for a repository that could not be loaded."""
    reason = " ".join(str(error).split()).partition(". ")[0]
    return WeightsError(f"{_nowhere(repository)}, nor found on the Hugging Face Hub ({reason})")


def _nowhere(name: str) -> str:
    return f"{printable(name)}: no such file, run folder or shipped weights ({', '.join(list_pretrained())})"


def save_model(
    network: nn.Module, path: str | Path, description: Description, beside: Mapping[str, torch.Tensor] | None = None
) -> None:
    """Write the network atomically: after a crash there is the old file or none.

    `beside` are tensors that do not belong to the network, such as statistics of its features; see `load_beside`.
    """
    own = network.state_dict()
    _write(path, description, own | {f"{BESIDE}{name}": tensor for name, tensor in (beside or {}).items()})


def add_to_model(
    path: str | Path, out: str | Path, notes: Mapping[str, Any], beside: Mapping[str, torch.Tensor]
) -> None:
    """Copy a weights file with further notes and with these tensors beside the network; its own stay bit for bit."""
    description, tensors = _read(find_weights(path), "")
    own = {name: tensor for name, tensor in tensors.items() if not name.startswith(BESIDE)}
    description = replace(description, notes={**description.notes, **notes})
    _write(out, description, own | {f"{BESIDE}{name}": tensor for name, tensor in beside.items()})


def _write(path: str | Path, description: Description, tensors: Mapping[str, torch.Tensor]) -> None:
    from safetensors.torch import save

    metadata = {
        "format": FORMAT,
        "model": description.model,
        "options": json.dumps(dict(description.options), sort_keys=True),
        "classes": json.dumps(list(description.classes)),
        "notes": json.dumps(dict(description.notes), sort_keys=True),
    }
    data = save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, metadata)
    with atomic_write(path) as file:
        file.write(in_fixed_order(data))


def describe_model(path: str | Path) -> Description:
    """Read the metadata of a file, run folder or name, without its weights."""
    return _read(find_weights(path))[0]


def digest_weights(path: str | Path) -> str:
    """A digest of a weights file, run folder or name: equal if and only if the file is, to the bit."""
    with open(find_weights(path), "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def load_beside(path: str | Path) -> dict[str, torch.Tensor]:
    """The tensors of a file, run folder or name that do not belong to the network, by name, on the CPU."""
    tensors = _read(find_weights(path), BESIDE)[1]
    return {name.removeprefix(BESIDE): tensor for name, tensor in tensors.items()}


def load_model(path: str | Path, device: torch.device | str = "cpu") -> tuple[nn.Module, Description]:
    """Load the network of a file, run folder or name, in evaluation mode. Nothing in the file can run code.

    The names, shapes and types of all tensors are compared with the description before anything is allocated, so that
    loading takes at most a small multiple of the file's size, whatever it describes; see `models.described`.
    """
    path = find_weights(path)
    with _opened(path, device) as file:
        description = _describe(file, path)
        outputs = description.options.get("classes", len(description.classes))
        if description.classes and outputs != len(description.classes):
            found = f"expected {brief(str(outputs))} class names, got {len(description.classes)}"
            raise WeightsError(f"{printable(path)}: {found}")
        stored = {name: _stored(file, name) for name in _names(file) if not name.startswith(BESIDE)}
        try:
            network = build_described(description.model, description.options, stored, path.stat().st_size)
        except ValueError as error:
            raise WeightsError(f"{printable(path)}: {error}") from None
        network = network.to(device)
        own = network.state_dict()
        network.load_state_dict({name: file.get_tensor(name).to(own[name].dtype) for name in stored})
    return network.eval(), description


@contextmanager
def _opened(path: Path, device: torch.device | str = "cpu") -> Iterator[Any]:
    """The open file; what safetensors says about a damaged one becomes a WeightsError that names it."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        expected = f"; expected weights, or the folder of a run with {FILE}"
        raise WeightsError(f"{printable(path)}: no such file{expected}")
    try:
        with safe_open(path, "pt", device=str(device)) as file:
            yield file
    except SafetensorError as error:
        reason = brief(str(error), 200)
        raise WeightsError(f"{printable(path)}: not a complete .safetensors file ({reason})") from None


def _names(file: Any) -> list[str]:
    return list(file.keys())


def _stored(file: Any, name: str) -> Stored:
    tensor = file.get_slice(name)
    return Stored(tensor.get_dtype(), tuple(tensor.get_shape()))


def _read(path: Path, prefix: str | None = None) -> tuple[Description, dict[str, torch.Tensor]]:
    """The description and, if a prefix is given, the tensors whose names begin with it, on the CPU."""
    with _opened(path) as file:
        description = _describe(file, path)
        names = [] if prefix is None else [name for name in _names(file) if name.startswith(prefix)]
        return description, {name: file.get_tensor(name) for name in names}


def _describe(file: Any, path: Path) -> Description:
    metadata = file.metadata() or {}
    if metadata.get("format") != FORMAT:
        found = metadata.get("format")
        found = None if found is None else brief(found)
        raise WeightsError(f"{printable(path)}: expected the format {FORMAT!r} in its metadata, got {found!r}")
    length = sum(map(len, metadata.values()))
    if length > LONGEST:
        raise WeightsError(f"{printable(path)}: expected metadata of at most {LONGEST:,} letters, got {length:,}")
    try:
        texts = (metadata[key] for key in ("options", "classes", "notes"))
        options, classes, notes = (json.loads(text, parse_int=_whole) for text in texts)
        if not isinstance(options, dict) or not isinstance(classes, list) or not isinstance(notes, dict):
            raise TypeError
        if not all(isinstance(name, str) for name in classes):
            raise TypeError
        for tree in (options, notes):
            check_nesting(tree, DEEPEST)
        description = Description(metadata["model"], options, tuple(classes), notes)
    except (KeyError, TypeError, ValueError, RecursionError):
        raise WeightsError(f"{printable(path)}: expected metadata written by save_model, got something else") from None
    try:
        check_description(description.model, options)
    except ValueError as error:
        reason = brief(str(error), 300)
        raise WeightsError(f"{printable(path)}: cannot build the network that it describes ({reason})") from None
    return description


def _whole(digits: str) -> int:
    """A whole number of JSON; one that no file of ours has would not fit a float or a tensor."""
    if len(digits) > MOST_DIGITS:
        raise ValueError
    return int(digits)


def add_notes(path: str | Path, notes: Mapping[str, Any]) -> None:
    """Add to the notes of a weights file, atomically. Its tensors stay as they are, to the bit."""
    path = find_weights(path)
    description, tensors = _read(path, "")
    _write(path, replace(description, notes={**description.notes, **notes}), tensors)
