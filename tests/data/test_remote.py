"""Remote files by URL: copied, read and deleted; errors name the URL. The file systems are file:// and a local http."""

from __future__ import annotations

import socket
import tempfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.files import read_shape
from sampled_transformer.data.remote import Url, is_url, local_copy, remote_folder, remote_glob, suffix_of

pytest.importorskip("fsspec")


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    np.savetxt(tmp_path / "in" / "b.xyz", np.eye(3))
    np.savetxt(tmp_path / "in" / "deep" / "a.xyz", np.eye(3))
    (tmp_path / "in" / "bad.xyz").write_text("no numbers")
    return tmp_path / "in"


@pytest.fixture
def server(folder: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_which_names_are_urls() -> None:
    assert is_url("file:///a.off")
    assert not is_url("a/b.off")
    assert not is_url("a:b//c.off")
    assert suffix_of("https://host/a.OFF?version=1.2#top") == ".off"
    with pytest.raises(
        ValueError, match=r"files: expected URLs that fsspec can read, got what:// \(Protocol not known"
    ):
        is_url("what://a/b.off")


def test_a_copy_is_read_and_deleted(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    with local_copy(Url(f"file://{folder}/b.xyz")) as path:
        assert path.suffix == ".xyz"
        assert path.is_relative_to(tmp_path / "temporary")
        assert np.array_equal(read_shape(path).points, read_shape(folder / "b.xyz").points)
    assert list((tmp_path / "temporary").iterdir()) == []
    with local_copy(folder / "b.xyz") as path:
        assert path == folder / "b.xyz"  # a local file is not copied


def test_errors_name_the_url(folder: Path) -> None:
    bad, none = Url(f"file://{folder}/bad.xyz"), Url(f"file://{folder}/none.xyz")
    with pytest.raises(DataError) as error, local_copy(bad) as path:
        read_shape(path)
    assert str(error.value) == f"{bad}: expected at least one line of numbers, got none"
    with pytest.raises(DataError) as error, local_copy(none):
        pass
    assert str(error.value) == f"{none}: No such file or directory"


def test_folders_and_patterns(folder: Path) -> None:
    root = f"file://{folder}"
    assert remote_folder(root) == [f"{root}/b.xyz", f"{root}/bad.xyz", f"{root}/deep/a.xyz"]
    assert remote_folder(f"{root}/b.xyz") is None
    assert remote_glob(f"{root}/*.xyz") == [f"{root}/b.xyz", f"{root}/bad.xyz"]
    assert remote_glob(f"{root}/**/a*") == [f"{root}/deep/a.xyz"]


def test_a_server_that_does_not_answer_is_no_missing_file() -> None:
    pytest.importorskip("aiohttp")
    with socket.socket() as unused:  # bound, but nobody listens
        unused.bind(("127.0.0.1", 0))
        url = Url(f"http://127.0.0.1:{unused.getsockname()[1]}/a.xyz")
        with pytest.raises(DataError, match=rf"^{url}: Connection refused$"), local_copy(url):
            pass


def test_files_of_a_web_server(server: str, folder: Path) -> None:
    pytest.importorskip("aiohttp")
    with local_copy(Url(f"{server}/b.xyz?x=1")) as path:
        assert path.read_bytes() == (folder / "b.xyz").read_bytes()
    with pytest.raises(DataError, match=rf"{server}/none.xyz: No such file"), local_copy(Url(f"{server}/none.xyz")):
        pass
