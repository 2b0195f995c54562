"""A trained network answers about arrays, files and meshes, as the program does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import trimesh
from helpers.trained import CLASSES, CLASSIFIERS, KINDS, POINTS, save_small

import sampled_transformer
from sampled_transformer.cli import main
from sampled_transformer.data.axes import AXES
from sampled_transformer.data.errors import DataError
from sampled_transformer.inference.trained_network import (
    USUAL,
    Candidate,
    Probabilities,
    TrainedNetwork,
    load,
    upright_scores,
)
from sampled_transformer.weights import Description, WeightsError, load_model, save_model


def cloud(size: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(size, 3)) * [1.0, 0.7, 0.2]


@pytest.fixture
def net(tmp_path: Path) -> TrainedNetwork:
    return load(save_small(tmp_path / "w.safetensors"))


def printed(path: Path, weights: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """What the program prints about a file: classes with probability and spread."""
    capsys.readouterr()
    assert main(["predict", str(path), "--weights", weights, "--top", "99", "--json"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)
    rows: list[dict[str, Any]] = answer["classes"]
    return rows


def as_rows(candidates: list[Candidate]) -> list[dict[str, Any]]:
    return [{"class": one.name, "probability": one.probability, "spread": one.spread} for one in candidates]


@pytest.mark.parametrize("ending", ["off", "ply", "xyz", "npz", "npy"])
def test_a_file_has_the_answer_of_the_program_to_the_bit(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"shape.{ending}"
    cone = trimesh.creation.cone(radius=0.5, height=1.2)
    if ending in ("off", "ply"):
        cone.export(path)
    elif ending == "xyz":
        np.savetxt(path, cone.sample(1500, seed=0))
    elif ending == "npz":
        np.savez(path, points=cone.sample(500, seed=0))
    else:
        points, faces = cone.sample(1500, seed=0, return_index=True)
        np.save(path, np.concatenate([points, cone.face_normals[faces]], 1))
    net = sampled_transformer.load("modelnet40")
    expected = printed(path, "modelnet40", capsys)
    assert len(expected) == 40
    assert as_rows(net.predict(path, top=99)) == expected
    assert net.predict(str(path)) == expected[0]["class"]


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_every_classifier_answers_as_the_program_does(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = save_small(tmp_path / "w.safetensors", kind)
    np.savetxt(tmp_path / "a.xyz", cloud(70))
    net = load(weights)
    expected = printed(tmp_path / "a.xyz", str(weights), capsys)
    assert as_rows(net.predict(tmp_path / "a.xyz", top=3)) == expected
    found = net.probabilities(tmp_path / "a.xyz")
    assert {name: float(value) for name, value in zip(found.classes, found.mean, strict=True)} == {
        row["class"]: row["probability"] for row in expected
    }


@pytest.mark.parametrize("size", [20, POINTS, 90])
def test_an_array_is_read_as_a_file_of_the_same_points(size: int, net: TrainedNetwork, tmp_path: Path) -> None:
    points = cloud(size)
    np.savez(tmp_path / "a.npz", points=points)
    np.savetxt(tmp_path / "a.xyz", points, fmt="%.17g")
    for name in ("a.npz", "a.xyz"):
        expected = net.probabilities(tmp_path / name)
        for same in (points, torch.from_numpy(points)):
            found = net.probabilities(net.prepare(same))
            np.testing.assert_array_equal(found.mean, expected.mean)
            np.testing.assert_array_equal(found.spread, expected.spread)


def test_given_normals_are_those_of_a_file(net: TrainedNetwork, tmp_path: Path) -> None:
    points, normals = cloud(60), cloud(60, 1)
    np.savez(tmp_path / "a.npz", points=points, normals=normals)
    expected = net.probabilities(tmp_path / "a.npz").mean
    found = net.probabilities(net.prepare(points, normals)).mean
    np.testing.assert_array_equal(found, expected)
    unit = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    wide = net.probabilities(net.prepare(np.concatenate([points, unit], 1))).mean
    np.testing.assert_allclose(wide, expected, rtol=0, atol=1e-6)
    assert not np.array_equal(net.probabilities(points).mean, net.probabilities(points, normals).mean)


def test_a_trimesh_is_read_as_its_file(net: TrainedNetwork, tmp_path: Path) -> None:
    box = trimesh.creation.box((1, 2, 3))
    np.savez(tmp_path / "a.npz", vertices=box.vertices, faces=box.faces)
    expected = net.probabilities(tmp_path / "a.npz").mean
    for same in (box, trimesh.Scene(box)):
        np.testing.assert_array_equal(net.probabilities(net.prepare(same)).mean, expected)
    points = trimesh.PointCloud(cloud(50))
    np.testing.assert_array_equal(net.probabilities(points).mean, net.probabilities(cloud(50)).mean)


@pytest.mark.parametrize("kind", KINDS)
def test_many_sets_have_the_answers_of_one_by_one(kind: str, tmp_path: Path) -> None:
    net = load(save_small(tmp_path / "w.safetensors", kind))
    np.savetxt(tmp_path / "a.xyz", cloud(40, 3))
    sets = [cloud(20), cloud(75, 1).astype(np.float32), torch.from_numpy(cloud(33, 2)), tmp_path / "a.xyz"]
    sets.append(trimesh.creation.box((1, 2, 3)))
    if kind != "mae":
        assert net.predict(sets) == [net.predict(one) for one in sets]
        found = net.probabilities(sets, samples=3)
        assert found.mean.shape == found.spread.shape == (5, 3)
        for mean, spread, one in zip(found.mean, found.spread, sets, strict=True):
            alone = net.probabilities(one, samples=3)
            np.testing.assert_array_equal(mean, alone.mean)
            np.testing.assert_array_equal(spread, alone.spread)
    for row, one in zip(net.features(sets, samples=2), sets, strict=True):
        np.testing.assert_array_equal(row, net.features(one, samples=2))
    for many, one in zip(net.features(sets, per_point=True), sets, strict=True):
        alone = net.features(one, per_point=True)
        np.testing.assert_array_equal(many.features, alone.features)
        np.testing.assert_array_equal(many.points, alone.points)


def test_one_set_gives_one_answer_and_several_give_several(net: TrainedNetwork) -> None:
    points = np.stack([cloud(50), cloud(50, 1)])
    assert net.predict(points[0]) in CLASSES
    assert net.predict(points) == [net.predict(one) for one in points] == net.predict(list(points))
    assert net.predict(torch.from_numpy(points)) == net.predict(points)
    assert net.predict(torch.nested.nested_tensor(list(torch.from_numpy(points)), layout=torch.jagged)) == net.predict(
        points
    )
    assert net.probabilities(points[0]).mean.shape == (3,)
    assert net.probabilities(points[:1]).mean.shape == (1, 3)
    assert net.features(points[0]).shape == (16,)
    assert net.features(points).shape == (2, 16)
    many = net.features(points, per_point=True)
    assert [part.shape for part in many] == [(2, POINTS, 16), (2, POINTS, 3), (2, POINTS)]
    assert len(net.predict(points, top=2)) == 2
    assert [len(candidates) for candidates in net.predict(points, top=2)] == [2, 2]
    assert isinstance(net.predict(points[0], top=1)[0], Candidate)


@pytest.mark.parametrize("kind", ["int32", "float16", "float32", "bfloat16", "half on torch"])
def test_numbers_of_any_kind(kind: str, net: TrainedNetwork) -> None:
    points = (10 * cloud(50)).round()
    if kind == "bfloat16":
        given: Any = torch.from_numpy(points).bfloat16()
    elif kind == "half on torch":
        given = torch.from_numpy(points).half().requires_grad_()
    else:
        given = points.astype(kind)
    np.testing.assert_array_equal(net.probabilities(given).mean, net.probabilities(points).mean)


def test_probabilities_are_those_of_the_network_averaged_over_cycles(tmp_path: Path) -> None:
    weights = save_small(tmp_path / "w.safetensors")
    net, network = load(weights), load_model(weights)[0]
    prepared = net.prepare(cloud(80))
    passes = []
    for seed in range(4):
        for block in network.blocks:
            block.attention.seed = seed
        with torch.no_grad():
            passes.append(network(prepared.points[None], prepared.normals[None]).softmax(1)[0].numpy())
    found = net.probabilities(cloud(80), samples=4)
    np.testing.assert_allclose(found.mean, np.mean(passes, 0), rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.spread, np.std(passes, 0), rtol=0, atol=1e-6)
    assert found.spread.max() > 0
    assert found.mean.sum() == pytest.approx(1, abs=1e-6)


def test_the_top_is_sorted_and_ties_keep_the_order_of_the_classes() -> None:
    found = Probabilities(np.array([0.2, 0.4, 0.4]), np.zeros(3), ("a", "b", "c"))
    assert [one.name for one in found.top(9)] == ["b", "c", "a"]
    with pytest.raises(ValueError, match="top: expected at least 1, got 0"):
        found.top(0)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_the_head_turns_features_into_logits(kind: str, tmp_path: Path) -> None:
    net = load(save_small(tmp_path / "w.safetensors", kind))
    prepared = net.prepare(cloud(60))
    normals = None if prepared.normals is None else prepared.normals[None]
    with torch.no_grad():
        logits = net.network(prepared.points[None], normals)
        again = net.network.head(torch.from_numpy(net.features(prepared))[None])
    assert torch.equal(again, logits)


@pytest.mark.parametrize("kind", KINDS)
def test_layers_by_name_and_by_number(kind: str, tmp_path: Path) -> None:
    net = load(save_small(tmp_path / "w.safetensors", kind))
    points = cloud(60)
    for number, name in enumerate(net.layers):
        by_name = net.features(points, layer=name, per_point=True)
        np.testing.assert_array_equal(net.features(points, layer=number, per_point=True).features, by_name.features)
        np.testing.assert_array_equal(by_name.points, points[by_name.rows])
        pooled = net.features(points, layer=number - len(net.layers))
        np.testing.assert_array_equal(pooled, by_name.features.max(0))
    expected = r"layer: expected (0 to \d+, or one of .*|None, as the network has no block), got 'blocks\.7'"
    with pytest.raises(ValueError, match=expected):
        net.features(points, layer="blocks.7")
    with pytest.raises(ValueError, match=r"layer: expected .*, got 99"):
        net.features(points, layer=99)


def test_the_last_block_of_the_basic_network_is_what_is_pooled(net: TrainedNetwork) -> None:
    last = net.features(cloud(60), layer=-1, per_point=True)
    np.testing.assert_array_equal(net.features(cloud(60), per_point=True).features, last.features)
    first = net.features(cloud(60), layer=0, per_point=True)
    assert not np.array_equal(first.features, last.features)


def test_a_network_in_training_evaluates_and_goes_on_training(net: TrainedNetwork) -> None:
    expected = net.features(cloud(50)), net.probabilities(cloud(50)).mean
    net.network.train()
    net.network.head_norm.eval()
    np.testing.assert_array_equal(net.features(cloud(50)), expected[0])
    np.testing.assert_array_equal(net.probabilities(cloud(50)).mean, expected[1])
    assert net.network.training
    assert net.network.blocks.training
    assert not net.network.head_norm.training


def test_several_sets_per_pass_give_nearly_the_same(net: TrainedNetwork, tmp_path: Path) -> None:
    points = np.stack([cloud(50, seed) for seed in range(5)])
    wide = load(tmp_path / "w.safetensors", batch=3)
    np.testing.assert_allclose(wide.probabilities(points).mean, net.probabilities(points).mean, rtol=0, atol=1e-5)
    np.testing.assert_allclose(wide.features(points), net.features(points), rtol=0, atol=1e-4)
    with pytest.raises(ValueError, match="batch: expected at least 1, got 0"):
        load(tmp_path / "w.safetensors", batch=0)


def test_what_it_says_about_itself(net: TrainedNetwork) -> None:
    reads = "model 'basic', reads 32 points with normals, 3 classes, on cpu"
    assert repr(net) == f"<TrainedNetwork {net.name}: {reads}>"
    assert "model 'mae' with sampled attention, reads 1024 points, on cpu" in repr(load("modelnet40-mae"))
    assert repr(load("mixtures", "cpu")).endswith("'set-transformer-mixture' with induced attention, on cpu>")
    assert net.classes == CLASSES
    assert (net.view.points, net.view.preset, net.view.normals) == (32, "bricks", True)
    assert net.layers == ["blocks.0", "blocks.1"]
    assert "Prepared('points', 32 points, normals; normals estimated" in repr(net.prepare(cloud(50)))


def test_a_run_folder_and_a_device(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    save_small(tmp_path / "run" / "model.safetensors")
    assert load(tmp_path / "run", torch.device("cpu")).device == torch.device("cpu")
    with pytest.raises(ValueError, match="device: expected a device that works here, got 'nowhere'"):
        load(tmp_path / "run", "nowhere")
    with pytest.raises(WeightsError, match="weights: expected a name, a run folder or a file, got int"):
        load(3)  # type: ignore[arg-type]


def test_networks_without_classes_say_what_they_can_do(tmp_path: Path) -> None:
    autoencoder, mixtures = load("modelnet40-mae"), load("mixtures")
    for ask in (autoencoder.predict, autoencoder.probabilities):
        with pytest.raises(WeightsError, match="modelnet40-mae: expected a classifier, got a 'mae', which gives feat"):
            ask(cloud(50))
    for ask in (mixtures.predict, mixtures.probabilities, mixtures.features, mixtures.prepare):
        with pytest.raises(WeightsError, match=r"mixtures: expected .*, which finds clusters; use it with `cluster"):
            ask(cloud(50))
    with pytest.raises(WeightsError, match="which finds clusters"):
        mixtures.layers  # noqa: B018
    nameless = load(save_small(tmp_path / "w.safetensors", classes=()))
    with pytest.raises(WeightsError, match="expected class names in the file, got none"):
        nameless.predict(cloud(50))
    assert nameless.probabilities(cloud(50)).mean.shape == (3,)


def test_options_that_cannot_be(net: TrainedNetwork) -> None:
    for ask in (net.predict, net.probabilities, net.features):
        with pytest.raises(ValueError, match="samples: expected at least 1, got 0"):
            ask(cloud(50), samples=0)
    with pytest.raises(ValueError, match="top: expected at least 1, got 0"):
        net.predict(cloud(50), top=0)


def test_an_answer_that_is_not_finite_is_an_error(tmp_path: Path) -> None:
    network, description = load_model(save_small(tmp_path / "w.safetensors"))
    with torch.no_grad():
        network.blocks[0].feed_forward.contract.weight.fill_(torch.nan)
    save_model(network, tmp_path / "w.safetensors", description)
    net = load(tmp_path / "w.safetensors")
    asked: list[tuple[Any, dict[str, Any]]] = [
        (net.predict, {}),
        (net.features, {}),
        (net.features, {"per_point": True}),
    ]
    for ask, options in asked:
        with pytest.raises(DataError, match=r"points\[0\]: the network's output is not finite"):
            ask([cloud(50)], **options)


def test_normals_by_default_are_those_of_the_network(tmp_path: Path) -> None:
    """A file may leave out options that have their defaults."""
    for model, options in (("set-transformer", {"classes": 3, "dim": 16}), ("basic", {"classes": 3, "dim": 16})):
        network = sampled_transformer.create_model(model, **options)
        save_model(network, tmp_path / "w.safetensors", Description(model, options, CLASSES))
        assert load(tmp_path / "w.safetensors").predict(cloud(50)) in CLASSES


def test_loading_and_predicting_need_no_extra() -> None:
    program = """
import sys
for name in ("huggingface_hub", "lightning", "sklearn", "pyarrow", "plotly"):
    sys.modules[name] = None  # as if it were not installed
import numpy as np
import sampled_transformer as st
net = st.load("bricks")
print(net.predict(np.random.default_rng(0).normal(size=(50, 3))))
for ask in (lambda: net.save_pretrained("x"), lambda: net.push_to_hub("a/b"), lambda: st.load("owner/name")):
    try:
        ask()
    except ValueError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    name, *errors = done.stdout.splitlines()
    assert name in load("bricks").classes
    missing = 'huggingface_hub is not installed: pip install "sampled-transformer[hub]"'
    assert errors[:2] == [missing, missing]
    assert errors[2].startswith("owner/name: no such file, run folder or shipped weights (brick-parts, bricks, ")
    assert errors[2].endswith('; to look on the Hugging Face Hub: pip install "sampled-transformer[hub]"')


def test_a_network_trained_on_numbers_gives_floats(
    regressor: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    net = load(regressor)
    np.savetxt(tmp_path / "a.xyz", cloud(70))
    value = net.predict(tmp_path / "a.xyz")
    assert isinstance(value, float)
    assert main(["predict", str(tmp_path / "a.xyz"), "--weights", str(regressor), "--json"]) == 0
    (expected,) = json.loads(capsys.readouterr().out)
    found = net.values(tmp_path / "a.xyz")
    assert (expected["value"], expected["spread"], expected["target"]) == found
    assert found.mean == value
    assert found.spread > 0
    sets = [cloud(40), cloud(50, 1), cloud(60, 2)]
    several = net.predict(sets)
    assert several.shape == (3,)
    assert several.tolist() == [net.predict(one) for one in sets]
    assert net.values(np.stack([sets[0], sets[0]]), samples=2).spread.shape == (2,)
    assert "predicts height in mm" in repr(net)
    assert net.target.name == "height in mm"
    assert net.features(sets[0]).shape == (32,)


def test_numbers_and_classes_are_not_mixed_up(regressor: Path, net: TrainedNetwork) -> None:
    with pytest.raises(WeightsError, match="expected a classifier, got a network that predicts a number"):
        load(regressor).probabilities(cloud(40))
    with pytest.raises(ValueError, match="top: expected none, because the network predicts a number, got 2"):
        load(regressor).predict(cloud(40), top=2)
    assert net.target is None
    with pytest.raises(WeightsError, match="expected a network that predicts a number, got another one"):
        net.values(cloud(40))


@pytest.mark.parametrize("factor", [1000.0, 0.001])
def test_units_do_not_change_an_answer(factor: float, net: TrainedNetwork) -> None:
    points = cloud(90)
    one, other = (net.probabilities(values, samples=2).mean for values in (points, points * factor))
    assert np.allclose(one, other, atol=1e-5)


def test_up_turns_what_the_network_reads(net: TrainedNetwork) -> None:
    points = cloud(90)
    turned = points[:, [0, 2, 1]] * [1, -1, 1]
    assert np.array_equal(net.probabilities(points, up="y").mean, net.probabilities(turned).mean)
    assert np.array_equal(net.features(points, up="y"), net.features(turned))
    per_point = net.features(points, per_point=True, up="y")
    assert np.array_equal(per_point.points, points[per_point.rows])


def test_auto_takes_the_likeliest_of_six(net: TrainedNetwork) -> None:
    sets = [cloud(90), cloud(50, 1)]
    for points, seen in zip(sets, net.prepare(sets, up="auto", samples=2), strict=True):
        sure = {up: net.probabilities(points, up=up, samples=2).mean.max() for up in AXES}
        likely = {up: probability + USUAL * (up in ("z", "y")) for up, probability in sure.items()}
        assert likely[seen.up] == max(likely.values())
        assert seen.notes[-1] == f"{seen.up} taken for up, the likeliest of 6"
        (best,) = net.predict([points], up="auto", top=1, samples=2)
        assert best[0].probability == pytest.approx(sure[seen.up], abs=1e-6)


def test_what_stands_upright_is_sure_usual_and_first_of_all_familiar() -> None:
    mean = np.array([[0.9, 0.1], [0.6, 0.4], [0.85, 0.15]])
    plain = Probabilities(mean, mean, ("a", "b"))
    assert upright_scores(plain, ["x", "z", "-y"]).argsort().tolist() == [1, 2, 0]
    assert upright_scores(plain, ["x", "z", "y"]).argsort().tolist() == [1, 0, 2]
    assert upright_scores(plain, ["x", "z", "-y"], "-y").argsort().tolist() == [1, 0, 2]  # the network's own axis
    known = plain._replace(familiar=np.array([False, True, True]))
    assert upright_scores(known, ["x", "z", "-y"]).argsort().tolist() == [0, 1, 2]


def test_an_unknown_axis_names_those_that_are_known(net: TrainedNetwork, regressor: Path) -> None:
    with pytest.raises(ValueError, match="up: expected one of z, y, x, -z, -y, -x, auto, got 'w'"):
        net.predict(cloud(40), up="w")
    with pytest.raises(ValueError, match="up: expected one of z, y, x, -z, -y, -x, got 'w'"):
        load(regressor).predict(cloud(40), up="w")


def test_auto_needs_probabilities(regressor: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="up: expected an axis, because the network predicts a number, got auto"):
        load(regressor).predict(cloud(40), up="auto")
    with pytest.raises(ValueError, match="up: expected an axis, because the network gives no class probabilities, got"):
        load(save_small(tmp_path / "mae.safetensors", "mae")).features(cloud(40), up="auto")
    assert load(regressor).predict(cloud(40), up="y") != load(regressor).predict(cloud(40))
