"""What can be told about the Dockerfile without building it: its files, extras, program and user exist and fit."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINES = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ").splitlines()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def arguments(instruction: str) -> list[str]:
    return [line.removeprefix(instruction).strip() for line in LINES if line.startswith(f"{instruction} ")]


def test_every_copied_file_exists_and_is_sent_to_the_build() -> None:
    sources = [word for line in arguments("COPY") for word in line.split()[:-1]]
    assert sources
    kept = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    for source in sources:
        assert (ROOT / source).exists()
        assert f"!{source}" in kept
    needed = {PROJECT["readme"], *PROJECT["license-files"], "pyproject.toml", "src"}  # to build the wheel
    assert needed <= set(sources)


def test_it_installs_the_tested_torch_and_known_extras() -> None:
    (install,) = [line for line in arguments("RUN") if "pip install" in line]
    assert "-c constraints.txt" in install
    extras = re.search(r"\.\[([\w,]+)\]", install)
    assert extras is not None
    assert set(extras.group(1).split(",")) <= PROJECT["optional-dependencies"].keys()


def test_python_is_a_supported_version() -> None:
    (image,) = arguments("FROM")
    version = re.fullmatch(r"python:(\d+\.\d+)-slim", image)
    assert version is not None
    assert f"Programming Language :: Python :: {version.group(1)}" in PROJECT["classifiers"]


def test_the_program_runs_as_an_ordinary_user() -> None:
    (user,) = arguments("USER")
    assert user not in ("root", "0")
    assert any(f"useradd --create-home --uid 1000 {user}" in line for line in arguments("RUN"))
    (program,) = (json.loads(line) for line in arguments("ENTRYPOINT"))
    assert program[0] in PROJECT["scripts"]
    assert LINES.index(f"USER {user}") < LINES.index(f"ENTRYPOINT {json.dumps(program)}")
