"""WoS: dialogues at an information desk, with the state after every turn of the user."""

from __future__ import annotations

import random
from typing import Any

from hunmin.sample.josa import josa
from hunmin.sample.lexicon.topic import words
from hunmin.sample.tasks.common import TaskFiles, TaskText, as_json, guid, rng_for

SIZES = {"train": 120, "dev": 40}
AREAS = ("서울 동쪽", "서울 서쪽", "서울 남쪽", "서울 북쪽", "서울 중앙")
PRICES = ("저렴", "적당", "비싼")
DAYS = tuple(f"{day}요일" for day in "월화수목금토일")
COUNTS = tuple(str(n) for n in range(1, 11))
STATIONS = tuple(
    f"{name}역" for name in words("달맞이 솔숲 은빛공원 새나루 한들 가온 별내울 물빛 두레골 늘봄 도담 마루 온새 바람골")
)
KINDS = {
    "관광": ("공원", "박물관", "미술관", "시장", "궁궐", "공연장"),
    "숙소": ("호텔", "모텔", "게스트 하우스", "에어비앤비"),
    "식당": ("한식당", "양식당", "일식당", "중식당", "카페", "술집"),
}
# Invented places by kind, those of train and those of dev.
NAMES: dict[str, dict[str, dict[str, tuple[str, ...]]]] = {
    "관광": {
        "train": {
            "박물관": ("달오름 박물관", "옛터 박물관"),
            "공원": ("솔바람 공원", "은행나무 공원"),
            "시장": ("무지개 시장",),
            "미술관": ("한빛 미술관",),
            "궁궐": ("별마당 궁",),
            "공연장": ("단비 소극장",),
        },
        "dev": {
            "공원": ("들꽃 공원",),
            "박물관": ("온누리 박물관",),
            "시장": ("새벽 시장",),
            "미술관": ("구름 미술관",),
        },
    },
    "숙소": {
        "train": {
            "호텔": ("햇살 호텔", "나그네 호텔"),
            "게스트 하우스": ("구름 게스트 하우스", "푸른 언덕 하우스"),
            "모텔": ("단꿈 모텔",),
        },
        "dev": {"호텔": ("별밤 호텔",), "게스트 하우스": ("포근 게스트 하우스",), "모텔": ("쉼표 모텔",)},
    },
    "식당": {
        "train": {
            "한식당": ("할매손맛", "장독대 밥상"),
            "양식당": ("초록 파스타",),
            "일식당": ("바다 한 접시",),
            "중식당": ("붉은 등불",),
            "카페": ("콩닥 카페",),
        },
        "dev": {"한식당": ("뚝배기 마을", "하루 국수"), "양식당": ("노을 식탁",), "카페": ("참새 방앗간",)},
    },
}
FLAGS = {
    "관광": ("경치 좋은", "교육적", "도보 가능", "문화 예술", "역사적", "주차 가능"),
    "숙소": (
        "도보 가능",
        "수영장 유무",
        "스파 유무",
        "인터넷 가능",
        "조식 가능",
        "주차 가능",
        "헬스장 유무",
        "흡연 가능",
    ),
    "식당": ("도보 가능", "야외석 유무", "인터넷 가능", "주류 판매", "주차 가능", "흡연 가능"),
}
_FLAG_WORDS = {
    "경치 좋은": "경치가 좋은 곳이면",
    "교육적": "교육적인 곳이면",
    "도보 가능": "걸어서 갈 수 있으면",
    "문화 예술": "문화 예술을 즐길 수 있으면",
    "역사적": "역사가 깊은 곳이면",
    "주차 가능": "주차가 되면",
    "수영장 유무": "수영장이 있으면",
    "스파 유무": "스파가 있으면",
    "인터넷 가능": "인터넷이 되면",
    "조식 가능": "아침 식사가 나오면",
    "헬스장 유무": "헬스장이 있으면",
    "흡연 가능": "담배를 피울 수 있으면",
    "야외석 유무": "야외석이 있으면",
    "주류 판매": "술을 팔면",
}
TAXIS = ("일반", "고급", "대형", "에코")


class _Talk:
    """A dialogue as it grows: turns, and the state so far."""

    def __init__(self, rng: random.Random, split: str) -> None:
        self.rng, self.split = rng, split
        self.turns: list[dict[str, Any]] = []
        self.state: dict[str, str] = {}

    def told(self, text: str, slots: dict[str, str]) -> None:
        """Add a turn of the user that sets the slots."""
        self.state.update(slots)
        self.turns.append({"role": "user", "text": text, "state": [f"{k}-{v}" for k, v in self.state.items()]})

    def system(self, text: str) -> None:
        """Add a turn of the desk."""
        self.turns.append({"role": "sys", "text": text, "state": []})


def _time(rng: random.Random) -> str:
    return f"{rng.randint(6, 22):02d}:{rng.choice((0, 10, 15, 20, 30, 40, 45)):02d}"


def _find_place(talk: _Talk, domain: str) -> str:
    """Let the user look for a place and settle on one; return its name."""
    rng = talk.rng
    area, kind = rng.choice(AREAS), rng.choice(list(NAMES[domain][talk.split]))
    flag = rng.choice(FLAGS[domain])
    name = rng.choice(NAMES[domain][talk.split][kind])
    opening = rng.choice(
        (
            "{a}에 있는 {k} 찾아요.",
            "{a}에서 {k} 가 보고 싶어요.",
            "{a}에 괜찮은 {k} 있을까요?",
            "{k} 추천해 주세요. 지역은 {a:이} 좋아요.",
        )
    )
    opening = (
        opening.replace("{a:이}", josa(area, "이")).replace("{a}", area).replace("{k} 찾", f"{josa(kind, '을')} 찾")
    )
    opening = (
        opening.replace("{k} 가 보", f"{kind}에 가 보")
        .replace("{k} 있을", f"{josa(kind, '이')} 있을")
        .replace("{k}", kind)
    )
    talk.told(opening, {f"{domain}-지역": area, f"{domain}-종류": kind})
    if domain != "관광" and rng.random() < 0.7:
        price = rng.choice((*PRICES, "dontcare"))
        talk.system(rng.choice(("원하시는 가격대가 있으신가요?", "가격은 어느 정도로 찾으세요?")))
        said = {"저렴": "저렴하면 좋겠어요.", "적당": "적당한 가격이면 돼요.", "비싼": "비싸도 괜찮으니 좋은 곳으로요."}
        talk.told(said.get(price, "가격은 상관없어요."), {f"{domain}-가격대": price})
    talk.system(
        rng.choice(("더 필요한 조건이 있으세요?", "다른 조건도 말씀해 주세요.", "네, 또 바라시는 점이 있나요?"))
    )
    talk.told(f"{_FLAG_WORDS[flag]} {rng.choice(('좋겠어요.', '더 좋아요.', '합니다.'))}", {f"{domain}-{flag}": "yes"})
    talk.system(
        rng.choice(
            (
                f"{josa(name, '을')} 추천해 드려요.",
                f"{josa(name, '이')} 조건에 맞습니다.",
                f"{josa(name, '은')} 어떠세요?",
            )
        )
    )
    talk.told(
        rng.choice(("좋아요, 거기로 할게요.", "네, 그곳이 좋겠네요.", f"{josa(name, '으로')} 정할게요.")),
        {f"{domain}-이름": name},
    )
    return name


def _book(talk: _Talk, domain: str) -> None:
    rng = talk.rng
    day, count = rng.choice(DAYS), rng.choice(COUNTS)
    slots = {f"{domain}-예약 요일": day, f"{domain}-예약 명수": count}
    talk.system(rng.choice(("예약도 도와드릴까요?", "네, 언제 몇 분이 가시나요?")))
    if domain == "식당":
        slots[f"{domain}-예약 시간"] = when = _time(rng)
        talk.told(f"{day} {when}에 {count}명 예약해 주세요.", slots)
    else:
        slots[f"{domain}-예약 기간"] = nights = str(rng.randint(1, 5))
        talk.told(f"{day}부터 {nights}일 동안 {count}명이 묵을게요.", slots)
    code = "".join(rng.choice("ABCDEFGHJKLMNPQRSTUVWXYZ23456789") for _ in range(5))
    talk.system(f"예약했습니다. 예약 번호는 {code}입니다.")


def _ride(talk: _Talk, domain: str, target: str) -> None:
    rng = talk.rng
    start = rng.choice(STATIONS)
    goal = target if domain == "택시" else rng.choice([s for s in STATIONS if s != start])
    when = _time(rng)
    slots = {f"{domain}-출발지": start, f"{domain}-도착지": goal, f"{domain}-출발 시간": when}
    if domain == "택시":
        kind = rng.choice((*TAXIS, "dontcare"))
        said = "택시 종류는 상관없어요." if kind == "dontcare" else f"{kind} 택시로 불러 주세요."
        slots["택시-종류"] = kind
        talk.told(f"{start}에서 {goal}까지 택시로 갈게요. {when}에 출발해요. {said}", slots)
        talk.system("네, 택시를 불러 두었습니다.")
    else:
        talk.told(f"{start}에서 {goal}까지 지하철로 가려고요. {when}에 출발합니다.", slots)
        talk.system(f"{rng.randint(8, 50)}분 걸립니다.")


def _dialogue(rng: random.Random, split: str) -> tuple[list[str], list[dict[str, Any]]]:
    talk = _Talk(rng, split)
    domain = rng.choice(("관광", "숙소", "식당"))
    domains = [domain]
    name = _find_place(talk, domain)
    if domain != "관광" and rng.random() < 0.8:
        _book(talk, domain)
    else:
        talk.system("더 도와드릴 일이 있을까요?")
    if rng.random() < 0.6:
        ride = rng.choice(("택시", "지하철"))
        domains.append(ride)
        _ride(talk, ride, name)
    talk.told(rng.choice(("고맙습니다.", "감사해요, 이제 됐어요.", "네, 충분해요. 감사합니다.")), {})
    talk.system(rng.choice(("이용해 주셔서 감사합니다.", "즐거운 하루 보내세요.")))
    return domains, talk.turns


def ontology() -> dict[str, list[str]]:
    """Return the 45 slots and their values."""
    flags = ["none", "dontcare", "yes", "no"]
    times = [f"{h:02d}:{m:02d}" for h in range(6, 23) for m in (0, 10, 15, 20, 30, 40, 45)]
    names = {
        domain: [name for by_kind in by_split.values() for group in by_kind.values() for name in group]
        for domain, by_split in NAMES.items()
    }
    slots: dict[str, list[str]] = {}
    for domain, kinds in KINDS.items():
        slots |= {f"{domain}-{flag}": flags for flag in FLAGS[domain]}
        slots |= {f"{domain}-이름": names[domain], f"{domain}-종류": list(kinds), f"{domain}-지역": list(AREAS)}
    for domain in ("숙소", "식당"):
        slots |= {
            f"{domain}-가격대": list(PRICES),
            f"{domain}-예약 명수": list(COUNTS),
            f"{domain}-예약 요일": list(DAYS),
        }
    places = [place for group in names.values() for place in group]
    slots |= {"숙소-예약 기간": list(COUNTS), "식당-예약 시간": times}
    slots |= {"지하철-출발지": list(STATIONS), "지하철-도착지": list(STATIONS), "지하철-출발 시간": times}
    slots |= {"택시-출발지": [*STATIONS, *places], "택시-도착지": [*STATIONS, *places], "택시-종류": list(TAXIS)}
    slots |= {"택시-출발 시간": times, "택시-도착 시간": times}
    return {
        slot: values if values is flags else ["none", "dontcare", *values] for slot, values in sorted(slots.items())
    }


def build(seed: int) -> TaskFiles:
    """Return the files of WoS with its ontology; the places of train and dev differ."""
    files = {"wos-v1.1/ontology.json": as_json(ontology())}
    texts: list[TaskText] = []
    for split, size in SIZES.items():
        rng = rng_for(seed, "wos", split)
        records: list[dict[str, Any]] = []
        for number in range(size):
            domains, turns = _dialogue(rng, split)
            name = guid("wos", split, number)
            texts += [TaskText("wos", name, turn["text"]) for turn in turns]
            records.append({"guid": name, "domains": domains, "dialogue": turns})
        files[f"wos-v1.1/wos-v1.1_{split}.json"] = as_json(records)
    return TaskFiles(files, texts)
