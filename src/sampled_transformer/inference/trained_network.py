"""A trained network by name, and what one can ask it: classes, probabilities, numbers, features."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from ..data.axes import check_up
from ..data.errors import DataError
from ..support.printable import printable
from ..training.loading import View
from ..weights import Description, WeightsError, find_weights, list_pretrained, load_beside, load_model
from .familiarity import Ask, Familiarity, familiarity_of
from .features import PointFeatures, layer_name, point_features, set_features, stack
from .prepared import Form, Prepared, prepare_sets, prepare_sides
from .segmentation import Segmentation
from .target import Target, target_of
from .temperature import temperature_of
from .trained import (
    check_classifier,
    cycle_values,
    in_evaluation,
    pick_device,
    refuse_mixture,
    view_of,
)

USUAL = 0.1  # that z, y or the network's own axis are up rather than another, as a difference of probabilities


class Candidate(NamedTuple):
    """A class that a set may belong to."""

    name: str
    probability: float  # mean over the cycles
    spread: float  # standard deviation over the cycles


class Probabilities(NamedTuple):
    """Class probabilities of one set, (classes,), or of several, (batch, classes).

    The last two are None if the weights do not say what they know; of several sets they are arrays (batch,).
    """

    mean: np.ndarray  # over the cycles
    spread: np.ndarray  # standard deviation over the cycles
    classes: tuple[str, ...]
    familiar: Any = None  # whether the set looks like what the network was trained on
    strangeness: Any = None  # the share of held-out training shapes that look less strange

    def top(self, count: int) -> list[Any]:
        """The likeliest classes of one set, best first; of several sets, one such list per set."""
        if count < 1:
            raise ValueError(f"top: expected at least 1, got {count}")
        if self.mean.ndim > 1:
            return [Probabilities(*pair, self.classes).top(count) for pair in zip(self.mean, self.spread, strict=True)]
        order = np.argsort(-self.mean, kind="stable")[:count].tolist()
        return [Candidate(self.classes[i], float(self.mean[i]), float(self.spread[i])) for i in order]

    def softened(self, temperature: float) -> Probabilities:
        """The probabilities p^(1 / T) / sum p^(1 / T): those of logits divided by T. Spreads change in proportion."""
        if temperature == 1:
            return self
        powers = self.mean ** (1 / temperature)
        mean = powers / powers.sum(-1, keepdims=True)
        return self._replace(mean=mean, spread=self.spread * mean / np.maximum(self.mean, np.finfo(mean.dtype).tiny))


def upright_scores(found: Probabilities, axes: Sequence[str | None], own: str = "z") -> np.ndarray:
    """How likely it is that each of several sets stands upright, (sets,), if these axes are taken for up.

    The surer, the likelier. What looks like nothing that the network knows comes last: a table on its side may be a
    sure door. Most programs write z or y up, and files like those that the network was trained on have its `own` axis
    up, which counts for a little.
    """
    usual = np.array([USUAL * (up in ("z", "y", own)) for up in axes])
    scores: np.ndarray = found.mean.max(1) + usual
    return scores if found.familiar is None else scores + 2 * found.familiar


def standing(sides: Sequence[Sequence[Prepared]], scores: Sequence[np.ndarray]) -> list[Prepared]:
    """Of several ways to prepare each set, the one with the highest score, which says so; of equal ones the first."""
    chosen = []
    for own, found in zip(sides, scores, strict=True):
        best = own[int(found.argmax())]
        chosen.append(replace(best, notes=(*best.notes, f"{best.up} taken for up, the likeliest of {len(own)}")))
    return chosen


class Values(NamedTuple):
    """Predicted numbers of one set, floats, or of several, arrays (sets,), in the target's own unit."""

    mean: Any  # over the cycles
    spread: Any  # standard deviation over the cycles
    target: str  # what the numbers measure


class TrainedNetwork:
    """A trained network that knows how it sees shapes. `load` makes one.

    All methods take one set or several. One set is an array (n, 3), or (n, 6) with unit normals, of numpy or torch, a
    file, or a trimesh. Several sets are an array (batch, n, 3) or a list of sets of any sizes. One set gives one
    answer; several sets give arrays with a first axis for the sets, or lists. Every set is drawn, centred and scaled
    as the program does it with a file, and missing normals are estimated; answers are those of the program, to the bit.
    The order of a set's points does not matter, nor does the name of a file.

    Args:
        network: The network.
        description: What its file says about it.
        name: Its name, for messages.
        batch: Sets per forward pass. With 1, a set's answer does not depend on other sets, not even in the last bit.
        beside: What its file keeps beside the network, see `familiarity`.
    """

    def __init__(
        self,
        network: nn.Module,
        description: Description,
        name: str = "network",
        *,
        batch: int = 1,
        beside: Mapping[str, torch.Tensor] | None = None,
    ) -> None:
        if batch < 1:
            raise ValueError(f"batch: expected at least 1, got {batch}")
        self.network, self.description, self.name, self.batch = network, description, name, batch
        self.beside = dict(beside or {})

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes."""
        return tuple(self.description.classes)

    @property
    def target(self) -> Target | None:
        """The number that the network predicts; None for a classifier."""
        return target_of(self.description, self.name)

    @property
    def view(self) -> View:
        """How the network sees shapes: preset, number of points, and whether it reads normals."""
        refuse_mixture(self.description, self.name, "a network that reads shapes")
        return view_of(self.description, self.name)

    @property
    def temperature(self) -> float:
        """What logits are divided by to get probabilities, fitted by `calibrate`; 1 if none was fitted."""
        return temperature_of(self.description, self.name)

    @cached_property
    def familiarity(self) -> Familiarity | None:
        """Statistics of the training shapes that tell strangers apart, fitted by `calibrate`; None without them."""
        return familiarity_of(self.description, self.beside, self.name)

    @property
    def layers(self) -> list[str]:
        """The names of the layers that `features` knows, from the first to the last."""
        refuse_mixture(self.description, self.name, "a network that reads shapes")
        names: list[str] = self.network.feature_layers  # type: ignore[assignment]
        return names

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return next(self.network.parameters()).device

    def __repr__(self) -> str:
        attention = self.description.options.get("attention")
        parts = [f"model {self.description.model!r}" + (f" with {attention} attention" if attention else "")]
        if self.description.model == "segmenter":
            parts.append(f"labels points, {len(self.classes)} classes")
            return f"<TrainedNetwork {printable(self.name)}: {', '.join(parts)}, on {self.device}>"
        if not self.description.model.endswith("-mixture"):
            normals = "points with normals" if self.view.normals else "points"
            parts.append(f"reads {self.view.points} {normals}")
        if self.classes and self.description.model != "mae":
            parts.append(f"{len(self.classes)} classes")
        if self.target is not None:
            parts.append(f"predicts {printable(self.target.name)}")
        return f"<TrainedNetwork {printable(self.name)}: {', '.join(parts)}, on {self.device}>"

    def find_layer(self, layer: int | str | None) -> str | None:
        """The name of a layer given by name or number; an error if the network has no such layer, or no features."""
        refuse_mixture(self.description, self.name, "a network that reads shapes")
        return layer_name(self.network, layer)

    def prepare(
        self, points: Any, normals: Any = None, *, name: str | None = None, up: str | None = None, samples: int = 8
    ) -> Any:
        """What the network reads of each set, a `Prepared` or a list of them. The other methods take these, too.

        Args:
            points, normals: One set or several.
            name: Text that decides which points are drawn; by default the points themselves do, in any order.
            up: The axis that is up in the sets, such as "y" or "-z", or "auto" for the likeliest of the six, see
                `upright_scores` (default: what the format of a file prescribes, or else as they are).
            samples: Cycles to average over where `up` is "auto".
        """
        sets, form = self._sets(points, normals, up, samples, name)
        return sets[0] if form == "one" else sets

    def upright(self, sides: Sequence[Sequence[Prepared]], samples: int = 8) -> list[Prepared]:
        """Of several ways to prepare each set, see `prepare_sides`, the one in which it seems to stand upright.

        See `upright_scores`; probabilities are means over the cycles. Of equally likely ones it is the first.
        """
        return standing(sides, self.side_scores(sides, samples))

    def side_scores(self, sides: Sequence[Sequence[Prepared]], samples: int = 8) -> list[np.ndarray]:
        """The `upright_scores` of several ways to prepare each set, one array per set."""
        self.check_sure()
        flat = [one for own in sides for one in own]
        scores = upright_scores(self.probabilities(flat, samples=samples), [one.up for one in flat], self.view.up)
        return np.split(scores, np.cumsum([len(own) for own in sides])[:-1])

    def check_sure(self) -> None:
        """Refuse to find out which axis is up with a network that gives no probabilities."""
        if not self._gives_probabilities:
            kind = "predicts a number" if self.target is not None else "gives no class probabilities"
            raise ValueError(f"up: expected an axis, because the network {kind}, got auto")

    @property
    def _gives_probabilities(self) -> bool:
        return self.target is None and self.description.model != "mae"

    def predict(
        self,
        points: Any,
        normals: Any = None,
        *,
        top: int | None = None,
        samples: int = 8,
        up: str | None = None,
    ) -> Any:
        """The name of the likeliest class, or a list of names; from a regression a float, or an array of them.

        Args:
            points, normals: One set or several.
            top: Instead of a name, give a list of this many `Candidate`s: name, probability and spread.
            samples: Average the probabilities, or the predicted numbers, over this many cycles.
            up: The axis that is up in the sets, such as "y" or "-z", or "auto" for the likeliest of the six, see
                `upright_scores` (default: what the format of a file prescribes, or else as they are).
        """
        if self.target is not None:
            if top is not None:
                raise ValueError(f"top: expected none, because the network predicts a number, got {top}")
            return self.values(points, normals, samples=samples, up=up).mean
        check_classifier(self.description, self.name)
        if not self.classes:
            raise WeightsError(f"{printable(self.name)}: expected class names in the file, got none")
        if top is not None and top < 1:
            raise ValueError(f"top: expected at least 1, got {top}")
        found = self.probabilities(points, normals, samples=samples, up=up)
        if top is not None:
            return found.top(top)
        likeliest = found.top(1)
        return likeliest[0].name if found.mean.ndim == 1 else [candidates[0].name for candidates in likeliest]

    def probabilities(
        self, points: Any, normals: Any = None, *, samples: int = 8, up: str | None = None
    ) -> Probabilities:
        """Class probabilities and their spread over cycles, and whether the sets look familiar.

        Args:
            points, normals: One set or several.
            samples: Average over this many cycles; a network that is not random needs one.
            up: As in `predict`.
        """
        check_classifier(self.description, self.name)
        sets, form = self._sets(points, normals, up, samples)
        known, ask = self.familiarity, Ask(self.temperature, self.familiarity)
        mean, spread = self._over_cycles(sets, form, samples, ask)
        if known is None:
            return Probabilities(mean, spread, self.classes)
        found = torch.cat(ask.scores)
        familiar, strangeness = known.is_familiar(found).numpy(), known.strangeness(found).numpy()
        if mean.ndim == 1:
            return Probabilities(mean, spread, self.classes, bool(familiar[0]), float(strangeness[0]))
        return Probabilities(mean, spread, self.classes, familiar, strangeness)

    def familiar(self, points: Any, normals: Any = None, *, up: str | None = None) -> Any:
        """Whether a set looks like what the network was trained on, a bool, or an array of them for several sets.

        None if the weights have no statistics of their training shapes; `calibrate` fits them.
        """
        return self.probabilities(points, normals, samples=1, up=up).familiar

    def values(self, points: Any, normals: Any = None, *, samples: int = 8, up: str | None = None) -> Values:
        """Predicted numbers and their spread over cycles, from a network that was trained on numbers.

        Args:
            points, normals: One set or several.
            samples: Average over this many cycles; a network that is not random needs one.
            up: As in `predict`, without "auto".
        """
        target = self.target
        if target is None:
            raise WeightsError(f"{printable(self.name)}: expected a network that predicts a number, got another one")

        def ask(*inputs: Any) -> torch.Tensor:
            return target.restored(cycle_values(*inputs))

        mean, spread = self._over_cycles(*self._sets(points, normals, up, samples), samples, ask)
        if mean.ndim == 0:
            return Values(float(mean), float(spread), target.name)
        return Values(mean, spread, target.name)

    def features(
        self,
        points: Any,
        normals: Any = None,
        *,
        per_point: bool = False,
        layer: int | str | None = None,
        samples: int = 1,
        up: str | None = None,
    ) -> Any:
        """Features before the head: pooled, an array (d,) or (batch, d), or per point.

        Per point, one set gives `PointFeatures`: features (m, d), their points (m, 3) and the rows of the input that
        these are. If the input has no more points than the network reads, these are all its points in their order; of
        larger inputs, those that were drawn. Networks of groups give one row per group. An array of sets gives the
        same with a first axis for the sets, and a list gives a list.

        Args:
            points, normals: One set or several.
            per_point: Give features per point.
            layer: Number or name of a layer, see `layers` (default: what the head reads). Pooled features of a layer
                are its largest values over the points.
            samples: Average over this many cycles.
            up: As in `predict`; "auto" needs a classifier.
        """
        _check_samples(samples)
        name = self.find_layer(layer)
        sets, form = self._sets(points, normals, up, samples)
        with in_evaluation(self.network):
            return (self._point_features if per_point else self._pooled)(sets, form, name, samples)

    def segment(
        self, points: Any, features: Any = None, *, samples: int = 1, memory: float = 4.0, up: str | None = None
    ) -> Segmentation:
        """A class and a confidence for every point of one set or scene, in the order of the points.

        Args:
            points: An array (n, 3) of numpy or torch, or a file that `read_scan` reads, whose features are then used.
            features: What is known of each point: {name: array (n,) or (n, width)}, such as {"normals": normals}, or
                one array (n, width) of all features that the network reads, in their order.
            samples: Average over this many cycles, if the network is random.
            memory: Gigabytes that one pass may need; larger scenes are labelled in tiles.
            up: The axis that is up, such as "y" or "-z" (default: z).
        """
        from .segment_arrays import segment_arrays

        _check_samples(samples)
        return segment_arrays(self, points, features, samples, memory, up)

    def save_pretrained(self, folder: str | Path, **options: Any) -> None:
        """Write model.safetensors, config.json and README.md, a model card, into a folder (needs the extra `hub`).

        An existing README.md is kept. The options are those of `huggingface_hub.ModelHubMixin.save_pretrained`.
        """
        _hub().HubNetwork(self).save_pretrained(folder, **options)

    def push_to_hub(self, repository: str, **options: Any) -> str:
        """Upload what `save_pretrained` writes to "owner/name" on the Hugging Face Hub; returns the address.

        The options are those of `huggingface_hub.ModelHubMixin.push_to_hub`, such as `private` and `token`.
        """
        address: str = _hub().HubNetwork(self).push_to_hub(repository, **options)
        return address

    @classmethod
    def from_pretrained(
        cls, name: str | Path, device: str | torch.device | None = None, **options: Any
    ) -> TrainedNetwork:
        """Load what `save_pretrained` wrote, a repository "owner/name" on the Hugging Face Hub, or what `load` takes.

        The options are those of `huggingface_hub.ModelHubMixin.from_pretrained`, such as `revision` and `cache_dir`.
        """
        if Path(name).is_file() or str(name) in list_pretrained():
            return load(name, device)
        trained: TrainedNetwork = _hub().from_hub(str(name), device, **options)
        return trained

    def _sets(
        self, points: Any, normals: Any, up: str | None, samples: int, name: str | None = None
    ) -> tuple[list[Prepared], Form]:
        _check_samples(samples)
        if up != "auto":
            check_up(up, auto=self._gives_probabilities)
            return prepare_sets(self.view, points, normals, name, up)
        self.check_sure()
        sides, form = prepare_sides(self.view, points, normals, name, up)
        return self.upright(sides, samples), form

    def _over_cycles(
        self, sets: list[Prepared], form: Form, samples: int, ask: Callable[..., torch.Tensor]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation over cycles of what `ask` gives for one set, or with a first axis for several."""
        means, spreads = [], []
        for some in self._batches(sets):
            with in_evaluation(self.network):
                passes = ask(self.network, *stack(some, self.device), samples).cpu()
            for number, one in enumerate(some):
                own = passes[:, number]
                _check_finite(bool(own.isfinite().all()), one)
                means.append(own.mean(0).numpy())
                spreads.append(own.std(0, correction=0).numpy())
        if form == "one":
            return means[0], spreads[0]
        return np.stack(means), np.stack(spreads)

    def _pooled(self, sets: list[Prepared], form: Form, layer: str | None, samples: int) -> np.ndarray:
        parts = []
        for some in self._batches(sets):
            found = set_features(self.network, *stack(some, self.device), layer, samples).cpu()
            for one, own in zip(some, found, strict=True):
                _check_finite(bool(own.isfinite().all()), one)
            parts.append(found.numpy())
        features = np.concatenate(parts)
        return features[0] if form == "one" else features

    def _point_features(self, sets: list[Prepared], form: Form, layer: str | None, samples: int) -> Any:
        found: list[PointFeatures] = []
        for some in self._batches(sets):
            found += point_features(self.network, some, layer, samples)
        for one, own in zip(sets, found, strict=True):
            _check_finite(bool(np.isfinite(own.features).all()), one)
        if form == "one":
            return found[0]
        if form == "list":
            return found
        return PointFeatures(*(np.stack(parts) for parts in zip(*found, strict=True)))

    def _batches(self, sets: Sequence[Prepared]) -> Iterator[Sequence[Prepared]]:
        for begin in range(0, len(sets), self.batch):
            yield sets[begin : begin + self.batch]


def _hub() -> Any:
    """The module that needs huggingface_hub, which is an extra and takes a while to load."""
    try:
        from . import hub
    except ModuleNotFoundError as error:
        if error.name != "huggingface_hub":
            raise
        raise ValueError('huggingface_hub is not installed: pip install "sampled-transformer[hub]"') from None
    return hub


def _check_samples(samples: int) -> None:
    if samples < 1:
        raise ValueError(f"samples: expected at least 1, got {samples}")


def _check_finite(finite: bool, one: Prepared) -> None:
    if not finite:
        raise DataError(f"{one.name}: the network's output is not finite")


def load(name: str | Path, device: str | torch.device | None = None, *, batch: int = 1) -> TrainedNetwork:
    """Load a trained network: `load("modelnet40").predict("chair.off")`.

    Args:
        name: One of `list_pretrained()`, a run folder, a weights file, or "owner/name" on the Hugging Face Hub.
        device: Device (default: GPU if available).
        batch: Sets per forward pass, see `TrainedNetwork`.
    """
    place = pick_device(device)
    path = find_weights(name)
    network, description = load_model(path, place)
    return TrainedNetwork(network, description, str(name), batch=batch, beside=load_beside(path))
