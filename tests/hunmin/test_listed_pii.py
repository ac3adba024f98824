"""`hunmin corpus pseudonymize FILE --show`: what would be replaced in one's own files, of any format that is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hunmin.main import run_command

MAIL = "누리집 문의는 mail{n}@example.com 으로 받습니다."


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table with mail addresses in its body, 5 documents, and lines of text with a telephone number."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HUNMIN_PII_KEY", raising=False)
    rows = "".join(f"{n},제목이 있는 글,{MAIL.format(n=n % 3)}\n" for n in range(5))
    Path("posts.csv").write_text("no,title,body\n" + rows, encoding="utf-8")
    Path("lines.txt").write_text("전화는 010-1234-5678 입니다.\n아무것도 없는 줄입니다.\n", encoding="utf-8")


@pytest.mark.parametrize("name", ["pseudonymize", "pii"])
def test_what_would_be_replaced_is_listed_without_a_key(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["corpus", name, "posts.csv", "lines.txt", "--show", "2"]) == 0
    out, err = capsys.readouterr()
    assert "personal data of your files" in err
    lines = out.splitlines()
    assert lines[0] == "EMAIL: 5 found, 3 distinct; posts 5" and len(lines) == 5
    assert all("⟦mail" in line and "@example.com⟧ 으로 받습니다." in line for line in lines[1:3])
    assert lines[3:] == ["TEL: 1 found, 1 distinct; lines 1", "  lines  전화는 ⟦010-1234-5678⟧ 입니다."]


def test_counts_alone_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["corpus", "pseudonymize", "posts.csv", "--show", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "EMAIL": {"found": 5, "distinct": 3, "files": {"posts": 5}, "examples": []}
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["posts.csv"], "FILE and --show go together"),
        (["--show", "3"], "FILE and --show go together"),
        (["posts.csv", "--show", "3", "--in", "lines.txt"], "FILE and --show go together"),
        (["gone.csv", "--show", "3"], "nothing found at gone.csv"),
        (["numbers.csv", "--show", "3"], "the file's columns are a, b"),
    ],
)
def test_what_cannot_be_listed_is_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("numbers.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    assert run_command(["corpus", "pseudonymize", *words]) == 2
    assert message in capsys.readouterr().err
