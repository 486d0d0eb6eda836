"""The comparison itself, without Spark: an independent reader of the same files must equal the oracle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from . import events, not_equal_yet, oracle
from .canonical import civil, days_from_civil, from_oracle, from_spark
from .comparison import Difference, Row, compare
from .corpora import Checkpoint, Corpus, Table, column_meta, spark_type
from .landing import folder, land, landed_files
from .oracle import Known
from .verdict import describe, judge


def test_reader_differs_only_where_reasons_say(recorded: tuple[Corpus, Table, Checkpoint]) -> None:
    """Whatever a last-event-per-key reader cannot have is listed by the corpus or explained by a reason.

    So a difference of the silver tables that neither names is theirs, not the comparison's.
    """
    corpus, table, checkpoint = recorded
    layout = events.json_layout(corpus, table)
    assert layout is not None
    unexplained = not_equal_yet.expected_differences(corpus, table, checkpoint)[1]
    verdict = judge(unexplained, oracle.known(corpus, layout, checkpoint.name, table), {})
    assert not verdict.faults, describe(verdict.faults)


ROWS: list[Row] = [{"id": "1", "v": "a"}, {"id": "2", "v": None}]


def test_equal_rows_have_no_difference_in_any_order() -> None:
    result = compare(ROWS, ROWS[::-1], ["id"], ["id", "v"])
    assert result.differences == ()
    assert result.cells == 4


@pytest.mark.parametrize(
    ("actual", "difference"),
    [
        ([{"id": "1", "v": "b"}, ROWS[1]], Difference("column", ("1",), "v")),
        ([ROWS[0], {"id": "2", "v": ""}], Difference("column", ("2",), "v")),
        ([ROWS[0]], Difference("missing", ("2",))),
        ([*ROWS, {"id": "3", "v": "c"}], Difference("extra", ("3",))),
        ([*ROWS, ROWS[0]], Difference("duplicate", ("1",))),
    ],
    ids=["value", "null", "missing", "extra", "duplicate"],
)
def test_each_kind_of_difference_is_found(actual: list[Row], difference: Difference) -> None:
    assert compare(ROWS, actual, ["id"], ["id", "v"]).differences == (difference,)


def test_rows_without_key_are_counted() -> None:
    twice = [ROWS[0], ROWS[0]]
    assert compare(twice, twice, [], ["id", "v"]).differences == ()
    assert compare(twice, [ROWS[0]], [], ["id", "v"]).differences == (Difference("missing", ("1", "a")),)
    assert compare([ROWS[0]], twice, [], ["id", "v"]).differences == (Difference("extra", ("1", "a")),)


REASON = not_equal_yet.Reason("some", "some reason", lambda _difference, _evidence: True)
CELL, ROW = Difference("column", ("1",), "v"), Difference("missing", ("2",))


def test_only_the_named_cells_are_excused() -> None:
    known = [Known(("1",), "v", "not in the events")]
    verdict = judge([CELL, ROW], known, {})
    assert (verdict.faults, verdict.excused) == ((ROW,), 1)
    assert judge([ROW], [Known(("2",), None, "the whole row")], {}).faults == ()
    assert judge([CELL, ROW], [Known(None, None, "the whole table")], {}).faults == ()


def test_a_pending_cell_that_is_equal_settles_its_reason() -> None:
    verdict = judge([CELL], [], {CELL: REASON})
    assert (verdict.faults, verdict.pending, verdict.settled) == ((), {"some": 1}, ())
    assert judge([], [], {CELL: REASON}).settled == ("some",)


@pytest.mark.parametrize(
    ("engine", "database_type", "value", "text"),
    [
        ("postgresql", "boolean", True, "t"),
        ("postgresql", "numeric(12,2)", "-0.50", "-0.50"),
        ("postgresql", "numeric(12,2)", "1E+3", "1000.00"),
        ("postgresql", "numeric", "12345.670000000000000000", "12345.67"),
        ("postgresql", "numeric", "0E-18", "0"),
        ("postgresql", "real", 0.10000000149011612, "0.1"),
        ("postgresql", "double precision", 1e300, "1e+300"),
        ("postgresql", "double precision", float("nan"), "NaN"),
        ("postgresql", "date", -735160, "0044-03-15 BC"),
        ("postgresql", "date", -141438, "1582-10-04"),
        ("postgresql", "date", 2932896, "9999-12-31"),
        ("postgresql", "timestamp with time zone", -1, "1969-12-31 23:59:59.999999+00"),
        ("postgresql", "timestamp with time zone", -63517780800000000, "0044-03-15 12:00:00+00 BC"),
        ("postgresql", "timestamp with time zone", 9223372036825200000, "infinity"),
        ("postgresql", "timestamp without time zone", "-0043-03-15 12:00:00", "0044-03-15 12:00:00 BC"),
        ("postgresql", "timestamp without time zone", "+10000-01-01 00:00:00.5", "10000-01-01 00:00:00.5"),
        ("postgresql", "time without time zone", 86_400_000_000, "24:00:00"),
        ("postgresql", "time without time zone", 1_000, "00:00:00.001"),
        ("postgresql", "bytea", "0AFF", "\\x0aff"),
        ("postgresql", "bytea", "", "\\x"),
        ("postgresql", "text[]", ["a", "", "b c", None, "null", 'q"\\', "é"], '{a,"","b c",NULL,"null","q\\"\\\\",é}'),
        ("postgresql", "bigint[]", [1, None, -(2**63)], "{1,NULL,-9223372036854775808}"),
        ("postgresql", "hstore", '{"b": null, "a": "1"}', '"a"=>"1", "b"=>NULL'),
        ("postgresql", "jsonb", '{"a": 1.0}', '{"a": 1.0}'),
        ("mariadb", "bigint(20) unsigned", "18446744073709551615", "18446744073709551615"),
        ("mariadb", "float", -32500000768.0, "-32500000000"),
        ("mariadb", "bit(1)", True, "1"),
        ("mariadb", "bit(8)", 240, "240"),
        ("mariadb", "datetime(3)", "2020-11-29 23:28:11.9", "2020-11-29 23:28:11.900"),
        ("mariadb", "datetime", "2020-11-29 23:28:11", "2020-11-29 23:28:11"),
        ("mariadb", "timestamp(6)", 1_000_000, "1970-01-01 00:00:01.000000"),
        ("mariadb", "date", None, "0000-00-00"),
        ("mariadb", "time(3)", -3_020_399_000_000, "-838:59:59.000"),
        ("mariadb", "blob", "a8", "0xA8"),
        ("mariadb", "year(4)", 2155, "2155"),
    ],
)
def test_one_text_per_value(engine: str, database_type: str, value: Any, text: str) -> None:
    assert from_spark(engine, database_type, value) == from_oracle(engine, database_type, text)


@pytest.mark.parametrize(
    ("engine", "database_type", "value", "text"),
    [
        ("postgresql", "numeric(12,2)", "0.504", "0.50"),
        ("postgresql", "text", "", None),
        ("postgresql", "double precision", 0.1 + 0.2, "0.3"),
        ("postgresql", "timestamp with time zone", 1, "1970-01-01 00:00:00+00"),
        ("mariadb", "datetime(3)", "2020-11-29 23:28:11.9001", "2020-11-29 23:28:11.900"),
        ("mariadb", "decimal(20,4)", "1.00001", "1.0000"),
    ],
)
def test_values_that_nearly_equal_do_not(engine: str, database_type: str, value: Any, text: str | None) -> None:
    assert from_spark(engine, database_type, value) != from_oracle(engine, database_type, text)


def test_civil_agrees_with_the_calendar_of_python() -> None:
    import datetime

    epoch = datetime.date(1970, 1, 1).toordinal()
    for ordinal in range(1, datetime.date.max.toordinal(), 997):
        date = datetime.date.fromordinal(ordinal)
        assert civil(ordinal - epoch) == (date.year, date.month, date.day)
        assert days_from_civil(date.year, date.month, date.day) == ordinal - epoch


def test_types_are_declared_as_a_user_would() -> None:
    assert spark_type("postgresql", "timestamp(3) without time zone") == "timestamp_ntz"
    assert spark_type("postgresql", "uuid[]") == "array<string>"
    assert spark_type("postgresql", "mood") == "string"
    assert spark_type("mariadb", "int(10) unsigned") == "bigint"
    milliseconds = {"semantic_type": "io.debezium.time.Timestamp"}
    assert column_meta("postgresql", "timestamp(3) without time zone", "adaptive", "precise") == milliseconds
    assert column_meta("postgresql", "timestamp(3) without time zone", "connect", "precise") == {}
    assert column_meta("mariadb", "datetime", "adaptive_time_microseconds", "precise") == milliseconds
    microseconds = {"semantic_type": "io.debezium.time.MicroTimestamp"}
    assert column_meta("mariadb", "datetime(6)", "adaptive_time_microseconds", "precise") == microseconds


def test_checkpoints_land_every_file_once(corpus: Corpus, tmp_path: Path) -> None:
    """Landing checkpoint after checkpoint leaves every file under its own relative path, and adds each once."""
    for layout in corpus.layouts:
        target = tmp_path / layout.name
        added = [land(corpus, layout, checkpoint, target) for checkpoint in corpus.checkpoints]
        assert all(added)
        landed = {path.relative_to(target) for path in target.rglob("*") if path.is_file()}
        assert landed == {file.path.relative_to(folder(corpus, layout)) for file in landed_files(corpus, layout)}
        assert sum(added) == len(landed)
        assert land(corpus, layout, corpus.checkpoints[-1], target) == 0
