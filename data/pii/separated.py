"""Values whose pieces stand apart, or that only what stands before them completes: the second of two numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from data.pii.checks import registration_date_ok
from data.pii.places import PROVINCES
from data.pii.types.accounts import FILE_SUFFIXES
from data.pii.types.address import ADDRESS
from data.pii.types.base import BESIDE, DASH, MASK, Found, accepted, labelled
from data.pii.types.identity import BIRTH, PASSPORT_LABEL
from data.pii.types.network import IP_LABEL, OCTET, TLD_BARE, TLD_PATH
from data.pii.types.telephone import TEL
from data.pii.url import url_end

_MAIL = re.compile(
    r"(?<![A-Za-z0-9])(?:(?<![A-Za-z0-9] )|(?<=[mM]ail )|(?<=MAIL ))(?:[A-Za-z0-9._-] ){2,31}@(?: [A-Za-z0-9-]){1,30}"
    r"(?: \.(?: [A-Za-z0-9-]){1,20}){0,3} \.(?: [A-Za-z]){2,7}(?![A-Za-z0-9]| [A-Za-z](?![A-Za-z]))"
)
_MAIL_GATE = r"[A-Za-z0-9._-] [A-Za-z0-9._-] @ [A-Za-z0-9-] [A-Za-z0-9-]"


def mail_apart(text: str, start: int, end: int) -> Iterator[Found]:
    """Yield mail addresses whose letters stand apart (h o n g @ n a v e r . c o m)."""
    for match in _MAIL.finditer(text, start, end):
        yield Found(*match.span(), "EMAIL", match[0].replace(" ", ""))


_IP = re.compile(rf"(?<![0-9.])(?<![0-9.] ){OCTET}(?P<gap> \. ?|\. )(?:{OCTET}(?P=gap)){{2}}{OCTET}(?! ?\.? ?[0-9])")
_COMMAS = re.compile(
    r"(?<![0-9.,])192,168,(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9]),(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])(?![0-9.,])"
)
_IP_GATE = r"192,168,[0-9]|[0-9](?: \. ?|\. )[0-9]{1,3}(?: \. ?|\. )[0-9]{1,3}(?: \. ?|\. )[0-9]"


def ip_apart(text: str, start: int, end: int) -> Iterator[Found]:
    """Yield network addresses with blanks at their dots, beside a word for them; a date is written so, too."""
    for match in _COMMAS.finditer(text, start, end):
        yield Found(*match.span(), "IP", match[0].replace(",", "."))
    for match in _IP.finditer(text, start, end):
        octets = re.findall("[0-9]+", match[0])
        dated = int(octets[1]) <= 12 and int(octets[2]) <= 31
        if not dated and labelled(IP_LABEL, text, *match.span(), BESIDE):
            yield Found(*match.span(), "IP", ".".join(octets))


_PASSPORT_GATE = rf"[MSRODmsrod][ {DASH}]?(?:[0-9][ {DASH}]?){{3}}[0-9A-Za-z](?:[ {DASH}]?[0-9]){{4}}"
_PASSPORT = re.compile(rf"(?<![0-9A-Za-z])(?<![A-Za-z]-){_PASSPORT_GATE}(?![0-9A-Za-z]|[ {DASH}][0-9])")


def passport_apart(text: str, start: int, end: int) -> Iterator[Found]:
    """Yield passport numbers in groups, beside their label."""
    for match in _PASSPORT.finditer(text, start, end):
        if not match[0].isalnum() and labelled(PASSPORT_LABEL, text, *match.span()):
            yield Found(*match.span(), "PASSPORT", re.sub("[^0-9A-Za-z]", "", match[0]))


_MASKED = re.compile(
    rf"(?<![0-9A-Za-z])(?<![0-9A-Za-z][{DASH}]){BIRTH} ?[{DASH}]? ?(?P<century>[0-9])(?:[{MASK[:6]}]{{6,9}}"
    rf"|[{MASK[6:]}]{{6}})(?![0-9A-Za-z])"
)
_REGISTERED = re.compile(
    "주민|민증|생년|외국인|거소|성명|이름|피보험자|환자|본인|대표|세대주|예금주|신청인|보호자"
    "|인적\\s?사항|피해자|가해자|피의자|고소인|신고인|민원인"
)
_MASKED_GATE = rf"[0-9]{{6}} ?[{DASH}]? ?[0-9][{MASK}]"


def masked_registration(text: str, start: int, end: int) -> Iterator[Found]:
    """Yield registration numbers whose end is stars (900101-1******), beside a word for them, a birth or a person."""
    for match in _MASKED.finditer(text, start, end):
        if labelled(_REGISTERED, text, *match.span()):
            yield Found(*match.span(), "FRN" if match["century"] in "5678" else "RRN", match[0])


_HALVES = re.compile(
    rf"(?<![0-9A-Za-z])(?<![0-9A-Za-z][{DASH}])(?P<birth>{BIRTH})(?:(?:이고|이며|입니다)?[ ,./:)]{{0,4}}"
    r"(?:뒷 ?자리|뒷번호|뒤)(?: ?번호)?[은는가]?[ :=(]{0,3}| ?\(앞 ?자리\)[ ,/-]{0,3})"
    r"(?P<rest>[1-8][0-9]{6})(?![0-9A-Za-z])"
)
_HALF = re.compile("앞(?: ?자리|번호)?[은는]?[ :=]{1,3}\\Z")
_HALVES_GATE = r"[0-9]{6}[^0-9]{0,8}(?:뒷|뒤)[^0-9]{0,10}[0-9]{7}|[0-9]{6} ?\(앞"


def registration_in_halves(text: str, start: int, end: int) -> Iterator[Found]:
    """Yield registration numbers told in halves (앞자리 900101 뒷자리 1234567), beside a word for them or a birth."""
    for match in _HALVES.finditer(text, start, end):
        said = _HALF.search(text, max(0, match.start() - 8), match.start()) or labelled(
            _REGISTERED, text, *match.span()
        )
        if registration_date_ok(match["birth"] + match["rest"]) and said:
            yield Found(*match.span(), "FRN" if match["rest"][0] in "5678" else "RRN", match[0])


_COUNTED = "년|월|원|시|명|회|분|호|층|동|번지|개|만|억|천|%|주년|학년|석|건|쪽"
_NEXT_END = (
    rf"(?![0-9A-Za-z]|_(?!_)|[{DASH}.:~][0-9]|[,/](?![0-9]{{4}}(?![0-9])|[0-9]{{2,4}}[)-])[0-9]| ?(?:{_COUNTED}))"
)
_NEXT = re.compile(
    rf"(?:(?: ?[,/·] ?| (?:및|또는|혹은|와|과) | ?[(] ?)(?P<more>(?:[0-9]{{3,4}}[{DASH}.])?[0-9]{{4}}"
    rf"|(?<=[ ·])[0-9]{{1,2}}(?=\s*(?:$|[\n)\]<\"|』」]))|(?<=[0-9]·)[0-9])"
    rf"| ?[~∼] ?(?P<last>[0-9]{{1,4}})){_NEXT_END}"
)
_NEXT_GATE = rf"[0-9]{{3}}(?:[ .{DASH}]{{0,3}}|\)[ {DASH}]?)[0-9]{{4}}(?: ?[/~∼,·(] ?| (?:및|또는|혹은|와|과) )[0-9]"


def second_number(text: str, start: int, end: int) -> Iterator[Found]:
    """Yield what is left of further telephone numbers that share a beginning (010-1234-5678/5679, 02-123-4567~9)."""
    for match in TEL.pattern.finditer(text, start, end):
        if accepted(TEL, text, match) is not None:
            yield from _following(text, match.end(), end, match[0])


def _following(text: str, position: int, end: int, first: str) -> Iterator[Found]:
    while match := _NEXT.match(text, position, end):
        name = "more" if match["more"] else "last"
        written = match[name]
        if first[0] == "1" and first[:4] <= first[-4:] <= "2100":
            return  # 1588-1592~95 are years
        year = len(written) == 4 and "1900" <= written <= "2099" and written[:2] != first[-4:-2]
        if name == "more" and year:
            return
        yield Found(*match.span(name), "TEL", first[: -len(written)] + written)
        position = match.end()


_LOCAL_GATE = r"(?:화|번호|☎|☏|📞|(?i:tel|phone))[ :.)]{0,3}[2-9][0-9]{2,3}-[0-9]{4}"
_LOCAL = re.compile(
    r"(?:전화(?:번호)?|☎|☏|📞|(?<![A-Za-z])(?i:tel|phone))[ :.)]{0,3}(?P<number>[2-9][0-9]{2,3}-[0-9]{4})"
    r"(?![0-9A-Za-z_]|[.~-][0-9]|[,/](?![2-9][0-9]{2,3}-[0-9]{4})[0-9]| ?[~원명개점년])"
)


def local_number(text: str, start: int, end: int) -> Iterator[Found]:
    """Yield telephone numbers without their area code right behind the word for them (전화 234-5678)."""
    for match in _LOCAL.finditer(text, start, end):
        yield Found(*match.span("number"), "TEL", match["number"])
        yield from _following(text, match.end(), end, match["number"])


_HOST_JOINT = r"(?: ?(?:닷|쩜|점) ?| \. | ?[\[({]\.[\])}] ?)"
_HOST_END = (
    f"(?:(?:co|or|go){_HOST_JOINT}kr|com|net|org|kr|site|shop|xyz|info|top|click|컴(?!(?!이라고|입니다"
    f"|으로)[가-힣]{{3}}))"
)
_WRITTEN_HOST = re.compile(
    rf"(?<![A-Za-z0-9@._/-])(?=[a-z0-9-]{{0,39}}[a-z])[a-z0-9][a-z0-9-]{{1,40}}(?:{_HOST_JOINT}[a-z0-9-]{{2,30}}){{0,2}}?"
    rf"(?:{_HOST_JOINT}{_HOST_END}|\[\.\][a-z]{{2,18}})(?![A-Za-z0-9@_-]|\.[A-Za-z0-9])"
)
_WRITTEN_HOST_GATE = (
    rf"[a-z0-9-]{_HOST_JOINT}(?:co|or|go|com|net|org|kr|site|shop|xyz|info|top|click|컴)|[a-z0-9-]\[\.\][a-z]"
)
_LIST_JOINT = re.compile(r" ?(?:[,/·→]|및|또는|\((?:[가-힣]{1,4} ){1,2}) ?")
_A_DOT = re.compile(_HOST_JOINT)


def written_host(text: str, start: int, end: int) -> Iterator[Found]:
    """Yield addresses of pages whose dots are written otherwise (shop 닷 co 닷 kr, bad[.]site, my . blog . com)."""
    last = start
    for match in _WRITTEN_HOST.finditer(text, start, end):
        listed = last > start and _LIST_JOINT.fullmatch(text, last, match.start()) is not None
        firm = match[0].endswith("닷컴")  # abc닷컴 is the name of a firm, too
        if not firm or listed or labelled(_SITE, text, *match.span(), BESIDE):
            last = match.end()
            yield Found(*match.span(), "URL", re.sub("컴$", "com", _A_DOT.sub(".", match[0])))


_CALLED = "(?:홈페이지|홈피|사이트|누리집|쇼핑몰|(?i:website|homepage|url))(?: ?주소)?(?: ?[(][가-힣]{1,6}[)])?[ :：=|]"
_LABELLED_HOST = re.compile(
    rf"{_CALLED}{{1,4}}(?P<host>(?:[a-z0-9][a-z0-9-]{{0,40}}\.){{1,4}}(?P<end>[a-z]{{2,18}}))(?![A-Za-z0-9_(@/-]|\.[A-Za-z0-9])"
)
_COMMON_END = re.compile(f"{TLD_PATH}|net")
_LABELLED_HOST_GATE = rf"{_CALLED}+[a-z0-9-]+\.[a-z0-9]"


def labelled_host(text: str, start: int, end: int) -> Iterator[Found]:
    """Yield a host under any common end right behind the word for a site (홈페이지: shop.market)."""
    for match in _LABELLED_HOST.finditer(text, start, end):
        called = match[0].removesuffix(match["host"]).rstrip(" ")[-1] in ":：|" and match["end"] not in FILE_SUFFIXES
        if called or _COMMON_END.fullmatch(match["end"]):
            yield Found(*match.span("host"), "URL", match["host"])


_HOST = re.compile(
    rf"(?<![A-Za-z0-9가-힣@._/\\$:-])[가-힣]{{1,20}}(?<![다요죠까])\.{TLD_BARE}(?![A-Za-z0-9_(@-]|\.[A-Za-z0-9])"
)
_KOREAN_HOST = re.compile(
    r"(?<![A-Za-z0-9가-힣@._/-])[A-Za-z0-9가-힣-]{2,20}(?<![다요죠까])\.(?:한국|닷컴|닷넷)(?![A-Za-z0-9-]|\.[A-Za-z0-9가-힣])"
)
_NO_SENTENCE_END = r"A-Za-z0-9가-깋깍-닣닥-욓욕-죟죡-힣-"
"""Letters but those that end sentences, 다, 요, 죠 and 까: "… 했다.한국은" is common."""
_HOST_GATE = rf"[가-힣]\.{TLD_BARE}|[{_NO_SENTENCE_END}]\.(?:한국|닷컴|닷넷)"
_SITE = re.compile("홈페이지|홈피|사이트|누리집|주소|도메인|블로그|링크|(?i:url)")


def korean_host(text: str, start: int, end: int) -> Iterator[Found]:
    """Yield addresses of pages whose host is in Hangul and stands alone (한글.kr); 예스24.com is the name of a shop."""
    for match in _HOST.finditer(text, start, end):
        last = min(end, url_end(text, match.end()))
        yield Found(match.start(), last, "URL", text[match.start() : last])
    for match in _KOREAN_HOST.finditer(text, start, end):  # "일본.한국" by itself is a list
        if labelled(_SITE, text, *match.span(), BESIDE):
            yield Found(*match.span(), "URL", match[0])


_SPACED = re.compile(r"(?<![가-힣0-9A-Za-z])[가-힣](?: {1,3}[가-힣](?![가-힣])){3,40} {1,3}[0-9][^\n]{0,160}")
_LETTER_GAP = re.compile(
    r"(?<![가-힣0-9A-Za-z][가-힣0-9]) (?=(?:[가-힣](?![가-힣])|[0-9-](?![0-9]{1,3}[동호층단])))(?<! {2})(?! )|(?<= ) "
)
"""A blank that stands between two letters, and all but the first where several divide words."""
_PROVINCE = "|".join(PROVINCES)
_LEAD = re.compile(rf"(?<![가-힣])(?!{_PROVINCE})[가-힣]{{1,2}}(?={_PROVINCE})")
"""A particle, or the end of the word for it, before a region."""
_SPACED_GATE = r"[가-힣]  ?[가-힣]  ?[시군구읍면동세남북]  ?(?:[가-힣]  ?)+[0-9]"


def spaced_address(text: str, start: int, end: int) -> Iterator[Found]:
    """Yield the addresses in text[start:end] whose head has a blank between any two letters."""
    for match in _SPACED.finditer(text, start, end):
        dropped = {gap.start() for gap in _LETTER_GAP.finditer(text, *match.span())}
        places = [at for at in range(*match.span()) if at not in dropped]
        joined = _LEAD.sub(lambda lead: " " * len(lead[0]), "".join(text[at] for at in places))
        position = 0
        while (head := ADDRESS.pattern.search(joined, position)) is not None:
            extent = ADDRESS.check(joined, head)
            position = extent[1] if extent else head.start() + 1
            if extent:
                yield Found(places[extent[0]], places[extent[1] - 1] + 1, "ADDRESS", joined[slice(*extent)])


Finder = Callable[[str, int, int], Iterator[Found]]
SEPARATED: dict[str, tuple[str, Finder]] = {
    "mail_apart": (_MAIL_GATE, mail_apart),
    "ip_apart": (_IP_GATE, ip_apart),
    "masked_registration": (_MASKED_GATE, masked_registration),
    "registration_in_halves": (_HALVES_GATE, registration_in_halves),
    "passport_apart": (_PASSPORT_GATE, passport_apart),
    "second_number": (_NEXT_GATE, second_number),
    "spaced_address": (_SPACED_GATE, spaced_address),
    "korean_host": (_HOST_GATE, korean_host),
    "local_number": (_LOCAL_GATE, local_number),
    "labelled_host": (_LABELLED_HOST_GATE, labelled_host),
    "written_host": (_WRITTEN_HOST_GATE, written_host),
}
