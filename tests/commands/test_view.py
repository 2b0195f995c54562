from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.request

import pytest
from helpers.interrupts import restore_interrupts

from sampled_transformer.cli import main


def test_the_page_is_served_until_it_is_stopped() -> None:
    words = [sys.executable, "-m", "sampled_transformer", "view", "bricks", "--no-open", "--port", "0"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=restore_interrupts
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.fullmatch(r"bricks: open (http://127\.0\.0\.1:\d+/) \(Ctrl-C ends it\)\n", line)
        assert found is not None, line
        with urllib.request.urlopen(found[1], timeout=30) as answer:
            assert b"<html" in answer.read()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (out, err) == ("\n", "")  # the line said how it ends, so this is no error
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere"], "nowhere: no such file, folder or data set"),
        (["bricks", "--host", "203.0.113.1"], "host: expected an address of this machine, got '203.0.113.1'"),
        (["bricks", "--port", "99999"], "port: expected 0 to 65535, got 99999"),
        (["bricks", "more"], "view: expected no further argument, got 'more'"),
        (["bricks", "--weights", "nowhere"], "nowhere: no such file, run folder or shipped weights"),
    ],
)
def test_mistakes_are_one_line(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", "--no-open", *words]) == 2
    assert message in capsys.readouterr().err


def test_without_viser_one_line_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("sampled_transformer.view")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "viser", None)
    assert main(["view", "--no-open"]) == 2
    assert 'viser is not installed: pip install "sampled-transformer[view]"' in capsys.readouterr().err
