"""The command-line program: its help, its errors and how it ends."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from sampled_transformer import __version__, cli
from sampled_transformer.cli import main
from sampled_transformer.commands import all_commands


def run(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sampled_transformer", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.split() == ["sampled-transformer", __version__]
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"\n  {name} " in text for name in all_commands())
    assert "List, show and pack data sets." in text
    assert main(["data", "--help"]) == 0
    assert "Turn a folder of shapes, or a data set given by name, into a pack." in capsys.readouterr().out


def test_installed_program() -> None:
    program = Path(sys.executable).with_name("sampled-transformer")
    assert subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.endswith(
        f"{__version__}\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "command: expected one of data, weights, pretrain, train, "),
        (["data"], "command: expected one of list, info, pack, scene, got nothing (see sampled-transformer data "),
        (["trian"], "got 'trian'; did you mean 'train'?"),
        (["data", "pakc"], "command: expected one of info, list, pack, scene, got 'pakc'; did you mean 'pack'?"),
        (["data", "pack", "a"], "target: expected TARGET, got nothing"),
        (["data", "pack", "a", "b", "--points", "many"], "points: expected a whole number, got 'many'"),
        (["data", "pack", "a", "b", "--normals", "some"], "normals: expected one of keep, estimate, none, got 'some'"),
        (["data", "pack", "a", "b", "--colour", "red"], "data pack: expected one of its options, got --colour"),
        (["data", "pack", "nowhere", "b"], "nowhere: no such file, folder or data set"),
        (["data", "pack", "bricks", "b", "--points", "0"], "points: expected 1 to 10000000"),
        (["data", "pack", "modelnet40", "b"], "root: expected the folder that holds the data set modelnet40, got none"),
    ],
)
def test_errors_are_one_line(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("sampled-transformer: error: ")
    assert captured.err.count("\n") == 1
    assert message in captured.err


def test_a_warning_is_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "run", lambda words: warnings.warn("strange\nshape", stacklevel=1))
    assert main([]) == 0
    assert capsys.readouterr().err == "sampled-transformer: warning: strange shape\n"


def test_a_warning_that_comes_again_is_shown_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(words: list[str]) -> None:
        for line in ("a.off: empty", "b.off: empty", "a.off: empty"):
            warnings.warn(line, stacklevel=1)
            with warnings.catch_warnings():  # which makes Python forget what it has shown
                warnings.filterwarnings("ignore", message="nothing")

    monkeypatch.setattr(cli, "run", run)
    for _ in range(2):  # in every command anew
        assert main([]) == 0
        shown = capsys.readouterr().err.splitlines()
        assert shown == [f"sampled-transformer: warning: {name}.off: empty" for name in "ab"]


def test_help_is_a_word_too(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["data"]):
        assert main([*words, "--help"]) == 0
        expected = capsys.readouterr().out
        assert main([*words, "help"]) == 0
        assert capsys.readouterr().out == expected


def test_closed_pipe_is_silent():
    command = f"{sys.executable} -m sampled_transformer data info bricks | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("train")
    assert done.stderr == ""


def test_help_loads_nothing_heavy() -> None:
    program = """
import sys
from sampled_transformer.cli import main
try:
    main(["train", "--help"])
except SystemExit:
    print(*{name.partition(".")[0] for name in sys.modules})
"""
    lines = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert any("--data SOURCE" in line for line in lines)
    assert not {"torch", "numpy", "lightning", "torchmetrics", "tensorboard"} & set(lines[-1].split())


def test_starting_needs_no_torch_and_sets_what_torch_reads():
    program = """
import os, sys
import sampled_transformer.cli
assert "torch" not in sys.modules
assert os.environ["OMP_WAIT_POLICY"] == "passive"
assert os.environ["THP_MEM_ALLOC_ENABLE"] == "1"
"""
    environment = {k: v for k, v in os.environ.items() if k not in ("OMP_WAIT_POLICY", "THP_MEM_ALLOC_ENABLE")}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
