"""The command `weights info`."""

from __future__ import annotations


def weights_info(weights: str, json: bool = False) -> None:
    """Describe trained weights: network, data, figures, and how much they withstand.

    Args:
        weights: The folder of a run, a weights file, or the name of shipped weights.
        json: Print everything as JSON: options of the network, classes, and all notes.
    """
    from dataclasses import asdict
    from json import dumps

    from ..inference.card import facts, is_classifier
    from ..inference.robustness import card_lines
    from ..support.printable import printable
    from ..weights import describe_model

    description = describe_model(weights)
    if json:
        print(dumps(asdict(description), indent=2))
        return
    options = ", ".join(f"{name} {value}" for name, value in description.options.items())
    print(f"{printable(weights)}: {description.model} ({printable(options)})")
    for title, value in facts(description, weights).items():
        print(f"  {title}: {printable(value)}")
    borne = card_lines(description.notes)
    if not borne and not is_classifier(description, weights):
        return
    if not borne:
        print("  Robustness: not measured (`sampled-transformer evaluate WEIGHTS --robustness --save_card`)")
        return
    print(f"  Robustness, {borne[0]}")
    for line in borne[1:]:
        print(f"    {line}")
