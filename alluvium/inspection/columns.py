"""The columns of an entity: names, order, types, NULLs, defaults, and how their values are encoded."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .decimals import Decimals, decimals_of, decimals_of_schemas
from .declared_types import checked_against_values, is_decimal
from .defaults import default_by_declaration, default_by_schema
from .field_versions import latest_that_holds_all, propose_from_versions, versions_of_fields
from .key_names import is_named_like_key
from .numbers import may_be_times
from .types import ProposedType, Values, propose_from_values, question_of_zone

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from .schemas import Schema
    from .table_changes import DeclaredTable

MAX_ORDERS = 100
"""Different orders of an entity's columns; a document may have any, and no more of them tell anything."""

_WIDTHS = ("int32", "int64", "string")
_ISO = "io.debezium.time.Iso"


@dataclass(frozen=True)
class Column:
    """A column of an entity.

    Attributes:
        name: as in the records.
        type: proposed.
        has_nulls: whether a value was NULL or absent.
        hides_nulls: whether it may be NULL and has a default, which a converter sends in the place of NULL.
        added_default: of a column that was added later, for whose old rows no event was sent, as a number or a text
            that Spark casts to its type; or None.
        lacks_default: whether it was added later, and nothing says whether the rows from before have a default.
    """

    name: str
    type: ProposedType
    has_nulls: bool
    hides_nulls: bool = False
    added_default: Any = None
    lacks_default: bool = False


@dataclass(frozen=True)
class Encoding:
    """How values are encoded, as far as the connector's and the converter's options decide it.

    Attributes:
        decimals: how they are written where no schema says it.
        has_precise_unsigned: whether unsigned 64-bit integers are sent as decimals (``precise``), not as whole numbers.
        names_connect_types: whether a schema has a type of a column in Kafka Connect's own names.
        possible_times: names of whole numbers that no schema describes and that may count days or be times.
        schema_versions: number of different row schemas in the files; 0 where they have none.
    """

    decimals: Decimals
    has_precise_unsigned: bool
    names_connect_types: bool
    possible_times: tuple[str, ...]
    schema_versions: int


@dataclass
class ColumnsRead:
    """What rows and their schemas show of the columns.

    Attributes:
        values: what was seen of each column in rows.
        deleted: what was seen of each in before images of deletes.
        orders: the columns of rows in each of their orders, with the time of its latest row in seconds since 1970.
        rows: number of rows.
        empty_rows: number of those with NULLs only.
        first: columns of the first row.
        schemas: of rows, by their ids, with the time of the latest row in seconds since 1970.
        says_meaning: whether these say what values mean: False where a file says only how wide its numbers are.
    """

    values: defaultdict[str, Values] = field(default_factory=lambda: defaultdict(Values))
    deleted: defaultdict[str, Values] = field(default_factory=lambda: defaultdict(Values))
    orders: dict[tuple[str, ...], float] = field(default_factory=dict)
    rows: int = 0
    empty_rows: int = 0
    first: frozenset[str] = frozenset()
    schemas: dict[int, tuple[Schema, float]] = field(default_factory=dict)
    says_meaning: bool = True

    def add_schema(self, schema: Schema, time: float) -> None:
        """Add the schema of a row."""
        _, before = self.schemas.get(id(schema), (schema, 0.0))
        self.schemas[id(schema)] = schema, max(before, time)

    def add_row(self, row: Mapping[str, Any], time: float) -> None:
        """Add a row."""
        if not self.rows:
            self.first = frozenset(row)
        self.rows += 1
        self.empty_rows += all(value is None for value in row.values())
        for name, value in row.items():
            self.values[name].add(value)
        # Orders of the same time are in the order in which they were read last.
        names = tuple(row)
        if names in self.orders or len(self.orders) < MAX_ORDERS:
            self.orders[names] = max(time, self.orders.pop(names, 0.0))

    def add_deleted(self, before: Mapping[str, Any]) -> None:
        """Add the before image of a delete."""
        for name, value in before.items():
            self.deleted[name].add(value)

    def fields(self) -> Iterator[tuple[str, Schema]]:
        """Name and schema of each column in each row schema."""
        return (entry for schema, _ in self.schemas.values() for entry in schema.fields.items())

    def described(self) -> set[str]:
        """The columns of which records say themselves what their values mean, and which default they have."""
        return {name for name, _ in self.fields()} if self.says_meaning else set()

    def names(self) -> list[str]:
        """All columns in order; rows have the order of their schema, and a topic of deletes alone has no row."""
        of_schemas = [(time, tuple(schema.fields)) for schema, time in self.schemas.values()]
        orders = sorted([*of_schemas, *((time, names) for names, time in self.orders.items())], key=lambda one: one[0])
        # A delete may be the first event that has a column. From deletes alone nobody knows the others.
        deleted = self.deleted if self.rows else ()
        return list(dict.fromkeys([*latest_order([names for _, names in orders]), *self.values, *deleted]))


def latest_order(orders: Sequence[Sequence[str]]) -> list[str]:
    """All columns in the latest order; one that it lacks stands behind the one that it stood behind before.

    Args:
        orders: names of columns, the latest order last.
    """
    names: list[str] = []
    for order in reversed(orders):
        place = 0
        for name in order:
            if name not in names:
                names.insert(place, name)
            place = names.index(name) + 1
    return names


def propose_columns(read: ColumnsRead, table: DeclaredTable | None, connector: str | None) -> tuple[Column, ...]:
    """The columns in their order: types by schema changes, else by the records' own schemas, else by values.

    Args:
        read: what rows and their schemas show.
        table: as schema changes declare it, or None.
        connector: of the events, or None.
    """
    schemas = [schema for schema, _ in sorted(read.schemas.values(), key=lambda entry: entry[1])]
    versions = versions_of_fields(schemas)
    described = {name: latest_that_holds_all(found) for name, found in versions.items()}
    declared = checked_against_values(table.types, read.values, described) if table else {}
    seen, names, nothing = {**read.deleted, **read.values}, read.names(), Values()
    # Added later, in records that have no word for its default.
    unsaid = seen.keys() & {*names} - read.described() - declared.keys() - read.first
    columns = []
    for name in names:
        schema = described.get(name)
        if name in declared:
            proposed = declared[name]
        elif schema and _says_type(schema, read):
            proposed = propose_from_versions(versions[name])
        else:
            proposed = propose_from_values(name, seen.get(name, nothing), schema, connector)
        is_added = any(name not in other.fields for other in schemas)
        sent, default = _added_default(
            schema if is_added else None, table.added_defaults.get(name) if table else None, proposed
        )
        if sent is not None and default is None:
            proposed = replace(proposed, question=_question_of_default(name, sent, proposed))
        has_nulls = read.values.get(name, nothing).present < read.rows - read.empty_rows
        hides_nulls = schema is not None and schema.optional and schema.has_default and schema.default is not None
        columns.append(Column(name, proposed, has_nulls, hides_nulls, default, default is None and name in unsaid))
    return _without_doubt_of_zones(columns)


def _says_type(schema: Schema, read: ColumnsRead) -> bool:
    return schema.type != "null" and bool(read.says_meaning or schema.name or schema.type not in _WIDTHS)


def _without_doubt_of_zones(columns: Sequence[Column]) -> tuple[Column, ...]:
    """Where another local time is sent as a number, the mode is none that writes them as texts."""
    are_numbers = any(
        column.type.data_type in ("date", "timestamp_ntz") and not (column.type.semantic_type or "").startswith(_ISO)
        for column in columns
    )
    return tuple(
        replace(column, type=replace(column.type, question=None))
        if are_numbers and column.type.question == question_of_zone(column.name)
        else column
        for column in columns
    )


def _added_default(schema: Schema | None, declared: str | None, proposed: ProposedType) -> tuple[Any, Any]:
    """The default of a column that was added later, as it was sent and as it is to be written; None for none."""
    if schema:
        return schema.default, None if schema.default is None else default_by_schema(schema, proposed)
    return declared, None if declared is None else default_by_declaration(declared, proposed)


def _question_of_default(name: str, sent: Any, proposed: ProposedType) -> str:
    return (
        f"{name} was added later, with a default that cannot be taken over ({sent!s:.60}): which default have the "
        f"rows from before, if any? Say it beside data_type: {proposed.data_type}."
    )


def question_of_added_column(column: str) -> str:
    """What to ask of a column that lacks the default of the rows from before."""
    return f"{column} was added later: which default have the rows from before, if any?"


def names_alike(columns: Iterable[Column]) -> list[str]:
    """The names that differ in case only, which Spark takes for one."""
    names = [column.name for column in columns]
    count = Counter(map(str.lower, names))
    return [name for name in names if count[name.lower()] > 1]


def encoding_of(
    columns: Sequence[Column], read: ColumnsRead, table: DeclaredTable | None, key: Collection[str]
) -> Encoding:
    """How the values of columns are encoded.

    Args:
        columns: proposed.
        read: what rows and their schemas show.
        table: as schema changes declare it, or None.
        key: likely columns of the key, which are no times where they are called like a key.
    """
    declared = table.types if table else {}
    unsigned = [column.name for column in columns if column.type.is_unsigned and column.name in read.values]
    described = {*declared, *read.described()}
    return Encoding(
        decimals=_decimals(columns, read, declared),
        # With bigint.unsigned.handling.mode=precise they are bytes, which a JSON converter writes in base64.
        has_precise_unsigned=any(read.values[name].kinds.keys() - {"null", "integer"} for name in unsigned),
        names_connect_types=any(
            (said.name or "").startswith("org.apache.kafka.connect.data.") for _, said in read.fields()
        ),
        possible_times=tuple(
            column.name
            for column in columns
            if column.name not in described and _may_be_times(column, read.values.get(column.name, Values()), key)
        ),
        schema_versions=len({repr(schema) for schema, _ in read.schemas.values()}),
    )


def _may_be_times(column: Column, values: Values, key: Collection[str]) -> bool:
    is_plain = column.type.data_type in ("int", "bigint", "array<bigint>") and not column.type.question
    # A part of a key may be a date, and is none where it is called like a key.
    is_key = column.name in key and is_named_like_key(column.name)
    return is_plain and not column.type.semantic_type and not is_key and may_be_times(column.name, values)


def _decimals(columns: Sequence[Column], read: ColumnsRead, declared: Mapping[str, ProposedType]) -> Decimals:
    of_schemas = decimals_of_schemas(
        [
            read.values[name]
            for name, schema in read.fields()
            if name in read.values and schema.type == "bytes" and (schema.name or "").endswith(".data.Decimal")
        ]
    )
    if of_schemas != Decimals():
        return of_schemas
    texts = [column.name for column in columns if column.type.data_type == "string" and column.name not in declared]
    decimals = [name for name, proposed in declared.items() if is_decimal(proposed)]
    return decimals_of(*([read.values[name] for name in names if name in read.values] for names in (texts, decimals)))
