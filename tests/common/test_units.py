"""Numbers as people write them."""

import pytest

from common import units

WRITTEN = {
    units.count: {1.048576e12: "1.05T", 110_651_648: "111M", 999_950: "1.00M", 950: "950"},
    units.size: {1.77e9: "1.77 GB", 512: "512 B", 2e12: "2.00 TB"},
    units.money: {12_345: "$12,300", 1_234_567: "$1,230,000", 184.4: "$184", 2.5: "$2.50"},
    units.time: {
        276_480: "3.2 days",
        86_400: "1.0 days",
        3 * 365.25 * 86400: "3.0 years",
        5400: "1.5 hours",
        42: "42 s",
        0.0325: "32.5 ms",
        0: "0 s",
    },
}


@pytest.mark.parametrize("write", WRITTEN)
def test_units(write) -> None:
    assert {number: write(number) for number in WRITTEN[write]} == WRITTEN[write]
