"""Answers about many files in parts, from the command line, by processes of this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from helpers.trained import save_small

from sampled_transformer.cli import main

pytest.importorskip("pyarrow")


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    (tmp_path / "files").mkdir()
    for number in range(5):
        np.savetxt(tmp_path / "files" / f"{number}.xyz", np.random.default_rng(number).normal(size=(20, 3)))
    (tmp_path / "files" / "3.xyz").write_text("no numbers")
    weights = str(save_small(tmp_path / "w.safetensors", "basic-positions"))
    return [str(tmp_path / "files" / "*.xyz"), "--weights", weights, "--workers", "1", "--shard", "2"]


def test_parts_of_predict_and_the_same_command_again(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words += ["--batch", "2", "--samples", "1", "--out", str(out)]
    assert main(["predict", *words]) == 1
    captured = capsys.readouterr()
    problem = f"could not be read: {tmp_path}/files/3.xyz: expected at least one line of numbers, got none\n"
    assert captured.out == f"{out}: 4 of 5 files in 3 parts\n"
    assert captured.err == problem
    assert json.loads((out / "manifest.json").read_text())["command"] == "predict"
    (out / "part-00001.parquet").unlink()
    assert main(["predict", *words]) == 1
    assert capsys.readouterr().err == f"note: 2 of 3 parts were finished by an earlier run\n{problem}"
    assert main(["predict", *words, "--samples", "2"]) == 2
    assert f"out: expected the job of {out} with samples 1, got 2; choose another folder" in capsys.readouterr().err
    assert main(["features", *words[:5], "--out", str(out)]) == 2
    assert f"out: expected the job of {out} with command predict, got features" in capsys.readouterr().err


def test_what_goes_together(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for more, message in (
        (["predict", "a.off", "--engine", "ray"], "out: expected a folder for the answers of --engine, got none"),
        (["predict", "a.off", "--address", "auto"], "address: expected none without --engine, got auto"),
        (["predict", "a.off", "--json", "--out", "o"], "json: expected none with --out"),
        (["features", "a.off", "--engine", "ray"], "out: expected a folder for the answers of --engine, got none"),
        (["features", "a.off", "--workers", "1"], "workers: expected none unless --out is a folder, got 1"),
        (["data", "pack", "bricks", "x", "--engine", "ray"], "engine: expected none without a folder of shapes"),
        (["data", "pack", "bricks", "x", "--address", "auto"], "address: expected none without --engine, got auto"),
        (["predict", *words, "--workers", "0", "--out", str(tmp_path / "o")], "workers: expected at least 1"),
    ):
        assert main(more) == 2
        assert message in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_a_stopped_command_says_that_it_can_go_on(words: list[str], tmp_path: Path) -> None:
    program = "import sys; from sampled_transformer.cli import main; sys.exit(main(sys.argv[1:]))"
    (tmp_path / "list.txt").write_text(f"{tmp_path}/files/0.xyz\n" * 20000)
    command = [sys.executable, "-c", program, "predict", f"@{tmp_path}/list.txt", *words[1:]]
    with subprocess.Popen(
        [*command, "--batch", "1", "--out", str(tmp_path / "out")],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        while process.poll() is None and not (tmp_path / "out" / "part-00000.parquet").exists():
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)
        error = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert error.splitlines()[-1] == "sampled-transformer: error: stopped; the same command goes on from here"
