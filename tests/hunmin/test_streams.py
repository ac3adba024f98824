"""The pipe commands: their JSON Lines contracts, from files and from standard streams."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

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


def test_split_loses_no_character(tmp_path: Path) -> None:
    text = '그는 "안녕. 잘 가."라고 말했다. 원주율은 3.14이다! 정말? 네ㅋㅋ 그래요'
    source = write(tmp_path / "in.jsonl", {"text": text})
    assert run_command(["corpus", "split", "--in", source, "--out", str(tmp_path / "out.jsonl")]) == 0
    (record,) = lines(tmp_path / "out.jsonl")
    assert "".join("".join(record["sentences"]).split()) == "".join(text.split())
    assert len(record["sentences"]) >= 3


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
    assert json.loads(out)["sentences"] == ["갔다.", "왔다."] and err
