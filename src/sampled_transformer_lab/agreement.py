"""Whether two networks are right about the same test shapes: how much of a test split's noise two rows share.

Give each network a 1 per test shape that it gets right, else a 0. Networks that differ in their seed only have the
correlation `same` between these lists, networks of two mechanisms the correlation `across`. If p(s) and q(s) are the
chances, over seeds, that two mechanisms with the accuracies a and b are right about shape s, then the variance of
p(s) - q(s) over shapes is

    (same - across) (a (1 - a) + b (1 - b)),

where `same` is the mean over both mechanisms. Divided by the number of shapes, this is what other test shapes would add
to the difference of the two accuracies. `python -m sampled_transformer_lab.agreement NAME RUNS [ROOT]` measures it on
the run folders mechanism-seedN in RUNS, and writes results/agreement/NAME.json.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from torch import Tensor

from .reproduce import write_result


def right_answers(run: Path, root: str | None = None) -> Tensor:
    """1 for every test shape that the network of a run gets right in one pass, else 0."""
    from sampled_transformer.inference.evaluation import load_with_test_split
    from sampled_transformer.inference.trained import cycle_probabilities
    from sampled_transformer.training.loading import Batches
    from sampled_transformer.weights import find_weights

    network, view, pack, _ = load_with_test_split(find_weights(str(run)), None, root, torch.device("cpu"))
    found: list[Tensor] = []
    for batch in Batches(pack, view.transforms()[1], view.normals, 64, 0):
        likeliest = cycle_probabilities(network, batch.points, batch.normals, 1).mean(0).argmax(1)
        found.append(likeliest.eq(torch.as_tensor(batch.labels)))
    return torch.cat(found).double()


def agreement(answers: Mapping[tuple[str, int], Tensor]) -> dict[str, Any]:
    """`same` per mechanism, `across` per pair of mechanisms, and `unshared` = same - across, from right answers.

    Args:
        answers: 1 per shape that is right, else 0, by mechanism and seed; at least two seeds per mechanism.
    """
    groups: dict[str, list[float]] = {}
    for one, two in combinations(sorted(answers), 2):
        together = torch.stack([answers[one], answers[two]])
        name = " and ".join(dict.fromkeys((one[0], two[0])))
        groups.setdefault(name, []).append(float(torch.corrcoef(together)[0, 1]))
    means = {name: mean(values) for name, values in groups.items()}
    pairs = {name: name.split(" and ") for name in means if " and " in name}
    return {
        "same": {name: value for name, value in means.items() if name not in pairs},
        "across": {name: means[name] for name in pairs},
        "unshared": {name: mean(means[each] for each in both) - means[name] for name, both in pairs.items()},
    }


def measure(runs: Path, root: str | None = None) -> dict[str, Any]:
    """Agreement of the networks in the run folders `mechanism-seedN` of a folder."""
    folders = [path for path in sorted(runs.iterdir()) if (path / "result.json").is_file()]
    answers = {}
    for path in folders:
        mechanism, _, seed = path.name.rpartition("-seed")
        answers[mechanism, int(seed)] = right_answers(path, root)
    result = json.loads((folders[0] / "result.json").read_text("utf-8"))
    return {
        "data": result["data"],
        "shapes": len(next(iter(answers.values()))),
        "points": result["points"],
        "epochs": result["epochs"],
        "seeds": {name: sum(mechanism == name for mechanism, _ in answers) for name, _ in answers},
        **agreement(answers),
    }


def main(name: str, runs: str, root: str | None = None, results: Path = Path("results/agreement")) -> None:
    command = f"python -m sampled_transformer_lab.agreement {name} runs/{Path(runs).name}{' ROOT' if root else ''}"
    found = {"command": command, **measure(Path(runs), root)}
    path = results / f"{name}.json"
    write_result(path, found, None)
    print(f"{path}: written")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None)
