"""Labels per point as a task: loss, figures, and runs that learn, stop and go on."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from helpers.point_packs import halves, settings
from helpers.runs import rows, same, weights
from torch import nn
from torch.nn.functional import cross_entropy

from sampled_transformer.data import Batch, write_pack
from sampled_transformer.training.point_loading import PointView
from sampled_transformer.training.point_loss import lovasz_loss
from sampled_transformer.training.segment import Segment, segment
from sampled_transformer.training.segment_settings import LossOptions
from sampled_transformer.training.settings import OptimiserOptions
from sampled_transformer.weights import describe_model


class Table(nn.Module):
    """Logits that were given."""

    def __init__(self, logits: torch.Tensor) -> None:
        super().__init__()
        self.logits = nn.Parameter(logits)

    def forward(self, points: torch.Tensor, features: Any, ptr: torch.Tensor) -> torch.Tensor:
        return self.logits


def task(logits: torch.Tensor, **loss: Any) -> Segment:
    weights = torch.tensor([0.5, 1.0, 1.5])
    own = Segment(
        Table(logits),
        PointView(4),
        weights,
        LossOptions(**{"fade": False, **loss}),
        OptimiserOptions(label_smoothing=0.0),
    )
    own.add_to_totals = lambda *values: own.__dict__.setdefault("seen", []).append(values)  # type: ignore[method-assign]
    return own


def batch(labels: list[int]) -> Batch:
    count = len(labels)
    return Batch(torch.rand(count, 3), None, None, torch.tensor([0, count]), torch.tensor(labels))


def test_the_loss_is_a_weighted_mean_over_points_with_a_label() -> None:
    logits, labels = torch.randn(6, 3, generator=torch.Generator().manual_seed(0)), [0, 1, -1, 2, 2, -1]
    known = [0, 1, 3, 4]
    scores = logits.log_softmax(1)
    weight = {0: 0.5, 1: 1.0, 2: 1.5}
    total = sum(weight[labels[row]] * -float(scores[row, labels[row]]) for row in known)
    plain = task(logits)
    loss = plain.training_step(batch(labels), 0)
    assert float(loss.detach()) == pytest.approx(total / sum(weight[labels[row]] for row in known))
    loss.backward()
    assert not plain.network.logits.grad[[2, 5]].any()
    both = task(logits, also="lovasz").training_step(batch(labels), 0)
    extra = lovasz_loss(logits.softmax(1), torch.tensor(labels))
    assert float(both.detach()) == pytest.approx(float(loss.detach() + extra))
    right = sum(int(logits[row].argmax()) == labels[row] for row in known)
    ((_, found, count),) = plain.__dict__["seen"]
    assert (int(found), int(count)) == (right, 4)


def test_weights_fade_along_the_training() -> None:
    one, logits = task(torch.randn(6, 3), fade=True), torch.randn(6, 3)
    for step, expected in ((0, one.weights), (50, one.weights.sqrt()), (100, torch.ones(3))):
        one._trainer = SimpleNamespace(global_step=step, estimated_stepping_batches=100)
        torch.testing.assert_close(one.class_weights(logits), expected)
    assert torch.equal(task(logits).class_weights(logits), one.weights)


def test_a_batch_without_any_label_teaches_nothing() -> None:
    one = task(torch.randn(4, 3), also="dice")
    loss = one.training_step(batch([-1] * 4), 0)
    assert float(loss.detach()) == 0
    loss.backward()
    assert not one.network.logits.grad.any()
    expected = cross_entropy(one.network.logits, torch.tensor([-1] * 4), ignore_index=-1)
    assert expected.isnan()  # what torch gives for a mean over no points


def test_figures_leave_out_what_is_ignored() -> None:
    one = task(torch.tensor([[9.0, 0, 0], [0, 9.0, 0], [0, 0, 9.0], [9.0, 0, 0]]))
    one.share_buffers = lambda: None  # type: ignore[method-assign]
    one.on_validation_epoch_start()
    one.validation_step(batch([0, 1, 1, -1]), 0)
    assert one.figures() == {"test_mean_iou": pytest.approx(0.75), "test_accuracy": pytest.approx(2 / 3)}
    assert one.confusion_rows() == [[1, 0, 0], [0, 1, 1], [0, 0, 0]]
    shown = one.shown({"train_accuracy": 0.5, **one.figures()})
    assert shown == ["train 50.00 %", "test mean IoU 75.00 %"]
    with torch.no_grad():
        one.network.logits.fill_(torch.nan)
    one.validation_step(batch([0, 1, 1, -1]), 0)
    with pytest.raises(ValueError, match="answers are no longer finite"):
        one.figures()


def test_a_run_that_diverges_names_the_step_and_its_sets(halves_folder: Path, tmp_path: Path) -> None:
    spoilt = replace(settings(halves_folder, tmp_path / "run"), optimiser=OptimiserOptions("sgd", rate=1e30))
    with pytest.raises(ValueError, match=r"^the (loss|gradient) of step \d+, with the shapes [\d, ]+ of the training"):
        segment(spoilt)


def test_a_run_learns_and_says_how_well(segmenter: Path) -> None:
    table = rows(segmenter)
    assert float(table[-1]["test_mean_iou"]) > 0.8
    assert float(table[0]["test_mean_iou"]) < float(table[-1]["test_mean_iou"])
    result = json.loads((segmenter / "result.json").read_text())
    assert [one["class"] for one in result["point_classes"]] == ["low", "high"]
    assert all(one["iou"] > 0.7 for one in result["point_classes"])
    description = describe_model(segmenter / "model.safetensors")
    assert description.classes == ("low", "high")
    assert description.options["features"] == {"colour": 3, "intensity": 1, "normals": 3}
    assert description.options["optional"] == ["colour", "intensity", "normals"]
    assert description.options["positions"] == "xyz"
    data = description.notes["data"]
    assert (data["points"], data["part"], data["size"], data["up"]) == (64, "subset", "unit", "z")
    assert description.notes["figures"]["test_mean_iou"] == pytest.approx(float(table[-1]["test_mean_iou"]), abs=1e-4)


def test_a_run_that_was_interrupted_goes_on_as_if_nothing_had_happened(
    halves_folder: Path, tmp_path: Path, interrupt: Callable[[int], None]
) -> None:
    options = {"data": {"jitter": 0.05, "missing": 0.3}, "loss": {"also": "lovasz"}, "attention": "sampled"}
    whole = settings(halves_folder, tmp_path / "whole", epochs=3, **options)
    segment(whole)
    interrupt(4)
    broken = replace(whole, out=str(tmp_path / "broken"))
    with pytest.raises(KeyboardInterrupt):
        segment(broken)
    assert len(rows(broken.out)) < 3
    segment(broken, resume=True)
    assert same(weights(whole.out), weights(broken.out))


def test_scenes_are_trained_on_in_crops(tmp_path: Path) -> None:
    (tmp_path / "pack").mkdir()
    for split, sets in (("train", 2), ("test", 1)):
        write_pack(halves(sets, points=200, keep_size=True), tmp_path / "pack" / f"{split}.npz")
    own = settings(tmp_path / "pack", tmp_path / "run", 2, data={"part": "crop", "points": 50, "validation": 0.5})
    segment(own)
    assert {"validation_mean_iou", "test_mean_iou"} <= set(rows(own.out)[-1])
    description = describe_model(tmp_path / "run" / "model.safetensors")
    assert (description.options["positions"], description.notes["data"]["size"]) == ("z", "kept")


def test_small_sets_one_at_a_time(tmp_path: Path) -> None:
    """The coarsest level of a single set of 8 points has one point, and a set may have no label at all."""
    (tmp_path / "pack").mkdir()
    pack = halves(4, points=8)
    labels = pack.point_labels.copy()
    labels[0] = -1
    for split in ("train", "test"):
        write_pack(replace(pack, point_labels=labels), tmp_path / "pack" / f"{split}.npz")
    own = settings(tmp_path / "pack", tmp_path / "run", 1, options={"widths": [8, 8, 8, 8]}, loss={"also": "dice"})
    segment(replace(own, data=replace(own.data, batch=1)))
    assert all(one.isfinite().all() for one in weights(own.out).values() if one.is_floating_point())


def test_classes_that_training_never_sees_and_classes_to_ignore(tmp_path: Path) -> None:
    three = ("low", "high", "never")
    (tmp_path / "pack").mkdir()
    train, test = halves(6, point_classes=three), halves(2, seed=1, point_classes=three)
    labels = test.point_labels.copy()
    labels[:, :5] = 2
    write_pack(train, tmp_path / "pack" / "train.npz")
    write_pack(replace(test, point_labels=labels), tmp_path / "pack" / "test.npz")
    segment(settings(tmp_path / "pack", tmp_path / "run", 1))
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    never = result["point_classes"][2]
    assert never["points"] == 10
    assert np.isfinite(list(map(float, (value for value in rows(tmp_path / "run")[-1].values() if value)))).all()
    segment(settings(tmp_path / "pack", tmp_path / "other", 1, loss={"ignore": ["never"]}))
    result = json.loads((tmp_path / "other" / "result.json").read_text())
    assert result["point_classes"][2] == {"class": "never", "points": 0, "iou": None}
    assert describe_model(tmp_path / "other" / "model.safetensors").notes["data"]["ignore"] == ["never"]


@pytest.mark.parametrize("name", ["classes", "attention", "features", "optional"])
def test_options_that_the_data_decides_are_refused(halves_folder: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=rf"options\.{name}: expected none, because .* decides it, got 3"):
        segment(settings(halves_folder, tmp_path / "run", options={name: 3}))


def test_scenes_that_do_not_fit_in_one_pass_are_validated_in_tiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for split, sets in (("train", 2), ("test", 1)):
        write_pack(halves(sets, 6000), tmp_path / f"{split}.npz")
    own = {"data": {"part": "crop", "points": 500, "normals": False}, "epochs": 1, "attention": "none"}
    one = segment(settings(tmp_path, tmp_path / "one", **own))
    sizes: list[int] = []
    plain = Segment.of_scene

    def noted(self: Segment, batch: Batch) -> torch.Tensor:
        sizes.append(len(batch.points))
        return plain(self, batch)

    monkeypatch.setattr(Segment, "of_scene", noted)
    monkeypatch.setattr("sampled_transformer.training.segment.most_points", lambda memory: 2000)
    tiled = segment(settings(tmp_path, tmp_path / "tiled", **own))
    assert sizes == [6000]
    assert np.sum(tiled["confusion"]) == np.sum(one["confusion"]) == 6000
    assert np.abs(np.subtract(tiled["confusion"], one["confusion"])).sum() < 120
    assert tiled["figures"]["last epoch"]["test_mean_iou"] > 0
