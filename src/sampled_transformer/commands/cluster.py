"""The commands `cluster train | evaluate | fit`: amortised clustering (section 6)."""

from __future__ import annotations

from typing import Any, Literal

from ..clustering.settings import ClusterSettings, MixtureChanges, MixtureOptions


def cluster_train(
    out: str = "",
    model: str = "set-transformer-mixture",
    options: dict[str, Any] | None = None,
    data: MixtureOptions = MixtureOptions(),  # noqa: B008
    steps: int = 50_000,
    batch: int = 10,
    rate: float = 1e-3,
    clip: float = 1.0,
    schedule: Literal["step", "cosine"] = "step",
    decay_at: float = 0.7,
    seed: int = 0,
    every: int = 1000,
    sets: int = 1000,
    recipe: str | None = None,
    device: str | None = None,
    resume: bool = False,
) -> None:
    """Train a network to read a set of points and give the mixture of Gaussians it came from.

    Args:
        out: the folder of the run, required; it must not exist.
        model: name of the network, set-transformer-mixture or pooling-mixture.
        options: further options of the network, such as --options.attention sampled.
        data: the sets that are drawn.
        steps: steps of training.
        batch: sets of a step.
        rate: the highest learning rate of Adam.
        clip: largest norm of the gradient; 0 for any, as Lee et al. have it.
        schedule: of the learning rate; "step" takes a tenth of it from decay_at on, "cosine" lets it fall to zero.
        decay_at: share of the run; 0.7 is Lee et al.'s paper, 0.5 their code.
        seed: decides everything that is random.
        every: steps between two checkpoints, each with a line of figures.
        sets: fixed sets that the result is measured on.
        recipe: name of a recipe, whose options the line overrides, such as cluster-columns.
        device: where it runs; a GPU if there is one, if not given.
        resume: go on with the run in --out, whose options then need not be given again.
    """
    from ..clustering.training import train

    settings = ClusterSettings(
        out, model, options or {}, data, steps, batch, rate, clip, schedule, decay_at, seed, every, sets, recipe, device
    )
    result = train(settings, resume)
    print(_figures(result["figures"]))
    print(f"{out}: {result['seconds']:.0f} s; model.safetensors, metrics.csv, result.json")


def cluster_evaluate(
    weights: str,
    data: MixtureChanges = MixtureChanges(),  # noqa: B008
    sets: int = 1000,
    samples: int = 1,
    covariance: Literal["diagonal", "spherical", "full"] = "diagonal",
    device: str | None = None,
    json: bool = False,
) -> None:
    """Measure a trained network: log-likelihood per point before (LL0) and after one EM step (LL1), and the oracle's.

    Args:
        weights: the folder of a run of `cluster train`, its file of weights, or the name of weights that come with the
            package.
        data: what is different in the sets that are drawn; the rest is as in training.
        sets: how many; the first of them are the same in every process.
        samples: passes of a sampled network, of which the one its own set likes best is taken.
        covariance: form of the covariances in the EM step.
        device: where it runs; a GPU if there is one, if not given.
        json: print everything as JSON.
    """
    from json import dumps

    from ..clustering.evaluation import evaluate
    from ..weights import find_weights

    result = evaluate(find_weights(weights), data, sets=sets, samples=samples, covariance=covariance, device=device)
    print(dumps(result, indent=2) if json else _figures(result["figures"]))


def cluster_fit(
    file: str,
    weights: str = "mixtures",
    out: str | None = None,
    picture: str | None = None,
    refine: int = 0,
    samples: int = 8,
    device: str | None = None,
    json: bool = False,
) -> None:
    """Find the clusters of your own points.

    The network looks at them at several scales, and the likeliest answer is taken. A few points that lie far outside
    the others get a cluster, but have no say in the choice.

    Args:
        file: a table of points (.csv, .txt, .npy), or any file of points that `data pack` reads for a 3-D network.
        weights: the folder of a run of `cluster train`, its file of weights, or the name of weights that come with the
            package: "mixtures" finds four clusters in the plane.
        out: a file to write, .json for all that was found, .csv for the points with their clusters, where a cluster
            without points has no line; the screen shows it.
        picture: a file to draw the first two coordinates and the clusters to, .svg.
        refine: EM steps after the network's answer.
        samples: passes of a sampled network, of which the likeliest is taken; 1 is fastest.
        device: where it runs; a GPU if there is one, if not given.
        json: print everything as JSON.
    """
    from json import dumps

    from ..clustering.fit import check_target, fit, write_clusters
    from ..support.printable import printable
    from ..weights import find_weights

    check_target("out", out, ".json", ".csv")
    check_target("picture", picture, ".svg")
    clusters = fit(file, find_weights(weights), refine=refine, samples=samples, device=device)
    for path in (out, picture):
        if path is not None:
            write_clusters(clusters, path)
    if json:
        print(dumps(clusters.summary(), indent=2))
        return
    summary = clusters.summary()
    print(f"{printable(file)}: {summary['points']} points, log-likelihood {clusters.log_likelihood:.4f} a point")
    for number, cluster in enumerate(summary["clusters"]):
        mean, deviation = (" ".join(f"{value:.4g}" for value in cluster[key]) for key in ("mean", "deviation"))
        count = cluster["points"]
        print(f"  {number}: weight {cluster['weight']:.3f}, mean {mean}, deviation {deviation}, {count} points")


def _figures(figures: dict[str, float]) -> str:
    return (
        f"LL0 {figures['LL0']:.4f}, LL1 {figures['LL1']:.4f} "
        f"(true mixtures: {figures['oracle_LL0']:.4f}, {figures['oracle_LL1']:.4f})"
    )
