"""Secrets: masked in all that is written, printed or sent; they stay in the memory of the process that needs them.

A secret is told by its form (user and password of a URL, parameters that sign one, values of `Authorization`, services'
keys), by its name (`corpus.pii.key`, `…_TOKEN`), or by its value: what the environment and the recipe hold under such
names is masked wherever else it stands in a text for people.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote, unquote

MASK = "***"
"""Stands where a secret was; a URL with it opens nothing."""
SERVICE_KEYS = (
    r"\bhf_[A-Za-z0-9]{16,}|\b(?:ghp|gho|ghu|ghs|github_pat)_\w{30,}|\bglpat-[\w-]{20,}|\bwandb_v1_\w{20,}"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[\w-]{35}|\bsk-[\w-]{32,}|\bxox[abprs]-[\w-]{20,}"
    r"|\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*"
)
"""Shapes of keys that services give out."""
SECRET_NAMES = re.compile(r"(TOKEN|KEY|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL)S?(?=$|[_\d])", re.IGNORECASE)
"""Of the environment's variables whose values never leave."""
LONG_ENOUGH = 8
"""Characters from which a secret is looked for by its value: a shorter one would be found in any text."""
MOST_KNOWN = 200
"""Secrets that are known by their values; later ones are told by form and name alone."""

# each sign also percent-encoded, once or more often, as in the parameter of another URL
_COLON, _SLASH, _AT, _EQUALS = (
    rf"(?:{sign}|%(?:25)*{code})" for sign, code in ((":", "3a"), (r"[/\\]", "2f"), ("@", "40"), (r"=|\\u003d", "3d"))
)
_USER = r"(?:(?!%(?:25)*(?:2f|3f|23))[^\s/?#\"<>]){1,4000}"
_NO_PORT = rf"[^\s/?#@\"<>:\[]{{0,64}}?{_COLON}(?!\d{{1,5}}(?:[/?#\s\"',;)\]}}]|$))"
_LOGIN = re.compile(
    rf"((?<=[\w+.-]{{2}}){_COLON}{_SLASH}+|(?<![\w:/])//|:{_SLASH}{{2,}})"  # Path() leaves one slash of two
    rf"(?:{_USER}{_AT}(?=[\w-]+\.[\w.-]|[\w.-]+:\d|localhost\b|\[|(?!\S{{0,300}}@))"
    rf"|{_NO_PORT}(?:(?!:/|%3a%2f|',)[^\s\"<>]){{1,200}}{_AT}(?<!/@)"  # a password with a slash
    rf"|{_USER}{_AT}"
    rf"|{_NO_PORT}(?=\S)(?:(?!:/)[^\n\"<>@']){{1,100}}@)",  # one with a blank
    re.IGNORECASE,
)
_BARE_LOGIN = re.compile(
    r"(?<![\w/:@.%+-])(?!(?:hf|mailto|sha256):)[\w.%+-]{1,100}:(?!\\)[^\s/@\"'<>:,;(){}\[\]]{3,200}@(?=[\w\[(])(?!sha256:)"
)
"""A login without its scheme."""
_PARAMETER = re.compile(
    rf"(?:[?&#;]|%(?:25)*(?:3f|26|23|3b)|\\u0026|(?<![\w-])(?=x-(?:amz|goog)-|sig=))([\w.%~-]{{1,100}}?){_EQUALS}",
    re.IGNORECASE,
)
_VALUE = re.compile(r"(?:(?!%(?:25)*26|\\u0026|,\w+:/)[^\s&#\"'<>`()\[\]{}])*", re.IGNORECASE)
"""What follows the name of a parameter."""
_SIGNS = re.compile(
    r"x-(?:amz|goog|ms|oss|cos|obs)-.*|.*(?:sig|signature|token|key|secret|pass|passwd|password|passphrase|pwd"
    r"|credentials?|auth|authorization|accessid|key-?id|key-pair-id|policy|expires|session|hmac|jwt)",
    re.IGNORECASE,
)
"""Names of a URL's parameters that sign it, or say until when it is signed."""
_HEADER = re.compile(
    r"(\bauthorization\b[\"']?\s*[:=]\s*[\"']?(?:(?:bearer|basic|token|digest|apikey)\s+)?|\bbearer(?:\s+|%20|\+))"
    r"(?!(?:bearer|basic|digest|apikey) \*)[\w.~+/=-]{6,}"
    r"|(\b(?:x-api-key|x-auth-token|x-goog-api-key|private-token|api-key)[\"']?\s*[:=]\s*[\"']?)[^\s\"',;}]+"
    r"|(\bcookie[\"']?\s*[:=]\s*[\"']?)[^\n\"']+|(\bbasic\s+)(?=[a-z+/]*[0-9=])[\w+/]{8,}={0,2}",
    re.IGNORECASE,
)
_SERVICE = re.compile(SERVICE_KEYS)
_NAME = (
    r"(?:pii[^\n]{0,200}?\bkey|(?i:passwd|password|passphrase|(?:api|access|account|private|secret)[_-]?key"
    r"|(?:api|auth|access|session|security|refresh|hf|hub)[_-]?token|secret)|[A-Z]_(?:KEY|TOKEN|SECRET|PASSWORD))"
)
_SIGN = (
    r"(?:[\"']\s?:\s?|[\"']?\s?=\s?|(?<=password):\s?|(?<=key):\s?|(?<=[_-]token):\s?|(?<=[_-]TOKEN):\s?"
    r"|(?<=[_-]secret):\s?)"
)
_PLAIN = r"\$[({A-Z]|(?:null|true|false|None|True|False)\b"
"""What is no secret though its name says so: a variable of a shell, nothing."""
_NAMED = re.compile(rf"({_NAME}{_SIGN})(?!{_PLAIN})(?:(\\?[\"'])(?:(?!\2)[^\n])*\2|[\"'][^\n]*|[^\s,;)}}\]\"'\\]+)")
_ASSIGNED = re.compile(rf"({_NAME}=)(?!{_PLAIN})[^\s,;)}}\]\"'\\&]+")
_SETTING = re.compile(rf"(?:{_NAME}|(?:^|\.)pii)$")
"""Names of settings; the section `pii` itself stands for a key that was written one level too high."""
_LONE = re.compile(r"(?<![\w@/.:\"-])(?<!commit )(?<!revision )(?<!revision: )[0-9a-f]{40}(?![\w/.:\"-])")
"""A key of wandb looks like a commit, which stands in a name (`OWNER/NAME@…`) or in JSON."""

_known: dict[str, re.Pattern[str] | None] = {}
"""Secrets known by their values; the last entry has the pattern of all, once it was needed."""


def masked(text: str) -> str:
    """Return a text for people in which each secret is `MASK`.

    >>> masked("cannot open s3://me:pw@h/a?X-Amz-Signature=12&part=3: Authorization: Bearer abcdefgh1")
    'cannot open s3://***@h/a?X-Amz-Signature=***&part=3: Authorization: Bearer ***'
    """
    if pattern := _known_pattern():
        text = pattern.sub(MASK, text)
    text = masked_urls(text)
    if "@" in text:
        text = _BARE_LOGIN.sub(f"{MASK}@", text)
    return _LONE.sub(MASK, _NAMED.sub(_masked_value, text))


def masked_setting(text: str) -> str:
    """Return the value of a setting in which each secret is `MASK`, also a login without its scheme and a key alone."""
    return _LONE.sub(MASK, masked_logins(text))


def masked_logins(text: str) -> str:
    """Return what `masked_setting` returns, but for a key alone, which may be a commit."""
    return _BARE_LOGIN.sub(f"{MASK}@", masked_urls(text))


def masked_urls(text: str) -> str:
    """Return a setting or a name in which each secret that can be recognised without the setting's name is `MASK`.

    A URL that was signed anew gives the same text; JSON and YAML stay what they are.
    """
    if "@" in text or "%" in text:
        text = _LOGIN.sub(rf"\g<1>{MASK}@", text)
    if "=" in text:
        text = _ASSIGNED.sub(rf"\g<1>{MASK}", text)
    if "=" in text or "%" in text or "u003" in text:
        text = _without_signatures(text)
    return _SERVICE.sub(MASK, _HEADER.sub(lambda match: f"{match[match.lastindex or 0]}{MASK}", text))


def _without_signatures(text: str) -> str:
    parts, at = [], 0
    for parameter in _PARAMETER.finditer(text):
        if parameter.start() >= at and _SIGNS.fullmatch(unquote(parameter[1])):
            parts.append(text[at : parameter.end()])
            at = _VALUE.match(text, parameter.end()).end()  # type: ignore[union-attr]  # it may be empty
            parts.append(MASK if at > parameter.end() else "")
    return "".join([*parts, text[at:]])


def _masked_value(match: re.Match[str]) -> str:
    return f"{match[1]}{match[2] or ''}{MASK}{match[2] or ''}"


def masked_words(words: Iterable[str]) -> list[str]:
    """Return the words of a command; of `corpus.pii.key=…` all that follows the sign is a secret.

    >>> masked_words(["hunmin", "run", "corpus.pii.key=two words"])
    ['hunmin', 'run', 'corpus.pii.key=***']
    """
    split = [word.partition("=") for word in words]
    return [
        f"{name}={MASK}" if sign and is_secret_name(name) else masked(name + sign + value)
        for name, sign, value in split
    ]


def is_secret_name(name: str) -> bool:
    """Return whether what a setting or variable of this name holds is a secret.

    >>> is_secret_name("corpus.pii.key"), is_secret_name("corpus.pii.key_env")
    (True, False)
    """
    return _SETTING.search(name) is not None


def masked_tree(tree: Any, name: str = "") -> Any:
    """Return a JSON-like tree with `masked_urls` of each of its strings, and without the values of secret names.

    Args:
        tree: strings, numbers, lists and mappings.
        name: dotted, of what the tree stands under.
    """
    if isinstance(tree, str):
        return MASK if tree and is_secret_name(name) else masked_urls(tree)
    if isinstance(tree, dict):
        return {masked_tree(key): masked_tree(value, f"{name}.{key}") for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [masked_tree(value, name) for value in tree]
    return tree


def remember(tree: Any, name: str = "") -> None:
    """Mask the secrets of a JSON-like tree by their values from now on, whatever becomes of the text around them.

    Args:
        tree: settings as written, or words of a command line.
        name: dotted, of what the tree stands under.
    """
    if isinstance(tree, dict):
        for key, value in tree.items():
            remember(value, f"{name}.{key}")
    elif isinstance(tree, (list, tuple)):
        for value in tree:
            remember(value, name)
    elif isinstance(tree, str):
        word, sign, value = tree.partition("=")
        _remember(tree if is_secret_name(name) else value if sign and is_secret_name(word) else "")
        for login in _LOGIN.finditer(tree):
            _remember(re.split(_AT + "$", login[0][len(login[1]) :], flags=re.IGNORECASE)[0].partition(":")[2])


def remember_environment() -> None:
    """Mask the values of this environment's secret variables from now on."""
    for name, value in os.environ.items():
        if SECRET_NAMES.search(name) and not value.startswith(("/", "~", ".")):  # the place of a secret is none
            _remember(value)


def _remember(value: str) -> None:
    if len(value) >= LONG_ENOUGH and len(_known) < MOST_KNOWN:
        _known[value] = None


def _known_pattern() -> re.Pattern[str] | None:
    if not _known:
        return None
    last = next(reversed(_known))
    if _known[last] is None:
        _known[last] = re.compile(
            "|".join(re.escape(spelling) for spelling in sorted(_spellings(), key=len, reverse=True))
        )
    return _known[last]


def _spellings() -> Iterator[str]:
    """Yield the known secrets, as they are and as they stand in a URL."""
    for value in _known:
        yield from {value, quote(value, safe=""), unquote(value)}
