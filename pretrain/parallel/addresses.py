"""This machine's address, as those of a network reach it."""

from __future__ import annotations

import socket


def own_address(meeting: str) -> str:
    """Return this machine's address by which those that reach `meeting` reach it: of the interface that leads there."""
    family = socket.AF_INET6 if ":" in meeting else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((meeting, 9))  # sends nothing
            own: str = probe.getsockname()[0]
        except OSError:  # no route, or a name of IPv6 alone
            return meeting
    return meeting if own == "::1" or own.startswith("127.") else own
