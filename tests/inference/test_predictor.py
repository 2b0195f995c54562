from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from sampled_transformer.data.files import read_shape
from sampled_transformer.inference.evaluation import evaluate
from sampled_transformer.inference.familiarity import Familiarity
from sampled_transformer.inference.predictor import Predictor, predict
from sampled_transformer.models import create_model
from sampled_transformer.weights import Description, WeightsError, load_model, save_model

OFF = "OFF\n4 4 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n"


def save(path: Path, classes=("a", "b", "c"), **options) -> Path:
    options = {"classes": 3, "dim": 16, "heads": 2, "hidden": 16, "embedding": 8, **options}
    torch.manual_seed(0)
    notes = {"data": {"preset": "bricks", "points": 32}}
    save_model(create_model("basic", **options), path, Description("basic", options, classes, notes))
    return path


@pytest.fixture
def files(tmp_path) -> Path:
    folder = tmp_path / "files"
    (folder / "more").mkdir(parents=True)
    (folder / "mesh.off").write_text(OFF)
    np.savetxt(folder / "more" / "cloud.xyz", np.random.default_rng(0).normal(size=(50, 3)))
    (folder / "more" / "picture.png").write_bytes(b"no shape")
    (folder / ".hidden.off").write_text(OFF)
    return folder


def test_probabilities_and_their_spread(tmp_path, files):
    weights = save(tmp_path / "w.safetensors")
    answer = Predictor(weights, samples=4).answer(files / "mesh.off", top=3)
    network = load_model(weights)[0]
    shape = read_shape(files / "mesh.off", points=32)
    passes = []
    for seed in range(4):
        network.blocks[0].attention.seed = seed
        with torch.no_grad():
            passes.append(network(torch.tensor(shape.points)[None], torch.tensor(shape.normals)[None]).softmax(1)[0])
    stacked = torch.stack(passes)
    assert answer.error is None
    assert answer.notes == []
    assert sum(row["probability"] for row in answer.classes) == pytest.approx(1, abs=1e-6)
    for row in answer.classes:
        column = stacked[:, "abc".index(row["class"])].numpy()
        assert row["probability"] == pytest.approx(column.mean(), abs=1e-6)
        assert row["spread"] == pytest.approx(column.std(), abs=1e-6)
    shares = [row["probability"] for row in answer.classes]
    assert shares == sorted(shares, reverse=True)


def test_normals_are_estimated_when_needed_and_only_then(tmp_path, files):
    cloud = files / "more" / "cloud.xyz"
    assert Predictor(save(tmp_path / "w.safetensors")).answer(cloud).notes == [
        "normals estimated from neighbouring points"
    ]
    assert Predictor(save(tmp_path / "p.safetensors", normals=False)).answer(cloud).notes == []


def test_folders_are_searched_and_failures_do_not_stop_the_rest(tmp_path, files):
    predictor = Predictor(save(tmp_path / "w.safetensors"), samples=1)
    (tmp_path / "empty").mkdir()
    (files / "broken.off").write_text("OFF\n9 9 9\n")
    places = [files / "none.ply", tmp_path / "empty", files]
    answers = list(predict(predictor, list(map(str, places)), top=2))
    assert [Path(answer.file).name for answer in answers] == [
        "none.ply",
        "empty",
        "broken.off",
        "mesh.off",
        "cloud.xyz",
    ]
    assert [answer.error is not None for answer in answers] == [True, True, True, False, False]
    assert answers[1].error == f"{tmp_path}/empty: no file of a known format in this folder"
    assert all(len(answer.classes) == 2 for answer in answers[3:])


def test_a_stranger_is_called_one(tmp_path, files):
    weights = save(tmp_path / "w.safetensors")
    network, description = load_model(weights)
    answers = {}
    for scores in (-1e9, 1e9):  # everything scores higher than all held-out shapes, then lower
        known = Familiarity(torch.zeros(1, 16).half(), torch.ones(16), torch.full((20,), scores), 1.0, 0.05)
        told = replace(description, notes={**description.notes, **known.notes()})
        save_model(network, weights, told, known.tensors())
        answers[scores] = Predictor(weights, samples=1).answer(files / "mesh.off", top=2)
    strange, friend = answers.values()
    assert (strange.familiar, strange.strangeness) == (False, 1.0)
    assert strange.lines() == [f"looks like nothing this network knows (nearest: {strange.classes[0]['class']})"]
    assert (friend.familiar, friend.strangeness, len(friend.lines())) == (True, 0.0, 2)
    assert strange.classes == friend.classes
    plain = Predictor(save(weights)).answer(files / "mesh.off")
    assert (plain.familiar, plain.strangeness) == (None, None)


def test_the_surer_of_two_networks_answers(tmp_path, files):
    first, second = (save(tmp_path / name, normals=False) for name in ("first.safetensors", "second.safetensors"))
    network, description = load_model(second)
    known = Familiarity(torch.zeros(1, 16).half(), torch.ones(16), torch.full((20,), -1e9), 1.0, 0.05)
    told = replace(description, notes={**description.notes, **known.notes()})
    chosen = set()
    for factor in (1e-3, 10.0):  # the second network is less sure than the first, then surer
        with torch.no_grad():
            network.head.weight.mul_(factor)
        save_model(network, second, told, known.tensors())
        alone = [Predictor(path, samples=1).answer(files / "mesh.off") for path in (first, second)]
        both = Predictor(first, samples=1, twin=second).answer(files / "mesh.off")
        number = int(alone[1].classes[0]["probability"] > alone[0].classes[0]["probability"])
        assert both.classes == alone[number].classes
        assert both.weights == ("first", "second")[number]
        assert (both.familiar, both.strangeness) == (False, 1.0)  # the first does not say
        assert both.lines()[0].startswith("looks like nothing these networks know")
        chosen.add(number)
        with torch.no_grad():
            network.head.weight.mul_(1e3)
    assert chosen == {0, 1}


@pytest.mark.parametrize(
    ("first", "second", "familiar"),
    [
        (0.97, 0.0, True),  # alone it would be called unfamiliar: each of two has half of the false alarms
        (0.98, 0.0, False),
        (0.0, 0.98, False),
        (0.97, 0.97, True),
        (None, 0.97, False),  # of one network that tells strangers it is the whole rate
        (None, 0.94, True),
        (None, None, None),
    ],
)
def test_a_set_is_unfamiliar_if_it_is_to_any_of_two_networks(tmp_path, files, first, second, familiar):
    weights = []
    for name, share in (("first", first), ("second", second)):
        path = save(tmp_path / f"{name}.safetensors", normals=False)
        if share is not None:  # of 10,000 held-out shapes this share scores lower than any set
            network, description = load_model(path)
            scores = torch.where(torch.arange(10000) < round(share * 10000), -1e9, 1e9)
            known = Familiarity(torch.zeros(1, 16).half(), torch.ones(16), scores, 1.0, 0.05)
            told = replace(description, notes={**description.notes, **known.notes()})
            save_model(network, path, told, known.tensors())
        weights.append(path)
    answer = Predictor(weights[0], samples=1, twin=weights[1]).answer(files / "mesh.off")
    assert answer.familiar is familiar
    strangest = max((share for share in (first, second) if share is not None), default=None)
    assert answer.strangeness == (None if strangest is None else pytest.approx(strangest))


def test_the_surer_answer_is_softened_after_it_was_chosen(tmp_path, files):
    first, second = (save(tmp_path / name, normals=False) for name in ("first.safetensors", "second.safetensors"))
    network, description = load_model(second)
    softened = set()
    for factor in (1e-3, 10.0):  # the second network is less sure than the first, then surer
        with torch.no_grad():
            network.head.weight.mul_(factor)
        plain, told = (
            {**description.notes, "calibration": {"temperature": 1.0, "beside": beside}}
            for beside in ({"another": 5.0}, {"first": 2.0})
        )
        save_model(network, second, replace(description, notes=plain))
        before = Predictor(first, samples=1, twin=second).answer(files / "mesh.off", top=3)
        save_model(network, second, replace(description, notes=told))
        after = Predictor(first, samples=1, twin=second).answer(files / "mesh.off", top=3)
        assert after.weights == before.weights
        assert [row["class"] for row in after.classes] == [row["class"] for row in before.classes]
        roots = [row["probability"] ** 0.5 for row in before.classes]  # of all classes
        expected = [root / sum(roots) for root in roots]
        assert [row["probability"] for row in after.classes] == pytest.approx(expected)
        softened.add(after.weights)
        with torch.no_grad():
            network.head.weight.mul_(1e3)
    assert softened == {"first", "second"}


def test_sets_of_few_points_have_a_temperature_of_their_own(tmp_path):
    first, second = (save(tmp_path / name, normals=False) for name in ("first.safetensors", "second.safetensors"))
    network, description = load_model(second)
    np.save(tmp_path / "23.npy", np.random.default_rng(0).normal(size=(23, 3)))  # of 32
    found = []
    for beside in ({"first": 3.0}, {"first": 3.0, "few points": 2.0}):
        notes = {**description.notes, "calibration": {"temperature": 1.0, "beside": beside}}
        save_model(network, second, replace(description, notes=notes))
        answer = Predictor(first, samples=1, twin=second).answer(tmp_path / "23.npy", top=3)
        found.append([row["probability"] for row in answer.classes])
    roots = [probability**0.5 for probability in found[0]]
    assert found[1] == pytest.approx([root / sum(roots) for root in roots])


@pytest.mark.parametrize("beside", [3, {"first": "2"}, {"first": True}, {"first": 0.0}, {"first": float("nan")}])
def test_nonsense_about_the_surer_answer_is_refused(tmp_path, beside):
    first, second = (save(tmp_path / name, normals=False) for name in ("first.safetensors", "second.safetensors"))
    network, description = load_model(second)
    notes = {**description.notes, "calibration": {"temperature": 1.0, "beside": beside}}
    save_model(network, second, replace(description, notes=notes))
    with pytest.raises(WeightsError, match=r"expected temperatures of 0.05 to 20 in its note calibration.beside, got"):
        Predictor(first, samples=1, twin=second)


def test_sets_of_few_points_are_for_the_twin(tmp_path):
    first, second = (save(tmp_path / name, normals=False) for name in ("first.safetensors", "second.safetensors"))
    network, description = load_model(second)
    with torch.no_grad():
        network.head.weight.mul_(1e-3)  # never the surer one
    save_model(network, second, description)
    generator = np.random.default_rng(0)
    for count in (23, 24):  # of 32
        np.save(tmp_path / f"{count}.npy", generator.normal(size=(count, 3)))
    np.save(tmp_path / "padded.npy", np.load(tmp_path / "23.npy")[np.arange(32) % 23])
    files = [tmp_path / name for name in ("23.npy", "24.npy", "padded.npy")]
    answers = Predictor(first, samples=1, twin=second).answers(files)
    assert [answer.weights for answer in answers] == ["second", "first", "second"]
    usual = "where the network usually reads 32"
    assert answers[0].notes == [f"only 23 points, {usual}"]
    assert answers[2].notes == [f"only 23 points that differ, {usual}"]


@pytest.mark.parametrize(("count", "read"), [(23, 23), (9, 9), (8, 8), (5, 8)])
def test_few_points_are_read_once_each_but_for_very_few(tmp_path, count, read):
    first, second = (save(tmp_path / name, normals=False) for name in ("first.safetensors", "second.safetensors"))
    network, description = load_model(second)
    smaller = replace(description, notes={"data": {"preset": "bricks", "points": read}})
    save_model(network, tmp_path / "smaller.safetensors", smaller)
    np.save(tmp_path / "few.npy", np.random.default_rng(0).normal(size=(count, 3)))
    answer = Predictor(first, samples=1, twin=second).answer(tmp_path / "few.npy", top=3)
    expected = Predictor(tmp_path / "smaller.safetensors", samples=1).answer(tmp_path / "few.npy", top=3)
    assert [row["class"] for row in answer.classes] == [row["class"] for row in expected.classes]
    shares = [row["probability"] for row in expected.classes]
    assert [row["probability"] for row in answer.classes] == pytest.approx(shares, abs=1e-6)
    filled = "; repeated some to get 8" * (count < read)
    assert answer.notes == [f"only {count} points, where the network usually reads 32{filled}"]


def test_sets_of_several_small_sizes_keep_their_places(tmp_path):
    first, second = (save(tmp_path / name, normals=False) for name in ("first.safetensors", "second.safetensors"))
    generator = np.random.default_rng(0)
    files = []
    for number, count in enumerate((9, 40, 20, 9, 5, 20, 32)):
        files.append(tmp_path / f"{number}.npy")
        np.save(files[-1], generator.normal(size=(count, 3)))
    both = Predictor(first, samples=1, batch=7, twin=second)
    together = both.answers(files, top=3)
    assert [answer.file for answer in together] == [str(path) for path in files]
    for path, answer in zip(files, together, strict=True):
        alone = both.answer(path, top=3)
        assert (answer.weights, answer.notes) == (alone.weights, alone.notes)
        shares = [row["probability"] for row in alone.classes]
        assert [row["probability"] for row in answer.classes] == pytest.approx(shares, abs=1e-6)


def test_twins_know_the_same_classes_and_read_the_same(tmp_path):
    first = save(tmp_path / "first.safetensors", normals=False)
    for name, options in {"classes": {"classes": ("x", "y", "z")}, "normals": {"normals": True}}.items():
        other = save(tmp_path / f"{name}.safetensors", **{"normals": False, **options})
        message = rf"{name}\.safetensors: expected the classes, points and normals of .*first\.safetensors, got others"
        with pytest.raises(WeightsError, match=message):
            Predictor(first, twin=other)


def test_nonsense_about_familiar_shapes_is_refused_before_any_answer(tmp_path):
    weights = save(tmp_path / "w.safetensors")
    network, description = load_model(weights)
    save_model(network, weights, replace(description, notes={**description.notes, "familiarity": 7}))
    with pytest.raises(WeightsError, match=r"w\.safetensors: expected names and values in its note familiarity"):
        Predictor(weights)
    save_model(network, weights, replace(description, notes={**description.notes, "calibration": {"temperature": 0}}))
    with pytest.raises(WeightsError, match=r"w\.safetensors: expected a temperature of 0\.05 to 20"):
        Predictor(weights)


def test_what_cannot_predict(tmp_path):
    with pytest.raises(WeightsError, match="expected class names in the file, got none"):
        Predictor(save(tmp_path / "w.safetensors", classes=()))
    with pytest.raises(ValueError, match="samples: expected at least 1"):
        Predictor(save(tmp_path / "w.safetensors"), samples=0)
    with pytest.raises(ValueError, match="top: expected at least 1"):
        list(predict(Predictor(save(tmp_path / "w.safetensors")), ["x"], top=0))
    options = {"dim": 16, "heads": 2, "hidden": 16, "depth": 1, "groups": 8, "group_size": 8}
    save_model(create_model("mae", **options), tmp_path / "mae.safetensors", Description("mae", options))
    with pytest.raises(WeightsError, match="expected a classifier, got a 'mae'"):
        Predictor(tmp_path / "mae.safetensors")
    with pytest.raises(WeightsError, match="expected a classifier, got a 'mae'"):
        evaluate(tmp_path / "mae.safetensors", "bricks")
    mixture = create_model("pooling-mixture", dim=8)
    save_model(mixture, tmp_path / "mixture.safetensors", Description("pooling-mixture", {"dim": 8}))
    with pytest.raises(WeightsError, match="expected a classifier, got 'pooling-mixture'"):
        Predictor(tmp_path / "mixture.safetensors")


def test_a_cloud_with_fewer_points_is_filled_up_and_says_so(tmp_path):
    np.savetxt(tmp_path / "small.xyz", np.random.default_rng(0).normal(size=(20, 3)))
    answer = Predictor(save(tmp_path / "w.safetensors", normals=False)).answer(tmp_path / "small.xyz")
    assert answer.notes == ["only 20 points; repeated some to get the 32 the network reads"]
    assert answer.error is None


def test_an_answer_that_is_not_finite_is_an_error(tmp_path, files):
    weights = save(tmp_path / "w.safetensors")
    network, description = load_model(weights)
    with torch.no_grad():
        network.head.bias.fill_(torch.nan)
    save_model(network, weights, description)
    answer = Predictor(weights).answer(files / "mesh.off")
    assert answer.error == f"{files / 'mesh.off'}: the network's output is not finite"


def test_a_number_per_file(regressor, files):
    predictor = Predictor(regressor / "model.safetensors", samples=2)
    mesh, cloud, missing = predict(predictor, [str(files), "nowhere.off"])
    assert (mesh.target, mesh.error) == ("height in mm", None)
    assert mesh.lines() == [f"{mesh.value:.6g} +- {mesh.spread:.2g}  height in mm"]
    assert 200 < mesh.value < 400
    assert cloud.value != mesh.value
    assert missing.value is None
    assert missing.error == "nowhere.off: No such file or directory"
