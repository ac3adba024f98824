"""E-mail address and handle of social media."""

from __future__ import annotations

import re

from data.pii.code_words import ACCESSORS, MODULES, is_code_name, is_field_name
from data.pii.types.base import BESIDE, Extent, PiiType, labelled
from data.pii.types.names import SURNAMES
from data.pii.types.network import MASKED_HOST, RESERVED_DOMAINS

_SUFFIXES = (
    "png jpg jpeg gif svg webp css js ts jsx tsx json xml html htm md txt yml yaml py rb java cs cpp exe dll zip"
)
FILE_SUFFIXES = frozenset(_SUFFIXES.split())
"""Ends of file names such as icon@2x.png, which look like mail domains."""
MAIL_ENDS = frozenset({"com", "net", "org", "kr", "local"})
_DOMAIN = r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}(?P<tld>[A-Za-z]{2,18})"
_KOREAN_DOMAIN = (
    r"(?:[A-Za-z0-9가-힣-]{1,30}\.){1,3}한국|(?=[A-Za-z0-9-]{0,29}[가-힣])[A-Za-z0-9가-힣-]{1,30}"
    r"\.(?:com|net|org|kr|co\.kr|or\.kr|go\.kr|ac\.kr)(?![A-Za-z0-9-])"
)
MAIL_BRANDS = {
    "네이버": "naver",
    "다음": "daum",
    "한메일": "hanmail",
    "지메일": "gmail",
    "구글": "google",
    "네이트": "nate",
    "카카오": "kakao",
    "핫메일": "hotmail",
    "야후": "yahoo",
    "아웃룩": "outlook",
    "아이클라우드": "icloud",
}
"""Hosts of mail as they are called in Korean; an address at one is read by obfuscated.py."""
_EMAIL = (
    rf"(?<![A-Za-z0-9._%+-])(?P<local>[A-Za-z0-9_][A-Za-z0-9._%+-]{{0,127}}|(?<![가-힣])(?=[가-힣A-Za-z0-9._%+-]{{0,31}}[가-힣]@)"
    rf"[가-힣A-Za-z0-9._%+-]{{1,32}})@(?P<domain>{_DOMAIN}|{_KOREAN_DOMAIN})(?![A-Za-z0-9]|-[A-Za-z0-9]|@)"
)
_NO_HANDLE_AFTER = r"A-Za-z0-9_.@가-힣ㄱ-ㅎㅏ-ㅣ/\\`%+=$&{}<#-"
_MENTION = (
    rf"@(?:(?<![{_NO_HANDLE_AFTER}]@)|(?<=[가-힣]=@))(?:(?=[0-9_.]{{0,28}}[A-Za-z])"
    r"(?P<handle>[A-Za-z0-9_](?:[A-Za-z0-9_]|\.(?=[A-Za-z0-9_])){2,29})(?![A-Za-z0-9_@/(\[{`=#-]|\\[^\"]|\.[A-Za-z0-9_])"
    rf"|(?P<name>(?:{SURNAMES})[가-힣]{{1,2}}?|[가-힣]{{2,12}}?"
    r"|[가-힣]{2,12}(?=[0-9_])[가-힣0-9_]{1,12}?|[가-힣](?=_)[가-힣0-9_]{2,14}?)"
    r"(?P<title> ?님| 씨(?=[^가-힣]|[가는의를도와]|$)|(?=[^가-힣A-Za-z0-9_.@/]|$)))"
)
MENTION_LABEL = re.compile(
    r"인스타|트위터|트윗|페이스북|페북|유튜브|틱톡|스레드|댓글|팔로|맞팔|소환|디엠"
    r"|(?<![a-z])(?:rt|ig|dm|twitter|instagram|insta|threads|tiktok|follow)(?![a-z])",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"확인|부탁|답변|답장|검토|리뷰|공유|참고|봐 ?줘|봐주|주세요|줄래|해 ?줘|연락|전달|소환|맞팔|팔로|고마|감사|축하"
)
_ADDRESSED = re.compile(r" ?(?:님|씨(?![가-힣])|께서|에게|한테)|[!~♡♥]|,? ?(?:안녕|고마|감사|축하)")
_PLACE = re.compile("(?:역|점|카페|공원|집|앞|홀|타워|마트|몰|대)$")
_DISTRICT = re.compile("[동구시군읍면리]$")
_HONOURED = re.compile(
    "하느|부모|선생|사장|교수|기사|고객|회원|작가|대표|손|스승|임금|형|누|여러분|어머|아버|할머|할아버|[팀부과]장"
)
"""What 님 follows and is no handle."""
_IDENTIFIER = re.compile("[a-z]+[A-Z]")
_CELL = re.compile(r" *[|\t]")
_COMPARED = re.compile(r" ?:=| ?\+ ?[0-9]| ?[=!<>]=? ?[\"'0-9]")


_SHELL = re.compile(r"(?<![A-Za-z])(?:ssh|scp|sftp|rsync)(?: -[A-Za-z]+(?: [^ -]\S*)?)? \Z")
"""Before an account on a machine."""


def email(text: str, match: re.Match[str]) -> Extent | None:
    """Accept a mail address; icon@2x.png, the account of code hosts (git@…) and members (e@joe.Age) are none."""
    tld = match["tld"]
    if tld is None:
        return None if match["domain"].partition(".")[0] in MAIL_BRANDS else match.span()
    if tld.lower() in FILE_SUFFIXES or match["local"] == "git" or MASKED_HOST.fullmatch(match[0]):
        return None
    if _SHELL.search(text, max(0, match.start() - BESIDE), match.start()):
        return None
    # domains are written in one case; phones capitalise the first letter
    member = tld not in (tld.lower(), tld.upper()) and tld.lower() not in MAIL_ENDS
    return None if member else match.span()


def mention(text: str, match: re.Match[str]) -> Extent | None:
    """Accept a handle; an annotation, an identifier (camelCase, ALL_CAPS), a variable and a mail domain are none.

    A handle in Hangul needs a title, or a request or a name of such a service beside it: "@홍대" is a place.
    """
    start, end = match.span()
    if (name := match["name"]) is not None:
        end = match.end("name")
        if match["title"]:
            return None if _HONOURED.fullmatch(name) else (start, end)
        person = len(name) <= 4 and re.match(SURNAMES, name) and not _PLACE.search(name)
        asked = person and _REQUEST.search(text, end, end + 25)
        place = _PLACE.search(name) or _DISTRICT.search(name)
        has_label = not place and MENTION_LABEL.search(text[max(0, start - BESIDE) : start])
        return (start, end) if asked or has_label else None
    handle = match["handle"]
    first, *_, last = handle.split(".") * 2
    addressed = handle == handle.lower() and _ADDRESSED.match(text, end) is not None
    if _IDENTIFIER.match(first) or first.isupper():
        return None
    called = labelled(MENTION_LABEL, text, start, end, BESIDE)
    if first != handle and last in MAIL_ENDS and not (called or _in_cell(text, end, first)):
        return None
    if is_code_name(handle) and not (addressed or (called and is_field_name(handle))):
        return None
    # handles with dots are lower case; System.Exception and tf.keras are not
    member = first != handle and (
        handle != handle.lower()
        or (first in MODULES and not addressed)
        or last in ACCESSORS
        or (last in FILE_SUFFIXES and not called)
    )
    return None if member or _COMPARED.match(text, end) else (start, end)


def _in_cell(text: str, end: int, host: str) -> bool:
    """Return whether a cell of a table ends at `end`: what begins with @ there is a handle, but for a mail host."""
    return host not in MAIL_BRANDS.values() and _CELL.match(text, end) is not None


EMAIL = PiiType(
    "EMAIL",
    re.compile(_EMAIL),
    r"[A-Za-z0-9._%+-]@[A-Za-z0-9가-힣]|[가-힣]@[A-Za-z0-9가-힣]",
    lambda value, normal, draw: f"{draw.name(5)}@{draw.choice(RESERVED_DOMAINS)}",
    check=email,
    normalise=str.lower,
)
MENTION = PiiType(
    "MENTION",
    re.compile(_MENTION),
    rf"(?:(?m:^)|[^\n{_NO_HANDLE_AFTER}]|[가-힣]=)@(?:[A-Za-z0-9_][A-Za-z0-9_.]{{2}}|[가-힣][가-힣_])",
    lambda value, normal, draw: f"@{draw.name(6)}",
    label=MENTION_LABEL,
    check=mention,
    normalise=str.lower,
)
