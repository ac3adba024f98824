"""Uploads to the model hub by huggingface_hub: one commit and its tag, the same however often a push is repeated."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from time import sleep
from typing import Any, TypeVar

from common.errors import HunminError, UserError
from common.files import human_size
from common.hub_limits import limit_calls
from common.progress import say
from common.secrets import masked_urls

T = TypeVar("T")
Files = Mapping[str, str | Path]
"""Name that a file has in the repository → its text, or the place of its bytes."""
STEP = re.compile(r"step-(\d+)")
"""A tag of a checkpoint."""
EXPORTS = "hub-"
"""Beginning of the names of folders in a run's `logs` that hold an export on its way to the hub."""
ATTEMPTS = 6
"""How often an upload is tried."""
LONGEST_WAIT = 60.0
"""Seconds between two attempts, at most."""
AGAIN = (408, 409, 412, 425, 429, 500, 502, 503, 504)
"""Answers after which the same call may succeed: busy, in conflict with another commit, or broken for a while."""
NETWORK = {"TransportError", "ConnectionError", "TimeoutError", "RuntimeError", "TooManyRedirects", "JSONDecodeError"}
"""Exceptions of the network by name: the library's HTTP client has changed, and hf_xet raises plain RuntimeErrors."""
REFUSALS = {
    401: ("the token must be valid", "set HF_TOKEN to a valid token with write access, or run: hf auth login"),
    403: ("the token must have write access to the owner", "use a token with write access, or push to another owner"),
    413: ("the hub bounds the size of a file and of a repository", "free space there, or export with --dtype bf16"),
}
"""Status → rule and fix of answers that no further attempt changes; 404 hides what a token may not see."""


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
        repository = repository.replace("/", " ")
    if repository.count("/") != 1:
        raise UserError(
            f"'{repository}' is no name of a repository",
            "a repository is OWNER/NAME: letters, digits, - . _, none of them at an end",
            "name the owner too, as OWNER/NAME",
        )


def prepare(repository: str, private: bool = True) -> str:
    """Create a repository where there is none and return its address. What would refuse an upload shows here, before
    any work.

    Args:
        repository: OWNER/NAME.
        private: only its owner sees it.

    Raises:
        UserError: no network, token or write access; or the repository is public while a private one is wanted.
        HunminError: the hub did not answer, or not as it should.
    """
    check_name(repository)
    return again(f"push to {repository}", partial(_make, repository, private))


def steps_pushed(repository: str) -> set[int]:
    """Return the steps whose checkpoints a repository has, by its tags; none of one that is not there.

    Raises:
        HunminError: as `prepare`.
    """
    from huggingface_hub.errors import RepositoryNotFoundError

    def tags(api: Any) -> list[str]:
        try:
            return [ref.name for ref in api.list_repo_refs(repository).tags]
        except RepositoryNotFoundError:
            return []

    return {int(match[1]) for tag in again(f"look at {repository}", tags) if (match := STEP.fullmatch(tag))}


def push(
    files: Files, repository: str, message: str, tag: str | None = None, private: bool = True,
    ours: Collection[str] = (),
) -> str:  # fmt: skip
    """Upload files as one commit, tag it, and return the repository's address.

    Bytes that are there are not sent again, and unchanged files make no commit: a push that was stopped is repeated.
    A tag that stands elsewhere is moved. `main` never goes back: a checkpoint older than the newest one that is tagged
    is committed beside it and has its tag alone.

    Args:
        files: of the commit.
        repository: OWNER/NAME, checked.
        message: of the commit.
        tag: name for the commit, or None; `step-N` of a checkpoint.
        private: see `prepare`.
        ours: names and patterns of files that are removed where this commit does not bring them.

    Raises:
        UserError, HunminError: as `prepare`.
    """

    def attempt(api: Any) -> str:
        url = _make(repository, private, api)
        tags = {ref.name: ref.target_commit for ref in api.list_repo_refs(repository).tags}
        newest = max((int(match[1]) for name in tags if (match := STEP.fullmatch(name))), default=-1)
        branch = None
        if tag and (step := STEP.fullmatch(tag)) and int(step[1]) < newest:
            branch = f"hunmin-{tag}"
            api.create_branch(repository, branch=branch, revision=tags.get(tag), exist_ok=True)
            say(f"{repository}: main stays at step {newest:,}; {tag} is its tag alone")
        commit = _commit(api, repository, files, ours, message, branch)
        if tag and tags.get(tag) != commit:
            if tag in tags:
                api.delete_tag(repository, tag=tag)
            api.create_tag(repository, tag=tag, revision=commit)
        if branch:
            api.delete_branch(repository, branch=branch)
        return url

    return again(f"push to {repository}", attempt)


def describe(files: Files, repository: str, tag: str | None, private: bool) -> str:
    """Return what `push` would do, for a person to read."""
    sizes = {name: len(each.encode()) if isinstance(each, str) else each.stat().st_size for name, each in files.items()}
    lines = [f"{repository} ({'private' if private else 'public'})" + (f", tag {tag}" if tag else "")]
    lines += [f"  {human_size(size):>10}  {name}" for name, size in sizes.items()]
    return "\n".join([*lines, f"  {human_size(sum(sizes.values())):>10}  in all"])


def again(what: str, function: Callable[[Any], T]) -> T:
    """Return what a function of huggingface_hub's API returns, repeated as a whole while the hub is busy or away.

    The library itself repeats single transfers of bytes, and no commit and no tag.

    Args:
        what: it does, as "push to OWNER/NAME".
        function: of the API; repeating it must do no harm.

    Raises:
        UserError: the hub refuses it, or huggingface_hub is offline.
        HunminError: it failed `ATTEMPTS` times; of a hub that accepts calls and stays silent, twice.
    """
    from huggingface_hub import HfApi

    limit_calls()
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return function(HfApi())
        except Exception as error:
            # an upload in a thread wraps what went wrong
            fault, asked = _fault(what, error.__cause__ if type(error) is RuntimeError and error.__cause__ else error)
        if attempt == ATTEMPTS or (attempt > 1 and "Timeout" in fault):
            break
        wait = min(asked or 2.0 ** (attempt - 1), LONGEST_WAIT)
        say(f"{what}: {fault}; once more in {wait:.0f} s", style="yellow")
        sleep(wait)
    raise HunminError(
        f"could not {what}: {fault}, {attempt} times",
        fix="give the same command again later: what was uploaded is not sent again; where it stays so, check "
        "HF_ENDPOINT and the proxy's variables",
    )


def _fault(what: str, error: BaseException) -> tuple[str, float]:
    """Return of an error that may pass what it is, and the seconds that the hub asks to wait (0: none); raise what to
    tell of any other.
    """
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    if isinstance(error, OfflineModeIsEnabled):
        raise UserError(f"could not {what}: HF_HUB_OFFLINE is set", fix="unset HF_HUB_OFFLINE") from None
    kinds = [kind.__name__ for kind in type(error).__mro__]
    status = 0
    said = ""
    asked = ""
    if isinstance(error, HfHubHTTPError):
        status = error.response.status_code
        said = (error.server_message or "").strip()
        asked = error.response.headers.get("Retry-After", "")
    elif kinds[0] == "XetAuthenticationError":
        status = 401
    if status in AGAIN:
        return f"the hub answered {status}", float(asked) if asked.isdecimal() else 0.0
    if status:
        message = f"could not {what}: the hub answered {status}" + (f" ({said})" if said else "")
        if rule := REFUSALS.get(403 if status == 404 else status):
            raise UserError(message, *rule) from None
        raise HunminError(message, "the hub takes well-formed requests", "update huggingface_hub, or report this")
    if not NETWORK & {*kinds}:
        raise error
    # masked before it is cut: half of an address shows its password
    return f"the hub was not reached ({kinds[0]}: {masked_urls(' '.join(str(error).split()))[:200]})", 0.0


def _make(repository: str, private: bool, api: Any) -> str:
    from huggingface_hub import get_token

    if get_token() is None:
        raise UserError(f"there is no token to push to {repository} with", *REFUSALS[401])
    url = api.create_repo(repository, private=private, exist_ok=True)
    if private and not api.model_info(repository).private:
        raise UserError(
            f"{repository} is there already and is public",
            "an upload is private unless a public one is asked for",
            "--public (in a recipe hub.private=false), another repository, or make this one private on its page",
        )
    return str(url)


def _commit(
    api: Any, repository: str, files: Files, ours: Collection[str], message: str, branch: str | None
) -> str:  # fmt: skip
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete
    from huggingface_hub.utils import filter_repo_objects

    there = api.list_repo_files(repository, revision=branch) if ours else []
    gone = {*filter_repo_objects(there, allow_patterns=[*ours])} - {*files}
    contents = {name: each.encode() if isinstance(each, str) else each for name, each in files.items()}
    operations = [
        *(CommitOperationAdd(name, content) for name, content in contents.items()),
        *(CommitOperationDelete(name) for name in sorted(gone)),
    ]
    return str(api.create_commit(repository, operations, commit_message=message, revision=branch).oid)
