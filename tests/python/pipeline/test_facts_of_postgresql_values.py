"""What real streams of PostgreSQL have shown, fact by fact (FACTS.md of the captures): what a value is.

The lines are recorded ones (recorded.py). Each test first says that they show the fact, then what comes out.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from decimal import Decimal

import pyarrow.parquet as pq
import pytest

from .project import Feed, Project
from .recorded import FIXTURES, ORDERS, VARIABLE, by_id, image, landed, payload, recorded, where

pytestmark = pytest.mark.slow

MARK = "__debezium_unavailable_value"
CONNECT_DECIMAL = {"semantic_type": "org.apache.kafka.connect.data.Decimal"}
BITS = {"semantic_type": "io.debezium.data.Bits"}
# A date that is infinite is rejected; its raw number is to be had.
VALUES = {
    "id": "int",
    "n_any": ("string", VARIABLE),
    "n_38": "decimal(38,10)",
    "n_big": ("string", CONNECT_DECIMAL),
    "n_neg": ("string", CONNECT_DECIMAL),
    "f4": "float",
    "f8": "double",
    "d": "date",
    "ts": "timestamp_ntz",
    "ts0": "timestamp_ntz",
    "tz": "timestamp",
    "tt": ("bigint", {"semantic_type": "io.debezium.time.Time"}),
    "ttz": "string",
    "iv": "bigint",
    "m": "decimal(12,2)",
    **dict.fromkeys(("ip", "cd", "mac"), "string"),
    "b1": "boolean",
    **dict.fromkeys(("b3", "vb"), ("bigint", BITS)),
    "pt": "struct<x:double,y:double,wkb:string,srid:int>",
    **dict.fromkeys(("r4", "nr", "tsr", "tsv", "c1", "bp", "vc", "ci"), "string"),
    "o": "bigint",
    "hs": "string",
    "dom": "int",
    **dict.fromkeys(("comp", "x", "js", "jb"), "string"),
    "a_num": "array<decimal(10,2)>",
    "a_any": ("array<decimal(38,2)>", VARIABLE),
    "a_ts": "array<timestamp>",
    "a_d": "array<int>",
    "a_bool": "array<boolean>",
    "a_js": "array<string>",
    "a_2d": "array<int>",
    "a_b": "array<binary>",
    "a_f8": "array<double>",
    "a_vc": "array<string>",
    "gen": "int",
    "dflt_null": "string",
    "dflt_num": "int",
}
ROWS = {"connector": "table", "shape": "row", "order_by": "offset"}
FLATTENED = {"shape": "flattened", "replica_identity": "default"}
PARQUET = FIXTURES / "pg-envelope-json-schemas" / "confluent-parquet" / "shop.public.inventory"

FEEDS = [
    Feed(
        "fact_dates",
        {"id": "int", "d": "date"},
        landed(recorded("05_dates")),
        cdc={"unknown_columns": "ignore"},
    ),
    Feed(
        "fact_times",
        {"id": "int", "d": "int", "ts": "timestamp_ntz", "tz": "timestamp"},
        landed(recorded("05_dates")),
        cdc={"unknown_columns": "ignore"},
    ),
    Feed("fact_values", VALUES, landed(recorded("06_values")), models=("log", "state")),
    Feed(
        "fact_texts",
        {"id": "int", "ratio": "string", "balance": "decimal(12,2)", "local_ts": "timestamp_ntz"},
        landed(recorded("06_texts")),
        cdc=FLATTENED
        | {"decimal_handling_mode": "string", "time_precision_mode": "connect", "unknown_columns": "ignore"},
    ),
    Feed(
        "fact_orders",
        ORDERS | {"channel": "string", "priority": ("int", {"default": 5})},
        landed(recorded("11_added_columns")),
        ("region", "order_no"),
        {"replica_identity": "default"},
        models=("log", "state"),
    ),
    Feed(
        "fact_inventory",
        {"sku": "string", "qty": "bigint", "counted_on": "date"},
        [{path.name: path.read_bytes() for path in PARQUET.iterdir()}],
        ("sku",),
        {"replica_identity": "default"},
        using="parquet",
        models=("log", "state"),
    ),
    Feed(
        "fact_routed",
        {
            "order_id": "int",
            "status": "string",
            "order_date": "string",
            "customer_id": "string",
            "shipped_date": "string",
            "items": "string",
        },
        # A payload that is NULL is four letters.
        landed([*recorded("17_routed"), "null"]),
        ("order_id",),
        ROWS,
        models=("log", "state"),
    ),
    Feed(
        "fact_documents",
        {
            "order_id": "int",
            "customer_id": "string",
            "order_date": "date",
            "shipped_date": "date",
            "order_items": "string",
            "updated_at": "timestamp",
        },
        landed(recorded("17_documents")),
        ("order_id",),
        FLATTENED,
        models=("log", "state"),
    ),
]


def test_fact_05_infinite_date_is_refused(project: Project) -> None:
    sent = {image(line)["id"]: image(line)["d"] for line in recorded("05_dates")}
    assert (sent[4], sent[104]) == (-622191234, -2147472692)
    assert (sent[5], sent[105]) == (-625821272, -2147472691)
    log = project.log("fact_dates")
    assert {row["id"]: row["d"] for row in log if row["_cdc_kind"] == "change"} == {
        # The snapshot has lost the era, and nothing in the event says so.
        6: "0044-03-15",
        106: "-0043-03-15",
        7: "+5874897-12-31",
        107: "+5874897-12-31",
    }
    rejected = {
        payload(row["_cdc_raw"].encode())["after"]["id"]: (row["_cdc_reject_reason"], row["_cdc_reject_detail"])
        for row in log
        if row["_cdc_kind"] == "rejected"
    }
    assert rejected == dict.fromkeys((4, 5, 104, 105), ("type_misfit", "d"))


def test_fact_05_infinite_and_ancient_times_are_exact_and_those_that_overflow_are_refused(project: Project) -> None:
    sent = {image(line)["id"]: image(line)["ts"] for line in recorded("05_dates")}
    assert sent[7] == sent[107] == -9223372036853775810
    far, past = "+294247-01-10 04:00:25.2", "-290308-12-21 19:59:27.6"
    log = project.log("fact_times")
    # The raw number of an infinite date is to be had in a column of numbers.
    assert {row["id"]: (row["d"], row["ts"], row["tz"]) for row in log if row["_cdc_kind"] == "change"} == {
        4: (-622191234, far, past),
        104: (-2147472692, far, past),
        5: (-625821272, past, far),
        105: (-2147472691, past, far),
        6: (-703383, "-0043-03-15 12:00:00", "-0043-03-15 12:00:00"),
        106: (-735160, "-0043-03-15 12:00:00", "-0043-03-15 12:00:00"),
    }
    rejected = [
        (payload(row["_cdc_raw"].encode())["after"]["id"], row["_cdc_reject_detail"])
        for row in log
        if row["_cdc_kind"] == "rejected"
    ]
    assert sorted(rejected) == [(7, "ts, tz"), (107, "ts, tz")]


@pytest.mark.parametrize("key", [3, 103])
def test_fact_06_numbers_are_exact_whatever_their_scale(project: Project, key: int) -> None:
    line, *_ = where(recorded("06_values"), lambda event: event["after"]["id"] == key)
    assert image(line)["n_any"]["scale"] == 2  # of 12345.6700
    row = by_id(project.state("fact_values"))[key]
    assert (row["n_any"], row["n_38"]) == ("12345.67", Decimal("1234567890123456789012345678.0123456789"))
    assert row["n_big"] == "1234567890123456789012345678901234567890.00000000000000000001"
    # numeric(5,-2), sent with a scale of 2046.
    assert Decimal(row["n_neg"]) == 12300
    assert len(row["n_neg"].partition(".")[2]) == 2046
    assert (math.isnan(row["f4"]), row["f8"], row["m"]) == (True, -math.inf, Decimal("-1234.56"))
    assert row["a_any"] == [Decimal("1.50"), Decimal(10) ** 20]
    assert row["a_num"] == [Decimal("1.00"), None, Decimal("-2.50")]


def test_fact_06_nan_and_infinity_of_a_numeric_arrive_as_null(project: Project) -> None:
    rows = by_id(project.state("fact_values"))
    of_the_source = {308: ("n_any", "NaN"), 309: ("n_any", "Infinity"), 310: ("n_38", "NaN"), 311: ("a_any", "{NaN}")}
    for line in where(recorded("06_values"), lambda event: event["after"]["id"] in of_the_source):
        key = image(line)["id"]
        name = of_the_source[key][0]
        assert (image(line)[name], rows[key][name]) == (None, None)


def test_fact_06_decimal_text_keeps_its_zeros(project: Project) -> None:
    rows = by_id(project.log("fact_texts"))
    assert {key: (row["ratio"], row["balance"]) for key, row in rows.items()} == {
        47: ("5.000", None),
        60: ("0.10", Decimal("-9999999999.99")),
    }
    assert (rows[47]["local_ts"], rows[60]["local_ts"]) == ("2019-07-21 13:27:56", "2024-11-27 17:27:13.999")


def test_fact_11_old_row_has_the_default_of_an_added_column(project: Project) -> None:
    (old,) = where(recorded("11_added_columns"), lambda event: event["after"]["order_no"] == 67)
    assert "priority" not in image(old)
    later = where(recorded("11_added_columns"), lambda event: "priority" in event["after"])
    fields = json.loads(later[0])["schema"]["fields"][1]["fields"]
    assert {"type": "int32", "optional": False, "default": 5, "field": "priority"} in fields
    rows = by_id(project.state("fact_orders"), "order_no")
    assert {key: (row["priority"], row["channel"], row["status"]) for key, row in rows.items()} == {
        67: (5, None, "sent"),
        17: (5, "ü", "late"),
        24: (5, None, "late"),
    }
    absent = [(row["order_no"], row["_cdc_absent_columns"]) for row in project.log("fact_orders")]
    assert [(key, names) for key, names in absent if key == 67] == [(67, ["channel", "priority"])]
    assert sum(names is None for _, names in absent) == 3


def test_fact_11_parquet_files_of_before_and_after_a_wider_type_are_read_together(project: Project) -> None:
    tables = [pq.read_table(path) for path in sorted(PARQUET.iterdir())]
    types = [str(table.schema.field("after").type.field("qty").type) for table in tables]
    assert types == ["int32", "int64"]
    # One partition, so the last record of a key is its newest.
    newest = {record["after"]["sku"]: record["after"] for table in tables for record in table.to_pylist()}
    rows = by_id(project.state("fact_inventory"), "sku")
    assert {key: row["qty"] for key, row in rows.items()} == {key: row["qty"] for key, row in newest.items()}
    assert max(row["qty"] for row in rows.values()) > 2**31 - 1
    assert {row["_cdc_kind"] for row in project.log("fact_inventory")} == {"change"}


def test_fact_12_null_in_a_column_with_a_default_arrives_as_the_default(project: Project) -> None:
    """The database has NULL in both, and nothing in the event says so (docs/guide/limits.md)."""
    (line,) = where(recorded("06_values"), lambda event: event["after"]["id"] == 2)
    assert (image(line)["dflt_null"], image(line)["dflt_num"]) == ("the default", 7)
    row = by_id(project.state("fact_values"))[2]
    assert (row["dflt_null"], row["dflt_num"]) == ("the default", 7)


def test_fact_13_generated_and_composite_columns_are_absent_from_the_stream(project: Project) -> None:
    rows = by_id(project.state("fact_values"))
    log = by_id(project.log("fact_values"))
    assert (rows[3]["gen"], rows[103]["gen"]) == (6, None)
    assert (log[3]["_cdc_absent_columns"], log[103]["_cdc_absent_columns"]) == (["comp"], ["comp", "gen"])
    # {{1,2},{3,4}} in the database.
    assert rows[3]["a_2d"] == rows[103]["a_2d"] == [None, None]


@pytest.mark.parametrize("key", [3, 103])
def test_fact_13_values_of_odd_types_are_those_of_the_event(project: Project, key: int) -> None:
    row = by_id(project.state("fact_values"))[key]
    expected = {
        "d": "2024-02-29",
        "ts": "2024-02-29 12:34:56.789012",
        "ts0": "2024-02-29 12:34:56",
        "tz": "2024-02-29 07:04:56.789012",
        "tt": 3723456000,
        "ttz": "19:32:03.456789Z",  # 01:02:03.456789+05:30
        "iv": 37091106789000,  # a year, two months, three days and 04:05:06.789
        "b1": True,
        "b3": 0b101,
        "vb": 0b1100,
        "r4": "[1,10)",
        "nr": "(1.5,)",
        "tsr": '["2024-01-01 00:00:00","2024-02-01 00:00:00")',
        "bp": "ab    ",
        "vc": "ab ",
        "o": 4294967295,
        "hs": '{"a":"1","b c":null}',
        "js": '{"b": 1, "a": 2, "b": 3}',
        "x": "<a>é</a>",
        "a_ts": ["2024-01-01 00:00:00", None],
        "a_d": [19723, -622191234],
        "a_js": ['{"a": 1}', None],
        "a_b": [b"\x00\xff"],
        "a_vc": ["ab", None],
    }
    assert {name: row[name] for name in expected} == expected
    assert json.loads(row["jb"], parse_int=str)["a"] == "1" + "0" * 400
    assert (row["pt"]["x"], row["pt"]["y"]) == (1.5, -2.0)
    assert (row["a_f8"][0], math.isnan(row["a_f8"][1])) == (1.5, True)


def test_fact_17_routed_event_without_a_field_has_null_there(project: Project) -> None:
    """Read as bare rows, by their place in the topic; the router drops fields that are NULL, and empty arrays."""
    assert "shipped_date" not in json.loads(recorded("17_routed")[0])
    rows = by_id(project.state("fact_routed"), "order_id")
    assert {key: (row["status"], row["shipped_date"], row["items"] is None) for key, row in rows.items()} == {
        10274: ("shipped", "1997-11-15", False),
        10275: ("cancelled", None, False),
        10276: ("placed", None, True),
    }
    assert Counter(row["_cdc_kind"] for row in project.log("fact_routed")) == {"change": 5, "tombstone": 1}


def test_fact_17_document_that_an_update_has_not_sent_is_held(project: Project) -> None:
    created, updated, shipped = map(json.loads, recorded("17_documents"))
    assert (created["order_items"], shipped["order_items"]) == (None, MARK)
    assert {record["__deleted"] for record in (created, updated, shipped)} == {"false"}
    (row,) = project.state("fact_documents")
    assert row["order_items"] == updated["order_items"]
    assert (row["order_date"], row["shipped_date"], row["_is_deleted"]) == ("1997-08-16", "1997-08-27", False)
