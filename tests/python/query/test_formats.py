"""The formats, of results that no Spark has computed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import types

from alluvium.query import Format, QueryError
from alluvium.query.formats import write_csv, write_json_lines, write_parquet
from alluvium.query.output import Output
from alluvium.query.result import Result
from alluvium.query.values import arrow_type


class Made:
    """A result of given columns, each a name, a Spark type and values as Arrow stores them."""

    is_cut = False

    def __init__(self, *columns: tuple[str, types.DataType, list[Any]], failing: bool = False) -> None:
        self.fields = [types.StructField(name, data_type) for name, data_type, _ in columns]
        self.names = [field.name for field in self.fields]
        self._values = [values for *_, values in columns]
        self._failing = failing

    def schema(self, *, is_plain: bool) -> pa.Schema:
        return pa.schema([(field.name, arrow_type(field.dataType, is_plain=is_plain)) for field in self.fields])

    def batches(self, *, is_plain: bool) -> Iterator[pa.RecordBatch]:
        schema = self.schema(is_plain=is_plain)
        for start in (0, 2):
            arrays = [
                pa.array(values[start : start + 2], of) for values, of in zip(self._values, schema.types, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)
            if self._failing:
                raise QueryError("It broke.")


def made(*columns: tuple[str, types.DataType, list[Any]], failing: bool = False) -> Result:
    return cast("Result", Made(*columns, failing=failing))


TEXTS = made(
    ("a", types.StringType(), ["", None, 'say "x"', "1,2"]),
    ("b", types.StringType(), ["two\nlines", "NULL", " blank", "\r"]),
)


def test_csv_tells_null_from_an_empty_text() -> None:
    sink = io.BytesIO()
    write_csv(TEXTS, sink)
    assert sink.getvalue() == b'a,b\r\n"","two\nlines"\r\n,NULL\r\n"say ""x"""," blank"\r\n"1,2","\r"\r\n'
    read = list(csv.reader(io.StringIO(sink.getvalue().decode(), newline="")))
    assert read == [["a", "b"], ["", "two\nlines"], ["", "NULL"], ['say "x"', " blank"], ["1,2", "\r"]]


def test_column_without_a_type_is_null() -> None:
    sink = io.BytesIO()
    write_csv(made(("a", types.NullType(), [None]), ("b", types.ArrayType(types.NullType()), [[None]])), sink)
    assert sink.getvalue() == b"a,b\r\n,[null]\r\n"


def test_csv_keeps_columns_of_one_name() -> None:
    sink = io.BytesIO()
    write_csv(made(("a", types.IntegerType(), [1]), ("a", types.IntegerType(), [2])), sink)
    assert sink.getvalue() == b"a,a\r\n1,2\r\n"


def test_json_lines_have_all_digits() -> None:
    sink = io.BytesIO()
    decimal = Decimal("1234567890123456789012345678.0123456789")
    write_json_lines(
        made(("zoë", types.DecimalType(38, 10), [decimal, None]), ("n", types.LongType(), [2**63 - 1, 0])), sink
    )
    first, second = sink.getvalue().decode().splitlines()
    assert first == '{"zoë":1234567890123456789012345678.0123456789,"n":9223372036854775807}'
    assert json.loads(first, parse_float=Decimal)["zoë"] == decimal
    assert json.loads(second) == {"zoë": None, "n": 0}


NESTED = types.ArrayType(
    types.StructType([types.StructField("a", types.LongType()), types.StructField("a", types.LongType())])
)


@pytest.mark.parametrize("write", [write_json_lines, write_parquet])
@pytest.mark.parametrize(
    "columns",
    [[("a", types.LongType(), [1]), ("a", types.LongType(), [2])], [("x", NESTED, [None])]],
    ids=["columns", "fields of a struct"],
)
def test_names_that_are_there_twice_are_refused_before_a_byte_is_written(write: Any, columns: Any) -> None:
    sink = io.BytesIO()
    with pytest.raises(QueryError, match="a is there twice"):
        write(made(*columns), sink)
    assert sink.getvalue() == b""


def test_parquet_has_the_types(tmp_path: Path) -> None:
    file = tmp_path / "r.parquet"
    output = Output(Format.parquet, file)
    output.show(
        made(
            ("d", types.DecimalType(38, 10), [Decimal("0.0000000001"), None, Decimal("1")]),
            ("day", types.DateType(), [-735_525, 2**31 - 1, 0]),
            ("at", types.TimestampType(), [-(2**63) + 1, 2**63 - 1, None]),
            ("local", types.TimestampNTZType(), [1, 2, 3]),
        )
    )
    table = pq.read_table(file)
    assert table.schema.types == [pa.decimal128(38, 10), pa.date32(), pa.timestamp("us", tz="UTC"), pa.timestamp("us")]
    assert table["d"].to_pylist() == [Decimal("0.0000000001"), None, Decimal("1.0000000000")]
    assert table["day"].cast(pa.int32()).to_pylist() == [-735_525, 2**31 - 1, 0]
    assert table["at"].cast(pa.int64()).to_pylist() == [-(2**63) + 1, 2**63 - 1, None]
    assert list(tmp_path.iterdir()) == [file]


def test_parquet_goes_into_a_pipe_too(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    Output(Format.parquet).show(made(("a", types.LongType(), [1, 2, 3])))
    content = capfdbinary.readouterr().out
    assert pq.read_table(io.BytesIO(content)).to_pydict() == {"a": [1, 2, 3]}


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "table"])
def test_file_is_whole_or_as_it_was(form: str, tmp_path: Path) -> None:
    file = tmp_path / "r"
    file.write_text("before")
    with pytest.raises(QueryError, match="It broke"):
        Output(Format(form), file).show(made(("a", types.LongType(), [1, 2, 3]), failing=True))
    assert file.read_text() == "before"
    assert list(tmp_path.iterdir()) == [file]


def test_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="cannot be written: No such file or directory"):
        Output(Format.csv, tmp_path / "none" / "r").show(TEXTS)


def test_parquet_on_a_terminal_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    with pytest.raises(QueryError, match="name a file with --output"):
        Output(Format.parquet)


def test_statement_without_columns_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Output(Format.table).show(made())
    assert capsys.readouterr() == ("", "")
