"""URL, MAC address and IP address."""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_address, ip_network

from data.pii.types.base import BEFORE, BESIDE, RIGHT_BEFORE, Draw, Extent, PiiType, labelled
from data.pii.url import url_end

RESERVED_DOMAINS = ("example.com", "example.org", "example.net")
TLD_BARE = "(?:com|org|kr|co\\.kr|or\\.kr|go\\.kr|ac\\.kr|ne\\.kr|pe\\.kr|re\\.kr)"
TLD_PATH = (
    "(?:com|net|org|kr|io|me|info|biz|tv|gg|ly|gl|be|us|jp|cn|eu|de|uk|app|dev|co|example|shop|site|xyz"
    "|gle|design|blog|store|tech|online|page|link|cloud|ai|fm|wiki|live|studio|world"
    "|to|la|gd|cc|im|ac|edu|gov|pro|top|vip|club|news|team|space|asia|ca|fr|au|nl|tw|hk|sg|vn)"
)
TLD_LOUD = "(?:COM|ORG|(?:(?:CO|OR|GO|AC|NE|PE|RE)\\.)?KR)"
_SHORTENER = "(?:me2\\.do|notion\\.so|telegra\\.ph)"
"""Sites whose end is that of many file names."""
_HOSTING = (
    "(?:github\\.io|imweb\\.me|modoo\\.at|notion\\.site"
    "|vercel\\.app|netlify\\.app|pages\\.dev|web\\.app|creatorlink\\.net)"
)
"""Where sites are hosted, under ends that need a path elsewhere."""
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9])?"
_KOREAN_LABEL = "[A-Za-z0-9가-힣](?:[A-Za-z0-9가-힣-]{0,30}[A-Za-z0-9가-힣])?"
_USER = r"(?:[A-Za-z0-9가-힣._~%!$&'*+,;=-]{1,64}(?::[^\s@/\"'<>]{0,64})?@)?"
_URL = (
    rf"(?<![A-Za-z0-9])(?P<scheme>(?i:https?|ftps?)://){_USER}"
    rf"(?:(?P<korean>(?:{_KOREAN_LABEL}\.){{1,6}}(?:한국|닷컴|닷넷))"
    rf"|(?P<mixed>(?:[A-Za-z0-9-]{{1,40}}\.){{0,3}}(?=[A-Za-z0-9-]{{0,30}}[가-힣]){_KOREAN_LABEL}"
    rf"\.(?:{TLD_BARE}|net)(?![A-Za-z0-9-]))"
    rf"|(?P<host>(?:{_LABEL}\.){{0,10}}{_LABEL}|\[[0-9A-Fa-f:.]{{2,45}}\]))"
    rf"|(?<![A-Za-z0-9])(?P<escaped>(?i:https?):\\/\\/[A-Za-z0-9](?:[A-Za-z0-9._~:?#@!$&()*+,;=%-]|\\/){{2,500}})"
    rf"|(?<![A-Za-z0-9@._/\\-])(?i:www)\.(?:{_KOREAN_LABEL}\.){{1,5}}(?:한국|닷컴|닷넷"
    rf"|(?:{TLD_BARE}|net)(?![A-Za-z0-9-]|\.[A-Za-z0-9]))"
    rf"|(?<![A-Za-z0-9@._/\\-])(?P<www>(?i:www)\.(?:{_LABEL}\.){{1,10}}[A-Za-z]{{2,18}})(?![A-Za-z0-9-])"
    rf"|(?:(?<![A-Za-z0-9@＠%._/\\$:-])|(?<=[가-힣]:))(?:(?P<site>(?:[a-z0-9](?:[a-z0-9-]{{0,61}}[a-z0-9])?\.){{1,5}}"
    rf"(?:{TLD_BARE}(?![A-Za-z0-9_(@-]|\.[A-Za-z0-9])|{TLD_PATH}(?=(?::[0-9]{{2,5}})?/[A-Za-z0-9~@_?-]))|{_SHORTENER}(?=/[A-Za-z0-9])"
    rf"|(?:[a-z0-9][a-z0-9-]{{0,61}}\.){{1,3}}{_HOSTING}(?![A-Za-z0-9_(@-]|\.[A-Za-z0-9]))"
    rf"|(?P<loud>(?:[A-Z0-9](?:[A-Z0-9-]{{0,61}}[A-Z0-9])?\.){{1,5}}"
    rf"{TLD_LOUD}(?![A-Za-z0-9_(@-]|\.[A-Za-z0-9]))"
    rf"|(?P<capital>[A-Z][a-z0-9-]{{0,61}}[a-z0-9]\.(?:[A-Z]?[a-z0-9-]{{1,61}}\.){{0,3}}{TLD_BARE}(?![A-Za-z0-9_(@-]|\.[A-Za-z0-9])))"
)
_URL_GATE = (
    rf"(?i:(?:http|ftp)s?:(?://|\\/\\/)|www\.[a-z0-9가-힣])|[a-z0-9]\.(?:{TLD_BARE}|{TLD_PATH}(?::[0-9]{{2,5}})?/)"
    rf"|{_SHORTENER}/|\.{_HOSTING}|[A-Z0-9]\.{TLD_LOUD}"
)
_MAC = (
    r"(?:(?<![0-9A-Za-z_])(?<![0-9A-Fa-f]:)(?<![0-9A-Za-z][.-])|(?<=[^0-9A-Za-z_]__)|(?<=\A__)"
    r"|(?<=(?i:mac|sid):)(?=[0-9A-Fa-f]{2}[:-]|[0-9A-Fa-f]{4}\.))"
    r"(?:[0-9A-Fa-f]{2}(?P<sep>[:\-–—−])(?:[0-9A-Fa-f]{2}(?P=sep)){4}[0-9A-Fa-f]{2}"
    r"|(?<!\.)(?=[0-9.]{0,15}[A-Fa-f])(?:[0-9A-Fa-f]{2}\.){5}[0-9A-Fa-f]{2}|[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4})(?![0-9A-Za-z]|_(?!_(?![0-9A-Za-z_])))(?![:.-][0-9A-Za-z])"
    r"|(?:맥|물리적? ?주소|하드웨어 ?주소|(?<![A-Za-z])(?:(?:MAC|mac|Mac|BSSID|bssid)(?:[ _-]?(?i:addr(?:ess)?))?"
    r"|(?i:ethernet|hw|hardware|physical)[ _-]?(?i:addr(?:ess)?)))"
    r"[^\n0-9A-Fa-f]{0,12}"
    r"(?<![0-9A-Za-z])(?P<told>[0-9A-Fa-f]{2}(?P<odd>[ .]?)(?:[0-9A-Fa-f]{2}(?P=odd)){4}[0-9A-Fa-f]{2}"
    r"|(?:[0-9A-Fa-f]{4}-){2}[0-9A-Fa-f]{4}|[0-9A-Fa-f]{6}[:-][0-9A-Fa-f]{6})"
    r"(?![0-9A-Za-z_])(?![.-][0-9A-Za-z])"
)
OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IP = (
    rf"(?:(?<![0-9A-Za-z_:.])|(?<=[가-힣P]:))(?P<mapped>::(?:ffff:|FFFF:)?{OCTET}(?:\.{OCTET}){{3}})(?![0-9A-Za-z_])(?![.-][0-9A-Za-z])"
    rf"|(?<![0-9A-Za-z_])(?<![0-9A-Za-z]\.)(?<![A-Za-z]-)(?:(?<![0-9],)|(?<=[0-9],)(?=[0-9.]{{7,15}}(?:/[0-9]{{1,2}}|:[0-9]{{2,5}})?,|192\.168\.|10\.)"
    rf"|(?<=\.[0-9],)|(?<=\.[0-9][0-9],)|(?<=\.[0-9][0-9][0-9],))"
    rf"(?P<v4>{OCTET}(?:\.{OCTET}){{3}})(?![0-9A-Za-z_]|\.[0-9A-Za-z])(?!-(?!{OCTET}(?![0-9A-Za-z-]))[0-9A-Za-z])"
    r"|(?:(?<![0-9A-Za-z_:.])|(?<=IP:)|(?<=[vV]6:)|(?<=[가-힣]:))(?P<v6>(?=[0-9A-Fa-f]{4}:[0-9A-Fa-f]{0,4}:)[0-9A-Fa-f]{4}:[0-9A-Fa-f:]{1,34}(?<!:)|[0-9A-Fa-f]{4}:[0-9A-Fa-f:]{0,30}::)(?![0-9A-Za-z_:])"
)
IP_LABEL = re.compile(
    r"아이피|주소|서버|호스트|게이트웨이|라우터|공유기|방화벽|접속|로그인|대역|핑|서브넷|네트워크"
    r"|(?<![a-z])(?:ip|ipv4|dns|address|server|host|rhost|client|src|dst|remote|addr|inet|gateway|router|ping|subnet|network)(?![a-z])",
    re.IGNORECASE,
)
_MAC_LABEL = re.compile(
    r"맥\s?(?:주소|어드레스)|하드웨어|이더넷|물리적|(?<![a-z])(?:mac|bssid|ethernet|hw ?addr|arp|wlan[0-9])",
    re.IGNORECASE,
)
_HASH = re.compile(
    r"(?:커밋|해시|지문|서명|체크섬|인증서|(?<![a-z])(?:commit|hash|fingerprint|sha[0-9]{0,3}|md5|checksum|thumbprint))[^0-9가-힣]{0,6}$",
    re.IGNORECASE,
)
_PORT = re.compile(" port [0-9]")
_VERSION = re.compile(
    r"(?:버전|판올림|빌드|릴리[스즈]|업데이트|패치|펌웨어|부트로더|엔진|커널|드라이버|패키지|어셈블리|version|(?<![a-z])(?:ver|v(?![a-z])|release|build|sdk|update|package"
    r"|firmware|runtime|assembly|nuget|section)|섹션)"
    r"(?:[^0-9가-힣\n]{0,6}|[0-9.() ]{0,8})(?:은|는|이|가|을|를)?\s?$",
    re.IGNORECASE,
)
_VERSION_AFTER = re.compile(r"\s?(?:버전|빌드|이상|이하|미만|이전|이후|부터|릴리[스즈]|업데이트|장\s|절|항|조\s)")
"""What follows a version or a section number."""
_AFTER_NUMBER = re.compile("[0-9]-")
_BEFORE_NUMBER = re.compile("-[0-9A-Za-z]")
_RANGE_BEFORE = re.compile(rf"(?<![0-9.]){OCTET}(?:\.{OCTET}){{3}}-\Z")
_RANGE_AFTER = re.compile(rf"-(?:(?P<whole>{OCTET}(?:\.{OCTET}){{3}})|{OCTET}(?!-))(?![0-9A-Za-z]|\.[0-9A-Za-z])")
"""A range of addresses: 10.0.0.1-10.0.0.9, and beside a word for them 10.0.0.1-9."""
_NETWORK = re.compile("/[0-9]{1,2}(?![0-9])")
_PACKAGE_PATH = re.compile("[A-Za-z][0-9]{0,3}/$")
_GLOBAL_V6 = [ip_network(net) for net in ("2000::/3", "fc00::/7", "fe80::/10", "ff00::/8")]
_DOCUMENTATION_V4 = [int(ip_network(net)[0]) for net in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")]
_DOCUMENTATION_V6 = int(IPv6Address("2001:db8::"))
_URL_PARTS = re.compile(
    r"(?P<scheme>[a-z]+://)?(?P<www>www\.)?(?P<host>[^/?#]*?)(?P<port>:[0-9]{1,5})?(?P<path>(?:[/?#].*)?)",
    re.I | re.DOTALL,
)
_HEX = re.compile("[0-9A-Fa-f]")


MASKED_HOST = re.compile(r"(?:.*[.@])?(?:[xX]{3,}|0{3,})(?:[.@].*)?")
"""Signs in place of a name: xxx.co.kr, abc@xxx.com."""
_SITE = re.compile("홈페이지|홈피|사이트|누리집|주소|도메인|접속|방문|링크|웹|(?i:url|site|visit|http)")
_COMPANY = re.compile(
    r",? ?(?:Inc|Corp|Co\.|Ltd|LLC|PLC|GmbH)(?![a-z])"
    r"| ?(?:주식회사|㈜|\(주\)|유한회사)| (?:주가|실적|창업|그룹|코리아|방송|대표|관계자|측)"
)
_COMPANY_BEFORE = re.compile(r"(?:주식회사|㈜|\(주\)|유한회사|기업|업체|회사) ?\Z")
_SUBJECT = re.compile("[은는이가의](?![가-힣])")
_PROGRAMS = re.compile("(?:COMMAND|FORMAT|MODE|MORE|EDIT|TREE|CHCP|DISKCOPY|DEVENV)[.]COM", re.I)


def url(text: str, match: re.Match[str]) -> Extent | None:
    """Accept a URL up to its end (see url.py); localhost belongs to no person, a shop called 예스24.com no address.

    JSON may write a slash as \\/.
    """
    host = match["host"]
    if host is not None and host.lower() in ("localhost", "127.0.0.1", "0.0.0.0", "[::1]"):
        return None
    start = match.start()
    if value := match["escaped"]:
        return start, start + len(value.rstrip(".,:;!?" if "(" in value else ".,:;!?)"))
    bare = match["site"] or match["loud"] or match["capital"]
    if MASKED_HOST.fullmatch(bare or match["www"] or host or ""):
        return None
    if bare and (_COMPANY.match(text, match.end()) or _COMPANY_BEFORE.search(text, max(0, start - 8), start)):
        return None
    if match["loud"] or match["capital"]:
        one_dot = bare.count(".") == 1  # the name of a firm
        named = one_dot and _SUBJECT.match(text, match.end()) and not labelled(_SITE, text, start, match.end())
        if named or _PROGRAMS.fullmatch(bare):
            return None
    if (match["site"] or match["loud"]) and text[start].isdigit() and "가" <= text[start - 1 : start] <= "힣":
        return None
    return start, url_end(text, match.end())


def mac(text: str, match: re.Match[str]) -> Extent | None:
    """Accept a hardware address; all-zero and broadcast belong to no person; digits alone need a label."""
    if match["told"]:
        return match.span("told")
    value = match[0].lower()
    if _HASH.search(text, max(0, match.start() - BESIDE), match.start()):
        return None
    if value.startswith("050") and value[4] == "." and value.replace(".", "").isdigit():
        return None  # a telephone number
    if set(value) <= set("0:-.") or set(value) <= set("f:-."):
        return None
    # 12:34:56:07:08:09 may be times, and numbers up to 45 are drawn in lotteries
    plain = not set(value) & set("abcdef") and not (value[0] == "0" and max(re.split("[:\\-–—−]", value)) >= "60")
    if plain and not value.startswith("00:") and not labelled(_MAC_LABEL, text, *match.span()):
        return None
    return match.span()


def versioned(text: str, start: int, end: int) -> bool:
    """Return whether the words around text[start:end] make it a version or a section number."""
    before = text[max(0, start - BEFORE) : start]
    return _VERSION.search(before) is not None or _VERSION_AFTER.match(text, end) is not None


def ip(text: str, match: re.Match[str]) -> Extent | None:
    """Accept an address; versions, also those by date, section numbers, netmasks and the own machine are none."""
    start, end = match.span()
    if match["mapped"] is not None:
        return start, end
    if match["v6"] is not None:
        try:
            six = IPv6Address(match["v6"])
        except AddressValueError:
            return None
        # A::B is C++ too: an address begins with an allocated prefix and has a digit
        known = any(six in net for net in _GLOBAL_V6) and any(c.isdigit() for c in match["v6"])
        return (start, end) if known else None
    four = IPv4Address(match["v4"])
    octets = [int(part) for part in match["v4"].split(".")]
    if octets[0] == 0 or four.is_loopback or octets[0] == 255:
        return None
    if _AFTER_NUMBER.match(text, start - 2) and not _RANGE_BEFORE.search(text, max(0, start - 17), start):
        return None
    if _BEFORE_NUMBER.match(text, end):
        range_ = _RANGE_AFTER.match(text, end)
        if range_ is None or not (range_["whole"] or four.is_private or labelled(IP_LABEL, text, start, end)):
            return None
    if versioned(text, start, end) or _PACKAGE_PATH.search(text, max(0, start - BEFORE), start):
        return None
    if _NETWORK.match(text, end):
        return start, end
    # without a word for it right beside it, 1.2.3.4 and 16.0.4.12 are sections and versions, and 2.0.158.0 is no host
    dated = octets[0] < 30 and 1 <= octets[1] <= 12 and 1 <= octets[2] <= 31 and octets[0] != 10
    if (max(octets) < 100 and not four.is_private) or dated:
        has_label = labelled(IP_LABEL, text, start, end, RIGHT_BEFORE) or _PORT.match(text, end)
        return (start, end) if has_label else None
    return (start, end) if octets[3] or labelled(IP_LABEL, text, start, end) else None


def _site(value: str) -> tuple[str, str, str, str, str]:
    """Return scheme, www., host without who logs in, port and path of a URL."""
    match = _URL_PARTS.fullmatch(value.replace("\\/", "/"))
    if match is None:
        raise ValueError("not a URL")
    scheme, www, host, port, path = (part or "" for part in match.groups())
    return scheme, www, host.rpartition("@")[2].lower().removeprefix("www."), port, path


def _plain_url(value: str) -> str:
    _, _, host, _, path = _site(value)
    return host + path.rstrip("/")


def _make_url(value: str, normal: str, draw: Draw) -> str:
    scheme, www, site, port, path = _site(value)
    # pages of one site stay pages of one site, whoever logs in
    host = Draw(draw.key, "URL host", site, draw.attempt)
    made = f"{scheme}{www}{host.name(4)}.{host.choice(RESERVED_DOMAINS)}{port}"
    made += path if path in ("", "/") else f"/{draw.name(6)}{'/' if path.endswith('/') else ''}"
    return made.replace("/", "\\/") if "\\/" in value else made


def _make_ip(value: str, normal: str, draw: Draw) -> str:
    if ":" in value:
        return str(IPv6Address(_DOCUMENTATION_V6 + draw.below(1 << 96)))
    return str(IPv4Address(_DOCUMENTATION_V4[draw.below(3)] + 1 + draw.below(254)))


def _make_mac(value: str, normal: str, draw: Draw) -> str:
    number = draw.below(1 << 48) & ~(1 << 40) | (1 << 41)  # the first octet's group and local bits
    letters = iter(f"{number:012x}")
    made = _HEX.sub(lambda _: next(letters), value)
    return made.upper() if value != value.lower() else made


URL = PiiType(
    "URL",
    re.compile(f"(?=[A-Za-z0-9])(?<![A-Za-z0-9])(?:{_URL})"),
    _URL_GATE,
    _make_url,
    check=url,
    normalise=_plain_url,
)
MAC = PiiType(
    "MAC",
    re.compile(_MAC),
    r"[0-9A-Fa-f]{2}[:\-–—−][0-9A-Fa-f]{2}[:\-–—−][0-9A-Fa-f]{2}[:\-–—−][0-9A-Fa-f]{2}|[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\."
    r"|[0-9A-Fa-f]{2}\.[0-9A-Fa-f]{2}\.[0-9A-Fa-f]{2}\.[0-9A-Fa-f]{2}\."
    r"|(?:맥|물리적? ?주소|하드웨어 ?주소|(?i:mac|bssid|(?:ethernet|hw|hardware|physical)[ _-]?addr(?:ess)?))"
    r"[^\n]{0,12}(?:[0-9A-Fa-f]{2}[ .]?){2}-?(?:[0-9A-Fa-f]{2}[ .:-]?){2}-?"
    r"[0-9A-Fa-f]{2}",
    _make_mac,
    label=_MAC_LABEL,
    check=mac,
    normalise=lambda value: "".join(_HEX.findall(value)).lower(),
)
IP = PiiType(
    "IP",
    re.compile(f"(?=[0-9A-Fa-f:])(?<![0-9A-Za-z_])(?:{_IP})"),
    r"[0-9]\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]|[0-9A-Fa-f]{4}:[0-9A-Fa-f]{0,4}:",
    _make_ip,
    label=IP_LABEL,
    check=ip,
    normalise=lambda value: ip_address(value).exploded,
)
