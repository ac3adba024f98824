"""Check digits against values computed by hand and against their own definition."""

from hypothesis import given
from hypothesis import strategies as st

from data.pii import checks

DIGITS = st.text("0123456789", min_size=12, max_size=12)


def test_known_values() -> None:
    assert checks.brn_ok("1234567891")
    assert not checks.brn_ok("1234567890")
    assert checks.luhn_ok("4111111111111111")
    assert not checks.luhn_ok("4111111111111112")
    assert checks.ean13_ok("4006381333931")
    assert checks.registration_check_ok("0001011000018")


def test_dates_need_a_real_day_in_the_right_century() -> None:
    assert checks.registration_date_ok("0002291") is False  # 1900 was no leap year
    assert checks.registration_date_ok("0002293")
    assert checks.registration_date_ok("9912319")
    assert not checks.registration_date_ok("9913011")
    assert not checks.registration_date_ok("9902301")


@given(DIGITS)
def test_exactly_one_last_digit_passes(front: str) -> None:
    assert sum(checks.luhn_ok(front + str(d)) for d in range(10)) == 1
    resident = front[:6] + "1" + front[7:]
    assert sum(checks.registration_check_ok(resident + str(d)) for d in range(10)) == 1
    foreign = front[:6] + "5" + front[7:]
    assert sum(checks.registration_check_ok(foreign + str(d)) for d in range(10)) == 2
    business = "2" + front[1:9]
    assert sum(checks.brn_ok(business + str(d)) for d in range(10)) == 1


def test_card_prefixes() -> None:
    for good in ("4111", "5105", "2221", "3530", "3782", "6011", "9440"):
        assert checks.card_prefix_ok(good + "0" * 12), good
    for bad in ("0000", "1234", "5000", "7000", "2721", "8888"):
        assert not checks.card_prefix_ok(bad + "0" * 12), bad
