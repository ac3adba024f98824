"""The words that addresses are made of, and those that end them. Each is a pattern, or alternatives of one."""

from __future__ import annotations

BUILDINGS = (
    "아파트|APT|apt|Apt|빌라|빌딩|타워|오피스텔|맨[션숀]|상가|연립|주택|하이츠|[프플]라자|원룸|고시[원텔]|빌리지|팰리스"
    "|캐슬|타운|하우스|스퀘어|레지던스|아파텔|지식산업센터|테크노밸리|주공|마을|빌"
)
"""What the names of buildings and of estates end with."""
MANY = "동|층|호실|호|라인|블[록럭]|BL|로트|롯트|세대"
FEW = "차|단지|관|통|반"
"""Units of a building or an estate, behind their number: of up to four digits, and of up to two."""
NAMED = (
    "본관|별관|신관|구관|동관|서관|남관|북관|지층|반지하|옥탑방|옥탑층|옥탑|지하층|지하|옥상|상가동|관리동|관리사무소"
    "|관리실|경비실|별채|안채|바깥채|뒤채|문간방|행랑채|사랑채"
)
"""Units without a number."""
LETTERS = "A-Za-z가나다라마바사아자차카타파하"
"""Letters that stand for the number of a unit, or before it (inside a character class)."""
ORDINAL = "(?:제 ?)?"
BELOW = "(?:(?:지하|반지하|지층|옥탑) ?)?"
"""What stands before the number of a floor or a room."""

ENDINGS = (
    "입니다|이에요|예요|이[고며나]|인데|으로|에서|까지|부터|거주|사는|사시는|살고|살던|세대|주민|앞으|현관|입구|경비실"
    "|관리실|주차장|우편함|에게|에는|이라"
)
"""What may follow a unit without a blank, beside one or two syllables."""
NO_UNITS = {
    "동": "안|시에|작|[가-힣] ?시간",
    "층": "짜리|집|버스|석탑|이상|이하|높이|규모| ?(?:건물|규모|높이|이상|이하|짜리|석탑|주택|버스|빌딩|아파트|타워)",
    "호": "실|텔|선|기|분|점|차|봉|수|위|형|안건|법정",
    "호실": "",
    "관": "왕|객|문|련|계|심|광",
    "차": "로|선|례|량|대|원|전|전지|적|장",
    "반": "[가-힣]{2}",
    "통": "[가-힣]{2}",
    "세대": "[가-힣]",
}
"""Unit → what follows it where it is none: 3층 건물, 12호선, 2관왕."""

_SHORT = "개명년월일시분초차위곳회건%％원억만천조여세살대인배도부권등점종쪽면장절주mk㎞㎡평필홉정"
COUNTERS = (
    f"[{_SHORT}]| [{_SHORT}](?![가-힣])| ?(?:호선|단지|번(?!지)|마리|킬로|미터|학년|학기|가지|호실|차[로선]|사람"
    f"|층석탑)"
    "| ?(?:구역|지구|구간|공구|코스|블록|블럭|필지|가구|세대)|중(?![가-힣])|중 ?(?:추돌|충돌)|연패|연승"
)
"""What follows a number that counts something; such a number is no house number (but "110 대한빌딩" is one)."""
AROUND = "인근|일대|인데|부터| ?단지 내| 등 ?[0-9]| ?[대전답] ?[0-9,.]+ ?(?:평|제곱|㎡|홉|정|단)"
"""What begins like a counter and is none."""
GLUED = (
    f"{AROUND}|번지|에|까지|입니다|예요|라[고는]|이(?!닝)|하고|소재|근처|요(?![가-힣])|외 ?[0-9]+ ?필지|제[0-9]"
    "|(?:(?<=[0-9]{3})|(?<=-[0-9])|(?<=-[0-9]{2}))(?![호층동평석실병권])[가-힣]"
    f"|(?:[은는을를가의와과및앞뒤옆]|으?로)(?![가-힣])|[가-힣]{{1,12}}(?:{BUILDINGS})"
)
"""Hangul that may follow the number of a lot without a blank; anything else makes it no address (63빌딩, 6호분)."""

STOPS = (
    "인근|근처|부근|일대|일원|맞은편|건너편|소재|위치|거주|사는|사시는|에서|까지|부터|입니다|으로|이며|이고|인데"
    r"|전화|연락|우편|팩스|(?i:fax|tel|phone|mobile|h\.?p|e-?mail)(?![A-Za-z])"
    "|[가-힣]{0,4} ?(?:연락처|전화|차량|계좌|번호|전번)(?![가-힣])|핸드폰|휴대"
    "|담당|성명|이름|면적|대지|임야|잡종지|지상|건물|번지|번길|안건|별지|통권|고시"
    "|(?:앞|옆|뒤|뒤편|뒤쪽|에|로|및|또는|그리고|각각|현재|이하|외|등|중|위|전체|우리|저희|여기|오늘|어제|내일|지난"
    "|올해|매일|총|약|각"
    "|의|은|는|을|를|와|과|토지|신청|답|전|대)(?![가-힣A-Za-z0-9])"
)
"""Words that end an address: what follows is no name of a building."""
STOP_ENDINGS = (
    "에서|에서는|까지|부터|입니다|으로|에게|이며|이고|하는|하여|하고|에는|에도|되는|되어|있는|없는|번호|[를의는]"
)
"""What the words end with that end one."""

LABELS = (
    "주 ?소 ?지?|소 ?재 ?지|거 ?주 ?지|거소|배송 ?지|배달 ?지|배달 ?장소|수령 ?지|수령 ?장소|도착 ?지|출발 ?지"
    "|송달 ?장소|송달 ?받을 ?곳"
    "|받(?:는|으실|을) ?(?:곳|분)|보내(?:는|실|실) ?곳|사는 ?(?:곳|집)|자택|본적|등록 ?기준 ?지|기준지|사업장|본점"
    "|영업소|현 ?거주|체류 ?지|납품 ?처|픽업|집"
    "|(?i:address|addr)"
)
"""What a form calls an address."""
NO_ROADS = (
    "(?:[가-힣]+으|앞으|최초|추가|새|별도|별|서|바|홀|주|때|실|따|제|스스|대체|실제|수시|무료|유료|가|세|경|통|차|도"
    "|코로나|서|뱃|외|하나|모듈|"
    "(?:최|그|절|상|반|확|제멋|예정|계획|뜻|마음|맘|제|규정|순서|차례|말|약속|멋|그런)?대)로 "
    "|(?:자전거|고속|자동차|산책|보행자|전용|일반|지방|우회|[가-힣]*고속)?도로 |[가-힣]{0,4}(?:둘레|올레|갈맷|바우"
    "|산책|순례"
    "|누리|등산|하이킹)길 "
)
"""Words that end like a road and are none (부산시 추가로 12, 최초로 3선, 둘레길 157)."""
NO_TOWNS = (
    "우|저|이|그|거|자|소|머|다|고|유|보|정|처|운|활|행|노|공|아|합|변|진|감|출|작|충|시|부|협|연"
    "|상가|관리|아파트|각|한|두|세|네|몇|총|전|본"
)
"""Words that end like a town and are none (우리, 운동)."""
