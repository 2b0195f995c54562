"""One line of the table of claims."""

from __future__ import annotations

from dataclasses import dataclass

COLUMNS = ["claim", "the paper", "here", "scale", "verdict"]


@dataclass(frozen=True)
class Claim:
    """One line of the table; `page` is the file behind it, seen from docs/results."""

    claim: str
    page: str
    paper: str
    here: str
    scale: str
    verdict: str
    short: bool = True  # shown in the README too

    def cells(self, folder: str) -> list[str]:
        place = self.page.removeprefix("../") if folder == "docs/" else self.page
        base = folder if self.page.startswith("../") or not folder else f"{folder}results/"
        cells = [f"[{self.claim}]({base}{place})", self.paper, self.here, self.scale, self.verdict]
        return [cell.replace(" ± ", "\u00a0±\u00a0") for cell in cells]  # a figure stays with its deviation
