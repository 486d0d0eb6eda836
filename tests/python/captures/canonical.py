"""One exact text per value, the same whether it comes from the database or from Spark.

The text is what the database prints (psql with UTC and ISO dates; MariaDB's ``CAST(... AS CHAR)``), except where two
texts stand for one value: floating point, PostgreSQL's unconstrained numeric and hstore.

A value from Spark comes in the form in which `fetch_expression` reads it, which no time zone, calendar limit of
Python or binary float can change:

=================  =======================================================
Spark type         form
=================  =======================================================
string             str
boolean            bool
tinyint..bigint    int
float, double      float
decimal            str
date               int, days since 1970-01-01 (proleptic Gregorian)
timestamp          int, microseconds since 1970-01-01 00:00:00 UTC
timestamp_ntz      str, Spark's cast to string
binary             str, hexadecimal digits
array<T>           list of the form of T
=================  =======================================================
"""

from __future__ import annotations

import json
import re
import struct
from decimal import Decimal
from typing import Any

from .corpora import base_type, spark_type, type_arguments

MICROSECONDS_PER_DAY = 86_400_000_000

INFINITY = {
    # What Debezium 3.6 sends for PostgreSQL's infinite timestamps in microseconds (PGStatement.DATE_POSITIVE_INFINITY).
    9_223_372_036_825_200_000: "infinity",
    -9_223_372_036_832_400_000: "-infinity",
}


def fetch_expression(column: str, spark_type: str) -> str:
    """Spark SQL that reads a column in the form this module expects.

    Args:
        column: SQL expression of the column, quoted.
        spark_type: its type, as declared.
    """
    if spark_type.startswith("array<"):
        inner = fetch_expression("x", spark_type[len("array<") : -1])
        return column if inner == "x" else f"transform({column}, x -> {inner})"
    if spark_type == "date":
        return f"unix_date({column})"
    if spark_type == "timestamp":
        return f"unix_micros({column})"
    if spark_type == "binary":
        return f"hex({column})"
    if spark_type == "timestamp_ntz" or spark_type.startswith("decimal"):
        return f"cast({column} as string)"
    return column


def from_oracle(engine: str, database_type: str, text: str | None) -> str | None:
    """Canonical text of a value as the oracle has it."""
    if text is None:
        return None
    base = base_type(database_type)
    if engine == "mariadb" and base in ("date", "datetime", "timestamp") and text.startswith("0000-00-00"):
        # The connector sends NULL for a zero date in a nullable column.
        return None
    if base in ("real", "float") and not database_type.endswith("[]"):
        return _single(engine, float(text))
    if base in ("double precision", "double") and not database_type.endswith("[]"):
        return repr(float(text))
    if database_type == "numeric":
        return _shortest(text)
    if base == "hstore":
        return _pairs(_parse_hstore(text))
    return text


def from_spark(engine: str, database_type: str, value: Any) -> str | None:
    """Canonical text of a value that was read with `fetch_expression`.

    Raises:
        ValueError, TypeError: the value does not have the form of the declared type.
    """
    if value is None:
        return None
    declared = spark_type(engine, database_type)
    if database_type.endswith("[]"):
        return _array([from_spark(engine, database_type[:-2], element) for element in value])
    if declared == "boolean":
        return ("t" if value else "f") if engine == "postgresql" else str(int(value))
    if declared in ("float", "double"):
        return _single(engine, float(value)) if declared == "float" else repr(float(value))
    if database_type == "numeric":
        return _shortest(value)
    if declared.startswith("decimal"):
        return _fixed(value, int(declared[:-1].split(",")[1]))
    if declared == "date":
        year, month, day = civil(int(value))
        return _date(engine, year, month, day)[0] + _date(engine, year, month, day)[1]
    if declared in ("timestamp", "timestamp_ntz"):
        return _timestamp(engine, database_type, declared, value)
    if base_type(database_type) in ("time without time zone", "time"):
        return _time(engine, database_type, int(value))
    if declared == "binary":
        return _binary(engine, value)
    if base_type(database_type) == "hstore":
        return _pairs(json.loads(value))
    return str(value)


def civil(days: int) -> tuple[int, int, int]:
    """(astronomical year, month, day) of a day number since 1970-01-01; year 0 is 1 BC."""
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year_of_era + era * 400 + (month <= 2), month, day_of_year - (153 * shifted + 2) // 5 + 1


def days_from_civil(year: int, month: int, day: int) -> int:
    """Inverse of `civil`."""
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def _date(engine: str, year: int, month: int, day: int) -> tuple[str, str]:
    """Date text and era suffix: PostgreSQL counts 1 BC, 2 BC..."""
    if engine == "postgresql" and year <= 0:
        return f"{1 - year:04d}-{month:02d}-{day:02d}", " BC"
    return f"{year:04d}-{month:02d}-{day:02d}", ""


def _timestamp(engine: str, database_type: str, declared: str, value: Any) -> str:
    if declared == "timestamp":
        instant = int(value)
    else:
        match = re.fullmatch(r"([+-]?\d{4,})-(\d\d)-(\d\d)(?: (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?)?", value)
        if match is None:
            raise ValueError(f"not a timestamp_ntz: {value!r}")
        days = days_from_civil(int(match[1]), int(match[2]), int(match[3]))
        seconds = (int(match[4] or 0) * 60 + int(match[5] or 0)) * 60 + int(match[6] or 0)
        instant = days * MICROSECONDS_PER_DAY + seconds * 1_000_000 + int((match[7] or "").ljust(6, "0"))
    if engine == "postgresql" and instant in INFINITY:
        return INFINITY[instant]
    days, microseconds = divmod(instant, MICROSECONDS_PER_DAY)
    year, month, day = civil(days)
    date, era = _date(engine, year, month, day)
    zone = "+00" if engine == "postgresql" and declared == "timestamp" else ""
    return f"{date} {_time_of_day(engine, database_type, microseconds)}{zone}{era}"


def _time(engine: str, database_type: str, microseconds: int) -> str:
    sign = "-" if microseconds < 0 else ""
    return sign + _time_of_day(engine, database_type, abs(microseconds))


def _time_of_day(engine: str, database_type: str, microseconds: int) -> str:
    """PostgreSQL leaves trailing zeros of the fraction out, MariaDB prints as many digits as the type has."""
    seconds, fraction = divmod(microseconds, 1_000_000)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    digits = f"{fraction:06d}"
    if engine == "postgresql":
        return text + (f".{digits.rstrip('0')}" if fraction else "")
    declared = (*type_arguments(database_type), 0)[0]
    # Digits beyond the type would be a wrong value, so they are shown, not cut.
    shown = digits[:declared] if not digits[declared:].strip("0") else digits
    return text + (f".{shown}" if shown else "")


def _binary(engine: str, hexadecimal: str) -> str:
    return f"\\x{hexadecimal.lower()}" if engine == "postgresql" else f"0x{hexadecimal.upper()}"


def _single(engine: str, value: float) -> str:
    """A single-precision value. MariaDB prints only six digits of it, so two values that print alike are equal."""
    if engine == "mariadb":
        return f"{value:.6g}"
    return repr(struct.unpack("<f", struct.pack("<f", value))[0])


def _fixed(text: str, scale: int) -> str:
    exact = format(Decimal(text), "f")
    whole, _, fraction = exact.partition(".")
    # Digits beyond the scale would be a wrong value, so they are shown, not rounded.
    fraction = fraction.ljust(scale, "0")
    return f"{whole}.{fraction}" if fraction else whole


def _shortest(text: str) -> str:
    exact = format(Decimal(text), "f")
    if "." in exact:
        exact = exact.rstrip("0").rstrip(".")
    return "0" if exact == "-0" else exact


def _array(elements: list[str | None]) -> str:
    def quoted(element: str | None) -> str:
        if element is None:
            return "NULL"
        if element == "" or element.upper() == "NULL" or re.search(r'[{}",\\ \t\n\r\v\f]', element):
            escaped = element.replace("\\", "\\\\").replace('"', '\\"')
            return f'"{escaped}"'
        return element

    return "{" + ",".join(quoted(element) for element in elements) + "}"


def _parse_hstore(text: str) -> dict[str, str | None]:
    pattern = r'"((?:[^"\\]|\\.)*)"=>(?:"((?:[^"\\]|\\.)*)"|(NULL))'
    pairs: dict[str, str | None] = {}
    for key, value, null in re.findall(pattern, text, flags=re.DOTALL):
        pairs[re.sub(r"\\(.)", r"\1", key)] = None if null else re.sub(r"\\(.)", r"\1", value)
    return pairs


def _pairs(pairs: dict[str, str | None]) -> str:
    return json.dumps(pairs, sort_keys=True, ensure_ascii=False)
