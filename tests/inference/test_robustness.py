from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from sampled_transformer.data import DataError, write_pack
from sampled_transformer.data.transforms import UnitSphere
from sampled_transformer.inference import robustness
from sampled_transformer.inference.evaluation import evaluate
from sampled_transformer.inference.robustness import card, card_lines, corruption, evaluate_robustness, table
from sampled_transformer.inference.trained import cycle_probabilities
from sampled_transformer.models import create_model
from sampled_transformer.weights import Description, WeightsError, load_model, save_model

CLASSES = ("needle", "disc", "ball")
SMALL = {"dim": 16, "heads": 2, "hidden": 16, "embedding": 8}


def save(path: Path, source: Path, points: int = 24, **options: object) -> Path:
    torch.manual_seed(0)
    given = {"classes": 3, **SMALL, **options}
    network = create_model("basic", **given).eval()
    with torch.no_grad():
        network.head.weight.mul_(20)  # otherwise all answers would be the same class
    data = {"source": str(source), "root": None, "preset": "none", "points": points}
    save_model(network, path, Description("basic", given, CLASSES, {"data": data}))
    return path


@pytest.fixture
def weights(tmp_path: Path, pack_folder: Path) -> Path:
    return save(tmp_path / "w.safetensors", pack_folder)


def test_all_curves_with_what_the_data_cannot_give_left_out(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = robustness.Curve("points", "points", (8, 48, 64))
    monkeypatch.setitem(robustness.CURVES, "points", few)
    monkeypatch.setitem(robustness.CURVES, "repeated", robustness.Curve("repeated", "points", (12, 24, 30)))
    lines: list[str] = []
    result = evaluate_robustness(weights, report=lines.append)
    assert list(result["corruptions"]) == list(robustness.CURVES)
    assert (result["shapes"], result["points"], result["stored"], result["normals"]) == (15, 24, 48, True)
    for name, curve in result["corruptions"].items():
        levels = [row["severity"] for row in curve["levels"]]
        expected = {"points": [8, 48], "repeated": [12]}.get(name, list(robustness.CURVES[name].levels))
        assert levels == expected
        assert all(0 <= row["accuracy"] <= 1 for row in curve["levels"])
    left_out = [{"severity": 64, "reason": "the shapes have only 48 points"}]
    assert result["corruptions"]["points"]["left_out"] == left_out
    assert lines[0].startswith("clean: ")
    assert "points 64: left out, because the shapes have only 48 points" in lines
    text = table(result)
    assert "15 test shapes, 24 points with normals" in text
    assert "64 left out, because the shapes have only 48 points" in text
    json.dumps(result)


def test_clean_shapes_are_read_as_predict_reads_files(weights: Path, make_pack) -> None:
    """Counted by hand: the first points, in the unit sphere."""
    batch = make_pack(5, 1).batch(slice(None))
    points, normals = UnitSphere()(batch.points[:, :24], batch.normals[:, :24])
    answers = cycle_probabilities(load_model(weights)[0], points, normals, 1)[0].argmax(1)
    expected = float((answers == batch.labels).double().mean())
    result = evaluate_robustness(weights, corruptions=["scale"])
    assert result["clean"]["accuracy"] == pytest.approx(expected)
    scaled = [row["accuracy"] for row in result["corruptions"]["scale"]["levels"]]
    assert scaled == [result["clean"]["accuracy"]] * 4


def test_the_same_from_run_to_run_and_for_every_batch(weights: Path) -> None:
    options = {"corruptions": ["noise", "half_space", "any_rotation"]}
    first = evaluate_robustness(weights, **options)
    assert evaluate_robustness(weights, **options) == first
    assert evaluate_robustness(weights, batch=4, **options) == first


def test_the_seed_decides_what_is_drawn(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers of an untrained network seldom change, so we look at the shapes that it gets."""
    seen: list[torch.Tensor] = []

    def listen(network: object, points: torch.Tensor, normals: object, samples: int) -> torch.Tensor:
        seen.append(points)
        return cycle_probabilities(network, points, normals, samples)  # type: ignore[arg-type]

    monkeypatch.setattr(robustness, "cycle_probabilities", listen)
    monkeypatch.setitem(robustness.CURVES, "noise", robustness.Curve("noise", "sigma", (0.1, 0.2)))
    for seed in (0, 0, 1):
        evaluate_robustness(weights, corruptions=["noise"], seed=seed)
    clean, mild, strong = seen[:3]
    assert torch.equal(mild, seen[4])
    assert not torch.allclose(mild, seen[7], atol=1e-2)
    assert not torch.allclose(mild, clean, atol=1e-2)
    for shapes in seen:
        torch.testing.assert_close(shapes.norm(dim=2).amax(1), torch.ones(15))
        torch.testing.assert_close(shapes.mean(1), torch.zeros(15, 3), atol=1e-5, rtol=0)
    assert strong.shape == (15, 24, 3)


def test_a_part_of_the_shapes_is_random_and_fixed(weights: Path) -> None:
    some = evaluate_robustness(weights, corruptions=["scale"], limit=6)
    assert some["shapes"] == 6
    assert evaluate_robustness(weights, corruptions=["scale"], limit=6) == some
    assert evaluate_robustness(weights, corruptions=["scale"], limit=600)["shapes"] == 15


def test_networks_of_positions_have_no_normals_to_lose(tmp_path: Path, pack_folder: Path) -> None:
    path = save(tmp_path / "p.safetensors", pack_folder, normals=False)
    lines: list[str] = []
    result = evaluate_robustness(path, corruptions=["normals", "scale"], report=lines.append)
    assert list(result["corruptions"]) == ["scale"]
    assert "normals: left out, because the network reads positions alone" in lines
    assert "with normals" not in table(result)


def test_cycles_can_be_averaged(weights: Path, tmp_path: Path, pack_folder: Path) -> None:
    assert evaluate_robustness(weights, corruptions=["scale"], samples=3)["samples"] == 3
    dense = save(tmp_path / "d.safetensors", pack_folder, attention="dense")
    assert evaluate_robustness(dense, corruptions=["scale"], samples=3)["samples"] == 1


def test_other_data_with_fewer_classes(weights: Path, tmp_path: Path, make_pack) -> None:
    other = tmp_path / "other"
    other.mkdir()
    pack = make_pack(4, 3, points=30)
    write_pack(pack.select(pack.labels == 2), other / "test.npz")
    result = evaluate_robustness(weights, str(other), corruptions=["scale"])
    assert (result["shapes"], result["stored"]) == (4, 30)
    assert result["clean"]["accuracy"] == pytest.approx(
        evaluate(weights, str(other))["figures"]["one pass"]["accuracy"], abs=0.26
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"corruptions": ["nois"]}, "corruptions: expected one of .*; did you mean 'noise'"),
        ({"limit": 0}, "limit: expected at least 1 shape, got 0"),
        ({"up": "w"}, "up: expected"),
        ({"samples": 0}, "samples"),
        ({"batch": 0}, "batch"),
        ({"device": "abacus"}, "device"),
    ],
)
def test_bad_options_are_named(weights: Path, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        evaluate_robustness(weights, **options)


def test_other_weights_and_too_few_points(weights: Path, regressor: Path, tmp_path: Path, pack_folder: Path) -> None:
    with pytest.raises(WeightsError, match="expected a classifier, got a network that predicts a number"):
        evaluate_robustness(regressor / "model.safetensors")
    large = save(tmp_path / "l.safetensors", pack_folder, points=100)
    with pytest.raises(DataError, match="expected at least 100 points per shape, got 48"):
        evaluate_robustness(large)


def test_a_file_of_few_points_is_repeated_as_predict_does() -> None:
    points = torch.randn(2, 40, 3, generator=torch.Generator().manual_seed(0))
    change = corruption("repeated", 10)
    assert change is not None
    new, _ = change((points, None), torch.Generator().manual_seed(0))
    for cloud in new.tolist():
        rows = [tuple(row) for row in cloud]
        assert len(set(rows[:10])) == len(set(rows)) == 10
    assert corruption("points", 10) is None


def test_normals_are_estimated_or_zero() -> None:
    sphere = torch.nn.functional.normalize(torch.randn(2, 300, 3, generator=torch.Generator().manual_seed(0)), dim=2)
    generator = torch.Generator()
    for level in ("estimated", "zero"):
        change = corruption("normals", level)
        assert change is not None
        points, normals = change((sphere, sphere), generator)
        assert torch.equal(points, sphere)
        assert normals is not None
        if level == "zero":
            assert (normals == 0).all()
        else:
            assert (normals * sphere).sum(2).median() > 0.95


def test_rotation_turns_about_the_axis_given() -> None:
    points = torch.randn(3, 10, 3, generator=torch.Generator().manual_seed(0))
    for number, axis in enumerate("xyz"):
        change = corruption("rotation", 90, axis)
        assert change is not None
        new, _ = change((points, None), torch.Generator().manual_seed(1))
        torch.testing.assert_close(new[..., number], points[..., number])
        assert not torch.allclose(new, points, atol=0.01)


def test_the_card_keeps_the_figures_in_order(weights: Path) -> None:
    result = evaluate_robustness(weights, corruptions=["outliers", "rotation", "normals"])
    notes = json.loads(json.dumps(card(result), sort_keys=True))  # as a weights file does
    lines = card_lines(notes)
    assert lines[0].startswith("on 15 test shapes of ")
    assert [line.split(" (")[0] for line in lines[1:]] == ["outliers", "rotation about the up axis", "without normals"]
    first = result["corruptions"]["rotation"]["levels"]
    expected = ", ".join(f"{100 * round(row['accuracy'], 4):.1f} at {row['severity']}" for row in first)
    assert lines[2].endswith(f": {expected}")


@pytest.mark.parametrize("notes", [{}, {"robustness": 3}, {"robustness": {"curves": {}}}, {"robustness": None}])
def test_notes_that_say_nothing(notes: dict) -> None:
    assert card_lines(notes) == []


def test_chunks_do_not_lose_shapes(tmp_path: Path, make_pack, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for split in ("train", "test"):
        write_pack(make_pack(7, 2), folder / f"{split}.npz")
    path = save(tmp_path / "w.safetensors", folder)
    whole = evaluate_robustness(path, corruptions=["scale"])
    monkeypatch.setattr(robustness, "CHUNK", 4)
    assert evaluate_robustness(path, corruptions=["scale"])["clean"] == whole["clean"]
    assert np.isclose(whole["clean"]["accuracy"] * 21, round(whole["clean"]["accuracy"] * 21))
