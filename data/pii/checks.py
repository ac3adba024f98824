"""Check digits and dates of Korean numbers. Every function takes a string of ASCII digits only."""

from __future__ import annotations

from datetime import date

RRN_WEIGHTS = (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)
BRN_WEIGHTS = (1, 3, 7, 1, 3, 7, 1, 3, 5)
CENTURY = {**dict.fromkeys("1256", 1900), **dict.fromkeys("3478", 2000), **dict.fromkeys("90", 1800)}
"""The seventh digit of a registration number gives the century of birth."""


def rrn_check_digit(digits: str) -> int:
    """Return the last digit of a resident registration number (issued before October 2020) from the first twelve."""
    return (11 - sum(int(d) * w for d, w in zip(digits[:12], RRN_WEIGHTS, strict=True)) % 11) % 10


def frn_check_digits(digits: str) -> tuple[int, int]:
    """Return the two forms in use of a foreign registration number's last digit, from the first twelve."""
    total = sum(int(d) * w for d, w in zip(digits[:12], RRN_WEIGHTS, strict=True)) % 11
    return (13 - total) % 10, (11 - total) % 10


def registration_check_ok(digits: str) -> bool:
    """Return whether the check digit of a 13-digit RRN or FRN fits (numbers since October 2020 have none)."""
    last = int(digits[12])
    return last == rrn_check_digit(digits) if digits[6] in "123490" else last in frn_check_digits(digits)


def registration_date_ok(digits: str) -> bool:
    """Return whether digits YYMMDDG… begin with a day that exists, the century taken from G."""
    try:
        date(registration_born(digits), int(digits[2:4]), int(digits[4:6]))
    except ValueError:
        return False
    return True


def registration_born(digits: str) -> int:
    """Return the year of birth that digits YYMMDDG… state."""
    return CENTURY[digits[6]] + int(digits[:2])


def brn_check_digit(digits: str) -> int:
    """Return the last digit of a business registration number from the first nine."""
    total = sum(int(d) * w for d, w in zip(digits[:9], BRN_WEIGHTS, strict=True)) + int(digits[8]) * 5 // 10
    return -total % 10


def brn_ok(digits: str) -> bool:
    """Return whether ten digits are a possible business registration number (tax office from 101, check digit)."""
    return int(digits[:3]) >= 101 and int(digits[9]) == brn_check_digit(digits)


def luhn_ok(digits: str) -> bool:
    """Return whether the digits pass the Luhn check of payment cards."""
    odd = sum(int(d) for d in digits[-1::-2])
    even = sum(sum(divmod(2 * int(d), 10)) for d in digits[-2::-2])
    return (odd + even) % 10 == 0


def card_prefix_ok(digits: str) -> bool:
    """Return whether the digits begin as cards do: networks 2221-2720, 34-37, 4, 51-55, 60-65, Korean domestic 9."""
    four = int(digits[:4])
    return (
        digits[0] in "49"
        or 2221 <= four <= 2720
        or 3400 <= four <= 3799
        or 5100 <= four <= 5599
        or 6000 <= four <= 6599
    )


def ean13_ok(digits: str) -> bool:
    """Return whether 13 digits pass the check of article numbers (bar codes, ISBN-13)."""
    return (sum(int(d) for d in digits[::2]) + 3 * sum(int(d) for d in digits[1::2])) % 10 == 0
