"""How writers write postal addresses: a head (road, lot, town with a complex) and a tail of units, with any joint."""

from __future__ import annotations

import random
from collections.abc import Callable

from .marks import Kind, Page, Value
from .values import ROADS, TOWNS, WORDS, words
from .writers import FULL, Form

DISTRICTS = words(
    "서울특별시 마포구|서울시 강남구|서울 관악구|서울 송파구|부산광역시 해운대구|부산 사하구|대구광역시 수성구|"
    "대구시 달서구|인천광역시 남동구|인천 연수구|광주광역시 북구|광주 서구|대전광역시 유성구|대전 서구|"
    "울산광역시 남구|경기도 수원시 영통구|경기 성남시 분당구|경기도 고양시 일산동구|경기도 김포시|"
    "경기 파주시|강원도 춘천시|강원특별자치도 원주시|충청북도 청주시 흥덕구|충북 제천시|충청남도 천안시 서북구|"
    "충남 아산시|전라북도 전주시 완산구|전북특별자치도 익산시|전라남도 여수시|전남 순천시|경상북도 포항시 북구|"
    "경북 구미시|경상남도 창원시 성산구|경남 김해시|제주특별자치도 제주시|제주도 서귀포시"
)
CITIES = words(
    "수원시 영통구|성남시 분당구|고양시 일산동구|김포시|춘천시|청주시 흥덕구|천안시 서북구|전주시 완산구|창원시 성산구"
)
BOROUGHS = words("마포구|강남구|관악구|송파구|해운대구|수성구|남동구|유성구")
COUNTIES = words(
    "충남 홍성군|경기도 양평군|강원도 홍천군|전남 해남군|경북 의성군|경상남도 거창군|충청북도 음성군|전북 고창군"
)
VILLAGES = words("새말리|구름리|솔골리|햇살리|은행리|노을리|물결리|샛터리")
BUILDERS = words("주공|삼보|한빛|대림|우성|현대|한신|벽산")
HOUSES = words("빌라|연립|맨션|하이츠|오피스텔|타운|빌|팰리스")


def number(rng: random.Random) -> str:
    return str(rng.randint(1, 180)) if rng.random() < 0.7 else f"{rng.randint(1, 180)}-{rng.randint(1, 30)}"


def road(rng: random.Random) -> str:
    return f"{rng.choice(ROADS)}{rng.choice(('로', '로', '로', '길', '대로', '중앙로', '남로', '안길'))}"


def lot(rng: random.Random) -> str:
    first, second = rng.randint(1, 900), rng.randint(1, 40)
    return rng.choice((f"{first}-{second}", f"{first}-{second}번지", f"{first}번지", f"{first}번지 {second}호"))


def estate(rng: random.Random) -> str:
    name = rng.choice(WORDS)
    builder = rng.choice(BUILDERS)
    phase = rng.randint(1, 9)
    return rng.choice(
        (
            f"{name}아파트",
            f"{name}마을아파트",
            f"{name}마을 {builder}아파트",
            f"{name}마을 {phase}단지",
            f"{name}마을 {builder}{phase}단지",
            f"{name}마을 {builder} {phase}단지",
            f"{builder}아파트",
            f"{builder}{phase}차아파트",
            f"{builder} {phase}차",
            f"{name} {rng.choice(HOUSES)}",
            f"{name}{rng.choice(HOUSES)}",
            f"{name}타운 {phase}차",
        )
    )


def flat(rng: random.Random) -> str:
    return f"{rng.randint(101, 125)}동 {rng.randint(1, 24)}{rng.randint(1, 8):02d}호"


HEADS: dict[str, Callable[[random.Random], str]] = {
    "road": lambda r: f"{r.choice(DISTRICTS)} {road(r)} {number(r)}",
    "road without province": lambda r: f"{r.choice(CITIES)} {road(r)} {number(r)}",
    "road behind a borough": lambda r: f"{r.choice(BOROUGHS)} {road(r)} {number(r)}",
    "road, glued number": lambda r: f"{r.choice(DISTRICTS)} {road(r)}{r.randint(2, 180)}",
    "branch": lambda r: (
        f"{r.choice(DISTRICTS)} {r.choice(ROADS)}로{r.randint(2, 90)}{r.choice(('길', '번길'))} {number(r)}"
    ),
    "branch, blank before": lambda r: (
        f"{r.choice(DISTRICTS)} {r.choice(ROADS)}로 {r.randint(2, 90)}{r.choice(('길', '번길'))} {number(r)}"
    ),
    "branch, blanks inside": lambda r: (
        f"{r.choice(DISTRICTS)} {r.choice(ROADS)}로 {r.randint(2, 90)}{r.choice((' 길', '번 길', ' 번길'))} {number(r)}"
    ),
    "numbered road": lambda r: (
        f"{r.choice(DISTRICTS)} {r.choice(ROADS)}{r.randint(1, 30)}{r.choice('로길')} {number(r)}"
    ),
    "branch with 번지": lambda r: (
        f"{r.choice(DISTRICTS)} {r.choice(ROADS)}로{r.randint(2, 90)}번길 {r.randint(2, 90)}-{r.randint(1, 30)}번지"
    ),
    "branch with letter": lambda r: (
        f"{r.choice(DISTRICTS)} {r.choice(ROADS)}로{r.randint(2, 90)}{r.choice('가나다')}길 {number(r)}"
    ),
    "road, basement": lambda r: f"{r.choice(DISTRICTS)} {r.choice(ROADS)}대로 지하 {r.randint(2, 900)}",
    "road in a county": lambda r: f"{r.choice(COUNTIES)} {r.choice(TOWNS)}{r.choice('읍면')} {road(r)} {number(r)}",
    "sejong": lambda r: f"{r.choice(('세종', '세종시', '세종특별자치시'))} {road(r)} {number(r)}",
    "sejong, lot": lambda r: f"{r.choice(('세종', '세종시', '세종특별자치시'))} {r.choice(TOWNS)}동 {lot(r)}",
    "lot": lambda r: f"{r.choice(DISTRICTS)} {r.choice(TOWNS)}동 {lot(r)}",
    "lot without province": lambda r: f"{r.choice(BOROUGHS)} {r.choice(TOWNS)}동 {lot(r)}",
    "lot, numbered town": lambda r: f"{r.choice(DISTRICTS)} {r.choice(TOWNS)}{r.randint(1, 4)}동 {lot(r)}",
    "lot in a quarter": lambda r: f"{r.choice(DISTRICTS)} {r.choice(TOWNS)}동{r.randint(1, 5)}가 {lot(r)}",
    "lot with 의": lambda r: f"{r.choice(DISTRICTS)} {r.choice(TOWNS)}동 {r.randint(2, 300)}의 {r.randint(1, 30)}",
    "lots": lambda r: f"{r.choice(DISTRICTS)} {r.choice(TOWNS)}동 {(n := r.randint(2, 300))}{r.choice('~-')}{n + 2}",
    "lot in a village": lambda r: (
        f"{r.choice(COUNTIES)} {r.choice(TOWNS)}{r.choice('읍면')} {r.choice(VILLAGES)} {lot(r)}"
    ),
    "mountain": lambda r: (
        f"{r.choice(COUNTIES)} {r.choice(TOWNS)}면 {r.choice(VILLAGES)} 산{r.choice(('', ' '))}{r.randint(2, 99)}"
        f"{r.choice(('번지', '-3', '-12번지'))}"
    ),
    "glued": lambda r: f"{r.choice(DISTRICTS)} {r.choice(TOWNS)}동 {r.randint(2, 300)}-{r.randint(1, 30)}".replace(
        " ", ""
    ),
    "glued road": lambda r: f"{r.choice(DISTRICTS)}{road(r)} {number(r)}".replace(" ", "", 2),
    "commas": lambda r: f"{r.choice(DISTRICTS)} {road(r)}".replace(" ", ", ") + f" {number(r)}",
    "letter-spaced": lambda r: " ".join(f"{r.choice(DISTRICTS)}{road(r)}".replace(" ", "")) + f" {number(r)}",
    "two blanks": lambda r: f"{r.choice(DISTRICTS)} {road(r)} {number(r)}".replace(" ", "  "),
    "line end": lambda r: "\n".join((r.choice(DISTRICTS), f"{road(r)} {number(r)}")),
    "full width": lambda r: f"{r.choice(DISTRICTS)} {road(r)} {number(r).translate(FULL)}",
    "estate": lambda r: f"{r.choice(DISTRICTS)} {r.choice(TOWNS)}동 {estate(r)}",
    "estate, no region": lambda r: f"{r.choice(TOWNS)}동 {estate(r)}",
    "road, no region": lambda r: f"{road(r)} {number(r)}",
    "invented district": lambda r: f"{r.choice(TOWNS)}시 {r.choice(WORDS)}구 {road(r)} {number(r)}",
}
TAILED = {"estate", "estate, no region"}
"""Heads without a number: they are an address only with a flat behind them."""
LABELLED = {"estate, no region", "road, no region", "invented district", "line end", "letter-spaced", "lots"}
FREE = sorted(HEADS.keys() - LABELLED - TAILED - {"mountain"})
"""Heads that any tail can stand behind, and that are known without a label."""
UNITS: dict[str, Callable[[random.Random], list[str]]] = {
    "block and flat": lambda r: [f"{r.randint(101, 125)}동", f"{r.randint(1, 24)}{r.randint(1, 8):02d}호"],
    "flat": lambda r: [f"{r.randint(1, 24)}{r.randint(1, 8):02d}호"],
    "floor": lambda r: [r.choice((f"{r.randint(1, 20)}층", f"지하 {r.randint(1, 3)}층", f"지하{r.randint(1, 3)}층"))],
    "floor and flat": lambda r: [f"{(n := r.randint(1, 9))}층", f"{n}{r.randint(1, 8):02d}호"],
    "letters' block": lambda r: [f"{r.choice('ABCDE가나다라')}동", f"{r.randint(1, 9)}{r.randint(1, 8):02d}호"],
    "letter and flat": lambda r: [f"{r.choice('ABCDE')}-{r.randint(1, 9)}{r.randint(1, 8):02d}호"],
    "hyphenated": lambda r: [f"{r.randint(101, 125)}-{r.randint(1, 24)}{r.randint(1, 8):02d}"],
    "slashed": lambda r: [f"{r.randint(101, 125)}/{r.randint(1, 24)}{r.randint(1, 8):02d}"],
    "short hyphenated": lambda r: [f"{r.randint(1, 9)}-{r.randint(1, 9)}{r.randint(1, 8):02d}"],
    "block without 호": lambda r: [f"{r.randint(101, 125)}동", f"{r.randint(1, 24)}{r.randint(1, 8):02d}"],
    "estate": lambda r: [estate(r), f"{r.randint(101, 125)}동", f"{r.randint(1, 24)}{r.randint(1, 8):02d}호"],
    "phase": lambda r: [
        f"{r.randint(1, 9)}단지",
        f"{r.randint(101, 125)}동",
        f"{r.randint(1, 24)}02호",
    ],
    "building": lambda r: [f"{r.choice(WORDS)}{r.choice(('빌딩', '타워', '프라자', '상가'))}", f"{r.randint(1, 20)}층"],
    "building of two words": lambda r: [
        f"{r.choice(WORDS)} {r.choice(('비즈니스 센터', '지식산업센터', '테크 타워', '메디컬 빌딩'))}",
        f"{r.randint(1, 20)}층",
        f"{r.randint(1, 20)}03호",
    ],
    "building, glued floor": lambda r: [
        f"{r.choice(WORDS)}{r.choice(('빌딩', '타워'))}{(n := r.randint(2, 9))}층",
        f"{n}03호",
    ],
    "annexe": lambda r: [f"{r.choice(('본관', '별관', '신관', '상가동', '상가'))}", f"{r.randint(1, 9)}층"],
    "shop": lambda r: [f"{r.choice(('상가', '단지 내 상가', '상가동'))}", f"{r.randint(1, 3)}{r.randint(1, 20):02d}호"],
    "basement": lambda r: [
        f"{r.choice(('지층', '반지하', '지하', '지하층'))}",
        f"{r.randint(1, 9)}{r.choice(('호', '01호'))}",
    ],
    "roof": lambda r: [f"{r.choice(('옥탑', '옥탑방'))}", f"{r.randint(1, 4)}호"],
    "foreign floor": lambda r: [r.choice((f"{r.randint(1, 12)}F", f"B{r.randint(1, 3)}", f"B{r.randint(1, 3)}F"))],
}
JOINTS: dict[str, Callable[[list[str], random.Random], str]] = {
    "blank": lambda units, r: " " + " ".join(units),
    "comma": lambda units, r: ", " + " ".join(units),
    "tight comma": lambda units, r: "," + " ".join(units),
    "commas": lambda units, r: ", " + ", ".join(units),
    "dot": lambda units, r: ". " + " ".join(units),
    "slash": lambda units, r: " / " + " ".join(units),
    "line end": lambda units, r: "\n" + " ".join(units),
    "line ends": lambda units, r: "\n" + "\n".join(units),
    "brackets": lambda units, r: f"{r.choice(('', ' '))}({' '.join(units)})",
    "glued units": lambda units, r: " " + "".join(units),
    "two blanks": lambda units, r: "  " + "  ".join(units),
    "hyphen": lambda units, r: " - " + " ".join(units),
    "town in brackets": lambda units, r: f"{r.choice(('', ' '))}({r.choice(TOWNS)}동) {' '.join(units)}",
    "town and estate in brackets": lambda units, r: (
        f" ({r.choice(TOWNS)}동, {r.choice(WORDS)}아파트) {' '.join(units)}"
    ),
}
AFTER: dict[str, Callable[[random.Random], str]] = {
    "town in brackets": lambda r: f" ({r.choice(TOWNS)}동)",
    "town and estate in brackets": lambda r: f"({r.choice(TOWNS)}동, {r.choice(WORDS)}아파트)",
    "building's name": lambda r: f" {r.choice(WORDS)}{r.choice(('빌딩', '타워', '회관'))}",
}
BEFORE: dict[str, Callable[[random.Random], str]] = {
    "postal code": lambda r: f"({r.randint(10000, 63000):05d}) ",
    "postal code with word": lambda r: f"우) {r.randint(10000, 63000):05d} ",
    "square postal code": lambda r: f"[{r.randint(10000, 63000):05d}] ",
}
PLAIN = (
    "road",
    "branch",
    "lot",
    "sejong",
    "estate",
    "road without province",
    "lot in a village",
    "branch, blank before",
)


def address(head: str, tail: str = "", joint: str = "blank", after: str = "", before: str = "") -> Form:
    """Return the form of an address; with the head `any`, head and tail are drawn anew for each."""
    parts = [head, tail and f"+ {tail}", tail and joint != "blank" and f"by {joint}", after and f"+ {after}"]
    kind = Kind("ADDRESS", " ".join(filter(None, [*parts, before and f"after {before}"])))

    def write(page: Page) -> Value:
        rng = page.rng
        start = HEADS[rng.choice(FREE) if head == "any" else head](rng)
        if tail:
            units = UNITS[rng.choice(list(UNITS)) if tail == "any" else tail](rng)
            start += JOINTS[joint](units, rng)
        return page.mark(kind, start, BEFORE[before](rng) if before else "", AFTER[after](rng) if after else "")

    return Form(kind, write, head in LABELLED)


def forms() -> list[Form]:
    """Return heads alone, each tail behind ordinary heads, each joint with all of them, and what stands around."""
    heads = [address(head) for head in HEADS if head not in TAILED]
    flats = [
        address(head, "block and flat", "comma" if "road" in head else "blank") for head in HEADS if head != "mountain"
    ]
    tails = [address(head, tail) for number, tail in enumerate(UNITS) for head in (PLAIN[number % 2], PLAIN[3])]
    commas = [address("road", tail, "comma") for tail in UNITS]
    joints = [
        address(PLAIN[number % 3], tail, joint)
        for joint in JOINTS
        for number, tail in enumerate(("block and flat", "floor and flat", "estate", "hyphenated", "letters' block"))
    ]
    mixed = [address("any", "any", joint) for joint in JOINTS]
    around = [address(head, "block and flat", after=after) for head in PLAIN[:2] for after in AFTER]
    around += [address("road", after=after) for after in AFTER]
    around += [address(head, "block and flat", before=before) for head in PLAIN[:2] for before in BEFORE]
    every = {form.kind: form for form in (*heads, *flats, *tails, *commas, *joints, *mixed, *around)}
    return list(every.values())


ADDRESSES = forms()
