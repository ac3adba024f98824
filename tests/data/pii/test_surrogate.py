"""Pseudonyms: keyed, stable over spellings, same form, nobody's."""

import re
from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.pii import checks
from data.pii.places import INVENTED_NAMES as STEMS
from data.pii.surrogate import normalise, surrogate

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
    assert normalise(name, made) != normalise(name, value)
    assert len({surrogate(bytes([i]) * 16, name, value) for i in range(8)}) > 1


@pytest.mark.parametrize(("name", "value"), [v for v in VALUES if v[0] not in FREE_FORM])
def test_form_is_kept(name: str, value: str) -> None:
    made = surrogate(KEY, name, value)
    if name == "MAC":
        assert re.sub("[0-9A-Fa-f]", "0", made) == re.sub("[0-9A-Fa-f]", "0", value)
    else:
        assert shape(made) == shape(value)


@pytest.mark.parametrize(
    "spellings",
    [
        ["010-1234-5678", "010.1234.5678", "01012345678", "+82-10-1234-5678", "+82 (0)10 1234 5678", "82-10-1234-5678"],
        ["02-123-4567", "02)123-4567", "(02)123-4567", "+82-2-123-4567"],
    ],
)
def test_one_number_one_pseudonym(spellings: list[str]) -> None:
    assert len({normalise("TEL", surrogate(KEY, "TEL", s)) for s in spellings}) == 1


def test_other_spellings() -> None:
    assert surrogate(KEY, "EMAIL", "Hong@Example.COM") == surrogate(KEY, "EMAIL", "hong@example.com")
    assert normalise("MAC", surrogate(KEY, "MAC", "00:00:5E:00:53:0A")) == normalise(
        "MAC", surrogate(KEY, "MAC", "0000.5e00.530a")
    )
    short, long = (surrogate(KEY, "ADDRESS", f"{p} 중구 세종대로 110") for p in ("서울", "서울특별시"))
    assert normalise("ADDRESS", short) == normalise("ADDRESS", long)


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
            assert int(normalise("MAC", made)[:2], 16) & 3 == 2
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
            national = normalise("TEL", made)
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
