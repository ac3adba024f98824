"""A hub of this process, to which huggingface_hub speaks in it and in processes that it starts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from hub_server import TOKEN, Hub


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    import huggingface_hub.constants as constants
    import huggingface_hub.utils._http as http

    with Hub() as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        for name, value in (("HF_ENDPOINT", server.url), ("HF_HUB_DISABLE_XET", "1"), ("HF_HUB_OFFLINE", "0")):
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)  # its protocol is hf_xet's own, in Rust
        monkeypatch.setattr(http.time, "sleep", lambda seconds: None)  # the library's own attempts
        yield server
