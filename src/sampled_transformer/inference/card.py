"""What a weights file says about itself, for people: `weights info` and model cards show it."""

from __future__ import annotations

from ..weights import Description
from .familiarity import NOTE as FAMILIARITY
from .notes import Section
from .target import target_of
from .temperature import NOTE as CALIBRATION
from .temperature import temperature_of


def facts(description: Description, name: str) -> dict[str, str]:
    """What the description of the weights `name` has to say, by title; what it does not know is left out."""
    notes = description.notes
    data, figures = (Section(description, key, name) for key in ("data", "figures"))
    accuracy, r2, iou = (figures.number(f"test_{key}") for key in ("accuracy", "r2", "mean_iou"))
    target = target_of(description, name)
    found = {
        "Trained on": data.text("source"),
        "Points per set": data.values.get("points"),
        "Recipe": notes.get("recipe"),
        "Epochs": notes.get("epochs"),
        "Test accuracy after the last epoch": None if accuracy is None else f"{100 * accuracy:.2f} %",
        "Test mean IoU after the last epoch": None if iou is None else f"{100 * iou:.2f} %",
        "Predicts": None if target is None else target.name,
        "Test R² after the last epoch": None if r2 is None else f"{r2:.4f}",
        **_honesty(description, name),
        "Classes": ", ".join(description.classes) or None,
    }
    return {title: str(value) for title, value in found.items() if value is not None}


def is_classifier(description: Description, name: str) -> bool:
    """Whether the network gives a class to a whole set: what `calibrate` and `evaluate --robustness` can measure."""
    others = description.model in ("mae", "segmenter") or description.model.endswith("-mixture")
    return not others and target_of(description, name) is None


def _honesty(description: Description, name: str) -> dict[str, str]:
    """What `calibrate` stored, as facts of a card."""
    facts = {}
    if description.notes.get(CALIBRATION) is not None:
        shapes = Section(description, CALIBRATION, name).values.get("shapes")
        fitted = f"fitted on {shapes} held-out training shapes"
        facts["Temperature"] = f"{temperature_of(description, name):.3f}, {fitted}"
    alarms = Section(description, FAMILIARITY, name).number("alarms")
    if alarms is not None:
        facts["Says what is unfamiliar"] = f"with a false-alarm rate of {100 * alarms:g} %"
    figures = Section(description, "figures", name)
    if not facts and description.classes and figures.values and is_classifier(description, name):
        facts["Probabilities"] = "not calibrated, and unfamiliar files pass unnoticed (`calibrate` changes both)"
    return facts
