from __future__ import annotations

import pytest
import yaml

from sampled_transformer import list_attention
from sampled_transformer.training.recipes import expand, gather_nested, list_recipes, recipe_text
from sampled_transformer.training.settings import OptimiserOptions


def test_one_recipe_for_each_mechanism_and_the_same_for_all():
    names = [name for name in list_recipes() if name.startswith("basic-")]
    assert names == sorted(f"basic-{name}" for name in list_attention())
    trees = [yaml.safe_load(recipe_text(name)) for name in names]
    for name, tree in zip(names, trees, strict=True):
        assert tree.pop("recipe") == name
        assert tree.pop("attention") == name.removeprefix("basic-")
    assert all(tree == trees[0] for tree in trees)
    assert OptimiserOptions(**trees[0]["optimiser"]) == OptimiserOptions()


def test_short_forms_are_written_out(tmp_path):
    assert expand(["data", "info", "--data", "x"]) == ["data", "info", "--data", "x"]
    assert expand(["train", "--data", "x", "--data.points=3"]) == ["train", "--data.source", "x", "--data.points=3"]
    assert expand(["train", "--data=x"]) == ["train", "--data.source=x"]
    text = recipe_text("basic-knn")
    for words in (["--recipe", "basic-knn"], ["--recipe=basic-knn"]):
        assert expand(["train", *words]) == ["train", "--config", text, *words]
    config = tmp_path / "config.yaml"
    config.write_text("recipe: basic-knn\nepochs: 3\n")
    assert expand(["train", "--config", str(config)]) == ["train", "--config", text, "--config", str(config)]
    words = ["--resume", "--out", str(tmp_path)]
    assert expand(["train", *words]) == ["train", "--config", str(config), *words]


def test_unknown_recipe():
    with pytest.raises(ValueError, match=r"recipe: expected one of basic-dense, .*did you mean 'basic-sampled'"):
        expand(["train", "--recipe", "basic-sample"])


def test_unknown_keys_of_cluster_train_are_named(tmp_path):
    bad = tmp_path / "bad.yaml"
    for text, message in (
        ("stepz: 3\n", r"bad\.yaml: expected options of cluster train \(.*\), got 'stepz'; did you mean 'steps'\?"),
        ("data:\n  point: [3, 4]\n", r"bad\.yaml: .*, got 'data\.point'; did you mean 'data\.points'\?"),
        ("data: 3\n", r"bad\.yaml: expected names and values under data, got 3"),
        ("data:\n", r"bad\.yaml: expected names and values under data, got None"),
    ):
        bad.write_text(text)
        for words in (["--config", str(bad)], [f"--config={bad}"]):
            with pytest.raises(ValueError, match=message):
                expand(["cluster", "train", *words])
    with pytest.raises(ValueError, match=r"^recipe basic-dense: expected options of cluster train .*, got 'attention'"):
        expand(["cluster", "train", "--recipe", "basic-dense"])


def test_known_keys_of_cluster_train_pass(tmp_path):
    config = tmp_path / "good.yaml"
    for text in ("steps: 3\ndata:\n  points: [3, 4]\nresume: true\n", "", "[1, 2]\n", "data: x.yaml\n", "a: [\n"):
        config.write_text(text)  # what is no mapping at all is left to the parser
        words = ["cluster", "train", "--config", str(config)]
        assert expand(words) == words
    for name in list_recipes():
        if name.startswith("cluster-"):
            expand(["cluster", "train", "--recipe", name])
    missing = ["cluster", "train", "--config", str(tmp_path / "none.yaml")]
    assert expand(missing) == missing


def test_options_within_an_option_are_gathered(tmp_path):
    given = ["--options.a.b", "4", "--options.dim", "8", "--options.a.c=text", "--options.a.d.e", "1e-3"]
    expected = ["--options.dim", "8", "--options.a", '{"b": 4, "c": "text", "d": {"e": 0.001}}']
    assert gather_nested(given, given) == expected
    # What a configuration says of the same option is kept, and the line can replace it whole.
    (tmp_path / "mine.yaml").write_text("options:\n  a:\n    b: 1\n    z: true\n")
    for config in (["--config", str(tmp_path / "mine.yaml")], ["--config", "options:\n  a:\n    b: 1\n    z: true\n"]):
        assert gather_nested(given[:2], config) == ["--options.a", '{"b": 4, "z": true}']
    whole = ["--options.a", '{"y": 1}', "--options.a.b", "false"]
    assert gather_nested(whole, whole) == ["--options.a", '{"y": 1, "b": false}']


@pytest.mark.parametrize(
    "words", [["--options.dim", "8"], ["--options.a.b"], ["--options.a", "text", "--options.a.b", "1"]]
)
def test_other_words_stay_as_they_are(words):
    assert gather_nested(words, words) == words
