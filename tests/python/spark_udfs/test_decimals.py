"""decimal_text against Python's own decimals, from one byte to more digits than Spark's DECIMAL holds."""

from __future__ import annotations

import base64

import pytest

from alluvium.spark_udfs import decimal_text


def encoded(value: int) -> str:
    """Big-endian two's complement in base64, as Java's BigInteger.toByteArray gives it."""
    return base64.b64encode(value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)).decode()


@pytest.mark.parametrize(
    ("unscaled", "scale", "text"),
    [
        (0, 0, "0"),
        (0, 2, "0.00"),
        (-10, 2, "-0.10"),
        (5, -3, "5000"),
        (-1, 20, "-0.00000000000000000001"),
        (10**30, 0, "1" + "0" * 30),
        (123456789012345678901234567890123456789, 9, "123456789012345678901234567890.123456789"),
        (-(10**400) - 7, 3, "-1" + "0" * 397 + ".007"),
    ],
)
def test_text_is_exact(unscaled: int, scale: int, text: str) -> None:
    """No digit is lost and no exponent appears."""
    assert decimal_text(encoded(unscaled), scale) == text


@pytest.mark.parametrize(
    ("unscaled", "scale"),
    [(None, 1), ("AQ==", None), ("*", 0), ("19.99", 2), ("", 0), ("AQ==", 20_001), ("AQ==", -20_001)],
)
def test_what_is_no_decimal_is_null(unscaled: str | None, scale: int | None) -> None:
    """The caller tells a misfit from a NULL by it; nothing is raised."""
    assert decimal_text(unscaled, scale) is None
