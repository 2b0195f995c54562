"""What a weights file says about itself, for people: `weights info` and model cards show it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..weights import Description
from .familiarity import NOTE as FAMILIARITY
from .target import target_of
from .temperature import NOTE as CALIBRATION


def facts(description: Description, name: str) -> dict[str, str]:
    """What the description of the weights `name` has to say, by title; what it does not know is left out."""
    notes = description.notes
    data, figures = _below(notes, "data"), _below(notes, "figures")
    accuracy, r2, iou = (figures.get(f"test_{key}") for key in ("accuracy", "r2", "mean_iou"))
    target = target_of(description, name)
    found = {
        "Trained on": data.get("source"),
        "Points per set": data.get("points"),
        "Recipe": notes.get("recipe"),
        "Epochs": notes.get("epochs"),
        "Test accuracy after the last epoch": None if accuracy is None else f"{100 * accuracy:.2f} %",
        "Test mean IoU after the last epoch": None if iou is None else f"{100 * iou:.2f} %",
        "Predicts": None if target is None else target.name,
        "Test R² after the last epoch": None if r2 is None else f"{r2:.4f}",
        **_honesty(notes),
        "Classes": ", ".join(description.classes) or None,
    }
    return {title: str(value) for title, value in found.items() if value is not None}


def _below(notes: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = notes.get(name)
    return found if isinstance(found, Mapping) else {}


def _honesty(notes: Mapping[str, Any]) -> dict[str, str]:
    """What `calibrate` stored, as facts of a card."""
    fitted, known = notes.get(CALIBRATION), notes.get(FAMILIARITY)
    facts = {}
    if fitted:
        shapes = f"{fitted.get('shapes')} held-out training shapes"
        facts["Temperature"] = f"{fitted['temperature']:.3f}, fitted on {shapes}"
    if known:
        facts["Says what is unfamiliar"] = f"with a false-alarm rate of {100 * known['alarms']:g} %"
    return facts
