"""Describe the machine that a measurement was made on."""

from __future__ import annotations

import os
import platform
from typing import Any

import torch


def machine() -> dict[str, Any]:
    """Number of cores, torch threads and processor type, as recorded with every result."""
    return {"cores": os.cpu_count(), "threads": torch.get_num_threads(), "processor": platform.machine()}
