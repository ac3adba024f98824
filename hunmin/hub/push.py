"""Uploads to the model hub, through huggingface_hub: a commit and a tag, tried again where that helps."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from common.errors import HunminError, UserError
from common.files import human_size
from common.progress import say

ATTEMPTS = 6
"""How often a call is made before the hub is given up."""
LONGEST_WAIT = 60.0
"""Seconds between two attempts, at most."""
AGAIN = (408, 409, 412, 425, 429, 500, 502, 503, 504)
"""Answers after which the same call may succeed: busy, in conflict with another commit, or broken for a while."""

T = TypeVar("T")


@dataclass(frozen=True)
class Item:
    """A file of a commit."""

    name: str
    """Its path in the repository."""
    content: Path | bytes

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.content) if isinstance(self.content, bytes) else self.content.stat().st_size


def push(
    items: Sequence[Item],
    repository: str,
    message: str,
    tag: str | None = None,
    private: bool = True,
    sleep: Callable[[float], None] = time.sleep,
) -> str:
    """Upload files as one commit, tag it, and return the address of the repository.

    The repository is made if there is none. Large files that an earlier attempt has brought there are not sent again,
    and files that have not changed make no commit. A tag that stands elsewhere is moved.

    Args:
        items: the files.
        repository: OWNER/NAME.
        message: of the commit.
        tag: name for the commit, or None.
        private: whether a new repository is seen by its owner alone; one that is there stays as it is.
        sleep: waits so many seconds between attempts.

    Raises:
        UserError: there is no network or no token, or the token may not do it.
        HunminError: the hub did not answer, or not as it should.
    """
    from huggingface_hub import CommitOperationAdd, HfApi, get_token

    check_name(repository)
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "TRUE", "YES", "ON"):
        raise UserError(
            "HF_HUB_OFFLINE is set",
            "an upload needs the network",
            f"unset HF_HUB_OFFLINE, then push {repository} again",
        )
    if get_token() is None:
        raise UserError(
            f"there is no token to push to {repository} with",
            "the model hub takes uploads of known users alone; tokens come from the environment or a login",
            "set HF_TOKEN to a token with write access, or run: hf auth login",
        )
    api = HfApi()

    def call(what: str, function: Callable[[], T]) -> T:
        return _again(what, repository, function, sleep)

    url = call("make the repository", lambda: api.create_repo(repository, private=private, exist_ok=True))
    if private and not call("look at the repository", lambda: api.model_info(repository)).private:
        say(f"warning: {repository} is there already and is public; it stays so", style="yellow")
    # a fresh list for each attempt: huggingface_hub notes in it what it has sent
    commit = call(
        "upload",
        lambda: api.create_commit(
            repository, [CommitOperationAdd(item.name, item.content) for item in items], commit_message=message
        ),
    )
    if tag:
        call(f"set the tag {tag}", lambda: _set_tag(api, repository, tag, commit.oid))
    return str(url)


def check_name(repository: str) -> None:
    """Refuse what is no name of a repository.

    Raises:
        UserError: it is not OWNER/NAME in the hub's characters.
    """
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    try:
        validate_repo_id(repository)
    except HFValidationError:
        pass
    else:
        if repository.count("/") == 1:
            return
    raise UserError(
        f"'{repository}' is no name of a repository",
        "a repository is OWNER/NAME: letters, digits, - . _, none of them at an end",
        "name the owner too: --push-to-hub OWNER/NAME",
    )


def _set_tag(api: Any, repository: str, tag: str, commit: str) -> None:
    """Have a tag name a commit."""
    there = {ref.name: ref.target_commit for ref in api.list_repo_refs(repository).tags}
    if there.get(tag) == commit:
        return
    if tag in there:
        api.delete_tag(repository, tag=tag)
    api.create_tag(repository, tag=tag, revision=commit)


def _again(what: str, repository: str, function: Callable[[], T], sleep: Callable[[float], None]) -> T:
    """Return what a call returns, made again while the hub is busy or not reached.

    Raises:
        UserError: the hub refuses it.
        HunminError: it did not work `ATTEMPTS` times, or the hub answers something that no attempt will change.
    """
    from huggingface_hub.errors import HfHubHTTPError

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
            if not _is_network(error):
                raise
            fault, wait = f"the hub was not reached ({type(error).__name__})", _asked_wait({}, attempt)
        if attempt + 1 < ATTEMPTS:
            say(f"{what}: {fault}; once more in {wait:.0f} s", style="yellow")
            sleep(wait)
    raise HunminError(
        f"could not {what} {repository}: {fault}, {ATTEMPTS} times",
        "an upload needs the hub",
        "give the same command again when it is to be reached; what was uploaded is not sent again",
    )


def _is_network(error: BaseException | None) -> bool:
    """Return whether an exception, or what it came from, is one of the network: the hub's library has changed its own
    (requests, httpx), so that they are known by their names."""
    names = ("Timeout", "ConnectError", "ConnectionError", "NetworkError", "ReadError", "WriteError", "ProtocolError")
    while error is not None:
        if isinstance(error, (ConnectionError, TimeoutError)) or type(error) is RuntimeError:  # hf_xet's
            return True
        if any(cls.__name__.endswith(names) for cls in type(error).__mro__):
            return True
        error = error.__cause__ or error.__context__
    return False


def _asked_wait(headers: Any, attempt: int) -> float:
    """Return the seconds that the hub asks to wait, or twice as many as before the last attempt."""
    try:
        asked = float(headers.get("Retry-After", ""))
    except ValueError:
        asked = 2.0**attempt
    return min(max(asked, 0.0), LONGEST_WAIT)


def _refused(what: str, repository: str, status: int, error: Any) -> HunminError:
    """Return what to tell of an answer that no further attempt will change."""
    said = (getattr(error, "server_message", None) or "").strip()
    told = f"could not {what} {repository}: the hub answered {status}" + (f" ({said})" if said else "")
    owner = repository.partition("/")[0]
    if status == 401:
        return UserError(told, "the token must be valid", "set HF_TOKEN to a valid token, or run: hf auth login")
    if status in (403, 404):
        return UserError(
            told,
            f"the token must have write access to {owner}",
            "make a token with write access, or push to an owner that you may write to",
        )
    if status == 413:
        return UserError(
            told,
            "the hub bounds the size of a file and of a repository",
            "free space there, or export with --dtype bf16",
        )
    return HunminError(told, "the hub takes well-formed requests", "update huggingface_hub, or report this")


def describe(items: Sequence[Item], repository: str, tag: str | None, private: bool) -> str:
    """Return what `push` would do, for a person to read."""
    total = sum(item.size for item in items)
    lines = [f"{repository} ({'private' if private else 'public'})" + (f", tag {tag}" if tag else "")]
    lines += [f"  {human_size(item.size):>10}  {item.name}" for item in items]
    return "\n".join([*lines, f"  {human_size(total):>10}  in all"])
