"""The labels of forms and the headers of tables: for each type its words, and the values that it takes for its own."""

from __future__ import annotations

from typing import NamedTuple

from data.pii.places import PLATE_REGIONS
from data.pii.types.base import DASH, MASK

_NUMERIC = rf"[0-9]{{1,19}}(?:(?P<gap> ?[{DASH}] ?|[./_]| {{1,2}})[0-9]{{1,19}}(?:(?P=gap)[0-9]{{1,19}}){{0,6}}" + (
    rf"|[{DASH}][0-9]{{1,8}}(?:[{DASH} ][0-9]{{1,8}}){{1,4}})?"
)
_APART = rf"[0-9](?: [0-9{DASH}]){{8,20}}"
"""Digits with a blank between any two, as forms with a box a digit are read."""
REGION = f"(?:{PLATE_REGIONS})"
_BANK = (
    "(?:[가-힣A-Za-z]{0,6}(?:은행|뱅크|금고|증권|조합|카드|농협|수협|신협|우체국|국민|신한|우리|하나|기업|부산|대구|카카오"
    "|토스|케이|KB|IBK|NH|비씨|BC|현대|삼성|롯데)[ :)(]{1,2})?"
)
_REGISTERED = (
    rf"[0-9]{{6}} ?[{DASH}./_ ]? ?(?:[0-9]{{7}}|[0-9][{MASK}]{{6,9}}|[0-9]{{2,6}}[{MASK}]{{1,5}}"
    rf"|[0-9][{MASK}]{{3,5}}[0-9]{{1,3}})"
    rf"|[0-9]{{6}}[ .{DASH}]{{1,3}}[0-9](?:[ .{DASH}]{{0,3}}[0-9]){{6}}"
    rf"|[0-9]{{6}} ?[{DASH}] ?[0-9](?![ ?0-9{MASK}])"
    rf"|[0-9]{{2}}[{DASH}. ][0-9]{{2}}[{DASH}. ][0-9]{{2}}[{DASH} ][0-9]{{7}}"
)


class LabelKind(NamedTuple):
    """The patterns of values beside the labels of one type."""

    labels: str
    """Labels, in RE2 syntax, too; without the word for number."""
    starts: str
    """Characters with which a label starts: a search that looks for them first is several times faster."""
    values: str
    digits: range
    """Numbers of digits that are plausible."""
    before: str = ""
    """What may stand between label and value, in RE2 syntax, too."""
    begins: str = "[0-9]"
    """A character with which a value begins, in RE2 syntax, too."""


KINDS = {
    "HEALTH_INSURANCE": LabelKind(
        "(?:건 ?강|의 ?료) ?보 ?험 ?(?:증|자격|가입자|피보험자)?|건보 ?(?:증|자격|가입자)?|보험증"
        "|(?:(?m:^)|[^가-힣])증 ?번호|(?i:health[ _-]?insurance(?:[ _-]?card)?|nhis)|HI(?: ?[nN][oO])",
        "건의보증hHnN",
        f"{_APART}|{_NUMERIC}",
        range(9, 15),
    ),
    "DRIVER_LICENSE": LabelKind(
        "면 ?허 ?증?|[lL]icen[cs]e|LICENSE|DL(?: ?[nN][oO])",
        "면lLD",
        rf"(?:{REGION}[ {DASH}]?)?{_NUMERIC}",
        range(9, 15),
        "(?:제 ?)?",
        "(?:[0-9]|[가-힣]{2} ?-?[0-9])",
    ),
    "PASSPORT": LabelKind(
        "여 ?권|[pP]assport|PASSPORT|PP(?: ?[nN][oO])",
        "여pP",
        "[A-Za-z][ -]?[0-9]{3}[ -]?[A-Za-z][0-9]{4}"
        rf"|[A-Z]{{1,2}}[ {DASH}]?[0-9]{{2,10}}(?:[ {DASH}][0-9]{{2,6}}){{0,3}}|[A-Za-z]{{1,2}}[0-9]{{6,10}}"
        "|[0-9]{9}",
        range(6, 11),
        begins="[0-9A-Za-z]",
    ),
    "RRN": LabelKind(
        "주 ?민 ?(?:등 ?록)?|민증|(?i:rrn|ssn|jumin|resident[ _-]?registration)",
        "주민rRsSjJ",
        _REGISTERED,
        range(6, 14),
    ),
    "FRN": LabelKind(
        "외 ?국 ?인 ?(?:등 ?록)? ?증?|거소 ?(?:신고)? ?증?|ARC"
        "|(?i:frn|alien[ _-]?registration(?: card)?|residen(?:ce|t) card)",
        "외거AaFfRr",
        _REGISTERED,
        range(6, 14),
    ),
    "BRN": LabelKind(
        "사 ?업 ?자 ?(?:[(]?등 ?록[)]?)? ?증?|고유번호증|고유번호 ?[(（]단체[)）]"
        "|(?i:brn|business[ _-]?(?:registration|reg\\.?|licen[cs]e)"
        r"|(?:biz\.?|company)(?:[ _-]?reg(?:istration)?\.?)?(?:[ _-]?no)|tax[ _-]?id)",
        "사고bBcCtT",
        f"{_APART}|{_NUMERIC}",
        range(9, 15),
    ),
    "BANK_ACCOUNT": LabelKind(
        "계 ?좌|통장|(?i:account|acct)\\.?|A/C", "계통aA", f"{_APART}|{_NUMERIC}", range(9, 17), _BANK
    ),
    "CARD": LabelKind("카 ?드|법카|[cC]ard|CARD|(?i:pan)", "카법cCpP", f"{_APART}|{_NUMERIC}", range(13, 20), _BANK),
    "VEHICLE_PLATE": LabelKind(
        "등록 ?차량|차 ?량|자동차|차|車|차량 ?등록|자동차 ?등록|번호판|차번|차 ?넘버"
        "|(?i:vehicle|license[ _-]?plate|plate|car)",
        "등차車자번vVlLpPcC",
        rf"(?:{REGION} ?)?[0-9]{{1,3}}(?: ?[{DASH}] ?| {{0,2}})[가-힣](?: ?[{DASH}.·ㆍ] ?| {{0,2}})[0-9]{{4}}"
        "|[0-9](?: [0-9]){1,2} [가-힣](?: [0-9]){4}",
        range(5, 8),
        "(?:제 ?)?",
        "(?:[0-9]|[가-힣]{2} ?[0-9])",
    ),
    "TEL": LabelKind(
        r"전 ?화|연 ?락 ?처|연락(?: 가능한)?|핸드폰|휴대폰|휴대 ?전화|폰|모바일|전번|콜센터|팩 ?스|직통|문의처?"
        r"|담당자?|대표"
        r"|상담|[tT]el|TEL"
        r"|[pP]hone|PHONE|[mM]obile|MOBILE|[fF]ax|FAX|[hHcC]\.?[pP]|[TMFH]|☎|☏|📞",
        "전연핸휴폰모콜팩직문담대상tTpPmMfFhHcC☎☏📞",
        rf"0[0-9]{{1,3}}(?P<gap> ?[{DASH}] ?|[._ ])[0-9]{{2,5}}(?:(?P=gap)[0-9]{{2,5}}){{1,2}}|0[0-9]{{8,10}}"
        rf"|0[0-9]{{1,2}}/[0-9]{{3,4}}/[0-9]{{4}}|1[568][0-9]{{2}}[{DASH}][0-9]{{4}}",
        range(8, 12),
        begins="(?:0[0-9]|1[568][0-9])",
    ),
}
COLUMNS_ONLY = {
    "ADDRESS": "주 ?소(?:지)?|소재지|거주지|배송지|수령지|도착지|등록기준지|받는 ?곳",
    "URL": "홈페이지|웹사이트|사이트|링크|URL|블로그|누리집",
    "MAC": "(?:MAC|맥|하드웨어|물리적?)(?: ?(?:주소|[aA]ddr(?:ess)?|어드레스))?",
}
"""Headers of types that are known by their own patterns: their cells are read as if they stood behind the word."""
COLUMNS = {
    "HEALTH_INSURANCE": "건강보험증 번호",
    "DRIVER_LICENSE": "면허번호",
    "PASSPORT": "여권번호",
    "RRN": "주민등록번호",
    "FRN": "외국인등록번호",
    "BRN": "사업자등록번호",
    "BANK_ACCOUNT": "계좌번호",
    "CARD": "카드번호",
    "VEHICLE_PLATE": "차량번호",
    "TEL": "전화번호",
    "ADDRESS": "주소",
    "URL": "홈페이지",
    "MAC": "MAC 주소",
}
"""A label for each cell of a column."""
