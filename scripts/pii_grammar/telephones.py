"""How writers write telephone numbers."""

from __future__ import annotations

from .marks import Kind, Page, Value
from .values import digits, hotline, landline, mobile, old_mobile, personal, special, words
from .writers import in_groups, pattern, shape

MOBILE_LABELS = words(
    "휴대폰|핸드폰|휴대전화|HP|H.P|Mobile|연락처|전화번호|전화|폰|휴대폰번호|핸드폰번호|M|손전화|비상연락처|긴급연락처|전번|폰번호|C.P|모바일|"
    "보호자 연락처|휴대폰 번호|본인 연락처|담당자 연락처|연락 가능한 번호"
)
OFFICE_LABELS = words(
    "전화|전화번호|대표전화|TEL|Tel|T|팩스|FAX|Fax|F|문의|문의전화|직통|연락처|팩스번호|직장 전화|자택 전화|"
    "상담 전화|문의처|대표번호|콜센터|Tel.|FAX.|☏|전화/팩스|☎"
)


def short_second(page: Page, kind: Kind) -> Value:
    """Write a number and the last digits of the next one."""
    first, middle, _ = landline(page.rng)
    start = page.rng.randrange(1000, 9990)
    second = str(start + page.rng.randint(1, 5))
    tail = page.rng.choice((f", {second}", f"/{second}", f"~{second}", f"·{second[-1]}"))
    return page.mark(kind, f"{first}-{middle}-{start}{tail}")


def whole_second(page: Page, kind: Kind) -> Value:
    """Write a number and the next one without its area code."""
    first, middle, last = landline(page.rng)
    second = f"{page.rng.choice('01')}{digits(page.rng, len(middle) - 1)}-{digits(page.rng, 4)}"
    return page.mark(kind, f"{first}-{middle}-{last}{page.rng.choice((', ', '/', ' / ', ','))}{second}")


def short_range(page: Page, kind: Kind) -> Value:
    first, middle, last = landline(page.rng)
    low = page.rng.randint(0, 6)
    joint = page.rng.choice(("~", "∼", "～", " ~ "))
    area = page.rng.choice((f"{first}-", f"{first})", f"({first})"))
    return page.mark(kind, f"{area}{middle}-{last[:3]}{low}{joint}{page.rng.randint(low + 1, 9)}")


def foreign(page: Page, kind: Kind) -> Value:
    """Write a telephone number of another country with its plus sign; US exchanges 555-01xx belong to nobody."""
    number = page.rng.choice(
        (
            f"+1-212-555-01{digits(page.rng, 2)}",
            f"+1 415 555 01{digits(page.rng, 2)}",
            f"+1 (650) 555-01{digits(page.rng, 2)}",
            f"+44 20 7946 0{digits(page.rng, 3)}",
            f"+81-3-0{digits(page.rng, 3)}-{digits(page.rng, 4)}",
        )
    )
    return page.mark(kind, number)


EASY = "hyphen, dot, spaced hyphen, dash, line end, full width, no-break hyphen"
BLANKS = "blank, two blanks, no-break blank"
ODD = "zero width, break, percent, bold, circled, hangul, spaced"
HOME = "none, letters, zeros as O, hangul, circled, hangul group, spaced, middle dot, tilde, boxed, break, slash"
MIXED = "tilde, underscore, vowel dash, boxed, hangul group, hangul digits"
TELEPHONES = [
    *in_groups(
        "TEL", "mobile", mobile, f"none, slash, middle dot, letters, {EASY}, {BLANKS}, {ODD}", MIXED, MOBILE_LABELS
    ),
    *in_groups("TEL", "old mobile", old_mobile, "hyphen, dot, blank", "none", MOBILE_LABELS),
    *in_groups("TEL", "landline", landline, EASY, f"{BLANKS}, {HOME}", OFFICE_LABELS),
    *in_groups("TEL", "070", special, "hyphen, dot, spaced hyphen, full width", "none, blank", OFFICE_LABELS),
    *in_groups("TEL", "050", personal, "hyphen, dot, spaced hyphen, full width", "blank", OFFICE_LABELS),
    *in_groups("TEL", "15xx", hotline, "hyphen, dash", "blank, dot, tilde, spaced hyphen", OFFICE_LABELS),
    *(
        shape("TEL", name, pattern(groups, *templates), labelled, labels)
        for name, groups, templates, labelled, labels in (
            ("mobile bracket", mobile, ("{0}){1}-{2}", "{0}){1}{2}", "{0}) {1}-{2}"), False, MOBILE_LABELS),
            ("mobile brackets", mobile, ("({0}){1}-{2}", "({0}) {1}-{2}", "({0})-{1}-{2}"), False, MOBILE_LABELS),
            ("mobile each in brackets", mobile, ("({0})-({1})-({2})", "({0})({1})({2})"), True, MOBILE_LABELS),
            (
                "mobile half joined",
                mobile,
                ("{0}-{1}{2}", "{0} {1}{2}", "{0}{1}-{2}", "{0} {1}-{2}"),
                False,
                MOBILE_LABELS,
            ),
            ("mobile comma", mobile, ("{0},{1},{2}", "{0}, {1}, {2}"), True, MOBILE_LABELS),
            ("landline bracket", landline, ("{0}){1}-{2}", "{0}) {1}-{2}", "{0}) {1} - {2}"), False, OFFICE_LABELS),
            ("landline brackets", landline, ("({0}){1}-{2}", "({0}) {1}-{2}", "({0})-{1}-{2}"), False, OFFICE_LABELS),
            ("landline square brackets", landline, ("[{0}]{1}-{2}", "[{0}] {1}-{2}"), True, OFFICE_LABELS),
            ("landline two blanks after area", landline, ("{0}  {1}-{2}", "({0})  {1}-{2}"), True, OFFICE_LABELS),
            ("landline dot and hyphen", landline, ("{0}.{1}-{2}", "{0}/{1}-{2}", "{0}·{1}-{2}"), True, OFFICE_LABELS),
            (
                "landline extension",
                landline,
                (
                    "⟨{0}-{1}-{2}⟩(내선 {n})",
                    "⟨{0}-{1}-{2}⟩ (내선번호 {n}번)",
                    "⟨{0}-{1}-{2}⟩ 내선 {n}",
                    "⟨{0}-{1}-{2}⟩ ext. {n}",
                    "⟨{0}-{1}-{2}⟩#{n}",
                    "⟨{0}-{1}-{2}⟩(교환 {s}번)",
                ),
                False,
                OFFICE_LABELS,
            ),
        )
    ),
    shape(
        "TEL",
        "+82 mobile",
        lambda page, kind: page.mark(
            kind,
            page.rng.choice(
                (
                    "+82-10-{1}-{2}",
                    "+82 10-{1}-{2}",
                    "+82 10 {1} {2}",
                    "+8210{1}{2}",
                    "+82)10-{1}-{2}",
                    "+82.10.{1}.{2}",
                )
            ).format(*mobile(page.rng)),
        ),
    ),
    shape("TEL", "+82 mobile (0)", pattern(mobile, "+82 (0)10-{1}-{2}", "+82-(0)10-{1}-{2}", "+82-010-{1}-{2}")),
    shape("TEL", "(+82) mobile", pattern(mobile, "(+82) 10-{1}-{2}", "(+82)10-{1}-{2}", "(82)10-{1}-{2}"), True),
    shape(
        "TEL",
        "+82 landline",
        lambda page, kind: page.mark(
            kind,
            page.rng.choice(("+82-{0}-{1}-{2}", "+82 {0} {1} {2}", "+82-{0}-{1}-{2}", "+82 {0}-{1}-{2}")).format(
                *(group.lstrip("0") if n == 0 else group for n, group in enumerate(landline(page.rng)))
            ),
        ),
    ),
    shape(
        "TEL",
        "mobile with remark",
        pattern(
            mobile,
            "⟨{0}-{1}-{2}⟩(문자만)",
            "⟨{0}-{1}-{2}⟩ [문자]",
            "⟨{0}-{1}-{2}⟩ (평일 9시~18시)",
            "⟨{0}-{1}-{2}⟩(카톡)",
        ),
        labels=MOBILE_LABELS,
    ),
    shape("TEL", "range", short_range, labels=OFFICE_LABELS),
    shape("TEL", "short second", short_second, labels=OFFICE_LABELS),
    shape("TEL", "second without area", whole_second, labels=OFFICE_LABELS),
    shape("TEL", "foreign with plus", foreign),
]
