from __future__ import annotations

import logging

import pytest

from sampled_transformer.commands.messages import (
    COMPILER,
    LONGEST,
    announced_compilation,
    fail,
    left_out,
    remark,
    warn,
)


def test_messages_are_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert fail("two\n  lines", 3) == 3
    warn("a\nwarning")
    remark("left out", ["a.off: empty", "b.off: empty"])
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "sampled-transformer: error: two lines",
        "sampled-transformer: warning: a warning",
        "left out: a.off: empty",
        "left out: b.off: empty",
    ]


def test_the_total_is_told_of_several_files_only(capsys: pytest.CaptureFixture[str]) -> None:
    left_out(["a.off: empty file"], 0)
    left_out([], 5)
    assert capsys.readouterr().err == ""
    left_out(["a.off: empty file"], 1)
    assert capsys.readouterr().err == "1 of 2 files left out: 1 empty\n"


def test_compilation_is_announced_once_and_only_within_the_block(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    logger = logging.getLogger(COMPILER)
    level = logger.level
    with announced_compilation():
        logger.info("kernel runs uncompiled: no compiler")
        assert capsys.readouterr().err == ""
        logger.info("compiling %s", "forward")
        logger.info("compiling %s", "backward")
    assert capsys.readouterr().err.count("note: compiling a kernel") == 1
    logger.info("compiling %s", "forward")
    assert capsys.readouterr().err == ""
    assert logger.level == level
    with announced_compilation():
        monkeypatch.setenv("LOCAL_RANK", "1")  # another process says it already
        logger.info("compiling %s", "forward")
    assert capsys.readouterr().err == ""


def test_a_message_ends(capsys: pytest.CaptureFixture[str]) -> None:
    fail("a" * 1_000_000, 2)
    assert len(capsys.readouterr().err) < LONGEST + 100
