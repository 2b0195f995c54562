"""What importing the package costs and offers."""

from __future__ import annotations

import subprocess
import sys

import pytest

import sampled_transformer

HEAVY = ["lightning", "plotly", "sklearn", "scipy", "trimesh", "h5py", "viser", "onnx", "torch_geometric"]
HEAVY += ["huggingface_hub", "pyarrow", "ray", "pandas"]


def loaded_after(program: str) -> set[str]:
    """The top-level modules that a fresh process has loaded after running the program."""
    report = "import sys; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", f"{program}\n{report}"], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_every_public_name_loads_torch_and_nothing_heavier() -> None:
    loaded = loaded_after("from sampled_transformer import *")
    assert "torch" in loaded
    assert not loaded & set(HEAVY)


def test_the_command_line_program_can_prepare_before_torch_loads() -> None:
    program = "import sampled_transformer.cli, os; assert os.environ['OMP_WAIT_POLICY'] == 'passive'"
    assert "torch" not in loaded_after(program)


def test_a_name_that_needs_an_extra_says_which() -> None:
    program = """
import sys
sys.modules["sklearn"] = None  # as if it were not installed
try:
    from sampled_transformer import SetClassifier
except ImportError as error:
    assert str(error) == 'SetClassifier: sklearn is not installed: pip install "sampled-transformer[sklearn]"', error
else:
    raise AssertionError("expected an ImportError")
"""
    assert "sampled_transformer" in loaded_after(program)


def test_public_names() -> None:
    assert set(sampled_transformer.__all__) == set(sampled_transformer._HOME)
    for name in sampled_transformer.__all__:
        assert getattr(sampled_transformer, name).__name__ == name
        assert name in dir(sampled_transformer)
    for name in sampled_transformer._HOME_OF_EXTRAS:
        assert getattr(sampled_transformer, name).__name__ == name
        assert name in dir(sampled_transformer)
    with pytest.raises(AttributeError, match="no attribute 'Cylce'"):
        sampled_transformer.Cylce  # noqa: B018
