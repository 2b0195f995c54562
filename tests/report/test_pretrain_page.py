from __future__ import annotations

from pathlib import Path

from sampled_transformer.cli import main

SMALL = {"dim": 16, "heads": 2, "hidden": 16, "depth": 1, "embedding": 8, "groups": 8, "group_size": 8}


def test_pretrain_ends_with_a_page(pack_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "pre"
    options = [word for name, value in SMALL.items() for word in (f"--options.{name}", str(value))]
    words = ["pretrain", "--data", str(pack_folder), "--recipe", "pretrain-dense", "--out", str(out), "--epochs", "2"]
    words += ["--data.points", "32", "--data.batch", "8", "--optimiser.warmup", "0", "--trainer.accelerator", "cpu"]
    assert main([*words, *options, "--probe_every", "1"]) == 0
    text = (out / "report.html").read_text("utf-8")
    for said in ("linear probe on training shapes", "Reconstructions", "visible", "rebuilt", "Configuration"):
        assert said in text
    assert text.count("plotly.js v") == 1
    for part in pack_folder.iterdir():
        part.unlink()  # without its data, the page has no reconstructions
    assert main(["report", str(out)]) == 0
    assert "Reconstructions" not in (out / "report.html").read_text("utf-8")
