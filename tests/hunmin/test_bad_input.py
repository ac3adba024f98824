"""What users get wrong: each ends in one clear message and exit code 2 (or a counted reject), never a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mini import write_recipe

from common.manifest import read_manifest
from hunmin.main import run_command
from klue.training import GRID

LINES = [
    {"text": f"오늘은 {i}번째 글을 씁니다. 날씨가 아주 맑고 바람이 시원하게 붑니다.", "id": str(i)} for i in range(200)
]


def write_lines(path: Path, extra: list[bytes] | None = None) -> Path:
    lines = [json.dumps(line, ensure_ascii=False).encode() for line in LINES] + (extra or [])
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def train(corpus: Path, out: Path, *options: str) -> int:
    """Train a vocabulary of 100 entries, or as the options say."""
    options_of_all = ["--min-character-count", "1", "--vocab-size", "100", *options]
    return run_command(["tokenizer", "train", "--corpus", str(corpus), "--out", str(out), *options_of_all])


@pytest.fixture
def said(capfd: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    def read() -> str:
        err = capfd.readouterr().err
        assert "Traceback" not in err
        return err

    return read


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "{recipe}", "pretrain.optimizer.rate=1"], "unknown key 'pretrain.optimizer.rate'"),
        (["run", "{recipe}", "pretrain.step=1"], "did you mean 'steps'?"),
        (["run", "{recipe}", "pretrain.model.intermediate=64"], "did you mean 'feed_forward'?"),
        (["run", "{recipe}", "pretrain.global_batch=100", "pretrain.micro_batch=32"],
         "pretrain.global_batch (100) must be divisible by"),
        (["launch", "{recipe}", "--launcher", "slurn"], "unknown launcher 'slurn' (did you mean 'slurm'?)"),
        (["run", "{recipe}", "corpus.inputs=[{gone}-*.jsonl]"], "nothing found at"),
        (["corpus", "stats", "{gone}"], "error:"),
        (["report", "{gone}"], "error:"),
        (["export", "{gone}", "--out", "{gone}2"], "error:"),
        (["run"], "Missing argument"),
        (["run", "r.yaml", "--no-such-option"], "No such option"),
        (["no-such-command"], "No such command"),
        (["run", "r.yaml", "--until", "nowhere"], "error:"),
    ],
)  # fmt: skip
def test_commands_that_are_refused(words: list[str], message: str, tmp_path: Path, said) -> None:  # type: ignore[no-untyped-def]
    path = str(write_recipe(tmp_path, write_lines(tmp_path / "a.jsonl")))
    assert run_command([word.format(recipe=path, gone=tmp_path / "gone") for word in words]) == 2
    assert message in said() and not (tmp_path / "run").exists()


def test_an_empty_corpus(tmp_path: Path, said) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "a.jsonl").write_text("")
    assert run_command(["corpus", "build", str(write_recipe(tmp_path, tmp_path / "a.jsonl"))]) == 2
    assert "error:" in said()
    assert not (tmp_path / "run" / "corpus").exists()


def test_bad_lines_are_counted_rejects(tmp_path: Path, said) -> None:  # type: ignore[no-untyped-def]
    long_line = json.dumps({"text": "가나다라 마바사. " * 500_000}, ensure_ascii=False).encode()
    assert len(long_line) > 5_000_000
    bad = [b"not json", b'{"text": "' + b'\xff\xfe"}', b'{"body": 1}', long_line]
    path = str(write_recipe(tmp_path, write_lines(tmp_path / "a.jsonl", bad)))
    assert run_command(["corpus", "build", path]) == 0
    rejects = [json.loads(x) for x in (tmp_path / "run/corpus/rejects/rejects.jsonl").read_text().splitlines()]
    assert [r["line"] for r in rejects] == [201, 202, 203]
    assert all("text" not in r and {"source", "line", "reason"} <= set(r) for r in rejects)
    assert read_manifest(tmp_path / "run" / "corpus") is not None
    said()


def test_too_many_bad_lines_fail_and_say_where_they_are(tmp_path: Path, said) -> None:  # type: ignore[no-untyped-def]
    path = str(write_recipe(tmp_path, write_lines(tmp_path / "a.jsonl", [b"not json"] * 50)))
    assert run_command(["corpus", "build", path]) == 1
    message = said()
    assert "50" in message and "rejects" in message


def test_a_full_disk_leaves_what_was_finished(tmp_path: Path, said, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    import errno
    import os

    path = str(write_recipe(tmp_path, write_lines(tmp_path / "a.jsonl")))
    assert run_command(["corpus", "build", path]) == 0
    before = (tmp_path / "run" / "corpus" / "manifest.json").read_bytes()
    real = os.fsync

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert run_command(["run", path, "--until", "tokenizer", "tokenizer.vocab_size=100"]) == 1
    monkeypatch.setattr(os, "fsync", real)
    assert "disk is full" in said()
    assert (tmp_path / "run" / "corpus" / "manifest.json").read_bytes() == before
    assert not (tmp_path / "run" / "tokenizer").exists()


def test_a_tokenizer_is_not_written_over_something_else(tmp_path: Path, said, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    text = tmp_path / "a.txt"
    text.write_text("가나다 라마바\n" * 100)
    assert train(text, tmp_path / "out") == 2
    assert "is not empty" in said() and (tmp_path / "out" / "mine.txt").exists()
    monkeypatch.chdir(tmp_path / "out")
    assert train(text, Path()) == 2
    assert "is the folder you are in" in said()


def test_a_corpus_folder_that_is_not_finished_is_not_trained_on(tmp_path: Path, said) -> None:  # type: ignore[no-untyped-def]
    path = str(write_recipe(tmp_path, write_lines(tmp_path / "a.jsonl")))
    assert run_command(["corpus", "build", path]) == 0
    corpus = tmp_path / "run" / "corpus"
    assert train(corpus, tmp_path / "one", "--vocab-size", "90") == 0
    manifest = read_manifest(tmp_path / "one")
    assert manifest and len(manifest.inputs["corpus"]) == 16 and manifest.counts["vocab_size"] == 90
    said()
    (corpus / "manifest.json").unlink()
    assert train(corpus, tmp_path / "two") == 2
    assert "holds no manifest.json" in said() and not (tmp_path / "two").exists()


def test_an_extended_tokenizer_tells_what_it_was_made_of(tmp_path: Path, said) -> None:  # type: ignore[no-untyped-def]
    text, words = tmp_path / "a.txt", tmp_path / "words.txt"
    text.write_text("가나다 라마바\n" * 100, encoding="utf-8")
    words.write_text("가나다라\n", encoding="utf-8")
    base, extended = tmp_path / "one", tmp_path / "two"
    assert train(text, base, "--vocab-size", "50") == 2
    reachable = said().split("it yields ")[1].split()[0]
    assert train(text, base, "--vocab-size", "32", "--unused", str(32 - int(reachable))) == 0
    assert run_command(["tokenizer", "extend", str(base), "--words", str(words), "--out", str(extended)]) == 0
    manifest = read_manifest(extended)
    assert manifest and manifest.settings["vocab_size"] == manifest.counts["vocab_size"] == 33
    assert sorted(manifest.inputs) == ["tokenizer", "words"]
    assert "vocabulary of 33 entries" in (extended / "README.md").read_text(encoding="utf-8")


def test_words_in_another_encoding_are_refused(tmp_path: Path, said) -> None:  # type: ignore[no-untyped-def]
    assert train(write_lines(tmp_path / "a.txt"), tmp_path / "tok") == 0
    (tmp_path / "words.txt").write_bytes("COVID감염증\nRNA백신\n".encode("cp949"))
    extend = ["tokenizer", "extend", str(tmp_path / "tok"), "--words", str(tmp_path / "words.txt")]
    assert run_command([*extend, "--out", str(tmp_path / "x")]) == 2
    assert "is not UTF-8" in said()
    (tmp_path / "words.txt").write_bytes(b"\xef\xbb\xbf" + b"COVID\n")  # a byte order mark
    assert run_command([*extend, "--out", str(tmp_path / "x")]) == 0
    assert (tmp_path / "x" / "vocab.txt").read_text(encoding="utf-8").splitlines()[-1] == "COVID"
    said()


def test_text_that_is_no_markup_is_shown(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert train(write_lines(tmp_path / "a.txt"), tmp_path / "[b]", "--token", "[url]", "--token", "[/b]") == 0
    capfd.readouterr()
    assert run_command(["tokenizer", "show", str(tmp_path / "[b]"), "[url] [/b]"]) == 0
    assert "[url] / [/b]" in capfd.readouterr().out
    assert run_command(["tokenizer", "compare", str(tmp_path / "[b]"), "--text", str(tmp_path / "a.txt")]) == 0
    assert "/[b]" in capfd.readouterr().out.replace("\n", "").replace(" ", "")


def test_arguments_that_are_no_text(tmp_path: Path, said) -> None:  # type: ignore[no-untyped-def]
    name = b"\xb0\xa1.txt".decode("utf-8", "surrogateescape")
    (tmp_path / name).write_bytes(write_lines(tmp_path / "a.txt").read_bytes())
    assert train(tmp_path / name, tmp_path / "tok") == 2
    assert "is not UTF-8" in said()


def test_an_output_that_cannot_be_written(tmp_path: Path, said, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "file").write_text("")
    (tmp_path / "klue").mkdir()
    finetune = ["klue", "finetune", str(tmp_path / "model"), "--data", str(tmp_path), "--out", str(tmp_path / "file")]
    assert run_command(finetune) == 2
    assert "it is a file" in said()
    row = {"task": "ynat", "init": "pretrained", "seed": 42, "data_note": "", "examples": {"train": 1, "dev": 1}}
    row |= {"settings": dict.fromkeys(GRID, 1), "best": {"macro_f1": 1.0}, "last": {"macro_f1": 1.0}}
    (tmp_path / "klue" / "results.jsonl").write_text(json.dumps(row) + "\n")
    assert run_command(["klue", "report", str(tmp_path), "--plot", str(tmp_path / "file" / "x.png")]) == 2
    assert f"{tmp_path / 'file'} is no folder" in said()
    # an error of the system that names no file is a fault of the program: it is not made to look like the user's
    monkeypatch.setattr("klue.print_report.read_rows", lambda _: (_ for _ in ()).throw(FileNotFoundError("inner")))
    with pytest.raises(FileNotFoundError, match="inner"):
        run_command(["klue", "report", str(tmp_path)])
