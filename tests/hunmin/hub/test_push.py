"""Uploads against a server that fails half-way: what arrives, what is tried again, and what a person is told."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from common import hub_limits
from common.errors import HunminError, UserError
from hunmin.hub import calls as module
from hunmin.hub.push import Item, describe, prepare, push, steps_pushed

sys.path.insert(0, str(Path(__file__).parent))
from hub_server import TOKEN, Fault, Hub

REPOSITORY = "me/model"
OURS = ("model.safetensors", "vocab.txt", "README.md", "onnx/model.onnx", "klue/results.jsonl")


@pytest.fixture
def items(tmp_path: Path) -> list[Item]:
    (tmp_path / "model.safetensors").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "vocab.txt").write_text("[PAD]\n가\n", encoding="utf-8")
    names = ("model.safetensors", "vocab.txt")
    return [*(Item(name, tmp_path / name) for name in names), Item("README.md", b"# A card\n")]


def send(
    items: list[Item], tag: str | None = "step-100", private: bool = True, waits: list[float] | None = None
) -> str:
    return push(items, REPOSITORY, "Step 100", tag, private, OURS, (waits if waits is not None else []).append)


def contents(items: list[Item]) -> dict[str, bytes]:
    return {i.name: i.content if isinstance(i.content, bytes) else i.content.read_bytes() for i in items}


def test_a_commit_with_its_tag_in_a_private_repository(hub: Hub, items: list[Item]) -> None:
    assert send(items) == f"{hub.url}/{REPOSITORY}"
    found = hub.repositories[REPOSITORY]
    assert found.private and found.files == contents(items) and found.messages == ["Step 100"]
    assert found.tags == {"step-100": found.head} and len(hub.objects) == 1


def test_the_same_again_changes_nothing_and_other_weights_move_the_tag(
    hub: Hub, items: list[Item], tmp_path: Path
) -> None:
    send(items)
    found = hub.repositories[REPOSITORY]
    first, puts = found.head, [call for call in hub.calls if call.startswith("PUT")]
    send(items)
    assert found.head == first and [call for call in hub.calls if call.startswith("PUT")] == puts
    (tmp_path / "model.safetensors").write_bytes(b"other" * 2000)
    send(items)
    assert found.head != first and found.tags == {"step-100": found.head}


def test_a_tag_holds_the_files_of_its_step_alone(hub: Hub, items: list[Item]) -> None:
    graph, scores = Item("onnx/model.onnx", b"graph" * 500), Item("klue/results.jsonl", b"{}")
    send([*items, graph, scores], tag="step-100")
    found = hub.repositories[REPOSITORY]
    found.commits[found.head]["notes.md"] = b"the owner's"
    send(items, tag="step-200")
    assert found.files == {**contents(items), "notes.md": b"the owner's"} and found.tags["step-200"] == found.head
    assert set(found.commits[found.tags["step-100"]]) == {*contents(items), graph.name, scores.name, "notes.md"}


def test_main_does_not_go_back(hub: Hub, items: list[Item], capsys: pytest.CaptureFixture[str]) -> None:
    send([*items, Item("onnx/model.onnx", b"graph")], tag="step-300")
    found = hub.repositories[REPOSITORY]
    newest = found.head
    older = [*items[:-1], Item("README.md", b"# Of step 200\n")]
    hub.faults.append(Fault("/tag/", None))
    for _ in range(2):  # the second changes nothing
        send(older, tag="step-200")
        assert found.head == newest and found.branches == {} and set(found.tags) == {"step-200", "step-300"}
        assert found.commits[found.tags["step-200"]] == contents(older)
        assert "main stays at step 300; step-200 is its tag alone" in capsys.readouterr().err
    assert len(found.messages) == 2
    send(items, tag="step-300")  # that of main itself, again: the scores of its end, say
    assert found.head == found.tags["step-300"] != newest
    assert steps_pushed(REPOSITORY) == {200, 300} and steps_pushed("me/other") == set()


def test_a_public_repository_is_asked_for(hub: Hub, items: list[Item]) -> None:
    send(items, private=False)
    found = hub.repositories[REPOSITORY]
    assert not found.private
    head, sent = found.head, len(hub.objects)
    items[-1] = Item("README.md", b"secret" * 500)
    for refused in (lambda: send(items), lambda: prepare(REPOSITORY)):
        with pytest.raises(UserError, match="is there already and is public") as raised:
            refused()
        assert "--public" in str(raised.value) and found.head == head and len(hub.objects) == sent
    send(items, private=False)
    assert found.head != head


@pytest.mark.parametrize(
    "fault",
    [
        Fault("/objects/", None, times=9),  # the connection ends amid a file
        Fault("/objects/", 503, times=9),
        Fault("/commit/", None),
        Fault("/commit/", 500, times=2),
        Fault("/commit/", 409),  # somebody else's commit at the same time
        Fault("/commit/", 412),
        Fault("/api/repos/create", 502),
        Fault("/preupload/", 504),
        Fault("/refs", 500),
        Fault("/tag/", None),
    ],
    ids=str,
)
def test_what_fails_for_a_while_is_tried_again(fault: Fault, hub: Hub, items: list[Item]) -> None:
    hub.faults.append(fault)
    send(items)
    found = hub.repositories[REPOSITORY]
    assert fault.times == 0 and found.files == contents(items) and found.tags == {"step-100": found.head}


def test_the_hub_says_how_long_to_wait(hub: Hub, items: list[Item], capsys: pytest.CaptureFixture[str]) -> None:
    waits: list[float] = []
    hub.faults += [
        Fault("/commit/", 429, {"Retry-After": "17"}),
        Fault("/commit/", 429),
        Fault("/commit/", 429, {"Retry-After": "9999"}),
    ]
    send(items, waits=waits)
    assert waits == [17.0, 2.0, module.LONGEST_WAIT] and "answered 429; once more in 17 s" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [
        ("/api/repos/create", 401, "valid token"),
        ("/api/repos/create", 403, "write access to me"),
        ("/commit/", 403, "write access"),
        ("/commit/", 413, "--dtype bf16"),
        ("/commit/", 400, "update huggingface_hub"),
    ],
)
def test_what_will_not_change_is_told_at_once(path: str, status: int, told: str, hub: Hub, items: list[Item]) -> None:
    hub.faults.append(Fault(path, status, times=99))
    waits: list[float] = []
    with pytest.raises(HunminError) as raised:
        send(items, waits=waits)
    assert told in str(raised.value) and str(status) in str(raised.value) and not waits
    assert TOKEN not in str(raised.value)


def test_a_hub_that_stays_away_is_given_up(hub: Hub, items: list[Item]) -> None:
    hub.faults.append(Fault("/api/repos/create", 500, times=99))
    waits: list[float] = []
    with pytest.raises(HunminError, match=r"the hub answered 500, 6 times") as raised:
        send(items, waits=waits)
    assert waits == [1, 2, 4, 8, 16] and "not sent again" in str(raised.value)


@pytest.mark.parametrize(
    ("asked", "wait"),
    [("nan", 1.0), ("inf", 1.0), ("-1", 0.0), ("soon", 1.0), ("Fri, 27 Nov 2026 00:00:00 GMT", 1.0)],
)
def test_a_wait_that_is_no_number_of_seconds(asked: str, wait: float, hub: Hub, items: list[Item]) -> None:
    waits: list[float] = []
    hub.faults.append(Fault("/commit/", 429, {"Retry-After": asked}))
    send(items, waits=waits)
    assert waits == [wait]


def test_a_hub_that_leads_round_in_a_circle(hub: Hub, items: list[Item]) -> None:
    hub.faults.append(Fault("/api/", 302, {"Location": f"{hub.url}/api/repos/create"}, times=999))
    with pytest.raises(HunminError, match="lead round in a circle"):
        send(items)


def test_a_hub_whose_answer_is_no_json(hub: Hub, items: list[Item]) -> None:
    hub.faults.append(Fault("/refs", 200, times=99, content=b"<html>Please log in to this network</html>"))
    with pytest.raises(HunminError, match="its answer is no JSON"):
        send(items)


def test_a_hub_that_takes_a_call_and_never_answers(items: list[Item], monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub.constants as constants

    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(hub_limits, "ASK_SECONDS", 0.2)
    monkeypatch.setattr(hub_limits, "SEND_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # the system takes calls for it
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        for work in (lambda: steps_pushed(REPOSITORY, lambda _: None), lambda: send(items)):
            with pytest.raises(HunminError, match=r"the hub was not reached \(ReadTimeout.*2 times"):
                work()


def test_without_network(hub: Hub, items: list[Item], monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub.constants as constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(HunminError, match="the hub was not reached"):
        send(items)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UserError, match="unset HF_HUB_OFFLINE"):
        send(items)


@pytest.mark.parametrize(
    ("error", "network"),
    [
        (RuntimeError("error sending request for url (https://u:p@cas.example/x?X-Amz-Signature=S)"), True),
        (RuntimeError("Data processing error: Connection reset by peer"), True),
        (RuntimeError("operation timed out"), True),
        (RuntimeError("tensor has no storage"), False),
        (ValueError("no such operation"), False),
    ],
)
def test_faults_of_the_program_are_not_the_networks(
    error: Exception, network: bool, hub: Hub, items: list[Item], monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import HfApi

    def fail(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(HfApi, "create_commit", fail)
    waits: list[float] = []
    with pytest.raises(HunminError if network else type(error)) as raised:
        send(items, waits=waits)
    assert len(waits) == (5 if network else 0)
    if network:
        assert "RuntimeError: " in str(raised.value) and "Signature" not in str(raised.value)
        assert "u:p" not in str(raised.value)
        assert str(error).split(" (")[0] in str(raised.value)


def test_without_a_token(hub: Hub, items: list[Item], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import huggingface_hub.constants as constants

    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "none"))
    with pytest.raises(UserError, match="set HF_TOKEN"):
        send(items)
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    with pytest.raises(UserError, match="valid token"):
        send(items)


@pytest.mark.parametrize("name", ["model", "a/b/c", "me/mo del", "me/-x"])
def test_names_that_are_none(name: str, hub: Hub, items: list[Item]) -> None:
    with pytest.raises(UserError, match="OWNER/NAME"):
        push(items, name, "x")


def test_what_would_be_sent_is_listed(items: list[Item]) -> None:
    text = describe(items, REPOSITORY, "step-100", private=True)
    assert "me/model (private), tag step-100" in text and "10.2 KB  model.safetensors" in text
    assert text.splitlines()[-1].split() == ["10.3", "KB", "in", "all"]
