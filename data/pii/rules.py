"""One rule a type: given a match of its exact pattern, the extent of the value, or None when it is something else.

A value that carries its own evidence (a check digit that fits, a typical grouping) needs no label; one that does not,
such as a bare run of digits, needs a word before or just after it that says what it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_network

from data.pii.checks import brn_ok, card_prefix_ok, ean13_ok, luhn_ok, registration_check_ok, registration_date_ok
from data.pii.code_words import ACCESSORS, MODULES, is_code_name, is_field_name
from data.pii.context import BEFORE, BESIDE, RIGHT_BEFORE, labelled, versioned
from data.pii.patterns import DASH, NOT_AFTER, NOT_BEFORE
from data.pii.url import url_end

Extent = tuple[int, int]
Rule = Callable[[str, "re.Match[str]"], "Extent | None"]

_NOT_DIGIT = re.compile(r"[^0-9]+")
_NOT_BEFORE = re.compile(NOT_BEFORE)
_NOT_AFTER = re.compile(NOT_AFTER)
_SUFFIXES = (
    "png jpg jpeg gif svg webp css js ts jsx tsx json xml html htm md txt yml yaml py rb java cs cpp exe dll zip"
)
FILE_SUFFIXES = frozenset(_SUFFIXES.split())
"""Ends of file names such as icon@2x.png, which look like mail domains."""
_ACCOUNT_GROUPS = frozenset(
    {(6, 2, 6), (3, 6, 5), (3, 6, 2, 3), (3, 4, 4, 2), (4, 2, 7), (3, 2, 6), (4, 3, 6), (3, 3, 6)}
)
"""Groupings of account numbers that hardly anything else uses; others need a label."""
_AMOUNT = re.compile(r"\s?(?:원|달러|명|주(?![가-힣])|개|건|회|억|만|%|톤|바이트|MB|GB|KB)")
_COUNTERS = frozenset("조주도부호수자소로나")
"""Usage letters that are also counters, particles or words ("10조 2000억", "20도 1500")."""
_AFTER_PLATE = re.compile(
    r" ?(?:[년월억만천조원명개톤점여회건석권부위편mgkMGK%㎞㎡]|킬로|미터|번지|세대|가구|마리|대(?![가-힣]))"
)
_TOLL_FREE = re.compile(f"1[{DASH}]8(?:00|33|44|55|66|77|88)")
_MAIL_ENDS = frozenset({"com", "net", "org", "kr", "local"})
_IDENTIFIER = re.compile("[a-z]+[A-Z]")
_COMPARED = re.compile(r" ?[=!<>]=? ?[\"'0-9]")
_NETWORK = re.compile("/[0-9]{1,2}(?![0-9])")
_PACKAGE_PATH = re.compile("[A-Za-z][0-9]{0,3}/$")
_GLOBAL_V6 = [ip_network(net) for net in ("2000::/3", "fc00::/7", "fe80::/10", "ff00::/8")]


def digits_of(value: str) -> str:
    """Return the ASCII digits of a value."""
    return _NOT_DIGIT.sub("", value)


def whole(text: str, match: re.Match[str]) -> Extent | None:
    """Accept every match as it is."""
    return match.span()


def url(text: str, match: re.Match[str]) -> Extent | None:
    """Accept a URL up to its end (see url.py); the own machine is nobody's."""
    host = match["host"]
    if host is not None and host.lower() in ("localhost", "127.0.0.1", "0.0.0.0", "[::1]"):
        return None
    return match.start(), url_end(text, match.end())


def email(text: str, match: re.Match[str]) -> Extent | None:
    """Accept a mail address; icon@2x.png, the account of code hosts (git@…) and members (e@joe.Age) are none."""
    tld = match["tld"]
    if tld.lower() in FILE_SUFFIXES or match["local"] == "git":
        return None
    # domains are written in one case; phones capitalise the first letter
    member = tld not in (tld.lower(), tld.upper()) and tld.lower() not in _MAIL_ENDS
    return None if member else match.span()


def mac(text: str, match: re.Match[str]) -> Extent | None:
    """Accept a hardware address; all-zero and broadcast are nobody's; digits alone need a colon or a label."""
    value = match[0].lower()
    if set(value) <= set("0:-.") or set(value) <= set("f:-."):
        return None
    if not set(value) & set("abcdef") and ":" not in value and not labelled("MAC", text, *match.span()):
        return None
    return match.span()


def ip(text: str, match: re.Match[str]) -> Extent | None:
    """Accept an address; versions, section numbers, netmasks and the own machine are none."""
    start, end = match.span()
    if match["v6"] is not None:
        try:
            six = IPv6Address(match["v6"])
        except AddressValueError:
            return None
        # A::B is C++ too: an address begins with an allocated prefix and has a digit
        known = any(six in net for net in _GLOBAL_V6) and any(c.isdigit() for c in match["v6"])
        return (start, end) if known else None
    four = IPv4Address(match["v4"])
    octets = [int(part) for part in match["v4"].split(".")]
    if octets[0] == 0 or four.is_loopback or octets[0] == 255:
        return None
    if versioned(text, start, end) or _PACKAGE_PATH.search(text, max(0, start - BEFORE), start):
        return None
    if _NETWORK.match(text, end):
        return start, end
    # without a word for it right beside it, 1.2.3.4 and 16.0.4.12 are sections and versions, and 2.0.158.0 is no host
    small = max(octets) < 100 and not four.is_private
    if small:
        return (start, end) if labelled("IP", text, start, end, RIGHT_BEFORE) else None
    return (start, end) if octets[3] or labelled("IP", text, start, end) else None


def card(text: str, match: re.Match[str]) -> Extent | None:
    """Accept a Luhn number of a card network, or four groups of four that stand alone and have a label."""
    start, end = match.span()
    digits, separator = digits_of(match[0]), match["sep"] or match["amex"]
    if luhn_ok(digits) and card_prefix_ok(digits):
        return start, end
    alone = separator and _NOT_BEFORE.match(text, start) and _NOT_AFTER.match(text, end)
    return (start, end) if alone and int(digits) and labelled("CARD", text, start, end) else None


def registration(kind: str) -> Rule:
    """Return the rule for RRN or FRN: a day that exists; without a dash also the check digit or a label."""

    def rule(text: str, match: re.Match[str]) -> Extent | None:
        digits = digits_of(match[0])
        if not registration_date_ok(digits):
            return None
        if match["dash"] and digits[6] not in "09":
            return match.span()
        if labelled(kind, text, *match.span()):
            return match.span()
        article = digits.startswith("880") and ean13_ok(digits)  # Korean bar codes
        return match.span() if registration_check_ok(digits) and digits[6] not in "09" and not article else None

    return rule


def driver_license(text: str, match: re.Match[str]) -> Extent | None:
    """Accept separated numbers; an undashed one needs a label."""
    if match["region"] is None and not match["sep"] and not labelled("DRIVER_LICENSE", text, *match.span()):
        return None
    return match.span()


def brn(text: str, match: re.Match[str]) -> Extent | None:
    """Accept a separated number whose check digit fits or that has a label; an undashed one needs both."""
    digits, separator = digits_of(match[0]), match["sep"]
    evidence = brn_ok(digits) + labelled("BRN", text, *match.span())
    return match.span() if evidence >= (1 if separator.strip() else 2) else None


def telephone(text: str, match: re.Match[str]) -> Extent | None:
    """Accept separated numbers; bare landlines and service numbers that could be years need a label."""
    start, end = match.span()
    digits = digits_of(match[0])
    if match["plain"] is not None:
        mobile = digits.startswith("010") and not set(digits) <= set("01")
        return (start, end) if mobile or labelled("TEL", text, start, end) else None
    if match["service"] is not None:
        first, last = digits[:4], digits[4:]
        # 1588-1592 are years, 1800-3000 is a range
        range_ = first <= last <= "2100" or (first < last and first.endswith("00") and last.endswith("00"))
        clear = not match["service"].isdigit() and not range_
        return (start, end) if clear or labelled("TEL", text, start, end) else None
    if match["area"] is not None and match["area"].endswith(" ") and match["last"] == " ":
        # a row of numbers with blanks between them is a table, not a telephone number
        row = text[max(0, start - 2) : start].strip(" ").isdigit() or text[end : end + 2].strip(" ").isdigit()
        if row or not (digits.startswith("01") or labelled("TEL", text, start, end)):
            return None
    return start, end


def bank_account(text: str, match: re.Match[str]) -> Extent | None:
    """Accept 10 to 14 digits in a grouping of the banks' own, or with a label (a bank, 계좌) and no unit behind."""
    start, end = match.span()
    if match["plain"] is not None:
        amount = _AMOUNT.match(text, end) is not None
        return (start, end) if not amount and labelled("BANK_ACCOUNT", text, start, end) else None
    groups = tuple(len(group) for group in match["groups"].split(match["sep"]))
    if not 10 <= sum(groups) <= 14 or (match["sep"] == " " and len(groups) < 3):
        return None
    own = groups in _ACCOUNT_GROUPS and match["sep"] != " "
    return (start, end) if own or labelled("BANK_ACCOUNT", text, start, end) else None


def passport(text: str, match: re.Match[str]) -> Extent | None:
    """Accept a capital letter and its digits; in lower case it needs a label."""
    value = match[0]
    return match.span() if value == value.upper() or labelled("PASSPORT", text, *match.span()) else None


def health_insurance(text: str, match: re.Match[str]) -> Extent | None:
    """Accept the dashed form unless it is a North American toll-free number; eleven bare digits need a label."""
    toll_free = _TOLL_FREE.match(match[0]) is not None
    own = match["sep"] and not toll_free
    return match.span() if own or labelled("HEALTH_INSURANCE", text, *match.span()) else None


def vehicle_plate(text: str, match: re.Match[str]) -> Extent | None:
    """Accept a plate; letters that are also counters need a region, a label, or the tight form."""
    start, end = match.span()
    if match["region"] is not None or match["mission"] is not None:
        return start, end
    if _AFTER_PLATE.match(text, end) or labelled("COURT", text, start, end):
        return None
    if labelled("VEHICLE_PLATE", text, start, end):
        return start, end
    if match["serial"].startswith("0"):  # nothing is counted like this
        return start, end
    year = match["space"] and 1800 <= int(match["serial"]) <= 2100
    loose = match["space"] and (match["usage"] in _COUNTERS or text[match.start("usage") - 1] == " ")
    return None if year or loose or match["serial"].endswith("000") else (start, end)


def mention(text: str, match: re.Match[str]) -> Extent | None:
    """Accept a handle; an annotation, an identifier (camelCase, ALL_CAPS), a variable and a mail domain are none."""
    start, end = match.span()
    handle = match["handle"]
    first, *_, last = handle.split(".") * 2
    if _IDENTIFIER.match(first) or first.isupper() or (first != handle and last in _MAIL_ENDS):
        return None
    if is_code_name(handle) and not (is_field_name(handle) and labelled("MENTION", text, start, end, BESIDE)):
        return None
    # handles with dots are lower case; System.Exception and tf.keras are not
    member = first != handle and (handle != handle.lower() or first in MODULES or last in ACCESSORS)
    return None if member or _COMPARED.match(text, end) else (start, end)


RULES: dict[str, Rule] = {
    "URL": url,
    "EMAIL": email,
    "MAC": mac,
    "IP": ip,
    "CARD": card,
    "RRN": registration("RRN"),
    "FRN": registration("FRN"),
    "DRIVER_LICENSE": driver_license,
    "BRN": brn,
    "TEL": telephone,
    "BANK_ACCOUNT": bank_account,
    "PASSPORT": passport,
    "HEALTH_INSURANCE": health_insurance,
    "VEHICLE_PLATE": vehicle_plate,
    "MENTION": mention,
    "ADDRESS": whole,
}
