"""Words of no topic: invented names, dates, adverbs, the verbs of quantities."""

from __future__ import annotations

from data.sample.lexicon.topic import words

SURNAMES = words("김 이 박 최 정 강 조 윤 장 임 한 오 서 신 권 황 안 송 류 홍 고 문 손 배 백 허 남 심 노 하")
GIVEN_FIRST = words("""
    가 나 다 도 동 라 미 민 보 상 서 선 성 세 소 수 시 아 연 영 예 우 유 윤 은 재 정 주 준 지 진 찬 태 하 해 현 혜
""")
GIVEN_SECOND = words("""
    경 국 규 근 나 담 람 린 미 민 별 빈 석 선 설 솔 수 숙 슬 아 안 연 영 온 우 원 율 은 인 정 주 진 찬 호 환 후 훈
""")

CITIES = words("""
    서울 부산 대구 인천 광주 대전 울산 수원 청주 전주 춘천 강릉 목포 여수 포항 경주 안동 제주 원주 군산
""")

# Quantities: the verbs at one place of RISING and FALLING are antonyms.
RISING = ("오르다", "상승하다", "늘다", "증가하다", "높아지다", "치솟다")
FALLING = ("내리다", "하락하다", "줄다", "감소하다", "낮아지다", "떨어지다")
MEASURE_SYNONYMS = (("오르다", "상승하다"), ("늘다", "증가하다"), ("내리다", "하락하다"), ("줄다", "감소하다"))
MEASURE_ANTONYMS = tuple(zip(RISING, FALLING, strict=True))

ADVERBS = words("""
    서둘러 천천히 조용히 꼼꼼히 다시 결국 갑자기 꾸준히 함께 직접 마침내 미리 몰래 급히 정성껏 새롭게 먼저 곧바로
    끈질기게 과감하게 조심스럽게 적극적으로 공식적으로 단독으로 전격적으로
""")
MODIFIERS = words("""
    새로운 오래된 중요한 유명한 뜻밖의 주요 여러 또다른 문제의 화제의 특별한 평범한 낯선 익숙한 남다른 뛰어난
""")
CONNECTIVES = words(
    "그러나|하지만|한편|또한|이어|그래서|따라서|게다가|이에 따라|특히|실제로|이와 함께|그런데|무엇보다|그럼에도", "|"
)

MONTHS = tuple(f"{month}월" for month in range(1, 13))
WEEKDAYS = tuple(f"{day}요일" for day in "월화수목금토일")
RELATIVE_DAYS = words(
    "지난해|올해|지난달|이달|지난주|이번 주|어제|오늘|그저께|최근|올봄|지난가을|지난겨울|올여름|얼마 전|주말", "|"
)
HOURS = tuple(f"{half} {hour}시" for half in ("오전", "오후") for hour in range(1, 12))
