"""Invented values: numbers that were never given out where such ranges exist, else random ones; names of nothing."""

from __future__ import annotations

import random
from datetime import date, timedelta


def words(text: str) -> tuple[str, ...]:
    """Return what stands between bars."""
    return tuple(text.split("|"))


NAMES = words(
    "김가람|이새봄|박한결|최나래|정다솜|강미르|조은솔|윤슬아|임가온|한라온|오누리|서보름|신해솔|"
    "권아라|황이든|송마루|안다온|홍길동|김철수|이영희|성춘향|남궁솔|선우빛|전하늘|고운비|문새나|"
    "배한솔|백가을|유단비|차오름"
)
COMPANIES = words(
    "새솔전자|가온물산|누리상회|마루식당|한빛건설|다온테크|미르상사|해솔약국|나래공방|라온유통|늘봄의원|별하서점"
)
SYLLABLES = words("ga|na|da|ra|ma|ba|sa|ja|ha|gu|nu|du|mo|bo|so|jo|ho|mi|ri|bi|si|gi|neul|byeol|sol|maru|dam|saem")
WORDS = words(
    "구름|햇살|새솔|푸른|은하|달빛|솔바람|이슬|물결|노을|샛별|한울|가온|도담|아람|별내음|미리내|꽃내음|다솜|라온"
)
ROADS = words(
    "구름|햇살|새솔|푸른숲|은하|달빛|솔바람|이슬|물결|노을|샛별|한울|가온|도담|아람|미리내|꽃내음|다솜|라온|너울"
)
TOWNS = words("새솔|구름|푸른|은하|달빛|햇살|샛별|한울|가온|도담|아람|다솜|라온|노을|너울")


def digits(rng: random.Random, count: int) -> str:
    return "".join(rng.choice("0123456789") for _ in range(count))


def nonzero(rng: random.Random, count: int) -> str:
    return rng.choice("123456789") + digits(rng, count - 1)


def weighted(number: str, weights: str) -> int:
    return sum(int(a) * int(b) for a, b in zip(number, weights, strict=False))


def birth(rng: random.Random) -> date:
    return date(1940, 1, 1) + timedelta(days=rng.randrange(365 * 75))


def resident(rng: random.Random) -> list[str]:
    """Return the halves of a resident registration number, with a region (97 to 99) that was never given out."""
    day = birth(rng)
    body = (
        f"{day:%y%m%d}{rng.choice('12') if day.year < 2000 else rng.choice('34')}9{rng.choice('789')}{digits(rng, 3)}"
    )
    return [body[:6], body[6:] + str((11 - weighted(body, "234567892345") % 11) % 10)]


def foreigner(rng: random.Random) -> list[str]:
    """Return the halves of a foreign registration number whose check digit fits."""
    day = birth(rng)
    body = f"{day:%y%m%d}{rng.choice('56') if day.year < 2000 else rng.choice('78')}{digits(rng, 5)}"
    return [body[:6], body[6:] + str((13 - weighted(body, "234567892345") % 11) % 10)]


def business(rng: random.Random) -> list[str]:
    """Return the three groups of a business registration number whose check digit fits."""
    body = str(rng.randint(101, 999)) + rng.choice(words("01|02|81|82|86|87|88|12|15")) + digits(rng, 4)
    check = (10 - (weighted(body, "137137135") + int(body[8]) * 5 // 10) % 10) % 10
    return [body[:3], body[3:5], body[5:] + str(check)]


def luhn(number: str) -> str:
    """Return a card's number with its check digit."""
    doubled = (int(d) * (2 if place % 2 == 0 else 1) for place, d in enumerate(reversed(number)))
    return number + str(-sum(d - 9 if d > 9 else d for d in doubled) % 10)


def card(rng: random.Random) -> list[str]:
    """Return the four groups of a card's number that passes the Luhn check."""
    number = luhn(rng.choice(words("4|51|52|53|54|55|9|35|62")) + digits(rng, 14))[:16]
    number = luhn(number[:15])
    return [number[at : at + 4] for at in range(0, 16, 4)]


def amex(rng: random.Random) -> list[str]:
    """Return the three groups of an American Express number."""
    number = luhn(rng.choice(("34", "37")) + digits(rng, 12))
    return [number[:4], number[4:10], number[10:]]


def mobile(rng: random.Random) -> list[str]:
    """Return the three groups of a mobile number; exchanges that begin with 0 or 1 are never given out."""
    return ["010", rng.choice("01") + digits(rng, 3), digits(rng, 4)]


def old_mobile(rng: random.Random) -> list[str]:
    """Return the three groups of a number of the time before 010."""
    return [rng.choice(words("011|016|017|018|019")), rng.choice("01") + digits(rng, 2), digits(rng, 4)]


AREAS = words("02|02|031|032|033|041|042|043|044|051|052|053|054|055|061|062|063|064")


def landline(rng: random.Random) -> list[str]:
    return [rng.choice(AREAS), rng.choice("01") + digits(rng, rng.choice((2, 2, 3))), digits(rng, 4)]


def special(rng: random.Random) -> list[str]:
    """Return the three groups of an internet (070) or free (080) number."""
    area = rng.choice(("070", "070", "080"))
    return [area, rng.choice("01") + digits(rng, 2 if area == "080" else 3), digits(rng, 4)]


def personal(rng: random.Random) -> list[str]:
    """Return the three groups of a number that stands for another one."""
    return [rng.choice(("0502", "0504", "0505", "0507")), rng.choice("01") + digits(rng, 3), digits(rng, 4)]


HOTLINES = words("1544|1566|1577|1588|1599|1600|1644|1660|1661|1666|1670|1688|1800|1811|1833|1855|1877|1899")


def hotline(rng: random.Random) -> list[str]:
    """Return the two groups of a hotline; 1577-1808 by itself could be years, also for a reader."""
    first, last = rng.choice(HOTLINES), digits(rng, 4)
    return [first, f"{rng.choice('03456789')}{last[1:]}" if last[0] in "12" else last]


def licence(rng: random.Random) -> list[str]:
    region = rng.choice([*map(str, range(11, 27)), "28"])
    return [region, f"{rng.choice([*range(80, 100), *range(25)]):02d}", digits(rng, 6), digits(rng, 2)]


BANKS = (
    (("국민은행", "국민", "KB국민은행", "KB"), (6, 2, 6)),
    (("신한은행", "신한"), (3, 3, 6)),
    (("우리은행", "우리"), (4, 3, 6)),
    (("농협", "농협은행", "NH농협"), (3, 4, 4, 2)),
    (("하나은행", "KEB하나은행", "하나"), (3, 6, 5)),
    (("기업은행", "IBK기업은행", "기업"), (3, 6, 2, 3)),
    (("카카오뱅크", "카뱅"), (4, 2, 7)),
    (("새마을금고", "MG새마을금고"), (4, 4, 4, 1)),
    (("우체국",), (6, 2, 6)),
    (("SC제일은행", "제일은행"), (3, 2, 6)),
    (("토스뱅크", "토스"), (4, 4, 4)),
    (("케이뱅크",), (3, 3, 6)),
    (("부산은행", "대구은행", "광주은행", "전북은행"), (3, 4, 4, 2)),
    (("신협",), (5, 2, 6)),
    (("수협",), (3, 4, 4, 1)),
)


def account(rng: random.Random) -> tuple[str, list[str]]:
    """Return a bank's name and the groups of an account as that bank writes them."""
    names, sizes = rng.choice(BANKS)
    return rng.choice(names), [nonzero(rng, sizes[0]), *(digits(rng, size) for size in sizes[1:])]


USES = "가나다라마거너더러머버서어저고노로모보소오구누두루무부수우주"
COUNTING = "도조"
"""Usage letters that are counting words, too, where a blank follows."""
TAXIS = "바사아자배"
RENTED = "하허호"


def word(rng: random.Random, low: int = 2, high: int = 3) -> str:
    return "".join(rng.choice(SYLLABLES) for _ in range(rng.randint(low, high)))
