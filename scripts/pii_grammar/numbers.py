"""How writers write the other types that are numbers: registrations, accounts, cards, licences, passports, plates."""

from __future__ import annotations

import random
from collections.abc import Callable

from .marks import Kind, Page, Value
from .telephones import TELEPHONES
from .values import (
    COUNTING,
    RENTED,
    TAXIS,
    USES,
    account,
    amex,
    business,
    card,
    digits,
    foreigner,
    licence,
    nonzero,
    resident,
    words,
)
from .writers import FULL, WRITERS, Form, Groups, in_groups, pattern, shape

HALVES = "hyphen, spaced hyphen, dash, full width, line end, no-break hyphen"
MORE_HALVES = (
    "none, blank, two blanks, dot, tilde, slash, zeros as O, hangul, circled, spaced, boxed, underscore, break"
)


def registration(kind: str, groups: Groups) -> list[Form]:
    def stars(page: Page, whole: Kind) -> Value:
        first, second = groups(page.rng)
        star = page.rng.choice("*xX#*●○")
        return page.mark(whole, f"{first}{page.rng.choice(('-', '-', ' - ', ''))}{second[0]}", after=star * 6)

    return [
        *in_groups(kind, "", groups, HALVES, MORE_HALVES),
        *in_groups(kind, "checked", groups, "none"),
        shape(kind, "masked tail", stars, True),
        shape(
            kind,
            "told in halves",
            pattern(
                groups,
                "앞자리 ⟨{0} 뒷자리 {1}⟩",
                "앞 ⟨{0} 뒤 {1}⟩",
                "앞자리 ⟨{0}, 뒷자리 {1}⟩",
                "앞번호 ⟨{0} / 뒷번호 {1}⟩",
                "⟨{0}(앞자리) {1}⟩(뒷자리)",
            ),
            True,
        ),
        shape(kind, "each in brackets", pattern(groups, "({0})-({1})", "({0}) ({1})", "[{0}]-[{1}]"), True),
    ]


def in_bank(writer: str) -> Callable[[Page, Kind], Value]:
    """Return a writer of accounts with their bank before or behind."""

    def write(page: Page, kind: Kind) -> Value:
        bank, groups = account(page.rng)
        number = page.mark(kind, WRITERS[writer](groups, page.rng))
        order = page.rng.choice(words("{0} {1}|{0} {1}|{0}({1})|{0}) {1}|{1} ({0})|{1} {0}|{0}:{1}|{0}{1}|{0} / {1}"))
        if order == "{0}{1}" and writer not in ("hyphen", "none"):
            order = "{0} {1}"
        return Value(order.format(bank, number))

    return write


def bare_account(rng: random.Random) -> list[str]:
    return account(rng)[1]


def passport(rng: random.Random) -> list[str]:
    """Return the letter and the digits of a passport of the old kind."""
    return [rng.choice("MMMMSROD"), digits(rng, 8)]


def new_passport(rng: random.Random) -> list[str]:
    """Return a passport number of the kind in use since 2021."""
    return [rng.choice("MMSRD"), digits(rng, 3), rng.choice("ABCDEFGHJKLNPQ"), digits(rng, 4)]


REGIONS = words("서울|부산|경기|강원|충북|충남|전북|전남|경북|경남|제주|대구|인천|광주|대전|울산")
OLD_LICENCES = "{r} {1}-{2}-{3}|{r}{1}-{2}-{3}|{r}-{1}-{2}-{3}|{r} {1} {2} {3}|{r} {1}{2}{3}"
PLATE_REGIONS = words("서울|부산|대구|인천|광주|대전|울산|경기|강원|충북|충남|전북|전남|경북|경남|제주")


def old_licence(page: Page, kind: Kind) -> Value:
    """Write a licence with its region in Hangul."""
    template = page.rng.choice(OLD_LICENCES.split("|"))
    return page.mark(kind, template.format(*licence(page.rng), r=page.rng.choice(REGIONS)))


def plate(*templates: str, old: bool = False, uses: str = USES) -> Callable[[Page, Kind], Value]:
    """Return a writer of plates: n class, u usage letter, s serial number, r region."""

    def write(page: Page, kind: Kind) -> Value:
        number = f"{page.rng.randint(11, 99)}" if old else f"{page.rng.randint(100, 697)}"
        return page.mark(
            kind,
            page.rng.choice(templates).format(
                n=number, u=page.rng.choice(uses), s=digits(page.rng, 4), r=page.rng.choice(PLATE_REGIONS)
            ),
        )

    return write


def scooter(page: Page, kind: Kind) -> Value:
    where = page.rng.choice(words("서울 강남|서울 마포|경기 수원|부산 사하|대전 유성|경북 포항|인천 남동"))
    return page.mark(kind, f"{where} {page.rng.choice('가나다라마바사')} {digits(page.rng, 4)}")


def plate_full_width(page: Page, kind: Kind) -> Value:
    text = f"{page.rng.randint(11, 99)}{page.rng.choice(USES)} {digits(page.rng, 4)}"
    return page.mark(kind, text.replace(" ", "").translate(FULL))


TIGHT = "{n}{u}{s}"
NUMBERS = [
    *TELEPHONES,
    *registration("RRN", resident),
    *registration("FRN", foreigner),
    *in_groups(
        "BRN",
        "",
        business,
        "hyphen, spaced hyphen, dash, full width, no-break hyphen",
        "none, blank, two blanks, dot, line end, hangul, spaced, tilde, middle dot, slash, boxed, circled, zeros as O",
    ),
    *in_groups("CARD", "", card, "hyphen, spaced hyphen, dash, full width"),
    *in_groups(
        "CARD",
        "",
        card,
        "",
        "none, blank, two blanks, dot, line end, hangul, spaced, tilde, middle dot, slash, boxed, underscore, circled",
    ),
    *in_groups("CARD", "checked", card, "none, blank"),
    *in_groups("CARD", "amex", amex, "hyphen", "blank, none, dot"),
    *in_groups(
        "BANK_ACCOUNT",
        "label",
        bare_account,
        "",
        "hyphen, none, blank, dot, spaced hyphen, dash, full width, line end, hangul, two blanks, spaced",
    ),
    *(
        shape("BANK_ACCOUNT", f"bank {writer}", in_bank(writer))
        for writer in words("hyphen|none|blank|dot|spaced hyphen|dash|full width|hangul|two blanks")
    ),
    shape("PASSPORT", "old", pattern(passport, "{0}{1}"), True),
    shape("PASSPORT", "new", pattern(new_passport, "{0}{1}{2}{3}")),
    shape("PASSPORT", "hyphen", pattern(passport, "{0}-{1}"), True),
    shape("PASSPORT", "blank", pattern(passport, "{0} {1}"), True),
    shape("PASSPORT", "new blanks", pattern(new_passport, "{0} {1}{2}{3}", "{0}-{1}{2}{3}", "{0}{1} {2}{3}"), True),
    shape("PASSPORT", "small letters", lambda page, kind: page.mark(kind, "".join(passport(page.rng)).lower()), True),
    shape("PASSPORT", "two letters", lambda page, kind: page.mark(kind, "PM" + nonzero(page.rng, 7)), True),
    shape("PASSPORT", "nine digits", lambda page, kind: page.mark(kind, nonzero(page.rng, 9)), True),
    shape(
        "PASSPORT",
        "full width",
        lambda page, kind: page.mark(kind, "".join(chr(ord(c) + 0xFEE0) for c in "".join(passport(page.rng)))),
        True,
    ),
    *in_groups(
        "DRIVER_LICENSE",
        "",
        licence,
        "hyphen, spaced hyphen, dash, full width",
        "none, blank, two blanks, dot, line end, tilde, middle dot, slash, spaced, circled, boxed",
    ),
    shape("DRIVER_LICENSE", "region instead", old_licence, True),
    shape("DRIVER_LICENSE", "region before", pattern(licence, "서울 ⟨{0}-{1}-{2}-{3}⟩", "경기 ⟨{0}-{1}-{2}-{3}⟩")),
    *in_groups(
        "HEALTH_INSURANCE",
        "",
        lambda rng: [rng.choice("12345678"), digits(rng, 10)],
        "",
        "hyphen, none, blank, spaced hyphen, dash, full width, line end, dot, hangul, spaced, two blanks, boxed",
    ),
    shape("VEHICLE_PLATE", "two digits", plate("{n}{u} {s}", TIGHT, old=True)),
    shape("VEHICLE_PLATE", "three digits", plate("{n}{u} {s}", TIGHT)),
    shape("VEHICLE_PLATE", "rented", plate("{n}{u} {s}", TIGHT, old=True, uses=RENTED)),
    shape("VEHICLE_PLATE", "taxi with region", plate("{r} {n}{u} {s}", "{r}{n}{u}{s}", old=True, uses=TAXIS)),
    shape("VEHICLE_PLATE", "old with region", plate("{r} {n}{u} {s}", "{r}{n}{u}{s}", "{r} {n}{u}{s}", old=True)),
    shape("VEHICLE_PLATE", "counting letter", plate("{n}{u} {s}", TIGHT, uses=COUNTING), True),
    shape("VEHICLE_PLATE", "blanks", plate("{n} {u} {s}", "{n} {u}{s}", old=True), True),
    shape("VEHICLE_PLATE", "two blanks", plate("{n}{u}  {s}"), True),
    shape("VEHICLE_PLATE", "hyphen", plate("{n}{u}-{s}", "{n}-{u}-{s}", "{n}{u} - {s}"), True),
    shape("VEHICLE_PLATE", "dot", plate("{n}{u}.{s}", "{n}{u}·{s}"), True),
    shape("VEHICLE_PLATE", "line end", plate("{n}{u}\n{s}"), True),
    shape("VEHICLE_PLATE", "full width", plate_full_width, True),
    shape("VEHICLE_PLATE", "motorcycle", scooter, True),
    shape(
        "VEHICLE_PLATE",
        "diplomatic",
        lambda page, kind: page.mark(
            kind, f"{page.rng.choice(('외교', '영사', '준외'))} {digits(page.rng, 3)}-{digits(page.rng, 3)}"
        ),
        True,
    ),
]
