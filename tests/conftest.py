"""What all tests share."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

# a busy machine takes its time
settings.register_profile("house", deadline=None)
settings.load_profile("house")

# what is claimed to the bit holds on CPUs: kernels of a GPU add up in no fixed order; `make gpu-tests` asks for its own
if "HUNMIN_GPU_TESTS" not in os.environ:
    os.environ["CUDA_VISIBLE_DEVICES"] = ""

# beside other tests, threads of one wait for each other many times as long as they compute
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the secrets of the tests before."""
    monkeypatch.setattr("common.secrets._known", {})


@pytest.fixture(autouse=True)
def _no_own_tasks() -> Iterator[None]:
    """Take a user's tasks out of the register again."""
    yield
    if tasks := sys.modules.get("klue.tasks"):
        for name in [name for name, suite in tasks.SUITE_OF.items() if suite == tasks.OWN]:
            del tasks.TASKS[name], tasks.SUITE_OF[name]


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep what is known of files out of the user's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


def pytest_configure(config: pytest.Config) -> None:
    """Undo what a shell does to jobs in the background: they ignore SIGINT, and so would every command under test."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
