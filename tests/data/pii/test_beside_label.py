"""Values beside a form's label, whatever their form; all of them invented."""

import re
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.pii import Pseudonymizer, find_many, find_spans
from data.pii.beside_label import LABEL_FINDERS
from data.pii.gate import gate

from .examples import marked_spans

BESIDE = [
    "건 강 보 험 증 번 호\n⟦HEALTH_INSURANCE:70382914556⟧",
    "국민건강보험증 번호 [⟦HEALTH_INSURANCE:1 7 2 0 3 8 4 1 5 6 2⟧]",
    "사 업 자 번 호 : ⟦BRN:5 0 9 - 8 2 - 3 1 7 4 0⟧",
    "사업자(등록)번호 | ⟦BRN:417.30.26609⟧",
    "차 량 번 호 : ⟦VEHICLE_PLATE:2 7 무 3 1 0 5⟧",
    "CAR NO ⟦VEHICLE_PLATE:216 너 5540⟧",
    "pan=⟦CARD:4001277395061838⟧;exp=2708",
    "jumin_no: ⟦RRN:810526-1●●●●●●⟧",
    "(여권번호) ⟦PASSPORT:M417-D2290⟧",
    "Business Reg. No: ⟦BRN:318/41/60275⟧",
    "계 좌 번 호\n⟦BANK_ACCOUNT:037-52-0816-229⟧\n예 금 주",
    "車번호: ⟦VEHICLE_PLATE:41벼 6620⟧",
    'plate: "⟦VEHICLE_PLATE:57차3318⟧"\nlane: 2',
    "차 넘버 ⟦VEHICLE_PLATE:31부-8204⟧",
    "건강보험증 번호: ⟦HEALTH_INSURANCE:321-54-09876-2⟧",
    "건강보험증번호：⟦HEALTH_INSURANCE:５-０００９８７６２⟧",
    "의료보험증 No. ⟦HEALTH_INSURANCE:8 2934 1182 07⟧",
    "[건강보험 가입자번호] ⟦HEALTH_INSURANCE:61-2039-44817⟧",
    "가입자(건강보험증) No. ⟦HEALTH_INSURANCE:61-2039-44817⟧",
    "보험증 번호가 ⟦HEALTH_INSURANCE:720-4418-3309⟧ 입니다",
    "운전면허 ⟦DRIVER_LICENSE:21-30-55-13-765432⟧",
    "운전면허증 번호：⟦DRIVER_LICENSE:1244-903312-71⟧",
    "면허번호(1종 대형): ⟦DRIVER_LICENSE:29-08-556120-33⟧",
    "운전면허번호 = ⟦DRIVER_LICENSE:경기-98-220194-50⟧",
    "driver's license no. ⟦DRIVER_LICENSE:07-99-123477-18⟧",
    "운전면허번호\n⟦DRIVER_LICENSE:41-23-004912-88⟧",
    "A: 면허번호 불러주세요\nB: ⟦DRIVER_LICENSE:31-12-88-45-220193⟧ 이요",
    "여권번호: ⟦PASSPORT:C1234567⟧",
    "여권번호 ⟦PASSPORT:M123456789⟧",
    "미국 국적, 여권 ⟦PASSPORT:552000447⟧, 동반 1인",
    "여권 번호(Passport No.) : ⟦PASSPORT:K1234567⟧",
    "passport_no=⟦PASSPORT:X12345678⟧",
    "여 권 번 호 : ⟦PASSPORT:N1234567⟧",
    "⟦PASSPORT:M1234567⟧(여권번호) 확인",
    "주민등록번호 ⟦RRN:880304-1******⟧",
    "주민번호: ⟦RRN:910827-2●●●●●●⟧",
    "생년월일: ⟦RRN:920715-2******⟧ (일부 비공개)",
    "주민등록번호 : ⟦RRN:651301-1849203⟧",
    "주민번호 ⟦RRN:900230 2918374⟧",
    "주민등록번호: ⟦RRN:900101-5234567⟧",
    "외국인등록번호 ⟦FRN:901345-5829103⟧",
    "외국인등록번호: ⟦FRN:880123-1182734⟧",
    "ARC No. ⟦FRN:920714-7******⟧",
    "사업자등록번호 : ⟦BRN:999-99-99999⟧",
    "사업자 번호 ⟦BRN:4018293847⟧",
    "사업자등록번호 ⟦BRN:412/07/99283⟧",
    "개인사업자 등록번호 ⟦BRN:551-20-9384-7⟧",
    "계좌 : ⟦BANK_ACCOUNT:7-3391-22018⟧ 신협",
    "환불계좌: 기업 ⟦BANK_ACCOUNT:01029384756⟧",
    "Account No. ⟦BANK_ACCOUNT:0039-281-774920⟧",
    "월급통장: 부산은행 ⟦BANK_ACCOUNT:112.2039.4471.02⟧",
    "카드 번호 ⟦CARD:8812345599001122⟧",
    "신용카드 번호 ⟦CARD:9.2201.8834.7710.22⟧",
    "차량번호 : ⟦VEHICLE_PLATE:00차 1023⟧",
    "차번호 ⟦VEHICLE_PLATE:47부-2210⟧",
    "차량등록번호 ⟦VEHICLE_PLATE:부산 7거 2201⟧",
    "증 번호  ⟦HEALTH_INSURANCE:402-1928-3374⟧",
    "건강보험증 기호·번호: ⟦HEALTH_INSURANCE:3-77-4410928⟧",
    "운전면허증(번호 ⟦DRIVER_LICENSE:19-44-2039-1182⟧) 사본",
    "보통 운전면허 제 ⟦DRIVER_LICENSE:19-09-338475-2⟧ 호",
    "여권을 분실했어요. 번호는 ⟦PASSPORT:M123456789⟧ 입니다",
    "면허정보: ⟦DRIVER_LICENSE:대구 94-110293-2⟧",
    "여권 사본상 번호 ⟦PASSPORT:M1234567⟧",
    "외국인 근로자 등록번호: ⟦FRN:951377-6102938⟧",
    "연락처: 없음, 보호자 ⟦TEL:010-338-47102⟧",
    "전화: ⟦TEL:010-88-23456⟧번",
    "연락처 ⟦TEL:011-29-4481⟧",
    '"health_insurance_number": "⟦HEALTH_INSURANCE:74034489032⟧"',
    "NHIS No. ⟦HEALTH_INSURANCE:11699005723⟧",
    "HEALTH INSURANCE NO ⟦HEALTH_INSURANCE:74034489032⟧",
    "resident_registration_number=⟦RRN:651301-1849203⟧",
    "RESIDENT REGISTRATION NUMBER: ⟦RRN:651301-1849203⟧",
    "residentRegistrationNo: ⟦RRN:651301-1849203⟧",
    "business_registration_no: ⟦BRN:999-99-99999⟧",
    "Biz Reg. No: ⟦BRN:357-94-60847⟧",
    "Biz. No. ⟦BRN:357-94-60847⟧",
    "고유번호증 ⟦BRN:729-82-32214⟧",
    "고유번호증 번호: ⟦BRN:729-82-32214⟧",
    "고유번호(단체): ⟦BRN:601-80-22540⟧",
    "acct ⟦BANK_ACCOUNT:620-845227-231⟧",
    "Acct. No.: ⟦BANK_ACCOUNT:3-620-845227⟧",
    "Residence card number\t⟦FRN:931345-5354178⟧",
    "Residence card no. ⟦FRN:930414-5354178⟧",
    "alien_registration_no=⟦FRN:931345-5354178⟧",
    "PLATE NUMBER: ⟦VEHICLE_PLATE:171소 8505⟧",
    "Business License No. ⟦BRN:547-98-38483⟧",
    "tax id ⟦BRN:824-87-88340⟧",
    "Company Reg. No.: ⟦BRN:899-29-57591⟧",
    "법카 번호 ⟦CARD:4093-5137-8793-1001⟧",
    "법인카드(하나) ⟦CARD:4093-5137-8793-1001⟧",
    "vehicle no. ⟦VEHICLE_PLATE:55도 2500⟧",
    "License plate: ⟦VEHICLE_PLATE:57조6889⟧",
    "license_plate=⟦VEHICLE_PLATE:57도6889⟧",
    "송금계좌\n은행: 기업\n번호: ⟦BANK_ACCOUNT:594-321986-01-231⟧",
    "주민번호/⟦RRN:730321-1*****7⟧",
    "여권번호 / ⟦PASSPORT:C1234567⟧",
    "주민(외국인)등록번호 ⟦RRN:621206-2●●●●●●⟧",
    "주민(외국인)등록번호: ⟦FRN:621206-6●●●●●●⟧",
    "외국인(주민)등록번호: ⟦RRN:621306-2345678⟧",
]
TABLES = [
    "| 기사 | 차량 |\n|---|---|\n| 가나다 | ⟦VEHICLE_PLATE:83사 2716⟧ |",
    "| 수진자 | 건강보험 증번호 | 기관 |\n| 가나다 | ⟦HEALTH_INSURANCE:2716-3308-514⟧ | 31482719 |",
    "일시\t입금계좌\t금액\n05/02\t⟦BANK_ACCOUNT:317.26.440918⟧\t41,000",
    "성명 / 여권번호 / 국적\nLEE / ⟦PASSPORT:K2201938⟧ / KOR",
    "| 세대 | 차량번호 | 차종 |\n|---|---|---|\n| 101-1203 | ⟦VEHICLE_PLATE:29조 3384⟧ | 쏘나타 |",
    "세대\t차량번호\t비고\n1\t12가 3456\t\n2\t34나 5678\t\n3\t⟦VEHICLE_PLATE:44보2847⟧\t전기차",
    "No.\n차종\n차량번호\n1\n아반떼\n⟦VEHICLE_PLATE:31도 4482⟧",
    "번호  성명  건강보험증번호\n1  김하나  10-220-3948-2\n2  이두리  ⟦HEALTH_INSURANCE:22-109-8834-7⟧",
    "이름 | 면허번호 | 구분\n--- | --- | ---\n김철 | ⟦DRIVER_LICENSE:44-19-229384-1⟧ | 1종",
    "성명\t계좌번호\t주문번호\n서진\t⟦BANK_ACCOUNT:22019-338-441⟧\t99019-338-441",
    "이름,면허번호,차량번호\n가,⟦DRIVER_LICENSE:12-33-847510-2⟧,88조 2938",
    "no,name,bizno\n1,가나,⟦BRN:330-21-88471⟧",
    "성명, 동, 외국인등록번호\n박, 101, ⟦FRN:920745-5123498⟧",
]
NOT_BESIDE = [
    "주민등록번호: 860917-*******",
    "외국인등록번호: 930126-*******",
    "상품코드;재고\n8609171830245;14",
    "| 카드번호 | 없음 |\n| 주문번호 | 5137-4401-9928-7704 |",
    "건강보험료 2026-03-15 고지 148,220원",
    "건강보험 보험료율 7.09%, 납부 12-34",
    "면허 갱신 기간 2026-01-01 ~ 2026-12-31",
    "면허 취득 1234567890명",
    "여권용 사진 35x45, 여권 A4 120장",
    "주민 12,034명, 주민번호 13자리",
    "사업자 수 7,234,918,112명",
    "계좌 잔액 1203440118원, 계좌 개설 2026.03.15 14:02:11",
    "계좌번호 확인 후 주문 12345678901",
    "카드 번호 16자리 숫자, 카드 한도 5000000000000원",
    "차량 12대, 차량 2주 2019년식, 열차 3호 1234",
    "전화 09:00-18:00, 전화 2019-2023년",
    "성명\t금액\t주문번호\n서진\t200\t99019-338-441",
    "자격증번호 20-1-048829001, 학생증 번호 202611482001, 회원카드 등급 12-24",
    "카드 승인번호 30291847 거래일시 2026-03-15 12:11",
    "면허시험장 예약번호 2026031500123, 여권 접수번호 2026031500",
    "보험증권 번호 2026-102938471-01",
    "여권 민원 예약번호: S42830513, 건강보험 공단 계약번호 61639996007, 면허 시험 접수번호는 158364567268",
    "계좌 해지 신청서 2026-03-02-0119",
    "고유번호: 20240-118823, 고유번호 99019338441",
    "주민번호/123456",
    "납부자번호: 가나전력 1294-8830-21, 출금은 은행에서",
]


def test_value_of_any_form_beside_its_label_has_the_labels_type() -> None:
    texts, spans = zip(*map(marked_spans, BESIDE), strict=True)
    found = [[tuple(span) for span in one] for one in find_many([*texts])]
    assert [one for one in zip(texts, spans, found, strict=True) if one[1] != one[2]] == []


def test_cell_below_a_header_some_rows_above() -> None:
    for text, [span] in map(marked_spans, TABLES):
        assert span in [tuple(one) for one in find_spans(text)], text


def test_what_stands_beside_a_label_and_is_no_value() -> None:
    assert [text for text, spans in zip(NOT_BESIDE, find_many(NOT_BESIDE), strict=True) if spans] == []


def test_a_telephone_number_stays_one_without_a_colon() -> None:
    assert [span.type for span in find_spans("계좌 문의 02-123-4567, 통장 010-1234-5678")] == ["TEL", "TEL"]


@pytest.mark.parametrize("marked", BESIDE + TABLES)
def test_pseudonym_of_any_form_keeps_it(marked: str) -> None:
    text, spans = marked_spans(marked)
    made = {(r.start, r.end): r.surrogate for r in Pseudonymizer(b"a key for tests only").apply(text)[1]}
    for start, end, kind in spans:
        value, pseudonym = text[start:end], made[start, end]
        if "０" not in value:  # in plain characters
            assert re.sub("[0-9]", "0", re.sub("[가-힣]", "가", re.sub("[A-Za-z]", "A", pseudonym))) == re.sub(
                "[0-9]", "0", re.sub("[가-힣]", "가", re.sub("[A-Za-z]", "A", value))
            )
        digits = re.sub("[^0-9]", "", pseudonym)
        if kind in ("RRN", "FRN"):
            assert digits[2:4] > "12"
        elif kind == "PASSPORT":
            assert pseudonym[0] == "X" or digits.startswith("000")
        elif kind == "HEALTH_INSURANCE":
            assert digits[0] == "0"
        elif kind == "VEHICLE_PLATE":
            assert digits[:-4].strip("0") == ""


LABELS = {
    "HEALTH_INSURANCE": (
        ["건강보험증 번호", "의료보험증번호", "보험증 번호", "건강보험 가입자번호"],
        ["321-54-09876-2", "31234567890"],
    ),
    "DRIVER_LICENSE": (
        ["운전면허번호", "운전면허", "면허증번호", "Driver's License No."],
        ["21-30-55-13-765432", "서울 04-284710-23"],
    ),
    "PASSPORT": (
        ["여권번호", "여권", "여권 No.", "Passport No.", "passport number"],
        ["C1234567", "M123456789", "AB1234567"],
    ),
    "RRN": (["주민등록번호", "주민번호", "주민등록 번호"], ["651301-1849203", "880304-1******", "9001321234567"]),
    "FRN": (["외국인등록번호", "외국인 등록번호", "거소신고번호"], ["901345-5829103", "880123-9182734"]),
    "BRN": (["사업자등록번호", "사업자번호", "사업자 등록번호"], ["999-99-99999", "4018293847"]),
    "BANK_ACCOUNT": (["계좌번호", "입금계좌", "통장번호"], ["7-3391-22018", "20193-44-8812-9", "110482913307"]),
    "CARD": (["카드번호", "신용카드", "카드 번호"], ["1122-3344-5566-7788", "8812345599001122"]),
    "VEHICLE_PLATE": (["차량번호", "차 번호", "자동차등록번호", "번호판"], ["12조 8830", "00차1023", "71보2930"]),
}
JOINTS = [
    ": ", " : ", "：", " ", ":", "(", " - ", " → ", "는 ", " = ", "\t", " | ", "] ", ":\n", "\n", "은(는) ", ": **",
    '="',
]  # fmt: skip
ENDS = ["", "입니다", " / 서울", ")", ", 확인", "\n주소: 없음", ".", "**", '"', "으로"]


@pytest.mark.parametrize("kind", LABELS)
def test_every_label_and_value_with_every_joint_and_end(kind: str) -> None:
    labels, values = LABELS[kind]
    texts, truth = [], []
    for number, (label, joint, value) in enumerate(product(labels, JOINTS, values)):
        end = ENDS[number % len(ENDS)]
        if end == "**" and value.endswith("*"):
            end = ""
        texts.append(f"성명 홍길동 / {label}{joint}{value}{end}")
        start = len(texts[-1]) - len(value) - len(end)
        truth.append((start, start + len(value), kind))
    wrong = [text for text, one, spans in zip(texts, truth, find_many(texts), strict=True) if one not in spans]
    assert not wrong


LINES = [line for marked in BESIDE + TABLES for line in marked_spans(marked)[0].split("\n")]


@settings(max_examples=500, deadline=None)
@given(
    st.lists(st.sampled_from(LINES) | st.text("0123456789-. /가나번호계좌여권M*", max_size=12), max_size=3).map(
        " ".join
    )
)
def test_the_gate_lets_a_line_through_where_a_label_has_a_value(line: str) -> None:
    for name, (_, finder) in LABEL_FINDERS.items():
        if list(finder(line, 0, len(line))):
            names = [name for window in gate().windows([line]) for name in window.types]
            assert name in names, (name, line)
