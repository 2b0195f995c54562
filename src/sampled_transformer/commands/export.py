"""The command `export`."""

from __future__ import annotations


def export(weights: str, out: str, tolerance: float = 1e-4) -> None:
    """Export a trained network to ONNX (out.onnx) or torch.export (out.pt2), and compare its answers.

    Args:
        weights: The folder of a run, a weights file, or the name of shipped weights.
        out: File to write; its ending chooses the format.
        tolerance: Largest difference allowed between the exported file and the network.
    """
    from pathlib import Path

    from ..inference.export import export_network
    from ..support.printable import printable

    done = export_network(weights, out, tolerance)
    size = Path(out).stat().st_size / 1e6
    print(f"{printable(out)}: {size:.1f} MB, {', '.join(done.inputs)} -> {', '.join(done.outputs)}")
    print(f"  any number of sets, {done.fewest} points per set or more")
    sizes = ", ".join(f"{sets} x {n}" for sets, n in done.tried)
    print(f"  largest difference to the network: {done.difference:.1e} (sets x points: {sizes})")
