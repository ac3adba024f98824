"""Numbers as people write them."""

import pytest

from common import units

WRITTEN = {
    units.count: {
        1.048576e12: "1.05T", 110_651_648: "111M", 999_950: "1.00M", 999_400: "999k", 9_995: "10.0k", 9_994: "9.99k",
        999.5: "1.00k", 950: "950",
    },
    units.size: {1.77e9: "1.77 GB", 999.5e6: "1.00 GB", 999.4e6: "999 MB", 512: "512 B", 2e12: "2.00 TB"},
    units.money: {12_345: "$12,300", 1_234_567: "$1,230,000", 184.4: "$184", 10: "$10", 9.99: "$9.99", 2.5: "$2.50"},
    units.time: {
        3 * 365.25 * 86400: "3.0 years", 2 * 365.25 * 86400: "2.0 years", 730 * 86400: "730 days",
        99.95 * 86400: "100 days", 99.94 * 86400: "99.9 days",
        276_480: "3.2 days", 86_400: "1.0 days", 5400: "1.5 hours", 3600: "1.0 hours", 60: "1.0 min", 42: "42 s",
        9.95: "10 s", 9.94: "9.9 s", 1: "1.0 s", 0.0325: "32.5 ms", 0: "0 s",
    },
    units.span: {60: "1.0 min", 1: "1.0 s", 0.999: "under 1 s", 0: "under 1 s"},
}  # fmt: skip


@pytest.mark.parametrize("write", WRITTEN)
def test_units(write) -> None:
    assert {number: write(number) for number in WRITTEN[write]} == WRITTEN[write]
