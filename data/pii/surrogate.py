"""Keyed pseudonyms: HMAC-SHA256 of (type, normalised original) under the key decides every character.

The normalised original is the value without what varies between spellings (separators, +82, letter case, full width,
digits written out), so one number written in several ways keeps one pseudonym, laid into each spelling (written.py).
The form and the separators stay. A pseudonym is an invented number where the type allows it:

| type | pseudonym | why it is invented |
|---|---|---|
| URL | host under example.com/.org/.net, invented path | names reserved for documentation (RFC 2606) |
| EMAIL | invented name at example.com/.org/.net | the same |
| MAC | random, locally administered bit set, no group bit | no maker's device has it (phones draw such ones anew) |
| IP | 192.0.2.0/24, 198.51.100.0/24, 203.0.113.0/24; 2001:db8::/32 | documentation ranges (RFC 5737, 3849) |
| CARD | first digit kept, the rest random | fails the Luhn check |
| RRN, FRN | month 13-19, day 32-39, G of the type | no such day, and the check digit fails in every form in use |
| DRIVER_LICENSE | region code 90-99; 세종 in the old form | codes end at 28; 세종 had no licences of that form |
| BRN | random | the check digit fails |
| TEL | prefix kept, then 0 and random digits; 15xx, 16xx, 18xx become 1500 | exchanges begin with 2-9, 1500 is free |
| BANK_ACCOUNT | first three digits 000 | no bank has branch or product 000 |
| PASSPORT | X and random digits (letter) | no passport type has X |
| HEALTH_INSURANCE | first digit 0 | certificates begin with 1-9 |
| VEHICLE_PLATE | class 00 or 000, letter of its group, other region, district; mission 000 | classes begin at 01 |
| ADDRESS | other province, invented district, town and road, as many digits | no such district; 세종 gets one too |
| MENTION | invented handle of twelve letters | not avoidable; an accidental hit has a chance below 1e-9 |
| NAME | invented surname and given name | no such surname |

Different originals can meet in one pseudonym where the form leaves little room: 762 IPv4 addresses, 10^4 plates per
letter, 10^6 to 10^7 telephone numbers per prefix.
"""

from __future__ import annotations

from data.pii.draw import Draw
from data.pii.types import BY_NAME


def surrogate(key: bytes, kind: str, value: str) -> str:
    """Return the pseudonym of a value in plain characters, in its own format and never equal to it."""
    record = BY_NAME[kind]
    normal = record.normalise(value)
    attempt = 0
    while True:
        made = record.make(value, normal, Draw(key, kind, normal, attempt))
        if record.normalise(made) != normal:
            return made
        attempt += 1


def normalise(kind: str, value: str) -> str:
    """Return the value without what varies between spellings of the same original."""
    return BY_NAME[kind].normalise(value)
