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
    # 29 February of the years 00: 2000 alone is a leap year of the three
    assert [century for century in "0123456789" if checks.registration_date_ok(f"000229{century}")] == [*"3478"]
    for front, days in {"9600": 0, "9601": 31, "9602": 29, "9702": 28, "9604": 30, "9612": 31, "9613": 0}.items():
        accepted = [day for day in range(100) if checks.registration_date_ok(f"{front}{day:02}1")]
        assert accepted == [*range(1, days + 1)], front


@given(DIGITS)
def test_exactly_one_last_digit_passes(front: str) -> None:
    assert sum(checks.luhn_ok(front + str(d)) for d in range(10)) == 1
    for century in "0123456789":  # 5 to 8 are of foreigners, whose last digit has two forms
        number = front[:6] + century + front[7:]
        count = 2 if century in "5678" else 1
        assert sum(checks.registration_check_ok(number + str(d)) for d in range(10)) == count
    business = "2" + front[1:9]
    assert sum(checks.brn_ok(business + str(d)) for d in range(10)) == 1


def test_business_numbers_begin_with_a_tax_office() -> None:
    """By hand: 1 · 1 + 7 · 1 = 8 → 2 for 101, 1 → 9 for 100, (1 + 3 + 7) · 9 = 99 → 1 for 999."""
    assert checks.brn_ok("1010000002") and checks.brn_ok("9990000001")
    assert not checks.brn_ok("1000000009") and not checks.brn_ok("0000000000")


def test_card_prefixes() -> None:
    accepted = {four for four in range(10_000) if checks.card_prefix_ok(f"{four:04}" + "0" * 12)}
    edges = [four for four in range(10_001) if (four in accepted) != (four - 1 in accepted)]
    # 2221-2720; 34-37; 4; 51-55; 60-65; 9: the first of each, and the first behind it
    assert edges == [2221, 2721, 3400, 3800, 4000, 5000, 5100, 5600, 6000, 6600, 9000, 10_000]
