"""Exported networks give the network's answers, for any number of sets and points."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch

from sampled_transformer.attention import list_attention
from sampled_transformer.inference.export import (
    DESCRIPTION,
    TIES,
    ExportError,
    _difference,
    _Plain,
    export_network,
)
from sampled_transformer.inference.trained import cycle_probabilities
from sampled_transformer.models import create_model
from sampled_transformer.weights import Description, WeightsError, save_model

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")

PYRAMID = {"widths": (8, 16), "strides": (2, 2), "neighbours": (6, 4), "stem": 8, "head": 16}
SMALL = {"dim": 16, "heads": 2, "hidden": 16, "embedding": 8}
MECHANISMS = [name for name in list_attention() if name != "stratified"]
FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: ("basic", {"classes": 3, "attention": name, **SMALL}) for name in MECHANISMS},
    "several cycles, one per head": (
        "basic",
        {"classes": 3, "depth": 2, "attention_options": {"cycles": "per-head", "samples": 2}, **SMALL},
    ),
    "dense subsets": ("basic", {"classes": 3, "attention_options": {"inner": "dense", "subset": 4}, **SMALL}),
    "one cycle for the network": (
        "basic",
        {"classes": 3, "depth": 2, "attention_options": {"cycles": "network"}, **SMALL},
    ),
    "kNN, vector form": ("basic", {"classes": 3, "attention": "knn", "attention_options": {"vector": True}, **SMALL}),
    "without normals": ("basic", {"classes": 3, "normals": False, **SMALL}),
    "hierarchical, sampled": ("hierarchical", {"classes": 3, "stages": 2, "blocks": [1, 1]}),
    "hierarchical, kNN": ("hierarchical", {"classes": 3, "stages": 2, "blocks": [1, 1], "attention": "knn"}),
    "pyramid": ("pyramid", {"classes": 3, **PYRAMID}),
    "pyramid, sampled": ("pyramid", {"classes": 3, "attention": "sampled", "normals": True, **PYRAMID}),
    "masked autoencoder's classifier": (
        "mae-classifier",
        {"classes": 3, "dim": 16, "heads": 2, "depth": 1, "groups": 8, "group_size": 4, "embedding": 8},
    ),
    "set transformer": ("set-transformer", {"classes": 3, "dim": 16, "heads": 2, "attention": "induced"}),
    "set transformer, rows": ("set-transformer", {"classes": 3, "dim": 16, "heads": 2, "attention": "sampled"}),
    "mixture": ("set-transformer-mixture", {"dim": 16, "heads": 2}),
}

# What can fail is the graph, which both formats share: few need to be written twice.
BOTH = ("sampled", "linear", "knn", "hierarchical, sampled", "set transformer", "mixture")


def saved(tmp_path, model: str, options: dict[str, Any]):
    """A weights file of an untrained network, whose batch statistics are not those of a new one."""
    torch.manual_seed(0)
    network = create_model(model, **options)
    for layer in network.modules():
        if isinstance(layer, torch.nn.BatchNorm1d):
            layer.running_mean.uniform_(-0.5, 0.5)
            layer.running_var.uniform_(0.5, 2)
    classes = [f"class {i}" for i in range(options.get("classes", 0))]
    save_model(network, tmp_path / "w.safetensors", Description(model, options, classes, {"data": {"points": 24}}))
    return network.eval(), tmp_path / "w.safetensors"


def ask_onnx(path, *inputs: torch.Tensor) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {node.name: x.numpy() for node, x in zip(session.get_inputs(), inputs, strict=True)})


@pytest.mark.parametrize("form", FORMS)
def test_exported_files_answer_as_the_network_does(tmp_path, form):
    network, weights = saved(tmp_path, *FORMS[form])
    done = export_network(weights, tmp_path / "n.onnx")
    assert done.difference < 1e-5
    torch.manual_seed(1)
    width = 2 if form == "mixture" else 3
    inputs = tuple(torch.rand(4, 37, width) for _ in done.inputs)  # neither number was seen before
    with torch.no_grad():
        wanted = network(*inputs)
    wanted = [wanted] if isinstance(wanted, torch.Tensor) else list(wanted)
    order = torch.arange(37) if form == "sparse" else torch.randperm(37)
    for points in (inputs, tuple(x[:, order] for x in inputs)):  # whose order does not matter
        for one, found in zip(wanted, ask_onnx(tmp_path / "n.onnx", *points), strict=True):
            np.testing.assert_allclose(found, one.numpy(), rtol=0, atol=1e-5)
    if form not in BOTH:
        return
    assert export_network(weights, tmp_path / "n.pt2").difference < 1e-6
    loaded = torch.export.load(tmp_path / "n.pt2").module()
    answer = loaded(*(x[:, order] for x in inputs))
    for one, other in zip(wanted, [answer] if isinstance(answer, torch.Tensor) else answer, strict=True):
        torch.testing.assert_close(other, one, rtol=0, atol=1e-6)


def test_files_describe_themselves(tmp_path):
    _, weights = saved(tmp_path, *FORMS["sampled"])
    export_network(weights, tmp_path / "n.onnx")
    export_network(weights, tmp_path / "n.pt2")
    session = onnxruntime.InferenceSession(str(tmp_path / "n.onnx"), providers=["CPUExecutionProvider"])
    assert [(node.name, node.shape) for node in session.get_inputs()] == [
        ("points", ["batch", "n", 3]),
        ("normals", ["batch", "n", 3]),
    ]
    assert [(node.name, node.shape) for node in session.get_outputs()] == [("logits", ["batch", 3])]
    extra = {DESCRIPTION: ""}
    torch.export.load(tmp_path / "n.pt2", extra_files=extra)
    for metadata in (session.get_modelmeta().custom_metadata_map, json.loads(extra[DESCRIPTION])):
        assert metadata["model"] == "basic"
        assert json.loads(metadata["classes"]) == ["class 0", "class 1", "class 2"]
        assert json.loads(metadata["notes"]) == {"data": {"points": 24}}


def test_a_regression_answers_in_its_own_unit(tmp_path):
    options = {"classes": 1, "normals": False, **SMALL}
    notes = {"data": {"points": 24}, "regression": {"name": "drag", "mean": 500.0, "deviation": 20.0}}
    network = create_model("basic", **options).eval()
    save_model(network, tmp_path / "w.safetensors", Description("basic", options, (), notes))
    done = export_network(tmp_path / "w.safetensors", tmp_path / "n.onnx")
    assert done.outputs == ["value"]
    points = torch.rand(3, 30, 3)
    with torch.no_grad():
        wanted = network(points)[:, 0] * 20 + 500
    np.testing.assert_allclose(ask_onnx(tmp_path / "n.onnx", points)[0], wanted.numpy(), rtol=1e-6)


def test_logits_are_divided_by_the_temperature(tmp_path):
    options = {"classes": 3, **SMALL}
    network, path = saved(tmp_path, "basic", options)
    notes = {"data": {"points": 24}, "calibration": {"temperature": 0.5}}
    save_model(network, path, Description("basic", options, ["a", "b", "c"], notes))
    export_network(path, tmp_path / "net.pt2")
    points = torch.rand(2, 24, 3)
    with torch.no_grad():
        found = torch.export.load(tmp_path / "net.pt2").module()(points, points)
        expected = network(points, points) / 0.5
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(found.softmax(1), cycle_probabilities(network, points, points, 1, 0.5)[0])


def test_fewest_points_are_told(tmp_path):
    _, weights = saved(tmp_path, *FORMS["masked autoencoder's classifier"])
    assert export_network(weights, tmp_path / "n.pt2").fewest == 8
    _, weights = saved(tmp_path, *FORMS["none"])
    assert export_network(weights, tmp_path / "n.pt2").fewest == 1


def test_a_difference_is_refused_and_leaves_no_file(tmp_path):
    _, weights = saved(tmp_path, *FORMS["dense"])
    (tmp_path / "out").mkdir()
    with pytest.raises(ExportError, match=r"n\.onnx: expected the network's answers to -1, got a difference of"):
        export_network(weights, tmp_path / "out" / "n.onnx", tolerance=-1.0)
    assert list((tmp_path / "out").iterdir()) == []


class Repeats(torch.nn.Module):
    """How many distances from the first point another point has, too."""

    def forward(self, points: torch.Tensor, normals: torch.Tensor | None = None) -> torch.Tensor:
        squared = (points - points[:, :1]).square().sum(2).sort(1).values
        return (squared.diff(dim=1) == 0).sum(1, keepdim=True).float()


def test_the_sets_that_are_tried_have_ties():
    differences = {
        kind: _difference(_Plain(Repeats(), None), lambda points: (torch.zeros(len(points), 1),), 2, 200, kind)
        for kind in TIES
    }
    assert differences.pop("random") == 0
    assert min(differences.values()) >= 1


def test_no_number_is_a_difference(tmp_path):
    network, weights = saved(tmp_path, *FORMS["without normals"])
    with torch.no_grad():
        next(network.parameters()).fill_(torch.nan)
    description = Description("basic", FORMS["without normals"][1], ["a", "b", "c"], {"data": {"points": 24}})
    save_model(network, weights, description)
    with pytest.raises(ValueError, match=r"a difference of nan"):
        export_network(weights, tmp_path / "n.pt2")
    assert not (tmp_path / "n.pt2").exists()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"attention": "stratified"}, "windows"),
        ({"attention_options": {"order": "hilbert"}}, "space-filling curve"),
        ({"attention_options": {"composition": "sequential"}}, "one step per subset"),
    ],
)
def test_what_no_graph_can_hold_is_refused_with_the_reason(tmp_path, options, reason):
    _, weights = saved(tmp_path, "basic", {"classes": 3, **options, **SMALL})
    with pytest.raises(ExportError, match=rf"w\.safetensors: cannot be exported: .*{reason}"):
        export_network(weights, tmp_path / "n.onnx")


def test_wrong_targets_and_weights(tmp_path):
    _, weights = saved(tmp_path, *FORMS["dense"])
    for target in ("n.zip", "n", "missing/n.onnx"):
        with pytest.raises(ValueError, match="out: expected a file"):
            export_network(weights, tmp_path / target)
    options = {"dim": 12, "heads": 2, "depth": 1, "decoder_depth": 1, "groups": 8, "group_size": 4}
    save_model(create_model("mae", **options), tmp_path / "mae.safetensors", Description("mae", options))
    with pytest.raises(WeightsError, match="one answer per set, got a 'mae'"):
        export_network(tmp_path / "mae.safetensors", tmp_path / "n.onnx")
    options = {"classes": 3, "widths": [8, 8]}
    save_model(create_model("segmenter", **options), tmp_path / "s.safetensors", Description("segmenter", options))
    with pytest.raises(WeightsError, match=r"s\.safetensors: .* one answer per set, got a 'segmenter', whose grids"):
        export_network(tmp_path / "s.safetensors", tmp_path / "n.onnx")
