"""Mail addresses hidden from harvesters: hong[at]naver[dot]com, hong 골뱅이 네이버 닷컴, hong @ naver.com."""

from __future__ import annotations

import re
from collections.abc import Iterator

from data.pii.types.accounts import FILE_SUFFIXES, MAIL_BRANDS, MENTION_LABEL
from data.pii.types.base import BEFORE, BESIDE, Found

_ENDS = {"컴": "com", "넷": "net", "오알지": "org", "케이알": "kr", "씨오": "co"}
_BRAND = "|".join(MAIL_BRANDS)
_PROVIDER = "naver|gmail|daum|hanmail|nate|kakao|hotmail|outlook|yahoo|icloud"
_END = f"com|net|org|kr|co|ac|go|or|re|pe|edu|io|me|{'|'.join(_ENDS)}"
_ANY_END = f"[a-z]{{2,18}}|{'|'.join(_ENDS)}|한국"
_MARKED = (
    r" ?[\[({<『【「〔] ?(?:at|골뱅이|앳|에이티|@) ?[\])}>』】」〕] ?|@@"
    r"|\.골뱅이\.| ?골뱅이 ?|%40|\\u0040|(?P<a>[\[(]a[\])])(?=[a-z0-9-]{2,40}\.[a-z]{2})"
)
_AT = (
    rf" ?@ ?|#| ?[\[(] ?a ?[\])] ?(?=(?:{_PROVIDER})\.)|[_-]at[_-](?=[a-z0-9-]+[_-]dot[_-])"
    rf"| (?:at|앳|에이티) (?=(?:{_PROVIDER})\.(?:com|net|co\.kr))"
)
_SPOKEN = rf" (?:at|앳|에이티) (?=(?:[a-z0-9-]+|{_BRAND})(?: dot | ?\(dot|닷| 닷| 쩜 | 점 | ?\[dot))"
_DOTS = r" ?[\[({<] ?(?:dot|닷|점|쩜|\.) ?[\])}>] ?| (?:dot|닷|점|쩜) | ?(?:닷|쩜|점) ?|,|[_-]dot[_-]"
_DOT = rf"(?:{_DOTS}| ?\. ?)"
_SURE_DOT = rf"(?:{_DOTS}| \. |\.)"
"""A full stop before a blank ends the sentence."""
_MAIL = re.compile(
    r"(?<![A-Za-z0-9._%+-])(?P<local>[A-Za-z0-9_](?:[A-Za-z0-9._%+-]{0,62}[A-Za-z0-9_])?"
    r"(?:[\[({](?:dot|닷|점|쩜|\.)[\])}][A-Za-z0-9_-]{1,20}){0,2})"
    rf"(?:(?P<sure>{_MARKED}|(?P<spoken>{_SPOKEN}))|(?P<at>{_AT}))"
    rf"(?P<host>(?P<provider>(?:{_PROVIDER}|{_BRAND})(?![A-Za-z0-9-]))|[A-Za-z0-9](?:[A-Za-z0-9-]{{0,40}}[A-Za-z0-9])?"
    r"|(?(sure)[가-힣]{2,8}(?= ?(?:닷|쩜) ?(?:컴|넷)|\.한국)|(?!)))"
    r"(?P<tail>(?(sure)"
    rf"(?:{_SURE_DOT}[A-Za-z0-9-]{{1,20}}(?={_SURE_DOT}(?:{_ANY_END}))){{0,3}}{_SURE_DOT}(?:{_ANY_END})"
    rf"|(?:{_DOT}[A-Za-z0-9-]{{1,20}}(?={_DOT}(?:{_END}))){{0,2}}{_DOT}(?:{_END}))(?![A-Za-z0-9-]))?",
    re.IGNORECASE,
)
"""Where the sign is marked as one (in brackets, or 골뱅이), or the dots are spoken, any top-level domain will do."""
WRITTEN_MAIL_GATE = (
    rf"(?i:[a-z0-9_] ?[\[(] ?a ?[\])] ?(?:{_PROVIDER})\.|[a-z0-9_][\[(]a[\])][a-z0-9-]+\.[a-z])|"
    r"(?i:[a-z0-9_] ?[\[({<『【「〔] ?(?:at|골뱅이|앳|에이티|@) ?[\])}>』】」〕]"
    r"|[a-z0-9_](?:@@|%40|\\u0040)[a-z0-9]|[a-z0-9_][ .]?골뱅이[ .]?[a-z0-9가-힣]"
    rf"|[a-z0-9_] (?:at|앳|에이티) (?:[a-z0-9-]+|{_BRAND})(?: dot | ?[(\[]dot|닷| 닷| 쩜 | 점 )"
    rf"|[a-z0-9_] (?:at|앳|에이티) (?:{_PROVIDER})\.(?:com|net|co)|[a-z0-9][_-]at[_-][a-z0-9-]+[_-]dot[_-]"
    r"|[a-z0-9_]#[a-z0-9-]{1,40}\.(?:com|net|org|co|kr)|[a-z0-9_] @ ?[a-z]|[a-z0-9_]@ [a-z]"
    rf"|[a-z0-9_]@(?:{_BRAND}|(?:{_PROVIDER})(?:[^a-z0-9._-]|\z))"
    r"|[a-z0-9_]@[a-z0-9-]{1,40}(?: ?[\[({<] ?(?:dot|닷|점|쩜|\.)| (?:dot|닷|점) | ?(?:닷|쩜|점)"
    r"|,(?:com|net|co)| ?\. (?:com|net|co)| \.))"
)
_ENGLISH = frozenset(
    (
        *("look", "looks", "found", "find", "only", "available", "is", "are", "was", "be", "here", "live", "search"),
        *("start", "buy", "read", "more", "see", "hosted", "visit", "page", "site", "website", "blog", "mail", "email"),
        *("contact", "arrive", "me", "us", "him", "her", "it", "them", "you", "one", "that", "this", "work", "works"),
    )
)
"""Words before `at naver.com` that name nobody."""
_ARTICLES = frozenset(("the", "a", "an", "this", "that", "each", "every", "one"))
_WORD_BEFORE = re.compile(r"[A-Za-z][,;:]? $")


def _is_english(text: str, match: re.Match[str]) -> bool:
    before = text[max(0, match.start() - 3) : match.start()]
    return match["local"].lower() in _ENGLISH or _WORD_BEFORE.search(before) is not None


_LOCAL_DOT = re.compile(r"[\[({][^\])}]+[\])}]")
_CONTINUES = re.compile("[A-Za-z0-9._-]*[A-Za-z0-9]")
_MAIL_LABEL = re.compile(r"메일|(?<![a-z])mail", re.IGNORECASE)
_INSTEAD = re.compile(r"# ?(?:[을를은는]|대신|자리에|→|->|=)? ?(?:@|골뱅이|앳)")
"""What says that # stands for @: (#을 @로)."""
_BRACKETED = re.compile(r"[\[({<]|골뱅이|앳|에이티")


def written_mail(text: str, start: int, end: int) -> Iterator[Found]:
    """Yield mail addresses hidden from harvesters."""
    for match in _MAIL.finditer(text, start, end):
        tail = match["tail"]
        at = match["sure"] or match["at"]
        provider = match["provider"]
        called = _MAIL_LABEL.search(text, max(0, match.start() - BEFORE), match.end() + BESIDE) is not None
        if match["a"] and not (called or provider):
            continue
        is_marked = called or provider or _INSTEAD.search(text, max(0, match.start() - BEFORE), match.end() + BESIDE)
        if at == "#" and not is_marked:
            continue
        if at == " @" and MENTION_LABEL.fullmatch(match["local"]):
            continue  # IG @handle.co
        if tail is None and not (provider and (_BRACKETED.search(at) or (called and at == "@"))):
            continue
        if tail is None and _CONTINUES.match(text, match.end()):
            continue
        host = provider.lower() if provider else match["host"]
        domain = MAIL_BRANDS.get(host, host)
        if tail is None:
            domain += ".com" if "." not in domain else ""
        else:
            pieces = re.findall(f"[A-Za-z0-9-]+|{'|'.join(_ENDS)}|한국", re.sub(r"(?i)dot|닷|점|쩜", ".", tail))
            domain = ".".join([domain, *(_ENDS.get(piece, piece) for piece in pieces)])
        plain = tail is not None and re.fullmatch(r"(?:\.[A-Za-z0-9-]+)+", tail) is not None
        if at == "@" and plain and host not in MAIL_BRANDS:
            continue  # nothing is hidden
        if not match["sure"] and at.strip().isalpha() and plain and _is_english(text, match):
            continue
        if match["spoken"] and (host in _ARTICLES or match["local"].lower() in _ENGLISH):
            continue
        if tail is not None and domain.rpartition(".")[2].lower() in FILE_SUFFIXES:
            continue
        if " . " in f"{tail}" and not provider and " " not in at and not _BRACKETED.search(at):
            continue
        yield Found(*match.span(), "EMAIL", f"{_LOCAL_DOT.sub('.', match['local'])}@{domain}")
