"""Versions of inputs that lie elsewhere: a change is seen where the store tells of it; nothing is taken on trust."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import fsspec
import pytest

from data.corpus import CorpusSettings, build_corpus
from data.readers.volume import file_version
from data.shards import read_shards

Serve = Callable[[bytes, dict[str, str]], str]
OLD = "Mon, 02 Mar 2020 10:00:00 GMT"


@pytest.fixture
def serve() -> Iterator[Serve]:
    """A web server of one file: give content and headers, get the URL."""
    file: dict[str, object] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(file["content"])))  # type: ignore[arg-type]
            for name, value in file["headers"].items():  # type: ignore[attr-defined]
                self.send_header(name, value)
            self.end_headers()

        def do_GET(self) -> None:
            self.do_HEAD()
            self.wfile.write(file["content"])  # type: ignore[arg-type]

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def put(content: bytes, headers: dict[str, str]) -> str:
        file.update(content=content, headers=headers)
        return f"http://127.0.0.1:{server.server_port}/a.txt"

    yield put
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("headers", "changed", "settled"),
    [
        ({"ETag": '"1"'}, {"ETag": '"2"'}, True),
        ({"Last-Modified": OLD}, {"Last-Modified": OLD.replace("10:00", "10:01")}, True),
        ({"Last-Modified": OLD, "ETag": '"1"'}, {"Last-Modified": OLD, "ETag": '"2"'}, True),
        ({"Last-Modified": "Fri, 01 Jan 2100 10:00:00 GMT"}, {"Last-Modified": OLD}, False),
    ],
)
def test_what_a_web_server_says(serve: Serve, headers: dict[str, str], changed: dict[str, str], settled: bool) -> None:
    url = serve(b"one", headers)
    first = file_version(url)
    assert first.facts is not None and first.settled is settled
    assert file_version(url) == first
    serve(b"two", changed)
    assert file_version(url).facts != first.facts


def test_a_web_server_that_says_nothing_is_not_believed(serve: Serve) -> None:
    assert file_version(serve(b"one", {})).facts is None


def test_a_file_in_a_store_has_the_version_that_the_store_tells() -> None:
    system = fsspec.filesystem("memory")
    system.pipe("/hunmin-versions/a.txt", b"one")
    first = file_version("memory://hunmin-versions/a.txt")
    assert first.facts is not None and file_version("memory://hunmin-versions/a.txt") == first
    system.pipe("/hunmin-versions/a.txt", b"two")
    assert file_version("memory://hunmin-versions/a.txt").facts != first.facts


def test_a_data_set_of_the_hub_has_the_version_of_its_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    commits = {"someone/text": "c0ffee"}

    def info(self: object, name: str, **_: object) -> SimpleNamespace:
        return SimpleNamespace(sha=commits[name])

    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", info)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    first = file_version("hf:someone/text/default@train")
    commits["someone/text"] = "facade"
    assert first.facts == ["c0ffee"] and file_version("hf:someone/text/default@train").facts == ["facade"]
    assert file_version("hf:nobody/none").facts is None


@pytest.mark.parametrize("headers", [{}, {"ETag": '"1"'}])
def test_the_parts_of_a_changed_page_are_not_taken_up(serve: Serve, headers: dict[str, str], tmp_path: Path) -> None:
    off = {"enabled": False}
    url = serve("먼저 있던 글이다.".encode(), headers)
    tree = {"inputs": [url], "pii": off, "decontaminate": off, "workers": 1}
    settings = CorpusSettings.model_validate(tree)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("data.corpus.assemble", stop)
        build_corpus(settings, tmp_path / "out")
    serve("나중에 온 글이다.".encode(), dict.fromkeys(headers, '"2"'))
    build_corpus(settings, tmp_path / "out")
    rows = [row for batch in read_shards(tmp_path / "out") for row in batch.to_pylist()]
    assert [row["sentences"] for row in rows] == [["나중에 온 글이다."]]
