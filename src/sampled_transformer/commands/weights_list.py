"""The command `weights list`."""

from __future__ import annotations


def weights_list() -> None:
    """List the weights that ship with the package."""
    from ..inference.robustness import NOTE
    from ..support.printable import printable
    from ..weights import describe_model, find_weights, list_pretrained

    names = list_pretrained()
    width = max(map(len, names), default=0)
    for name in names:
        description = describe_model(name)
        data, figures = (description.notes.get(key) or {} for key in ("data", "figures"))
        parts = [description.model, f"{find_weights(name).stat().st_size / 1e6:.1f} MB"]
        parts += [f"{len(description.classes)} classes"] if description.classes else []
        parts += [f"trained on {printable(data['source'])}"] if data.get("source") else []
        for figure, title in (("test_mean_iou", "test mean IoU"), ("test_accuracy", "test accuracy")):
            if figures.get(figure) is not None:
                parts.append(f"{title} {100 * figures[figure]:.2f} %")
                break
        parts += ["robustness measured"] if NOTE in description.notes else []
        print(f"{name:{width}}  {', '.join(parts)}")
    print("\n`sampled-transformer weights info NAME` says more about one of them.")
