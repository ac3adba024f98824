"""Addresses: where the processes of a run meet, as users give them, programs take them and this machine has them."""

from __future__ import annotations

import ipaddress
import re

from common.errors import UserError

PORT = 29500
"""Where none is given: what torchrun is used to."""


def parse_address(text: str) -> tuple[str, int]:
    """Return host and port of "HOST", "HOST:PORT", "[IPV6]" or "[IPV6]:PORT".

    >>> parse_address("n0:29400"), parse_address("n0"), parse_address("[fd00::1]:29400")
    (('n0', 29400), ('n0', 29500), ('fd00::1', 29400))

    Raises:
        UserError: it is none of these.
    """
    found = re.fullmatch(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[\w.-]+))(?::(?P<port>[0-9]{1,5}))?", text)
    host = found and (found["six"] or found["name"])
    port = int(found["port"] or PORT) if found else 0
    if not found or not host or not 0 < port < 2**16 or (found["six"] and not _is_six(host)):
        raise UserError(
            f"--address {text}",
            "it is HOST or HOST:PORT, with a port from 1 to 65535; an IPv6 address stands in brackets",
            "e.g. --address node0:29500, --address 10.0.0.1:29500 or --address [fd00::1]:29500",
        )
    return host, port


def _is_six(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).version == 6
    except ValueError:
        return False


def with_port(host: str, port: int) -> str:
    """Return both in one word, an IPv6 address in brackets.

    >>> with_port("n0", 1), with_port("fd00::1", 1)
    ('n0:1', '[fd00::1]:1')
    """
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
