"""Each pair of Spark type and semantic type, from its JSON text to the exact value, in any session time zone."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, NamedTuple

import pytest

from .events import Number, encoded, flattened, lines, postgresql, unscaled, with_schema
from .project import Feed, Project

DEBEZIUM, CONNECT = "io.debezium.time.", "org.apache.kafka.connect.data."
BIG = 10**38 - 1
# What infinity and -infinity of PostgreSQL are.
FAR, PAST = "+294247-01-10 04:00:25.2", "-290308-12-21 19:59:27.6"
NESTED = '{"a": 12345678901234567890.1234567890, "b": [1e400, 0.10], "c": "\\u00fc\\\\"}'


class Case(NamedTuple):
    """A column and pairs of (value in the event, expected value)."""

    type: str
    cdc: dict[str, Any]
    values: list[tuple[Any, Any]]


def semantic(name: str) -> dict[str, Any]:
    return {"semantic_type": name}


# The defaults of Debezium: adaptive, precise, base64.
ADAPTIVE = {
    "date": Case(
        "date",
        {},
        [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (19844, "2024-05-01"),
            (2932896, "9999-12-31"),
            (-719162, "0001-01-01"),
        ],
    ),
    "date_connect": Case("date", semantic(CONNECT + "Date"), [(19844, "2024-05-01")]),
    "date_iso": Case(
        "date", semantic(DEBEZIUM + "IsoDate"), [("2024-05-01Z", "2024-05-01"), ("1582-10-10Z", "1582-10-10")]
    ),
    "ntz_unsaid": Case(
        "timestamp_ntz",
        {},
        [
            (0, "1970-01-01 00:00:00"),
            (253402300800000, "1978-01-11 21:31:40.8"),  # as milliseconds after the year 9999
            (1710055800000001, "2024-03-10 07:30:00.000001"),
        ],
    ),
    "ntz_us": Case(
        "timestamp_ntz",
        semantic(DEBEZIUM + "MicroTimestamp"),
        [
            (0, "1970-01-01 00:00:00"),
            (-1, "1969-12-31 23:59:59.999999"),
            (1710037800123, "1970-01-20 19:00:37.800123"),
            (1710055800000001, "2024-03-10 07:30:00.000001"),
            (1710037800000000, "2024-03-10 02:30:00"),  # not on the clocks of New York
            (253402300799999999, "9999-12-31 23:59:59.999999"),
            (-62135596800000000, "0001-01-01 00:00:00"),
            (9223372036825200000, FAR),
            (2**63 - 1, FAR),
            (-9223372036832400000, PAST),
            (-(2**63), PAST),
        ],
    ),
    "ntz_ms": Case(
        "timestamp_ntz",
        semantic(DEBEZIUM + "Timestamp"),
        [(1710037800123, "2024-03-10 02:30:00.123"), (-1, "1969-12-31 23:59:59.999")],
    ),
    "ntz_ns": Case(
        "timestamp_ntz",
        semantic(DEBEZIUM + "NanoTimestamp"),
        [
            (1710037800123456000, "2024-03-10 02:30:00.123456"),
            (-1000, "1969-12-31 23:59:59.999999"),
            (2**63 - 1, FAR),
            (-(2**63), PAST),
        ],
    ),
    "ntz_connect": Case(
        "timestamp_ntz",
        semantic(CONNECT + "Timestamp"),
        [(1710037800123, "2024-03-10 02:30:00.123"), (9223372036825200, FAR), (-9223372036832400, PAST)],
    ),
    "ntz_iso": Case(
        "timestamp_ntz",
        semantic(DEBEZIUM + "IsoTimestamp"),
        [
            ("2024-03-10T02:30:00.123456Z", "2024-03-10 02:30:00.123456"),
            ("1800-01-01T00:00:00Z", "1800-01-01 00:00:00"),
            ("2024-03-10T02:30Z", "2024-03-10 02:30:00"),
            ("+294247-01-10T04:00:25.2Z", FAR),
            ("+292278994-08-16T23:00:00Z", FAR),
            ("-292275055-05-16T23:00:00Z", PAST),
            ("+292275055-05-16T23:00:00Z", PAST),  # its era is lost
        ],
    ),
    "zoned": Case(
        "timestamp",
        {},
        [
            ("2024-03-10T07:30:00.123456Z", "2024-03-10 07:30:00.123456"),
            ("2024-11-03T01:30:00-04:00", "2024-11-03 05:30:00"),
            ("2024-11-03T01:30:00-05:00", "2024-11-03 06:30:00"),
            ("2024-05-01T00:00:00+05:30", "2024-04-30 18:30:00"),
            ("1969-12-31T23:59:59.999999Z", "1969-12-31 23:59:59.999999"),
            ("1890-01-01T00:00:00+08:05:43", "1889-12-31 15:54:17"),
            ("2026-01-01T12:00Z", "2026-01-01 12:00:00"),
            ("2026-01-01T12:00-00:30", "2026-01-01 12:30:00"),
            ("2026-01-01T12:00:00+05", "2026-01-01 07:00:00"),
            ("2026-01-01T12:00:00+0530", "2026-01-01 06:30:00"),
            ("2026-01-01T12:00:00.123456000Z", "2026-01-01 12:00:00.123456"),
            ("+12026-01-01T12:00:00Z", "+12026-01-01 12:00:00"),
            ("-0043-03-15T12:00:00+00:19:32", "-0043-03-15 11:40:28"),
            ("infinity", FAR),
            ("-infinity", PAST),
            ("+292278994-08-16T23:00:00Z", FAR),
        ],
    ),
    "instant_us": Case(
        "timestamp", semantic(DEBEZIUM + "MicroTimestamp"), [(1710055800000001, "2024-03-10 07:30:00.000001")]
    ),
    "instant_ms": Case("timestamp", semantic(DEBEZIUM + "Timestamp"), [(1710055800001, "2024-03-10 07:30:00.001")]),
    "instant_ns": Case(
        "timestamp", semantic(DEBEZIUM + "NanoTimestamp"), [(1710055800000001000, "2024-03-10 07:30:00.000001")]
    ),
    "time_us": Case("bigint", semantic(DEBEZIUM + "MicroTime"), [(86399999999, 86399999999), (0, 0), (-5, -5)]),
    "time_ms": Case("bigint", semantic(DEBEZIUM + "Time"), [(86399999, 86399999000)]),
    "time_ns": Case("bigint", semantic(DEBEZIUM + "NanoTime"), [(86399999999000, 86399999999)]),
    "time_connect": Case("bigint", semantic(CONNECT + "Time"), [(86399999, 86399999000)]),
    "time_text": Case(
        "string",
        semantic(DEBEZIUM + "MicroTime"),
        [
            (86399999999, "23:59:59.999999"),
            (86400000000, "24:00:00.000000"),
            (-3020399000000, "-838:59:59.000000"),
            (1, "00:00:00.000001"),
        ],
    ),
    "time_text_ms": Case("string", semantic(DEBEZIUM + "Time"), [(45296789, "12:34:56.789000")]),
    "time_text_ns": Case("string", semantic(DEBEZIUM + "NanoTime"), [(45296789012000, "12:34:56.789012")]),
    "time_zoned": Case("string", semantic(DEBEZIUM + "ZonedTime"), [("12:34:56.789Z", "12:34:56.789Z")]),
    "decimal_2": Case(
        "decimal(12,2)",
        {},
        [(unscaled(n), Decimal(n).scaleb(-2)) for n in (0, 1, -1, 127, 128, -128, -129, 999999999999, -999999999999)],
    ),
    "decimal_38": Case(
        "decimal(38,0)", {}, [(unscaled(n), Decimal(n)) for n in (BIG, -BIG, 2**64, -(2**64), 2**63, -(2**63) - 1)]
    ),
    "decimal_38_10": Case(
        "decimal(38,10)",
        {},
        [(unscaled(n), Decimal(f"{n}e-10")) for n in (BIG, -BIG, 12345678901234567890123456789012345678)],
    ),
    "decimal_padded": Case("decimal(6,2)", {}, [(encoded(b"\xff\xff\xff\xff\x9c"), Decimal("-1.00"))]),
    "decimal_named": Case("decimal(12,4)", semantic(CONNECT + "Decimal"), [(unscaled(-12345), Decimal("-1.2345"))]),
    "decimal_variable": Case(
        "decimal(38,18)",
        semantic("io.debezium.data.VariableScaleDecimal"),
        [
            ({"scale": 3, "value": unscaled(-1234567)}, Decimal("-1234.567")),
            ({"scale": 0, "value": unscaled(7)}, Decimal(7)),
            ({"scale": -2, "value": unscaled(5)}, Decimal(500)),
            ({"scale": 18, "value": unscaled(BIG)}, Decimal(f"{BIG}e-18")),
        ],
    ),
    "decimal_text": Case(
        "decimal(38,2)",
        semantic("decimal"),
        [("123456789012345678901234567890123456.78", Decimal("123456789012345678901234567890123456.78"))],
    ),
    "unsigned": Case(
        "decimal(20,0)",
        {"unsigned": True},
        [(-1, Decimal(2**64 - 1)), (-(2**63), Decimal(2**63)), (2**63 - 1, Decimal(2**63 - 1)), (0, Decimal(0))],
    ),
    "bytes": Case(
        "binary", {}, [(encoded(b"\x00\xff\xfe"), b"\x00\xff\xfe"), ("", b""), (encoded(b"\xfb\xff"), b"\xfb\xff")]
    ),
    "uuid": Case("string", {}, [("0F0E0D0C-0b0a-0908-0706-050403020100", "0F0E0D0C-0b0a-0908-0706-050403020100")]),
    "json": Case("string", {}, [(NESTED, NESTED), ("null", "null"), ("", ""), (" a\tb\n ", " a\tb\n "), ('"', '"')]),
    "enum": Case("string", {}, [("happy", "happy"), ("ü, 東京 😀", "ü, 東京 😀")]),
    "flag": Case("boolean", {}, [(True, True), (False, False), (1, True), (0, False)]),
    "tiny": Case("tinyint", {}, [(127, 127), (-128, -128)]),
    "small": Case("smallint", {}, [(32767, 32767), (-32768, -32768)]),
    "whole": Case("int", {}, [(2**31 - 1, 2**31 - 1), (-(2**31), -(2**31))]),
    "big": Case("bigint", {}, [(n, n) for n in (2**63 - 1, -(2**63), 2**53 + 1)]),
    "single": Case("float", {}, [(0.1, 0.10000000149011612), ("Infinity", float("inf"))]),
    "twice": Case(
        "double",
        {},
        [
            (0.1, 0.1),
            (1e308, 1e308),
            (5e-324, 5e-324),
            (-0.0, -0.0),
            ("-Infinity", float("-inf")),
            (Number("1.7976931348623157E308"), 1.7976931348623157e308),
        ],
    ),
    "bits": Case(
        "bigint",
        semantic("io.debezium.data.Bits"),
        [(encoded(b"\x01\x02"), 0x0201), (encoded(b"\xff" * 7 + b"\x7f"), 2**63 - 1), (encoded(b"\x00"), 0), ("", 0)],
    ),
    "texts": Case("array<string>", {}, [(["a", None, 'q"uote', "ü"], ["a", None, 'q"uote', "ü"]), ([], [])]),
    "numbers": Case(
        "array<bigint>", {}, [([2**63 - 1, -(2**63), None, 2**53 + 1], [2**63 - 1, -(2**63), None, 2**53 + 1])]
    ),
    "flags": Case("array<boolean>", {}, [([True, False], [True, False])]),
    "amounts": Case(
        "array<decimal(6,2)>", {}, [([unscaled(-100), None, unscaled(5)], [Decimal("-1.00"), None, Decimal("0.05")])]
    ),
    "days": Case("array<date>", {}, [([0, -1], ["1970-01-01", "1969-12-31"])]),
    "moments": Case("array<timestamp_ntz>", {}, [([1710037800000001], ["2024-03-10 02:30:00.000001"])]),
    "moments_ms": Case(
        "array<timestamp_ntz>", semantic(DEBEZIUM + "Timestamp"), [([1710037800001], ["2024-03-10 02:30:00.001"])]
    ),
    "instants": Case("array<timestamp>", {}, [(["2024-11-03T01:30:00-04:00"], ["2024-11-03 05:30:00"])]),
}
MODES: dict[str, tuple[dict[str, Any], dict[str, Case]]] = {
    "types_adaptive": ({}, ADAPTIVE),
    "types_connect": (
        {
            "time_precision_mode": "connect",
            "decimal_handling_mode": "double",
            "binary_handling_mode": "base64-url-safe",
        },
        {
            "date": Case("date", {}, [(19844, "2024-05-01")]),
            "ntz": Case("timestamp_ntz", {}, [(1710037800123, "2024-03-10 02:30:00.123")]),
            "bytes": Case("binary", {}, [("-_-_", b"\xfb\xff\xbf"), ("-_8=", b"\xfb\xff"), ("-_8", b"\xfb\xff")]),
            "decimal": Case(
                "decimal(12,2)", {}, [(0.1, Decimal("0.10")), (-99999.99, Decimal("-99999.99")), (1e3, Decimal(1000))]
            ),
            "twice": Case("double", {}, [(0.1, 0.1), ("NaN", "NaN")]),
        },
    ),
    "types_iso": (
        {
            "time_precision_mode": "isostring",
            "decimal_handling_mode": "string",
            "binary_handling_mode": "hex",
            "bigint_unsigned_handling_mode": "precise",
        },
        {
            "date": Case("date", {}, [("2024-05-01Z", "2024-05-01"), ("2024-05-01", "2024-05-01")]),
            "ntz": Case(
                "timestamp_ntz",
                {},
                [
                    ("2024-03-10T02:30:00.123456Z", "2024-03-10 02:30:00.123456"),
                    ("2024-03-10T02:30:00Z", "2024-03-10 02:30:00"),
                ],
            ),
            "time": Case("string", semantic(DEBEZIUM + "IsoTime"), [("12:34:56.789Z", "12:34:56.789Z")]),
            # As Debezium sends it whatever the decimal mode: Connect's Decimal of scale 0.
            "unsigned": Case(
                "decimal(20,0)",
                {"unsigned": True},
                [(unscaled(2**64 - 1), Decimal(2**64 - 1)), (unscaled(0), Decimal(0))],
            ),
            "bytes": Case("binary", {}, [("00ffFE", b"\x00\xff\xfe"), ("", b"")]),
            "decimal": Case(
                "decimal(38,2)",
                {},
                [
                    ("-123456789012345678901234567890123456.78", Decimal("-123456789012345678901234567890123456.78")),
                    ("1E+3", Decimal(1000)),
                ],
            ),
        },
    ),
    "types_nano": (
        {
            "time_precision_mode": "nanoseconds",
            "decimal_format": "numeric",
            "binary_handling_mode": "base64",
            "bigint_unsigned_handling_mode": "precise",
        },
        {
            "ntz": Case("timestamp_ntz", {}, [(1710037800123456000, "2024-03-10 02:30:00.123456")]),
            "bytes": Case("binary", {}, [(encoded(b"\xfb\xff"), b"\xfb\xff")]),
            "decimal": Case(
                "decimal(38,10)",
                {},
                [
                    (Number("12345678901234567890.1234567890"), Decimal("12345678901234567890.1234567890")),
                    (Number("-0.1"), Decimal("-0.1")),
                    (Number("9007199254740993"), Decimal(9007199254740993)),
                ],
            ),
            "payload": Case("string", {}, [({"decimal": 99.25}, '{"decimal":99.25}')]),
            "unsigned": Case("decimal(20,0)", {"unsigned": True}, [(2**64 - 1, Decimal(2**64 - 1))]),
        },
    ),
}
SHAPES = {"types_iso": "flattened", "types_nano": "flattened"}

# The event's own schema goes before what the source's YAML says.
EMBEDDED: dict[str, tuple[str, Any, Any, Any]] = {
    "date": ("date", {"type": "string", "name": DEBEZIUM + "IsoDate"}, "2024-05-01Z", "2024-05-01"),
    "ntz": (
        "timestamp_ntz",
        {"type": "int64", "name": DEBEZIUM + "NanoTimestamp"},
        1710037800123456000,
        "2024-03-10 02:30:00.123456",
    ),
    "instant": (
        "timestamp",
        {"type": "int64", "name": DEBEZIUM + "Timestamp"},
        1710037800123,
        "2024-03-10 02:30:00.123",
    ),
    "decimal": (
        "decimal(12,4)",
        {
            "type": "bytes",
            "name": CONNECT + "Decimal",
            "version": 1,
            "parameters": {"scale": "3", "connect.decimal.precision": "9"},
        },
        unscaled(-1234),
        Decimal("-1.2340"),
    ),
    "variable": (
        "decimal(12,4)",
        {"type": "struct", "name": "io.debezium.data.VariableScaleDecimal", "fields": []},
        {"scale": 1, "value": unscaled(15)},
        Decimal("1.5000"),
    ),
    "uuid": ("string", {"type": "string", "name": "io.debezium.data.Uuid"}, "0f0e", "0f0e"),
    "mood": (
        "string",
        {"type": "string", "name": "io.debezium.data.Enum", "parameters": {"allowed": "sad,ok"}},
        "ok",
        "ok",
    ),
    "days": (
        "array<date>",
        {"type": "array", "items": {"type": "int32", "name": DEBEZIUM + "Date", "version": 1}},
        [0],
        ["1970-01-01"],
    ),
    "prices": (
        "array<decimal(12,4)>",
        {"type": "array", "items": {"type": "bytes", "name": CONNECT + "Decimal", "parameters": {"scale": "1"}}},
        [unscaled(15), None],
        [Decimal("1.5"), None],
    ),
    "moments": (
        "array<timestamp_ntz>",
        {"type": "array", "items": {"type": "int64", "name": DEBEZIUM + "Timestamp"}},
        [1710037800001],
        ["2024-03-10 02:30:00.001"],
    ),
}


def events(mode: str) -> list[dict[str, Any]]:
    """One event for each n-th value of every column."""
    cases = MODES[mode][1]
    rows: list[dict[str, Any]] = []
    for number in range(max(len(case.values) for case in cases.values())):
        row = {name: case.values[number][0] for name, case in cases.items() if number < len(case.values)}
        rows.append({"id": number} | row)
    make = flattened if SHAPES.get(mode) else postgresql
    return [make("c", 100 + row["id"], row) for row in rows]


def numbered(key: int, number: str) -> dict[str, Any]:
    """A row with a JSON number, and another one of that name beside it."""
    return {"id": key, "amount": Number(number), "payload": {"amount": 99.25}}


def feed(mode: str) -> Feed:
    options, cases = MODES[mode]
    columns = {name: (case.type, case.cdc) if case.cdc else case.type for name, case in cases.items()}
    shape = {"shape": SHAPES[mode]} if mode in SHAPES else {}
    return Feed(mode, {"id": "int"} | columns, [{"t+0+0.json": lines(*events(mode))}], cdc=options | shape, slow=True)


FEEDS = [
    *(feed(mode) for mode in MODES),
    Feed(
        "types_embedded",
        {"id": "int"} | {name: case[0] for name, case in EMBEDDED.items()},
        [
            {
                "t+0+0.json": lines(
                    with_schema(
                        postgresql("c", 100, {"id": 0} | {name: case[2] for name, case in EMBEDDED.items()}),
                        {"id": "int32"} | {name: case[1] for name, case in EMBEDDED.items()},
                    )
                )
            }
        ],
    ),
]
FEEDS.append(
    Feed(
        "types_of_numbers",
        {"id": "int", "amount": "decimal(38,10)", "payload": "string"},
        [
            {
                "t+0+0.json": lines(
                    postgresql("c", 100, numbered(1, "1234567890123456789012345678.1234567890")),
                    with_schema(postgresql("u", 101, numbered(1, "2.10"), before=numbered(1, "0.1")), {}),
                    postgresql("d", 102, numbered(1, "9007199254740993")),
                    postgresql("u", 103, numbered(1, "1"), before=numbered(1, "1e-11")),
                )
            }
        ],
        (),
        cdc={"decimal_format": "numeric", "replica_identity": "full"},
        slow=True,
    )
)
IDS = [(mode, name) for mode, (_, cases) in MODES.items() for name in cases]


def found(rows: list[dict[str, Any]], column: str, count: int) -> list[str]:
    """Values by id as text, so that NaN equals itself, 1 is not true, and -0.0 is not 0."""
    values = {row["id"]: row[column] for row in rows}
    return [shown(values[number]) for number in range(count)]


def shown(value: Any) -> str:
    if isinstance(value, Decimal):
        plain = format(value, "f")  # normalize() would round to the context's 28 digits
        return "decimal " + (plain.rstrip("0").rstrip(".") if "." in plain else plain)
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    return repr(float("nan")) if value == "NaN" else repr(value)


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "column"), IDS)
def test_value_is_exact(project: Project, mode: str, column: str) -> None:
    misfits = {row["_cdc_reject_detail"] for row in project.log(mode)}
    assert not any(column in (detail or "").split(", ") for detail in misfits), misfits
    expected = [value for _, value in MODES[mode][1][column].values]
    assert found(project.log(mode), column, len(expected)) == [shown(value) for value in expected]


@pytest.mark.slow
def test_numbers_of_both_images_are_exact(project: Project) -> None:
    rows = {row["_cdc_line"]: row for row in project.log("types_of_numbers")}
    found = {line: (shown(row["_cdc_before__amount"]), shown(row["amount"])) for line, row in rows.items() if line < 4}
    none = shown(None)
    assert found == {
        1: (none, "decimal 1234567890123456789012345678.123456789"),
        2: ("decimal 0.1", "decimal 2.1"),
        3: (none, "decimal 9007199254740993"),
    }
    assert (rows[4]["_cdc_reject_reason"], rows[4]["_cdc_reject_detail"]) == ("type_misfit", "amount")


@pytest.mark.parametrize("column", EMBEDDED)
def test_schema_in_the_event_decides(project: Project, column: str) -> None:
    (row,) = project.log("types_embedded")
    assert column not in (row["_cdc_reject_detail"] or "").split(", ")
    assert shown(row[column]) == shown(EMBEDDED[column][3])


@pytest.mark.parametrize("mode", [*(pytest.param(mode, marks=pytest.mark.slow) for mode in MODES), "types_embedded"])
def test_no_good_value_is_rejected(project: Project, mode: str) -> None:
    assert {row["_cdc_reject_detail"] for row in project.log(mode)} == {None}


@pytest.mark.slow
@pytest.mark.parametrize("target", ["utc", "kolkata"])
def test_session_time_zone_shifts_nothing(project: Project, target: str) -> None:
    """The logs are built anew in another session time zone; all others are built in one that is none of these."""
    feeds = ["types_adaptive", "types_iso"]
    before = {feed: shown_rows(project.log(feed)) for feed in feeds}
    models = [project.feeds[feed].nodes["log"] for feed in feeds]
    outcome = project.dbt("run", "--full-refresh", "--target", target, "--select", *models)
    assert (outcome.failed, outcome.error) == (set(), "")
    assert {feed: shown_rows(project.log(feed)) for feed in feeds} == before


def shown_rows(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    return [{name: shown(value) for name, value in row.items() if name != "_cdc_batch"} for row in rows]
