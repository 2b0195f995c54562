"""Build a network by name, with new weights or with trained ones."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from torch import nn

from . import models
from .support.printable import printable
from .support.registry import listing, look_up
from .training.initial import classifier_options, copy_weights, with_changes
from .weights import Description, WeightsError, describe_model, find_weights, list_pretrained, load_model

logger = logging.getLogger(__name__)


def create_model(name: str | None = None, *, pretrained: str | Path | None = None, **options: Any) -> nn.Module:
    """Build a network by name, in training mode: `create_model("basic", pretrained="modelnet40", classes=10)`.

    With `pretrained`, options that are not given are those of the weights. If `classes` differs, the head is new and
    the rest is loaded. `create_model("mae-classifier", pretrained="modelnet40-mae", classes=10)` loads the encoder of
    an autoencoder. Another mechanism with the same parameters may be given, such as attention="dense".

    Args:
        name: One of `list_models()`; may be left out with `pretrained`.
        pretrained: Trained weights: one of `list_pretrained()`, a run folder, a weights file, or "owner/name" on the
            Hugging Face Hub (default: new weights).
        options: The arguments of the network's class.
    """
    if isinstance(pretrained, bool):  # as in timm, where a name has one set of weights
        names = ", ".join(list_pretrained())
        raise ValueError(f"pretrained: expected a name ({names}), a run folder or a file, got {pretrained}")
    if pretrained is None:
        if name in list_pretrained():
            model = describe_model(name).model
            use = f'load("{name}") or create_model("{model}", pretrained="{name}")'
            raise ValueError(f"model: expected one of {listing(models.list_models())}, got the weights {name!r}: {use}")
        if name is None:
            raise ValueError(f"model: expected one of {listing(models.list_models())}, got None")
        return models.create_model(name, **options)
    path = find_weights(pretrained)
    trained, description = load_model(path)
    model = description.model if name is None else name
    network = models.create_model(model, **_options(model, description, options, printable(pretrained)))
    own, theirs = (getattr(one, "head", None) for one in (network, trained))
    keeps_head = own is not None and theirs is not None and _shapes(own) == _shapes(theirs)
    loaded = copy_weights(network, model, trained, description.model, Path(pretrained), keeps_head, "pretrained")
    if loaded.fresh:
        logger.info("%s", loaded)
    return network


def _options(model: str, description: Description, given: dict[str, Any], where: str) -> dict[str, Any]:
    """The options of the weights, with the given ones on top."""
    if model == "mae-classifier" and description.model == "mae":
        options = classifier_options(description, where)
    elif model == description.model:
        options = dict(description.options)
    else:
        look_up("model", model, models.REGISTRY)
        holds = f"got {where}, which holds a {description.model!r}"
        raise WeightsError(f"pretrained: expected weights of the model {model!r}, {holds}")
    attention = given.get("attention", options.get("attention"))
    if attention is None:
        return {**options, **given}
    return with_changes(options, attention, given)


def _shapes(module: nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
