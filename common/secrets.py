"""Secrets: masked in all that is written, printed or sent; they stay in the memory of the process that needs them.

What logs in: user and password of a URL, parameters that sign one, values of `Authorization`, services' keys, and
settings and variables whose name says that they are secret (`corpus.pii.key`, `…_TOKEN`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

MASK = "***"
"""Stands where a secret was; a URL with it opens nothing."""
SERVICE_KEYS = r"\bhf_[A-Za-z0-9]{30,}|\b(?:ghp|gho|github_pat)_\w{30,}|\bAKIA[0-9A-Z]{16}\b|\bsk-[\w-]{32,}"
"""Shapes of keys that services give out."""

_LOGIN = re.compile(r"(?<=://)(?:[^\s/?#]+|[^\s/?#@]*:(?!\d{1,5}[/?#])[^\s@]{0,200})@")
_PARAMETER = re.compile(r"(?<=[?&#;])([\w.%~-]+)=([^\s&#\"'<>`()\[\]{}]+)")
_SIGNS = re.compile(
    r"x-(?:amz|goog|ms|oss|cos|obs)-.*|.*(?:sig|signature|token|key|secret|passwd|password|pwd|credentials?|auth"
    r"|authorization|accessid|key-?id|key-pair-id|policy|expires|session|hmac|jwt)",
    re.IGNORECASE,
)
"""Names of a URL's parameters that sign it, or say until when it is signed."""
_HEADER = re.compile(r"(\bauthorization\b[\"']?\s*[:=]\s*[\"']?(?:\w+\s+)?|\bbearer\s+)[\w.~+/=-]{8,}", re.IGNORECASE)
_SERVICE = re.compile(SERVICE_KEYS)
_NAME = (
    r"(?:pii\W{1,6}key|passwd|password|secret|(?:api|access|private|secret)[_-]?key"
    r"|(?:api|auth|access|session|security|refresh)[_-]?token|[A-Z]_(?:KEY|TOKEN|SECRET|PASSWORD))"
)
_SIGN = r"(?:[\"']\s?:\s?|[\"']?\s?=\s?|(?<=password):\s?|(?<=key):\s?)"
_NAMED = re.compile(rf"({_NAME}{_SIGN})(?!\$[({{A-Z])(\"[^\"]*\"|'[^']*'|[^\s,;)}}\]]+)")
_SETTING = re.compile(rf"{_NAME}$")


def masked(text: str) -> str:
    """Return a text for people in which each secret is `MASK`.

    >>> masked("cannot open s3://me:pw@h/a?X-Amz-Signature=12&part=3: Authorization: Bearer abcdefgh1")
    'cannot open s3://***@h/a?X-Amz-Signature=***&part=3: Authorization: Bearer ***'
    """
    return _NAMED.sub(lambda found: found[1] + MASK, masked_urls(text))


def masked_urls(text: str) -> str:
    """Return a setting or a name in which each secret that can be recognised without the setting's name is `MASK`.

    A URL that was signed anew gives the same text.
    """
    if "://" in text:
        text = _LOGIN.sub(f"{MASK}@", text)
    if "=" in text:
        text = _PARAMETER.sub(_masked_parameter, text)
    return _SERVICE.sub(MASK, _HEADER.sub(lambda found: found[1] + MASK, text))


def _masked_parameter(found: re.Match[str]) -> str:
    return f"{found[1]}={MASK}" if _SIGNS.fullmatch(unquote(found[1])) else found[0]


def masked_words(words: Iterable[str]) -> list[str]:
    """Return the words of a command; of `corpus.pii.key=…` all that follows the sign is a secret.

    >>> masked_words(["hunmin", "run", "corpus.pii.key=two words"])
    ['hunmin', 'run', 'corpus.pii.key=***']
    """
    split = [word.partition("=") for word in words]
    return [
        f"{name}={MASK}" if sign and _SETTING.search(name) else masked(name + sign + value)
        for name, sign, value in split
    ]


def masked_tree(tree: Any) -> Any:
    """Return a JSON-like tree with `masked_urls` of each of its strings."""
    if isinstance(tree, str):
        return masked_urls(tree)
    if isinstance(tree, dict):
        return {name: masked_tree(value) for name, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [masked_tree(value) for value in tree]
    return tree
