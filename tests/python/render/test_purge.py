"""The purge of keys: what it runs, in which order, what it refuses; and the barrier in the SQL of a log."""

from __future__ import annotations

import re
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError

from .feeds import ODD_NAMES, column, feed, model, shop, staged
from .harness import SESSION_OF_HUDI, Renderer, assert_expression_parses, assert_parses, fold, relation

HASH = "ab" * 32
BARRIER = {"keys": "select key_hash, until_position from purged", "is_bounded": False}
BOUNDED = {"keys": "select key_hash, until_position from purged", "is_bounded": True}
BATCH = {"number": 5, "after": 4, "runs": []}
ROWS: dict[str, Any] = {
    "connector": "table",
    "shape": "row",
    "sequence_by": ["at"],
    "columns": [column("id"), column("at", "timestamp")],
}
LINES = relation("shop__orders__purged_lines")
LOG = relation("stg_shop__orders")
STATE = relation("slv_shop__orders_state")
REQUEST = {
    "dry_run": False,
    "later_events": "purge",
    "requested_by": None,
    "reason": "it's 17",
    "vacuum_hours": None,
}
LEDGER = {"key_columns": "id number", "key_count": 2, "bounded_count": 0, "unfinished_count": 0}


def barred(barrier: dict[str, Any] = BARRIER, **options: Any) -> dict[str, Any]:
    return feed(**options) | {"barrier": barrier}


def node(name: str, *parents: str, **config: Any) -> dict[str, Any]:
    defaults = {"materialized": "incremental", "meta": {}, "post-hook": []}
    return model(name, *parents) | {"config": defaults | config}


def purging(**answers: Any) -> Renderer:
    """The shop as a run-operation finds it, with a history, a mart of each kind and a snapshot."""
    renderer = shop()
    renderer.which = "run-operation"
    hook = [{"sql": "{{ alluvium.record_applied_files() }}"}]
    merged = {"incremental_strategy": "merge", "file_format": "delta"}
    renderer.nodes = {
        "model.stg": node("stg_shop__orders", "source.alluvium.shop.orders", **{"post-hook": hook}),
        "model.state": node("slv_shop__orders_state", "model.stg", meta={"cdc": {"merge_guard": "_cdc_position"}}),
        "model.history": node("slv_shop__orders_history", "model.stg", meta={"cdc": {"stored_as_scd_type": 2}}),
        "model.slv": node("slv_shop__orders", "model.state", materialized="view"),
        "model.agg": node("agg_sales", "model.slv", incremental_strategy="insert_overwrite", file_format="delta"),
        "model.fct": node("fct_sales", "model.state", **merged),
        "model.status": node("stg_status", "model.stg", **merged),
        "snapshot.orders": node("orders_at", "model.slv", materialized="snapshot") | {"resource_type": "snapshot"},
    }
    for entry in renderer.nodes.values():
        entry["depends_on"]["macros"] = []
    renderer.nodes["model.status"]["depends_on"]["macros"] = ["macro.alluvium.transaction_status"]
    renderer.columns = ["id", "note", "dropped", "_cdc_kind", "_cdc_raw", "_cdc_position"]
    renderer.answers = {
        "to_json(misfits)": [{"key_hash": HASH, "misfits": "{}"}],
        "where _cdc_kind <> 'purged'": [{"row_count": 4, "file_count": 2}],
        "as held": [{"row_count": 1}],
        "select count(*) as key_count": [{"key_count": 0}],
        "where is_listed": [{"file_path": "file:/a.json", "line_count": 3}],
        "select 1 as moved": [],
        **staged(renderer),
        "show tblproperties": [{"key": "alluvium.applied_batch.stg_shop__orders", "value": "7"}],
        **answers,
        "": [],
    }
    return renderer


def purge(renderer: Renderer, *keys: Any, **more: Any) -> list[str]:
    return renderer.does("purge_rows", "shop", "orders", list(keys), **more)


def test_purge_sets_up_the_barrier_first_and_deletes_states_before_logs() -> None:
    renderer = purging()
    queries = purge(renderer, {"id": 1001}, dry_run=False)
    steps = [
        "merge into silver.cdc_purge_ledger as ledger using (select explode",
        "create table silver.shop__orders__purged_lines",
        "merge into silver.slv_shop__orders_state as target",
        "reorg table silver.slv_shop__orders_state apply (purge)",
        "merge into silver.slv_shop__orders_history as target",
        "merge into silver.stg_shop__orders as logged",
        "reorg table silver.stg_shop__orders apply (purge)",
        "merge into silver.cdc_file_ledger as entry",
        "alter table silver.slv_shop__orders_state set tblproperties",
        "merge into silver.cdc_purge_ledger as ledger using alluvium_purged_keys",
        "drop table silver.shop__orders__purged_lines",
    ]
    places = [next(place for place, query in enumerate(queries) if query.startswith(step)) for step in steps]
    assert places == sorted(places)
    assert not [query for query in queries if query.startswith("vacuum")]
    assert sum("'1001'" in query for query in queries) == 1, "one query names the key"
    assert "'alluvium.applied_batch.stg_shop__orders' = '0'" in " ".join(queries)


def test_purge_says_what_it_did_and_what_is_left() -> None:
    renderer = purging()
    purge(renderer, {"id": 1001}, dry_run=False)
    assert [fold(message) for message in renderer.messages] == [
        "purge_rows: shop.orders, keys: 1",
        "silver.stg_shop__orders 4 lines in 2 files",
        "silver.slv_shop__orders_state 1 rows",
        "silver.slv_shop__orders_history 1 versions",
        "files of the source that hold these keys, to be deleted or rewritten by you: 1",
        "file:/a.json (3 lines)",
        "next: dbt build --select stg_shop__orders+",
        "then, since a merge keeps what it once had: dbt build --full-refresh --select fct_sales",
        "not purged, since dbt alone writes it: snapshot orders_at",
        "rejected lines that name no key, to be looked through by you: select _cdc_file_path, _cdc_line, _cdc_raw from "
        "silver.stg_shop__orders where _cdc_reject_reason is not null",
        "older versions of the tables hold the rows until they are vacuumed, a week later: dbt run-operation "
        "purge_rows --args '{source: shop, entity: orders, keys: [], dry_run: false, vacuum_hours: 168}'",
    ]


def test_dry_run_changes_nothing() -> None:
    renderer = purging()
    queries = purge(renderer, {"id": 1001})
    changed = ("merge", "update", "delete", "alter", "reorg", "vacuum")
    assert not [query for query in queries if query.startswith(changed)]
    created = [query for query in queries if query.startswith(("create", "insert", "drop"))]
    assert all("purged_lines" in query or "alluvium_purged_keys" in query or "schema" in query for query in created)
    assert renderer.messages[0].endswith("(dry run: nothing is changed)")
    assert "purge_rows: nothing is changed; `dry_run: false` does it" in renderer.messages
    assert "after that: dbt build --select stg_shop__orders+" in renderer.messages
    renderer.execute = False
    assert purge(renderer, {"id": 1001}) == []


def test_nothing_found_leaves_the_tables_alone() -> None:
    answers = {"where _cdc_kind <> 'purged'": [{"row_count": 0, "file_count": 0}], "as held": [{"row_count": 0}]}
    queries = purge(purging(**answers), {"id": 1001}, dry_run=False)
    assert not [query for query in queries if query.startswith(("alter", "merge into silver.s"))]
    # What a killed one has deleted already still has to be held against the log.
    killed = purge(purging(**answers, **{"select count(*) as key_count": [{"key_count": 1}]}), {"id": 1}, dry_run=False)
    assert len([query for query in killed if query.startswith("alter")]) == 2


def test_vacuum_alone() -> None:
    queries = purge(purging(), dry_run=False, vacuum_hours=0)
    assert queries == [
        "set spark.sql.sources.parallelPartitionDiscovery.parallelism = 32",
        "set spark.databricks.delta.retentionDurationCheck.enabled = false",
        *(
            f"vacuum silver.{table} retain 0 hours"
            for table in (
                "stg_shop__orders",
                "slv_shop__orders_state",
                "slv_shop__orders_history",
                "agg_sales",
                "fct_sales",
                "orders_at",
            )
        ),
        "reset spark.sql.sources.parallelPartitionDiscovery.parallelism",
        "reset spark.databricks.delta.retentionDurationCheck.enabled",
    ]
    assert purge(purging(), vacuum_hours=0) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"source": "shap"}, 'source and entity is "shap.orders"; allowed: shop.orders.'),
        ({"dry_run": "no"}, 'purge_rows: dry_run is "no"; allowed: True, False.'),
        ({"later_events": "all"}, 'later_events is "all"; allowed: purge, keep.'),
        ({"vacuum_hours": -1}, "vacuum_hours is -1; allowed: a number of hours, such as 168."),
        ({"vacuum_hours": True}, "vacuum_hours is true; allowed"),
        ({"keys": []}, "keys is []; allowed: a list of keys, such as [{id: ...}]"),
        ({"keys": "1"}, 'keys is "1"; allowed: a list of keys'),
        ({"keys": {"id": 1}}, 'keys is {"id": 1}; allowed: a list of keys'),
        ({"keys": [1001]}, "a key is 1001; allowed: all columns of the key and no other: id."),
        ({"keys": [{}]}, "a key is []; allowed: all columns of the key and no other: id."),
        ({"keys": [{"id": 1, "note": "a"}]}, 'a key is ["id", "note"]; allowed: all columns of the key'),
        ({"keys": [{"id": None}]}, "keys: id is not given; allowed: a text in quotes that is a value of int."),
        ({"keys": [{"id": 1.5}]}, 'keys: id is "1.5"; allowed: a text in quotes that is a value of int.'),
        ({"keys": [{"id": True}]}, 'keys: id is "True"; allowed'),
    ],
)
def test_purge_refuses(given: dict[str, Any], said: str) -> None:
    arguments = {"source": "shop", "entity": "orders", "keys": [{"id": 1}]} | given
    assert said in purging().refusal("purge_rows", **arguments)


def in_hudi(table_type: str) -> Renderer:
    """The feed's history and state are tables of Hudi's, whatever the models say now."""
    renderer = purging(
        **{
            "call ": [],
            "show tables": [],
            "insert into": [],
            **SESSION_OF_HUDI,
        }
    )
    renderer.answers = {"('type')": [{"value": table_type}], **renderer.answers}
    renderer.columns = [*renderer.columns, "_cdc_op"]
    renderer.tables_of_hudi = {"slv_shop__orders_state", "slv_shop__orders_history"}
    return renderer


def test_session_without_hudi_purges_no_table_of_hudis() -> None:
    renderer = in_hudi("cow")
    renderer.answers["set"] = [{"key": "spark.sql.extensions", "value": "io.delta.sql.DeltaSparkSessionExtension"}]
    said = 'purge_rows: silver.slv_shop__orders_state: file_format is "hudi"; allowed: delta, or a session'
    with pytest.raises(CompilationError, match=re.escape(said)):
        purge(renderer, {"id": 1001}, dry_run=False)
    assert renderer.queries[2:] == ["set"]
    assert all(sql.startswith("refresh table silver.") for sql in renderer.queries[:2])


def test_rows_in_hudi_are_written_as_removed() -> None:
    queries = [fold(query) for query in purge(in_hudi("cow"), {"id": 1001}, dry_run=False)]
    (removal,) = [query for query in queries if query.startswith("insert into silver.slv_shop__orders_state")]
    assert "if(source.key_hash is not null, 'removed', target.`_cdc_op`) as `_cdc_op`" in removal
    assert "reorg table silver.stg_shop__orders apply (purge)" in queries
    assert "show tables in silver like 'slv_shop__orders_state__replaced_*'" in queries
    assert not [query for query in queries if query.startswith("call run") or "reorg table silver.slv" in query]


def test_log_files_of_hudi_are_compacted_after_a_purge() -> None:
    queries = purge(in_hudi("mor"), {"id": 1001}, dry_run=False)
    calls = [query for query in queries if query.startswith("call run")]
    tables = ["slv_shop__orders_state", "slv_shop__orders_history"]
    assert calls == [
        call
        for table in tables
        for call in (
            f"call run_compaction(op => 'schedule', table => 'silver.{table}', "
            "options => 'hoodie.compact.inline.max.delta.commits=1')",
            f"call run_compaction(op => 'run', table => 'silver.{table}')",
        )
    ]
    assert {f"refresh table silver.{table}" for table in tables} <= set(queries)


def test_rewrite_marked_files() -> None:
    renderer = in_hudi("mor")
    table = {"relation": STATE, "file_format": "hudi"}
    ran = renderer.does("rewrite_marked_files", table)
    assert [sql.split(" (")[0].split("(")[0] for sql in ran] == [
        f"show tblproperties {STATE}",
        "call run_compaction",
        "set",
        "select java_method",
        "select java_method",
        "call show_commits",
        "call run_compaction",
        f"refresh table {STATE}",
    ]
    table["file_format"] = "delta"
    assert renderer.does("rewrite_marked_files", table) == [f"reorg table {STATE} apply (purge)"]


def test_is_newest_commit_older_sql() -> None:
    renderer = purging(**{"call show_commits": [{"commit_time": "20261124120000000"}]})
    sql = str(renderer.render("is_newest_commit_older_sql", STATE, 24))
    assert_parses(sql)
    assert fold(sql).startswith("select '20261124120000000' <= date_format(")
    assert str(renderer.render("instant_of_hudi", "- interval 24 hours")) in sql
    assert renderer.queries[-1] == f"call show_commits(table => '{STATE}', limit => 1)"


def test_vacuum_of_a_feed_cleans_its_marts_in_hudi(macros: Renderer) -> None:
    macros.answers = {
        **SESSION_OF_HUDI,
        "set spark.sql.extensions": SESSION_OF_HUDI["set"],
        "set spark.": [],
        "reset spark.": [],
        "vacuum ": [],
        "call run_clean": [],
        "refresh table": [],
        "call show_commits": [{"commit_time": "20261124120000000", "state_transition_time": "20261124120001000"}],
        "as now": [{"now": "20261124120002000"}],
        "as is_older": [{"is_older": False}],
    }
    log = {"relation": LOG, "file_format": "delta"}
    mart = {"schema": "gold", "alias": "agg_sales", "config": {"file_format": "delta"}}
    tables = {"logs": [log], "states": [], "histories": [], "others": [mart]}
    macros.tables_of_hudi = ["agg_sales"]
    ran = macros.does("vacuum_tables_of_feed", tables, 168)
    assert [sql for sql in ran if sql.startswith(("vacuum", "call run"))] == [
        f"vacuum {LOG} retain 168 hours",
        "call run_clean(table => 'gold.agg_sales', clean_policy => 'KEEP_LATEST_BY_HOURS', hours_retained => 168)",
    ]
    (asked,) = [sql for sql in ran if "is_older" in sql]
    assert "'20261124120000000' <= date_format(" in asked
    assert "- interval 168 hours" in asked
    macros.answers["as is_older"] = [{"is_older": True}]
    (cleaned,) = [sql for sql in macros.does("vacuum_tables_of_feed", tables, 168) if sql.startswith("call run")]
    assert cleaned.endswith("clean_policy => 'KEEP_LATEST_FILE_VERSIONS', file_versions_retained => 1)")


@pytest.mark.parametrize(
    ("cdc", "more", "said"),
    [
        ({"key": []}, {}, "meta.cdc.key is []; allowed: at least one column"),
        ({"order_by": "offset"}, {"later_events": "keep"}, 'later_events is "keep"; allowed: purge, where meta.cdc'),
    ],
)
def test_feeds_that_are_refused(cdc: dict[str, Any], more: dict[str, Any], said: str) -> None:
    renderer = shop(cdc=cdc)
    assert said in renderer.refusal("feed_to_purge", "shop", "orders", more.get("later_events", "purge"))


def test_key_with_elements_is_refused() -> None:
    renderer = shop(columns={"id": {"name": "id", "data_type": "array<int>", "meta": {}}})
    assert "data_type of key column id" in renderer.refusal("feed_to_purge", "shop", "orders", "purge")


@pytest.mark.parametrize(
    ("data_type", "value", "is_taken"),
    [
        ("string", "0123", True),
        ("string", 83, False),
        ("bigint", 2**62, True),
        ("boolean", True, True),
        ("boolean", 1, False),
        ("decimal(10,2)", 7, True),
        ("decimal(10,2)", 1.1, False),
        ("date", "2024-05-01", True),
        ("timestamp", "2024-05-01T12:00:00Z", True),
        ("double", 0.1, False),
    ],
)
def test_require_value_of_key(macros: Renderer, data_type: str, value: Any, is_taken: bool) -> None:
    if is_taken:
        assert macros.does("require_value_of_key", "m", column("id", data_type), value) == []
    else:
        assert "a text in quotes" in macros.refusal("require_value_of_key", "m", column("id", data_type), value)


def test_require_keys_to_purge(macros: Renderer) -> None:
    nullable = feed(key=["region", "id"], columns=[column("region", nullable=True), column("id", "int")])
    assert macros.does("require_keys_to_purge", nullable, [{"id": 1, "region": None}], None) == []
    assert macros.does("require_keys_to_purge", nullable, [], 168) == []


def test_hashes_of_keys_refuses_a_text_that_is_no_value() -> None:
    renderer = purging(**{"to_json(misfits)": [{"key_hash": HASH, "misfits": '{"id":"x"}'}]})
    with pytest.raises(CompilationError, match='keys: id is "x"; allowed: a value of int'):
        renderer.render("hashes_of_keys", feed(), [{"id": "x"}])
    assert purging().render("hashes_of_keys", feed(), [{"id": 1}, {"id": "1"}]) == [HASH]
    assert purging().render("hashes_of_keys", feed(), []) == []


TYPES = [
    "string",
    "boolean",
    "int",
    "bigint",
    "decimal(12,2)",
    "decimal(5,0)",
    "date",
    "timestamp",
    "timestamp_ntz",
    "binary",
    "double",
]


def test_hashes_of_keys_sql(macros: Renderer) -> None:
    names = [f"k{place}" for place in range(len(TYPES))]
    columns = [column(name, type_, nullable=True) for name, type_ in zip(names, TYPES, strict=True)]
    sql = macros.render("hashes_of_keys_sql", feed(key=names, columns=columns), [dict.fromkeys(names, "it's")])
    assert_parses(sql)
    boolean = feed(key=["is"], columns=[column("is", "boolean")])
    assert "('true')" in macros.sql("hashes_of_keys_sql", boolean, [{"is": True}])
    assert "cast(null as string)" in macros.sql("hashes_of_keys_sql", boolean, [{"is": None}])


def test_text_of_key_value(macros: Renderer) -> None:
    def text(data_type: str) -> str:
        return str(macros.render("text_of_key_value", column("k", data_type), "k"))

    assert text("string") == "k"
    assert text("int") == text("decimal(5,0)") == "cast(k as string)"
    assert "format_number(k, 2)" in text("decimal(12,2)")
    assert text("timestamp") == "cast(unix_micros(k) as string)"
    assert text("binary") == "hex(k)"
    assert text("float") == text("double") == "cast(k + 0 as string)"


def test_key_hash_does_not_depend_on_the_order_of_the_declaration(macros: Renderer) -> None:
    columns = [column("b"), column("a", "int")]
    hashes = {macros.render("key_hash", feed(key=key, columns=columns), "t.") for key in (["a", "b"], ["b", "a"])}
    assert hashes == {"sha2(concat('shop.orders ', to_json(array(cast(t.`a` as string), t.`b`))), 256)"}
    assert macros.render("hash_of_texts", feed(), "x") == "sha2(concat('shop.orders ', to_json(x)), 256)"
    assert macros.render("key_columns_of_purge", feed(key=["b", "a"], columns=columns)) == ["a number", "b string"]


# The barrier


def test_no_barrier_without_a_ledger_or_purged_keys() -> None:
    renderer = Renderer()
    assert renderer.render("purge_barrier", "m", feed()) is None
    assert renderer.queries == []
    renderer = Renderer(absent=(), answers={"from silver.cdc_purge_ledger": []})
    assert renderer.render("default__purge_barrier", "m", feed()) is None
    assert len(renderer.queries) == 1


def test_barrier_of_purged_keys() -> None:
    renderer = Renderer(absent=(), answers={"from silver.cdc_purge_ledger": [LEDGER]})
    barrier = renderer.render("purge_barrier", "m", feed())
    assert not barrier["is_bounded"]
    assert renderer.warnings == []
    assert_parses(barrier["keys"])
    renderer.answers = {"from silver.cdc_purge_ledger": [LEDGER | {"bounded_count": 1, "unfinished_count": 1}]}
    assert renderer.render("purge_barrier", "m", feed())["is_bounded"]
    assert "a purge of 1 keys has not come to its end" in renderer.warnings[0]


def test_another_key_than_the_purged_one_is_refused() -> None:
    renderer = Renderer(absent=(), answers={"from silver.cdc_purge_ledger": [LEDGER]})
    for made in (feed(key=["note"]), feed(key=[])):
        with pytest.raises(CompilationError, match="id number, as its keys were purged with"):
            renderer.render("purge_barrier", "decode_debezium", made)
    assert renderer.does("require_key_of_purge", "m", feed(), "id number") == []


def test_log_without_purged_keys_has_no_trace_of_a_barrier(macros: Renderer) -> None:
    sql = macros.sql("decode_records_sql", feed(), BATCH)
    assert "purged" not in sql
    assert "key_hash" not in sql
    assert macros.render("kind_of_line", feed()) == "if(reject_reason is null, kind, 'rejected')"
    assert macros.render("unless_purged", feed(), "x") == macros.render("unless_values_order", feed(), "x") == "x"


SHAPES: list[dict[str, Any]] = [
    {},
    {"store_envelope": True},
    {"shape": "flattened"},
    {"connector": "mongodb", "store_envelope": True, "key": ["_id"], "columns": [column("_id"), column("note")]},
    {"decimal_format": "numeric", "columns": [column("id", "decimal(12,2)")]},
    {"key": [*ODD_NAMES], "columns": [column(name, nullable=True) for name in ODD_NAMES]},
    ROWS,
    ROWS | {"full_dumps": {"path": "/full/([^/]+)/", "delay_seconds": 1}},
]


@pytest.mark.parametrize(
    ("barrier", "options"),
    [
        (BOUNDED, {}),
        *((BARRIER, options) for options in SHAPES),
        *((BARRIER, {"key": ["k"], "columns": [column("k", type_)]}) for type_ in TYPES),
    ],
)
def test_log_with_purged_keys(macros: Renderer, barrier: dict[str, Any], options: dict[str, Any]) -> None:
    made = barred(barrier, **options)
    assert_parses(macros.render("decode_records_sql", made, BATCH))
    folded = macros.sql("change_log_columns", made, BATCH)
    assert "if(is_purged, null, if(reject_reason is not null, value, null)) as _cdc_raw" in folded
    assert "case when is_purged then 'purged'" in macros.render("kind_of_line", made)


def test_values_that_order_rows_go_too(macros: Renderer) -> None:
    assert macros.render("unless_values_order", barred(**ROWS), "x") == "if(is_purged, null, x)"
    dumps = barred(**ROWS, full_dumps={"path": "/full/(.+)/", "delay_seconds": 1})
    assert macros.render("unless_values_order", dumps, "x") == "if(is_purged and dump_time is null, null, x)"
    assert macros.render("unless_values_order", barred(), "x") == "x"
    assert macros.render("unless_purged", barred(), "x") == "if(is_purged, null, x)"


def test_places_of_a_key(macros: Renderer) -> None:
    assert list(macros.render("key_images", barred())) == ["row_key", "other_key"]
    assert list(macros.render("key_images", barred(shape="flattened", store_envelope=True))) == [
        "row_key",
        "record_key",
    ]
    assert macros.render("other_image", barred()) == "if(record_op = 'd', record_after, record_before)"
    assert "from_json" in macros.render("other_image", barred(connector="mongodb"))
    assert_expression_parses(macros.render("key_image_in_text", barred(key=["it's"], columns=[column("it's")]), 1))
    assert_expression_parses(macros.render("key_image_of_record", barred()))
    assert "'$.key.payload.id'" in macros.render("key_image_of_record", barred(connector="mongodb"))


def test_key_hash_of_image(macros: Renderer) -> None:
    assert "parts -> if(parts[0] is not null, sha2" in macros.sql("key_hash_of_image", barred(), "image", False)
    nullable = barred(columns=[column("id", "int", nullable=True)])
    assert "map_contains_key(image, 'id') and (parts[0] is not null or image['id'] is null)" in macros.sql(
        "key_hash_of_image", nullable, "image", False
    )
    number = column("id", "decimal(12,2)")
    numbers = barred(decimal_format="numeric", columns=[number])
    assert "coalesce(number_image['id'], t)" in macros.render("key_value_of_image", numbers, number, "t", True)
    assert "number_image" not in macros.render("key_value_of_image", numbers, number, "t", False)


def test_bound_of_a_purge(macros: Renderer) -> None:
    assert macros.render("is_barred", barred(), "k") == "k.key_hash is not null"
    bounded = barred(BOUNDED, connector="mysql")
    assert "coalesce(numbered.source_position <= k.until_position, true)" in macros.render("is_barred", bounded, "k")
    # Sent again, an event may have another end of the transaction before; a row of a snapshot has no lsn of its own.
    assert macros.render("is_up_to", feed(), "p", "op", "k.until_position") == (
        "p <= k.until_position or not op <=> 'r' and substring(p, 22, 20) <= substring(k.until_position, 22, 20)"
    )
    assert "as row_key_hash" in macros.sql("keys_of_lines", barred(BOUNDED))
    assert "left join purged_keys as by_other_key" in macros.sql("lines_at_barrier", barred())


# The statements


def test_purge_ledger_sql(macros: Renderer) -> None:
    ledger = macros.render("purge_ledger")
    assert_parses(macros.render("create_purge_ledger_sql", ledger))
    for until in (None, "0001"):
        assert_parses(macros.render("record_purge_sql", feed(), [HASH], until, REQUEST))
    assert "reason = 'it\\'s 17'" in macros.sql("record_purge_sql", feed(), [HASH], None, REQUEST)
    assert_parses(macros.render("complete_purge_sql", feed()))
    assert_parses(macros.render("unfinished_purges_sql", feed(), [HASH]))
    assert_parses(macros.render("purged_keys_of_feed_sql", feed()))
    assert_parses(macros.render("barred_keys_sql", feed(), True))
    assert macros.render("is_purge_of", feed()) == "source = 'shop' and entity = 'orders'"
    assert macros.render("literal_or_null", None) == "cast(null as string)"


@pytest.mark.parametrize("dry_run", [True, False])
def test_create_purged_keys_view_sql(macros: Renderer, dry_run: bool) -> None:
    assert_parses(macros.render("create_purged_keys_view_sql", feed(), [HASH], None, dry_run))


def test_purged_lines_sql(macros: Renderer) -> None:
    made = barred(BOUNDED)
    records = macros.render("rejected_records", LOG)
    for line in ("record_order", macros.render("line_number", made)):
        assert_parses(macros.render("purged_lines_sql", made, records, line, "false"))
    assert_parses(macros.render("purged_changes_sql", made, LOG))
    assert "numbered as (" in macros.sql("numbered_lines", feed(), "record_order")
    assert_parses(macros.render("count_purged_lines_sql", LOG, LINES))
    assert macros.render("is_line", "a", "b").startswith("a._cdc_file_path = b.file_path and ")


def test_statements_on_tables() -> None:
    renderer = purging()
    state = {"relation": STATE, "node": renderer.nodes["model.state"], "file_format": "delta"}
    texts = feed(columns=[column("id", "int"), column("note"), column("tags", "map<string,string>")])
    assert_parses(str(renderer.render("delete_purged_rows_sql", texts, state, LINES)))
    assert_parses(str(renderer.render("rows_moved_from_purged_sql", texts, STATE, LOG, LINES)))
    assert_parses(str(renderer.render("forget_moved_values_sql", texts, state)))
    of_hudi = {"relation": STATE, "file_format": "hudi"}
    renderer.columns = ["id", "note", "_cdc_moved_columns", "_cdc_unresolved_columns", "_cdc_record_key"]
    upsert = str(renderer.render("forget_moved_values_sql", texts, of_hudi))
    assert_parses(upsert)
    assert "if(array_contains(target._cdc_moved_columns, 'note'), null, target.`note`) as `note`" in upsert
    assert "target.`id` as `id`" in upsert
    assert_parses(str(renderer.render("empty_purged_lines_sql", texts, LOG, LINES)))
    assert_parses(str(renderer.render("recount_files_sql", texts, LOG, LINES)))
    assert renderer.render("log_of_table", renderer.nodes["model.state"]) == LOG
    assert " or " in renderer.sql("is_row_to_purge", texts, state, LINES)
    renderer.absent = ("stg_shop__orders",)
    assert " or " not in renderer.sql("is_row_to_purge", texts, state, LINES)


def test_values_of_purged_line(macros: Renderer) -> None:
    names = ["id", "dropped", "_cdc_kind", "_cdc_raw", "_cdc_position", "_cdc_source_ts", "_cdc_line"]
    values = macros.render("values_of_purged_line", feed(), names)
    assert values == {"_cdc_kind": "'purged'", "id": "null", "dropped": "null", "_cdc_raw": "null"}
    of_rows = macros.render("values_of_purged_line", feed(**ROWS), names)
    assert of_rows["_cdc_position"] == of_rows["_cdc_source_ts"] == "null"
    dumps = macros.render("values_of_purged_line", feed(**ROWS, full_dumps={"path": "(.)", "delay_seconds": 0}), names)
    assert dumps["_cdc_position"].startswith("if(logged._cdc_snapshot is null or")


def test_forget_moved_values() -> None:
    renderer = purging(**{"select 1 as moved": [{"moved": 1}]})
    logs = [{"relation": LOG}]
    state = {"relation": STATE, "node": renderer.nodes["model.state"], "file_format": "delta"}
    assert renderer.does("forget_moved_values", feed(), state, logs, LINES)[1].startswith("update silver.slv_shop__or")
    renderer = purging()
    assert len(renderer.does("forget_moved_values", feed(), state, logs, LINES)) == 1
    assert renderer.does("forget_moved_values", feed(replica_identity="full"), state, logs, LINES) == []


def test_tables_of_feed() -> None:
    renderer = purging()
    tables = renderer.render("tables_of_feed", feed())
    assert {role: [str(table["relation"]) for table in tables[role]] for role in ("logs", "states", "histories")} == {
        "logs": ["silver.stg_shop__orders"],
        "states": ["silver.slv_shop__orders_state"],
        "histories": ["silver.slv_shop__orders_history"],
    }
    assert {entry["name"] for entry in tables["others"]} == {"agg_sales", "fct_sales", "orders_at"}
    assert len(renderer.render("nodes_behind", feed())) == len(renderer.nodes)
    assert renderer.render("role_of_node", feed(), renderer.nodes["model.status"]) is None
    assert renderer.render("role_of_node", feed(name="shop.other"), renderer.nodes["model.state"]) is None
    renderer.absent = ("slv_shop__orders_state",)
    assert renderer.render("tables_of_feed", feed())["states"] == []


def test_table_that_is_not_staged_is_refused() -> None:
    renderer = purging()
    renderer.absent = ("shop__orders",)
    with pytest.raises(CompilationError, match="stage_external_sources"):
        renderer.render("default__purge_rows", feed(), [{"id": 1}], REQUEST)


def test_newest_event() -> None:
    renderer = purging(**{"as position from": [{"position": "0002"}]})
    assert renderer.render("newest_event", feed(), [{"relation": LOG}]) == "0002"
    assert "max(substring(_cdc_position, 22, 20))" in renderer.queries[-1]
    assert renderer.render("newest_event", feed(connector="mysql"), [{"relation": LOG}]) == "0002"
    assert "substring" not in renderer.queries[-1]
    with pytest.raises(CompilationError, match="later_events"):
        renderer.render("newest_event", feed(), [])


def test_steps_of_the_operation() -> None:
    renderer = purging()
    made = feed()
    tables = renderer.render("tables_of_feed", made)
    assert renderer.render("set_up_barrier", made, tables, [HASH], REQUEST) is False
    assert made["barrier"]["is_bounded"]
    assert renderer.render("collect_purged_lines", made, tables) == LINES
    found = renderer.render("count_purged_rows", made, tables, LINES)
    assert found["silver.stg_shop__orders"] == {"row_count": 4, "file_count": 2}
    assert renderer.does("purge_tables", made, tables, LINES, found, False)
    assert renderer.does("show_purge", made, tables, [HASH], found, REQUEST) == []
    assert len(renderer.does("show_purged_files", LINES)) == 1
    assert renderer.does("show_what_is_left", made, tables, REQUEST) == []
    assert len(renderer.does("vacuum_tables_of_feed", tables, 168)) == 8
    beside = [f"show tables in silver like 'agg_sales__{name}_*'" for name in ("rebuilt", "replaced")]
    assert renderer.does("drop_what_is_left_beside", relation("agg_sales")) == beside
    assert set(beside) <= set(renderer.does("purge_tables", made, tables, LINES, found, False))
    properties = renderer.render("properties_after_purge", STATE)
    assert properties["applied_batch.stg_shop__orders"] == 0
    assert set(properties) == {"applied_batch.stg_shop__orders", "purged"}


def test_mart_that_merges_is_refused_after_a_purge() -> None:
    renderer = Renderer(this=relation("fct_sales"))
    properties = [{"key": "alluvium.purged", "value": "p1"}]
    renderer.answers = {"show tblproperties silver.slv_shop__orders_state": properties, "show tblproperties": []}
    with pytest.raises(CompilationError, match="may hold rows of purged keys, and needs `dbt build --full-refresh"):
        renderer.render("refuse_purged_rows", STATE)
    renderer.incremental = False
    assert renderer.does("refuse_purged_rows", STATE)[-1].endswith(".silver.fct_sales = p1")
    renderer.incremental = True
    renderer.answers["show tblproperties"] = [{"key": "alluvium.purged.slv_shop__orders_state", "value": "p1"}]
    assert renderer.does("refuse_purged_rows", STATE)
    assert Renderer(which="compile").does("refuse_purged_rows", STATE) == []


def test_beside_table_and_file_entries(macros: Renderer) -> None:
    assert str(macros.render("beside_table", STATE, "moves")) == "silver.slv_shop__orders_state__moves"
    assert_parses(macros.render("file_entries_sql", feed(), LOG, "_cdc_batch > 1"))
