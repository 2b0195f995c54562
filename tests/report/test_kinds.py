"""Which command made a folder, and what one page may compare."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sampled_transformer.report.kinds import kind_of, one_kind


def made_by(folder: Path, command: str, file: str = "result.json") -> Path:
    folder.mkdir()
    (folder / file).write_text(json.dumps({"command": f"sampled-transformer {command}"}), "utf-8")
    return folder


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("train --data evaluate", "train"),
        ("segment train --data x", "segment train"),
        ("cluster evaluate mixtures", "cluster evaluate"),
        ("evaluate cluster", "evaluate"),
        ("fewshot x --data y", "fewshot"),
        ("bench", "bench"),
    ],
)
def test_the_command_says_it(command: str, kind: str, tmp_path: Path) -> None:
    assert kind_of(made_by(tmp_path / "run", command)) == kind


def test_files_say_it_too_and_nothing_is_a_training(tmp_path: Path) -> None:
    assert kind_of(made_by(tmp_path / "robust", "evaluate x --robustness", "robustness.json")) == "robustness"
    assert kind_of(made_by(tmp_path / "bench", "bench", "bench.json")) == "bench"
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "result.json").write_text("[1", "utf-8")
    assert (kind_of(tmp_path / "broken"), kind_of(tmp_path / "nowhere")) == ("train", "train")


@pytest.mark.parametrize(
    ("commands", "message"),
    [
        (["train", "fewshot x"], "runs: expected runs of one command, got fewshot and train"),
        (["demo", "demo"], "got demo"),
        (["cluster fit x", "cluster fit y"], "robustness, bench), got cluster fit"),
        (["evaluate x"], "runs: expected a run, or several evaluations to compare, got one, whose page evaluate wrote"),
    ],
)
def test_what_no_page_can_show_is_refused(commands: list[str], message: str, tmp_path: Path) -> None:
    folders = [made_by(tmp_path / str(number), command) for number, command in enumerate(commands)]
    with pytest.raises(ValueError, match=re.escape(message)):
        one_kind(folders)


def test_evaluations_may_be_compared(tmp_path: Path) -> None:
    folders = [made_by(tmp_path / name, "segment evaluate x") for name in ("one", "two")]
    assert one_kind(folders) == "segment evaluate"
