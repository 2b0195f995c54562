"""The training loop: plain torch, packed batches, one warm-up and one cosine."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from .inputs import PackedSets, cut
from .network import SetEnsemble

WARM_UP = 0.1  # share of the training in which the learning rate rises
ROWS_AT_ONCE = 65_536  # of a batch of predictions, which bounds its memory


@dataclass(frozen=True)
class Examples:
    """Scaled sets, ready for the network."""

    sets: PackedSets  # rows (total, inputs)
    sizes: np.ndarray  # float32 (sets, 1), scaled
    positions: np.ndarray | None  # float32 (total, coordinates)

    def __len__(self) -> int:
        return len(self.sets)

    def tensors(
        self, sets: np.ndarray, device: torch.device, most: int | None = None, draw: np.random.Generator | None = None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """The arguments of the network for some sets; with `most`, at most that many random rows of each."""
        if most is None or draw is None:
            places, sizes = self.sets.places(sets), self.sets.sizes[sets]
        else:
            found = self.sets.places_of_some(sets, most, draw)
            places, sizes = np.concatenate(found), np.array([len(one) for one in found])
        positions = None if self.positions is None else torch.from_numpy(self.positions[places]).to(device)
        rows, ptr = torch.from_numpy(self.sets.rows[places]), torch.from_numpy(cut(sizes))
        return rows.to(device), ptr.to(device), torch.from_numpy(self.sizes[sets]).to(device), positions

    def in_parts(self, most: int | None) -> tuple[Examples, np.ndarray]:
        """Sets of more than `most` rows cut into random parts of about that size; and each part's set, (parts,).

        The parts of a set depend on its size alone, so the same set gets the same parts in any company.
        """
        if most is None or not (self.sets.sizes > most).any():
            return self, np.arange(len(self))
        places, counts, owners = [], [], []
        for number, (begin, size) in enumerate(zip(self.sets.ptr, self.sets.sizes, strict=False)):
            shuffled = np.random.default_rng(int(size)).permutation(size) if size > most else np.arange(size)
            parts = np.array_split(shuffled, max(1, round(size / most)))
            places += [begin + part for part in parts]
            counts += [len(part) for part in parts]
            owners += [number] * len(parts)
        rows, owner = np.concatenate(places), np.array(owners)
        sets = PackedSets(self.sets.rows[rows], cut(np.array(counts)))
        positions = None if self.positions is None else self.positions[rows]
        return Examples(sets, self.sizes[owner], positions), owner

    def batches(self) -> Iterator[np.ndarray]:
        """Numbers of sets in order, as many at once as memory should hold."""
        group: list[int] = []
        rows = 0
        for number, size in enumerate(self.sets.sizes.tolist()):
            if group and rows + size > ROWS_AT_ONCE:
                yield np.array(group)
                group, rows = [], 0
            group.append(number)
            rows += size
        yield np.array(group)


@dataclass(frozen=True)
class Plan:
    """How to train."""

    learning_rate: float
    weight_decay: float
    batch_size: int
    max_points: int | None
    max_epochs: int
    max_seconds: float | None
    n_iter_no_change: int | None  # None: no early stopping
    verbose: bool


def train(
    network: SetEnsemble,
    examples: Examples,
    loss: Callable[[Tensor, Tensor], Tensor],  # outputs of a member, numbers of the sets -> the mean loss
    plan: Plan,
    draw: np.random.Generator,
    validate: Callable[[], float] | None = None,  # the score on the held-out part; larger is better
) -> tuple[list[float], list[float]]:
    """Train in place; return the mean loss and the validation score of every epoch.

    The learning rate follows the share of the training that is done, in epochs or seconds, whichever is further. With
    `validate`, the network ends with the weights of its best epoch.
    """
    device = next(network.parameters()).device
    optimizer = torch.optim.AdamW(parameter_groups(network, plan.weight_decay), betas=(0.9, 0.98))
    steps = math.ceil(len(examples) / plan.batch_size)
    begin = time.monotonic()
    losses: list[float] = []
    scores: list[float] = []
    best = copy.deepcopy(network.state_dict())
    for epoch in range(plan.max_epochs):
        network.train()
        total, seen = 0.0, 0
        for step, sets in enumerate(np.array_split(draw.permutation(len(examples)), steps)):
            done = (epoch + (step + 0.5) / steps) / plan.max_epochs
            if plan.max_seconds is not None:
                done = max(done, (time.monotonic() - begin) / plan.max_seconds)
            if done >= 1:
                break
            for group in optimizer.param_groups:
                group["lr"] = plan.learning_rate * warm_cosine(done)
            outputs = network(*examples.tensors(sets, device, plan.max_points, draw))
            value = torch.stack([loss(each, torch.from_numpy(sets)) for each in outputs]).mean()
            optimizer.zero_grad()
            (value * len(outputs)).backward()  # each member learns as if it were alone
            for member in network.members:
                nn.utils.clip_grad_norm_(member.parameters(), 1.0)
            optimizer.step()
            total, seen = total + value.item() * len(sets), seen + len(sets)
        network.eval()
        if not seen:  # the time was over before the first step of this epoch
            break
        losses.append(total / seen)
        if validate is not None:
            scores.append(validate())
            if len(scores) == 1 or scores[-1] > max(scores[:-1]):
                best = copy.deepcopy(network.state_dict())
        if plan.verbose:
            seconds = time.monotonic() - begin
            score = f", validation score {scores[-1]:.4f}" if scores else ""
            print(f"epoch {epoch + 1} of {plan.max_epochs}: loss {losses[-1]:.4f}{score}, {seconds:.1f} s", flush=True)
        patience = plan.n_iter_no_change
        if scores and patience is not None and len(scores) - 1 - int(np.argmax(scores)) >= patience:
            break
        if plan.max_seconds is not None and time.monotonic() - begin >= plan.max_seconds:
            break
    if scores:
        network.load_state_dict(best)
    return losses, scores


def warm_cosine(done: float) -> float:
    """The factor of the learning rate: from 0 up to 1 in the first tenth, then down to 0 along a cosine."""
    if done < WARM_UP:
        return done / WARM_UP
    return 0.5 * (1 + math.cos(math.pi * (done - WARM_UP) / (1 - WARM_UP)))


def parameter_groups(network: nn.Module, weight_decay: float) -> list[dict[str, object]]:
    """Matrices decay; biases and norms do not."""
    parameters = list(network.parameters())
    return [
        {"params": [one for one in parameters if one.dim() > 1], "weight_decay": weight_decay},
        {"params": [one for one in parameters if one.dim() <= 1], "weight_decay": 0.0},
    ]


@torch.no_grad()
def evaluate(
    network: SetEnsemble,
    examples: Examples,
    most: int | None,
    finish: Callable[[Tensor], Tensor],
    *,
    pooled: bool = False,
) -> np.ndarray:
    """One row per set, in double precision: finish(outputs) or what the heads read, averaged over members and parts."""
    network.eval()
    device = next(network.parameters()).device
    parts, owner = examples.in_parts(most)
    call = network.pool if pooled else network
    rows = [finish(call(*parts.tensors(some, device)).double()).mean(0).cpu().numpy() for some in parts.batches()]
    values = np.concatenate(rows)
    sums = np.zeros((len(examples), values.shape[1]))
    np.add.at(sums, owner, values)
    mean: np.ndarray = sums / np.bincount(owner)[:, None]
    return mean
