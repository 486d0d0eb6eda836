"""Tables of Hudi's: their rows are those of Delta's, by statements without a condition of Hudi's own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from dbt_common.exceptions import CompilationError

from .feeds import column, feed
from .harness import REPOSITORY, SESSION_OF_HUDI, Renderer, assert_expression_parses, assert_parses, fold, relation

STATE, HISTORY = relation("slv_shop__orders_state"), relation("slv_shop__orders_history")
TMP = relation("tmp")
EXTENSIONS = {
    **SESSION_OF_HUDI,
    "describe schema extended silver": [{"info_name": "Location", "info_value": "file:/tmp/warehouse/silver.db"}],
}
MADE_NOW = [
    {"key": "hoodie.datasource.overwrite.mode", "value": "STATIC"},
    {"key": "hoodie.metadata.index.column.stats.enable", "value": "false"},
]
MERGE: dict[str, Any] = {
    "on": "target.id = source.id",
    "update_when": "source.position > target.position",
    "set": {"note": "source.note"},
    "insert": {"id": "source.id", "note": "source.note", "_cdc_op": "source.op"},
    "unmatched_when": "target.position < '20'",
    "set_unmatched": {"note": "null"},
}


def hudi(**settings: Any) -> Renderer:
    """A renderer of a model whose table is Hudi's."""
    return Renderer(file_format="hudi", this=STATE, answers=dict(EXTENSIONS), **settings)


def typed(*columns: tuple[str, str]) -> list[SimpleNamespace]:
    """Columns as a relation has them."""
    return [SimpleNamespace(name=name, dtype=dtype, data_type=dtype) for name, dtype in columns]


def test_merge_sql_on_delta(macros: Renderer) -> None:
    sql = macros.render("merge_sql", STATE, TMP, MERGE)
    assert sql == macros.render("default__merge_sql", STATE, TMP, MERGE)
    assert fold(sql) == (
        "merge into silver.slv_shop__orders_state as target using silver.tmp as source on target.id = source.id"
        " when matched and (source.position > target.position) then update set `note` = source.note"
        " when not matched then insert (`id`, `note`, `_cdc_op`) values (source.id, source.note, source.op)"
        " when not matched by source and target.position < '20' then update set `note` = null"
    )
    short = macros.sql("merge_sql", STATE, TMP, {"on": "true", "set": {"note": "1"}})
    assert short.endswith("on true when matched then update set `note` = 1")
    assert macros.render("assignments", {"a b": "1", "c": 2}) == "`a b` = 1,\n`c` = 2"
    assert macros.render("source_values", ["a b"]) == {"a b": "source.`a b`"}


def test_merge_sql_on_hudi() -> None:
    renderer = hudi(columns=["id", "note", "_cdc_op", "gone"])
    sql = renderer.sql("merge_sql", STATE, TMP, MERGE)
    assert sql == renderer.sql("upsert_sql", STATE, TMP, MERGE)
    assert sql == (
        "insert into silver.slv_shop__orders_state (`id`, `note`, `_cdc_op`, `gone`) select"
        " if(target._hoodie_record_key is null, source.id, target.`id`) as `id`, source.note as `note`,"
        " if(target._hoodie_record_key is null, source.op, target.`_cdc_op`) as `_cdc_op`,"
        " if(target._hoodie_record_key is null, null, target.`gone`) as `gone`"
        " from silver.tmp as source left join silver.slv_shop__orders_state as target on target.id = source.id"
        " where target._hoodie_record_key is null or source.position > target.position"
        " union all select target.`id` as `id`, null as `note`, target.`_cdc_op` as `_cdc_op`, target.`gone` as `gone`"
        " from silver.slv_shop__orders_state as target left anti join silver.tmp as source on target.id = source.id"
        " where target.position < '20'"
    )
    assert_parses(sql)


def test_record_key_of_a_row_that_is_there_stays() -> None:
    """Its text is another one since a key column was widened, and two rows would have the key."""
    values = {"_cdc_record_key": "source.`_cdc_record_key`"}
    value = hudi().render("upserted_value", "_cdc_record_key", {"set": values, "insert": values})
    assert value == "if(target._hoodie_record_key is null, source.`_cdc_record_key`, target.`_cdc_record_key`)"


def test_row_that_goes_is_written_with_an_operation_of_its_own() -> None:
    merge = {**MERGE, "delete_when": "source.op is null", "update_when": None}
    renderer = hudi(columns=["id", "note", "_cdc_op"])
    removed = renderer.render("upserted_value", "_cdc_op", {**merge, "insert": None})
    assert removed == "if(source.op is null, 'removed', target.`_cdc_op`)"
    assert renderer.render("removed_op") == "removed"
    assert renderer.render("hudi_properties", True)["hoodie.payload.delete.marker"] == "removed"
    sql = renderer.sql("upsert_sql", STATE, TMP, {**merge, "unmatched_when": None})
    assert " where " not in sql
    assert_parses(sql)


def test_merge_without_rows_to_insert_joins_what_is_there() -> None:
    merge = {"on": "true", "set": {"_cdc_batch": 7}}
    sql = hudi(columns=["note", "_cdc_batch"]).sql("upsert_sql", STATE, TMP, merge)
    assert "select target.`note` as `note`, 7 as `_cdc_batch` from silver.tmp as source inner join" in sql


def test_keyed_rows() -> None:
    keys = feed(
        columns=[column("id", "int"), column("raw", "binary"), column("at", "timestamp"), column("x", "double")],
        key=["id", "raw", "at", "x"],
    )
    sql = hudi().sql("keyed_rows", "select 1 as id", keys, keys["key"])
    assert (
        "to_json(array(cast(`id` as string), hex(`raw`), cast(unix_micros(`at`) as string), cast(`x` + 0 as string)))"
        " as _cdc_record_key from (select 1 as id) as keyed" in sql
    )
    assert_parses(sql)
    renderer = hudi()
    assert renderer.render("text_of_key", "`s`", "string") == "`s`"
    assert renderer.render("is_hudi") is True
    assert Renderer().render("keyed_rows", "select 1 as id", keys, ["id"]) == "select 1 as id"


def test_what_a_table_of_hudis_cannot_have_is_refused() -> None:
    refusal = hudi().refusal("require_columns_of_hudi", "m", typed(("größe", "int"), ("a b", "int")))
    assert 'name of a column is "a b"' in refusal
    assert 'name of a column is "a\\u00b2"' in hudi().refusal("require_columns_of_hudi", "m", typed(("a²", "int")))
    deleted = hudi().refusal("require_columns_of_hudi", "m", typed(("_HOODIE_is_deleted", "boolean")))
    assert 'name of a column is "_HOODIE_is_deleted"' in deleted
    local = typed(("at", "timestamp_ntz"))
    hudi().render("require_columns_of_hudi", "m", local)
    assert "type of column at" in hudi().refusal("require_columns_of_hudi", "m", local, ["at"])
    for data_type in ("array<string>", "struct<a:string,b:string>"):
        parts = typed(("k", data_type), ("id", "int"))
        hudi().render("require_columns_of_hudi", "m", parts, ["id"])
        assert "without elements or fields in a key" in hudi().refusal("require_columns_of_hudi", "m", parts, ["k"])
    assert "inside of another type" in hudi().refusal(
        "require_columns_of_hudi", "m", typed(("at", "array<timestamp_ntz>"))
    )


def test_types_of_a_table_of_hudis() -> None:
    renderer = hudi()
    types = {"smallint": "int", "array<tinyint>": "array<int>", "bigint": "bigint", "timestamp_ntz": "timestamp"}
    for data_type, stored in types.items():
        assert renderer.render("stored_type", data_type) == stored
        assert Renderer().render("stored_type", data_type) == data_type
    assert renderer.render("stored_value", "`n`", "smallint") == "cast(`n` as int)"
    value = renderer.render("stored_value", "`at`", "timestamp_ntz")
    assert value.startswith("timestamp_micros(")
    assert_expression_parses(value)
    assert (
        renderer.render("stored_value", "`at`", "date") == Renderer().render("stored_value", "`at`", "date") == "`at`"
    )
    local = column("at", "timestamp_ntz")
    assert renderer.render("declared_value", local, STATE) == "`at`"
    node = {
        "resource_type": "model",
        "schema": STATE.schema,
        "alias": STATE.identifier,
        "config": {"file_format": "hudi"},
    }
    renderer.nodes = {"model.state": node}
    assert renderer.render("format_of_table", STATE) == "hudi"
    assert renderer.render("format_of_table", HISTORY) == "delta"
    shown = renderer.render("declared_value", local, STATE)
    assert shown.endswith("unix_micros(`at`) as `at`")
    small = column("n", "array<smallint>")
    assert renderer.render("declared_value", small, STATE) == "cast(`n` as array<smallint>) as `n`"
    assert_expression_parses(shown)


@pytest.mark.parametrize("table_type", ["cow", "mor"])
def test_hudi_properties(table_type: str) -> None:
    renderer = hudi(variables={"hudi_table_type": table_type}, tblproperties={"delta.a": "1", "hoodie.b": "2"})
    properties = renderer.render("hudi_properties", True)
    assert (properties["type"], properties["primaryKey"]) == (table_type, "_cdc_record_key")
    assert ("hoodie.compact.inline" in properties) == (table_type == "mor")
    assert properties["hoodie.b"] == "2"
    assert {properties[f"hoodie.datasource.{option}.enable"] for option in ("hive_sync", "meta.sync")} == {"false"}
    assert "delta.a" not in properties
    assert "primaryKey" not in renderer.render("hudi_properties", False)
    assert 'var hudi_table_type is "row"' in hudi(variables={"hudi_table_type": "row"}).refusal("hudi_properties", True)


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("type", "row", "cow, mor"),
        ("hoodie.index.type", "SIMPLE", "GLOBAL_SIMPLE, GLOBAL_BLOOM, RECORD_INDEX, GLOBAL_RECORD_LEVEL_INDEX"),
        ("hoodie.record.index.update.partition.path", False, "true"),
        ("hoodie.record.merge.mode", "EVENT_TIME_ORDERING", "commit_time_ordering"),
        ("primaryKey", "id", "_cdc_record_key"),
        ("hoodie.metadata.index.column.stats.enable", "true", "false"),
        ("preCombineField", "_cdc_position", "none"),
    ],
)
def test_property_that_would_lose_rows_is_refused(name: str, value: object, allowed: str) -> None:
    refusal = hudi(tblproperties={name: value}).refusal("hudi_properties", True)
    assert f"tblproperties {name} is " in refusal
    assert f"allowed: {allowed}" in refusal


def test_older_hudi_is_told_by_a_payload_which_rows_go() -> None:
    older = hudi()
    older.answers["HoodieTableVersion"] = [{"version": "EIGHT"}]
    assert older.render("table_version_of_hudi") == "EIGHT"
    mode = {
        "hoodie.record.merge.mode": "EVENT_TIME_ORDERING",
        "payloadClass": "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
    }
    assert older.render("properties_of_hudi_1_0", "EIGHT") == mode
    assert older.render("properties_of_hudi_1_0", "NINE") == {}
    assert older.render("hudi_properties", False)["hoodie.metadata.enable"] == "false"
    assert mode.items() <= older.render("hudi_properties", True).items()
    others = [(older, False), (hudi(), True), (hudi(), False)]
    name = "hoodie.record.merge.mode"
    modes = [renderer.render("hudi_properties", is_merged)[name] for renderer, is_merged in others]
    assert modes == ["COMMIT_TIME_ORDERING"] * 3
    older.answers["set"] = [*EXTENSIONS["set"], {"key": name, "value": "COMMIT_TIME_ORDERING"}]
    with pytest.raises(CompilationError, match=f"{name} is .*allowed: event_time_ordering"):
        older.render("require_session_of_hudi", "m")


def test_hudi_that_takes_options_without_a_word_is_refused() -> None:
    renderer = hudi()
    renderer.answers["HoodieTableVersion"] = [{"version": "SIX"}]
    with pytest.raises(CompilationError) as refused:
        renderer.render("require_session_of_hudi", "m")
    refusal = str(refused.value.msg)
    assert 'm: version of Hudi\'s tables (SIX by 0.15, EIGHT by 1.0, NINE by 1.2) is "SIX"' in refusal
    assert "allowed: EIGHT, NINE" in refusal


def test_property_that_changes_how_rows_are_found_may_be_chosen() -> None:
    chosen = {"type": "mor", "hoodie.index.type": "RECORD_INDEX", "hoodie.datasource.hive_sync.enable": True}
    properties = hudi(tblproperties=chosen).render("hudi_properties", True)
    assert chosen.items() <= properties.items()
    assert properties["hoodie.record.index.update.partition.path"] == "true"
    renderer = hudi()
    own = renderer.render("hudi_properties", False)
    # A table that is always written whole is read by no key.
    renderer.render("require_property_of_hudi", "m", "preCombineField", "at", own, False)
    renderer.render("require_property_of_hudi", "m", "primaryKey", "id", own, False)


NAME = f"{STATE.identifier}__"
KILLED = "0123456789abcdef" * 2  # the id of a run
ROWS = "create or replace temporary view slv_shop__orders_state__rows as select 1 as id"


def making(**settings: Any) -> Renderer:
    """A renderer of a model whose table is there, and of what killed runs have left beside it."""
    renderer = hudi(columns=["id", "_cdc_record_key"], **settings)
    renderer.answers |= {
        "show tables in silver like 'slv_shop__orders_state'": [{"tableName": "x"}],
        f"show tables in silver like '{NAME}rebuilt_*'": [
            {"tableName": f"{NAME}rebuilt_{of}"} for of in (KILLED, "daily")
        ],
        f"show tables in silver like '{NAME}replaced_*'": [{"tableName": f"{NAME}replaced_{KILLED}"}],
        "show tblproperties": [],
        "call show_commits": [],
        "drop table": [],
        "create ": [],
        "insert overwrite": [],
        "alter table": [],
    }
    return renderer


def steps(renderer: Renderer) -> list[str]:
    """What was done, without questions."""
    questions = ("set ", "show ", "call ", "describe ", "select java_method(")
    return [sql for sql in renderer.queries if not sql.startswith(questions)]


def test_table_is_complete_before_it_has_its_name() -> None:
    renderer = making()
    last = renderer.render("spark__create_table_as", False, STATE, "select 1 as id")
    run = renderer.render("run_id")
    rebuilt, replaced = f"silver.{NAME}rebuilt_{run}", f"silver.{NAME}replaced_{run}"
    made = steps(renderer)
    assert made[:2] == [ROWS, f"drop table if exists silver.{NAME}rebuilt_{KILLED}"]
    assert made[2].startswith(f"create table {rebuilt} (`id` string, ")
    assert "'hoodie.datasource.overwrite.mode' = 'STATIC'" in made[2]
    assert made[3].startswith(f"insert overwrite {rebuilt} (`id`, `_cdc_record_key`) select")
    # The old rows that a killed run has left go when the new ones have the name.
    assert made[4:] == [
        f"alter table silver.slv_shop__orders_state rename to {replaced}",
        f"alter table {rebuilt} rename to silver.slv_shop__orders_state",
        f"drop table if exists silver.{NAME}replaced_{KILLED}",
    ]
    assert last == f"drop table if exists {replaced}"
    assert renderer.asserted == []
    promised = making(contract={"enforced": True})
    promised.render("spark__create_table_as", False, STATE, "select 1 as id")
    assert promised.asserted == ["select 1 as id"]
    first = making()
    first.answers |= {key: [] for key in first.answers if key.startswith("show tables")}
    first.render("replace_hudi_table", STATE, "select 1 as id", {})
    assert len([sql for sql in first.queries if sql.startswith("alter table")]) == 1
    assert str(first.render("name_of_rebuilt", STATE)) == rebuilt
    assert len(first.does("drop_tables_beside", STATE, "rebuilt")) == 1
    synced = making()
    names = [f"{NAME}rebuilt_{KILLED}{end}" for end in ("", "_ro", "_rt", "_daily")]
    # Beside another table, whose name begins with this one's.
    names.append(f"{NAME}rebuilt_daily__rebuilt_{KILLED}")
    synced.answers[f"show tables in silver like '{NAME}rebuilt_*'"] = [{"tableName": name} for name in names]
    assert synced.does("drop_tables_beside", STATE, "rebuilt")[1:] == [
        f"drop table if exists silver.{name}" for name in names[:3]
    ]
    found = synced.render("tables_of_runs", "silver", STATE.identifier, "rebuilt")
    assert [(table["beside"], table["run_id"]) for table in found] == 3 * [(STATE.identifier, KILLED)]
    assert first.sql("take_name", STATE, first.render("name_of_rebuilt", STATE)) == last


def test_table_that_would_be_made_the_same_is_overwritten() -> None:
    renderer = making()
    made_as = renderer.render("fingerprint_of_making", renderer.render("hudi_properties", True))
    properties = [
        {"key": "alluvium.made_as", "value": made_as},
        {"key": "alluvium.applied_batch.stg_shop__orders", "value": "7"},
    ]
    renderer.answers["show tblproperties"] = properties
    last = renderer.sql("replace_hudi_table", STATE, "select 1 as id", {})
    # A run that is killed before the last statement is followed by another rebuild.
    begun, overwritten = steps(renderer)[-2:]
    assert overwritten == renderer.sql(
        "write_whole_sql", relation(f"{NAME}rows"), STATE, typed(("id", "string"), ("_cdc_record_key", "string"))
    ).replace("silver.slv_shop__orders_state__rows", "slv_shop__orders_state__rows")
    assert "set tblproperties ('alluvium.rebuild_begun' = " in begun
    assert "'alluvium.rebuilt_after' = '0'" in begun
    assert overwritten.startswith("insert overwrite silver.slv_shop__orders_state (`id`, `_cdc_record_key`) select")
    assert last == renderer.sql("forget_properties_sql", STATE)
    assert last == (
        "alter table silver.slv_shop__orders_state unset tblproperties if exists"
        " ('alluvium.rebuild_begun', 'alluvium.applied_batch.stg_shop__orders')"
    )
    columns = typed(("id", "string"), ("_cdc_record_key", "string"))
    assert renderer.render("is_made_as", STATE, columns) is True
    assert renderer.render("is_made_as", STATE, typed(("id", "int"), ("_cdc_record_key", "string"))) is False
    assert renderer.render("is_made_as", STATE, columns[::-1]) is False
    # What a rewrite for other columns has to keep, an overwrite would forget.
    kept = renderer.render("replace_hudi_table", STATE, "select 1 as id", {"alluvium.a": "1"})
    assert kept.startswith("drop table if exists")
    other = making(partition_by=["id"])
    other.answers["show tblproperties"] = properties
    assert other.render("is_made_as", STATE, columns) is False
    made_as = other.render("fingerprint_of_making", other.render("hudi_properties", True))
    other.answers["show tblproperties"] = [{"key": "alluvium.made_as", "value": made_as}]
    assert other.render("is_made_as", STATE, columns) is False
    other.columns = ["_cdc_record_key", "id"]
    assert other.render("is_made_as", STATE, columns) is True
    assert other.render("is_made_as", STATE, columns[::-1]) is True
    other.answers["show tables in silver like 'slv_shop__orders_state'"] = []
    assert other.render("is_in_catalog", STATE) is False
    assert other.render("is_made_as", STATE, columns) is False


@pytest.mark.parametrize(
    ("warehouse", "is_on_object_storage"),
    [("s3a://b/w", True), ("gs://b/w", True), ("hdfs://h/w", False), ("file:/w", False), ("/w", False)],
)
def test_first_table_on_object_storage_has_its_name_at_once(warehouse: str, is_on_object_storage: bool) -> None:
    renderer = making()
    renderer.answers |= {key: [] for key in renderer.answers if key.startswith("show tables")}
    renderer.answers["describe schema extended silver"] = [
        {"info_name": "Namespace Name", "info_value": "silver"},
        {"info_name": "Location", "info_value": f"{warehouse}/silver.db"},
    ]
    assert renderer.render("is_on_object_storage") is is_on_object_storage
    assert renderer.render("is_path_on_object_storage", warehouse) is is_on_object_storage
    last = renderer.render("replace_hudi_table", STATE, "select 1 as id", {})
    assert last.startswith("insert overwrite silver.slv_shop__orders_state" if is_on_object_storage else "drop table")
    renamed = [sql for sql in renderer.queries if sql.startswith("alter table")]
    assert len(renamed) == (0 if is_on_object_storage else 1)
    assert ("hoodie.metadata.enable" in renderer.render("hudi_properties", True)) is is_on_object_storage


NAMES = {"table": str(STATE.identifier), "rebuilt": f"{NAME}rebuilt_{KILLED}", "replaced": f"{NAME}replaced_{KILLED}"}


def killed(catalog: str, folders: str, hudis: str = "table rebuilt replaced", place: str = "file:/w/s.db") -> Renderer:
    """After a build that was killed in a rename: the tables of the catalog, and the folders that have commits."""
    answers: dict[str, Sequence[Mapping[str, Any]]] = {
        "describe schema silver": [{"info_name": "Location", "info_value": place}] if place else [],
        **{text: [] for text in ("create table", "refresh table", "drop table", "alter table")},
    }
    for of, name in NAMES.items():
        answers[f"select count(*) as commit_count from silver.{name}__commits"] = [
            {"commit_count": int(of in folders.split())}
        ]
    nodes = {
        schema: SimpleNamespace(resource_type=of, schema=schema, config=SimpleNamespace(materialized=materialized))
        for of, schema, materialized in (
            ("model", "silver", "incremental"),
            ("model", "gold", "view"),
            ("model", "not_made_yet", "table"),
            ("seed", "seeds", "seed"),
        )
    }
    for of in ("rebuilt", "replaced"):
        answers[f"show tables in silver like '*__{of}_*'"] = [
            {"tableName": name} for name in (NAMES[of], f"my__{of}_table") if of in catalog
        ]
    return Renderer(
        nodes=nodes,
        selected=["silver", "gold", "seeds", "a.test"],
        absent=[name for of, name in NAMES.items() if of not in catalog.split()],
        tables_of_hudi=[NAMES[of] for of in hudis.split()],
        answers=answers,
    )


def mended(renderer: Renderer) -> list[str]:
    """What was done to the tables, by their short names."""
    queries = renderer.does("mend_killed_renames")
    done = [sql for sql in queries if "__commits" not in sql and not sql.startswith(("describe", "show"))]
    for of in ("rebuilt", "replaced", "table"):
        done = [sql.replace(f"silver.{NAMES[of]}", of).replace(NAMES[of], of) for sql in done]
    return done


def test_rename_that_was_killed_is_mended() -> None:
    making_room = killed("table rebuilt", "replaced rebuilt")
    assert mended(making_room) == [
        "alter table table set location 'file:/w/s.db/replaced'",
        "drop table if exists rebuilt",
    ]
    assert making_room.messages == [
        f"Found silver.{STATE.identifier} as a build has left it that was killed while it gave a table its name; mended"
    ]
    looked = [sql for sql in making_room.queries if sql.startswith("create table if not exists")]
    assert all("'pathGlobFilter' 'hoodie.properties', 'path' 'file:/w/s.db/" in sql for sql in looked)
    assert all("/.hoodie'" in sql for sql in looked)
    # Spark gives no table a name whose folder is there, so it goes, and is made again.
    taking_the_name = killed("rebuilt replaced", "table replaced")
    assert mended(taking_the_name) == [
        "alter table rebuilt set location 'file:/w/s.db/table'",
        "drop table if exists rebuilt",
    ]
    # Between the formats.
    assert mended(killed("table rebuilt", "replaced rebuilt", hudis="rebuilt")) == [
        "drop table if exists table",
        "create table table using delta location 'file:/w/s.db/replaced'",
        "drop table if exists rebuilt",
    ]
    assert making_room.render("schemas_of_selected_tables") == ["silver"]
    folder = f"file:/w/s.db/{NAMES['replaced']}"
    assert making_room.does("mend_killed_rename", "silver", STATE.identifier, KILLED)[-2:] == [
        *making_room.does("move_to_folder", STATE.replace(is_hudi=True), folder),
        f"drop table if exists silver.{NAMES['rebuilt']}",
    ]


@pytest.mark.parametrize(
    ("catalog", "folders", "place"),
    [
        ("table", "table", "file:/w/s.db"),
        # Killed before a rename, and between two.
        ("table rebuilt", "table rebuilt", "file:/w/s.db"),
        ("rebuilt replaced", "rebuilt replaced", "file:/w/s.db"),
        ("rebuilt", "rebuilt", "file:/w/s.db"),
        # A folder that another run has left.
        ("table rebuilt", "table rebuilt replaced", "file:/w/s.db"),
        ("rebuilt", "table rebuilt", "file:/w/s.db"),
        ("table rebuilt", "replaced rebuilt", "s3a://b/s.db"),
        ("table rebuilt", "replaced rebuilt", ""),
    ],
)
def test_tables_that_no_rename_has_left_stay_as_they_are(catalog: str, folders: str, place: str) -> None:
    renderer = killed(catalog, folders, place=place)
    assert mended(renderer) == []
    assert renderer.messages == []
    assert (len(renderer.queries) > 2) == ("rebuilt" in catalog)


@pytest.mark.parametrize(
    ("catalog", "folders", "place", "is_dropped"),
    [
        ("table replaced", "table replaced", "file:/w/s.db", True),
        # Killed between the two renames, and a first table on object storage, made and not written yet.
        ("replaced rebuilt", "replaced rebuilt", "file:/w/s.db", False),
        ("replaced", "replaced", "file:/w/s.db", False),
        ("table replaced", "table replaced", "s3a://b/s.db", False),
        ("table replaced", "replaced", "file:/w/s.db", False),
    ],
)
def test_old_table_of_a_build_that_was_killed_at_its_end_goes(
    catalog: str, folders: str, place: str, is_dropped: bool
) -> None:
    renderer = killed(catalog, folders, place=place)
    assert mended(renderer) == (["drop table if exists replaced"] if is_dropped else [])
    old = {"relation": f"silver.{NAMES['replaced']}", "beside": STATE.identifier, "run_id": KILLED}
    dropped = [sql for sql in renderer.does("drop_replaced_table", "silver", old) if sql.endswith(NAMES["replaced"])]
    assert len(dropped) == is_dropped


def test_table_of_deltas_that_was_to_take_a_name_is_not_mended() -> None:
    """It would be an external one, which no later rename moves out of the way."""
    assert mended(killed("rebuilt replaced", "table replaced", hudis="table replaced")) == []


def test_table_of_deltas_in_the_place_of_one_of_hudis_is_built_beside_it() -> None:
    renderer = Renderer(this=STATE)
    renderer.answers = {"set alluvium.is_replaced.": [{"value": "true"}], "dbt-spark's": [], **making().answers}
    last = renderer.render("spark__create_table_as", False, STATE, "select 1 as id")
    assert renderer.made == ["select 1 as id"]
    assert steps(renderer)[1] == "dbt-spark's own table"
    assert last.startswith(f"drop table if exists silver.{NAME}replaced_")
    # Nothing says that a table of Delta's is to be replaced.
    assert Renderer().render("spark__create_table_as", False, STATE, "select 1") == "dbt-spark's own table"


@pytest.mark.parametrize(("now", "is_refused"), [("20261125082739413", False), ("20261125082739412", True)])
def test_clock_before_the_newest_commit_is_refused(now: str, is_refused: bool) -> None:
    renderer = hudi()
    renderer.answers |= {
        "call show_commits(table => 'silver.slv_shop__orders_state', limit => 1)": [
            {"commit_time": "20261125082730000", "state_transition_time": "20261125082739412"}
        ],
        "as now": [{"now": now}],
    }
    refused = pytest.raises(CompilationError, match=f'is "{now}"; allowed: a time after 20261125082739412')
    with refused if is_refused else nullcontext():
        renderer.render("require_clock_of_hudi", "m", STATE)
    assert renderer.render("newest_commit_of_hudi", STATE)["commit_time"] == "20261125082730000"
    renderer.answers = {"call show_commits": []}
    assert (
        renderer.render("require_clock_of_hudi", "m", STATE) is renderer.render("newest_commit_of_hudi", STATE) is None
    )


def test_statements_of_a_table_of_hudis() -> None:
    columns = typed(("id", "smallint"), ("at", "timestamp_ntz"), ("_cdc_record_key", "string"))
    renderer = hudi(partition_by=["id"])
    sql = renderer.sql("create_hudi_table_sql", STATE, columns, {"alluvium.key": "k"})
    assert "(`at` timestamp, `_cdc_record_key` string, `id` int) using hudi partitioned by (`id`)" in sql
    assert "'alluvium.key' = 'k', 'alluvium.made_as' = " in sql
    names = [column.name for column in columns]
    stored = renderer.render("stored_columns", columns)
    insert = renderer.sql("insert_into_sql", TMP, STATE, names, "overwrite", stored)
    assert insert == renderer.sql("write_whole_sql", TMP, STATE, columns)
    assert insert.startswith(
        "insert overwrite silver.slv_shop__orders_state (`id`, `at`, `_cdc_record_key`) select cast(`id` as int)"
    )
    assert "timestamp_micros(" in insert
    assert_parses(insert)


def test_rows_of_a_mart_come_in_the_types_of_its_table() -> None:
    renderer = hudi(columns=["id"], types={("fct_order__rows", "id"): "smallint"})
    renderer.answers["create or replace temporary view"] = []
    assert renderer.render("is_hudi_mart") is True
    assert renderer.render("spark__create_table_as", True, relation("fct_order"), "select 1") == "dbt-spark's own table"
    assert renderer.queries[-1] == "create or replace temporary view fct_order__rows as select 1"
    assert renderer.made == ["select cast(`id` as int) as `id` from fct_order__rows"]
    assert renderer.render("view_of_rows", relation("fct_order"), "select 1").identifier == "fct_order__rows"


def test_table_that_is_replaced_is_not_dropped_before() -> None:
    """One that an incremental model has from a full refresh, and one that is built anew in every run."""

    def has_noted(queries: list[str]) -> bool:
        return any(re.fullmatch(r"set alluvium\.is_replaced\..* = true", sql) for sql in queries)

    def notes(renderer: Renderer) -> bool:
        return has_noted(renderer.does("note_replaced"))

    for materialized in ("incremental", "table"):
        assert notes(hudi(materialized=materialized))
        assert notes(Renderer(this=STATE, materialized=materialized, tables_of_hudi=["slv_shop__orders_state"]))
        assert not notes(Renderer(this=STATE, materialized=materialized, tables_of_hudi=[]))
    assert not notes(hudi(materialized="view"))
    assert not notes(hudi(views=["slv_shop__orders_state"]))
    assert notes(hudi(absent=["slv_shop__orders_state"]))
    mart: dict[str, Any] = {"strategy": "insert_overwrite", "post_hooks": ["{{ alluvium.record_inputs() }}"]}
    assert has_noted(hudi(materialized="table", **mart).does("note_inputs"))
    assert not has_noted(hudi(**mart).does("note_inputs"))
    mart["strategy"] = "merge"
    assert has_noted(hudi(materialized="table", **mart).does("note_inputs"))


def test_table_goes_to_another_format_with_its_views() -> None:
    name = "slv_shop__orders_state"

    def node(name: str, materialized: str, *parents: str) -> dict[str, Any]:
        named = {"unique_id": f"model.{name}", "resource_type": "model", "alias": name, "schema": "silver"}
        depends_on = {"nodes": [f"model.{parent}" for parent in parents]}
        return named | {"depends_on": depends_on, "config": {"materialized": materialized}}

    graph = [
        node(name, "incremental"),
        node("living", "view", name),
        node("part", "ephemeral", name),
        node("report", "view", "part"),
        node("mart", "table", name),
        node("over_view", "view", "living"),
    ]
    nodes = {each["unique_id"]: each for each in graph}
    views = ["living", "report", "over_view"]

    def moved(tables_of_hudi: Sequence[str] = (), **settings: Any) -> Renderer:
        both = {"nodes": nodes, "views": views, "selected": ["model.living", "model.report"]} | settings
        return hudi(tables_of_hudi=tables_of_hudi, **both)

    def remembered(renderer: Renderer) -> int:
        return len([sql for sql in renderer.does("note_replaced") if sql.startswith("set ") and " = true" in sql])

    assert remembered(moved()) == 2
    found = moved().render("views_over", graph[0])
    assert [view["relation"].render() for view in found] == ["silver.living", "silver.report"]
    for selected, missing in ((["model.report"], "living"), (["model.living"], "report")):
        refused = moved(selected=selected).refusal("require_views_over", graph[0], "file_format", "hudi")
        assert refused.startswith(f'full refresh of model {name}: file_format is "hudi"; allowed: another one')
        assert f"where the views over it are built, too, as silver.{missing}" in refused
        assert f"`dbt build --full-refresh --select {name}+`" in refused
        with pytest.raises(CompilationError, match="the views over it"):
            moved(selected=selected).render("note_replaced")
        # Not there yet, a table, or in the format that the table has.
        assert remembered(moved(selected=selected, absent=[missing])) == 2
        assert remembered(moved(selected=selected, views=[view for view in views if view != missing])) == 2
        assert remembered(moved([name], selected=selected)) == 1
        to_delta: dict[str, Any] = {"this": STATE, "nodes": nodes, "views": views, "selected": selected}
        with pytest.raises(CompilationError, match='file_format is "delta"'):
            Renderer(**to_delta, tables_of_hudi=[name]).render("note_replaced")
        assert Renderer(**to_delta, tables_of_hudi=[]).does("note_replaced") == []
    assert moved().render("has_another_format", relation("any").replace(is_hudi=False)) is True
    assert moved().render("has_another_format", relation("any").replace(is_hudi=None)) is False
    assert not moved().render("has_another_format", None)
    # Until it is built, no view shows rows of the other format.
    for answer, drops in (
        ("true", ["drop view if exists silver.living", "drop view if exists silver.report"]),
        (None, []),
    ):
        renderer = making(nodes=nodes, views=views)
        renderer.answers |= {"set alluvium.changes_format.": [{"value": answer}], "drop view": []}
        renderer.sql("take_name", STATE, relation(f"{NAME}rebuilt_{KILLED}"))
        assert steps(renderer)[1:-2] == drops


def test_what_failed_models_leave() -> None:
    def node(name: str, file_format: str, materialized: str = "table") -> dict[str, Any]:
        return {"schema": "gold", "alias": name, "config": {"file_format": file_format, "materialized": materialized}}

    def result(of: str, status: str) -> SimpleNamespace:
        return SimpleNamespace(status=status, node=SimpleNamespace(unique_id=of))

    nodes = {"model.a": node("a", "hudi"), "model.b": node("b", "hudi"), "model.c": node("c", "delta")}
    nodes |= {"model.new": node("new", "hudi", "incremental"), "model.view": node("view", "delta", "view")}
    results = [result("model.a", "error"), result("model.b", "success"), result("model.c", "error")]
    results += [result("model.new", "error"), result("model.view", "error"), result("test.d", "error")]
    # dbt takes one that a full refresh was to drop for gone.
    answers: dict[str, Any] = {
        **{"refresh table": [], "drop table": []},
        "show tables in gold like 'a'": [{"tableName": "a"}],
        "show tables": [],
        "set spark.sql.extensions": [{"value": SESSION_OF_HUDI["set"][0]["value"]}],
        "HoodieTableVersion": [{"version": "EIGHT"}],
    }
    renderer = Renderer(nodes=nodes, answers=answers, absent=["new", "a"])

    def steps_of(macro: str) -> list[str]:
        return [sql for sql in renderer.does(macro, results) if sql.startswith(("drop", "refresh"))]

    rebuilt = {of: renderer.render("name_of_rebuilt", relation(of, "gold")) for of in ("a", "c", "new")}
    drops = [f"drop table if exists {rebuilt[of]}" for of in ("a", "c", "new")]
    assert steps_of("clean_up_failed_tables") == [drops[0], "refresh table gold.a", *drops[1:]]
    # After the session is free, since it may fail.
    shared = renderer.does("release_session", results)
    assert shared[0] == "set alluvium.is_shared"
    assert shared[1:] == renderer.does("clean_up_failed_tables", results)
    answers["HoodieTableVersion"] = [{"version": "NINE"}]
    assert renderer.render("is_session_of_hudi_1_0") is False
    assert steps_of("clean_up_failed_tables") == drops
    # No Hudi that could be asked.
    answers["set spark.sql.extensions"] = [{"value": "io.delta.sql.DeltaSparkSessionExtension"}]
    del answers["HoodieTableVersion"]
    assert steps_of("clean_up_failed_tables") == drops


def test_dbts_own_makes_and_drops_all_other_tables() -> None:
    assert Renderer().render("spark__create_table_as", False, STATE, "select 1") == "dbt-spark's own table"
    of_state = {"cdc": {"merge_guard": "_cdc_position"}}
    assert hudi(meta=of_state).render("spark__create_table_as", True, STATE, "select 1") == "dbt-spark's own table"
    assert hudi(post_hooks=()).render("is_own_hudi_table") is False
    assert hudi().render("is_own_hudi_table") is True
    assert hudi(post_hooks=()).render("is_own_table") is False
    assert Renderer().render("is_own_table") is True
    assert Renderer().render("spark__drop_relation", STATE) == "dbt-spark's own drop"
    renderer = Renderer(answers={"set alluvium.is_replaced.": [{"value": "true"}]})
    assert renderer.render("spark__drop_relation", STATE) == ""


def test_a_mart_of_changed_keys_is_computed_whole() -> None:
    renderer = hudi(columns=["id"], incremental=True)
    renderer.answers |= {
        "call show_commits": [],
        "show tblproperties": [*MADE_NOW, {"key": "alluvium.batch", "value": "6"}],
        "select max(_cdc_batch)": [{"newest": 6}],
        f"describe {STATE}": [{"col_name": "id"}],
    }
    assert renderer.sql("changed_keys", STATE, ["id"]) == f"select `id` from {STATE}"
    assert renderer.does("delete_vanished_keys", STATE, ["id"]) == []
    sql = renderer.sql("spark__get_merge_sql", STATE, TMP, ["id"], [], None)
    assert sql == f"insert overwrite {STATE} (`id`) select `id` from {TMP}"
    assert renderer.sql("overwrite_sql", TMP, STATE) == sql
    renderer.empty = True
    assert renderer.sql("spark__get_merge_sql", STATE, TMP, ["id"], [], None) == renderer.sql("nothing_to_apply_sql")


@pytest.mark.parametrize(
    "call",
    [
        "{% if is_incremental() %}",
        "{{ 'x' if\nis_incremental() }}",
        "{%- if not should_full_refresh() -%}",
        "{% if load_relation(this) %}",
    ],
)
def test_filter_of_a_model_that_is_computed_whole_is_refused(call: str) -> None:
    direct = hudi(raw_code=f"select 1 {call}").refusal("spark__create_table_as", True, STATE, "select 1")
    assert direct.startswith(
        "create_table_as: model slv_shop__orders_state: what calls is_incremental() "
        'is "slv_shop__orders_state"; allowed: nothing: with incremental_strategy merge and file_format hudi'
    )
    through = hudi(raw_code="{{ outer() }}", own_macros={"outer": "{{ inner() }}", "inner": f"{call} where 1"})
    assert '"inner"' in through.refusal("refuse_own_filter", "m")
    overwritten = Renderer(strategy="insert_overwrite", raw_code=call).refusal("note_inputs")
    assert "with incremental_strategy insert_overwrite and file_format delta the table is computed whole" in overwritten
    # States and histories say themselves what is new.
    of_state = hudi(raw_code=call, meta={"cdc": {"merge_guard": "_cdc_position"}})
    assert of_state.render("spark__create_table_as", True, STATE, "select 1") == "dbt-spark's own table"


def test_what_is_no_filter_is_let_through() -> None:
    hook = "{% if is_incremental() %}optimize x{% endif %}"
    for raw_code in (
        "{{ ref('a') }} -- is_incremental()",
        "{# {{ is_incremental() }} #}",
        "{% raw %}{{ is_incremental() }}{%- endraw %}",
        "{{ \"'is_incremental'\" }} {{ outer() }}",
        f"{{{{ config(post_hook='{hook}') }}}}",
    ):
        mine = {"outer": "{{ is_incremental_of_mine() }}"}
        harmless = hudi(raw_code=raw_code, own_macros=mine, post_hooks=[hook])
        assert harmless.does("refuse_own_filter", "m") == []
        assert harmless.render("asks_for_the_run", raw_code) is (hook in raw_code)
    # A macro that a hook calls, and the model does not.
    call = "{{ outer() }}"
    of_hook = hudi(raw_code=f"{{{{ config(post_hook='{call}') }}}}", own_macros={"outer": hook}, post_hooks=[call])
    assert of_hook.does("refuse_own_filter", "m") == []
    appended = hudi(raw_code=hook, strategy="append")
    appended.answers["create or replace temporary view"] = []
    assert appended.render("spark__create_table_as", True, STATE, "select 1") == "dbt-spark's own table"
    assert hudi().render("macro_of_id", "macro.dbt.is_incremental") is None
    assert hudi().render("macro_of_id", "macro.gone.x") is None
    assert hudi(own_macros={"outer": "x"}).render("macro_of_id", "macro.theirs.outer").macro_sql == "x"


def test_commits_that_were_taken_back() -> None:
    renderer = hudi()
    renderer.answers["call show_commits"] = [{"commit_time": "20261125082730000"}]
    assert renderer.render("commit_properties_of_hudi", STATE) == {"written_until": "20261125082730000"}
    # One that is archived, one that is shown, and one that is gone, whatever came after it.
    for shown, written, is_taken_back in (
        (["20261125082730000"], "20261125082729999", False),
        (["20261125082730000"], "20261125082730000", False),
        (["20261125082730000"], "20261125082730001", True),
        (["20261125082730002", "20261125082730000"], "20261125082730001", True),
        (["20261125082730002", "20261125082730000"], "20261125082730000", False),
    ):
        renderer.answers["call show_commits"] = [{"commit_time": time} for time in shown]
        properties = {"written_until": written}
        assert renderer.render("is_taken_back", STATE, properties) is is_taken_back
        renderer.answers["show tblproperties"] = [{"key": "alluvium.written_until", "value": written}]
        reason = "its newest commits were taken back" if is_taken_back else None
        assert renderer.render("reason_to_rebuild", STATE) == reason
    renderer.answers["call show_commits"] = []
    assert renderer.render("commit_properties_of_hudi", STATE) == {}
    assert renderer.render("is_taken_back", STATE, {"written_until": "1"}) is True
    assert renderer.render("is_taken_back", STATE, {}) is False


@pytest.mark.parametrize("name", [row["key"] for row in MADE_NOW])
def test_table_that_was_made_without_a_property_is_refused(name: str) -> None:
    renderer = hudi()
    renderer.answers["show tblproperties"] = MADE_NOW
    renderer.render("require_properties_of_hudi_table", "m", STATE)
    made = renderer.render("hudi_properties", False)
    assert {row["key"]: row["value"] for row in MADE_NOW}.items() <= made.items()
    for other in ([], [{"key": name, "value": "other"}]):
        renderer.answers["show tblproperties"] = [*(row for row in MADE_NOW if row["key"] != name), *other]
        with pytest.raises(CompilationError, match=rf"property {re.escape(name)} of silver.* as tables .* now"):
            renderer.render("require_properties_of_hudi_table", "m", STATE)


def test_partitions_of_a_table_of_hudis() -> None:
    renderer = hudi(partition_by=["country", "a"])
    renderer.answers[f"describe {STATE}"] = [{"col_name": "id"}]
    assert renderer.render("partitions_of_table", STATE) == []
    heading = [{"col_name": "# Partition Information"}, {"col_name": "# col_name"}]
    renderer.answers[f"describe {STATE}"] = [{"col_name": "Country"}, *heading, {"col_name": "Country"}]
    assert renderer.render("partitions_of_table", STATE) == ["Country"]
    columns = typed(("Country", "string"), ("A", "int"))
    assert renderer.sql("partition_clause_of_hudi", columns) == "partitioned by (`Country`, `A`)"
    assert renderer.render("spelled_partitions", columns) == ["Country", "A"]
    ordered = renderer.render("columns_before_partitions", typed(("a", "int"), ("country", "string"), ("id", "int")))
    assert [column.name for column in ordered] == ["id", "country", "a"]
    assert hudi().sql("partition_clause_of_hudi", columns) == ""


@pytest.mark.parametrize(
    ("data_type", "fits"),
    [
        ("map<string,array<struct<a:decimal(10,2),B_1:int>>>", True),
        ("struct<void:int,interval:string>", True),
        ("struct<title: string, firstName : STRING, names: Map < String, array<int> >>", True),
        ("struct<title: string, größe: int>", False),
        ("MAP<INT, STRING>", False),
        ("struct<a: int, b: VOID>", False),
        (" Interval Day", False),
        ("struct<$numberLong:string>", False),
        ("struct<größe:int>", False),
        ("map<int,string>", False),
        ("void", False),
        ("array<void>", False),
        ("interval day to second", False),
    ],
)
def test_types_that_hudi_has(data_type: str, fits: bool) -> None:
    renderer = hudi()
    assert renderer.render("is_type_of_hudi", data_type) is fits
    if fits:
        renderer.render("require_columns_of_hudi", "m", typed(("id", data_type)))
    else:
        assert "m: type of column id is" in renderer.refusal("require_columns_of_hudi", "m", typed(("id", data_type)))


def test_types_of_the_source_systems_but_odd_names_are_in_hudi_too() -> None:
    renderer, types = hudi(), set()
    for path in REPOSITORY.glob("models/bronze/**/*.yml"):
        for source in yaml.safe_load(path.read_text("utf-8")).get("sources", []):
            types |= {column["data_type"] for table in source["tables"] for column in table["columns"]}
    refused = {data_type for data_type in types if not renderer.render("is_type_of_hudi", data_type)}
    assert refused == {data_type for data_type in types if "$" in data_type}
    assert any(data_type.startswith("struct<") for data_type in types - refused)


def test_rows_of_vanished_keys_do_not_stay_where_dbt_spark_would_merge() -> None:
    assert hudi(materialized="table", incremental=False).does("delete_vanished_keys", STATE, ["id"]) == []
    appended = hudi(strategy="append").refusal("delete_vanished_keys", STATE, ["id"])
    assert 'incremental_strategy is "append"; allowed: merge' in appended
    unhooked = hudi(post_hooks=()).refusal("delete_vanished_keys", STATE, ["id"])
    assert "post_hook is not given" in unhooked
    other = Renderer(file_format="parquet").refusal("delete_vanished_keys", STATE, ["id"])
    assert 'file_format is "parquet"; allowed: delta, hudi' in other


def test_session_lists_the_files_anew() -> None:
    """Of the model's table, and of those behind it, through views."""

    def node(name: str, *parents: str) -> dict[str, Any]:
        return {"schema": "silver", "alias": name, "depends_on": {"nodes": [f"model.{parent}" for parent in parents]}}

    name = "slv_shop__orders_state"
    graph = {f"model.{each['alias']}": each for each in (node(name, "log"), node("log"), node("living", name))}
    graph["model.part"] = node("part", "living", "other")
    graph["model.other"] = node("other", name)
    mart = {"depends_on": {"nodes": ["model.part", "model.log", "source.shop.orders"]}}
    hudis = [name, "other", "fct_order"]
    renderer = hudi(nodes=graph, tables_of_hudi=hudis, views=["living"], absent=["part"])
    behind = renderer.render("hudi_tables_behind", mart)
    assert [table.render() for table in behind] == [f"silver.{name}", "silver.other"]
    renderer.answers["refresh table"] = []
    refreshed = [f"refresh table {table}" for table in ("gold.fct_order", f"silver.{name}", "silver.other")]
    assert renderer.does("refresh_hudi_tables", relation("fct_order", "gold"), mart) == refreshed
    assert renderer.does("refresh_hudi_tables", relation("new", "gold"), {"depends_on": {"nodes": []}}) == []
    # Before any row is read.
    written = making(nodes=graph, tables_of_hudi=hudis, post_hooks=["{{ alluvium.record_applied_batches() }}"])
    written.answers["refresh table"] = []
    written.render("spark__create_table_as", True, STATE, "select 1 as id")
    assert written.queries.index(refreshed[1]) < written.queries.index(ROWS)
    # One that is built anew is not read, and may be one that cannot be.
    anew = making(nodes=graph, tables_of_hudi=hudis, parents=["model.other"])
    anew.answers["refresh table"] = []
    anew.render("spark__create_table_as", False, STATE, "select 1 as id")
    assert [sql for sql in anew.queries if sql.startswith("refresh table")] == [refreshed[2]]


def test_format_is_that_of_the_table() -> None:
    """The model may have got another one since."""
    name = "slv_shop__orders_state"
    state = {"resource_type": "model", "schema": "silver", "alias": name, "config": {"file_format": "delta"}}
    of_model = {"model.state": state}
    tries: list[tuple[dict[str, Any], str]] = [
        ({"tables_of_hudi": [name]}, "hudi"),
        ({"tables_of_hudi": []}, "delta"),
        ({"tables_of_hudi": [name], "absent": [name]}, "delta"),
        ({}, "delta"),
    ]
    for settings, expected in tries:
        assert Renderer(nodes=of_model, **settings).render("format_of_table", STATE) == expected


ADDED = typed(("note", "string"))


def altered(*columns: tuple[str, str], properties: Sequence[Mapping[str, str]] = (), **settings: Any) -> Renderer:
    """A renderer of a model whose table has these columns."""
    renderer = hudi(
        columns=[name for name, _ in columns], types={(STATE.identifier, n): t for n, t in columns}, **settings
    )
    renderer.answers |= {
        "show tblproperties": list(properties),
        "call show_commits": [],
        "show tables": [],
        "drop table": [],
        "alter table": [],
        "create": [],
        "insert": [],
        f"describe {STATE}": [],
    }
    return renderer


def test_column_of_hudi_is_noted_before_it_is_added() -> None:
    renderer = altered(("id", "int"))
    assert renderer.render("spark__alter_relation_add_remove_columns", STATE, ADDED, None).strip() == ""
    assert renderer.queries[-2:] == [
        f"alter table {STATE} set tblproperties ('alluvium.adds_columns' = 'note')",
        f"alter table {STATE} add columns (`note` string)",
    ]


@pytest.mark.parametrize(
    ("columns", "properties", "is_rewritten"),
    [
        ([("id", "int")], [{"key": "alluvium.adds_columns", "value": "gone"}], True),
        ([("Gone", "int")], [{"key": "alluvium.adds_columns", "value": "gone"}], False),
        ([("x", "array<decimal(10,2)>"), ("y", "array<decimal(20,5)>")], [], True),
        ([("x", "array<decimal(10,2)>"), ("y", "array<decimal(10,2)>")], [], False),
    ],
)
def test_table_of_hudi_is_rewritten_for_a_column(
    columns: list[tuple[str, str]], properties: list[dict[str, str]], is_rewritten: bool
) -> None:
    renderer = altered(*columns, properties=[*properties, {"key": "alluvium.batch", "value": "6"}])
    renderer.render("spark__alter_relation_add_remove_columns", STATE, ADDED, None)
    assert (f"model {STATE.identifier}: rewritten for note" in renderer.messages) is is_rewritten
    assert any("cast(null as string) as `note`" in query for query in renderer.queries) is is_rewritten
    (made,) = [query for query in renderer.queries if query.startswith("create table")] or [""]
    assert ("'alluvium.batch' = '6'" in made) is is_rewritten
    assert "adds_columns" not in made


def test_columns_of_other_tables_are_dbts() -> None:
    for renderer in (Renderer(), hudi(post_hooks=())):
        renderer.render("spark__alter_relation_add_remove_columns", STATE, ADDED, None)
        assert renderer.queries == [f"alter table {STATE} add columns (`note` string)"]
    renderer = hudi()
    renderer.render("spark__alter_relation_add_remove_columns", STATE, [], ADDED)
    assert len(renderer.queries) == 1


@pytest.mark.parametrize(
    ("columns", "are_of_one_name"),
    [
        ([("x", "array<decimal(10,2)>"), ("y", "map<string,decimal(20,5)>")], False),
        ([("x", "map<string,decimal(10,2)>"), ("y", "map<string,decimal(20,5)>")], True),
        ([("x", "array<array<decimal(10,2)>>"), ("y", "array<decimal(20,5)>")], True),
        ([("x", "struct<p:decimal(10,2)>"), ("y", "struct<p:decimal(20,5)>")], True),
        ([("x", "struct<p:decimal(10,2)>"), ("P", "decimal(20,5)")], True),
        ([("x", "array<struct<p:string>>"), ("y", "array<decimal(20,5)>")], True),
        ([("x", "array<struct<p:string>>"), ("y", "array<struct<q:string>>")], False),
        ([("x", "decimal(10,2)"), ("y", "decimal(20,5)"), ("element", "decimal(3,1)")], False),
        ([("y", "array<decimal(20,5)>"), ("element", "decimal(3,1)")], True),
    ],
)
def test_has_decimals_of_one_name(columns: list[tuple[str, str]], are_of_one_name: bool) -> None:
    """As Hudi 1.2.0 reads tables that a column was added to, or does not."""
    assert Renderer().render("has_decimals_of_one_name", typed(*columns)) is are_of_one_name


def test_require_hudi() -> None:
    hudi().render("require_hudi", "m")
    hudi().render("require_session_of_hudi", "m")
    renderer = hudi()
    renderer.answers = {"set": [{"key": "spark.sql.extensions", "value": "io.delta.sql.DeltaSparkSessionExtension"}]}
    for macro in ("require_hudi", "require_session_of_hudi"):
        with pytest.raises(Exception, match="ALLUVIUM_FILE_FORMAT=hudi"):
            renderer.render(macro, "m")
    assert renderer.render("knows_hudi", renderer.answers["set"][0]["value"]) is False
    # A model of Delta's whose table, or a table behind it, is Hudi's.
    unaware = Renderer(this=STATE)
    unaware.answers = {"set spark.sql.extensions": [{"value": "io.delta.sql.DeltaSparkSessionExtension"}]}
    unaware.answers["show tblproperties"] = [{"key": "alluvium.written_until", "value": "20261125082730000"}]
    for macro, arguments in (
        ("newest_commit", (STATE, "hudi")),
        ("reason_to_rebuild", (STATE,)),
    ):
        with pytest.raises(CompilationError) as caught:
            unaware.render(macro, *arguments)
        said = str(caught.value.msg)
        assert said.startswith(
            f'table {STATE}: format is "hudi"; allowed: delta, or {hudi().render("session_with_hudi")}'
        )
    assert "ALLUVIUM_FILE_FORMAT=hudi" in str(hudi().render("session_with_hudi"))
    renderer = hudi(which="test")
    renderer.answers = {"call show_commits": [{"commit_time": "1"}]}
    assert renderer.render("commits_of_hudi", STATE, 7) == [{"commit_time": "1"}]
    assert renderer.queries == [f"call show_commits(table => '{STATE}', limit => 7)"]
    with_comments = hudi(persist_docs={"relation": True, "columns": True})
    assert "persist_docs.columns is true; allowed: false" in with_comments.refusal("require_hudi", "m")
    hudi(persist_docs={"relation": True, "columns": False}).render("require_hudi", "m")
    elsewhere = hudi(location_root="s3a://bucket/silver")
    assert 'location_root is "s3a://bucket/silver"' in elsewhere.refusal("require_hudi", "m")
    assert "macro behind a table of Hudi's" in hudi(root_macros={}).refusal("require_hudi", "m")


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("hoodie.index.type", "RECORD_INDEX", "GLOBAL_SIMPLE, GLOBAL_BLOOM"),
        ("spark.hoodie.index.type", "SIMPLE", "GLOBAL_SIMPLE, GLOBAL_BLOOM"),
        ("hoodie.datasource.write.operation", "insert", "none"),
        ("hoodie.spark.sql.insert.into.operation", "insert", "upsert"),
        ("hoodie.payload.delete.field", "gone", "_cdc_op"),
        ("hoodie.datasource.query.type", "read_optimized", "snapshot"),
        ("hoodie.datasource.merge.type", "skip_merge", "payload_combine"),
    ],
)
def test_setting_of_the_session_or_the_machine_that_would_lose_rows_is_refused(
    name: str, value: str, allowed: str
) -> None:
    of_session = hudi()
    of_session.answers["set"] = [*EXTENSIONS["set"], {"key": name, "value": value}]
    of_machine = hudi()
    of_machine.answers["DFSPropertiesConfiguration"] = [{"defaults": f"{{hoodie.b=1, {name}={value}}}"}]
    for place, renderer in (("setting of the session", of_session), ("hudi-defaults.conf", of_machine)):
        with pytest.raises(CompilationError) as refused:
            renderer.render("require_session_of_hudi", "m")
        assert f"m: {place} " in str(refused.value)
        assert f'{name.removeprefix("spark.")} is "{value}"; allowed: {allowed}' in str(refused.value)


def test_other_settings_are_let_through() -> None:
    renderer = hudi()
    fixed = renderer.render("fixed_properties_of_hudi", True)
    others = {"spark.app.name": "a", "hoodie.parquet.max.file.size": "1", "hoodie.datasource.hive_sync.enable": "true"}
    pairs = {**fixed, **others}.items()
    renderer.answers["set"] = [*EXTENSIONS["set"], *({"key": name, "value": value} for name, value in pairs)]
    renderer.answers["DFSPropertiesConfiguration"] = [{"defaults": "{hoodie.a=1,2, hoodie.b=}"}]
    renderer.render("require_session_of_hudi", "m")
    assert renderer.render("defaults_of_hudi") == {"hoodie.a": "1", "hoodie.b": ""}
    renderer.render("require_setting_of_hudi", "m", "setting", "spark.app.name", "hoodie.index.type", fixed)


def test_format_of_the_table_and_of_the_model() -> None:
    hudi(tables_of_hudi={STATE.identifier}).render("require_format_of_table", "m")
    hudi(tables_of_hudi=None).render("require_format_of_table", "m")
    hudi(absent=[STATE.identifier]).render("require_format_of_table", "m")
    refusal = hudi(tables_of_hudi=()).refusal("require_format_of_table", "m")
    assert 'file_format is "hudi"; allowed: delta, as the table has it' in refusal
    # Before its columns, of which some have other types in the other format.
    assert "apply_schema_change: model" in hudi(tables_of_hudi=()).refusal("apply_schema_change", feed())


def test_table_that_hudi_1_0_has_made_without_its_payload_is_refused() -> None:
    renderer = hudi(meta={"cdc": {"merge_guard": "position"}})
    renderer.answers["show tblproperties"] = MADE_NOW
    renderer.render("require_properties_of_hudi_table", "m", STATE)
    renderer.answers["HoodieTableVersion"] = [{"version": "EIGHT"}]
    with pytest.raises(CompilationError, match=r"payloadClass of silver\.slv_shop__orders_state is not given"):
        renderer.render("require_properties_of_hudi_table", "m", STATE)
    payload_class = renderer.render("properties_of_hudi_1_0", "EIGHT")["payloadClass"]
    renderer.answers["show tblproperties"] = [*MADE_NOW, {"key": "payloadClass", "value": payload_class}]
    renderer.render("require_properties_of_hudi_table", "m", STATE)
    # A mart is written whole.
    renderer.answers["show tblproperties"] = MADE_NOW
    renderer.meta = {}
    assert not renderer.render("is_kept_by_key", {"config": {"meta": renderer.meta}})
    renderer.render("require_properties_of_hudi_table", "m", STATE)


def test_keep_in_delta() -> None:
    renderer = hudi(execute=False)
    renderer.does("keep_in_delta")
    assert renderer._context["config"]["file_format"] == "delta"


def test_commit_figures_of_hudi() -> None:
    renderer = hudi()
    write = {"action": "deltacommit", "num_inserts": 1, "num_update_writes": 2, "num_deletes": 0}
    renderer.answers = {
        "call show_commits_metadata(table => 'silver.slv_shop__orders_state', limit => 100000)": [
            {**write, "commit_time": "40", "action": "commit", "num_update_writes": 9},
            {**write, "commit_time": "30", "num_deletes": 1},
            {**write, "commit_time": "20"},
            {**write, "commit_time": "10", "action": "replacecommit", "num_inserts": 5, "num_update_writes": 0},
        ],
        "show tblproperties": [],
    }
    table = {"relation": STATE, "file_format": "hudi", "after_version": 20}
    figures = renderer.render("commit_figures", table)
    assert figures == renderer.render("commit_figures_of_hudi", table)
    assert figures == {"version": 30, "inserted": 0, "updated": 3, "stale": "null", "is_whole": False}
    whole = renderer.render("commit_figures_of_hudi", {**table, "after_version": -1})
    assert (whole["inserted"], whole["updated"], whole["is_whole"]) == (6, 5, True)


@pytest.mark.parametrize(
    ("after_version", "expected"),
    [(20, {"inserted": 8, "updated": 2, "is_whole": True}), (30, {"inserted": 1, "updated": 2, "is_whole": False})],
)
def test_full_refresh_of_hudi_begins_the_table_anew(after_version: int, expected: dict[str, Any]) -> None:
    """A clustering later is none, and neither is what the table had before."""
    write = {"action": "commit", "num_inserts": 1, "num_update_writes": 2, "num_deletes": 0}
    replaced = {**write, "action": "replacecommit", "num_inserts": 7, "num_update_writes": 0}
    renderer = hudi()
    renderer.answers = {
        "call show_commits_metadata": [
            {**replaced, "commit_time": "50"},
            {**write, "commit_time": "40"},
            {**replaced, "commit_time": "30"},
            {**write, "commit_time": "25"},
            {**replaced, "commit_time": "10"},
        ],
        "show tblproperties": [{"key": "alluvium.rebuilt_after", "value": "25"}],
    }
    table = {"relation": STATE, "file_format": "hudi", "after_version": after_version}
    found = renderer.render("commit_figures_of_hudi", table)
    assert found == {"version": 40, "stale": "null", **expected}


def test_parts_of_merges(macros: Renderer) -> None:
    condition = macros.sql("changes_its_row", feed(), "_cdc_position", "soft", [])
    assert condition.startswith("source._cdc_position > target._cdc_position or source._cdc_image_position >")
    assert_parses("select * from " + macros.render("found_values_sql", feed(), "select 1", "found", ["it's"]))
    change = {"removed": ["old"], "retyped": {"id": {"from": "int", "to": "bigint"}}}
    columns = typed(("id", "int"), ("old", "int"))
    assert macros.sql("rewritten_columns_sql", STATE, columns, change).startswith(
        "select cast(`id` as bigint) as `id` from"
    )
    assert "versions as (" in macros.sql("versions_sql", relation("log"), feed(), ["note"], None, [])
