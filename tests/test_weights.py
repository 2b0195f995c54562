from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load, save_file

from sampled_transformer import create_model
from sampled_transformer.weights import (
    Description,
    WeightsError,
    add_notes,
    add_to_model,
    describe_model,
    digest_weights,
    find_weights,
    list_pretrained,
    load_beside,
    load_model,
    save_model,
)

OPTIONS = {"classes": 3, "dim": 16, "heads": 2, "hidden": 8, "embedding": 4, "attention_options": {"samples": 2}}
DESCRIPTION = Description("basic", OPTIONS, ["cat", "dög", "a b"], {"accuracy": 0.5})


def trained() -> torch.nn.Module:
    torch.manual_seed(0)
    network = create_model("basic", **OPTIONS).train()
    network(torch.rand(4, 6, 3), torch.rand(4, 6, 3))  # changes the batch statistics
    return network.eval()


def test_a_file_rebuilds_its_network(tmp_path: Path) -> None:
    network = trained()
    save_model(network, tmp_path / "model.safetensors", DESCRIPTION)
    again, description = load_model(tmp_path / "model.safetensors")
    points, normals = torch.rand(2, 9, 3), torch.rand(2, 9, 3)
    assert torch.equal(again(points, normals), network(points, normals))
    assert not again.training
    assert description.classes == ("cat", "dög", "a b")
    assert describe_model(tmp_path / "model.safetensors") == description
    assert [file.name for file in tmp_path.iterdir()] == ["model.safetensors"]


def test_tensors_beside_the_network_are_kept_apart(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_model(trained(), path, DESCRIPTION, {"a": torch.arange(3), "b.c": torch.ones(2, 2).half()})
    assert torch.equal(load_model(path)[0].head.weight, trained().head.weight)
    found = load_beside(path)
    assert found.keys() == {"a", "b.c"}
    assert torch.equal(found["a"], torch.arange(3))
    save_model(trained(), path, DESCRIPTION)
    assert load_beside(path) == {}


def test_notes_are_added_and_the_weights_stay(tmp_path: Path) -> None:
    path, out = tmp_path / "model.safetensors", tmp_path / "out.safetensors"
    save_model(trained().half(), path, DESCRIPTION, {"old": torch.ones(1)})
    add_to_model(path, out, {"more": [1]}, {"new": torch.zeros(1)})
    assert describe_model(out).notes == {"accuracy": 0.5, "more": [1]}
    assert load_beside(out).keys() == {"new"}
    assert load_beside(path).keys() == {"old"}
    with safe_open(out, "pt") as file:
        assert torch.equal(file.get_tensor("head.weight"), trained().half().head.weight)


def test_half_precision_weights_load_into_single(tmp_path: Path) -> None:
    network = trained().half()
    save_model(network, tmp_path / "model.safetensors", DESCRIPTION)
    again, _ = load_model(tmp_path / "model.safetensors")
    assert again.head.weight.dtype == torch.float32
    assert torch.equal(again.head.weight, network.head.weight.float())


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "model.safetensors"
    save_model(trained(), target, DESCRIPTION)
    before = target.read_bytes()
    with pytest.raises(TypeError):
        save_model(trained(), target, Description("basic", OPTIONS, [], {"not": object()}))
    target.chmod(0o600)
    assert target.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def rewrite(path: Path, drop: str | None = None, **changes: str) -> None:
    network = trained()
    tensors = {name: tensor for name, tensor in network.state_dict().items() if name != drop}
    metadata = {
        "format": "sampled-transformer 1",
        "model": "basic",
        "options": json.dumps(OPTIONS),
        "classes": "[]",
        "notes": "{}",
        **changes,
    }
    save_file(tensors, path, metadata)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other 1"}, "expected the format"),
        ({"model": "besic"}, "did you mean 'basic'"),
        ({"options": "[]"}, "expected metadata written by save_model"),
        ({"options": "{"}, "expected metadata written by save_model"),
        ({"options": json.dumps({**OPTIONS, "colour": 1})}, "cannot build the network"),
        ({"options": json.dumps({**OPTIONS, "dim": 32})}, "expected shape"),
        ({"options": json.dumps({**OPTIONS, "depth": 2})}, "'blocks.1.attention.key.weight' is missing"),
        ({"options": json.dumps({**OPTIONS, "normals": False})}, "'normal_mlp.layers.0.bias' is unknown"),
        ({"options": json.dumps({**OPTIONS, "dim": -16})}, "cannot build the network"),
        ({"classes": '["x", "y"]'}, "expected 3 class names, got 2"),
        ({"drop": "head.bias"}, "'head.bias' is missing"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(tmp_path: Path, changes: dict, message: str) -> None:
    path = tmp_path / "model.safetensors"
    rewrite(path, **changes)
    with pytest.raises(WeightsError, match=message) as error:
        load_model(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", [b"", b"no such thing", b"\xff" * 100])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(WeightsError, match=r"not a complete \.safetensors file"):
        load_model(path)
    with pytest.raises(WeightsError, match="no such file"):
        load_model(tmp_path / "absent.safetensors")
    (tmp_path / "pack").mkdir()  # a folder, but not that of a run
    with pytest.raises(WeightsError, match=r"no such file; expected weights, or the folder of a run with model\.safet"):
        describe_model(tmp_path / "pack")


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_model(trained(), path, DESCRIPTION)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(WeightsError, match="not a complete"):
        load_model(path)


def test_weights_are_found_by_path_by_run_and_by_name(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_model(trained(), path, DESCRIPTION)
    assert find_weights(str(path)) == path
    assert find_weights(str(tmp_path)) == path
    for name in list_pretrained():
        assert find_weights(name).is_file()
    with pytest.raises(WeightsError, match=r"brick: no such file, run folder or shipped weights \(.*mean 'bricks'"):
        find_weights("brick")


def test_a_name_that_a_terminal_cannot_show_is_escaped(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=r"a\\nb: no such file"):
        load_model(tmp_path / "a\nb")


def test_notes_can_be_added_and_tensors_stay_to_the_bit(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    network = trained()
    save_model(network.half(), path, DESCRIPTION)
    before = path.read_bytes()
    add_notes(path, {"robustness": {"clean": 0.25}})
    assert path.read_bytes() != before
    description = describe_model(path)
    assert description.notes == {"accuracy": 0.5, "robustness": {"clean": 0.25}}
    assert (description.model, description.classes) == ("basic", ("cat", "dög", "a b"))
    old, new = load(before), load(path.read_bytes())
    assert old.keys() == new.keys()
    assert all(torch.equal(old[name], new[name]) and old[name].dtype == new[name].dtype for name in old)
    add_notes(tmp_path, {"accuracy": 1})  # the folder of a run
    assert describe_model(path).notes["accuracy"] == 1
    path.write_bytes(b"nothing")
    with pytest.raises(WeightsError, match="not a complete"):
        add_notes(path, {})


def test_a_digest_tells_files_apart(tmp_path: Path) -> None:
    save_model(trained(), tmp_path / "a", DESCRIPTION)
    shutil.copy(tmp_path / "a", tmp_path / "b")
    assert digest_weights(tmp_path / "a") == digest_weights(tmp_path / "b")
    add_notes(tmp_path / "b", {"accuracy": 0.6})
    assert digest_weights(tmp_path / "a") != digest_weights(tmp_path / "b")
    assert digest_weights("bricks") == digest_weights(find_weights("bricks"))
