"""The universal-approximation proof (section 4.4, appendix E) as a program, without torch.

All is exact arithmetic but the last stage, which needs exponentials.

Where to find what:

    grid.py           steps 1 and 2: the grid, the positional embedding, the quantisation
    heads.py          the selective shift Psi (`selective_shift`), the all-max-shift Omega (`all_max_shift`),
                      the projection u^T (`project`) and the hardmax head psi (`hardmax_head`)
    patterns.py       who attends to whom in these layers
    contextual.py     step 3: the layers together are a contextual mapping (Definition 3.2)
    approximation.py  step 4: the value mapping, and the network that approximates a function
    softened.py       the last stage: the same network with softmax heads and ReLUs, in float64
    bounds.py         the paper's inequalities
    claims.py         one check per statement of the proof; steps.py lists the statements in the paper's order
    tables.py, drawing.py   the output of the command `theory`

`contextual_mapping` runs the construction on a grid and checks Definition 3.2. `approximate` builds the network for a
function, and `Softened` turns it into one of softmax heads and ReLUs. `CLAIMS` are the statements of the proof; each
one holds or has a smallest counter-example.
"""

from __future__ import annotations

from .approximation import FUNCTIONS, Approximation, approximate, distance
from .claims import Claim, counterexamples
from .contextual import CONSTRUCTIONS, Verdict, contextual_mapping, identify, run
from .grid import Setting
from .heads import all_max_shift, hardmax_head, project, selective_shift
from .softened import Softened
from .steps import CLAIMS

__all__ = [
    "CLAIMS",
    "CONSTRUCTIONS",
    "FUNCTIONS",
    "Approximation",
    "Claim",
    "Setting",
    "Softened",
    "Verdict",
    "all_max_shift",
    "approximate",
    "contextual_mapping",
    "counterexamples",
    "distance",
    "hardmax_head",
    "identify",
    "project",
    "run",
    "selective_shift",
]
