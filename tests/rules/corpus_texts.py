"""Invented texts that hit every rule of the corpus stage: cleaning, personal data, duplicates, the benchmark."""

from __future__ import annotations

from itertools import product

_FIRST, _SECOND = "가나다라마바사아자차카타파하", "람솔빛결울터목실들길샘"
_ENDINGS = ("보았다.", "적었다.", "들었다.", "걸었다.", "세웠다.")
_WORDS = [first + second for first, second in product(_FIRST, _SECOND)]


def words(number: int, begin: int = 0) -> list[str]:
    """Return invented words of three syllables, no two alike."""
    every = [word + last for last in _SECOND for word in _WORDS]
    return every[begin : begin + number]


def sentences(number: int, seed: int, size: int = 6) -> list[str]:
    """Return invented sentences of `size` words that no other seed gives."""
    lines = []
    for n in range(number):
        first = [_WORDS[(seed * 29 + n * 7 + step * 13) % len(_WORDS)] for step in range(size - 2)]
        lines.append(f"{_WORDS[(seed * 31 + n) % len(_WORDS)]}에서 {' '.join(first)} {_ENDINGS[(seed + n) % 5]}")
    return lines


CLEANING = [
    "\u1100\u1161\u11a8 마을의 옛 이름을 오래된 책에서 보았다.",
    "보이지 않는\u200b 글자가 섞인\ufeff 글을 받아 적었다.\r\n다음 줄도 적었다.",
    "사유 영역의 \ue001 글자를 지우고 남은 글을 읽었다.",
    "<html><body><p>굵은 <b>글씨</b>로 쓴 &lt;글&gt;이다.</p><script>var a = 1;</script>"
    "<p>다음 문단이다.</p></body></html>",
    "강가를 걸었다. #산책 #강 #저녁",
    "훈민정음()은 글자를 만든 까닭을 적은 책이다.",
    "빈칸이   여러 번 나오고\u3000넓은 칸도 있는 글이다.\n\n\n줄도 여러 번 바꾸었다.",
    "\n".join(
        [*(["이 줄은 양식마다 되풀이되는 긴 안내문이라서 열두 번까지만 남겨 두는 줄이다."] * 15), "끝난 글이다."]
    ),
    "아주 긴 낱말이 있다. " + "가나다라" * 40 + "이다.\n짧은 글도 있다.",
    "漢字漢字漢字漢字漢字漢字漢字가 많은 문장이다.\n그 다음 문장은 남는다.",
    "This line has no letters of the language at all.\n이 줄은 남는 문장이다.",
    "응.\n이 줄은 남는 문장이다.",
    "Nothing of this document is written in the language.",
]
NEWS = [
    "[서울=한글뉴스] 홍길동 기자 = 강가에 새 다리가 놓였다.\n▲ 새로 놓인 다리 (사진=한글뉴스)\n다리는 내일 열린다.\n"
    "출처: 한글군청\n[한글일보]\n홍길동 기자 hong@example.org\nⓒ 한글뉴스 무단 전재 및 재배포 금지",
]
OLD_HANGUL = ["옛글에는 \ue1a7\ue302 같은 글자가 있다."]

PERSONAL = {
    "URL": ["자료는 https://www.example.com/a/b.html를 보라.", "홈페이지 www.example.co.kr로 오세요."],
    "EMAIL": ["문의는 hong.gd@example.com으로 보내면 된다.", "메일:x1@example.io←여기로 보냈다."],
    "MAC": ["장비 00:00:5e:00:53:0a가 켜져 있다.", "주소는 0000.5e00.5301이다."],
    "IP": ["서버는 192.0.2.15이다.", "주소 2001:db8:85a3::8a2e:370:7334를 막았다."],
    "CARD": ["결제는 4111-1111-1111-1111로 했다.", "카드 4012888888881881을 적었다."],
    "RRN": ["주민번호 900101-1234567입니다.", "주민등록번호 9001011234567을 적었다."],
    "FRN": ["외국인등록번호 000101-5000011를 적었다.", "번호는 911124-8678906이다."],
    "DRIVER_LICENSE": ["면허 11-17-174133-01을 보였다.", "면허번호 대구 99-123456-01이다."],
    "BRN": ["사업자번호 123-45-67890이다.", "사업자등록번호 1234567891을 적었다."],
    "TEL": ["연락처는 010-1234-5678입니다.", "고객센터 1588-1234로 걸었다.", "전화(02-123-4567)로 물었다."],
    "BANK_ACCOUNT": ["신한은행 110-245-124678로 보냈다.", "계좌번호: 1000-1234-5678을 적었다."],
    "PASSPORT": ["여권 TS1234567을 보였다.", "여권 번호 m123a4567을 적었다."],
    "HEALTH_INSURANCE": ["건강보험증 31234567890을 적었다.", "번호는 1-2345678901이다."],
    "VEHICLE_PLATE": ["차량 12가 3456을 세웠다.", "번호는 서울 12가 3456이다."],
    "MENTION": ["@hong_gd님이 글을 올렸다.", "인스타 @account_month 팔로우를 했다."],
    "ADDRESS": ["서울특별시 중구 세종대로 110에서 만났다.", "서울시 강남구 역삼동 123-4번지에 갔다."],
    "NAME": ["성명: 홍길동, 나이: 서른", "김철수 씨가 강가에 왔다."],
    "NICKNAME": ["닉네임: 별빛나그네", "닉네임 : 달빛고양이"],
    "obfuscated": [
        "공일공 일이삼사 오육칠팔로 전화했다.",
        "０１０－１２３４－５６７８로 보냈다.",
        "010-12\n34-5678로 적었다.",
    ],
}
"""Type → texts with such data; what is replaced tells the type."""

PREMISE = "마을 사람들은 봄마다 냇가에 모여 돌다리를 새로 놓았다."
BENCHMARK = [
    {"guid": "ynat-1", "title": "마을 돌다리 백 년 만에 새로 놓여", "label": "사회"},
    {"guid": "klue-nli-1", "premise": PREMISE, "hypothesis": "돌다리는 가을에 놓였다."},
    {
        "guid": "klue-sts-1",
        "sentence1": "도서관은 아홉 시에 문을 연다고 한다.",
        "sentence2": "Mapo 나루에서 KTX를 타고 온 손님이 많았다.",
    },
    {"guid": "klue-re-1", "sentence": "하람은 나루 마을에서 태어난 화가로 널리 알려졌다.", "subject_entity": {}},
    {"guid": "klue-ner-1", "sentence": "<나루:LC>에서 온 <하람:PS>이 배를 저어 건너편 마을로 갔다.", "ner_tags": []},
    {"guid": "klue-dp-1", "sentence": "바람이 불자 나뭇잎이 물 위로 소리 없이 떨어졌다.", "head": [], "deprel": []},
    {
        "guid": "klue-mrc-1",
        "question": "돌다리를 처음 놓은 사람은 누구의 손자였는가?",
        "context": "나루 마을의 돌다리는 오래전에 놓였다. 처음 다리를 놓은 사람은 뱃사공의 손자였던 석공으로, 열두 해 "
        "동안 강바닥에서 돌을 골라 날랐다고 전한다. 큰물이 질 때마다 다리는 조금씩 낮아졌다.",
    },
    {"guid": "wos-1", "dialogue": [{"role": "user", "text": "나루터 근처에서 창이 넓은 찻집을 찾고 있어요."}]},
    {
        "guid": "copa-1",
        "premise": "아이가 물가에서 미끄러졌다.",
        "alternative_1": "옷이 젖었다.",
        "alternative_2": "해가 졌다.",
    },
]
HIT = {
    "exact": PREMISE,
    "embedded": "어제 들은 말로는 도서관은 아홉 시에 문을 연다고 한다. 그래도 우리는 여덟 시부터 그 앞에서 "
    "기다렸다는데 도서관은 아홉 시에 문을 연다고 한다 하고 또 말했다.",
    "exact, of other case and marks": "mapo 나루에서 ktx를 타고 온 손님이 ‘많았다’!",
    "words": "하람은 나루 마을에서 태어난 화가로 아주 널리 알려졌다.",
    "bigrams": "바람이 불자 나뭇잎은 물위로 소리없이 떨어졌다.",
    "fragment": "뱃사공의 손자였던 석공으로, 열두 해 동안 강바닥에서 돌을 골라 날랐다고",
}
"""Rule of the search → a text in which it finds the benchmark."""
