"""The same weights give the same bytes and the same digest."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load, save

from sampled_transformer import create_model
from sampled_transformer.support.safetensors_file import in_fixed_order, tensor_digest
from sampled_transformer.weights import Description, add_notes, add_to_model, save_model

SMALL = {"classes": 3, "dim": 8, "heads": 2, "hidden": 8, "embedding": 4}

PROGRAM = """
import sys, torch
from sampled_transformer import create_model
from sampled_transformer.weights import Description, save_model
torch.manual_seed(0)
options = {"classes": 3, "dim": 8, "heads": 2, "hidden": 8, "embedding": 4}
save_model(create_model("basic", **options), sys.argv[1], Description("basic", options, notes={"b": 1, "a": "é"}))
"""


def test_the_order_of_the_metadata_does_not_matter() -> None:
    tensors = {"b": torch.arange(3.0), "a": torch.ones(1, dtype=torch.int8)}
    metadata = {name: name for name in "zyxwvutsrqponm"}
    files = {in_fixed_order(save(tensors, metadata)) for _ in range(20)}
    assert len(files) == 1
    found = load(files.pop())
    assert all(torch.equal(found[name], tensor) for name, tensor in tensors.items())
    assert load(in_fixed_order(save(tensors)))["b"].tolist() == [0, 1, 2]


def test_processes_write_the_same_bytes(tmp_path: Path) -> None:
    digests = set()
    for name in ("one", "two"):
        path = tmp_path / f"{name}.safetensors"
        subprocess.run([sys.executable, "-c", PROGRAM, str(path)], check=True)
        digests.add(hashlib.sha256(path.read_bytes()).hexdigest())
    assert len(digests) == 1


@pytest.fixture
def path(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    save_model(create_model("basic", **SMALL), tmp_path / "a.safetensors", Description("basic", SMALL))
    return tmp_path / "a.safetensors"


def test_the_digest_is_that_of_the_weights(path: Path) -> None:
    before = tensor_digest(path)
    add_notes(path, {"card": "more words"})
    assert tensor_digest(path) == before
    add_to_model(path, path, {"temperature": 2.0}, {"scores": torch.ones(3)})
    assert tensor_digest(path) == before
    network = create_model("basic", **SMALL)
    save_model(network, path, Description("basic", SMALL))
    assert tensor_digest(path) != before
    other = {**SMALL, "attention": "dense"}
    torch.manual_seed(0)
    save_model(create_model("basic", **other), path, Description("basic", other))
    assert tensor_digest(path) != before
