"""Noise that cleaning is to remove: markup, tags, invisible characters, blanks, empty brackets, news furniture."""

from __future__ import annotations

import random

from hunmin.sample.lexicon.topic import words
from hunmin.sample.scene import invent_name

_PRESSES = words("새봄뉴스 한누리신문 가람일보 별빛통신 나루경제")
# Nonsense strings of Han and kana: a line with more than ten of them is not Korean text.
_HAN = "山川草木日月星辰風雲雨雪春夏秋冬東西南北"
_KANA = "あいうえおかきくけこさしすせそ"
_TAGS = words("일상 소통 맞팔 주말 기록 산책 추천 정보 오늘 후기")

WEB_KINDS = ("html", "hashtag", "invisible", "blanks", "brackets", "foreign")
NEWS_KINDS = ("reporter", "press", "image", "copyright", "blanks", "brackets", "html")


def add_noise(rng: random.Random, sentences: list[str], kind: str) -> list[str]:
    """Return the sentences with one kind of noise added to or between them.

    Args:
        kind: one of WEB_KINDS or NEWS_KINDS.

    Raises:
        ValueError: the kind is unknown.
    """
    noisy = list(sentences)
    place = rng.randrange(len(noisy))
    words = noisy[place].split(" ")
    gap = rng.randrange(1, len(words)) if len(words) > 1 else 1
    match kind:
        case "html":
            tag = rng.choice(("b", "p", "span", "strong", "em"))
            noisy[place] = rng.choice(
                (f"<{tag}>{noisy[place]}</{tag}>", f"{noisy[place]}<br/>", f"&nbsp;{noisy[place]}")
            )
        case "hashtag":
            noisy.append(" ".join(f"#{tag}" for tag in rng.sample(_TAGS, 3)))
        case "invisible":
            mark = rng.choice("\u200b\ufeff")
            noisy[place] = " ".join(words[:gap]) + mark + " " + " ".join(words[gap:])
        case "blanks":
            noisy[place] = " ".join(words[:gap]) + " " * rng.randint(2, 6) + " ".join(words[gap:])
        case "brackets":
            noisy[place] = " ".join([*words[:gap], rng.choice(("()", "[]", "( )", "[ ]")), *words[gap:]])
        case "foreign":
            noisy.insert(
                place, "".join(rng.choice(rng.choice((_HAN, _KANA))) for _ in range(rng.randint(14, 22))) + "."
            )
        case "reporter":
            noisy.append(f"{invent_name(rng)} 기자")
        case "press":
            head = f"({rng.choice(('서울', '부산', '대전', '광주'))}={rng.choice(_PRESSES)}) {invent_name(rng)} 기자 = "
            noisy[1 if len(noisy) > 1 else 0] = head + noisy[1 if len(noisy) > 1 else 0]
        case "image":
            noisy.insert(place + 1, f"[사진={rng.choice(_PRESSES)} 제공]")
        case "copyright":
            noisy.append(f"ⓒ {rng.choice(_PRESSES)}, 무단 전재 및 재배포 금지")
        case _:
            raise ValueError(f"unknown kind of noise: {kind!r}")
    return noisy
