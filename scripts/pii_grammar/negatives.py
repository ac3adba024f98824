"""Texts that look as if they held personal data and hold none."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from .sentences import FILLERS
from .values import COMPANIES, NAMES, ROADS, TOWNS, nonzero, word

LOOKALIKES: dict[str, tuple[str, ...]] = {
    "date": (
        "회의는 {y}-05-{d}에 열린다.",
        "{y}. {m}. {d}. 선고",
        "기간: {y}.3.1~{y}.2.28",
        "{y}{m2}{d}자 보도 자료를 참고하였다.",
        "접수 {y}/{m2}/{d} {h}:{i}:{i}",
        "생일이 {y}년 {m}월 {d}일인 사람",
    ),
    "life dates": (
        "조선 중기의 문신(1545-1598)이다.",
        "그는 1588-1642년에 살았다.",
        "율곡 이이(1536~1584)",
        "1577-1600년의 기록",
    ),
    "law": (
        "제{s}조의{s}제{s}항 제{s}호에 따른다.",
        "법률 제{n5}호, {y}. {m}. {d}., 일부개정",
        "「주차장법」 제{n2}조제{s}항",
        "대통령령 제{n5}호 부칙 제{s}조",
        "국토교통부고시 제{y}-{n3}호",
    ),
    "case number": (
        "대법원 {y}. {m}. {d}. 선고 {y}다{n5} 판결",
        "서울중앙지방법원 {y}고단{n4} 사기",
        "{y}헌마{n3} 결정",
        "사건번호 {y}가합{n5}",
        "의안번호 21{n5}",
        "위 사람에 대한 {y}고합{n4}호 사건",
    ),
    "version": (
        "버전 {s}.{n2}.{s}.{s}로 올렸더니 오류가 난다.",
        "커널 5.{n2}.0-{n2}-generic",
        "iOS {n2}.{s}.1 업데이트 후 배터리가 빨리 닳아요.",
        "v{s}.{s}.{s}-rc{s}",
        "펌웨어 {s}.{s}.{s}.{n3} 배포",
        "파이썬 3.{n2}.{s}과 3.{s}.{s}를 지원한다.",
        "{s}.{s}.{s}.{s}.{s} 절을 참조하라.",
    ),
    "price": (
        "가격은 {n1},{n3},{n3}원입니다.",
        "총 {n4}억 {n4}만 원",
        "국민은행 {y}년 {s}분기 순이익 {s},{n3}억 원",
        "농협 {n2},{n3},{n3}원 입금",
        "카드 결제 {n3},000원 승인",
        "{n4}-{n4}원대에 팔려요",
        "월세 {n3}/{n2} 보증금 {n4}만",
    ),
    "counts": (
        "{n2}월 {n4}톤을 출하했다.",
        "{n2}도 {n4}명이 왔다.",
        "{n2}조 {n4}억 원 규모의 사업",
        "{n2}대 {n4}명이 응답했다.",
        "{n2}호 {n4}세대 가운데 절반",
        "10대 20대 30대 모두 좋아할 영화",
        "스코어 {n3}-{n2}로 이겼다.",
        "인구 {n2},{n3},{n3}명",
        "{n2}회 {n4}편을 상영했다.",
    ),
    "masked": (
        "010-****-{n4}로 연락드렸습니다.",
        "전화번호 010-{n4}-****",
        "010-xxxx-{n4}",
        "연락처: 010-####-{n4}",
        "카드번호 {n4}-****-****-{n4}",
        "카드 {n4}-{n2}**-****-{n4}",
        "계좌 {n3}-***-***{n3}",
        "예금주 김** 계좌 ***-**-{n4}",
        "주소: 서울 마포구 {r}로 **, 00동 0000호",
        "○○동 ○○○호에 사는 분",
        "00동 0000호 주민입니다.",
        "kim****@naver.com",
        "***@naver.com",
        "차량번호 {n2}가 ****",
        "00가 0000 형식으로 적으세요.",
        "{n2}X가 XXXX 차량",
        "010-0000-**** 형식으로 입력",
        "XXX-XXXX-XXXX",
        "주민등록번호 ******-*******",
        "여권번호 M*******{s}",
        "xxx.xxx.xxx.xxx",
        "192.168.x.x",
        "www.******.com에서 샀어요",
        "http://****.co.kr",
    ),
    "ISBN": (
        "ISBN 978-89-{n3}-{n4}-{s}",
        "ISBN 97911{n5}{n3}",
        "ISSN {n4}-{n4}",
        "국제표준도서번호 978-11-{n5}-{n2}-{s}",
    ),
    "serial": (
        "S/N {n6}-{n2}-{n4}",
        "S/N: {n4}-{n4}-{n4}",
        "S/N {n3}{n4}{n4}",
        "일련번호 {n4}{n4}{n4}",
        "시리얼 번호: {n3}-{n2}-{n6}",
        "Serial No. {n4}-{n4}-{n4}-{n4}",
        "모델명 RF{n2}T{n4}AP",
        "제품코드 AB-{n4}-{n4}",
        "바코드 8801{n5}{n4}",
        "특허 제10-{y}-00{n5}호",
        "상품코드 {n4}{n5}{n4}",
        "부품번호 {n5}-{n2}-{n3}",
    ),
    "order": (
        "주문번호 {y}{m2}{d}-{n5}{n2}",
        "운송장번호 {n4}-{n4}-{n4}",
        "송장번호: {n4}{n4}{n4}",
        "예약번호 {n3}-{n4}-{n4}",
        "승인번호 {n4}{n4}",
        "문서번호 총무과-{n5}",
        "접수번호 {y}-{n4}-{n5}",
        "공고 제{y}-{n3}호",
        "학번 {y}{n4}",
        "수험번호 {n4}{n4}",
        "고객번호 {n4}-{n4}",
    ),
    "corporate number": ("법인등록번호 110111-0{n6}", "법인등록번호: 110111-{s}{n6}", "법인번호 130111-00{n5}"),
    "foreign phone": (
        "호텔 전화는 (212) 555-01{n2}입니다.",
        "1-800-555-01{n2}로 거세요.",
        "도쿄 본사 03-0{n3}-{n4}",
        "Call 415-555-01{n2} now",
        "오사카 지점 06-0{n3}-{n4}",
        "미국 연락처 650.555.01{n2}",
        "런던 사무소 020 7946 0{n3}",
    ),
    "adverb and number": (
        "값이 명시적으로 {s}으로 설정된다.",
        "텐서플로 2.{s}으로 바꾸었다.",
        "수동으로 {s} 버전을 내려받는다.",
        "비가 {s}0% 확률로 온다.",
        "남쪽으로 {n2} km 떨어져 있다.",
        "자동차로 {s} 시간 거리이다.",
        "운동으로 {y} 년을 보냈다.",
        "가로 {n3} 세로 {n3} 크기",
        "않으면 기본적으로 {n2}을 쓴다.",
        "{t}동{s}초 설립을 요청합니다.",
        "서울시 {t}동 {s}초 조기 개교",
        "시내로 {n2}분쯤 걸린다.",
        "구가 {n3}개로 늘었다.",
        "여러 동 {n2}가구가 피해를 입었다.",
        "무료로 {n2}-{n2}회 이용",
        "차례로 {s}-{s} 동점",
        "평균적으로 {n3}-{n3} 사이",
    ),
    "short number": (
        "국번 없이 114",
        "119에 신고했더니 금방 왔어요.",
        "112로 신고하세요.",
        "다산콜 120",
        "1339 콜센터",
        "010 번호로 통합되었다.",
    ),
    "IBAN": (
        "IBAN DE89 3704 0044 0532 0130 00",
        "GB29 NWBK 6016 1331 9268 19로 송금",
        "IBAN: FR1420041010050500013M02606",
    ),
    "road and year": (
        "{r}로 {y} 서울연극제가 열렸다.",
        "대학로 {y} 서울연극제",
        "중앙로 {y} 거리 축제 안내",
        "강변로 {s} 차로로 넓힌다.",
        "{r}대로 {s}차로 통제",
        "{r}로 {n2}m 구간을 정비한다.",
        "{r}길 {s}km를 걸었다.",
        "{r}로 {s}월의 풍경",
        "{r}로 {n2}개 점포가 참여한다.",
        "{r}로 {n2}그루 심기 행사",
        "{r}로 {y}년 공사 계획",
        "서울로 {s} 시간 걸린다.",
        "{r}로 {n2}주년 기념식",
        "{r}로 제{s}회 축제",
        "{r}로 {n2}%가 침수되었다.",
    ),
    "place": (
        "종로3가 {n3} 카페는 없어졌다.",
        "제2가 1번지 앞",
        "을지로입구역 {s}번 출구",
        "강남구청 앞에서 집회가 열렸다.",
        "공학관 {n3}호 강의실",
        "{s}층 화장실이 고장 났다.",
        "{n3}동 앞 놀이터",
        "{t}동 주민센터",
        "{t}동 {s}개 구역",
        "부산 {s}구역 재개발",
        "마포구 {n2}개 동",
        "서울 {y} 올림픽 유치",
        "국도 {n2}호선 {n2}km 지점",
        "{t}동 {y} 마을 잔치",
        "본관 {s}층 대강당",
        "B동 {n3}호 강의실",
        "{t}동 {n2}세 주민",
        "{n3}-{n4} 문제집 {n2}쪽",
        "{n3}번 버스를 타고 {s}정거장 가세요.",
    ),
    "company like a host": (
        "Example.com, Inc.의 서비스",
        "{W}.com Inc.가 발표했다.",
        "ABC.COM 방송",
        "(주){W}닷컴",
        "Node.js와 ASP.NET을 배웠다.",
        "README.md를 읽어 보세요.",
        "main.py 파일을 고쳤다.",
        "config.yaml을 수정했다.",
        "U.S.A. 여행기",
        "index.html 파일이 없다.",
        "e.g. 이것저것",
        "Vue.js 3.{s}으로 옮겼다.",
        "System.out.println을 호출한다.",
        "os.path.join을 쓴다.",
        "설치 파일은 setup.exe입니다.",
        "보고서.hwp와 사진.jpg를 첨부합니다.",
    ),
    "at sign": (
        "@Override 어노테이션을 붙인다.",
        "@pytest.fixture를 썼다.",
        "@media (max-width: {n3}px)",
        "y = x @ W.T + b",
        "A@B는 행렬 곱이다.",
        "사과 {s}개 @ 1,000원",
        "골뱅이무침@@ 맛집 추천해 주세요",
        "ㅇㅅㅇ@ 이모티콘",
        "회의 @ 3시 대회의실",
        "icon@2x.png",
        "@property def name(self):",
        "이름 @ 회사 형식으로 적으세요.",
        "@param name 이름",
        "@Autowired private Service service;",
        "골뱅이(@) 기호가 들어간다.",
        "SELECT @rownum := @rownum + 1",
        '@RequestMapping(value = "/list")',
        "npm install @babel/core",
        "lodash@4.17.{n2}",
    ),
    "machine": (
        "127.0.0.1에서만 열립니다.",
        "localhost:8080으로 접속",
        "서브넷 마스크 255.255.255.0",
        "0.0.0.0:80에서 기다린다.",
        "00:00:00에 초기화됩니다.",
        "해시값 9e107d9d372bb6826bd81d3542a419d6",
        "RGB 값은 FF-AA-00이다.",
        "UUID 550e8400-e29b-41d4-a716-446655440000",
        "포트 {n4}번을 연다.",
        "#FFAA{n2}",
        "{h}:{i}:{i} 경과",
        "0x{n4}FF 번지를 읽는다.",
        "std::vector::push_back",
        "비율 1:2:3:4:5:6으로 섞는다.",
        "크기는 {n3}x{n3}x{n2}mm",
        "빌드 10.0.17763.{n3} 이상",
        "GUID 6B29FC40-CA47-1067-B31D-00DD010662DA",
        "OID 1.3.6.1.4.1.311.{n2}.{s}",
        "KB4480{n3} 업데이트",
        "오류 코드 0x80070005",
        "drwxr-xr-x 2 root root {n4} May  3 21:10 data",
        "포트 범위 {n5}-{n5}",
        "체크섬 {n4}-{n4}-{n4}-{n4}{n3}",
    ),
    "ratio and range": (
        "창 1:1-3, 요 3:16",
        "시편 119:105",
        "8,000:1의 경쟁률",
        "60~70% 확률로 비가 온다",
        "10-20-30대 설문 결과",
        "{n3}-{n3}-{n3} 단계로 증가",
        "위도 37.{n4}, 경도 127.{n4}",
        "{h}:00~{h}:30 휴게 시간",
        "{n2}~{n2}쪽을 읽어 오세요.",
        "{n2}/{n2}/{n2} 배합",
        "A{n2}-B{n2} 블록",
        "{n1}타수 {n1}안타, 타율 0.{n3}",
        "0000-0000-0000은 자리 표시자이다.",
        "{n2},{n2},{n2}번 문제",
        "계산식은 123456-1234567=-1111111이다.",
    ),
    "about personal data": (
        "전화번호를 알려 달라고 했지만 거절당했다.",
        "16자리 카드 번호를 입력하세요.",
        "주민등록번호 뒷자리는 수집하지 않습니다.",
        "계좌번호는 문자로 보내 드립니다.",
        "여권 지수는 세계 2위이다.",
        "운전면허 시험에 {n2}점으로 합격했다.",
        "차량 번호판이 {y}년부터 바뀐다.",
        "건강보험료가 {s}.{n2}% 올랐다.",
        "사업자등록번호 10자리를 적으세요.",
        "이메일 주소를 {s}개 등록할 수 있다.",
        "연락처: 추후 공지",
        "주소 미상",
        "계좌번호 뒤 4자리 {n4}",
        "휴대폰 {n2}대를 교체했다.",
        "생년월일 {y}.{m2}.{d}",
    ),
}


def of_kind(kind: str, rng: random.Random) -> str:
    """Return a text that looks like personal data of some kind."""

    def numbers(match: re.Match[str]) -> str:
        return nonzero(rng, int(match[1]))

    template = re.sub(r"\{n(\d)\}", numbers, rng.choice(LOOKALIKES[kind]))
    for name, draw in FILLS.items():
        template = re.sub(rf"\{{{name}\}}", lambda _, draw=draw: draw(rng), template)
    return template


FILLS: dict[str, Callable[[random.Random], str]] = {
    "y": lambda rng: str(rng.randint(1990, 2025)),
    "m": lambda rng: str(rng.randint(1, 12)),
    "m2": lambda rng: f"{rng.randint(1, 12):02d}",
    "d": lambda rng: str(rng.randint(10, 28)),
    "h": lambda rng: str(rng.randint(10, 23)),
    "i": lambda rng: str(rng.randint(10, 59)),
    "s": lambda rng: str(rng.randint(1, 9)),
    "r": lambda rng: rng.choice(ROADS),
    "t": lambda rng: rng.choice(TOWNS),
    "W": lambda rng: word(rng, 2, 3).capitalize(),
}


def in_sentence(text: str, rng: random.Random) -> str:
    """Return a look-alike between other sentences."""
    return " ".join((rng.choice(FILLERS), text, rng.choice(FILLERS)))


def in_form(text: str, rng: random.Random) -> str:
    """Return a look-alike as a line of a form."""
    return f"성명: {rng.choice(NAMES)}\n비고: {text}\n수량: {rng.randint(1, 9)}개"


def in_table(text: str, rng: random.Random) -> str:
    """Return a look-alike in a table."""
    return f"| 번호 | 내용 | 상태 |\n|---|---|---|\n| 1 | {text} | 완료 |\n| 2 | {rng.choice(COMPANIES)} | 대기 |"


def in_chat(text: str, rng: random.Random) -> str:
    """Return a look-alike in a chat."""
    return f"[{rng.choice(NAMES)}] [오후 3:{rng.randint(10, 59)}] {text}\n[{rng.choice(NAMES)}] [오후 4:02] 넵"


FRAMES: dict[str, Callable[[str, random.Random], str]] = {
    "alone": lambda text, rng: text,
    "sentence": in_sentence,
    "form": in_form,
    "table": in_table,
    "chat": in_chat,
    "quotes": lambda text, rng: f"“{text}”",
    "brackets": lambda text, rng: f"({text})",
}
