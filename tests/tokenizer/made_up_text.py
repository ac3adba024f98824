"""A made-up Korean text."""

from __future__ import annotations

import random

NOUNS = "학교 시장 바다 음악 연구자 분야 인공지능 도서관 사람 날씨 기차 역사 과학 문학 정부 회사 병원 농부 바람 고양이"
JOSA = "은 는 이 가 을 를 에서 으로 의 에게 도 까지 부터"
VERBS = "간다 왔습니다 봤어요 만들었다 읽는다 먹었습니다 생각했다 말합니다 찾아갔다 저명하다"


def made_up_lines(count: int, seed: int = 1) -> list[str]:
    """Return lines of nouns with josa and a verb, some with numbers, Latin and Hanja."""
    draw = random.Random(seed)

    def word(entries: str) -> str:
        known = entries.split()
        return known[int(len(known) * draw.random() ** 2)]  # the first are the most frequent, as in language

    lines = []
    for _ in range(count):
        words = [word(NOUNS) + word(JOSA) for _ in range(draw.randint(2, 6))]
        extra = draw.choice(["", "", "3.5kg", "(GPU)", "漢字", "café", "ㅋㅋㅋ"])
        lines.append(" ".join([*words, extra, word(VERBS)]).replace("  ", " ") + ".")
    return lines
