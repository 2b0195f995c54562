"""The sizes of a benchmark, and that they cost no import of torch."""

from __future__ import annotations

import subprocess
import sys

from sampled_transformer_lab.bench.setting import LIMIT, REPEATS, Setting
from sampled_transformer_lab.bench.study import Plan


def test_the_width_is_that_of_all_heads() -> None:
    assert Setting(heads=3, head_dim=5).dim == 15


def test_a_plan_has_these_defaults() -> None:
    plan = Plan()
    assert (plan.setting, plan.repeats, plan.limit) == (Setting(), REPEATS, LIMIT)


def test_sizes_and_commands_load_no_torch() -> None:
    program = "import sys, sampled_transformer_lab.bench.setting, sampled_transformer_lab.commands.bench; "
    subprocess.run([sys.executable, "-c", program + "sys.exit('torch' in sys.modules)"], check=True)
