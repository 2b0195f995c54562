from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sampled_transformer.commands.extras import training_module, view_module, with_report


def test_a_module_is_imported() -> None:
    assert training_module("training.recipes").list_recipes()


def test_a_missing_extra_says_how_to_install_it() -> None:
    program = """
import sys
from pathlib import Path
sys.modules["lightning"] = None  # as if it were not installed
from sampled_transformer.cli import main
sys.exit(main(["train", "--data", "bricks", "--out", "x"]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    expected = 'is not installed: pip install "sampled-transformer[train]"\n'
    assert done.stderr.startswith("sampled-transformer: error: lightning")
    assert done.stderr.endswith(expected)


def test_other_missing_modules_are_not_hidden() -> None:
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        training_module("training.nowhere")


def test_the_live_page_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "viser", None)
    for name in [name for name in sys.modules if name.startswith("sampled_transformer.view")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ValueError, match=r'viser is not installed: pip install "sampled-transformer\[view\]"'):
        view_module("server")


def test_a_run_gets_its_page_if_plotly_is_there(regressor: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = regressor / "report.html"
    page.unlink(missing_ok=True)
    monkeypatch.setattr("sampled_transformer.commands.extras.find_spec", lambda name: None)
    assert with_report(str(regressor), "result.json") == "result.json"
    assert not page.exists()
    monkeypatch.undo()
    assert with_report(str(regressor), "result.json") == "result.json, report.html"
    assert page.is_file()
