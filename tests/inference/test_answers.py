"""Answers as text, and the module that holds them loads nothing heavy."""

from __future__ import annotations

import subprocess
import sys

from sampled_transformer.inference.answers import Answer, Measurement, failure


def test_lines() -> None:
    rows = [{"class": "cone", "probability": 0.5, "spread": 0.01}, {"class": "cup", "probability": 0.25, "spread": 0.0}]
    assert Answer("a.off", rows).lines() == [" 50.0 % +-  1.0  cone", " 25.0 % +-  0.0  cup"]
    assert Answer("a.off", [{**row, "spread": 0.0} for row in rows]).lines() == [" 50.0 %  cone", " 25.0 %  cup"]
    assert Measurement("a.off", "mass", 2.5, 0.125).lines() == ["2.5 +- 0.12  mass"]


def test_a_failure_is_of_the_kind_of_the_network() -> None:
    error = ValueError("a.off: broken")
    assert failure("a.off", error, None) == Answer("a.off", error="a.off: broken")
    assert failure("a.off", error, "mass") == Measurement("a.off", "mass", error="a.off: broken")


def test_the_process_that_prints_answers_needs_no_torch() -> None:
    modules = "sampled_transformer.inference.answering, sampled_transformer.commands.predict"
    program = f"import sys, {modules}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
