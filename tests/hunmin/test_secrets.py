"""A run over an input whose URL logs in: it reads it, and writes, prints and sends nothing of what logs in."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from hunmin.main import _show_fault, run_command

KEY, PASSWORD, SIGNATURES = "invented-sample-key-1", "PwInvented77", ["SigInvented88", "SigInvented99"]
TEXT = "".join(
    json.dumps({"id": str(n), "text": f"{n}번째 글입니다. 오늘은 날씨가 맑고 바람이 {n}번 불었습니다."}) + "\n"
    for n in range(40)
).encode()


class Guarded(BaseHTTPRequestHandler):
    """Gives the file to who logs in and signs, else 403."""

    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer(False)

    def do_GET(self) -> None:
        self._answer(True)

    def _answer(self, whole: bool) -> None:
        login = "Basic " + base64.b64encode(f"lee:{PASSWORD}".encode()).decode()
        signature = parse_qs(urlsplit(self.path).query).get("X-Amz-Signature", [""])[0]
        allowed = self.headers["Authorization"] == login and signature in SIGNATURES
        body = TEXT if allowed else b""
        self.send_response(200 if allowed else 403)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"one"')
        self.end_headers()
        if whole:
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Guarded)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_nothing_of_what_logs_in_leaves_the_process(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    tree = {
        "name": "tiny", "out": "run", "klue": {"data": "klue"},
        "corpus": {"inputs": ["a"], "decontaminate": {"enabled": False}, "workers": 1},
    }  # fmt: skip
    Path("r.yaml").write_text(yaml.safe_dump(tree))

    def run(recipe: str, *words: str) -> tuple[int, str]:
        code = run_command(["run", recipe, "--until", "corpus", *words])
        out, err = capfd.readouterr()
        return code, out + err

    def inputs(signature: str) -> str:
        return f'corpus.inputs=["http://lee:{PASSWORD}@{address}/a.jsonl?X-Amz-Signature={signature}"]'

    said = [run("r.yaml", f"corpus.pii.key={KEY}", inputs(SIGNATURES[0]))]
    counts = json.loads(Path("run/corpus/manifest.json").read_text())["counts"]
    assert said[0][0] == 0 and counts["documents"] > 0  # it was read
    monkeypatch.setenv("HUNMIN_PII_KEY", KEY)
    # signed anew, and by the run's own recipe: done already
    said += [run("r.yaml", f"corpus.pii.key={KEY}", inputs(SIGNATURES[1])), run("run/recipe.yaml")]
    assert [code for code, _ in said] == [0, 0, 0] and all("corpus     done\n" in text for _, text in said[1:])
    # the run's own recipe cannot read it again, and says why; nor can who has no signature
    said += [run("run/recipe.yaml", "--from", "corpus"), run("r.yaml", "out=other", inputs("SigInventedBad"))]
    assert said[3][0] == 2 and "masked" in said[3][1] and said[4][0] == 2
    written = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    written |= {Path(f"said-{n}"): text.encode() for n, (_, text) in enumerate(said)}
    assert len(written) > 8
    for secret in (KEY, PASSWORD, "lee:", "SigInvented"):
        assert not [path for path, data in written.items() if secret.encode() in data]


@pytest.mark.parametrize("launcher", ["slurm", "kubernetes", "kubeflow", "xla", "torchrun", "deepspeed", "local"])
def test_a_secret_of_the_command_line_is_not_written_into_what_is_submitted(
    launcher: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    tree = {"name": "tiny", "out": "run", "klue": {"data": "klue"}, "corpus": {"inputs": ["a"]}}
    Path("r.yaml").write_text(yaml.safe_dump(tree))
    pods = ["--image", "a", "--volume-claim", "x:/y"] if launcher.startswith("kube") else []
    for word in (f"corpus.pii.key={KEY} 2", f"corpus.inputs=[http://lee:{PASSWORD}@h/a]"):
        command = ["launch", "r.yaml", word, "--launcher", launcher, *pods]
        assert run_command([*command, "--dry-run"]) == run_command(command) == 2
    out, err = capfd.readouterr()
    assert KEY not in out + err and PASSWORD not in out + err
    assert "corpus.pii.key=***" in err and "in the list of processes" in err


def test_a_fault_of_the_program_shows_no_secret(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise RuntimeError(f"no http://lee:{PASSWORD}@h/x \x1b[2J")
    except RuntimeError as error:
        _show_fault(type(error), error, error.__traceback__)
    err = capsys.readouterr().err
    assert "Traceback" in err and "http://***@h/x" in err and PASSWORD not in err and "\x1b" not in err
