"""Numbers as people write them."""

import pytest

from common import units


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (units.count(1.048576e12), "1.05T"),
        (units.count(110_651_648), "111M"),
        (units.count(999_950), "1.00M"),
        (units.count(950), "950"),
        (units.size(1.77e9), "1.77 GB"),
        (units.size(512), "512 B"),
        (units.size(2e12), "2.00 TB"),
        (units.money(12_345), "$12,300"),
        (units.money(1_234_567), "$1,230,000"),
        (units.money(184.4), "$184"),
        (units.money(2.5), "$2.50"),
        (units.time(276_480), "3.2 days"),
        (units.time(86_400), "1.0 days"),
        (units.time(3 * 365.25 * 86400), "3.0 years"),
        (units.time(5400), "1.5 hours"),
        (units.time(42), "42 s"),
        (units.time(0.0325), "32.5 ms"),
        (units.time(0), "0 s"),
    ],
)
def test_units(written: str, expected: str) -> None:
    assert written == expected
