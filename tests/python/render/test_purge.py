"""The purge of keys: what it runs, in which order, what it refuses; and the barrier in the SQL of a log."""

from __future__ import annotations

import re
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError

from .feeds import column, feed, model, shop, staged
from .harness import SESSION_OF_HUDI, Renderer, assert_parses, fold, relation

HASH = "ab" * 32
LOG = relation("stg_shop__orders")
REQUEST = {
    "dry_run": False,
    "later_events": "purge",
    "requested_by": None,
    "reason": "it's 17",
    "vacuum_hours": None,
}


def node(name: str, *parents: str, **config: Any) -> dict[str, Any]:
    return model(name, *parents, **{"materialized": "incremental"} | config)


def purging(**answers: Any) -> Renderer:
    """The shop as a run-operation finds it, with a history, a mart of each kind and a snapshot."""
    renderer = shop()
    renderer.which = "run-operation"
    merged = {"incremental_strategy": "merge", "file_format": "delta"}
    renderer.nodes = {
        "model.stg": node("stg_shop__orders", "source.alluvium.shop.orders"),
        "model.state": node("slv_shop__orders_state", "model.stg"),
        "model.history": node("slv_shop__orders_history", "model.stg"),
        "model.slv": node("slv_shop__orders", "model.state", materialized="view"),
        "model.agg": node("agg_sales", "model.slv", incremental_strategy="insert_overwrite", file_format="delta"),
        "model.fct": node("fct_sales", "model.state", **merged),
        "model.status": node("stg_status", "model.stg", meta={"alluvium_model": "transaction_status"}, **merged),
        "snapshot.orders": node("orders_at", "model.slv", materialized="snapshot") | {"resource_type": "snapshot"},
    }
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


def test_key_that_was_purged_for_good_stays_so_where_another_purge_has_a_bound() -> None:
    renderer = purging(**{"as position from": [{"position": "1.2"}]})
    queries = purge(renderer, {"id": 1001}, dry_run=False, later_events="keep")
    (recorded,) = [query for query in queries if "using (select explode" in query and query.startswith("merge")]
    assert "until_position = if(ledger.until_position is null, null, '1.2')" in recorded
    # One entry without a bound is enough.
    barrier = renderer.render("_filtered_keys_sql", feed(), True)
    assert "if(count(until_position) < count(*), null, max(until_position))" in barrier


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
    ran = macros.does("_vacuum_tables_of_feed", tables, 168)
    assert [sql for sql in ran if sql.startswith(("vacuum", "call run"))] == [
        f"vacuum {LOG} retain 168 hours",
        "call run_clean(table => 'gold.agg_sales', clean_policy => 'KEEP_LATEST_BY_HOURS', hours_retained => 168)",
    ]
    (asked,) = [sql for sql in ran if "is_older" in sql]
    assert "'20261124120000000' <= date_format(" in asked
    assert "- interval 168 hours" in asked
    macros.answers["as is_older"] = [{"is_older": True}]
    (cleaned,) = [sql for sql in macros.does("_vacuum_tables_of_feed", tables, 168) if sql.startswith("call run")]
    assert cleaned.endswith("clean_policy => 'KEEP_LATEST_FILE_VERSIONS', file_versions_retained => 1)")
    # Hudi orders commits by their times: of one that has the time of another nobody knows.
    macros.answers["as now"] = [{"now": "20261124120001000"}]
    with pytest.raises(CompilationError, match="allowed: a time after 20261124120001000"):
        macros.does("_vacuum_tables_of_feed", tables, 168)


@pytest.mark.parametrize(
    ("cdc", "more", "said"),
    [
        ({"key": []}, {}, "meta.cdc.key is []; allowed: at least one column"),
        ({"order_by": "offset"}, {"later_events": "keep"}, 'later_events is "keep"; allowed: purge, where meta.cdc'),
    ],
)
def test_feeds_that_are_refused(cdc: dict[str, Any], more: dict[str, Any], said: str) -> None:
    renderer = shop(cdc=cdc)
    assert said in renderer.refusal("_feed_to_purge", "shop", "orders", more.get("later_events", "purge"))


def test_key_with_elements_is_refused() -> None:
    renderer = shop(columns={"id": {"name": "id", "data_type": "array<int>", "meta": {}}})
    assert "data_type of key column id" in renderer.refusal("_feed_to_purge", "shop", "orders", "purge")


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
        assert macros.does("_require_value_of_key", "m", column("id", data_type), value) == []
    else:
        assert "a text in quotes" in macros.refusal("_require_value_of_key", "m", column("id", data_type), value)


# The barrier


# The statements


def test_purge_ledger_sql(macros: Renderer) -> None:
    ledger = macros.render("_purge_ledger")
    assert_parses(macros.render("_create_purge_ledger_sql", ledger))
    for until in (None, "0001"):
        assert_parses(macros.render("_record_purge_sql", feed(), [HASH], until, REQUEST))
    assert "reason = 'it\\'s 17'" in macros.sql("_record_purge_sql", feed(), [HASH], None, REQUEST)
    assert_parses(macros.render("_complete_purge_sql", feed()))
    assert_parses(macros.render("_unfinished_purges_sql", feed(), [HASH]))
    assert_parses(macros.render("_purged_keys_of_feed_sql", feed()))
    assert_parses(macros.render("_filtered_keys_sql", feed(), True))
    assert macros.render("_is_purge_of", feed()) == "source = 'shop' and entity = 'orders'"
    assert macros.render("_literal_or_null", None) == "cast(null as string)"
