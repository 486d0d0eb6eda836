from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from alluvium.inspection import inspect
from alluvium.inspection.table_changes import DeclaredTable, declared_tables, find_table
from alluvium.scaffolding.feeds import feeds_of


def schema_change(identifier: str, columns: dict[str, str], *key: str) -> dict[str, Any]:
    table = {
        "primaryKeyColumnNames": list(key),
        "columns": [{"name": name, "typeName": type_name} for name, type_name in columns.items()],
    }
    changes = [{"type": "CREATE", "id": identifier, "table": table}]
    return {"source": {"connector": "mysql"}, "ddl": "CREATE TABLE", "tableChanges": changes}


def event(database: str, row: dict[str, Any]) -> dict[str, Any]:
    source = {"connector": "mysql", "db": database, "table": "orders", "file": "b.1", "pos": 4, "ts_ms": 0}
    return {"before": None, "after": row, "source": source, "op": "c"}


def test_tables_of_one_name_in_two_databases(tmp_path: Path) -> None:
    files = {
        "srv": [
            schema_change('"db1"."orders"', {"id": "INT", "region": "INT"}, "id"),
            schema_change('"db2"."orders"', {"id": "VARCHAR", "region": "INT"}, "region", "id"),
        ],
        "srv.db1.orders": [event("db1", {"id": 1, "region": 2})],
        "srv.db2.orders": [event("db2", {"id": "a", "region": 2})],
    }
    for topic, lines in files.items():
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (tmp_path / f"{topic}+0+0.json").write_text(text, encoding="utf-8")
    keys = {
        entity.files.topic: (entity.key.columns, entity.columns[0].type.data_type)
        for entity in inspect(str(tmp_path)).entities
        if entity.shape
    }
    assert keys == {"srv.db1.orders": (("id",), "int"), "srv.db2.orders": (("region", "id"), "string")}


@pytest.mark.parametrize(("sent", "is_precise"), [(["AQ==", None], True), ([7, -1, None], False)])
def test_how_unsigned_numbers_are_sent(tmp_path: Path, sent: list[Any], is_precise: bool) -> None:
    columns = {"id": "INT", "large": "BIGINT UNSIGNED"}
    files = {
        "srv": [schema_change('"db1"."orders"', columns, "id")],
        "srv.db1.orders": [event("db1", {"id": number, "large": large}) for number, large in enumerate(sent)],
    }
    for topic, lines in files.items():
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (tmp_path / f"{topic}+0+0.json").write_text(text, encoding="utf-8")
    found = inspect(str(tmp_path))
    (entity,) = [entity for entity in found.entities if entity.shape]
    assert entity.columns[1].type.is_unsigned
    assert entity.encoding.has_precise_unsigned is is_precise
    (feed,) = feeds_of(found, (), {}, "erp")
    assert feed.options.get("bigint_unsigned_handling_mode") == ("precise" if is_precise else None)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (("db1", "orders"), "a"),
        (("db2", "orders"), "b"),
        (("orders",), None),
        (("items",), "c"),
        (("db3", "orders"), None),
        (("db", "dbo", "lines"), "d"),
    ],
)
def test_table_is_found_by_as_much_of_its_name_as_there_is(name: tuple[str, ...], expected: str | None) -> None:
    declared: dict[tuple[str, ...], DeclaredTable] = {
        names: DeclaredTable((key,), {})
        for names, key in (
            (("db1", "orders"), "a"),
            (("db2", "orders"), "b"),
            (("db1", "items"), "c"),
            (("db", "dbo", "lines"), "d"),
        )
    }
    found = find_table(declared, name)
    assert (found.key[0] if found else None) == expected


@pytest.mark.parametrize(
    ("type_name", "expected"),
    [
        ("INTEGER UNSIGNED", "bigint"),
        ("INT UNSIGNED ZEROFILL", "bigint"),
        ("int zerofill", "bigint"),
        ("BIGINT UNSIGNED ZEROFILL", "decimal(20,0)"),
        ("DECIMAL UNSIGNED", "decimal(10,0)"),
        ("MEDIUMINT UNSIGNED", "int"),
        ("DOUBLE UNSIGNED", "double"),
        ("DOUBLE PRECISION", "double"),
        ("FLOAT UNSIGNED", "float"),
        ("REAL", "double"),
        ("BOOLEAN", "boolean"),
        ("VARCHAR", "string"),
    ],
)
def test_type_of_mysql(type_name: str, expected: str) -> None:
    (table,) = declared_tables(schema_change('"db"."t"', {"x": type_name})).values()
    assert table.types["x"].data_type == expected


@pytest.mark.parametrize(
    "changes",
    [
        "nojson",
        ["x"],
        7,
        None,
        [{"table": {}}],
        [{"id": '"d"."t"', "table": {"columns": ["x"]}}],
        [{"id": '"d"."t"', "table": {"columns": [], "primaryKeyColumnNames": "id"}}],
    ],
)
def test_what_is_no_table_change_is_left_out(changes: Any) -> None:
    assert declared_tables({"tableChanges": changes}) == {}
