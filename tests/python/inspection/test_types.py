"""Types that values alone propose, and what is asked about them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from alluvium.inspection.types import JsonNumber, ProposedType, Values, propose_from_values


def proposed(*values: Any, name: str = "x") -> ProposedType:
    seen = Values()
    for value in values:
        seen.add(json.loads(json.dumps(value), parse_float=JsonNumber))
    return propose_from_values(name, seen)


@pytest.mark.parametrize(
    "values",
    [
        # Decimals of scale 2 in three bytes, so in four letters: 1234.56, 45000.00, 2500.00.
        ("AeJA", "RKog", "A9CQ"),
        ("D0I/",),
        ("A+c=", "ew=="),
        (["AeJA"], [], ["RKog", None]),
        (["BNI="],),
    ],
)
def test_base64_is_asked_about(values: tuple[Any, ...]) -> None:
    assert "base64" in (proposed(*values).question or "")


@pytest.mark.parametrize(
    "values",
    [
        ("paid", "open", "VISA", ""),
        ("Card", "ItemSold", "itemSold", "OrderCreated"),
        ("DE89", "AB12", "a1b2c3d4", "item0012"),
        ("text/csv", "/var/log"),
        ("AeJA", "no base64"),
        (["paid"], ["open", "cash"]),
    ],
)
def test_words_and_codes_are_not_asked_about(values: tuple[Any, ...]) -> None:
    assert proposed(*values).question is None


def test_number_with_an_exponent_is_no_base64() -> None:
    assert "numbers as texts" in (proposed("1E+3", "1.5E-7").question or "")


@pytest.mark.parametrize(
    "value",
    [
        "1890-01-01T00:00:00+08:05:43",
        "2026-01-01T12:00Z",
        "2026-01-01T12:00+05",
        "2026-01-01T12:00:00.123456789+0530",
        "+12026-01-01T12:00:00Z",
        "+292278994-08-16T23:00:00Z",
        "-infinity",
    ],
)
def test_times_with_a_zone(value: str) -> None:
    assert proposed(value).data_type == "timestamp"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((2**63 - 1, -(2**63)), ("bigint", None)),
        ((1, 2**64 - 1), ("decimal(20,0)", "decimal")),
        ((-1, 2**64 - 1), ("decimal(38,0)", "decimal")),
        ((10**30,), ("decimal(38,0)", "decimal")),
        ((10**38,), ("string", None)),
    ],
)
def test_width_of_whole_numbers(values: tuple[int, ...], expected: tuple[str, str | None]) -> None:
    found = proposed(*values)
    assert (found.data_type, found.semantic_type, found.question) == (*expected, None)


def test_dates_and_times_of_isostring_mode() -> None:
    def found(*values: Any, connector: str | None = "postgresql") -> tuple[str, str | None, bool]:
        seen = Values()
        for value in values:
            seen.add(value)
        type_ = propose_from_values("x", seen, connector=connector)
        return type_.data_type, type_.semantic_type, type_.question is not None

    assert found("2024-02-29Z") == ("date", "io.debezium.time.IsoDate", False)
    assert found(["2024-02-29Z", None]) == ("array<date>", "io.debezium.time.IsoDate", False)
    assert found("2024-02-29T12:34:56.789Z") == ("timestamp", None, True)
    assert found("2024-02-29T12:34:56.789Z", "2024-02-29T12:34:56.789+02:00") == ("timestamp", None, False)
    assert found("2024-02-29T12:34:56.789Z", connector=None) == ("timestamp", None, False)
