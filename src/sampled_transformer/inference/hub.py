"""Trained networks on the Hugging Face Hub, by huggingface_hub's own mixin. This module needs the extra `hub`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import EvalResult, ModelCard, ModelCardData, ModelHubMixin
from huggingface_hub.errors import HFValidationError

from ..weights import FILE, Description, download_weights, not_on_the_hub, save_model
from .card import facts
from .notes import Section
from .robustness import card_lines
from .target import NOTE
from .trained_network import TrainedNetwork, load

PAPER = "https://openreview.net/forum?id=F7f4BYnDAIc"
LIBRARY = "sampled-transformer"


class HubNetwork(ModelHubMixin, library_name=LIBRARY, paper_url=PAPER):
    """A trained network with `save_pretrained`, `from_pretrained` and `push_to_hub`.

    The weights file describes itself, so that loading reads nothing else. config.json repeats the description for
    people, and for the Hub, which counts its downloads.
    """

    def __init__(self, trained: TrainedNetwork) -> None:
        self.trained = trained
        described = trained.description
        self._hub_mixin_config = {
            "model": described.model,
            "options": dict(described.options),
            "classes": list(described.classes),
            "notes": without_folders(described.notes),
        }

    def _save_pretrained(self, save_directory: Path) -> None:
        described = self.trained.description
        public = replace(described, notes=without_folders(described.notes))
        save_model(self.trained.network, save_directory / FILE, public, self.trained.beside)

    @classmethod
    def _from_pretrained(
        cls, *, model_id: str, device: str | torch.device | None = None, **download: Any
    ) -> HubNetwork:
        path = Path(model_id)
        found = load(path if path.exists() else download_weights(model_id, **download), device)
        return cls(TrainedNetwork(found.network, found.description, model_id, beside=found.beside))

    def generate_model_card(self, license: str | None = None, **_options: Any) -> ModelCard:
        """The model card that the description allows; `model_card_kwargs={"license": "mit"}` adds a licence."""
        return model_card(self.trained.description, self.trained.name, license)


def from_hub(name: str, device: str | torch.device | None, **options: Any) -> TrainedNetwork:
    """Load a folder or a repository; the options are those of `ModelHubMixin.from_pretrained`."""
    try:
        found: HubNetwork = HubNetwork.from_pretrained(name, device=device, **options)
    except (OSError, HFValidationError) as error:
        raise not_on_the_hub(name, error) from None
    return found.trained


def without_folders(notes: Any) -> Any:
    """Notes in which a path is only its last part: the folders of a computer are nobody's business."""
    if isinstance(notes, Mapping):
        kept = (NOTE,)  # the name of a predicted number may have a slash, such as "m/s"
        return {key: value if key in kept else without_folders(value) for key, value in notes.items()}
    if isinstance(notes, list | tuple):
        return [without_folders(value) for value in notes]
    return Path(notes).name if isinstance(notes, str) and Path(notes).name != notes else notes


def model_card(description: Description, name: str, license: str | None = None) -> ModelCard:
    """A model card with the figures that the description of the weights has."""
    public, path = replace(description, notes=without_folders(description.notes)), Path(name)
    notes = public.notes
    title = path.parent.name if path.name == FILE else path.name
    source = Section(public, "data", name).text("source")
    accuracy = Section(public, "figures", name).number("test_accuracy")
    results = None
    if accuracy is not None and source is not None:
        results = [EvalResult("point-cloud-classification", source, source, "accuracy", accuracy)]
    card = ModelCardData(
        library_name=LIBRARY,
        license=license or notes.get("license"),
        tags=["point-cloud", "set-transformer", "attention", description.model],
        metrics=None if results is None else ["accuracy"],
        model_name=title,
        eval_results=results,
    )
    lines = ["---", card.to_yaml(), "---", "", f"# {title}", ""]
    attention = description.options.get("attention")
    kind = f"A network `{description.model}`" + (f" with `{attention}` attention" if attention else "")
    lines.append(f"{kind}, after [Sampled Transformer for Point Sets]({PAPER}).")
    lines += ["", *(f"- {title}: {value}" for title, value in facts(public, name).items())]
    borne = card_lines(notes)
    if borne:
        lines += ["", "## Robustness", "", f"Measured {borne[0]}.", "", *(f"- {line}" for line in borne[1:])]
    call = "net.features(points)" if description.model == "mae" else "net.predict(points)"
    if not description.model.endswith("-mixture"):
        code = ["import sampled_transformer as st", "", 'net = st.load("OWNER/NAME")  # this repository', call]
        lines += ["", "```python", *code, "```"]
    return ModelCard("\n".join([*lines, ""]))
