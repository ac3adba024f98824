"""Values written in other ways than the common one: each found whole, with the value that is meant, or left alone."""

import re

import pytest

from data.pii import Pseudonymizer, find_many, find_spans
from data.pii.detect import find_values
from data.pii.surrogate import normalise

from .examples import marked_spans

KEY = b"test key for written forms"

AS_WRITTEN = [
    "(☎ ⟦TEL:041(334)7112⟧)으로",
    "☎ ⟦TEL:02(123)4567⟧",
    "차량 ⟦VEHICLE_PLATE:12가3456⟧,34나5678",
    "차량 12가3456,⟦VEHICLE_PLATE:34나5678⟧",
    "번호판은 ⟦VEHICLE_PLATE:서울 종로 가 1234⟧였다",
    "집은 ⟦ADDRESS:서울특별시 강남구 역삼동 래미안아파트 101동 1203호⟧입니다",
    "휴대폰: ⟦TEL:0107731/2946⟧",
    "⟦URL:http://hong:1234@blog.kr/⟧ 봐",
    "메일은 ⟦EMAIL:한글@example.com⟧입니다",
    "⟦URL:https://한글도메인.한국/경로⟧ 에서",
    "⟦URL:NAVER.COM⟧에서",
    "⟦MENTION:@user.name⟧! 이거 봐",
    "⟦MENTION:@홍길동⟧ 확인 부탁드려요",
    "⟦MENTION:@행복한하루⟧님 감사해요",
    "생년 ⟦RRN:900101/1234567⟧ 임",
    "⟦RRN:19900101-1234567⟧ 임",
    "⟦RRN:9001011234567⟧ 임",
    "아이는 ⟦RRN:2105053234567⟧이다",
    "문의 ⟦EMAIL:hong@한글도메인.com⟧으로",
    "⟦ADDRESS:서울 강남구 테헤란로 123길 45 래미안 101동 1203호⟧로",
    "⟦ADDRESS:서울 강남구 역삼동 래미안 101-1203⟧ 거주",
    "주소: ⟦ADDRESS:래미안아파트 101동 1203호⟧",
    "집은 ⟦ADDRESS:푸른빌라 203호⟧입니다",
    "⟦URL:Naver.com⟧에서",
    "⟦URL:Google.co.kr⟧에서",
    "사이트는 ⟦URL:한글.kr⟧ 입니다",
    "대표번호 ⟦TEL:1588 1234⟧",
    "연락처 ⟦TEL:8210-1234-5678⟧",
    "⟦TEL:010-1234-5678⟧010-2222-3333",
    "010-1234-5678⟦TEL:010-2222-3333⟧",
    "⟦RRN:9001011234567⟧,9001012234567",
    "9001011234567,⟦RRN:9001012234567⟧",
    "주민 ⟦RRN:90.01.01-1234567⟧",
    "Please look at ⟦URL:naver.com⟧ first",
    "왓츠앱 ⟦TEL:82 10 1234 5678⟧ 로",
    "GET /join?nm=kim&hp=⟦TEL:01012345678⟧&agree=Y",
    "중국집 전화 ⟦TEL:234-5678⟧ 맛있음",
    "대표번호 ⟦TEL:1588~1234⟧ 전국",
    "안심번호 ⟦TEL:050212345678⟧ 로",
    "신협 ⟦BANK_ACCOUNT:132/018/273849⟧ 총무 앞",
    "사업자등록번호 ⟦BRN:123.45.67891⟧ (주)가",
    "민증번호 ⟦RRN:900101.1234567⟧ 요",
    "건강보험증 번호 ⟦HEALTH_INSURANCE:5 0123456 789⟧ 지역",
    "⟦VEHICLE_PLATE:82.러.1234⟧ 이 차 또 주차했네",
    "동,호,차량번호\n101,1203,⟦VEHICLE_PLATE:48조2918⟧\n",
    "12:55,LOGIN_FAIL,⟦IP:192.0.2.15⟧,admin",
    "구글폼 ⟦URL:forms.gle/x7Kp2mQzT9⟧ 작성",
    "홈페이지 주소창에 ⟦URL:새봄학원.한국⟧ 치시면",
    "⟦ADDRESS:목동 푸른솔아파트 712동/903호⟧ 문고리만",
    "배송지 ⟦ADDRESS:경기 김포시 물빛로 381 B동 301호⟧ 앞",
    "배송지 ⟦ADDRESS:서울 은평구 녹번동 173-284 가온빌라 B01호⟧ 앞",
    "배송지 ⟦ADDRESS:경기도 남양주시 화도읍 마루내리 738-4 햇빛연립 제가동 제3층 제302호⟧ 앞",
    "배송지 ⟦ADDRESS:대전 서구 갈마로 17번길 82 청솔빌 401호⟧ 앞",
    "배송지 ⟦ADDRESS:울산 남구 꽃바위로 63, 늘봄메디컬센터 4층⟧ 앞",
    "배송지 ⟦ADDRESS:경기 성남시 분당구 다리목로 12 미래프라자 2층 203-1호⟧ 앞",
    "배송지 ⟦ADDRESS:서울특별시 종로구 누리대로 8길 19, 12층(해오름타워)⟧ 앞",
    "배송지 ⟦ADDRESS:경남 함안군 칠원읍 가람2길 15 햇살빌라 나동 202호⟧ 앞",
    "배송지 ⟦ADDRESS:충남 천안시 동남구 배움로 119 가온대학교 제2생활관 B동 417호⟧ 앞",
    "배송지 ⟦ADDRESS:고양시 일산서구 한빛로 30 별가람마을 503-1204⟧ 앞",
    "배송지 ⟦ADDRESS:서울시 금천구 디딤로 9길 41, 1203호(가산동, 한울테크노밸리)⟧ 앞",
    "배송지 ⟦ADDRESS:강원특별자치도 철원군 갈말읍 호수로 91 사서함 38-7호⟧ 앞",
    "배송지 ⟦ADDRESS:대구 달서구 두류동 제 482 번지 19 호⟧ 앞",
    "배송지 ⟦ADDRESS:경기도수원시영통구새별로128번길9,405호⟧ 앞",
    "증번호 ⟦HEALTH_INSURANCE:31234567890⟧",
    "예약 ☏ ⟦TEL:( 031 ) 123-4567⟧ 월요일 휴무",
    "방문. ⟦TEL:(0551) 12-3456⟧ 마산",
    "(광고) 무료거부 ⟦TEL:0801234567⟧",
    "전화 234-5678, ⟦TEL:345-6789⟧",
    "표시 번호(예: ⟦TEL:+1 (425) 555-0165⟧)",
    "DEBUG PaymentReq{cardNo=⟦CARD:4111111111111111⟧, amt=1}",
    "토뱅 ⟦BANK_ACCOUNT:100012345678⟧ 여기로",
    "거래처 등록: 가나금속 ⟦BRN:123 45 60016⟧ 여신",
    "숙박계: 여권 ⟦PASSPORT:TS1234567⟧ 2박",
    "관용여권(⟦PASSPORT:G12345678⟧) 반납",
    "대기 중이던 제 차(⟦VEHICLE_PLATE:69오1234⟧)를",
    "구간에서 ⟦VEHICLE_PLATE:55주1234⟧ K5 승용차를",
    "배달오토바이 ⟦VEHICLE_PLATE:경기수원나1234⟧ 신고",
    "시각,아이피\n01:12,⟦IP:198.51.100.47⟧,대입",
    "나눔합니다. ⟦ADDRESS:송파구 가나시티 412동 1803호⟧ 문 앞",
    "주소 ⟦ADDRESS:부산 동래구 명륜동 517번지 12통 3반⟧ (1991년)",
    "‘⟦ADDRESS:정선군 사북읍 사북리 355번지 사택 나동⟧’",
]
"""The value is what stands there."""
MEANT = {
    "전화 ⟦TEL:０１０－１２３４－５６７８⟧로 주세요": "010-1234-5678",
    "전화 ⟦TEL:010－１２３４-5678⟧로 주세요": "010-1234-5678",
    "주민번호 ⟦RRN:９００１０１－１２３４５６７⟧임": "900101-1234567",
    "서버 ⟦IP:１９２．０．２．１５⟧이다": "192.0.2.15",
    "차량 ⟦VEHICLE_PLATE:１２가 ３４５６⟧을": "12가 3456",
    "문의는 ⟦EMAIL:hong＠example.com⟧으로": "hong@example.com",
    "⟦EMAIL:ｈｏｎｇ＠ｅｘａｍｐｌｅ．ｃｏｍ⟧": "hong@example.com",
    "전화 ⟦TEL:010ー1234─5678⟧": "010-1234-5678",
    "전화 ⟦TEL:𝟎𝟏𝟎-𝟏𝟐𝟑𝟒-𝟓𝟔𝟕𝟖⟧": "010-1234-5678",
    "전화 ⟦TEL:0️⃣1️⃣0️⃣-1️⃣2️⃣3️⃣4️⃣-5678⟧": "010-1234-5678",
    "전화 ⟦TEL:⓪①⓪-①②③④-⑤⑥⑦⑧⟧": "010-1234-5678",
    "전화 ⟦TEL:0\u200b1\u200c0-\u200d12\ufeff34-5\u206067\u00ad8⟧ 끝": "010-1234-5678",
    "전화 ⟦TEL:0 1 0 - 1 2 3 4 - 5 6 7 8⟧ 끝": "010-1234-5678",
    "주민 ⟦RRN:900101-12 34567⟧ 끝": "900101-1234567",
    "전화 ⟦TEL:010-12<br>34-5678⟧ 끝": "010-1234-5678",
    "전화 ⟦TEL:010-1234-<br/>5678⟧ 끝": "010-1234-5678",
    "전화 ⟦TEL:010-1234-\n5678⟧ 끝": "010-1234-5678",
    "전화 ⟦TEL:010-12\n34-5678⟧ 끝": "010-1234-5678",
    "주민번호 ⟦RRN:900101-\r\n1234567⟧ 끝": "900101-1234567",
    "전화 ⟦TEL:02-123-\n4567⟧ 끝": "02-123-4567",
    "번호는 ⟦TEL:공일공 일이삼사 오육칠팔⟧이에요": "010-1234-5678",
    "번호는 ⟦TEL:공일공일이삼사오륙칠팔⟧ 입니다": "010-1234-5678",
    "⟦TEL:공일공에 일이삼사에 오육칠팔⟧": "010-1234-5678",
    "⟦TEL:010-일이삼사-오육칠팔⟧로": "010-1234-5678",
    "⟦TEL:공이 일이삼 사오육칠⟧로": "02-123-4567",
    "⟦TEL:일오팔팔 일이삼사⟧로": "1588-1234",
    "⟦TEL:O1O-l234-5678⟧로": "010-1234-5678",
    "국민은행 계좌 ⟦BANK_ACCOUNT:육사팔이공일 다시 공사 다시 일구삼칠오이⟧ 맞죠": "648201-04-193752",
    "계좌는 신한이고요 ⟦BANK_ACCOUNT:일일공에 사팔이에 구삼칠일오육⟧ 입니다": "110-482-937156",
    "문의 010-2948-1037/⟦TEL:1038⟧ (부부)": "010-2948-1038",
    "결제 카드번호 ⟦CARD:5 3 8 7  2 0 6 1  1 7 0 0  4 8 2 9⟧ 로 승인": "5387206117004829",
    "사업자번호 ⟦BRN:삼일구 다시 칠팔 다시 공공오이사⟧ 라고": "319-78-00524",
    "⟦TEL:010/1234/5678⟧로": "010-1234-5678",
    "⟦TEL:010에 1234에 5678⟧로": "010-1234-5678",
    "⟦EMAIL:hong[at]example[dot]com⟧로": "hong@example.com",
    "⟦EMAIL:hong(at)example.co.kr⟧로": "hong@example.co.kr",
    "⟦EMAIL:hong 골뱅이 naver 닷 com⟧ 으로": "hong@naver.com",
    "⟦EMAIL:hong골뱅이네이버닷컴⟧으로": "hong@naver.com",
    "⟦EMAIL:hong @ example.com⟧으로": "hong@example.com",
    "문의 ⟦EMAIL:hong@네이버.com⟧으로": "hong@naver.com",
    "메일은 ⟦EMAIL:hong at naver.com⟧입니다": "hong@naver.com",
    "⟦EMAIL:hong_AT_naver_DOT_com⟧ 으로": "hong@naver.com",
    "메일 ⟦EMAIL:h o n g @ n a v e r . c o m⟧ 입니다": "hong@naver.com",
    "mailto:⟦EMAIL:hong%40naver.com⟧ 으로": "hong@naver.com",
    "전화 010-1234-5678/⟦TEL:5679⟧ 로": "010-1234-5679",
    "전화 02-123-4567~⟦TEL:4569⟧ 로": "02-123-4569",
    "전화 ⟦TEL:₀₁₀-₁₂₃₄-₅₆₇₈⟧": "010-1234-5678",
    "전화 ⟦TEL:⁰¹⁰-¹²³⁴-⁵⁶⁷⁸⟧": "010-1234-5678",
    "서버 ⟦IP:①⑨②.⓪.②.①⑤⟧": "192.0.2.15",
    "tel ⟦TEL:010%2D1234%2D5678⟧": "010-1234-5678",
    "번호 ⟦TEL:ㅇ1ㅇ-1234-5678⟧": "010-1234-5678",
    "번호 ⟦TEL:0ㅣ0-1234-5678⟧": "010-1234-5678",
    "번호 ⟦TEL:01○-1234-5678⟧": "010-1234-5678",
    "IP ⟦IP:211 . 234 . 12 . 34⟧ 에서": "211.234.12.34",
    "여권 ⟦PASSPORT:M 123 4567 8⟧": "M12345678",
    "주민번호 ⟦RRN:900101&ndash;1234567⟧": "900101-1234567",
    "⟦TEL:0.1.0.1.2.3.4.5.6.7.8⟧ 점 빼고": "01012345678",
    "띄어씁니다 ⟦TEL:0 1 0 1 2 3 4 5 6 7 8⟧ 선착순": "01012345678",
    "⟦TEL:[010][1234][5678]⟧ 문자요": "010-1234-5678",
    "전화 ⟦TEL:공삼일에 일이삼국에 사오육칠⟧ 번입니다": "031-123-4567",
    "카드번호는 ⟦CARD:사일일일-일일일일-일일일일-일일일일⟧ 이다": "4111-1111-1111-1111",
    "사업자번호 ⟦BRN:일이삼-사오-육칠팔구일⟧ 입니다": "123-45-67891",
    "국민은행 ⟦BANK_ACCOUNT:공구칠일 다시 공일이삼사오육칠 다시 칠팔구공⟧ 입니다": "0971-01234567-7890",
    "면허번호 ⟦DRIVER_LICENSE:21 - 15 - 123456 - 05⟧ 예약": "21-15-123456-05",
    "차번 ⟦VEHICLE_PLATE:６２오４７１８⟧ 그랜저": "62오4718",
    "메일 ⟦EMAIL:hong3391@네이버⟧ 로": "hong3391@naver.com",
    "⟦EMAIL:hong_kong@naver⟧ 로 메일 주세요": "hong_kong@naver.com",
    "⟦EMAIL:bookworm#daum.net⟧ (#을 @로)": "bookworm@daum.net",
    "⟦EMAIL:hong31 앳 kakao.com⟧ 로": "hong31@kakao.com",
    "주소는 ⟦URL:shop 닷 co 닷 kr⟧ 이에요": "shop.co.kr",
    "링크 ⟦URL:hong . tistory . com⟧ 붙여서": "hong.tistory.com",
    "도메인은 ⟦URL:cdn-hong[.]site⟧로": "cdn-hong.site",
    "연구소\n⟦ADDRESS:강원특별자치도 춘천시\n동내면 세실로 274⟧\n끝": "강원특별자치도 춘천시 동내면 세실로 274",
}
"""Text → the value that is meant."""
NOT_FOUND = [
    "주소를 옮겼습니다.한국은 처음이다. 사이트를 열었습니다.한국인들은",
    "구현해야 합니다 INotificationActivationCallback . COM 클래스의 이름",
    "1710118452381 밀리초면 2024년이다",
    "좌표는 900101.1234567 이다",
    "일본.한국.중국 순서",
    "전화 보급 2010-2020",
    "0 1 0 1 1 0 0 1 0 1 1",
    "울산 남구 꽃바위로 7중 추돌, 3층 건물",
    "97누1234 판결은 다르다",
    "99다1234",
    "대법원 96다1234, 98도2345, 2010누3456 판결",
    "강남구 압구정동 2구역이 지정됐다",
    "경기 안양시 안양로 7중 추돌",
    "부품 D12345678",
    "예스24.com에서 샀다",
    "20.12.25.100",
    "CMD.EXE나 COMMAND.COM을 찾는다",
    "이사 오구 이 일이 사실 오일장 구이 이사, 일일이 이 일을 사오 육칠 년 팔구 월",
    "일 이 삼 사 오 육 칠 팔 구",
    "골뱅이 무침 at 네이버 골뱅이 맛집",
    "2019\n2020\n2021\n010\n20\n1234\n5678",
    "2018\n- 2019년\n- 2020-\n2021",
    "@홍대 맛집, @강남역 앞, @전체 공지, @하느님, @선생님",
    "송장번호 9001011234567, 상품코드: 9001011234567, 9001011234567원",
    "0 1 0 2 3 4 1 2 0 3 1 2\n1 0 1 0 0 1 1 1",
    "75다1234, 48누1234, 52가1234",
    "문서번호 110-123-456789",
    "2019-123-456789호",
    "123-456-789012",
    "모델 S20210001",
    "M12345678 부품",
    "S20210001",
    "@2x.png",
    "커밋 3e:4f:aa:bb:cc:dd",
    "상품코드 8801234567890",
    "8801234567890 그리고 9912314000006",
    "주문번호 9001011234568",
    "10²⁰ m²와 2¹⁰, 각주¹²",
    "①②③ ④ 보기",
    "2021 . 3 . 12 . 5",
    "래미안아파트 101동 1203호",
    "서울 강남구 역삼동 전시 2010-2020",
    "서울 강남구 역삼동 인구 1000-1200명",
    "look_at_me_dot_product",
    "a b @ c d",
    "끝났다.그리고 봤다.com은 아니다",
    "법인등록번호 110111-2123456 주식회사",
    "축산물이력번호 002012345678, 도축장 농협가나",
    "주문번호 1234567890 입금 계좌로",
    "@Transactional은 서비스 계층에만 붙이세요",
    "제품 TS1234567 과 G12345678 재고",
    "77 123 45 60016 88",
    "값은 +1 20 30 400",
    "id=4111111111111111",
    "번호판 정책: 서울시청나2023",
    "공일공 일이삼",
]


def parse(marked: str) -> tuple[str, int, int, str]:
    text, [(start, end, kind)] = marked_spans(marked)
    return text, start, end, kind


FOUND = {**{marked: parse(marked)[0][slice(*parse(marked)[1:3])] for marked in AS_WRITTEN}, **MEANT}


def test_found_whole_with_the_value_that_is_meant() -> None:
    texts = [parse(marked) for marked in FOUND]
    found = find_values([text for text, *_ in texts])
    spans = [(*span, value) for (_, *span), value in zip(texts, FOUND.values(), strict=True)]
    assert [text for n, (text, *_) in enumerate(texts) if spans[n] not in map(tuple, found.get(n, []))] == []


@pytest.mark.parametrize("marked", FOUND)
def test_nothing_is_left_beside_the_pseudonym(marked: str) -> None:
    text, start, end, _ = parse(marked)
    out, replacements = Pseudonymizer(KEY).apply(text)
    assert text[start:end] not in out
    assert [(r.start, r.end) for r in replacements if r.start < end and start < r.end] == [(start, end)]


def test_left_alone() -> None:
    assert [text for text, spans in zip(NOT_FOUND, find_many(NOT_FOUND), strict=True) if spans] == []


def test_one_number_has_one_pseudonym_in_every_form() -> None:
    made = set()
    for marked, value in FOUND.items():
        text, start, _, kind = parse(marked)
        if kind == "TEL" and value == "010-1234-5678":
            [found] = [r for r in Pseudonymizer(KEY).apply(text)[1] if r.start == start]
            made.add(normalise("TEL", found.surrogate))
    assert len(made) == 1


def test_the_century_is_not_left() -> None:
    for key in range(20):
        out, _ = Pseudonymizer(bytes([key]) * 16).apply("19900101-1234567")
        assert re.fullmatch("(?:19[0-9]{6}-[12]|20[0-9]{6}-[34])[0-9]{6}", out)


@pytest.mark.parametrize("ends", ["", "끝\n"])
def test_offsets_stay_right_after_folding(ends: str) -> None:
    text = f"{ends}\u200b가\u200b나 ０１０－１２３４－５６７８, 010-2345-6789\n０２－１２３－４５６７"
    assert [text[s.start : s.end] for s in find_spans(text)] == [
        "０１０－１２３４－５６７８",
        "010-2345-6789",
        "０２－１２３－４５６７",
    ]


def test_url_with_escaped_slashes_has_the_pseudonym_of_the_plain_one() -> None:
    [plain], [escaped] = (
        Pseudonymizer(KEY).apply(f"주소 {url} 에서")[1]
        for url in ("https://api.example.kr/v2/items", r"https:\/\/api.example.kr\/v2\/items")
    )
    assert escaped.surrogate == plain.surrogate.replace("/", r"\/") and escaped.surrogate.startswith(r"https:\/\/")
