"""Nothing with a secret, personal data or a path of this machine leaves, in no file that is sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.errors import UserError
from hunmin.hub.private import refuse_private

KEY = "the-key-of-the-pseudonyms"
SECRETS = {
    "WANDB_API_KEY": "s3cr3t-value-of-mine",
    "MYSQL_ROOT_PASSWORD": "correct horse",
    "OPENAI_TOKEN_2": "abcdefgh12",
    "aws_secret_access_key": "zyxw/9876+5",
    "DB_PASSWD": "hunter2pass",
}


@pytest.fixture(autouse=True)
def mine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "netrc").write_text("machine api.example.org login me password pass-of-netrc\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("MY_WORDS", KEY)
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a\nb hf_" + "A" * 34, r"README.md, line 2, .*a service's key"),
        ("AKIA" + "Z" * 16, "a service's key"),
        *((f"x\n\nnote: {value}", f"line 3, holds the value of {name}") for name, value in SECRETS.items()),
        (f"key: {KEY}", "the value of MY_WORDS"),
        ("a\npass-of-netrc", "line 2, holds the password for api.example.org in netrc"),
        (f"see {Path.home()}/notes", "a path of this machine"),
        ("문의 010-1234-5678", r"personal data \(TEL\)"),
        ("write to hong@naver.com", r"personal data \(EMAIL\)"),
    ],
)
def test_what_must_not_leave_is_named_and_not_shown(text: str, told: str) -> None:
    with pytest.raises(UserError, match=told) as raised:
        refuse_private({"README.md": text}, "MY_WORDS")
    for secret in ("A" * 34, *SECRETS.values(), KEY, "5678", "hong@", "pass-of-netrc"):
        assert secret not in str(raised.value)


@pytest.mark.parametrize("at", [0, 100, 5_000_000])
@pytest.mark.parametrize("value", [b"s3cr3t-value-of-mine", b"hf_" + b"B" * 34, b"/root-of/secret/"])
def test_every_byte_of_a_file_is_looked_at(
    at: int, value: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: Path("/root-of/secret"))
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"\0" * at + value + b"\0" * 99)
    with pytest.raises(UserError, match=f"model.safetensors, byte {at:,}, holds"):
        refuse_private({"model.safetensors": weights})
    weights.write_bytes(b"\0" * at + value[1:-1] + b"\0" * 99)
    refuse_private({"model.safetensors": weights} if b"hf_" not in value else {})


def test_a_vocabulary_and_results_are_read(tmp_path: Path) -> None:
    words = tmp_path / "vocab.txt"
    words.write_text("[PAD]\n훈민\n01012345678\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"vocab.txt, line 3, .*\(TEL\)") as raised:
        refuse_private({"vocab.txt": words})
    assert "train again" in str(raised.value)
    words.write_text("[PAD]\n전화\n010\n1234\n5678\n", encoding="utf-8")  # entries are no sentence
    refuse_private({"vocab.txt": words})
    rows = tmp_path / "results.jsonl"
    rows.write_text('{"task": "ynat"}\n{"model": "hong@naver.com"}\n', encoding="utf-8")
    with pytest.raises(UserError, match=r"klue/results.jsonl, line 2, .*\(EMAIL\)"):
        refuse_private({"klue/results.jsonl": rows})


def test_what_a_card_holds_may_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "no")  # too short to be looked for
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "whole-word")  # no secret by its name
    monkeypatch.setenv("KEYBOARD", "whole-word")
    card = {"README.md": "see https://example.org/x, lr 0.0006, β 0.9/0.98, no 1,234,567, whole-word"}
    assert refuse_private(card) is None
    monkeypatch.setenv("HF_TOKEN", "whole-word")  # a secret by its name, and long enough
    with pytest.raises(UserError, match=r"README\.md"):
        refuse_private(card)


@pytest.mark.parametrize(
    "line", ["https://lee:PwInvented77@h/a", "see https://h/a?sig=SigInvented88", "hf_" + "aB1" * 9]
)
def test_a_card_with_a_login_stays_here(line: str) -> None:
    with pytest.raises(UserError, match=r"README.md, line 2, holds what looks like a") as caught:
        refuse_private({"README.md": f"# Model\n{line}\n"})
    assert "Invented" not in str(caught.value)
