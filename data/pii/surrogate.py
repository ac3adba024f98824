"""Keyed pseudonyms: HMAC-SHA256 of (type, normalised original) under the key decides every character.

The normalised original is the value without what varies between spellings (separators, +82, letter case), so one
number written in several ways keeps one pseudonym, laid into each spelling. The form and the separators stay.
A pseudonym is nobody's where the type allows it:

| type | pseudonym | why it is nobody's |
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
| VEHICLE_PLATE | class 00 or 000, letter of the same group, other region; mission 000 | classes begin with 01 and 100 |
| ADDRESS | other province, invented district, town and road, as many digits | no such district; 세종 gets one too |
| MENTION | invented handle of twelve letters | not avoidable; an accidental hit has a chance below 1e-9 |

Different originals can meet in one pseudonym where the form leaves little room: 762 IPv4 addresses, 10^4 plates per
letter, 10^6 to 10^7 telephone numbers per prefix.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from data.pii.checks import brn_check_digit, frn_check_digits, luhn_ok, rrn_check_digit
from data.pii.patterns import EXACT
from data.pii.places import ADDRESS, PLATE_REGIONS, PROVINCES

_RESERVED_DOMAINS = ("example.com", "example.org", "example.net")
_DOCUMENTATION_V4 = [int(ip_network(net)[0]) for net in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")]
_DOCUMENTATION_V6 = int(IPv6Address("2001:db8::"))
_CONSONANTS, _VOWELS = "bdghjkmnprstyw", "aeiou"
_USAGE_GROUPS = ("가나다라마거너더러머버서어저고노도로모보소오조구누두루무부수우주", "바사아자", "배", "하허호")
_STEMS = (
    "가온",
    "나래",
    "다솜",
    "라온",
    "마루",
    "미르",
    "바론",
    "새솔",
    "아람",
    "은솔",
    "자람",
    "찬솔",
    "초롱",
    "큰솔",
    "푸름",
    "한별",
    "해솔",
    "흰들",
)
_BUILDING = re.compile("[가-힣A-Za-z0-9]+(아파트|빌라|빌딩|타워|오피스텔|맨션|상가)")
_URL_PARTS = re.compile(r"(?P<scheme>[a-z]+://)?(?P<www>www\.)?(?P<host>[^/?#]*)(?P<path>.*)", re.I | re.DOTALL)
_HEX = re.compile("[0-9A-Fa-f]")


class Draw:
    """A stream of choices that is a function of the key, the type and the normalised original.

    Args:
        attempt: 0, or a higher number when the pseudonym before came out equal to the original.
    """

    def __init__(self, key: bytes, kind: str, normal: str, attempt: int = 0) -> None:
        self.attempt = attempt
        message = f"{kind}\0{attempt}\0{normal}".encode("utf-8", "surrogatepass")
        self._pool = int.from_bytes(hmac.new(key, message, hashlib.sha256).digest(), "big")

    def below(self, bound: int) -> int:
        """Return a number in 0..bound-1."""
        self._pool, value = divmod(self._pool, bound)
        return value

    def digits(self, length: int) -> str:
        """Return that many decimal digits."""
        return f"{self.below(10**length):0{length}d}" if length else ""

    def name(self, syllables: int) -> str:
        """Return an invented lower-case name of two letters a syllable."""
        return "".join(_CONSONANTS[self.below(14)] + _VOWELS[self.below(5)] for _ in range(syllables))


def surrogate(key: bytes, kind: str, value: str) -> str:
    """Return the pseudonym of a value of the given type, in the value's own format and never equal to it.

    Args:
        kind: one of PII_TYPES.
        value: the original as it stands in the text, as found by `find_spans`.
    """
    normal = normalise(kind, value)
    attempt = 0
    while True:
        made = _MAKERS[kind](value, normal, Draw(key, kind, normal, attempt), key)
        if normalise(kind, made) != normal:
            return made
        attempt += 1


def normalise(kind: str, value: str) -> str:
    """Return the value without what varies between spellings of the same original."""
    if kind == "TEL":
        return _national(value)
    if kind == "IP":
        return ip_address(value).exploded
    if kind == "MAC":
        return "".join(_HEX.findall(value)).lower()
    if kind == "ADDRESS":
        return _plain_address(value)
    if kind in ("URL", "EMAIL", "MENTION", "PASSPORT"):
        return value.lower()
    if kind in ("VEHICLE_PLATE", "DRIVER_LICENSE"):
        return re.sub("[^0-9가-힣]", "", value)
    return re.sub("[^0-9]", "", value)


def _national(value: str) -> str:
    digits = re.sub("[^0-9]", "", value)
    if value.startswith(("+", "0082", "82")):
        digits = "0" + digits.removeprefix("00").removeprefix("82").lstrip("0")
    return digits


def _plain_address(value: str) -> str:
    plain = re.sub("[ ,]", "", value)
    for name, suffixes in PROVINCES.items():
        for suffix in suffixes:
            if suffix and plain.startswith(name + suffix):
                return name + plain[len(name) + len(suffix) :]
    return plain


def _lay(value: str, digits: str) -> str:
    """Return `value` with its last len(digits) digits replaced in order."""
    positions = [i for i, c in enumerate(value) if c in "0123456789"][-len(digits) :]
    characters = list(value)
    for position, digit in zip(positions, digits, strict=True):
        characters[position] = digit
    return "".join(characters)


def _telephone(value: str, normal: str, draw: Draw, key: bytes) -> str:
    if normal[0] == "1":
        return _lay(value, "1500" + draw.digits(4))
    if normal.startswith(("050", "0303")):
        subscriber = 8 if len(normal) == 12 else 7
    else:
        subscriber = len(normal) - (2 if normal.startswith("02") else 3)
    return _lay(value, "0" + draw.digits(subscriber - 1))


def _registration(first_century: int) -> Callable[[str, str, Draw, bytes], str]:
    def make(value: str, normal: str, draw: Draw, key: bytes) -> str:
        digits = (
            f"{draw.digits(2)}{13 + draw.below(7)}{32 + draw.below(8)}{first_century + draw.below(4)}{draw.digits(5)}"
        )
        valid = {rrn_check_digit(digits), *frn_check_digits(digits)}
        wrong = [d for d in range(10) if d not in valid]
        return _lay(value, digits + str(wrong[draw.below(len(wrong))]))

    return make


def _card(value: str, normal: str, draw: Draw, key: bytes) -> str:
    digits = normal[0] + draw.digits(len(normal) - 2)
    last = draw.below(10)
    return _lay(value, digits + str((last + 1) % 10 if luhn_ok(f"{digits}{last}") else last))


def _driver_license(value: str, normal: str, draw: Draw, key: bytes) -> str:
    if normal[0] in "0123456789":
        return _lay(value, f"9{draw.digits(11)}")
    return _lay("세종" + value[2:], draw.digits(10))


def _brn(value: str, normal: str, draw: Draw, key: bytes) -> str:
    digits = f"{101 + draw.below(899)}{draw.digits(6)}"
    return _lay(value, digits + str((brn_check_digit(digits) + 1 + draw.below(9)) % 10))


def _bank_account(value: str, normal: str, draw: Draw, key: bytes) -> str:
    return _lay(value, "000" + draw.digits(len(normal) - 3))


def _health_insurance(value: str, normal: str, draw: Draw, key: bytes) -> str:
    return _lay(value, "0" + draw.digits(10))


def _passport(value: str, normal: str, draw: Draw, key: bytes) -> str:
    middle = draw.digits(1) if value[4].isdigit() else chr(ord("A") + draw.below(26))
    made = f"X{draw.digits(3)}{middle}{draw.digits(4)}"
    return made if value[0].isupper() else made.lower()


def _vehicle_plate(value: str, normal: str, draw: Draw, key: bytes) -> str:
    match = EXACT["VEHICLE_PLATE"].match(value)
    if match is None:
        raise ValueError("not a vehicle plate")
    if match["mission"]:
        return _lay(value, "000" + draw.digits(3))
    made = _lay(value, "0" * (sum(c in "0123456789" for c in value) - 4) + draw.digits(4))
    group = next(letters for letters in _USAGE_GROUPS if match["usage"] in letters)
    at = match.start("usage")
    made = made[:at] + group[draw.below(len(group))] + made[at + 1 :]
    if match["region"]:
        regions = PLATE_REGIONS.split("|")
        made = regions[draw.below(len(regions))] + made[2:]
    return made


def _email(value: str, normal: str, draw: Draw, key: bytes) -> str:
    return f"{draw.name(5)}@{_RESERVED_DOMAINS[draw.below(3)]}"


def _mention(value: str, normal: str, draw: Draw, key: bytes) -> str:
    return f"@{draw.name(6)}"


def _url(value: str, normal: str, draw: Draw, key: bytes) -> str:
    match = _URL_PARTS.fullmatch(value)
    if match is None:
        raise ValueError("not a URL")
    host = Draw(key, "URL host", match["host"].lower(), draw.attempt)  # pages of one site stay pages of one site
    made = f"{match['scheme'] or ''}{match['www'] or ''}{host.name(4)}.{_RESERVED_DOMAINS[host.below(3)]}"
    path = match["path"]
    return made + path if path in ("", "/") else f"{made}/{draw.name(6)}{'/' if path.endswith('/') else ''}"


def _ip(value: str, normal: str, draw: Draw, key: bytes) -> str:
    if ":" in value:
        return str(IPv6Address(_DOCUMENTATION_V6 + draw.below(1 << 96)))
    return str(IPv4Address(_DOCUMENTATION_V4[draw.below(3)] + 1 + draw.below(254)))


def _mac(value: str, normal: str, draw: Draw, key: bytes) -> str:
    number = draw.below(1 << 48) & ~(1 << 40) | (1 << 41)  # the first octet's group and local bits
    letters = iter(f"{number:012x}")
    made = _HEX.sub(lambda _: next(letters), value)
    return made.upper() if value != value.lower() else made


def _address(value: str, normal: str, draw: Draw, key: bytes) -> str:
    match = ADDRESS.match(value)
    if match is None:
        raise ValueError("not an address")
    changes: list[tuple[int, int, str]] = []
    if match["province"] or match["sejong"]:
        group = "province" if match["province"] else "sejong"
        styles = [name for name, suffixes in PROVINCES.items() if name != "세종" and not normal.startswith(name)]
        name = styles[draw.below(len(styles))]
        suffixes = PROVINCES[name]
        long = len(match[group]) > 2
        # 세종 has no districts; without one an invented road could still be a road of the other province
        district = "" if match["province"] else f" {_STEMS[draw.below(len(_STEMS))]}구"
        changes.append((*match.span(group), name + (suffixes[0] if long else suffixes[-1]) + district))
    for group in ("district", "known", "town", "road", "branch", "village", "house", "lot"):
        if match[group]:
            changes.append((*match.span(group), _invent(group, match[group], draw)))
    end = match.end("house") if match["house"] else match.end("lot")
    detail = re.sub(r" ?\([^)]*\)", "", value[end:])
    detail = _BUILDING.sub(lambda m: _STEMS[draw.below(len(_STEMS))] + m[1], detail)
    changes.append((end, len(value), _numbers(detail, draw)))
    pieces, position = [], 0
    for start, stop, text in sorted(changes):
        pieces += [value[position:start], text]
        position = stop
    return "".join(pieces)


def _invent(group: str, part: str, draw: Draw) -> str:
    """Return an invented name with the part's own suffixes, or numbers of as many digits."""
    if group in ("branch", "house", "lot"):
        return _numbers(part, draw)
    words = []
    for word in part.split(" "):
        suffix = "대로" if word.endswith("대로") else word[-1:]
        words.append(_STEMS[draw.below(len(_STEMS))] + suffix if word else "")
    return " ".join(words)


def _numbers(part: str, draw: Draw) -> str:
    return re.sub("[0-9]+", lambda m: f"{1 + draw.below(9)}{draw.digits(len(m[0]) - 1)}", part)


_MAKERS: dict[str, Callable[[str, str, Draw, bytes], str]] = {
    "URL": _url,
    "EMAIL": _email,
    "MAC": _mac,
    "IP": _ip,
    "CARD": _card,
    "RRN": _registration(1),
    "FRN": _registration(5),
    "DRIVER_LICENSE": _driver_license,
    "BRN": _brn,
    "TEL": _telephone,
    "BANK_ACCOUNT": _bank_account,
    "PASSPORT": _passport,
    "HEALTH_INSURANCE": _health_insurance,
    "VEHICLE_PLATE": _vehicle_plate,
    "MENTION": _mention,
    "ADDRESS": _address,
}
