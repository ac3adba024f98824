"""How writers write addresses of mail, pages and machines, and handles."""

from __future__ import annotations

import random
from collections.abc import Callable

from .marks import Kind, Page, Value
from .values import digits, word, words
from .writers import Form, joined, shape

HOSTS = words("naver.com|gmail.com|hanmail.net|daum.net|nate.com|kakao.com")
SPOKEN = {
    "naver.com": ("네이버", "컴"),
    "gmail.com": ("지메일", "컴"),
    "hanmail.net": ("한메일", "넷"),
    "daum.net": ("다음", "넷"),
    "nate.com": ("네이트", "컴"),
}
ENDINGS = words("com|co.kr|co.kr|kr|or.kr|go.kr|ac.kr|net|org")
NEW_ENDINGS = words("io|me|tv|app|ai|shop|dev|xyz|store|page")


def host(rng: random.Random) -> str:
    """Return an invented host, or one reserved for documentation."""
    if rng.random() < 0.15:
        return rng.choice(("example.com", "example.co.kr", "example.org", "news.example.kr"))
    return f"{word(rng, 3, 4)}.{rng.choice(ENDINGS)}"


def local(rng: random.Random) -> str:
    name = word(rng, 3, 4)
    return rng.choice(
        (name, name + digits(rng, 2), name + digits(rng, 4), f"{name}.{word(rng, 1, 2)}", f"{name}_{digits(rng, 3)}")
    )


def mail(rng: random.Random) -> tuple[str, str]:
    return local(rng), rng.choice(HOSTS) if rng.random() < 0.5 else host(rng)


def mails(*templates: str) -> Callable[[Page, Kind], Value]:
    """Return a writer of mail addresses: {0} is the name, {1} the host, {2} and {3} the host's first part and rest."""

    def write(page: Page, kind: Kind) -> Value:
        name, at = mail(page.rng)
        first, rest = at.split(".", 1)
        return page.mark(kind, page.rng.choice(templates).format(name, at, first, rest))

    return write


def changed(change: Callable[[str, random.Random], str]) -> Callable[[Page, Kind], Value]:
    """Return a writer of mail addresses changed as a whole."""
    return lambda page, kind: page.mark(kind, change("@".join(mail(page.rng)), page.rng))


def full(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


def spoken_mail(page: Page, kind: Kind) -> Value:
    """Write a mail address as one says it."""
    at = page.rng.choice(sorted(SPOKEN))
    name, ending = SPOKEN[at]
    sign = page.rng.choice((" 골뱅이 ", "골뱅이", "(골뱅이)", " 앳 "))
    dot = page.rng.choice((" 닷 ", "닷", " 점 "))
    tail = page.rng.choice((f"{name}{dot}{ending}", f"{name}{dot}{ending}", at))
    return page.mark(kind, f"{local(page.rng)}{sign}{tail}")


MAIL = [
    shape("EMAIL", "usual", mails("{0}@{1}")),
    shape("EMAIL", "company", lambda page, kind: page.mark(kind, f"{word(page.rng)}@{host(page.rng)}")),
    shape("EMAIL", "subdomain", lambda page, kind: page.mark(kind, f"{word(page.rng)}@mail.{host(page.rng)}")),
    shape("EMAIL", "plus", lambda page, kind: page.mark(kind, f"{word(page.rng)}+{word(page.rng)}@{host(page.rng)}")),
    shape(
        "EMAIL", "hyphens", lambda page, kind: page.mark(kind, f"{word(page.rng)}-{word(page.rng)}@{host(page.rng)}")
    ),
    shape("EMAIL", "capitals", changed(lambda text, rng: rng.choice((text.upper(), text.capitalize())))),
    shape("EMAIL", "full width", changed(lambda text, rng: full(text))),
    shape("EMAIL", "full-width sign", mails("{0}＠{1}")),
    shape("EMAIL", "blanks around sign", mails("{0} @ {1}", "{0}@ {1}", "{0} @{1}")),
    shape("EMAIL", "letter-spaced", changed(lambda text, rng: " ".join(text))),
    shape("EMAIL", "[at]", mails("{0}[at]{1}", "{0} [at] {1}", "{0}(at){1}", "{0} (at) {1}", "{0}[@]{1}", "{0}(@){1}")),
    shape("EMAIL", "[at] [dot]", mails("{0}[at]{2}[dot]{3}", "{0} at {2} dot {3}", "{0}(at){2}(dot){3}")),
    shape("EMAIL", "골뱅이", mails("{0}골뱅이{1}", "{0} 골뱅이 {1}", "{0}(골뱅이){1}", "{0}[골뱅이]{1}")),
    shape("EMAIL", "spoken", spoken_mail),
]


def page_path(rng: random.Random) -> str:
    return rng.choice(
        (
            f"/{word(rng)}",
            f"/{word(rng)}/{digits(rng, 4)}",
            f"/board/view.do?seq={digits(rng, 5)}",
            f"/news/articleView.html?idxno={digits(rng, 6)}",
            f"/{word(rng)}/{word(rng)}.html",
            f"/?p={digits(rng, 3)}",
            f"/{word(rng)}#{word(rng)}",
            f"/watch?v={word(rng)}{digits(rng, 3)}",
            f"/{word(rng)}?id={word(rng)}&page={digits(rng, 2)}",
        )
    )


def url(*templates: str) -> Callable[[Page, Kind], Value]:
    """Return a writer of pages' addresses: h host, p path, w word, n number, e newer ending."""

    def write(page: Page, kind: Kind) -> Value:
        text = page.rng.choice(templates).format(
            h=host(page.rng),
            p=page_path(page.rng),
            w=word(page.rng, 3, 4),
            n=digits(page.rng, 4),
            e=page.rng.choice(NEW_ENDINGS),
        )
        return page.mark(kind, text)

    return write


URLS = [
    shape("URL", "https", url("https://{h}{p}", "https://www.{h}{p}")),
    shape("URL", "http", url("http://{h}{p}", "http://www.{h}", "http://{h}/")),
    shape("URL", "https host only", url("https://{h}", "https://www.{h}")),
    shape("URL", "www", url("www.{h}", "www.{h}{p}")),
    shape("URL", "bare with path", url("{h}{p}", "blog.{h}/{w}", "m.{h}{p}")),
    shape("URL", "bare host", url("{w}.co.kr", "{w}.com", "{w}.or.kr", "blog.{w}.com", "{w}.kr")),
    shape("URL", "newer ending", url("{w}.{e}/{n}", "https://{w}.{e}", "{w}.{e}/@{w}/{n}")),
    shape("URL", "port", url("http://{h}:8080{p}", "https://{h}:8443", "{h}:8080{p}")),
    shape("URL", "capitals", url("HTTP://WWW.{w}.CO.KR", "Www.{w}.co.kr", "HTTPS://{w}.COM/{n}", "WWW.{w}.COM")),
    shape(
        "URL", "percent", url("https://{h}/wiki/%EA%B5%AC%EB%A6%84", "https://{h}/search?q=%EC%83%88%EC%86%94&p={n}")
    ),
    shape("URL", "user", url("https://www.{h}/@{w}", "https://{h}/~{w}/")),
    shape("URL", "other scheme", url("ftp://{h}/{w}.zip", "ftp://ftp.{h}/{w}/")),
    shape("URL", "defanged", url("hxxp://{h}{p}", "hxxps://{h}/{w}", "{w}[.]com", "https://{w}[.]co[.]kr/{n}")),
    shape("URL", "spoken", url("{w} 닷 co 닷 kr", "{w} 닷 컴", "{w} 점 co 점 kr", "{w}닷컴"), True),
    shape(
        "URL",
        "machine's address",
        lambda page, kind: page.mark(
            kind, f"http://{v4(page.rng)}{page.rng.choice(('', ':8080', ':3000'))}/{word(page.rng)}"
        ),
    ),
]


def v4(rng: random.Random) -> str:
    """Return an address of the documentation's or private ranges."""
    start = rng.choice(("192.0.2", "198.51.100", "203.0.113", "192.168.0", "192.168.35", "10.20.30", "172.16.8"))
    return f"{start}.{rng.randint(2, 250)}"


def v6(rng: random.Random) -> str:
    groups = [f"{rng.randrange(1, 65535):x}" for _ in range(6)]
    if rng.random() < 0.5:
        return "2001:db8:" + ":".join(groups)
    return f"2001:db8:{':'.join(groups[: rng.randint(1, 3)])}::{groups[-1]}"


def short_ip_range(page: Page, kind: Kind) -> Value:
    start = v4(page.rng).rsplit(".", 1)[0]
    low = page.rng.randint(2, 100)
    return page.mark(
        kind, f"{start}.{low}", after=f"{page.rng.choice(('~', '-', ' ~ '))}{page.rng.randint(low + 1, 250)}"
    )


IPS = [
    shape("IP", "v4", lambda page, kind: page.mark(kind, v4(page.rng))),
    shape("IP", "v4 full width", lambda page, kind: page.mark(kind, full(v4(page.rng)))),
    shape(
        "IP", "port", lambda page, kind: page.mark(kind, v4(page.rng), after=f":{page.rng.choice((80, 8080, 443, 22))}")
    ),
    shape("IP", "prefix", lambda page, kind: page.mark(kind, v4(page.rng), after=f"/{page.rng.randint(8, 30)}")),
    shape("IP", "short range", short_ip_range),
    shape("IP", "v6", lambda page, kind: page.mark(kind, v6(page.rng))),
    shape("IP", "v6 capitals", lambda page, kind: page.mark(kind, v6(page.rng).upper())),
    shape("IP", "v6 in brackets", lambda page, kind: Value(f"[{page.mark(kind, v6(page.rng))}]:443")),
    shape(
        "IP",
        "v6 local",
        lambda page, kind: page.mark(kind, f"fe80::{page.rng.randrange(1, 65535):x}:{digits(page.rng, 3)}a"),
    ),
    shape("IP", "v4 in v6", lambda page, kind: page.mark(kind, f"::ffff:{v4(page.rng)}")),
]


def mac(separator: str, capital: bool = False, size: int = 2) -> Callable[[Page, Kind], Value]:
    """Return a writer of hardware addresses that are locally administered."""

    def write(page: Page, kind: Kind) -> Value:
        number = "02" + "".join(page.rng.choice("0123456789abcdef") for _ in range(10))
        text = joined(separator)([number[at : at + size] for at in range(0, 12, size)], page.rng)
        return page.mark(kind, text.upper() if capital else text)

    return write


MACS = [
    shape("MAC", "colon", mac(":")),
    shape("MAC", "colon capitals", mac(":", True)),
    shape("MAC", "hyphen", mac("-")),
    shape("MAC", "hyphen capitals", mac("-", True)),
    shape("MAC", "dots", mac(".", False, 4)),
    shape("MAC", "dots capitals", mac(".", True, 4)),
    shape(
        "MAC",
        "full width",
        lambda page, kind: page.mark(
            kind, full(":".join(f"{n:02X}" for n in (2, *(page.rng.randrange(256) for _ in range(5)))))
        ),
    ),
]


def handle(*templates: str) -> Callable[[Page, Kind], Value]:
    """Return a writer of handles: w and v words, n number."""
    return lambda page, kind: page.mark(
        kind,
        page.rng.choice(templates).format(w=word(page.rng, 3, 4), v=word(page.rng, 1, 2), n=digits(page.rng, 2)),
    )


MENTIONS = [
    shape("MENTION", "letters", handle("@{w}")),
    shape("MENTION", "digits", handle("@{w}{n}", "@{w}_{n}")),
    shape("MENTION", "underscores", handle("@{w}_{v}", "@_{w}_", "@{w}__{v}")),
    shape("MENTION", "dots", handle("@{w}.{v}", "@{v}.{w}_{n}")),
    shape("MENTION", "full-width sign", handle("＠{w}", "＠{w}{n}")),
    shape(
        "MENTION",
        "capitals",
        lambda page, kind: page.mark(kind, f"@{word(page.rng).capitalize()}{word(page.rng).upper()}"),
    ),
]
HOST_FORMS: list[Form] = [*MAIL, *URLS, *IPS, *MACS, *MENTIONS]
