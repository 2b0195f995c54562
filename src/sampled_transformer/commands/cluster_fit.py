"""The command `cluster fit`."""

from __future__ import annotations

from time import perf_counter

from .pages import command_line, target


def cluster_fit(
    file: str,
    weights: str = "mixtures",
    clusters: int | str = "auto",
    out: str | None = None,
    picture: str | None = None,
    refine: int = 0,
    samples: int = 8,
    device: str | None = None,
    page: str | None = None,
    report: bool = True,
    json: bool = False,
) -> None:
    """Find the clusters of your own points.

    The network looks at the points at several scales, and the answer with the highest likelihood wins. Outliers get a
    cluster, but do not influence this choice, nor the number of clusters.

    Args:
        file: A table of points (.csv, .txt, .npy); for a 3-D network any point file that `data pack` reads.
        weights: The folder of a run of `cluster train`, its weights file, or the name of shipped weights; "mixtures"
            finds up to four clusters in the plane.
        clusters: Number of clusters, up to what the weights know; "auto" counts the heaps, where clusters that overlap
            are one heap.
        out: File to write: .json for the whole answer, .csv for the points with their clusters, under the names of the
            columns in the file. A cluster without points has no line in the .csv.
        picture: SVG file for a drawing of the first two coordinates and the clusters.
        refine: EM steps after the answer of the network.
        samples: Passes of a sampled network, of which the one with the highest likelihood wins; 1 is fastest.
        device: Device (default: GPU if available).
        page: HTML file with the points in the colours of their clusters, to zoom or turn, and a table of the clusters
            (default: report.html in runs/fit-NAME, if plotly is installed).
        report: Write it.
        json: Print everything as JSON.
    """
    from json import dumps

    from ..clustering.fit import fit, write_clusters
    from ..support.atomic import check_target
    from ..support.printable import printable
    from ..weights import find_weights

    check_target("out", out, ".json", ".csv")
    check_target("picture", picture, ".svg")
    to_write, begin = target("fit", file, page, report=report), perf_counter()
    path = find_weights(weights)
    found = fit(file, path, clusters=clusters, refine=refine, samples=samples, device=device)
    for place in (out, picture):
        if place is not None:
            write_clusters(found, place)
    summary = found.summary()
    if to_write:
        from ..report.cluster_fit_page import write_page
        from ..report.facts import made_now

        asked = {"weights": weights, "clusters": clusters, "refine": refine or None, "samples": samples}
        made = made_now(command_line("cluster fit", file, **asked), perf_counter() - begin, path)
        to_write.write({**summary, **made}, lambda file: write_page(file, found, made))
    if json:
        print(dumps(summary, indent=2))
        return
    number = len(summary["clusters"])
    counted = f"{summary['points']} points, {number} cluster{'s' * (number != 1)}"
    print(f"{printable(file)}: {counted}, log-likelihood {found.log_likelihood:.4f} per point")
    if found.columns:
        print(f"  columns: {' '.join(found.columns)}")
    for number, cluster in enumerate(summary["clusters"]):
        mean, deviation = (" ".join(f"{value:.4g}" for value in cluster[key]) for key in ("mean", "deviation"))
        count = cluster["points"]
        print(f"  {number}: weight {cluster['weight']:.3f}, mean {mean}, deviation {deviation}, {count} points")


cluster_fit.reads_files = True  # type: ignore[attr-defined]
