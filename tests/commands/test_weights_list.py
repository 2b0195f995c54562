from __future__ import annotations

import pytest

from sampled_transformer.cli import main
from sampled_transformer.weights import list_pretrained


def test_every_shipped_file_has_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weights", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[: len(list_pretrained())]] == list_pretrained()
    bricks = lines[list_pretrained().index("bricks")]
    assert "18 classes, trained on bricks, test accuracy" in bricks
