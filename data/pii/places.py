"""Korean administrative names and the address pattern built from them.

An address is a province or a known city, county or ward, then an optional town, then a road or a lot with a number,
then optional building details. "서울 강남구 역삼동 3개 업체" is none: a counter after the number says so.
"""

from __future__ import annotations

import re

PROVINCES: dict[str, tuple[str, ...]] = {
    "서울": ("특별시", "시", ""),
    "부산": ("광역시", "시", ""),
    "대구": ("광역시", "시", ""),
    "인천": ("광역시", "시", ""),
    "광주": ("광역시", "시", ""),
    "대전": ("광역시", "시", ""),
    "울산": ("광역시", "시", ""),
    "세종": ("특별자치시", "시", ""),
    "경기": ("도", ""),
    "강원": ("특별자치도", "도", ""),
    "충청북": ("도",),
    "충청남": ("도",),
    "전라북": ("도",),
    "전라남": ("도",),
    "경상북": ("도",),
    "경상남": ("도",),
    "충북": ("",),
    "충남": ("",),
    "전북": ("특별자치도", ""),
    "전남": ("",),
    "경북": ("",),
    "경남": ("",),
    "제주": ("특별자치도", "도", ""),
}
"""Name of a province or metropolitan city and the suffixes it is written with."""

CITIES = (
    "수원|성남|의정부|안양|부천|광명|평택|동두천|안산|고양|과천|구리|남양주|오산|시흥|군포|의왕|하남|용인|파주|이천|"
    "안성|김포|화성|양주|포천|여주|춘천|원주|강릉|동해|태백|속초|삼척|청주|충주|제천|천안|공주|보령|아산|서산|논산|"
    "계룡|당진|전주|군산|익산|정읍|남원|김제|목포|여수|순천|나주|광양|포항|경주|김천|안동|구미|영주|영천|상주|문경|"
    "경산|창원|진주|통영|사천|김해|밀양|거제|양산|제주|서귀포"
)
COUNTIES = (
    "연천|가평|양평|홍천|횡성|영월|평창|정선|철원|화천|양구|인제|고성|양양|보은|옥천|영동|증평|진천|괴산|음성|단양|"
    "금산|부여|서천|청양|홍성|예산|태안|완주|진안|무주|장수|임실|순창|고창|부안|담양|곡성|구례|고흥|보성|화순|장흥|"
    "강진|해남|영암|무안|함평|영광|장성|완도|진도|신안|군위|의성|청송|영양|영덕|청도|고령|성주|칠곡|예천|봉화|울진|"
    "울릉|의령|함안|창녕|남해|하동|산청|함양|거창|합천|기장|달성|강화|옹진|울주"
)
WARDS = (
    "종로|용산|성동|광진|동대문|중랑|성북|강북|도봉|노원|은평|서대문|마포|양천|강서|구로|금천|영등포|동작|관악|서초|"
    "강남|송파|강동|영도|부산진|동래|해운대|사하|금정|연제|수영|사상|수성|달서|미추홀|연수|남동|부평|계양|광산|유성|"
    "대덕|장안|권선|팔달|영통|수정|중원|분당|만안|동안|상록|단원|덕양|일산동|일산서|처인|기흥|수지|상당|서원|흥덕|"
    "청원|동남|서북|완산|덕진|의창|성산|마산합포|마산회원|진해"
)
"""Names that stand alone in addresses. The wards named by direction (중, 동, 서, …) do so only after a province."""

OLD_LICENCE_REGIONS = "서울|부산|대구|인천|광주|대전|울산|경기|강원|충북|충남|전북|전남|경북|경남|제주"
"""Regions on driver licences issued before regions were numbered; 세종 is younger than that form."""

PLATE_REGIONS = OLD_LICENCE_REGIONS + "|세종"

SHORT_UNITS = "개명년월일시분초차위곳회건%％원억만천조여세살대인배도부권등점종쪽면장절주mk㎞㎡"
UNITS = f"[{SHORT_UNITS}]| [{SHORT_UNITS}](?![가-힣])| ?(?:호선|단지|번(?!지)|마리|킬로|미터|학년|학기|가지|호실)"
"""What follows a number that counts something; such a number is no house number (but "110 대한빌딩" is one)."""


_PROVINCE = "|".join(
    f"{name}(?:{'|'.join(s for s in suffixes if s)}){'?' if '' in suffixes else ''}" if suffixes != ("",) else name
    for name, suffixes in PROVINCES.items()
    if name != "세종"  # it has no districts
)
_DISTRICT = "[가-힣]{1,4}[시군구]"
_KNOWN = f"(?:{CITIES})시|(?:{COUNTIES})군|(?:{WARDS})구"
_NO_UNIT = rf"(?![0-9]|[.,][0-9]|{UNITS})"
_ROAD = (
    r"(?P<road>[가-힣][가-힣0-9·]{0,11}?(?:대로|로|길))"
    r"(?P<branch> ?[0-9]{1,4}[가-하번]?[가-힣]?길)?"
    rf" ?(?:지하 ?)?(?P<house>(?![0-9]가)[0-9]{{1,5}}(?:-[0-9]{{1,4}})?)(?: ?번지|{_NO_UNIT})"
)
_LOT = (
    r"(?P<village>[가-힣][가-힣0-9]{0,7}?(?:[동로][0-9]가|동|리|가)(?: [가-힣]{1,4}리)?)"
    rf" ?(?:산 ?)?(?P<lot>(?![0-9]가)[0-9]{{1,5}}(?:-[0-9]{{1,4}})?)(?: ?번지|{_NO_UNIT})"
)
_DETAIL = (
    r"(?P<detail>(?: ?\([가-힣0-9., ]{2,20}\))?"
    r"(?:,? ?[가-힣A-Za-z0-9]{1,12}(?:아파트|빌라|빌딩|타워|오피스텔|맨션|상가))?"
    r"(?:,? ?(?:지하 ?)?[0-9]{1,4}(?:동|층|호)(?![가-힣]{3})){0,3})"
)
ADDRESS = re.compile(
    rf"(?<![가-힣])(?:(?P<province>{_PROVINCE}) ?(?P<district>{_DISTRICT}(?: {_DISTRICT})?)"
    rf"|(?P<sejong>세종(?:특별자치시|시))|(?P<known>(?:{_KNOWN})(?: [가-힣]{{1,3}}구)?))"
    rf" ?(?P<town>[가-힣0-9]{{1,6}}[읍면] ?)?(?:{_ROAD}|{_LOT}){_DETAIL}"
)
_UNCOUNTED = rf"(?:[^0-9 .,{SHORT_UNITS}]|[.,](?:[^0-9]|\z)| (?:[^{SHORT_UNITS}]|[{SHORT_UNITS}][가-힣]|\z)|\z)"
ADDRESS_GATE = f"[가-힣0-9·](?:로|길|동|리|가) ?(?:산 ?|지하 ?)?[0-9]{{1,5}}{_UNCOUNTED}"
