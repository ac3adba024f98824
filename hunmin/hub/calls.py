"""Calls to the model hub, made again while it is busy or not reached, and what a person is told of those it refuses."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, TypeVar

from common.errors import HunminError, UserError
from common.hub_limits import limit_calls
from common.progress import say

ATTEMPTS = 6
"""How often a call is made before the hub is given up."""
LONGEST_WAIT = 60.0
"""Seconds between two attempts, at most."""
AGAIN = (408, 409, 412, 425, 429, 500, 502, 503, 504)
"""Answers after which the same call may succeed: busy, in conflict with another commit, or broken for a while."""
NETWORK = ("Timeout", "ConnectError", "ConnectionError", "NetworkError", "ReadError", "WriteError", "ProtocolError")
"""Ends of the names of what the hub's library raises: its own have changed (requests, httpx)."""
SILENT_ATTEMPTS = 2
"""How often a call is made to a hub that takes it and does not answer."""
XET_NETWORK = re.compile(
    r"connect|network|time[d ]*-?out|\bdns\b|resolve|unreachable|reset by|broken pipe|\b(408|429|50[0234])\b"
    r"|error sending request|end of file|reqwest",
    re.IGNORECASE,
)
"""In the text of the plain RuntimeError by which hf_xet tells of all its faults: one of the network."""

T = TypeVar("T")


def again(what: str, repository: str, function: Callable[[], T], sleep: Callable[[float], None]) -> T:
    """Return what a call returns, made again while the hub is busy or not reached.

    Args:
        what: the call does, as "upload".
        repository: to which.
        function: the call.
        sleep: waits so many seconds between attempts.

    Raises:
        UserError: the hub refuses it.
        HunminError: it did not work `ATTEMPTS` times, or the hub answers something that no attempt will change.
    """
    from huggingface_hub.errors import HfHubHTTPError

    limit_calls()
    attempts = ATTEMPTS
    for attempt in range(ATTEMPTS):
        try:
            return function()
        except HfHubHTTPError as error:
            status = error.response.status_code
            if status not in AGAIN:
                raise _refused(what, repository, status, error) from None
            fault, wait = f"the hub answered {status}", _asked_wait(error.response.headers, attempt)
        except Exception as error:
            if type(error).__name__ == "XetAuthenticationError":
                raise _refused(what, repository, 401, error) from None
            if strange := _strange(error):
                raise HunminError(
                    f"could not {what} {repository}: {strange}",
                    "the hub answers in JSON, at its own address",
                    "see what HF_ENDPOINT and the proxy's variables name; a login page of a network answers so, too",
                ) from None
            if not is_network(error):
                raise
            fault, wait = f"the hub was not reached ({told(error)})", _asked_wait({}, attempt)
            attempts = SILENT_ATTEMPTS if "Timeout" in type(error).__name__ else ATTEMPTS
        if attempt + 1 >= attempts:
            break
        say(f"{what}: {fault}; once more in {wait:.0f} s", style="yellow")
        sleep(wait)
    raise HunminError(
        f"could not {what} {repository}: {fault}, {attempt + 1} times",
        "an upload needs the hub",
        "give the same command again when it is to be reached; what was uploaded is not sent again",
    )


def _strange(error: BaseException) -> str:
    """Return what is the matter with an answer that no hub gives, "" where nothing is."""
    if type(error).__name__ == "TooManyRedirects":
        return "its answers lead round in a circle"
    if isinstance(error, json.JSONDecodeError) or type(error).__name__ == "JSONDecodeError":
        return "its answer is no JSON"
    return ""


def is_network(error: BaseException | None) -> bool:
    """Return whether an exception, or what it came from, is one of the network."""
    while error is not None:
        if isinstance(error, (ConnectionError, TimeoutError)):
            return True
        if any(cls.__name__.endswith(NETWORK) for cls in type(error).__mro__):
            return True
        if type(error) is RuntimeError and XET_NETWORK.search(str(error)):
            return True
        error = error.__cause__ or error.__context__
    return False


def told(error: BaseException) -> str:
    """Return an exception in a line: its kind and its text, without what an address in it is signed with."""
    text = re.sub(r"(\w+://)(?:[^\s/@]*@)?([^\s?#]*)[?#]?\S*", r"\1\2", " ".join(str(error).split()))
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__


def _asked_wait(headers: Any, attempt: int) -> float:
    """Return the seconds that the hub asks to wait, or twice as many as before the last attempt."""
    try:
        asked = float(headers.get("Retry-After", ""))
    except ValueError:
        asked = math.nan
    if not math.isfinite(asked):
        asked = 2.0**attempt
    return min(max(asked, 0.0), LONGEST_WAIT)


def _refused(what: str, repository: str, status: int, error: Any) -> HunminError:
    """Return what to tell of an answer that no further attempt will change."""
    said = (getattr(error, "server_message", None) or "").strip()
    message = f"could not {what} {repository}: the hub answered {status}" + (f" ({said})" if said else "")
    owner = repository.partition("/")[0]
    if status == 401:
        return UserError(message, "the token must be valid", "set HF_TOKEN to a valid token, or run: hf auth login")
    if status in (403, 404):
        return UserError(
            message,
            f"the token must have write access to {owner}",
            "make a token with write access, or push to an owner that you may write to",
        )
    if status == 413:
        return UserError(
            message,
            "the hub bounds the size of a file and of a repository",
            "free space there, or export with --dtype bf16",
        )
    return HunminError(message, "the hub takes well-formed requests", "update huggingface_hub, or report this")
