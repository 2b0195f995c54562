"""The universal-approximation proof (section 4.4, appendix E) as a program, in exact arithmetic.

`contextual_mapping` runs the construction on a grid and checks Definition 3.2, `approximate` realises a set-to-set
function through it, and `CLAIMS` are the proof's steps, each of which holds or has its smallest counter-example.
Nothing here loads torch but `practice`, which trains small networks.
"""

from __future__ import annotations

from .approximation import FUNCTIONS, Approximation, approximate, distance
from .claims import Claim, counterexamples
from .contextual import CONSTRUCTIONS, Verdict, contextual_mapping, identify, run
from .grid import Setting
from .steps import CLAIMS

__all__ = [
    "CLAIMS",
    "CONSTRUCTIONS",
    "FUNCTIONS",
    "Approximation",
    "Claim",
    "Setting",
    "Verdict",
    "approximate",
    "contextual_mapping",
    "counterexamples",
    "distance",
    "identify",
    "run",
]
