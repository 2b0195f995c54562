"""The licences of everything that the package depends on, as a page: docs/licences.md.

    python -m sampled_transformer_lab.licences docs/licences.md

It reads what is installed: the dependencies in pyproject.toml with all extras but `dev`, and what these need in turn.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

PACKAGE = "sampled-transformer"
NOT_SHIPPED = ("dev",)  # extras that only developers install
CUT = 60  # letters of a licence field, which some packages fill with the whole text


def requirements(package: Distribution, extras: Iterable[str]) -> list[str]:
    """The names of the packages that a package needs, with these extras."""
    wanted, names = set(extras), []
    for requirement in package.requires or ():
        name = re.split(r"[\s\[<>=!~;(]", requirement, maxsplit=1)[0].lower().replace("_", "-")
        found = re.search(r"extra\s*==\s*['\"]([^'\"]+)['\"]", requirement)
        if found is None or found[1] in wanted:
            names.append(name)
    return names


def licence(package: Distribution) -> str:
    """The licence of a package as its metadata name it."""
    data = package.metadata
    text = _field(package, "License-Expression")
    kinds = [one.rpartition(" :: ")[2] for one in data.get_all("Classifier") or () if one.startswith("License ::")]
    text = text or ", ".join(kinds) or " ".join(_field(package, "License").split())
    return text if len(text) <= CUT else f"{text[:CUT]}..."


def _field(package: Distribution, name: str) -> str:
    return next(iter(package.metadata.get_all(name) or ()), "")


def installed(package: str = PACKAGE) -> dict[str, tuple[str, str]]:
    """Version and licence of everything that a package needs, by name; what is not installed here is left out."""
    own = distribution(package)
    extras = [extra for extra in own.metadata.get_all("Provides-Extra") or () if extra not in NOT_SHIPPED]
    waiting, found = requirements(own, extras), {}
    while waiting:
        name = waiting.pop()
        if name in found or name == package:
            continue
        try:
            other = distribution(name)
        except PackageNotFoundError:  # for another system or version of Python
            continue
        found[name] = (other.version, licence(other) or "not said")
        waiting += requirements(other, ())
    return dict(sorted(found.items()))


def page(packages: dict[str, tuple[str, str]]) -> str:
    """The page in Markdown."""
    lines = [
        "# Licences of dependencies",
        "",
        "The package itself has the MIT licence. This is what it needs with all extras, as installed for the tests;",
        "`make licences` writes this page.",
        "",
        "| package | version | licence |",
        "|---|---|---|",
        *(f"| {name} | {version} | {text} |" for name, (version, text) in packages.items()),
    ]
    return "\n".join([*lines, ""])


def main(words: Sequence[str] | None = None) -> int:
    """Write the page to the file that is named, or print it."""
    given = list(sys.argv[1:] if words is None else words)
    text = page(installed())
    if given:
        Path(given[0]).write_text(text, "utf-8")
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
