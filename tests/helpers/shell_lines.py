"""The shell lines of the README and the documentation, and what the test does with each of them.

A fenced block without a language, or with `bash`, is shell. Every line of it is run unless a list below says why not,
so a new line is run.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROGRAM = "sampled-transformer"

NOT_RUN = {  # part of "page: line" -> why nobody waits for it here. The program's lines are still parsed.
    r"^docs/results/": "studies and benchmarks, minutes to days; results/ holds what they wrote",
    r": pip install |: python3 -m venv ": "installs packages; `make smoke` does",
    r": make (demo|test)$": "minutes; tests/commands/test_demo.py runs the demo in small",
    r" view( |$)": "serves a page until it is stopped; tests/contracts/test_browser_view.py opens it",
    r": tensorboard ": "serves a page until it is stopped",
    r": (ray|export RAY\S*) |: ray stop|--address auto": "starts or needs a cluster",
    r"s3://": "needs a network",
    r": (torchrun|srun|if \[ -f shared/run)": "needs several machines; test_distributed.py runs two processes",
    r"--trainer.devices 2": "starts the program again for the second process, as test_distributed.py does",
    r"--root downloads/|--data.root downloads/": "reads a public data set, which is a download",
    r"python benchmarks/radar.py": "reads the whole of a public data set",
    r"bench( --preset paper-memory)?$": "half an hour and gigabytes of memory",
    r"tables (check|make|page) ": "trains networks, or needs them; tests/lab/commands/test_tables.py is small",
    r"theory --practice": "two hours",
}
SLOW = {  # part of "page: line" -> why it is left to `make test-slow`
    r"--engine ray": "starts a Ray cluster on this machine",
    r"theory --(larger|monte_carlo)": "up to a minute each",
    r"bench --preset quick": "a minute or two",
    r" export ": "compiles the network",
    r"calibrate old.safetensors ": "asks the shipped network about all training parts",
    r"brick-scenes packs/scenes": "draws a hundred scenes",
}
SMALL = "--options.dim 16 --options.hidden 16 --data.points 16"
SHORTER = {  # part of "page: line" -> words that are added, so that a training takes seconds
    r" segment train --data brick-parts ": "--epochs 1 --data.points 32 --options.widths [8,8]",
    r" segment train --data my-scans ": "--epochs 1 --data.points 48 --options.widths [8,8]",
    r" cluster train ": "--steps 4 --every 2 --sets 4 --options.dim 16 --options.heads 2",
    r" train --data (bricks|radar) ": f"--epochs 1 {SMALL}",
    r" train --data (packed|drag|my_shapes) (--out|--data.preset|--up)": f"--epochs 2 {SMALL}",
    r" train --data packed --init modelnet40 ": "--epochs 1",
    r" train --recipe finetune-modelnet40-small ": "--epochs 1",
    r" pretrain ": "--epochs 1 --options.dim 24 --options.heads 2 --options.hidden 24 --options.depth 1",
    r" fewshot ": "--epochs 1 --folds 2 --shot 2 --queries 2",
    r" cluster evaluate ": "--sets 10",
    r"docs/guide/.* predict shapes/ ": "--workers 0",  # start.md has a line that starts workers
}


@dataclass(frozen=True)
class Line:
    """One command of a page, with its continuation lines."""

    page: Path
    text: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}: {self.text}"

    def found_in(self, rules: dict[str, str]) -> str | None:
        """The first rule that applies: what it says, or None."""
        return next((said for pattern, said in rules.items() if re.search(pattern, self.place)), None)

    def words(self, folder: Path) -> list[str] | None:
        """What bash gives to our program in a folder, with patterns and quotes resolved; None for other programs.

        Bash also opens the files that `>` names.
        """
        if not self.text.startswith(f"{PROGRAM} "):
            return None
        script = f"{PROGRAM}() {{ printf '%s\\0' \"$@\" >&9; }}; exec 9>&1; {self.text}"
        done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, check=True, text=True)
        return done.stdout.split("\0")[:-1]


def lines_of(page: Path) -> list[Line]:
    """The shell lines of a page, without comments."""
    found = []
    for language, block in re.findall(r"^```(\w*)[^\n]*\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE):
        if language in ("", "bash"):
            joined = re.sub(r" *\\\n *", " ", block).splitlines()
            texts = (re.sub(r"(^|\s+)#.*$", "", text).strip() for text in joined)
            found += [Line(page, text) for text in texts if text]
    return found


LINES = [line for page in PAGES for line in lines_of(page)]
