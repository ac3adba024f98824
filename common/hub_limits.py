"""Time limits of calls to the model hub: huggingface_hub waits without end for one that takes a call and is silent."""

from __future__ import annotations

from functools import cache
from typing import Any

ASK_SECONDS, SEND_SECONDS = 10.0, 100.0
"""For which nothing may come or go in a call that asks, and in one that changes something: the hub works before it
answers a commit."""


@cache
def limit_calls() -> None:
    """Give the calls of huggingface_hub in this process a time limit; those that have one of their own keep it."""
    from huggingface_hub import get_session, set_client_factory

    session = get_session()
    make, hooks = type(session), session.event_hooks

    def limit(request: Any) -> None:
        seconds = ASK_SECONDS if request.method in ("GET", "HEAD") else SEND_SECONDS
        timeouts = request.extensions.get("timeout") or {}
        request.extensions["timeout"] = {
            name: timeouts.get(name) or seconds for name in ("connect", "read", "write", "pool")
        }

    hooks = {**hooks, "request": [*hooks["request"], limit]}
    set_client_factory(lambda: make(event_hooks=hooks, follow_redirects=True, timeout=None))
