"""From words to the call of a command, on small commands and on that of `train`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml

from sampled_transformer.clustering.settings import ClusterSettings, MixtureChanges
from sampled_transformer.commands import COMMANDS
from sampled_transformer.commands.options import SYNONYMS, Command
from sampled_transformer.data.guard import current_limits
from sampled_transformer.support.limits import Limits
from sampled_transformer.training.settings import FewShotSettings, Settings


def collect(
    file: str,
    more: list[str],
    size: int | None = None,
    normals: Literal["keep", "none"] = "keep",
    rows: list[str] | None = None,
    memory: bool = True,
    json: bool = False,
    data: MixtureChanges = MixtureChanges(),  # noqa: B008
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Collect what was given.

    More about it.

    Args:
        file: A file.
        more: More files.
        size: Size (default: 3).
        normals: Normals to write.
        memory: Measure memory too, at 10 %.
    """
    return dict(locals())


def train(settings: Settings, resume: bool = False) -> tuple[Settings, bool]:
    """Train.

    Args:
        resume: Continue.
    """
    return settings, resume


def fewshot(settings: FewShotSettings, resume: bool = False) -> FewShotSettings:
    """Few shots."""
    return settings


def cluster(settings: ClusterSettings, resume: bool = False) -> ClusterSettings:
    """Cluster."""
    return settings


COLLECT = Command("program collect", collect)
TRAIN = Command("program train", train)
DATA = ["--data", "bricks", "--out", "x"]


def settings_of(*words: str) -> Settings:
    return TRAIN([*DATA, *words])[0]


def test_positional_arguments_switches_lists_and_groups() -> None:
    found = COLLECT(["a", "b", "c"])
    assert (found["file"], found["more"], found["memory"], found["json"]) == ("a", ["b", "c"], True, False)
    assert found["data"] == MixtureChanges()
    words = ["a", "b", "--no-memory", "--json", "--rows", "[x,y]", "--data.points", "[3,4]", "--size=5"]
    found = COLLECT([*words, "--normals", "none", "--options.up", "y", "--options.a.b", "1"])
    assert (found["memory"], found["json"], found["rows"], found["size"]) == (False, True, ["x", "y"], 5)
    assert (found["data"], found["normals"]) == (MixtureChanges(points=(3, 4)), "none")
    assert found["options"] == {"up": "y", "a": {"b": 1}}


def test_settings_become_a_dataclass() -> None:
    words = ["--data.points=16", "--optimiser.milestones", "[5,7]", "--data.normals", "false", "--trainer.devices", "2"]
    settings = settings_of(*words, "--optimiser.rate", "1e-4", "--options.norm", "true")
    assert (settings.data.source, settings.data.points, settings.data.normals) == ("bricks", 16, False)
    assert (settings.optimiser.milestones, settings.optimiser.rate) == ([5, 7], 1e-4)
    assert (settings.trainer.devices, settings.options) == (2, {"norm": True})
    assert settings_of("--data.source", "other").data.source == "other"


def test_defaults_then_recipe_then_files_then_words(tmp_path: Path) -> None:
    for name, text in (("a", "epochs: 7\nseed: 7\noptions:\n  dim: 7\n"), ("b", "seed: 8\n")):
        (tmp_path / f"{name}.yaml").write_text(text)
    files = ["--config", str(tmp_path / "a.yaml"), f"--config={tmp_path / 'b.yaml'}"]
    settings = settings_of("--recipe", "basic-knn", *files, "--options.depth", "9")
    assert (settings.attention, settings.data.batch, settings.recipe) == ("knn", 64, "basic-knn")
    assert (settings.epochs, settings.seed) == (7, 8)
    assert settings.options == {"batch_norm": True, "dim": 7, "depth": 9}
    assert settings_of(*files, "--seed", "9").seed == 9


def test_a_file_may_name_the_recipe_and_the_data_in_short(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("recipe: basic-knn\ndata: bricks\nout: x\nresume: false\n")
    settings, resume = TRAIN(["--config", str(tmp_path / "mine.yaml")])
    assert (settings.attention, settings.data.source, resume) == ("knn", "bricks", False)


def test_free_options_merge_with_each_other_and_with_the_recipe() -> None:
    words = ["--recipe", "pretrain-sampled-small", "--options.attention_options.rate", "1e-3"]
    tree, _ = Command("program pretrain", train).read(["--recipe", "set-transformer-rows", *words[2:]])
    assert tree["options"]["attention_options"] == {"reading": "rows", "rate": 0.001}
    words = ["--options.a.b", "4", "--options.a.c=text", "--options.a.d.e", "1e-3", "--options.a.b", "5"]
    assert settings_of(*words).options == {"a": {"b": 5, "c": "text", "d": {"e": 0.001}}}
    assert settings_of("--options.a", '{"y": 1}', "--options.a.b", "false").options == {"a": {"y": 1, "b": False}}
    assert settings_of("--options", '{"dim": 8}', "--options.depth", "2").options == {"dim": 8, "depth": 2}


def test_a_run_continues_with_its_own_settings(tmp_path: Path) -> None:
    settings = settings_of("--out", str(tmp_path), "--seed", "3", "--recipe", "basic-dense")
    (tmp_path / "config.yaml").write_text(settings.yaml())
    assert TRAIN(["--out", str(tmp_path), "--resume"]) == (settings, True)
    again, _ = TRAIN(["--out", str(tmp_path), "--resume", "--epochs", "99", "--recipe", "basic-none"])
    assert (again.seed, again.epochs, again.attention) == (3, 99, "dense")


def test_printed_options_can_be_read_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*DATA, "--recipe", "basic-knn", "--options.dim", "8"]
    with pytest.raises(SystemExit) as stop:
        TRAIN([*words, "--print_config"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert list(yaml.safe_load(text))[:2] == ["data", "out"]
    (tmp_path / "all.yaml").write_text(text)
    assert TRAIN(["--config", str(tmp_path / "all.yaml")]) == TRAIN(words)


def test_weights_are_a_positional_argument_of_few_shots() -> None:
    settings = Command("program fewshot", fewshot)(["pre", *DATA, "--frozen", "--no-scratch"])
    assert (settings.init, settings.model, settings.frozen, settings.scratch) == ("pre", "mae-classifier", True, False)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--recepie", "x"],
            r"^train: expected one of its options, got --recepie; did you mean --recipe\? \(see program ",
        ),
        (["--recepie=x"], r"got --recepie; did you mean --recipe\?"),
        (["--lr", "1"], r"did you mean --optimiser\.rate\?"),
        (["--batch_size", "1"], r"did you mean --data\.batch\?"),
        (["--points", "1"], r"did you mean --data\.points\?"),
        (["--optimiser", "1"], r"did you mean --optimiser\.name\?"),
        (["--data.point", "1"], r"did you mean --data\.points\?"),
        (["--zzzzz"], r"got --zzzzz \(see program train --help\)"),
        (["more"], r"^train: expected no further argument, got 'more'"),
        (["--epochs"], r"^--epochs: expected one argument"),
        (["--epochs", "many"], r"^epochs: expected a whole number, got 'many'$"),
        (
            ["--optimiser.name", "adamx"],
            r"^optimiser\.name: expected one of adamw, adam, sgd, got 'adamx'; did you mean",
        ),
    ],
)
def test_wrong_words_name_the_likely_option(words: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TRAIN([*DATA, *words])


def test_synonyms_are_options() -> None:
    names = {name for option in TRAIN.options() for name in (option.name, f"--{option.path}")}
    assert set(SYNONYMS.values()) <= names
    assert not set(SYNONYMS) & names


def test_required_options_are_named() -> None:
    with pytest.raises(ValueError, match=r"^out: expected --out OUT \(folder of the run\), got nothing$"):
        TRAIN(["--data", "bricks"])
    with pytest.raises(ValueError, match=r"^data: expected --data SOURCE \(the name of a data set, a pack, or"):
        TRAIN(["--out", "x"])
    with pytest.raises(ValueError, match="more: expected MORE, got nothing"):
        COLLECT(["a"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stepz: 3\n", r"bad\.yaml: expected an option of `cluster train` \(.*\), got 'stepz'; did you mean 'steps'\?"),
        ("data:\n  point: [3, 4]\n", r"bad\.yaml: .*, got 'data\.point'; did you mean 'data\.points'\?"),
        ("data: 3\n", r"bad\.yaml: data: expected names and values, got 3"),
        ("data:\n", r"bad\.yaml: data: expected names and values, got None"),
        ("steps: many\n", r"bad\.yaml: steps: expected a whole number, got 'many'"),
        ("[1, 2]\n", r"bad\.yaml: expected names and values, got \[1, 2\]"),
        ("a: [\n", r"bad\.yaml: not a YAML file"),
    ],
)
def test_files_are_checked(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(text)
    with pytest.raises(ValueError, match=message):
        Command("program cluster train", cluster)(["--out", "x", "--config", str(tmp_path / "bad.yaml")])


def test_a_recipe_of_another_command_is_refused() -> None:
    with pytest.raises(ValueError, match="recipe: expected a recipe of `cluster train`, got 'basic-dense'"):
        Command("program cluster train", cluster)(["--out", "x", "--recipe", "basic-dense"])


def test_help_says_what_one_types() -> None:
    text = " ".join(TRAIN.parser().format_help().split())
    assert text.startswith("usage: program train --data SOURCE --out OUT [options] Train.")
    assert "--data SOURCE The name of a data set, a pack, or a folder of shapes. Required." in text
    assert "--out OUT Folder of the run. It must not exist yet. Required." in text
    assert "--data.normals {true,false} Use normals (default: when the data has them)." in text
    assert "--epochs EPOCHS Passes over the training split (default: 20)." in text
    assert "--seed SEED Random seed (default: 0)." in text
    assert "configuration file" not in text
    text = " ".join(COLLECT.parser().format_help().split())
    assert "usage: program collect FILE MORE [options] Collect what was given. More about it." in text
    assert "--memory, --no-memory Measure memory too, at 10 % (default: true)." in text
    assert "--normals {keep,none} Normals to write (default: keep)." in text


def test_hyphens_are_read_as_underscores() -> None:
    def act(per_point: bool = False, mask_ratio: float = 0.5, name: str = "") -> tuple[bool, float, str]:
        """Act."""
        return per_point, mask_ratio, name

    command = Command("program act", act)
    assert command(["--per-point", "--mask-ratio=0.7", "--name", "a-b"]) == (True, 0.7, "a-b")
    assert command(["--no-per-point", "--mask-ratio", "-1"]) == (False, -1, "")
    with pytest.raises(ValueError, match="got --per-pint; did you mean --per_point"):
        command(["--per-pint"])


def test_what_may_be_given_without_a_name_may_lack() -> None:
    def show(shown: str | None = None, port: int = 1) -> tuple[str | None, int]:
        """Show something.

        Args:
            shown: What.
            port: Where.
        """
        return shown, port

    show.positional = {"shown": "file|pack"}  # type: ignore[attr-defined]
    command = Command("program show", show)
    assert command([]) == (None, 1)
    assert command(["chair.off", "--port", "2"]) == ("chair.off", 2)
    assert "program show [FILE|PACK] [options]" in command.parser().format_usage()


def test_commands_that_read_files_have_limits() -> None:
    reading = []
    for name, one in COMMANDS.items():
        for below, function in one.items() if isinstance(one, Mapping) else [("", one)]:
            if "--reading.memory" in [option.name for option in Command(f"program {name}", function).options()]:
                reading.append(f"{name} {below}".strip())
    alone = [
        "predict",
        "features",
        "view",
        "evaluate",
        "calibrate",
        "probe",
        "reconstruct",
        "train",
        "pretrain",
        "fewshot",
    ]
    below = ["data pack", "cluster fit", "segment train", "segment evaluate", "segment predict"]
    assert sorted(reading) == sorted([*alone, *below])


def test_limits_hold_while_the_command_runs() -> None:
    def limits() -> Limits:
        """Say which limits hold."""
        return current_limits()

    assert Command("program limits", limits)([]) == Limits()
    with pytest.raises(ValueError, match="expected one of its options, got --reading"):
        Command("program limits", limits)(["--reading.seconds", "5"])
    limits.reads_files = True  # type: ignore[attr-defined]
    assert Command("program limits", limits)(["--reading.seconds", "5"]) == Limits(seconds=5)
    assert Command("program limits", limits)(["--reading.memory", "0.5"]) == Limits(memory=0.5)
    with pytest.raises(ValueError, match=r"reading\.seconds: expected a number above 0"):
        Command("program limits", limits)(["--reading.seconds", "0"])
