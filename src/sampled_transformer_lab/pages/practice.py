"""The page on the theory in practice: what small networks with each mechanism learn of functions of a set."""

from __future__ import annotations

from typing import Any

from ..practice import TRIALS, table
from .markdown import commands


def practice_section(result: dict[str, Any]) -> list[str]:
    machine, made = result["machine"], len(result["trials"])
    missing = [f"**{made} of {len(TRIALS)} networks have been trained; the table shows those.**", ""]
    return [
        "Small networks (width 64, 4 heads, LayerNorm, AdamW) learn, for each of "
        f"{result['points']} points in a random box, its rank along an axis, its distance to the farthest point and "
        "its distance to the centre of the set: functions for which every point matters. The figures are root mean "
        "square errors on 512 new sets, in standard deviations of the target: a network that always answers the mean "
        "has an error of 1.",
        "",
        f"Each network was trained once, for {result['steps']:,} steps of {result['batch']} sets, with seed "
        f"{result['seed']}. Neighbouring rows may change places with another seed. Cycles are drawn afresh in every "
        "layer and every step, which the theorem does not cover.",
        "",
        *(missing if made < len(TRIALS) else []),
        table(result),
        "",
        'R is how many other points each point reads per layer along its cycle: "sampled" averages the outputs of R '
        'cycles, in training too, and "estimated" reads R points in one softmax. It means nothing for mechanisms '
        "without a cycle. Other options are the defaults: 16 neighbours, 16 inducing points, windows of 0.4.",
        "",
        "The points of a set are drawn in random order. `sparse`, which walks the list, therefore walks a random cycle "
        "that is new for every set and the same in both layers: it is not the paper's sparse attention over an order "
        "with a meaning. It differs from `sampled` only in that the layers of `sampled` draw cycles of their own.",
        "",
        "## How it was made",
        "",
        *commands(result["command"]),
        "",
        f"The trainings took {result['seconds'] / 60:.0f} minutes in all, each on {machine['threads']} of "
        f"{machine['cores']} cores that did other work as well.",
    ]
