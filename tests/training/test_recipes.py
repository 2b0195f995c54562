from __future__ import annotations

from importlib.resources import files

import pytest

from sampled_transformer import list_attention
from sampled_transformer.models.mae.autoencoder import POINT_MAE
from sampled_transformer.training.recipes import list_recipes, read_recipe
from sampled_transformer.training.settings import (
    FINE_TUNING,
    PRETRAINING,
    FewShotSettings,
    OptimiserOptions,
    PretrainSettings,
    Settings,
)

SMALL_SIZES = {"dim": 192, "heads": 6, "hidden": 192, "depth": 6, "embedding": 32}


def test_one_recipe_per_mechanism_and_the_same_for_all() -> None:
    """Induced attention alone has a scale of its own, without which it diverges."""
    names = [name for name in list_recipes() if name.startswith("basic-")]
    own = set(list_attention()) - {"estimated"}  # which without options is sampled attention
    assert names == sorted(f"basic-{name}" for name in own)
    for name in names:
        assert read_recipe(name) == {
            "recipe": name,
            "attention": name.removeprefix("basic-"),
            "model": "basic",
            "options": {"batch_norm": True}
            | ({"attention_options": {"scale": 0.0625}} if name == "basic-induced" else {}),
            "epochs": 20,
            "data": {"batch": 64},
            "optimiser": {
                "name": "adamw",
                "rate": 2e-3,
                "weight_decay": 0.05,
                "schedule": "one-cycle",
                "label_smoothing": 0.1,
            },
        }


def test_bases_are_no_recipes_and_all_are_used() -> None:
    folder = files("sampled_transformer") / "recipes"
    bases = {item.name.removesuffix(".yaml") for item in (folder / "bases").iterdir()}
    assert not bases & set(list_recipes())
    texts = [
        item.read_text("utf-8") for place in (folder, folder / "bases") for item in place.iterdir() if item.is_file()
    ]
    assert {line[6:] for text in texts for line in text.splitlines() if line.startswith("base: ")} == bases


def test_every_recipe_of_the_masked_autoencoder_has_a_small_twin() -> None:
    names = ["pretrain-dense", "pretrain-sampled", "finetune-modelnet40"]
    names += [f"finetune-scanobjectnn-{variant}" for variant in ("objbg", "objonly", "pbt50rs")]
    names += [f"fewshot-{way}way-{shot}shot" for way in (5, 10) for shot in (10, 20)]
    found = {name for name in list_recipes() if name.split("-")[0] in ("pretrain", "finetune", "fewshot")}
    assert found == {*names, *(f"{name}-small" for name in names), "pretrain-point-mae"}


@pytest.mark.parametrize("attention", ["knn", "none", "sampled"])
def test_hierarchical(attention: str) -> None:
    settings = Settings.from_recipe(f"hierarchical-{attention}", data={"source": "x"}, out="-")
    assert (settings.attention, settings.epochs, settings.options) == (attention, 30, {"stages": 5})
    assert (settings.data.batch, settings.data.points) == (32, 1024)
    assert settings.optimiser == OptimiserOptions("adamw", 4e-3, 0.05, "one-cycle", label_smoothing=0.1)


@pytest.mark.parametrize("attention", ["dense", "sampled"])
def test_pretrain(attention: str) -> None:
    data = {"source": "x"}
    settings = PretrainSettings.from_recipe(f"pretrain-{attention}", data=data, out="-")
    assert settings.optimiser == PRETRAINING
    assert (settings.attention, settings.epochs, settings.probe_every) == (attention, 300, 10)
    assert (settings.options, settings.data.batch, settings.data.preset) == ({"drop_path": 0.1}, 64, "pretrain")
    small = PretrainSettings.from_recipe(f"pretrain-{attention}-small", data=data, out="-")
    assert (small.epochs, small.probe_every, small.optimiser.rate, small.optimiser.warmup) == (36, 6, 1e-3, 3)
    more = {"decoder_attention": "dense", "attention_options": {"cycles": "per-head"}} if attention == "sampled" else {}
    assert small.options == {**SMALL_SIZES, **more}


def test_point_mae() -> None:
    settings = PretrainSettings.from_recipe("pretrain-point-mae", data={"source": "x"}, out="-")
    assert (settings.data.batch, settings.optimiser.rate, settings.epochs) == (128, 1e-3, 300)
    assert {"attention": settings.attention, **settings.options} == POINT_MAE


@pytest.mark.parametrize(("variant", "epochs"), [("objbg", 50), ("objonly", 50), ("pbt50rs", 10)])
def test_finetune(variant: str, epochs: int) -> None:
    for name, source, preset in (
        ("modelnet40", "x", "finetune-modelnet40"),
        (f"scanobjectnn-{variant}", f"scanobjectnn-{variant}", "finetune-scanobjectnn"),
    ):
        changes = {"out": "-", **({"data": {"source": "x"}} if source == "x" else {})}
        settings = Settings.from_recipe(f"finetune-{name}", **changes)
        assert settings.optimiser == FINE_TUNING
        assert (settings.data.source, settings.data.preset, settings.data.normals) == (source, preset, False)
        assert (settings.data.batch, settings.epochs) == (32, 300)
        assert settings.options == {"pooling": "max", "drop_path": 0.1}
        small = Settings.from_recipe(f"finetune-{name}-small", **changes)
        assert small.options == {"pooling": "max", **SMALL_SIZES}
        assert (small.epochs, small.optimiser.warmup) == (12 if source == "x" else epochs, 2)


@pytest.mark.parametrize(
    ("way", "shot", "epochs", "warmup"), [(5, 10, 150, 10), (5, 20, 100, 10), (10, 10, 100, 10), (10, 20, 50, 5)]
)
def test_fewshot(way: int, shot: int, epochs: int, warmup: int) -> None:
    for ending, options, expected in (("", {"drop_path": 0.1}, (150, 10)), ("-small", {}, (epochs, warmup))):
        name = f"fewshot-{way}way-{shot}shot{ending}"
        settings = FewShotSettings.from_recipe(name, data={"source": "x"}, out="-", init="w")
        assert (settings.way, settings.shot, settings.folds, settings.queries) == (way, shot, 10, 20)
        assert (settings.epochs, settings.optimiser.warmup) == expected
        assert (settings.options, settings.data.preset) == (options, "finetune-modelnet40")
        assert settings.optimiser.clip == 10


def test_cluster_and_set_transformer() -> None:
    induced = {"attention": "induced", "attention_options": {"inducing": 16}}
    rows = {"attention": "induced", "attention_options": {"inducing": 16, "reading": "rows"}}
    columns = {"attention": "induced", "attention_options": {"inducing": 16, "reading": "columns", "kept": 4}}
    for name, options in (("induced", induced), ("rows", rows), ("columns", columns)):
        tree = {"recipe": f"cluster-{name}", "model": "set-transformer-mixture", "options": options}
        assert read_recipe(f"cluster-{name}") == tree
    assert read_recipe("cluster-pooling") == {"recipe": "cluster-pooling", "model": "pooling-mixture"}
    assert read_recipe("set-transformer-induced")["optimiser"]["schedule"] == "constant"
    assert read_recipe("set-transformer-rows")["options"] == {"attention_options": {"reading": "rows"}}


def test_an_unknown_recipe_says_the_likely_one_first() -> None:
    with pytest.raises(ValueError, match=r"^recipe: .*'basic-sample'; did you mean 'basic-sampled'\? \(basic-\*, "):
        read_recipe("basic-sample")


@pytest.mark.parametrize(("name", "command"), [("cluster-rows", "cluster train"), ("fewshot-5way-10shot", "fewshot")])
def test_a_recipe_of_another_command_is_refused(name: str, command: str) -> None:
    assert read_recipe(name, command)["recipe"] == name
    with pytest.raises(
        ValueError, match=f"recipe: expected a recipe of `train`, got '{name}', which is for `{command}`"
    ):
        read_recipe(name, "train")
