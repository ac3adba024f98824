"""Versions of inputs that lie elsewhere: a change is seen where the store tells of it; nothing is taken on trust."""

import gzip
import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import data.readers.formats
from common.errors import HunminError
from data.readers.volume import file_version

from ..building import OFF, build, rows, settings, stop_before_the_shards
from .reading import read

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
def test_the_parts_of_a_changed_page_are_not_taken_up(
    serve: Serve, headers: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = settings(serve("먼저 있던 글이다.".encode(), headers), pii=OFF)
    stop_before_the_shards(chosen, tmp_path / "out", monkeypatch)
    serve("나중에 온 글이다.".encode(), dict.fromkeys(headers, '"2"'))
    build(chosen, tmp_path / "out")
    assert [row["sentences"] for row in rows(tmp_path / "out")] == [["나중에 온 글이다."]]


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".parquet"])
def test_a_file_that_changes_while_it_is_read_is_an_error(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    records = [{"id": f"{n}", "text": f"{n}번 글이 여기에 있다."} for n in range(100)]
    content = b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in records)
    if suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(records), tmp_path / "a.parquet")
        content = (tmp_path / "a.parquet").read_bytes()
    content = gzip.compress(content) if suffix.endswith(".gz") else content
    url = serve(content, {"ETag": '"1"'}).replace("a.txt", f"a{suffix}")
    parse = data.readers.formats.parse_block

    def change(*arguments: object) -> object:
        serve(content, {"ETag": '"2"'})
        return parse(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("data.units.work.parse_block", change)
    with pytest.raises(HunminError, match="has changed while it was read"):
        build(settings(url, pii=OFF), tmp_path / "out")


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nsome\n\n\r\n20\r\nmore"


@pytest.mark.parametrize(
    ("sends", "closes", "said"),
    [
        (b"", False, "cannot (open|read)"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nsome", False, "cannot (open|read)"),
        (CHUNKED, True, "cannot read"),
    ],
    ids=["silent", "silent after some bytes", "cut amid a chunk"],
)
def test_a_web_server_that_stops_answering_is_given_up(
    sends: bytes, closes: bool, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("common.files.ANSWER_SECONDS", 60.0 if closes else 0.2)
    monkeypatch.setattr("data.readers.transport.WAITS", (0.0,))
    connections = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    connections.append(server.accept()[0])
                    if closes:
                        connections[-1].recv(1 << 16)
                    connections[-1].sendall(sends)
                    if closes:
                        connections[-1].close()
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/a.txt"
        with pytest.raises(HunminError, match=f"{said} {url}") as caught:
            read(url)
    assert "int()" not in str(caught.value)
    for connection in connections:
        connection.close()
