from __future__ import annotations

from pathlib import Path

import pytest

from sampled_transformer_lab.licences import installed, main, page

PAGE = Path(__file__).parents[2] / "docs" / "licences.md"


def test_what_is_needed_is_listed_with_a_licence() -> None:
    found = installed()
    assert {"torch", "numpy", "safetensors", "trimesh"} <= found.keys()
    assert "pytest" not in found
    assert "sympy" in found  # which torch needs
    assert [name for name, (_, text) in found.items() if not text] == []


def test_no_licence_that_would_bind_users() -> None:
    bound = [name for name, (_, text) in installed().items() if "GPL" in text and "LGPL" not in text]
    assert bound == []


def test_the_page_lists_all_direct_dependencies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "page.md")]) == 0
    assert main([]) == 0
    assert capsys.readouterr().out == (tmp_path / "page.md").read_text("utf-8") == page(installed())
    for name in ("torch", "numpy", "scipy", "h5py", "safetensors", "tqdm", "pyyaml"):
        assert f"| {name} |" in PAGE.read_text("utf-8")
