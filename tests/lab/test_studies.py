"""Every row of a table is a command that the program accepts."""

from __future__ import annotations

import pytest
import yaml

from sampled_transformer.cli import main
from sampled_transformer.training.recipes import list_recipes
from sampled_transformer_lab.reproduce import Place, words
from sampled_transformer_lab.studies import STUDIES


def test_numbers_of_runs() -> None:
    assert len(STUDIES["basic-bricks"].runs()) == 24
    assert len(STUDIES["basic-modelnet40"].runs()) == 31


def test_nested_options_of_variants_are_all_read(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([*words(STUDIES["variants-bricks"], Place(""), "sampled-consistent-4", 0), "--print_config"])
    options = yaml.safe_load(capsys.readouterr().out)["options"]["attention_options"]
    assert options == {"rounds": 4, "estimator": "consistent"}


def test_studies_that_need_a_data_set_of_the_user() -> None:
    assert {name for name, study in STUDIES.items() if study.needs_root} == {
        "basic-modelnet40",
        "ordered-modelnet40",
        "points-modelnet40",
        "hierarchical-modelnet40",
        "hierarchical-recipe",
        "set-transformer-modelnet40",
        "autoencoder-small",
        "calibration",
        "variants-modelnet40",
        "pyramid-modelnet40",
        "pyramid-places",
        "segment-brick-parts",
    }


def test_borrowed_rows_exist_and_are_compared() -> None:
    for study in STUDIES.values():
        for other, row in study.borrowed:
            assert row in STUDIES[other].rows
            assert row not in study.rows
            assert not study.ours or (study.ours, row) in study.pairs()
    assert ("basic-rotary", "basic-dense") in STUDIES["variants-modelnet40"].pairs()


@pytest.mark.parametrize(("name", "row"), [(name, row) for name, study in STUDIES.items() for row in study.rows])
def test_rows_name_recipes_and_rows_that_exist(name: str, row: str) -> None:
    study = STUDIES[name]
    after = study.rows[row].after
    assert after is None or list(study.rows).index(after) < list(study.rows).index(row)
    parts = words(study, Place(name, root="data"), row, 0)
    assert "{" not in " ".join(parts)
    if "--recipe" in parts:
        assert parts[parts.index("--recipe") + 1] in list_recipes()


ONE_OF_EACH = [
    ("basic-modelnet40", "basic-induced-clipped"),
    ("cluster-short", "cluster-columns"),
    ("hierarchical-modelnet40", "hierarchical-knn-2"),
    *(("autoencoder-small", f"{task}-dense-scratch") for task in ("probe", "fewshot", "finetune", "bricks")),
    ("autoencoder-small", "pretrain-sampled"),
    ("variants-bricks", "sampled-consistent-4"),
    ("cycles-bricks", "network"),
    ("autoencoder-small", "bricks-sampled"),
]


@pytest.mark.parametrize(("name", "row"), ONE_OF_EACH)
def test_the_program_takes_the_commands(name: str, row: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*words(STUDIES[name], Place(name, root="data"), row, 3), "--print_config"])
    assert stop.value.code == 0
    assert "seed: 3" in capsys.readouterr().out


def test_rows_of_lee_et_al_have_names_and_a_note_that_says_their_epochs() -> None:
    study = STUDIES["set-transformer-modelnet40"]
    names = [row.shown for row in study.rows.values()]
    assert names == [f"{name} ({points} points)" for points in (100, 200) for name in ("induced", "sampled rows")]
    for row in study.rows.values():
        epochs = row.command.partition("--epochs ")[2]
        points = row.command.partition("--data.points ")[2].split()[0]
        assert f"{epochs} epochs with {points} points" in study.note
