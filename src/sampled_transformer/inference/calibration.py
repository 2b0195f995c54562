"""Calibration: is a network right as often as it claims, and does its spread over cycles reveal its mistakes?"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

BINS = 10
FIFTHS = 5


def calibration(passes: Tensor, labels: Tensor, temperature: float = 1.0) -> dict[str, Any]:
    """Reliability of one pass and of the mean over cycles; with several cycles, also the analysis of their spread.

    Args:
        passes: Probabilities (samples, shapes, classes), one sample per cycle.
        labels: (shapes,).
        temperature: What the logits were divided by; unless it is 1, the result also says how it was `before`.
    """
    result: dict[str, Any] = {"temperature": temperature, "ways": _ways(passes, labels)}
    if temperature != 1:
        # log p = logits / T + a constant, and a constant changes nothing.
        logits = passes.clamp(min=torch.finfo(passes.dtype).tiny).log() * temperature
        result["before"] = _ways(logits.softmax(2), labels)
    if len(passes) > 1:
        result["spread"] = spread(passes, labels)
    return result


def _ways(passes: Tensor, labels: Tensor) -> dict[str, Any]:
    ways = {"one pass": passes[0]}
    if len(passes) > 1:
        ways[f"averaged over {len(passes)} cycles"] = passes.mean(0)
    return {name: reliability(one, labels) for name, one in ways.items()}


def reliability(probabilities: Tensor, labels: Tensor, bins: int = BINS) -> dict[str, Any]:
    """Group the shapes by the probability of their answer, in bins of equal width, and count correct answers per bin.

    `error` is the expected calibration error, sum_bins (shapes in bin / shapes) |accuracy - probability|. On few shapes
    it is not 0 even if every probability p is true: then the correct answers of a bin have the variance
    sum p (1 - p), and the error is `chance` = sum_bins sqrt(2 / pi sum p (1 - p)) / shapes on average.
    `log_loss` is the mean of -log(probability of the true class).
    """
    confidence, answer = probabilities.max(1)
    truth = probabilities.double().gather(1, labels[:, None])[:, 0]
    return binned(confidence, answer == labels, truth, bins)


def binned(
    confidence: Tensor, hits: Tensor, truth: Tensor, bins: int = BINS, counted: str = "shapes"
) -> dict[str, Any]:
    """`reliability` from the probabilities of the answers, whether they are correct, and those of the true classes.

    `counted` says what there are (n,) of.
    """
    right = hits.double()
    place = (confidence.double() * bins).long().clamp(0, bins - 1)
    counts = place.bincount(minlength=bins)
    terms = (confidence, right, confidence * (1 - confidence))
    sure, hit, variance = (torch.zeros(bins, dtype=torch.float64).index_add_(0, place, x.double()) for x in terms)
    rows = [
        {
            "from": number / bins,
            "to": (number + 1) / bins,
            counted: int(counts[number]),
            "probability": float(sure[number] / counts[number]),
            "accuracy": float(hit[number] / counts[number]),
        }
        for number in range(bins)
        if counts[number] > 0
    ]
    return {
        "accuracy": float(right.mean()),
        "probability": float(confidence.double().mean()),
        "error": float((hit - sure).abs().sum() / len(right)),
        "chance": float((2 / torch.pi * variance).sqrt().sum() / len(right)),
        "log_loss": float(-truth.double().clamp(min=1e-12).log().mean()),
        "bins": rows,
    }


def spread(passes: Tensor, labels: Tensor, parts: int = FIFTHS) -> dict[str, Any]:
    """Does a large standard deviation over cycles indicate a wrong answer? `fifths` sorts the shapes by deviation.

    `finds_mistakes` is the probability that a wrong answer has a larger spread than a correct one, and the same for a
    lower probability: 0.5 is chance, 1 is perfect.
    """
    mean = passes.mean(0)
    confidence, answer = mean.max(1)
    deviation = passes.std(0, correction=0).gather(1, answer[:, None]).squeeze(1)
    wrong = answer != labels
    order = deviation.argsort(stable=True)
    rows = [
        {
            "shapes": len(part),
            "spread": float(deviation[part].mean()),
            "probability": float(confidence[part].mean()),
            "accuracy": float((~wrong[part]).double().mean()),
        }
        for part in order.tensor_split(min(parts, len(order)))
    ]
    return {
        "fifths": rows,
        "finds_mistakes": {"spread": ranking(deviation, wrong), "probability": ranking(-confidence, wrong)},
    }


def ranking(score: Tensor, positive: Tensor) -> float | None:
    """Area under the ROC curve: the probability that a positive scores higher than a negative; ties count half.

    None if there are no positives or no negatives.
    """
    count = int(positive.sum())
    if count in (0, len(positive)):
        return None
    values, place = torch.unique(score.double(), return_inverse=True)
    total = place.bincount(minlength=len(values)).double()
    rank = total.cumsum(0) - (total - 1) / 2  # the mean rank of equal scores
    above = rank[place][positive].sum() - count * (count + 1) / 2
    return float(above / (count * (len(positive) - count)))


def table(result: dict[str, Any]) -> str:
    """The result of `calibration` as text."""
    lines = []
    for name, way in result["ways"].items():
        probability, accuracy = 100 * way["probability"], 100 * way["accuracy"]
        lines.append(f"{name}: mean probability {probability:.1f} %, accuracy {accuracy:.1f} %, ")
        lines[-1] += f"calibration error {100 * way['error']:.1f} points ({100 * way['chance']:.1f} by chance), "
        lines[-1] += f"log loss {way['log_loss']:.3f}"
    for name, way in result.get("before", {}).items():
        lines.append(f"{name}, before the temperature {result['temperature']:.3f}: ")
        lines[-1] += f"mean probability {100 * way['probability']:.1f} %, "
        lines[-1] += f"calibration error {100 * way['error']:.1f} points, log loss {way['log_loss']:.3f}"
    if "spread" in result:
        lines.append("shapes by spread over cycles, smallest spread first:")
        for row in result["spread"]["fifths"]:
            lines.append(
                f"  spread {100 * row['spread']:5.2f}  probability {100 * row['probability']:5.1f} %  "
                f"accuracy {100 * row['accuracy']:5.1f} %  ({row['shapes']} shapes)"
            )
        found = result["spread"]["finds_mistakes"]
        if found["spread"] is not None:
            lines.append(
                f"probability of ranking a mistake above a correct answer: {found['spread']:.3f} by spread, "
                f"{found['probability']:.3f} by low probability"
            )
    return "\n".join(lines)
