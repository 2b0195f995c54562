"""The code imports what pyproject.toml declares, no more and no less, and the promised torch is the tested one."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
OWN = {"sampled_transformer", "sampled_transformer_lab"}
MODULES = {"pillow": "PIL", "pyyaml": "yaml", "scikit-learn": "sklearn"}  # packages whose module has another name
BEHIND_OTHERS = {"tensorboard", "torch_geometric"}  # Lightning's logger imports one, users bring batches of the other


def module(requirement: str) -> str:
    """The module that a requirement such as "laspy[lazrs]>=2.5" installs."""
    name = re.split(r"[\[<>=!~ ]", requirement, maxsplit=1)[0].lower()
    return MODULES.get(name, name)


def imported() -> set[str]:
    """The top-level modules of other packages that the sources import, at the top of a file or inside a function."""
    found = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add((node.module or "").partition(".")[0])
    return found - set(sys.stdlib_module_names) - OWN


def declared() -> set[str]:
    """The modules that the package's dependencies and extras install, without the tools of development and tests."""
    extras = [values for name, values in PROJECT["optional-dependencies"].items() if name not in ("dev", "browser")]
    return {module(each) for group in (PROJECT["dependencies"], *extras) for each in group}


def test_every_import_is_declared() -> None:
    assert imported() <= declared()


def test_every_declared_dependency_is_imported() -> None:
    assert declared() - BEHIND_OTHERS <= imported()


def test_the_promised_torch_is_the_tested_torch() -> None:
    [promised] = [each for each in PROJECT["dependencies"] if module(each) == "torch"]
    [pinned] = re.findall(r"^torch==(\S+)$", (ROOT / "constraints.txt").read_text("utf-8"), re.MULTILINE)
    assert promised == f"torch>={'.'.join(pinned.split('.')[:2])}"
