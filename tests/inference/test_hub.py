"""The Hugging Face Hub, without a network: local folders, a cache that we fill, and an address book that listens."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from helpers.trained import CLASSES, save_small
from safetensors import safe_open

from sampled_transformer.cli import main
from sampled_transformer.inference.familiarity import Familiarity
from sampled_transformer.inference.trained_network import TrainedNetwork, load
from sampled_transformer.weights import Description, WeightsError, describe_model, load_model, save_model

huggingface_hub = pytest.importorskip("huggingface_hub")
POINTS = np.random.default_rng(0).normal(size=(50, 3))


def front_matter(folder: Path) -> dict[str, Any]:
    """The YAML at the head of the model card."""
    text = (folder / "README.md").read_text("utf-8")
    assert text.startswith("---\n")
    found: dict[str, Any] = yaml.safe_load(text.split("---\n")[1])
    return found


@pytest.fixture
def net(tmp_path: Path) -> TrainedNetwork:
    """A network whose notes name folders of this machine."""
    path = save_small(tmp_path / "w.safetensors")
    network, description = load_model(path)
    data = {**description.notes["data"], "source": "/home/somebody/shapes", "root": "/data/secret/pack"}
    notes = {"data": data, "figures": {"test_accuracy": 0.75}, "epochs": 3, "init": "runs/before", "recipe": "basic"}
    save_model(network, path, Description(description.model, description.options, description.classes, notes))
    return load(path)


def test_a_folder_gives_the_network_back(net: TrainedNetwork, tmp_path: Path) -> None:
    net.save_pretrained(tmp_path / "folder")
    assert {path.name for path in (tmp_path / "folder").iterdir()} == {"README.md", "config.json", "model.safetensors"}
    for again in (TrainedNetwork.from_pretrained(tmp_path / "folder", "cpu"), load(tmp_path / "folder")):
        assert again.classes == CLASSES
        np.testing.assert_array_equal(again.probabilities(POINTS).mean, net.probabilities(POINTS).mean)
        assert again.view == net.view


def test_the_folder_holds_no_pickle_and_no_path_of_this_machine(net: TrainedNetwork, tmp_path: Path) -> None:
    net.save_pretrained(tmp_path / "folder")
    with safe_open(tmp_path / "folder" / "model.safetensors", "pt") as file:
        assert len(list(file.keys())) == len(net.network.state_dict())
    for path in (tmp_path / "folder").iterdir():
        assert b"somebody" not in path.read_bytes()
        assert b"secret" not in path.read_bytes()
        assert b"runs/before" not in path.read_bytes()
    notes = describe_model(tmp_path / "folder").notes
    assert (notes["data"]["source"], notes["data"]["points"], notes["epochs"]) == ("shapes", 32, 3)
    config = json.loads((tmp_path / "folder" / "config.json").read_text("utf-8"))
    assert config["model"] == "basic"
    assert config["classes"] == list(CLASSES)


def test_temperature_and_statistics_travel_along(net: TrainedNetwork, tmp_path: Path) -> None:
    known = Familiarity(torch.zeros(1, 16).half(), torch.ones(16), torch.zeros(20), 1.0, 0.05)
    notes = {**net.description.notes, "calibration": {"temperature": 0.5, "shapes": 20}, **known.notes()}
    told = replace(net.description, notes=notes)
    TrainedNetwork(net.network, told, "mine", beside=known.tensors()).save_pretrained(tmp_path / "folder")
    again = TrainedNetwork.from_pretrained(tmp_path / "folder")
    assert (again.temperature, again.familiarity.alarms) == (0.5, 0.05)
    assert torch.equal(again.familiarity.scores, torch.zeros(20))
    card = (tmp_path / "folder" / "README.md").read_text("utf-8")
    assert "- Temperature: 0.500, fitted on 20 held-out training shapes" in card
    assert "- Says what is unfamiliar: with a false-alarm rate of 5 %" in card


def test_the_model_card_comes_from_the_description(net: TrainedNetwork, tmp_path: Path) -> None:
    net.save_pretrained(tmp_path / "folder")
    data = front_matter(tmp_path / "folder")
    assert data["library_name"] == "sampled-transformer"
    assert {"point-cloud", "attention", "basic"} <= set(data["tags"])
    assert "license" not in data
    (result,) = data["model-index"][0]["results"]
    assert result["dataset"]["name"] == "shapes"
    assert result["metrics"] == [{"type": "accuracy", "value": 0.75}]
    text = (tmp_path / "folder" / "README.md").read_text("utf-8")
    assert "75.00 %" in text
    assert "needle, disc, ball" in text
    net.save_pretrained(tmp_path / "other", model_card_kwargs={"license": "mit"})
    assert front_matter(tmp_path / "other")["license"] == "mit"


def test_networks_without_figures_have_a_card_too(tmp_path: Path) -> None:
    for name, call in (("modelnet40-mae", "net.features(points)"), ("mixtures", None)):
        load(name).save_pretrained(tmp_path / name)
        assert "model-index" not in front_matter(tmp_path / name)
        text = (tmp_path / name / "README.md").read_text("utf-8")
        assert f"# {name}\n" in text
        assert ("net." in text) == (call is not None)
        assert call is None or call in text
        assert load(tmp_path / name).description.model == load(name).description.model


def test_names_and_files_need_no_hub(tmp_path: Path) -> None:
    assert TrainedNetwork.from_pretrained("bricks").name == "bricks"
    assert TrainedNetwork.from_pretrained(save_small(tmp_path / "w.safetensors")).classes == CLASSES


def test_what_is_uploaded(net: TrainedNetwork, monkeypatch: pytest.MonkeyPatch) -> None:
    """The two calls of huggingface_hub that reach the network are replaced; all else is its own mixin."""
    uploaded: dict[str, Any] = {}

    class Listener:
        def __init__(self, token: str | None = None) -> None:
            uploaded["token"] = token

        def create_repo(self, repo_id: str, private: bool | None, exist_ok: bool) -> SimpleNamespace:
            uploaded["private"] = private
            return SimpleNamespace(repo_id=repo_id)

        def upload_folder(self, repo_id: str, folder_path: Path, **options: Any) -> str:
            uploaded["files"] = {path.name: path.read_bytes() for path in Path(folder_path).iterdir()}
            return f"https://huggingface.co/{repo_id}/commit/0"

    monkeypatch.setattr("huggingface_hub.hub_mixin.HfApi", Listener)
    assert net.push_to_hub("owner/name", private=True, token="t") == "https://huggingface.co/owner/name/commit/0"
    assert (uploaded["private"], uploaded["token"]) == (True, "t")
    assert set(uploaded["files"]) == {"README.md", "config.json", "model.safetensors"}
    assert uploaded["files"]["README.md"].startswith(b"---\nlibrary_name: sampled-transformer\n")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The Hub's cache on disk, with one repository, and no network."""
    repository = tmp_path / "cache" / "models--owner--name"
    (repository / "snapshots" / ("0" * 40)).mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("0" * 40)
    load(save_small(tmp_path / "w.safetensors")).save_pretrained(repository / "snapshots" / ("0" * 40))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


def test_a_repository_by_name(cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = load(tmp_path / "w.safetensors").probabilities(POINTS).mean
    for found in (load("owner/name"), TrainedNetwork.from_pretrained("owner/name", cache_dir=cache)):
        assert found.name == "owner/name"
        np.testing.assert_array_equal(found.probabilities(POINTS).mean, expected)
    np.save(tmp_path / "a.npy", POINTS)
    assert main(["predict", "a.npy", "--weights", "owner/name"]) == 0
    assert "a.npy" in capsys.readouterr().out


def test_a_repository_that_is_not_there(cache: Path, tmp_path: Path) -> None:
    start = r"owner/other: no such file, run folder or shipped weights \(brick-parts, .*\)"
    message = f"{start}, nor found on the Hugging Face Hub"
    for ask in (load, TrainedNetwork.from_pretrained):
        with pytest.raises(WeightsError, match=message) as error:
            ask("owner/other")
        assert "\n" not in str(error.value)
    with pytest.raises(WeightsError, match="no such repository!: no such file"):
        TrainedNetwork.from_pretrained("no such repository!")


def test_a_mistyped_run_folder_is_not_looked_up(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "owner").mkdir()
    with pytest.raises(WeightsError, match=r"owner/name: no such file, run folder or shipped weights \([\w\-, ]*\)$"):
        load("owner/name")
    with pytest.raises(WeightsError, match=r"runs/mien: no such file, run folder or shipped weights \([\w\-, ]*\)$"):
        load("runs/mien")  # before the first run there is no folder "runs" either


def test_a_network_that_predicts_a_number_has_its_card(regressor: Path, tmp_path: Path) -> None:
    network, description = load_model(regressor)
    notes = {**description.notes, "regression": {**description.notes["regression"], "name": "speed in m/s"}}
    path = tmp_path / "w.safetensors"
    save_model(network, path, Description(description.model, description.options, (), notes))
    load(path).save_pretrained(tmp_path / "folder")
    again = load(tmp_path / "folder")
    assert again.target == load(path).target
    assert again.predict(POINTS) == load(path).predict(POINTS)
    text = (tmp_path / "folder" / "README.md").read_text("utf-8")
    assert "- Predicts: speed in m/s\n" in text
    assert f"- Test R² after the last epoch: {notes['figures']['test_r2']:.4f}\n" in text


def test_the_model_card_says_what_the_weights_bear(net: TrainedNetwork, tmp_path: Path) -> None:
    figures = {"data": "/home/somebody/shapes", "shapes": 9, "clean": 0.9, "curves": {"noise": [[0.1, 0.8]]}}
    notes = {**net.description.notes, "robustness": figures}
    TrainedNetwork(net.network, replace(net.description, notes=notes), "mine").save_pretrained(tmp_path / "hub")
    text = (tmp_path / "hub" / "README.md").read_text("utf-8")
    assert "## Robustness" in text
    assert "Measured on 9 test shapes of shapes, accuracy in %: 90.0 on clean shapes." in text
    assert "- noise (standard deviation, radius of the shape = 1): 80.0 at 0.1" in text
    assert "somebody" not in text
