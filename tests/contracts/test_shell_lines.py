"""Every shell line of the README and the documentation that takes seconds runs as it stands; all others are parsed."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from helpers.shell_files import MAKERS
from helpers.shell_lines import LINES, NOT_RUN, PROGRAM, ROOT, SHORTER, SLOW, Line

from sampled_transformer.cli import main
from sampled_transformer.commands import all_commands
from sampled_transformer.commands.options import SETTINGS, Command
from sampled_transformer.support.trees import build

TRAINED: dict[str, Path] = {}  # lines that trained in this process, and the folder that each wrote
RUN = [line for line in LINES if line.found_in(NOT_RUN) is None]


def pages(slow: bool) -> list[Any]:
    """The pages with lines to run; with `slow`, those that have slow ones."""
    by_page = [(page, list(lines)) for page, lines in groupby(RUN, lambda line: line.page)]
    chosen = [(page, lines) for page, lines in by_page if not slow or any(line.found_in(SLOW) for line in lines)]
    return [pytest.param(lines, id=str(page.relative_to(ROOT))) for page, lines in chosen]


def prepare(line: Line, folder: Path) -> None:
    """Make the files that a line names, unless a line before it did. What follows --out is the line's own work."""
    named = re.sub(
        r"(--out|--page|--picture|>|data pack \S+) \S+", lambda found: found[0].rpartition(" ")[0], line.text
    )
    for name, make in MAKERS.items():
        place = folder / name.removeprefix("@")
        if re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w.-])", named) and not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            make(place)


def run(line: Line, folder: Path) -> None:
    """Run a line in a folder, in this process, and see that it ends well. A training runs once for all pages."""
    written = re.search(r" --out (\S+)", line.text)
    if written and line.text in TRAINED:
        copytree(TRAINED[line.text], folder / written[1])
        return
    prepare(line, folder)
    words = line.words(folder)
    assert words is not None, f"{line.place}: expected {PROGRAM}, or a reason in helpers/shell_lines.py not to run it"
    shorter = line.found_in(SHORTER)
    begin = time.perf_counter()
    code = main([*words, *(shorter or "").split()])
    print(f"{time.perf_counter() - begin:5.1f} s  {line.place}")
    assert code == 0, line.place
    if written and shorter:
        TRAINED[line.text] = folder / written[1]


@pytest.mark.parametrize("lines", pages(slow=False))
def test_lines_run_one_after_the_other(lines: list[Line], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for line in lines:
        if line.found_in(SLOW) is None:
            run(line, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("lines", pages(slow=True))
def test_slow_lines_run_too(lines: list[Line], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for line in lines:
        run(line, tmp_path)


@pytest.mark.parametrize("line", [line for line in LINES if line.found_in(NOT_RUN)], ids=lambda line: line.place)
def test_lines_that_are_not_run_name_options_files_and_targets_that_exist(line: Line, tmp_path: Path) -> None:
    words = line.words(tmp_path)
    if words is not None:
        parse(words)
    for file in re.findall(r"python (\S+\.py)", line.text):
        assert (ROOT / file).is_file()
    for target in re.findall(r"^make (\S+)", line.text):
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)


def parse(words: list[str]) -> None:
    """Read the words as the program does, and build the settings."""
    chosen: Any = all_commands()
    for place, word in enumerate(words):
        chosen = chosen[word]
        if not isinstance(chosen, Mapping):
            command = Command(" ".join(words[: place + 1]), chosen)
            tree, _ = command.read(words[place + 1 :])
            if command.settings is not None:
                own = {name for name in command.parameters if name != SETTINGS}
                build(command.settings, {name: value for name, value in tree.items() if name not in own})
            return
    raise AssertionError(words)


@pytest.mark.parametrize("rules", [NOT_RUN, SLOW, SHORTER], ids=["not-run", "slow", "shorter"])
def test_every_rule_applies_to_a_line(rules: dict[str, str]) -> None:
    lines = LINES if rules is NOT_RUN else RUN
    unused = [pattern for pattern in rules if not any(re.search(pattern, line.place) for line in lines)]
    assert unused == []


def test_there_are_lines_to_run() -> None:
    assert len(RUN) > 50
    assert {line.page.name for line in RUN} > {"README.md", "start.md", "shapes.md", "train.md", "segment.md"}
