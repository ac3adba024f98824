"""Words around a number that say what it is: labels before it, sometimes just after it."""

from __future__ import annotations

import re

BEFORE = 40
"""Characters before a value in which a label counts: a line of a form, or a short clause."""
BESIDE = 18
"""The same for values that are likely to be something else."""
RIGHT_BEFORE = 8
"""The same for values that are almost always something else."""
AFTER = 15
"""Characters after a value in which a label counts ("… (신한은행)")."""

_BANKS = (
    "국민|KB|신한|우리|하나|기업|IBK|농협|NH|수협|신협|우체국|새마을|카카오|케이|토스|제일|씨티|산업|부산|대구|경남|"
    "광주|전북|제주|외환"
)
LABELS: dict[str, re.Pattern[str]] = {
    "TEL": re.compile(
        r"전화|연락|핸드폰|휴대폰|휴대|폰|전번|문의|문자|카톡|팩스|상담|고객\s?센터|콜센터|제보|신고|예약|☎|☏|📞|국번"
        r"|(?<![a-z])(?:tel|phone|mobile|fax|call|h\.?p|c\.?p)(?![a-z])",
        re.IGNORECASE,
    ),
    "BANK_ACCOUNT": re.compile(
        rf"계좌|은행|뱅크|금고|통장|예금주|입금|송금|이체|환불|농협|수협|신협|우체국|(?:{_BANKS})\s?[:)]?\s?$|(?<![a-z])account",
        re.I,
    ),
    "CARD": re.compile(r"카드|결제|비자|마스터|아멕스|(?<![a-z])(?:card|visa|master|amex|jcb)", re.IGNORECASE),
    "RRN": re.compile(r"주민|(?<![a-z])(?:rrn|resident)", re.IGNORECASE),
    "FRN": re.compile(r"외국인|거소|등록번호|(?<![a-z])(?:frn|arn|alien)", re.IGNORECASE),
    "HEALTH_INSURANCE": re.compile(r"건강\s?보험|건보|의료\s?보험|보험증|health insurance", re.IGNORECASE),
    "BRN": re.compile(r"사업자|세금\s?계산서|현금\s?영수증|(?<![a-z])(?:brn|business)", re.IGNORECASE),
    "DRIVER_LICENSE": re.compile(r"면허|licen[cs]e", re.IGNORECASE),
    "PASSPORT": re.compile(r"여권|passport", re.IGNORECASE),
    "VEHICLE_PLATE": re.compile(
        r"차량|승용차|자동차|화물차|트럭|택시|버스|번호판|차\s?번호|주차|렌터카|렌트카|견인|뺑소니|차주|오토바이|운전|(?<![가-힣])차(?:는|가|를|의|도)?\s"
    ),
    "IP": re.compile(
        r"아이피|주소|서버|호스트|게이트웨이|라우터|공유기|방화벽|접속|대역|핑|서브넷|네트워크"
        r"|(?<![a-z])(?:ip|ipv4|dns|address|server|host|gateway|router|ping|subnet|network)(?![a-z])",
        re.IGNORECASE,
    ),
    "VERSION": re.compile(
        r"(?:버전|판올림|빌드|릴리[스즈]|업데이트|패치|펌웨어|패키지|어셈블리|version|(?<![a-z])(?:ver|v|release|build|sdk|update|package"
        r"|firmware|runtime|assembly|nuget|section)|섹션)"
        r"(?:[^0-9가-힣\n]{0,6}|[0-9.() ]{0,8})(?:은|는|이|가|을|를)?\s?$",
        re.IGNORECASE,
    ),
    "COURT": re.compile("대법원|법원|선고|판결|헌재|사건"),
    "MENTION": re.compile(
        r"인스타|트위터|트윗|페이스북|페북|유튜브|틱톡|댓글|팔로|맞팔|소환"
        r"|(?<![a-z])(?:rt|twitter|instagram|insta|threads|tiktok|follow)(?![a-z])",
        re.IGNORECASE,
    ),
    "MAC": re.compile(r"맥\s?주소|(?<![a-z])(?:mac|bssid|ethernet|이더넷|물리적)", re.IGNORECASE),
}
"""For every kind of context the words that make it. Those that end in $ must stand right before the value."""

VERSION_AFTER = re.compile(r"\s?(?:버전|빌드|이상|이하|미만|이전|이후|부터|릴리[스즈]|업데이트|장\s|절|항|조\s)")
"""What follows a version or a section number."""


def labelled(kind: str, text: str, start: int, end: int, before: int = BEFORE) -> bool:
    """Return whether a label of this kind stands at most `before` characters before text[start:end], or just after."""
    pattern = LABELS[kind]
    return (
        pattern.search(text[max(0, start - before) : start]) is not None
        or pattern.search(text[end : end + AFTER]) is not None
    )


def versioned(text: str, start: int, end: int) -> bool:
    """Return whether the words around text[start:end] make it a version or a section number."""
    before = text[max(0, start - BEFORE) : start]
    return LABELS["VERSION"].search(before) is not None or VERSION_AFTER.match(text, end) is not None
