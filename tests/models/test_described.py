from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.variants import VARIANTS
from safetensors.torch import save_file
from torch.nn.modules.module import register_module_parameter_registration_hook

from sampled_transformer.models import REGISTRY, create_model, list_models
from sampled_transformer.models.described import Stored, _kinds, build_described
from sampled_transformer.support.trees import members
from sampled_transformer.weights import find_weights, list_pretrained, load_model

SMALL = {"classes": 3, "dim": 16, "heads": 2, "hidden": 8, "embedding": 4}
NAMES = {torch.float32: "F32", torch.float16: "F16", torch.int64: "I64", torch.int8: "I8", torch.bool: "BOOL"}


def stored(network: torch.nn.Module) -> dict[str, Stored]:
    return {key: Stored(NAMES[one.dtype], tuple(one.shape)) for key, one in network.state_dict().items()}


def cases() -> list[tuple[str, dict]]:
    """Every network as it is, and the basic one with every mechanism."""
    plain = [(name, {"classes": 3} if takes_classes(name) else {}) for name in list_models()]
    mechanisms = [
        ("basic", {**SMALL, "heads": 4, "attention": attention, "attention_options": options})
        for attention, options in VARIANTS.values()
    ]
    more = [
        ("hierarchical", {"classes": 3, "stages": 2, "attention": "knn", "attention_options": {"vector": True}}),
        ("pyramid", {"classes": 3, "blocks": [1, 0, 2], "attention": "rotary", "gate": True}),
        ("set-transformer", {"classes": 3, "attention_options": {"reading": "rows", "pairs": "shared"}}),
        ("mae", {"depth": 2, "attention": "rotary", "attention_options": {"low": 1, "high": 2.5}}),
    ]
    return plain + mechanisms + more


def takes_classes(name: str) -> bool:
    return "classes" in inspect.signature(REGISTRY[name]).parameters


@pytest.mark.parametrize(("name", "options"), cases(), ids=lambda case: str(case)[:60])
def test_a_described_network_is_the_one_that_create_model_builds(name: str, options: dict) -> None:
    torch.manual_seed(0)
    network = create_model(name, **options)
    torch.manual_seed(0)
    again = build_described(name, json.loads(json.dumps(options)), stored(network), 1 << 20)
    assert stored(again) == stored(network)
    for (key, one), (_, other) in zip(network.named_parameters(), again.named_parameters(), strict=True):
        assert torch.equal(one, other), key
    for (key, one), (_, other) in zip(network.named_buffers(), again.named_buffers(), strict=True):
        assert torch.equal(one, other), key  # also those that follow from the options and are in no file


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dim": "16"}, "options: dim: expected a whole number, got '16'"),
        ({"dim": True}, "dim: expected a whole number, got True"),
        ({"dim": 16.0}, "dim: expected a whole number, got 16.0"),
        ({"norm": "yes"}, "norm: expected true or false"),
        ({"dim": 1 << 40}, "dim: expected at most 1,048,576"),
        ({"depth": 1 << 19}, "expected at most [0-9]+ modules and parameters for the tensors"),
        ({"depth": 3}, "'blocks.1.attention.key.weight' is missing"),
        ({"hidden": 1 << 20, "dim": 1 << 20}, "expected shape"),
        ({"dropout": float("nan")}, "dropout: expected a finite number"),
        ({"attention": ["sampled"]}, "attention: expected text"),
        ({"attention_options": [1]}, "attention_options: expected names and values"),
        ({"attention_options": {"samples": 1 << 18}}, "samples: expected at most 4,096"),
        ({"attention_options": {"samples": "2"}}, "attention_options: samples: expected a whole number"),
        ({"attention_options": {"generator": {}}}, "generator: expected"),
        ({"attention_options": {"colour": 1}}, "expected an option of the mechanism"),
        ({"coordinates": [3] * 100}, "coordinates: expected at most 64 entries, got 100"),
        ({"z" * 100_000: 1}, r"got 'z+\.\.\.\)$"),
        ({"dim": "z" * 100_000}, r"got 'z+\.\.\.\)$"),
        ({"attention": "z" * 100_000}, r"got 'z+\.\.\.\)$"),
        ({"\x1b]0;title\x07": 1}, r"got '\\x1b\]0;title\\x07'"),
    ],
)
def test_options_without_sense_or_measure_are_refused(changes: dict, message: str) -> None:
    tensors = stored(create_model("basic", **SMALL))
    with pytest.raises(ValueError, match=message) as error:
        build_described("basic", {**SMALL, **changes}, tensors, 10_000)
    assert "\n" not in str(error.value)
    assert "\x1b" not in str(error.value)
    assert len(str(error.value)) < 1000


def counts() -> list[tuple[str, str, Any]]:
    """Every option of every network that may be a whole number, or a list of them."""
    return [
        (name, key, value)
        for name in list_models()
        for key, kind in _kinds(REGISTRY[name]).items()
        for value in (1 << 20, [1 << 20] * 4)
        if int in members(kind) or Sequence[int] in members(kind)
    ]


@pytest.mark.parametrize(("name", "key", "value"), counts())
def test_no_option_counts_layers_without_limit(name: str, key: str, value: Any) -> None:
    """Blocks, layers of a head, local layers per level: whatever a network repeats, and however often."""
    options: dict = {"classes": 3} if takes_classes(name) else {}
    tensors, found = stored(create_model(name, **options)), 0

    def count(*_what: object) -> None:
        nonlocal found
        found += 1

    handle = register_module_parameter_registration_hook(count)
    try:
        with suppress(ValueError):
            build_described(name, {**options, key: value}, tensors, 10_000)
    finally:
        handle.remove()
    assert found <= 9 * len(tensors)


def test_many_names_of_tensors_allow_no_network_of_gigabytes() -> None:
    """A name takes 60 bytes of a file, a block 30 kB of memory."""
    names = {f"{number:x}": Stored("F32", (0,)) for number in range(100_000)}
    with pytest.raises(ValueError, match="expected at most 30,000 modules and parameters"):
        build_described("mae-classifier", {"classes": 3, "attention": "none", "depth": 100_000}, names, 5_500_000)


def test_constants_that_follow_from_options_are_bounded_too() -> None:
    options = {**SMALL, "attention": "rotary", "attention_options": {"coordinates": 3}}
    tensors = stored(create_model("basic", **options))
    options["attention_options"]["coordinates"] = 1 << 20
    with pytest.raises(ValueError, match="it asks for constants of 33,554,432 bytes from a file of 10,000"):
        build_described("basic", options, tensors, 10_000)


@pytest.mark.parametrize("kind", ["I8", "BOOL", "I64", "F8_E4M3"])
def test_tensors_of_another_kind_are_refused(kind: str) -> None:
    tensors = stored(create_model("basic", **SMALL))
    tensors["head.weight"] = tensors["head.weight"]._replace(dtype=kind)
    with pytest.raises(ValueError, match=rf"head\.weight: expected numbers of the type F16 or BF16 .* got {kind}"):
        build_described("basic", SMALL, tensors, 10_000)


def test_counts_must_be_whole_numbers() -> None:
    tensors = stored(create_model("basic", **SMALL))
    (key,) = [key for key in tensors if key == "head_norm.num_batches_tracked"]
    tensors[key] = tensors[key]._replace(dtype="F32")
    with pytest.raises(ValueError, match=f"{key}: expected numbers of the type I64, got F32"):
        build_described("basic", SMALL, tensors, 10_000)


@pytest.mark.parametrize("name", list_pretrained())
def test_shipped_weights_keep_every_bit(name: str) -> None:
    from safetensors.torch import load_file

    network, _ = load_model(name)
    stored_tensors = load_file(find_weights(name))
    for key, tensor in network.state_dict().items():
        assert torch.equal(tensor, stored_tensors[key].to(tensor.dtype)), key


def test_a_small_file_cannot_ask_for_gigabytes(tmp_path: Path) -> None:
    """In a process of its own, whose memory is limited to a little more than what torch itself takes."""
    network = create_model("basic", **SMALL)
    metadata = {
        "format": "sampled-transformer 1",
        "model": "basic",
        "options": json.dumps({**SMALL, "dim": 1 << 15, "hidden": 1 << 15, "depth": 60}),
        "classes": "[]",
        "notes": "{}",
    }
    save_file(network.state_dict(), tmp_path / "model.safetensors", metadata)
    code = (
        "import sys, resource\n"
        "from sampled_transformer.weights import WeightsError, load_model\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try: load_model(sys.argv[1])\n"
        "except WeightsError: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=600, check=True
    )
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(done.stdout) * unit < 100e6
