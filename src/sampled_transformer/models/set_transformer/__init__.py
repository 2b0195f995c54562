"""Set Transformer (Lee et al. 2019, https://arxiv.org/abs/1810.00825) with dense, induced and sampled attention.

The paper compares with it in appendices B.3 (classification, Table 7) and C (clustering, Table 8).

- `blocks`: MAB, SAB, ISAB and PMA. `ISAB(reading="rows")` is the paper's sampled ISAB.
- `reading`: how queries average the points they read.
- `encoder`: blocks and pooling, which the classifier and the mixture network share.
- `classifier`: the network "set-transformer".
- `weights`: weights of Lee et al.'s public code.
"""

from .blocks import ISAB, MAB, PMA, SAB
from .classifier import SetTransformer
from .encoder import SetEncoder

__all__ = ["ISAB", "MAB", "PMA", "SAB", "SetEncoder", "SetTransformer"]
