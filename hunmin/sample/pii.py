"""Invented personal data of the 16 types in natural sentences.

Values have the form, and where the form has one the check digit, of real ones, but lie where no real one can:
exchanges that begin with 0 or 1, births after 2060, documentation networks, example domains, unissued serials.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from hunmin.sample.josa import josa
from hunmin.sample.lexicon.topic import words

_REGIONS = words(
    "서울특별시 한별구|부산광역시 물결구|대구광역시 온빛구|인천광역시 새나루구|광주광역시 빛고을구|대전광역시 한밭구"
    "|경기도 새솔시|강원도 솔내군|충청북도 달천시|전라남도 은물군|경상북도 별고을시|제주도 바람시",
    "|",
)
_ROADS = words("새봄로 은하로 달맞이길 솔바람로 물레방아길 한글로 나루터길 무지개로 들꽃길 해오름로")
_HANDLES = words("byeolbit haneul sol.baram dalnara onnuri mirinae garam.k nabi saebyeok badasori")
_DOMAINS = ("example.com", "example.org", "example.net")
_BANKS = words("가람은행 미르은행 한별은행 새벽은행 두레은행")
_PLATE_LETTERS = "가나다라마거너더러머버서어저고노도로모보소오조구누두루무부수우주바사아자허하호"


@dataclass(frozen=True)
class Planted:
    """A sentence with one value of one PII type."""

    sentence: str
    type: str
    value: str


def _digits(rng: random.Random, count: int) -> str:
    return "".join(str(rng.randrange(10)) for _ in range(count))


def _tel(rng: random.Random) -> str:
    head = rng.choice(("010", "010", "010", "02", "031", "051", "064", "070"))
    middle = f"{rng.choice('01')}{_digits(rng, 3 if head in ('010', '070') else 2)}"
    separator = rng.choice("--- .")
    number = separator.join((head, middle, _digits(rng, 4)))
    return f"+82-10-{middle}-{_digits(rng, 4)}" if head == "010" and rng.random() < 0.1 else number


def _resident(rng: random.Random, sexes: str, base: int) -> str:
    digits = (
        f"{rng.randint(60, 99)}{rng.randint(1, 12):02d}{rng.randint(1, 28):02d}{rng.choice(sexes)}{_digits(rng, 5)}"
    )
    weights = (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)
    check = (base - sum(w * int(d) for w, d in zip(weights, digits, strict=True)) % 11) % 10
    return f"{digits[:6]}-{digits[6:]}{check}"


def _business(rng: random.Random) -> str:
    digits = f"99{_digits(rng, 1)}{rng.randint(1, 89):02d}{_digits(rng, 4)}"
    total = sum(w * int(d) for w, d in zip((1, 3, 7, 1, 3, 7, 1, 3, 5), digits, strict=True)) + 5 * int(digits[8]) // 10
    return f"{digits[:3]}-{digits[3:5]}-{digits[5:]}{-total % 10}"


def _card(rng: random.Random) -> str:
    digits = f"400000{_digits(rng, 9)}"
    doubled = (int(d) * 2 if place % 2 == 0 else int(d) for place, d in enumerate(digits))
    digits += str(-sum(d - 9 if d > 9 else d for d in doubled) % 10)
    return "-".join(digits[place : place + 4] for place in range(0, 16, 4))


def _account(rng: random.Random) -> str:
    groups = rng.choice(((3, 3, 6), (4, 3, 6), (6, 2, 6), (3, 2, 6), (4, 2, 7)))
    return "-".join(
        ("0" + _digits(rng, count - 1)) if k == 0 else _digits(rng, count) for k, count in enumerate(groups)
    )


def _driver(rng: random.Random) -> str:
    return f"{rng.randint(11, 26)}-{rng.randint(0, 23):02d}-000{_digits(rng, 3)}-{_digits(rng, 2)}"


def _passport(rng: random.Random) -> str:
    if rng.random() < 0.5:
        return f"M000{_digits(rng, 5)}"
    return f"M00{_digits(rng, 1)}{rng.choice('ABCDEFGH')}{_digits(rng, 4)}"


def _address(rng: random.Random) -> str:
    return f"{rng.choice(_REGIONS)} {rng.choice(_ROADS)} {rng.randint(1, 300)}"


def _plate(rng: random.Random) -> str:
    return f"{rng.choice((rng.randint(11, 69), rng.randint(100, 699)))}{rng.choice(_PLATE_LETTERS)} 00{_digits(rng, 2)}"


def _email(rng: random.Random) -> str:
    return f"{rng.choice(_HANDLES)}{rng.randint(1, 99)}@{rng.choice(_DOMAINS)}"


def _ip(rng: random.Random) -> str:
    if rng.random() < 0.15:
        return f"2001:db8::{rng.randrange(1, 65536):x}:{rng.randrange(1, 65536):x}"
    return f"{rng.choice(('192.0.2', '198.51.100', '203.0.113'))}.{rng.randint(1, 254)}"


def _mac(rng: random.Random) -> str:
    return rng.choice(":-").join(["02", *(f"{rng.randrange(256):02X}" for _ in range(5))])


def _url(rng: random.Random) -> str:
    path = rng.choice(("", "/notice", "/blog/post", "/user/profile"))
    return f"{rng.choice(('http', 'https'))}://{rng.choice(('www', 'shop', 'blog'))}.{rng.choice(_DOMAINS)}{path}"


def _mention(rng: random.Random) -> str:
    return f"@{rng.choice(_HANDLES)}_{rng.randint(1, 99)}"


def _health(rng: random.Random) -> str:
    return f"{rng.randint(1, 8)}-00{_digits(rng, 8)}"


# type -> (how to invent a value, contexts). "{v:은}" is the value with a josa.
KINDS: dict[str, tuple[Callable[[random.Random], str], tuple[str, ...]]] = {
    "TEL": (
        _tel,
        (
            "궁금한 점은 {v:으로} 전화해 주세요.",
            "제 연락처는 {v}입니다.",
            "예약은 {v:으로} 문의하시면 됩니다.",
            "담당자 휴대전화 번호가 {v:으로} 바뀌었습니다.",
        ),
    ),
    "RRN": (
        lambda rng: _resident(rng, "34", 11),
        (
            "신청서에 적힌 주민등록번호는 {v}입니다.",
            "주민번호 {v:을} 다시 확인해 주세요.",
            "서류에는 주민등록번호 {v:이} 그대로 남아 있었다.",
        ),
    ),
    "FRN": (
        lambda rng: _resident(rng, "78", 13),
        (
            "외국인등록번호 {v:으로} 접수되었습니다.",
            "등록증의 외국인등록번호는 {v}이다.",
            "외국인등록번호 {v:을} 적어 주세요.",
        ),
    ),
    "EMAIL": (
        _email,
        (
            "자료는 {v:으로} 보내 주세요.",
            "문의 메일은 {v}입니다.",
            "답장은 {v} 앞으로 주시기 바랍니다.",
            "메일 주소를 {v:으로} 바꾸었다.",
        ),
    ),
    "IP": (
        _ip,
        (
            "접속한 주소는 {v:으로} 기록되었습니다.",
            "서버 {v}에서 오류가 났다.",
            "글쓴이의 아이피는 {v}입니다.",
        ),
    ),
    "MAC": (
        _mac,
        (
            "기기의 맥 주소는 {v}입니다.",
            "공유기에 {v} 기기를 등록했다.",
            "설정 화면에 {v:이} 보이면 됩니다.",
        ),
    ),
    "MENTION": (
        _mention,
        (
            "사진은 {v} 님이 찍어 주셨어요.",
            "자세한 후기는 {v} 계정에 올릴게요.",
            "이벤트에 당첨된 {v} 님 축하드려요.",
        ),
    ),
    "ADDRESS": (
        _address,
        (
            "택배는 {v:으로} 보내 주세요.",
            "가게는 {v}에 있습니다.",
            "행사장 주소는 {v}이다.",
            "지난달 {v:으로} 이사했어요.",
        ),
    ),
    "BANK_ACCOUNT": (
        _account,
        (
            "회비는 {b} {v} 계좌로 보내 주세요.",
            "입금 계좌는 {b} {v}입니다.",
            "{b} 계좌번호 {v:으로} 송금했다.",
        ),
    ),
    "PASSPORT": (
        _passport,
        (
            "여권번호는 {v}입니다.",
            "분실한 여권 번호 {v:을} 신고했다.",
            "예약하려면 여권번호 {v:이} 필요해요.",
        ),
    ),
    "DRIVER_LICENSE": (
        _driver,
        (
            "운전면허번호 {v:을} 입력했습니다.",
            "면허 번호는 {v}이다.",
            "갱신할 운전면허는 {v}입니다.",
        ),
    ),
    "BRN": (
        _business,
        (
            "사업자등록번호는 {v}입니다.",
            "세금계산서는 사업자번호 {v:으로} 발행해 주세요.",
            "가게의 사업자등록번호 {v:을} 확인했다.",
        ),
    ),
    "HEALTH_INSURANCE": (
        _health,
        (
            "건강보험증 번호는 {v}입니다.",
            "건강보험 번호 {v:으로} 진료를 접수했다.",
            "건강보험증 번호 {v:을} 불러 주세요.",
        ),
    ),
    "CARD": (
        _card,
        (
            "결제한 카드 번호는 {v}입니다.",
            "신용카드 {v:으로} 결제했어요.",
            "잃어버린 카드 {v:을} 정지해 주세요.",
        ),
    ),
    "VEHICLE_PLATE": (
        _plate,
        (
            "차량 번호 {v} 차주께서는 차를 옮겨 주세요.",
            "골목에 서 있던 차는 {v}이었다.",
            "{v} 승용차가 주차장에 들어왔습니다.",
        ),
    ),
    "URL": (
        _url,
        (
            "자세한 내용은 {v}에서 볼 수 있습니다.",
            "신청은 {v} 에서 받아요.",
            "사진은 {v} 게시판에 올라왔다.",
        ),
    ),
}


def plant_value(rng: random.Random, kind: str) -> Planted:
    """Return a sentence with one invented value of a PII type.

    Raises:
        KeyError: the type is not one of the 16.
    """
    invent, contexts = KINDS[kind]
    value = invent(rng)
    sentence = rng.choice(contexts).replace("{b}", rng.choice(_BANKS))
    for particle in ("으로", "을", "이", "은"):
        sentence = sentence.replace(f"{{v:{particle}}}", josa(value, particle))
    sentence = sentence.replace("{v}이었다", josa(value, "이었다")).replace("{v}", value)
    return Planted(sentence, kind, value)
