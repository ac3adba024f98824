"""The pipe commands: their JSON Lines contracts, from files and from standard streams."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from common.process import own_package
from hunmin.main import run_command

KEY = "0123456789abcdef-test"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write(path: Path, *records: Any) -> str:
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r, ensure_ascii=False)) + "\n" for r in records))
    return str(path)


def test_pseudonymize(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("HUNMIN_PII_KEY", KEY)
    text = "연락처는 010-1234-5678이고 메일은 hong@example.co.kr 입니다."
    source = write(tmp_path / "in.jsonl", {"id": 7, "text": text}, "not json", {"text": "없음"})
    assert run_command(["corpus", "pseudonymize", "--in", source, "--out", str(tmp_path / "out.jsonl")]) == 0
    first, second = lines(tmp_path / "out.jsonl")
    assert first["id"] == 7 and [s["type"] for s in first["spans"]] == ["TEL", "EMAIL"] and second["spans"] == []
    rebuilt, end = "", 0
    for span in first["spans"]:
        rebuilt += text[end : span["start"]] + span["surrogate"]
        end = span["end"]
    assert first["text"] == rebuilt + text[end:]
    assert "1234-5678" not in first["text"] and "hong" not in first["text"]
    err = capfd.readouterr().err
    assert "1234" not in err and "not JSON" in err


def test_decontaminate_keeps_lines_unchanged_and_in_order(tmp_path: Path) -> None:
    sentence = "세종대왕이 훈민정음을 만든 까닭을 묻는 시험 문제의 문장이다."
    benchmark = write(tmp_path / "bench.jsonl", {"guid": "q-1", "task": "mine", "text": sentence})
    keep = ['{"id": 1,  "text": "이 줄은 그대로 남아야 하는 줄이다."}', '{"text": "마지막 줄도 남는다.", "id": "z"}']
    source = write(tmp_path / "in.jsonl", keep[0], {"id": 2, "text": sentence}, keep[1])
    out, hits = tmp_path / "out.jsonl", tmp_path / "hits.jsonl"
    command = ["corpus", "decontaminate", "--benchmark", benchmark, "--in", source]
    assert run_command([*command, "--out", str(out), "--hits", str(hits)]) == 0
    assert out.read_text("utf-8").splitlines() == keep
    (hit,) = lines(hits)
    assert (hit["id"], hit["task"], hit["benchmark_guid"], hit["rule"]) == (2, "mine", "q-1", "exact")


def test_standard_streams(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    class Streams:
        buffer = io.BytesIO(json.dumps({"text": "갔다. 왔다."}).encode() + b"\n")

    monkeypatch.setattr(sys, "stdin", Streams())
    assert run_command(["corpus", "split"]) == 0
    out, err = capfdbinary.readouterr()
    assert json.loads(out)["sentences"] == ["갔다.", "왔다."] and not err


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_outputs_are_compressed_as_their_name_says(tmp_path: Path, suffix: str) -> None:
    source = write(tmp_path / "in.jsonl", {"text": "갔다. 왔다."})
    out = str(tmp_path / f"out.jsonl{suffix}")
    assert run_command(["corpus", "split", "--in", source, "--out", out]) == 0
    assert run_command(["corpus", "split", "--in", out, "--out", str(tmp_path / "again.jsonl")]) == 0
    assert lines(tmp_path / "again.jsonl")[0]["sentences"] == ["갔다.", "왔다."]
    if suffix == ".gz":
        assert gzip.open(out).read().count(b"\n") == 1


def test_what_is_not_a_file_of_its_own_is_written_in_place(tmp_path: Path) -> None:
    """A pipe, and a file that is open."""
    split = ["corpus", "split", "--in", write(tmp_path / "in.jsonl", {"text": "갔다. 왔다."}), "--out"]
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", str(tmp_path / "pipe")], stdout=subprocess.PIPE)
    assert run_command([*split, str(tmp_path / "pipe")]) == 0
    assert (tmp_path / "pipe").is_fifo() and b"sentences" in reader.communicate(timeout=20)[0]
    for name in ("/dev/fd/{}", "/proc/self/fd/{}"):
        with (tmp_path / "kept").open("wb") as stream:
            assert run_command([*split, name.format(stream.fileno())]) == 0
            assert os.fstat(stream.fileno()).st_ino == (tmp_path / "kept").stat().st_ino
        assert lines(tmp_path / "kept")


@pytest.mark.parametrize(("redirection", "name"), [(">>", "/dev/stdout"), ("3>>", "/dev/fd/3"), ("2>>", "/dev/stderr")])
def test_an_open_file_keeps_what_it_held(redirection: str, name: str, tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", {"text": "갔다. 왔다."})
    (tmp_path / "log").write_text("the user's\n")
    hunmin = f"{sys.executable} -c 'from hunmin.main import main; main()' corpus split"
    command = f"{hunmin} --in in.jsonl --out {name} {redirection} log"
    assert subprocess.run(["sh", "-c", command], cwd=tmp_path, env={**os.environ, **own_package()}).returncode == 0
    assert (tmp_path / "log").read_text().startswith("the user's\n{")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--in in.jsonl --out /dev/stdout >> in.jsonl", "this command reads or writes it already"),
        ("--in - --out in.jsonl --overwrite < in.jsonl", "this command reads or writes it already"),
        ("--in in.jsonl --out /dev/fd/0 < in.jsonl", "it is open for reading alone"),
        ("--in in.jsonl --out /dev/fd/77", "Bad file descriptor"),
    ],
)
def test_an_input_is_no_output_by_whatever_name(words: str, why: str, tmp_path: Path) -> None:
    path = Path(write(tmp_path / "in.jsonl", {"text": "갔다. 왔다.", "sentences": []}))
    before = path.read_bytes()
    command = f"{sys.executable} -c 'from hunmin.main import main; main()' corpus split {words}"
    environment = {**os.environ, **own_package()}
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2 and why in " ".join(done.stderr.split()) and "fix:" in done.stderr
    assert path.read_bytes() == before


def test_json_summaries(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = write(tmp_path / "in.jsonl", {"text": "갔다. 왔다."}, "bad")
    counts = {"read": 2, "written": 1, "rejects": {"not JSON": 1}, "sentences": 2}
    assert run_command(["corpus", "split", "--in", source, "--out", str(tmp_path / "out"), "--json"]) == 0
    assert json.loads(capfd.readouterr().out) == counts
    assert run_command(["corpus", "split", "--in", source, "--json"]) == 0
    out, err = capfd.readouterr()
    assert json.loads(err) == counts and json.loads(out)["text"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--out", "{tmp}"], "is a folder"),
        (["--out", "s3://bucket/x"], "is a URL"),
        (["--out", "{tmp}/in.jsonl/x"], "cannot write"),
        (["--in", "{tmp}"], "2 files"),
        (["--in", "{tmp}/none"], "nothing found"),
    ],
)
def test_misuse(tmp_path: Path, capfd: pytest.CaptureFixture[str], options: list[str], words: str) -> None:
    source = write(tmp_path / "in.jsonl", {"text": "갔다."})
    write(tmp_path / "other.jsonl")
    chosen = [option.replace("{tmp}", str(tmp_path)) for option in options]
    assert run_command(["corpus", "split", "--in", source, *chosen]) == 2
    assert words in capfd.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "other.jsonl"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["--hits", "-"], "--out and --hits are both -"),
        (["--hits", "{tmp}/bench.jsonl"], "this command reads or writes it"),
        (["--out", "{tmp}/bench.jsonl", "--hits", "{tmp}/hits"], "this command reads or writes it"),
        (["--hits", "{tmp}/notes.md"], "it already exists"),
        (["--hits", "{tmp}/notes.md", "--overwrite"], "it is of another kind"),
        (["--hits", "{tmp}/./in.jsonl"], "this command reads or writes it"),
        (["--out", "{tmp}/out.jsonl", "--hits", "{tmp}/../{name}/out.jsonl"], "this command reads or writes it"),
    ],
)
def test_one_file_for_two_is_refused(
    command: list[str], message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = write(tmp_path / "in.jsonl", {"id": "1", "text": "갔다."})
    write(tmp_path / "bench.jsonl", {"text": "왔다."})
    (tmp_path / "notes.md").write_text("mine")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    chosen = [option.format(tmp=tmp_path, name=tmp_path.name) for option in command]
    assert run_command(["corpus", "decontaminate", "--benchmark", str(tmp_path), "--in", source, *chosen]) == 2
    assert message in capfd.readouterr().err and {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def start(*arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "hunmin.main", "corpus", *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_a_reader_that_leaves_ends_the_command_quietly() -> None:
    process = start("split")
    assert process.stdin and process.stdout and process.stderr
    line = json.dumps({"text": "갔다. 왔다."}).encode() + b"\n"
    process.stdin.write(line)
    process.stdin.flush()
    assert process.stdout.readline()  # handed on before the input ends
    process.stdout.close()
    try:
        process.stdin.write(line * 50_000)
        process.stdin.close()
    except BrokenPipeError:
        pass
    assert (process.wait(20), process.stderr.read()) == (141, b"")


def test_ctrl_c_ends_the_command_quietly() -> None:
    process = start("split")
    assert process.stdin and process.stdout and process.stderr
    process.stdin.write(json.dumps({"text": "갔다."}).encode() + b"\n")
    process.stdin.flush()
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert (process.wait(20), process.stderr.read()) == (130, b"")


def test_statistics_of_a_stream(capfd: pytest.CaptureFixture[str]) -> None:
    process = start("stats", "-", "--json")
    out, err = process.communicate(json.dumps({"text": "갔다. 왔다.", "source": "web"}).encode(), timeout=30)
    assert json.loads(out)["sources"]["web"]["kept"]["sentences"] == 2 and not err
