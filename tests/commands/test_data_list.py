from __future__ import annotations

import pytest

from sampled_transformer.cli import main
from sampled_transformer.data import list_sources


def test_every_source_and_format_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sorted(line.split()[0] for line in lines[: len(list_sources())]) == list_sources()
    assert "(no --root needed)" in next(line for line in lines if line.startswith("bricks"))
    assert "(no --root needed)" not in next(line for line in lines if line.startswith("modelnet40"))
    assert {".off", ".laz"} <= set(lines[-1].rstrip(".").split())
