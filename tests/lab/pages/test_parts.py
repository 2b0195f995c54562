"""The page of the contest on parts: rows, classes and the leader come from the file."""

from __future__ import annotations

from sampled_transformer_lab.pages.parts import parts_section


def row(network: str, minutes: float, share: float) -> dict:
    return {
        "network": network,
        "minutes": minutes,
        "mean_iou": share,
        "accuracy": 0.9,
        "classes": {"body": 0.75, "stud": share},
        "epochs": 3.25,
        "parameters": 1_480_000,
        "processor_seconds": 594.0,
        "peak_memory": 2_500_000_000,
        "training_parts": 2556,
        "test_parts": 646,
    }


def test_tables_by_wall_time_and_their_leaders() -> None:
    result = {
        "recipe": {"points": 1024, "half": True, "batch": 16},
        "threads": 1,
        "together": True,
        "rows": [row("theirs", 10, 0.30), row("ours", 10, 0.35), row("theirs", 40, 0.51), row("ours", 40, 0.50)],
    }
    lines = parts_section(result)
    assert "2,556 parts) for the same wall time, each on 1 core in bfloat16, mixed" in lines[0]
    assert "on the 646 test parts. All of a table train at the same time." in lines[0]
    assert "ours is 5.00 points ahead of theirs (one seed each)." in lines
    assert "theirs is 1.00 points ahead of ours (one seed each)." in lines
    assert "| ours | 35.00 | 90.00 | 3.2 | 1.48 M | 9.9 | 2.50 |" in lines
    assert "| ours | 75.0 | 35.0 |" in lines
    assert lines.index("## After 10 minutes") < lines.index("## After 40 minutes")
    assert "python benchmarks/parts.py ROOT --half --together --minutes 10 40 --json results/peers/parts.json" in lines


def test_one_row_has_no_leader() -> None:
    result = {
        "recipe": {"points": 8, "half": False, "batch": 16},
        "threads": 2,
        "together": False,
        "rows": [row("ours", 1, 0.3)],
    }
    text = "\n".join(parts_section(result))
    assert "ahead of" not in text
    assert "at the same time" not in text
    assert "each on 2 cores in float32" in text


def test_minutes_of_the_processor() -> None:
    result = {
        "recipe": {"points": 8, "half": False, "batch": 16},
        "threads": 1,
        "together": False,
        "clock": "processor",
        "rows": [row("ours", 1, 0.3)],
    }
    lines = parts_section(result)
    assert "for the same processor time (" in lines[0]
    assert "python benchmarks/parts.py ROOT --clock processor --minutes 1 --json results/peers/parts.json" in lines
