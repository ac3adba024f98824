"""Words of no topic: invented names, dates, adverbs, the verbs of quantities."""

from __future__ import annotations

from hunmin.sample.lexicon.topic import words

SURNAMES = words("김 이 박 최 정 강 조 윤 장 임 한 오 서 신 권 황 안 송 류 홍 고 문 손 배 백 허 남 심 노 하")
GIVEN_NAMES = words("""
    가온 가람 건우 경민 규리 규현 근우 나라 나윤 나은 다온 다인 다현 도담 도윤 도현 동건 동하 라온 라희 미나 미르
    민규 민서 민찬 보람 보민 상우 상민 새롬 서우 서린 서현 선우 선호 성빈 성찬 세린 세연 소담 소율 솔지 수린 수현
    슬기 승아 승현 시온 시우 아라 아린 아영 여울 연두 연수 영빈 영서 예나 예린 온유 우진 우람 유나 유찬 윤서 윤호
    은별 은우 은채 이든 이안 인우 인호 재민 재윤 정안 정훈 주안 주영 주원 준서 준휘 지안 지율 지환 진서 진우 찬미
    찬희 채원 채율 태린 태오 태훈 하람 하린 하율 한결 한별 해나 해린 해솔 현서 현우 혜림 혜원 효린 효빈 희수 희원
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
