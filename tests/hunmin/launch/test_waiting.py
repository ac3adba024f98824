"""A node never waits for ever for what node 0 makes before training."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from common.errors import HunminError, UserError
from hunmin.launch import waiting
from hunmin.launch.cluster import Cluster, Job
from hunmin.launch.waiting import first_node, wait_for_shards
from tests.hunmin.launch.jobs import job_of


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    (tmp_path / "a").write_text("가나다")
    monkeypatch.chdir(tmp_path)
    for name, seconds in (("WAIT", 0.02), ("BEAT", 0.02), ("SILENT", 0.5), ("UNSEEN", 0.3)):
        monkeypatch.setattr(waiting, f"{name}_SECONDS", seconds)
    # inputs, which may be gigabytes, are not read as long as a stage has no output
    monkeypatch.setattr(waiting, "judge_all", lambda *_, **__: pytest.fail("inputs are read"))
    return job_of(Cluster(2, 8, node=1, hosts=("localhost", "n1")))  # as with xla: no --address


def said(error: type[HunminError], job: Job) -> str:
    with pytest.raises(error) as caught:
        wait_for_shards(job)
    assert type(caught.value) is error
    return str(caught.value)


def test_the_failure_of_node_0_ends_the_wait(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "SILENT_SECONDS", 60)

    def fail() -> None:
        with pytest.raises(HunminError), first_node(job.run):
            waits.wait()
            raise HunminError("exit code 2: hunmin run")

    waits, thread = threading.Event(), threading.Thread(target=fail)
    monkeypatch.setattr(waiting, "say", lambda _: thread.start())
    sleep = waiting.time.sleep
    monkeypatch.setattr(waiting.time, "sleep", lambda seconds: (waits.set(), sleep(seconds)))  # before every look
    text = said(HunminError, job)
    thread.join()
    assert "node 0 has failed: exit code 2: hunmin run" in text and "on all nodes again" in text


def test_a_node_0_that_is_silent_ends_it_and_what_was_said_before_is_no_news(job: Job) -> None:
    with pytest.raises(HunminError), first_node(job.run):
        raise HunminError("a full disk")
    text = said(UserError, job)
    assert "node 1 (" in text and "node 0 has given no sign for" in text and "stage 'corpus': not done yet" in text
    (job.run / waiting.MARK).unlink()
    assert "node 0 has given no sign for" in said(UserError, job)


def test_as_long_as_node_0_works_it_is_waited_for_and_its_work_must_be_seen(job: Job) -> None:
    began = threading.Event()
    with first_node(job.run):
        waits = threading.Thread(target=lambda: (began.set(), texts.append(said(UserError, job))))
        texts: list[str] = []
        waits.start()
        began.wait()
        waits.join(1.5)  # thrice the silence
        assert waits.is_alive()
    waits.join(20)
    assert "does not see what node 0 has made in runs/x" in texts[0] and "node 0 trains" in texts[0]
