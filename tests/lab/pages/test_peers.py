"""The page of the peers: every row and the leader come from the file."""

from __future__ import annotations

from sampled_transformer_lab.pages.peers import peers_section


def row(network: str, minutes: float, accuracy: float) -> dict:
    return {
        "network": network,
        "minutes": minutes,
        "accuracy": accuracy,
        "epochs": 3.25,
        "parameters": 1_480_000,
        "seconds_for_one": 0.0123,
        "peak_memory": 2_500_000_000,
    }


def test_tables_by_wall_time_and_their_leaders() -> None:
    result = {
        "recipe": {"points": 1024, "half": True, "batch": 32, "label_smoothing": 0.2},
        "threads": 1,
        "rows": [row("theirs", 10, 0.80), row("ours", 10, 0.85), row("theirs", 40, 0.91), row("ours", 40, 0.90)],
    }
    lines = peers_section(result)
    assert "on 1 core in bfloat16, mixed" in lines[0]
    assert "ours is 5.00 points ahead of theirs (one seed each)." in lines
    assert "theirs is 1.00 points ahead of ours (one seed each)." in lines
    assert "| ours | 85.00 | 3.2 | 1.48 M | 12.3 | 2.50 |" in lines
    assert lines.index("## After 10 minutes") < lines.index("## After 40 minutes")
    assert "for the same wall time on 1 core" in lines[0]
    assert "python benchmarks/peers.py ROOT --half --minutes 10 40 --json results/peers/contest.json" in lines


def test_minutes_of_the_processor() -> None:
    result = {
        "recipe": {"points": 1024, "half": False, "batch": 32, "label_smoothing": 0.2},
        "threads": 1,
        "clock": "processor",
        "rows": [row("theirs", 10, 0.80), row("ours", 10, 0.85)],
    }
    lines = peers_section(result)
    assert "for the same processor time (" in lines[0]
    assert "Older rows." in peers_section({**result, "note": "Older rows."})
    assert "python benchmarks/peers.py ROOT --clock processor --minutes 10 --json results/peers/contest.json" in lines
