"""A node never waits for ever for what node 0 makes before training."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest
from jobs import job_of

from common.errors import HunminError, UserError
from hunmin.launch import waiting
from hunmin.launch.cluster import Cluster, Job
from hunmin.launch.waiting import FirstNode, wait_for_shards


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    (tmp_path / "a").write_text("가나다")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HUNMIN_PII_KEY", "0" * 32)
    monkeypatch.setattr(waiting, "WAIT_SECONDS", 0.02)
    monkeypatch.setattr(waiting, "BEAT_SECONDS", 0.02)
    monkeypatch.setattr(waiting, "SILENT_SECONDS", 0.5)
    monkeypatch.setattr(waiting, "UNSEEN_SECONDS", 0.3)
    made = job_of(Cluster(2, 8, node=1, hosts=("localhost", "n1")))  # as with xla: no --address
    return Job(made.recipe.model_copy(update={"corpus": made.recipe.corpus.model_copy(update={
        "decontaminate": made.recipe.corpus.decontaminate.model_copy(update={"enabled": False})})}),
        made.path, made.overrides, made.cluster)  # fmt: skip


def said(error: type[HunminError], job: Job) -> str:
    began = time.monotonic()
    with pytest.raises(error) as caught:
        wait_for_shards(job)
    assert type(caught.value) is error and time.monotonic() - began < 10
    return str(caught.value)


def test_the_failure_of_node_0_ends_the_wait(job: Job) -> None:
    def fail() -> None:
        time.sleep(0.2)
        with pytest.raises(HunminError), FirstNode(job.run):
            time.sleep(0.2)
            raise HunminError("exit code 2: hunmin run")

    thread = threading.Thread(target=fail)
    thread.start()
    text = said(HunminError, job)
    thread.join()
    assert "has failed: exit code 2: hunmin run" in text and "on all nodes again" in text


def test_a_node_0_that_is_silent_ends_it_too(job: Job) -> None:
    text = said(HunminError, job)
    assert "node 1 (" in text and "heard nothing of node 0 for" in text and "node-0.json is not there" in text


def test_a_failure_of_the_time_before_is_no_news(job: Job) -> None:
    with pytest.raises(HunminError), FirstNode(job.run):
        raise HunminError("a full disk")
    assert "heard nothing of node 0" in said(HunminError, job)


def test_as_long_as_node_0_works_it_is_waited_for(job: Job) -> None:
    with FirstNode(job.run):
        waits = threading.Thread(target=said, args=(UserError, job))
        waits.start()
        time.sleep(1.2)  # more than twice the silence
        assert waits.is_alive()
    waits.join(10)  # node 0 trains, and what it has made is not seen here
    assert not waits.is_alive()


def test_a_node_that_does_not_see_the_shards_of_a_node_0_that_trains_says_so_without_an_address(job: Job) -> None:
    with FirstNode(job.run):
        waits = threading.Timer(0.2, lambda: None)
        waits.start()
    path = job.run / waiting.MARK
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "state": "works"}))
    later = threading.Timer(0.1, path.write_text, (json.dumps(content),))
    later.start()
    text = said(UserError, job)
    assert "does not see what node 0 has made in runs/x (stage 'corpus': not done yet)" in text
    waits.join()
    later.join()


def test_inputs_are_not_read_again_and_again_while_nothing_is_made(
    job: Job, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def hash_them(*_: object, **__: object) -> list[object]:
        raise AssertionError("gigabytes of inputs are read at every look")

    monkeypatch.setattr(waiting, "judge_all", hash_them)
    assert "heard nothing of node 0" in said(HunminError, job)


def test_a_mark_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("[")
    assert waiting._read(tmp_path / "x") == {} == waiting._read(tmp_path / "y")
