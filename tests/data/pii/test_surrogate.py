"""Pseudonyms: keyed, stable over spellings, same form, nobody's."""

import re
from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.pii import checks
from data.pii.places import INVENTED_NAMES as STEMS
from data.pii.surrogate import Pseudonymizer, surrogate
from data.pii.types import BY_NAME

from .examples import VALUES

KEY = b"test key for surrogates"
FREE_FORM = {"URL", "EMAIL", "MENTION", "ADDRESS", "IP"}
FORMER_AREA = "0431"
KEYS = st.binary(min_size=16, max_size=32)


def shape(value: str) -> str:
    return re.sub("[가-힣]", "가", re.sub("[A-Z]", "A", re.sub("[a-z]", "a", re.sub("[0-9]", "0", value))))


@pytest.mark.parametrize(("name", "value"), VALUES)
def test_deterministic_keyed_and_different(name: str, value: str) -> None:
    made = surrogate(KEY, name, value)
    assert made == surrogate(KEY, name, value)
    assert BY_NAME[name].normalise(made) != BY_NAME[name].normalise(value)
    assert len({surrogate(bytes([i]) * 16, name, value) for i in range(8)}) > 1


@pytest.mark.parametrize(("name", "value"), [v for v in VALUES if v[0] not in FREE_FORM])
def test_form_is_kept(name: str, value: str) -> None:
    made = surrogate(KEY, name, value)
    if name == "MAC":
        assert re.sub("[0-9A-Fa-f]", "0", made) == re.sub("[0-9A-Fa-f]", "0", value)
    else:
        assert shape(made) == shape(value)


def test_one_site_one_host() -> None:
    hosts = {surrogate(KEY, "URL", f"https://www.example.kr/{page}").split("/")[2] for page in "abc"}
    assert len(hosts) == 1


@given(KEYS)
def test_nobody_has_it(key: bytes) -> None:
    for name, value in VALUES:
        made = surrogate(key, name, value)
        digits = re.sub("[^0-9]", "", made)
        if name in ("URL", "EMAIL"):
            assert re.search(r"[./@]example\.(?:com|org|net)(?:/|$)", made)
        elif name == "IP":
            nets = ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32")
            assert any(ip_address(made) in ip_network(net) for net in nets)
        elif name == "MAC":
            assert int(BY_NAME["MAC"].normalise(made)[:2], 16) & 3 == 2
        elif name == "CARD":
            assert not checks.luhn_ok(digits)
        elif name in ("RRN", "FRN"):
            assert not checks.registration_date_ok(digits)
            assert not checks.registration_check_ok(digits)
            assert (digits[6] in "1234") == (name == "RRN")
        elif name == "BRN":
            assert not checks.brn_ok(digits)
        elif name == "DRIVER_LICENSE":
            assert made.startswith("세종") or digits[0] == "9"
        elif name == "TEL":
            national = BY_NAME["TEL"].normalise(made)
            if value.startswith("+") and not value.startswith("+82"):
                country = re.match(r"\+[0-9]+", value)
                assert country and national.startswith(f"{country[0]}0"), made
            elif value.startswith(FORMER_AREA):
                assert national.startswith(f"{FORMER_AREA}0"), made
            else:
                assert re.match("(?:1500|01[0-9]0|020|0[3-6][1-5]0|0[78]00|050[0-9]0)", national), made
        elif name == "BANK_ACCOUNT":
            assert digits.startswith("000")
        elif name == "PASSPORT":
            assert made[0] in "Xx"
        elif name == "HEALTH_INSURANCE":
            assert made[0] == "0"
        elif name == "VEHICLE_PLATE":
            if value[:1].isdigit() or re.match("[가-힣]{2} ?[0-9]", value):
                assert digits.startswith("00")
            else:  # of motorcycles, and old ones
                district = re.match("[가-힣]{2} ?(?P<district>[가-힣]{2}) ?[가-힣] ?[0-9]{4}$", made)
                assert district and district["district"] in STEMS, made
        elif name == "ADDRESS":
            assert re.match(f"(?:[가-힣]+ ?)?(?:{'|'.join(STEMS)})[시군구] ", made), made


SPELLINGS = {
    "TEL": [
        "010-1234-5678", "010.1234.5678", "01012345678", "010 1234 5678", "+82-10-1234-5678", "+82 (0)10 1234 5678",
        "82-10-1234-5678", "(+82) 10-1234-5678", "0082-10-1234-5678", "82 10 1234 5678",
    ],
    "TEL of a city": ["02-123-4567", "02)123-4567", "(02)123-4567", "+82-2-123-4567"],
    "PASSPORT": ["M31415926", "M-31415926", "M 3141 5926", "m31415926"],
    "DRIVER_LICENSE": ["11-17-174133-01", "111717413301", "서울 17-174133-01", "서울17-174133-01"],
    "VEHICLE_PLATE": ["34바 5678", "34바5678", "34-바-5678", "3 4 바 5 6 7 8"],
    "URL": ["http://shop.example.kr/a", "https://www.Shop.example.kr/a", "shop.example.kr/a/", "http://SHOP.EXAMPLE.KR:80/a"],
    "EMAIL": ["Hong@Example.com", "hong@example.com"],
    "MAC": ["00:00:5e:00:53:0a", "0000.5E00.530A", "00005e00530a"],
    "IP": ["2001:db8::1", "2001:DB8:0:0::1"],
    "RRN": ["900101-1234567", "9001011234567", "19900101-1234567", "900101 / 1234567"],
    "CARD": ["4111-1111-1111-1111", "4111111111111111", "4111 1111 1111 1111"],
    "BRN": ["123-45-67890", "1234567890", "123.45.67890"],
    "BANK_ACCOUNT": ["110-245-124678", "110245124678"],
    "HEALTH_INSURANCE": ["1-2345678901", "12345678901"],
}  # fmt: skip


@pytest.mark.parametrize("case", SPELLINGS)
def test_one_value_one_pseudonym_however_written(case: str) -> None:
    name = case.split()[0]
    made = [surrogate(KEY, name, value) for value in SPELLINGS[case]]
    signs = {re.sub("[^0-9a-z가-힣]", "", fake.lower()) for fake in made} if name not in ("URL", "TEL", "IP") else set()
    if name == "RRN":
        signs = {fake[-13:] for fake in signs}
    elif name == "DRIVER_LICENSE":
        signs = {re.sub("[^0-9]", "", fake)[-10:] for fake in signs}
    elif name == "URL":
        signs = {re.sub("^https?://|^www[.]|:80|/$", "", fake.replace("//www.", "//")) for fake in made}
    elif name == "TEL":
        signs = {BY_NAME["TEL"].normalise(fake) for fake in made}
    elif name == "IP":
        signs = set(made)
    assert len(signs) == 1


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("전화 ０１０－１２３４－５６７８로", "전화 ０１０－[０-９]{4}－[０-９]{4}로"),
        ("전화 [010][1234][5678]로", r"전화 \[010\]\[\d{4}\]\[\d{4}\]로"),
        ("전화 [0][1][0]-[1][2][3][4]-[5][6][7][8]로", r"전화 \[0\]\[1\]\[0\](?:-(?:\[\d\]){4}){2}로"),
        ("전화 ⓪①⓪-①②③④-⑤⑥⑦⑧로", "전화 ⓪①⓪-[⓪①-⑨]{4}-[⓪①-⑨]{4}로"),
        ("전화 공일공 일이삼사 오육칠팔로", "전화 공일공 [공일이삼사오육칠팔구]{4} [공일이삼사오육칠팔구]{4}로"),
        ("전화 02-123-4567~9번", r"전화 02-\d{3}-\d{4}~\d번"),
        ("전화 02-123-4567, 4569", r"전화 02-\d{3}-\d{4}, \d{4}"),
        ("전화 010-1234-\n5678로", r"전화 010-\d{4}-\n\d{4}로"),
        ("주민번호 (900101)-(1234567) 임", r"주민번호 \(\d{6}\)-\(\d{7}\) 임"),
        ("차량 １２가 ３４５６을", "차량 [０-９]{2}[가-힣] [０-９]{4}을"),
        ("여권 Ｍ３１４１５９２６을", "여권 [Ａ-Ｚ][０-９]{8}을"),
    ],
)
def test_the_writing_of_the_original_is_kept(text: str, form: str) -> None:
    out, _ = Pseudonymizer(KEY).apply(text)
    assert re.fullmatch(form, out) and out != text
