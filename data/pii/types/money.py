"""Payment card, business registration number and bank account."""

from __future__ import annotations

import re

from data.pii.checks import brn_check_digit, brn_ok, card_prefix_ok, luhn_ok
from data.pii.types.base import (
    APART_AFTER,
    APART_BEFORE,
    BESIDE,
    DASH,
    DATE,
    GATE_GAP,
    NOT_AFTER,
    NOT_BEFORE,
    TEN_DIGITS,
    Draw,
    Extent,
    PiiType,
    digits_of,
    in_a_row,
    labelled,
    lay,
)

_CARD = (
    rf"{APART_BEFORE}(?:[0-9]{{4}}(?P<sep> ?[{DASH}./_~·ㆍ] ?| )[0-9]{{4}}(?P=sep)[0-9]{{4}}(?P=sep)[0-9]{{4}}"
    rf"|3[47][0-9]{{2}}(?P<amex> ?[{DASH}] ?| |\.)[0-9]{{6}}(?P=amex)[0-9]{{5}}"
    rf"|3(?:0[0-5]|[689][0-9])[0-9](?P<diners> ?[{DASH}] ?| )[0-9]{{6}}(?P=diners)[0-9]{{4}}){APART_AFTER}"
    rf"|(?:{NOT_BEFORE}|(?P<field>(?<=[A-Za-z]=)))(?:[0-9]{{16}}|3[47][0-9]{{13}}){NOT_AFTER}"
)
_BRN = rf"{NOT_BEFORE}[0-9]{{3}}(?P<sep> ?[{DASH}] ?| |[./~·]|)[0-9]{{2}}(?P=sep)[0-9]{{5}}{NOT_AFTER}"
_BANK_ACCOUNT = (
    rf"(?:{NOT_BEFORE}|(?<=KB)|(?<=NH))(?:(?P<groups>(?=[0-9](?:[{DASH} .]{{0,3}}[0-9]){{9}}|[0-9](?:/?[0-9]){{9}})"
    rf"[0-9]{{2,6}}(?P<sep> ?[{DASH}] ?| |\.|/)[0-9]{{1,8}}(?:(?P=sep)[0-9]{{1,8}}){{0,2}})"
    rf"|(?P<plain>[0-9]{{10,14}}))(?:{NOT_AFTER}|(?=,(?:KB|NH|IBK|MG|KEB)))"
)
_ACCOUNT_GROUPS = frozenset(
    {(6, 2, 6), (3, 6, 5), (3, 6, 2, 3), (3, 4, 4, 2), (4, 2, 7), (3, 2, 6), (4, 3, 6), (3, 3, 6)}
)
_SUBJECTS = frozenset(["100", "110", "140", "150", "155", "160", "161"])
"""What accounts of three, three and six digits begin with: subjects of the one bank that writes them so."""
_OTHER_AFTER = re.compile(r"호(?![가-힣])|호[가는를의로]")

"""Groupings of account numbers that hardly anything else uses; others need a label."""
_AMOUNT = re.compile(r"\s?(?:원|달러|명|주(?![가-힣])|개|건|회|억|만|%|톤|바이트|MB|GB|KB)")
_BANKS = (
    "국민|(?-i:KB)|신한|우리|하나|기업|(?-i:IBK)|농협|(?-i:NH)|수협|신협|우체국|새마을|카카오|케이|토스|제일|씨티|산업|부산|대구|경남|"
    "광주|전북|제주|외환"
)
CARD_LABEL = re.compile(
    r"(?=[카결비마아cvmaj])(?:카드|결제|비자|마스터|아멕스|(?<![a-z])(?:card|visa|master|amex|jcb))", re.IGNORECASE
)
_BRN_LABEL = re.compile(
    r"(?=[사업공거상세현등b])(?:사업자|공급자|공급받는|거래처|(?<![가-힣])(?:상호(?![가-힣])|등록\s?번호)|세금\s?계산서|현금\s?영수증|사업장|사업주|업체|등록\s?[:：]"
    r"|(?<![a-z])(?:brn|business))",
    re.IGNORECASE,
)
_ACCOUNT_LABEL = re.compile(
    r"(?=[계은뱅카토케금통예입송이환농수신우국하기새제씨산부대경광전북외KIN]|[aA]c)(?:계좌|은행|뱅크|[카토케]뱅|금고|통장|예금주"
    rf"|입금|송금|이체|환불|농협|수협|신협|우체국|(?:{_BANKS})\s?[:：)=→/|(\[【「『〈-]{{0,2}}\s?$|(?<![a-z])account)"
    rf"|\A[ )\]】」』〉\"'”’]{{0,3}}[(]?(?:{_BANKS})(?=[\s)\],|/;.】」』〉\"'”’]|으?로\s|\Z)",
    re.I,
)
_MOBILE = re.compile("010[^0-9]+[0-9]{4}[^0-9]+[0-9]{4}(?![^0-9]?[0-9])")
_NAMED = re.compile("[가-힣A-Za-z] ?[(（]\\Z")
"""Behind a name, a number in brackets."""
_ALONE_BEFORE = re.compile(NOT_BEFORE)
_ALONE_AFTER = re.compile(NOT_AFTER)


def card(text: str, match: re.Match[str]) -> Extent | None:
    """Accept a Luhn number of a card network, or four groups of four that stand alone and have a label."""
    start, end = match.span()
    digits = digits_of(match[0])
    separator = match["sep"] or match["amex"] or match["diners"]
    if luhn_ok(digits) and card_prefix_ok(digits):
        return (start, end) if match["field"] is None or labelled(CARD_LABEL, text, start, end, BESIDE) else None
    alone = separator and _ALONE_BEFORE.match(text, start) and _ALONE_AFTER.match(text, end)
    return (start, end) if alone and int(digits) and labelled(CARD_LABEL, text, start, end) else None


def brn(text: str, match: re.Match[str]) -> Extent | None:
    """Accept a dashed number whose check digit fits or that has a label; one without dashes needs both.

    One with blanks needs its check digit alone where it is no part of a row of numbers.
    """
    start, end = match.span()
    separator = match["sep"]
    fits = brn_ok(digits_of(match[0]))
    called = labelled(_BRN_LABEL, text, start, end)
    alone = fits and separator == " " and not in_a_row(text, start, end)
    named = separator.strip() != "" and _NAMED.search(text, max(0, start - 3), start) and text[end : end + 1] in ")）"
    enough = fits or called or named if separator.strip(" .~·/") else (fits and called) or alone
    return (start, end) if enough else None


def bank_account(text: str, match: re.Match[str]) -> Extent | None:
    """Accept 10 to 14 digits in a grouping of the banks' own, or with a label (a bank, 계좌) and no unit behind."""
    start, end = match.span()
    if match["plain"] is not None:
        amount = _AMOUNT.match(text, end)
        return (start, end) if not amount and labelled(_ACCOUNT_LABEL, text, start, end) else None
    groups = tuple(len(group) for group in match["groups"].split(match["sep"]))
    if (
        not 10 <= sum(groups) <= 14
        or groups == (6, 7)
        or _MOBILE.match(match["groups"])
        or (match["sep"] in " ./" and len(groups) < 3)
    ):
        return None
    if DATE.match(text, start):
        return None
    if labelled(_ACCOUNT_LABEL, text, start, end):
        return start, end
    own = groups in _ACCOUNT_GROUPS and match["sep"] not in " ./"
    if groups == (3, 3, 6):
        own = own and match["groups"][:3] in _SUBJECTS
    return (start, end) if own and not _OTHER_AFTER.match(text, end) else None


def _make_card(value: str, normal: str, draw: Draw) -> str:
    digits = normal[0] + draw.digits(len(normal) - 2)
    last = draw.below(10)
    return lay(value, digits + str((last + 1) % 10 if luhn_ok(f"{digits}{last}") else last))


def _make_brn(value: str, normal: str, draw: Draw) -> str:
    if len(normal) != 10:  # of another form, beside its label
        return lay(value, "000" + draw.digits(len(normal) - 3))
    digits = f"{101 + draw.below(899)}{draw.digits(6)}"
    return lay(value, digits + str((brn_check_digit(digits) + 1 + draw.below(9)) % 10))


CARD = PiiType(
    "CARD",
    re.compile(f"(?=[0-9])(?:{_CARD})"),
    f"{TEN_DIGITS}|[0-9]{{4}}(?: ?[/_~ㆍ] ?[0-9]{{4}}){{3}}",
    _make_card,
    label=CARD_LABEL,
    check=card,
    any_name=True,
    exact=True,
)
BRN = PiiType(
    "BRN",
    re.compile(f"(?=[0-9])(?:{_BRN})"),
    f"[0-9]{{3}}[/~{GATE_GAP[1:]}{{0,3}}[0-9]{{2}}[/~{GATE_GAP[1:]}{{0,3}}[0-9]{{5}}",
    _make_brn,
    label=_BRN_LABEL,
    check=brn,
    exact=True,
)
BANK_ACCOUNT = PiiType(
    "BANK_ACCOUNT",
    re.compile(f"(?=[0-9])(?:{_BANK_ACCOUNT})"),
    f"{TEN_DIGITS}|[0-9](?:/?[0-9]){{9}}",
    lambda value, normal, draw: lay(value, "000" + draw.digits(len(normal) - 3)),
    label=_ACCOUNT_LABEL,
    check=bank_account,
    any_name=True,
    exact=True,
)
