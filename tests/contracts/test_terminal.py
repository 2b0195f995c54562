"""Names from files reach a terminal escaped, whichever command prints them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

from sampled_transformer import create_model
from sampled_transformer.cli import main
from sampled_transformer.data import Pack, write_pack
from sampled_transformer.data.errors import DataError
from sampled_transformer.weights import Description, WeightsError, find_weights, save_model

NASTY = "a\x1b]0;owned\x07\nb\u202e"  # sets the title of the window, begins a line of its own, turns text around


def check(capsys: pytest.CaptureFixture[str], *words: str, codes: tuple[int, ...] = (0,)) -> str:
    assert main(list(words)) in codes
    said = capsys.readouterr()
    text = said.out + said.err
    assert text.replace("\n", "").isprintable()
    assert "\nb\\u202e" not in text  # nobody else's line
    return text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data set whose classes, names and target are nasty, and weights whose classes are."""
    random = np.random.default_rng(0)
    points = random.normal(size=(4, 300, 3))
    names = [f"{NASTY}{number}" for number in range(4)]
    pack = Pack.from_arrays(list(points), labels=[0, 0, 1, 1], names=names, classes=[NASTY, "c"], normals=list(points))
    for split in ("train", "test"):
        write_pack(pack, tmp_path / "pack" / f"{split}.npz")
    tensors = load_file(find_weights("bricks"))
    metadata = {
        "format": "sampled-transformer 1",
        "model": "basic",
        "options": json.dumps({"classes": 18}),
        "classes": json.dumps([f"{NASTY}{number}" for number in range(18)]),
        "notes": json.dumps({"recipe": NASTY, "data": {"source": NASTY, "points": 64, "preset": "bricks"}}),
    }
    save_file(tensors, tmp_path / "model.safetensors", metadata)
    np.savetxt(tmp_path / "shape\x1b]0;x\x07.xyz", points[0])
    (tmp_path / "broken\x1b]0;x\x07.ply").write_bytes(b"ply\nformat \x1b]0;x\x07 1.0\nend_header\n")
    return tmp_path


def test_the_names_of_a_data_set(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "a\\x1b]0;owned\\x07" in check(capsys, "data", "info", str(folder / "pack"))
    weights = str(folder / "model.safetensors")
    check(capsys, "evaluate", weights, "--data", str(folder / "pack"), "--samples", "1", codes=(2,))
    check(capsys, "evaluate", weights, "--samples", "1", codes=(2,))


def test_the_names_in_weights(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights = str(folder / "model.safetensors")
    assert "a\\x1b]0;owned\\x07\\nb\\u202e" in check(capsys, "weights", "info", weights)
    check(capsys, "weights", "info", weights, "--json")
    said = check(capsys, "predict", str(folder), "--weights", weights, "--samples", "1", "--workers", "0", codes=(1,))
    assert "a\\x1b]0;owned\\x07\\nb\\u202e" in said
    assert "shape\\x1b]0;x\\x07.xyz" in said
    assert "could not be read" in said


def test_the_table_of_an_evaluation(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    network = create_model("basic", classes=2, dim=16, heads=2)
    description = Description("basic", {"classes": 2, "dim": 16, "heads": 2}, [NASTY, "c"], {"data": {"points": 64}})
    save_model(network, folder / "own.safetensors", description)
    words = ["evaluate", str(folder / "own.safetensors"), "--data", str(folder / "pack"), "--samples", "1"]
    assert "a\\x1b]0;owned\\x07\\nb\\u202e" in check(capsys, *words)


@pytest.mark.parametrize("kind", [DataError, WeightsError])
def test_errors_are_one_line_without_control_characters(kind: type[ValueError]) -> None:
    assert str(kind(f"file: {NASTY}")) == "file: a\\x1b]0;owned\\x07 b\\u202e"
