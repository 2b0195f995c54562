"""What a measurement says of the machine it was made on."""

from __future__ import annotations

import os
import platform
from typing import Any

import torch


def machine() -> dict[str, Any]:
    return {"cores": os.cpu_count(), "threads": torch.get_num_threads(), "processor": platform.machine()}
