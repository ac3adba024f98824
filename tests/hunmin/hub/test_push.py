"""Uploads against a server that fails half-way: what arrives, what is tried again, and what a person is told."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
from hub_server import TOKEN, Fault, Hub

from common import hub_limits
from common.errors import HunminError, UserError
from hunmin.hub import push as module
from hunmin.hub.push import Files, check_name, describe, prepare, push, steps_pushed

REPOSITORY = "me/model"
OURS = ("model*.safetensors", "vocab.txt", "README.md", "onnx/model.onnx", "klue/results.jsonl")


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str | Path]:
    (tmp_path / "model.safetensors").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "vocab.txt").write_text("[PAD]\n가\n", encoding="utf-8")
    return {**{name: tmp_path / name for name in ("model.safetensors", "vocab.txt")}, "README.md": "# A card\n"}


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr(module, "sleep", found.append)
    return found


def send(files: Files, tag: str | None = "step-100", private: bool = True) -> str:
    return push(files, REPOSITORY, "Step 100", tag, private, OURS)


def contents(files: Files) -> dict[str, bytes]:
    return {name: each.encode() if isinstance(each, str) else each.read_bytes() for name, each in files.items()}


def test_a_commit_with_its_tag_in_a_private_repository(hub: Hub, files: Any, tmp_path: Path) -> None:
    assert send(files) == f"{hub.url}/{REPOSITORY}"
    found = hub.repositories[REPOSITORY]
    assert found.private and found.files == contents(files) and found.messages == ["Step 100"]
    assert found.tags == {"step-100": found.head} and len(hub.objects) == 1
    first, puts = found.head, [call for call in hub.calls if call.startswith("PUT")]
    send(files)  # the same again changes nothing
    assert found.head == first and [call for call in hub.calls if call.startswith("PUT")] == puts
    (tmp_path / "model.safetensors").write_bytes(b"other" * 2000)
    send(files)  # other weights move the tag
    assert found.head != first and found.tags == {"step-100": found.head}


def test_a_tag_holds_the_files_of_its_step_alone(hub: Hub, files: Any) -> None:
    more = {"onnx/model.onnx": "graph" * 500, "klue/results.jsonl": "{}", "model-00001-of-2.safetensors": "part"}
    send({**files, **more}, tag="step-100")
    found = hub.repositories[REPOSITORY]
    found.commits[found.head]["notes.md"] = b"the owner's"
    send(files, tag="step-200")
    assert found.files == {**contents(files), "notes.md": b"the owner's"} and found.tags["step-200"] == found.head
    assert set(found.commits[found.tags["step-100"]]) == {*files, *more, "notes.md"}


@pytest.mark.parametrize(
    ("case", "done"),
    [
        ("first", False),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in (("moved tag", True), ("older step", True))),
        pytest.param("older step", False, marks=pytest.mark.slow),
    ],
)
def test_a_push_that_stops_at_any_call_shows_nothing_half_and_is_repeated(
    case: str, done: bool, hub: Hub, files: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(module, "ATTEMPTS", 1)
    old = {**files, "model.safetensors": "old weights" * 200, "onnx/model.onnx": "graph"}
    before = {"first": [], "moved tag": ["step-100"], "older step": ["step-300"]}[case]
    for number in range(99):
        hub.repositories.clear()
        hub.objects.clear()
        hub.faults.clear()
        for tag in before:
            send(old, tag)
        begin = len(hub.calls)
        hub.faults.append(Fault("", None, times=10**6, after=number, works=done))
        try:
            send(files)
            stopped = False
        except HunminError:
            stopped = True
        for found in hub.repositories.values():
            for commit in (found.head, *found.tags.values()):
                assert found.commits[commit] in ({}, contents(old), contents(files)), f"half a release at {number}"
        hub.faults.clear()
        send(files)
        found = hub.repositories[REPOSITORY]
        assert found.commits[found.tags["step-100"]] == contents(files) and not found.branches
        assert found.files == contents(old if case == "older step" else files), "main does not go back"
        assert set(found.tags) == {"step-100", *before} and steps_pushed(REPOSITORY) == {
            int(tag.removeprefix("step-")) for tag in found.tags
        }
        if not stopped:
            break
    assert 5 < number < 99 and len(hub.calls) - begin >= number, "stopped at each of its calls"
    assert ("main stays at step 300; step-100 is its tag alone" in capsys.readouterr().err) == (case == "older step")
    assert steps_pushed("me/other") == set()


def test_a_public_repository_is_asked_for(hub: Hub, files: Any) -> None:
    send(files, private=False)
    found = hub.repositories[REPOSITORY]
    assert not found.private
    head, sent, other = found.head, len(hub.objects), {**files, "README.md": "secret" * 500}
    for refused in (lambda: send(other), lambda: prepare(REPOSITORY)):
        with pytest.raises(UserError, match="is there already and is public") as raised:
            refused()
        assert "--public" in str(raised.value) and found.head == head and len(hub.objects) == sent
    send(other, private=False)
    assert found.head != head


@pytest.mark.parametrize(
    "fault",
    [
        Fault("/objects/", None, times=9),  # the connection ends amid a file
        Fault("/objects/", 503, times=9),
        Fault("/commit/", 409),  # somebody else's commit at the same time
        Fault("/commit/", 412),
        Fault("/api/repos/create", 502),
        Fault("/preupload/", 504, times=2),
    ],
    ids=str,
)
def test_what_fails_for_a_while_is_tried_again(fault: Fault, hub: Hub, files: Any) -> None:
    hub.faults.append(fault)
    send(files)
    found = hub.repositories[REPOSITORY]
    assert fault.times == 0 and found.files == contents(files) and found.tags == {"step-100": found.head}


def test_the_hub_says_how_long_to_wait(
    hub: Hub, files: Any, waits: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("17", "", "9999", "soon", "-1")
    hub.faults += [Fault("/commit/", 429, {"Retry-After": value}) for value in asked]
    send(files)
    assert waits == [17, 2, module.LONGEST_WAIT, 8, 16] and "429; once more in 17 s" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [
        ("/api/repos/create", 401, "valid token"),
        ("/api/repos/create", 403, "write access to the owner"),
        ("/commit/", 403, "write access"),
        ("/objects/", 403, "write access"),
        ("/commit/", 413, "--dtype bf16"),
        ("/commit/", 400, "update huggingface_hub"),
    ],
)
def test_what_will_not_change_is_told_at_once(
    path: str, status: int, told: str, hub: Hub, files: Any, waits: list[float]
) -> None:
    hub.faults.append(Fault(path, status, times=99))
    with pytest.raises(HunminError) as raised:
        send(files)
    assert told in str(raised.value) and str(status) in str(raised.value) and not waits
    assert TOKEN not in str(raised.value)


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (Fault("/api/repos/create", 500, times=99), "the hub answered 500, 6 times"),
        (Fault("/refs", 200, times=99, content=b"<html>Please log in</html>"), "JSONDecodeError.*proxy's variables"),
        (Fault("/api/", 302, {"Location": "/api/repos/create"}, times=999), "TooManyRedirects.*proxy's variables"),
    ],
    ids=lambda value: getattr(value, "path", None),
)
def test_what_no_attempt_mends(fault: Fault, told: str, hub: Hub, files: Any, waits: list[float]) -> None:
    hub.faults.append(fault)
    with pytest.raises(HunminError, match=f"(?s){told}"):
        send(files)
    assert waits == [1, 2, 4, 8, 16]


def test_a_hub_that_takes_a_call_and_never_answers(files: Any, monkeypatch: pytest.MonkeyPatch, hub: Hub) -> None:
    import huggingface_hub.constants as constants

    monkeypatch.setattr(hub_limits, "ASK_SECONDS", 0.2)
    monkeypatch.setattr(hub_limits, "SEND_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # the system takes calls for it
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        for work in (lambda: steps_pushed(REPOSITORY), lambda: send(files)):
            with pytest.raises(HunminError, match=r"the hub was not reached \(ReadTimeout.*2 times"):
                work()


def test_without_network_or_token(hub: Hub, files: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import huggingface_hub.constants as constants

    with monkeypatch.context() as patch:
        patch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
        with pytest.raises(HunminError, match="the hub was not reached"):
            send(files)
        patch.setattr(constants, "HF_HUB_OFFLINE", True)
        with pytest.raises(UserError, match="unset HF_HUB_OFFLINE"):
            send(files)
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    with pytest.raises(UserError, match="valid token"):
        send(files)
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "none"))
    with pytest.raises(UserError, match="set HF_TOKEN"):
        send(files)


@pytest.mark.parametrize(("error", "tried"), [  # it is cut at its 200th letter, here the last of the password
    (RuntimeError("x" * 188 + " https://u:p@cas.example/x?X-Amz-Signature=S"), True),
    (RuntimeError("error for url (https://u:p@cas.example/x?X-Amz-Signature=S)"), True),
    (ValueError("no such operation"), False),
])  # fmt: skip
def test_faults_of_the_program_are_not_the_networks(
    error: Exception, tried: bool, hub: Hub, files: Any, monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    from huggingface_hub import HfApi

    def fail(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(HfApi, "create_commit", fail)
    with pytest.raises(HunminError if tried else type(error)) as raised:
        send(files)
    assert len(waits) == (5 if tried else 0) and "u:p" not in str(raised.value) and "=S)" not in str(raised.value)


@pytest.mark.parametrize("name", ["model", "a/b/c", "me/mo del", "me/-x"])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(UserError, match="OWNER/NAME"):
        check_name(name)


def test_what_would_be_sent_is_listed(files: Any) -> None:
    text = describe(files, REPOSITORY, "step-100", private=True)
    assert "me/model (private), tag step-100" in text and "10.2 KB  model.safetensors" in text
    assert text.splitlines()[-1].split() == ["10.3", "KB", "in", "all"]
