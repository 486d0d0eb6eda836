from __future__ import annotations

import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError

from .feeds import column, feed, shop
from .harness import NO_PARTITIONS, SESSION_OF_HUDI, Renderer, assert_expression_parses, assert_parses, fold, relation

LOG = relation("stg_shop__orders")
STATE = relation("slv_shop__orders_state")
MART = relation("fct_order", "gold")


def state(**changes: Any) -> Renderer:
    """A renderer whose model is the state of `shop.orders`."""
    renderer = shop(**changes)
    renderer.this = STATE
    renderer.parents = ["model.stg"]
    renderer.meta = {"cdc": {"delete_policy": "soft"}}
    return renderer


def test_current_state() -> None:
    renderer = state()
    renderer.answers = {
        "show tblproperties silver.stg_shop__orders": [],
        "select max(_cdc_batch)": [{"batch": 6}],
        "show tblproperties silver.slv_shop__orders_state": [
            {"key": "alluvium.applied_batch.stg_shop__orders", "value": "4"}
        ],
        "max(if(is_reset": [{"oldest_change": "30", "oldest_reset": None, "newest_reset": None, "left_out": "[]"}],
    }
    renderer.columns = ["id", "note"]
    renderer.types = {("slv_shop__orders_state", "id"): "int"}
    sql = renderer.render("current_state", LOG)
    assert "where _cdc_kind = 'change' and _cdc_batch > 4 and _cdc_batch <= 6" in fold(sql)
    assert renderer.run_state[f"pending_batch.stg_shop__orders of {STATE}"] == 6
    assert_parses(sql)


def test_current_state_refuses_an_unknown_delete_policy() -> None:
    renderer = state()
    renderer.meta = {"cdc": {"delete_policy": "keep"}}
    assert renderer.refusal("current_state", LOG) == (
        'current_state: model slv_shop__orders_state: meta.cdc.delete_policy is "keep"; allowed: soft, hard.'
    )


def test_current_state_refuses_a_table_without_a_key_of_which_too_little_is_said() -> None:
    assert state(cdc={"key": []}).refusal("current_state", LOG) == (
        'current_state: source shop.orders: meta.cdc.replica_identity of a table without a key is "undeclared"; '
        "allowed: full, default, index, nothing."
    )


def test_partitioned_value() -> None:
    renderer = state()
    renderer.partition_by = ["note"]
    stopped = renderer.sql("_partitioned_value", column("note"), "v")
    assert stopped.startswith(
        "if(v in ('', '__HIVE_DEFAULT_PARTITION__'), raise_error('slv_shop__orders_state: partition_by names note, "
    )
    assert stopped.endswith("), v)")
    assert_expression_parses(stopped)
    assert stopped in renderer.sql("_apply_deletes", "latest", feed(), "soft").replace("_cdc_image.`note`", "v")
    renderer.partition_by = "NOTE"
    assert renderer.sql("_partitioned_value", column("note"), "v") == stopped
    assert renderer.sql("_partitioned_value", column("other"), "v") == "v"
    assert renderer.sql("_partitioned_value", column("note", "int"), "v") == "v"
    taken = {"cdc": {"empty_partition_value": "null"}}
    renderer.meta = taken
    assert renderer.sql("_partitioned_value", column("note"), "v") == "v"
    renderer.meta = {"cdc": {"empty_partition_value": None}}
    assert renderer.refusal("_partitioned_value", column("note"), "v") == (
        "partitioned_value: model slv_shop__orders_state: meta.cdc.empty_partition_value is not given; "
        "allowed: fail, null."
    )


def test_current_state_without_news_reads_nothing() -> None:
    renderer = state()
    renderer.types = {("slv_shop__orders_state", "id"): "int"}
    renderer.columns = ["id", "note", "_cdc_position"]
    renderer.answers = {"left: properties": [{"value": {}}]}
    sql = renderer.render("_state_by_key", LOG, feed(), "soft", {"after": 6, "until": 6}, [])
    assert fold(sql).endswith("select * from silver.slv_shop__orders_state where false")
    assert_parses(sql)
    # A column that the table has not yet: dbt adds it from the model's own columns.
    renderer.columns = ["id", "_cdc_position"]
    renderer.answers |= {"select concat_ws(": [{"names": ""}]}
    assert "latest as (" in renderer.sql("_state_by_key", LOG, feed(), "soft", {"after": 6, "until": 6}, [])


@pytest.mark.parametrize("until", [6, 7])
def test_table_that_has_said_which_columns_it_has_is_asked_again_where_there_is_news(until: int) -> None:
    """Somebody has dropped a column: with the next batch dbt would add it, and rows would lack the values they had."""
    renderer = state()
    renderer.types = {("slv_shop__orders_state", "id"): "int"}
    renderer.columns = ["id", "_cdc_position"]
    declared = {"alluvium.columns": renderer.render("_fingerprint_of_columns", feed())}
    renderer.answers = {"left: properties": [{"value": declared}], "select concat_ws(": [{"names": "note"}]}
    batches = {"after": 6, "until": until}
    if until == 6:
        assert renderer.sql("_state_by_key", LOG, feed(), "soft", batches, []).endswith("where false")
        assert renderer.queries == []
    else:
        with pytest.raises(CompilationError, match='new columns is "note"; allowed: columns without values in batches'):
            renderer.sql("_state_by_key", LOG, feed(), "soft", batches, [])


def test_columns_that_a_model_has_seen_as_it_compiled_are_not_asked_for_again() -> None:
    renderer = state()
    renderer.columns = ["id", "note"]
    seen = [SimpleNamespace(name=name, dtype="string") for name in ("ID", "note")]
    renderer.answers = {"left: columns_of_table": [{"value": seen}]}
    assert renderer.render("_same_columns", relation("tmp"), STATE) == ["ID", "note"]
    # dbt has added one since.
    renderer.columns = ["id", "note", "_cdc_op"]
    assert renderer.render("_same_columns", relation("tmp"), STATE) == ["id", "note", "_cdc_op"]


def test_current_state_refuses_a_model_that_would_not_merge() -> None:
    renderer = state()
    renderer.strategy = "append"
    assert 'incremental_strategy is "append"; allowed: merge, which current_state sets itself: ' in renderer.refusal(
        "current_state", LOG
    )


def test_latest_by_key(macros: Renderer) -> None:
    sql = macros.sql("_latest_by_key", "changes", ["a b", "sel`ect"], ["a b", "note"])
    assert sql == (
        "select `a b`, `note` from (select *, row_number() over (partition by `a b`, `sel``ect`"
        " order by _cdc_position desc) as _cdc_newest_first from changes) as ordered where _cdc_newest_first = 1"
    )
    assert_parses(sql)


def test_latest_by_key_refuses_no_key(macros: Renderer) -> None:
    assert (
        macros.refusal("_latest_by_key", "changes", [], ["a"])
        == "latest_by_key: key is []; allowed: at least one column."
    )


def test_apply_deletes_refuses(macros: Renderer) -> None:
    assert macros.refusal("_apply_deletes", "t", feed(), "purge") == (
        'apply_deletes: delete_policy is "purge"; allowed: soft, hard.'
    )


def test_current_rows() -> None:
    sql = shop().sql("current_rows", STATE)
    assert sql.startswith("select `id`, `note`, _cdc_unresolved_columns, _cdc_op, ")
    assert sql.endswith("from silver.slv_shop__orders_state where not _is_deleted")


def test_current_rows_of_a_state_that_leaves_columns_out() -> None:
    renderer = shop()
    renderer.nodes["model.state"]["config"]["on_schema_change"] = "ignore"
    renderer.columns = ["id", "_cdc_op"]
    renderer.types = {("slv_shop__orders_state", "id"): "int"}
    assert renderer.sql("current_rows", STATE).startswith("select `id`, _cdc_unresolved_columns, ")
    assert renderer.render("_node_of_relation", STATE) is renderer.nodes["model.state"]
    assert renderer.render("_node_of_relation", relation("dim_day")) is None
    # Not built yet.
    renderer.columns = []
    assert renderer.render("_feed_of_table", feed(), STATE) == feed()


def test_current_rows_refuses_another_model() -> None:
    message = shop().refusal("current_rows", relation("dim_day"))
    assert message.startswith('current_rows: relation is "silver.dim_day"; allowed: ')


def test_changed_keys() -> None:
    renderer = shop()
    renderer.this = MART
    renderer.answers = {
        "show tblproperties silver.slv_shop__orders_state": [
            {"key": "alluvium.applied_batch.stg_shop__orders", "value": "6"}
        ],
        "show tblproperties gold.fct_order": [],
    }
    sql = renderer.sql("changed_keys", STATE, ["a b"])
    assert sql.startswith("select `a b` from silver.slv_shop__orders_state where _cdc_batch > 0")
    assert_parses(sql)


def test_changed_keys_refuses_a_merge_without_incremental_mart() -> None:
    renderer = shop()
    renderer.this = MART
    for kind in (None, "mart", "state"):
        renderer.kind = kind
        assert renderer.refusal("changed_keys", STATE, ["id"]) == (
            "changed_keys: model fct_order does not begin with incremental_mart. Put `{{ incremental_mart([its unique "
            "key]) }}` at its top, and delete materialized, incremental_strategy, unique_key and the hooks of Alluvium "
            "from its config()"
        )
    # What is built anew in every run merges nothing; what only compiles, neither.
    built = {"key": "alluvium.generation", "value": "g1"}
    renderer.answers = {"show tblproperties": [built], "select max(_cdc_batch)": [{"batch": 6}]}
    for renderer.materialized, renderer.which in (("table", "run"), ("incremental", "compile")):
        assert renderer.sql("changed_keys", STATE, ["id"]).startswith(f"select `id` from {STATE}")


def test_changed_keys_refuses_no_key(macros: Renderer) -> None:
    assert (
        macros.refusal("changed_keys", STATE, []) == "changed_keys: key is []; allowed: a list of at least one column."
    )


def test_changed_keys_is_a_placeholder_while_dbt_parses(macros: Renderer) -> None:
    macros.execute = False
    assert macros.sql("changed_keys", STATE, ["id"]) == "select 1 as not_compiled"


def behind(applied: str, newest: str) -> Renderer:
    """A mart that has applied one batch of a state that has another."""
    state_batch = {"key": "alluvium.applied_batch.stg_shop__orders", "value": newest}
    return Renderer(
        this=MART,
        answers={
            f"show tblproperties {MART}": [{"key": "alluvium.applied_batch.slv_shop__orders_state", "value": applied}],
            f"show tblproperties {STATE}": [state_batch],
            "merge into": [],
        },
    )


def test_delete_vanished_keys() -> None:
    ran = behind("4", "6").does("delete_vanished_keys", STATE, ["id"])
    assert ran[-1].startswith(
        "merge into gold.fct_order as target using (select `id` from silver.slv_shop__orders_state"
    )


def test_delete_vanished_keys_of_a_state_that_counts_anew_takes_it_whole() -> None:
    assert "_cdc_batch > 0" in behind("6", "1").does("delete_vanished_keys", STATE, ["id"])[-1]


def test_delete_vanished_keys_of_a_level_mart_costs_no_merge() -> None:
    ran = behind("6", "6").does("delete_vanished_keys", STATE, ["id"])
    assert {sql.partition(" silver")[0].partition(" gold")[0] for sql in ran} == {"show tblproperties"}
    assert Renderer(incremental=False).does("delete_vanished_keys", STATE, ["id"]) == []
    assert Renderer(execute=False).does("delete_vanished_keys", STATE, ["id"]) == []


def level(pending: str, applied: str) -> Renderer:
    """A state that has applied one batch while another is pending."""
    renderer = state()
    renderer.answers = {
        **NO_PARTITIONS,
        "left: pending_batch": [{"value": int(pending)}],
        "left: pending_generation": [{"value": "none"}],
        "show tblproperties": [{"key": "alluvium.applied_batch.stg_shop__orders", "value": applied}],
        "alter table": [],
    }
    return renderer


def in_the_next_run(renderer: Renderer) -> Renderer:
    renderer.run_state.pop(f"record_applied_batches of {STATE}")
    return renderer


def test_record_applied_batches() -> None:
    renderer = level("6", "4")
    ran = renderer.does("record_applied_batches")
    # A model that names the hook itself has it twice.
    assert renderer.does("record_applied_batches") == []
    assert ran[-1].startswith(
        "alter table silver.slv_shop__orders_state set tblproperties ('alluvium.applied_batch.stg_shop__orders' = '6', "
        "'alluvium.applied_generation.stg_shop__orders' = 'none', 'alluvium.generation' = '"
    )
    renderer = level("6", "4")
    renderer.execute = False
    assert renderer.does("record_applied_batches") == []


def test_columns_that_make_versions_are_recorded_without_a_batch() -> None:
    renderer = level("6", "6")
    renderer.answers = {"left: tracked_columns": [{"value": "f1"}], **renderer.answers}
    assert renderer.render("_is_up_to_date") is False
    assert "('alluvium.tracked_columns' = 'f1', 'alluvium.decl" in renderer.does("record_applied_batches")[-1]
    # Others than before: versions have changed, and no batch tells a mart.
    before = {"key": "alluvium.tracked_columns", "value": "f0"}
    renderer.answers = renderer.answers | {"show tblproperties": [*renderer.answers["show tblproperties"], before]}
    assert "'alluvium.generation' = '" in in_the_next_run(renderer).does("record_applied_batches")[-1]


def test_reset_that_another_log_has_seen_is_recorded_without_a_batch() -> None:
    renderer = level("6", "6")
    renderer.answers |= {"left: reset_at": [{"value": "07"}]}
    # Rows have gone, and no batch tells a mart.
    assert "('alluvium.reset_at' = '07', 'alluvium.generation' = '" in renderer.does("record_applied_batches")[-1]
    applied = [{"key": "alluvium.applied_batch.stg_shop__orders", "value": "5"}]
    renderer.answers |= {"show tblproperties": [*applied, {"key": "alluvium.generation", "value": "g1"}]}
    recorded = in_the_next_run(renderer).does("record_applied_batches")[-1]
    assert "'alluvium.reset_at' = '07'" in recorded
    assert "alluvium.generation" not in recorded


def test_record_applied_batches_stores_only_what_is_new() -> None:
    renderer = level("6", "6")
    ran = renderer.does("record_applied_batches")
    assert [sql.split(" ")[0] for sql in ran] == ["show"]


def test_log_of_another_name() -> None:
    """Batches of the old one say nothing of the new one's: neither to the state nor to the marts behind it."""
    renderer = level("2", "0")
    old = [
        {"key": "alluvium.applied_batch.stg_before", "value": "5"},
        {"key": "alluvium.applied_generation.stg_before", "value": "none"},
        {"key": "alluvium.generation", "value": "g1"},
    ]
    renderer.answers = renderer.answers | {"show tblproperties": old}
    stored = renderer.render("_applied_batch_properties", "stg_shop__orders")
    assert stored["applied_batch.stg_shop__orders"] == 2
    assert stored["generation"] == renderer.render("_run_id")
    forgotten, told = [sql for sql in renderer.does("record_applied_batches") if sql.startswith("alter table")]
    assert fold(forgotten) == (
        f"alter table {STATE} unset tblproperties if exists "
        "('alluvium.applied_batch.stg_before', 'alluvium.applied_generation.stg_before')"
    )
    assert "'alluvium.generation' = '" in told
    assert renderer.does("_forget_other_log", {"tracked_columns": "f1"}) == []
    # As long as the log is the same, its marts go on.
    renderer.answers = renderer.answers | {
        "show tblproperties": [*level("2", "1").answers["show tblproperties"], old[2]]
    }
    assert "generation" not in renderer.render("_applied_batch_properties", "stg_shop__orders")
    assert not any("unset" in sql for sql in renderer.does("record_applied_batches"))


def test_properties_are_asked_for_once_and_are_what_the_run_has_made_of_them() -> None:
    """A model that is built later in the run is told what an earlier one has applied."""
    stored = {"alluvium.generation": "g1"}
    renderer = Renderer()
    renderer.answers = {"alter table": []}

    def generation() -> Any:
        renderer.answers["show tblproperties"] = [{"key": name, "value": value} for name, value in stored.items()]
        return renderer.called("_generation")(STATE)

    renderer.context()
    assert [generation(), generation()] == ["g1", "g1"]
    renderer.called("_set_properties")(STATE, {"generation": "g2"})
    assert generation() == "g2"
    assert [sql.split()[0] for sql in renderer.queries] == ["show", "alter"]
    stored.clear()
    renderer.called("_unset_properties")(STATE, ["generation"])
    assert generation() == "none"
    stored["alluvium.generation"] = "g3"
    renderer.called("spark__create_table_as")(False, STATE, "select 1")
    assert generation() == "g3"


def test_properties_of_merged_table() -> None:
    """A new table gets them, and no later run."""
    vectors = {"delta.enableDeletionVectors": "true"}
    renderer = level("6", "4")
    assert renderer.render("_properties_of_merged_table") == vectors
    assert renderer.does("record_applied_batches")[-1].endswith(", 'delta.enableDeletionVectors' = 'true')")
    known = {"key": "alluvium.generation", "value": "g1"}
    renderer.answers = renderer.answers | {"show tblproperties": [*renderer.answers["show tblproperties"], known]}
    assert "delta." not in in_the_next_run(renderer).does("record_applied_batches")[-1]
    renderer.tblproperties = {"delta.enableDeletionVectors": "false"}
    assert renderer.render("_properties_of_merged_table") == {}


def test_get_merge_sql_of_a_state_is_guarded() -> None:
    renderer = level("6", "4")
    renderer.columns = ["id", "note", "_cdc_position"]
    sql = renderer.sql("spark__get_merge_sql", STATE, relation("tmp"), None, [], None)
    assert sql.startswith(
        "merge into silver.slv_shop__orders_state as target using silver.tmp as source on target.`id` = "
    )
    assert "when matched and (source._cdc_position > target._cdc_position or" in sql


@pytest.mark.parametrize(
    ("changes", "is_ranged"), [({}, True), ({"type": "string"}, False), ({"nullable": True}, False)]
)
def test_merge_reads_the_range_of_the_keys_that_change(changes: dict[str, Any], is_ranged: bool) -> None:
    """Which Delta compares with the statistics of files. A key that is NULL lies in no range."""
    renderer = level("6", "4")
    renderer.run_state[f"key_range of {STATE}"] = {"lowest_key": 0, "highest_key": 9}
    key = column("id", changes.get("type", "int"), **({"nullable": True} if "nullable" in changes else {}))
    keyed = feed(columns=[key, column("note")])
    assert renderer.render("_is_merged_on", keyed).endswith(" and target.`id` between 0 and 9") == is_ranged
    assert bool(renderer.render("_has_key_within", keyed, {"lowest_key": 0, "highest_key": 9})) == is_ranged
    assert (renderer.render("_key_as_number", keyed) == "`id`") == is_ranged


@pytest.mark.parametrize(
    ("known", "batch", "is_filled_in"), [("[]", [], False), ("[]", ["note"], True), ('["note"]', [], True)]
)
def test_merge_looks_for_single_values_only_where_an_event_has_left_some_out(
    known: str, batch: list[str], is_filled_in: bool
) -> None:
    renderer = level("6", "4")
    renderer.columns = ["id", "note", "_cdc_position"]
    shown = [*renderer.answers["show tblproperties"], {"key": "alluvium.columns_left_out", "value": known}]
    renderer.answers = renderer.answers | {"show tblproperties": shown}
    made = feed()
    renderer.render("_note_columns_left_out", made, json.dumps(batch))
    assert made["filled_columns"] == batch
    sql = renderer.sql("spark__get_merge_sql", STATE, relation("tmp"), None, [], None)
    assert ("case greatest(" in sql) == is_filled_in
    assert ("or exists(" in sql) == is_filled_in
    noted = renderer.render("_properties_of_columns_left_out")
    assert noted == ({"columns_left_out": '["note"]'} if batch else {})


def test_get_merge_sql_of_another_model_is_dbts_own() -> None:
    renderer = level("6", "4")
    renderer.kind = None
    assert renderer.render("spark__get_merge_sql", MART, relation("tmp"), "id", [], None) == "dbt-spark's own merge"


def test_get_merge_sql_of_a_mart_takes_two_nulls_for_one_key(macros: Renderer) -> None:
    theirs = (
        "on DBT_INTERNAL_SOURCE.id = DBT_INTERNAL_DEST.id and DBT_INTERNAL_SOURCE.id_2 = DBT_INTERNAL_DEST.id_2 when"
    )
    ours = theirs.replace(" = ", " <=> ")
    assert macros.render("_with_null_safe_keys", theirs, ["id", "id_2"]) == ours
    assert macros.render("_with_null_safe_keys", theirs, "id_2") == ours.replace("<=>", "=", 1)
    assert macros.render("_with_null_safe_keys", theirs, None) == theirs
    said = macros.refusal("_with_null_safe_keys", theirs, "other")
    assert "dbt-spark's condition on other is not given; allowed: DBT_INTERNAL_SOURCE.other = DBT" in said
    # As a merge of dbt-spark's is rendered, which has no such condition here.
    renderer = level("6", "4")
    renderer.kind = "incremental_mart"
    with pytest.raises(CompilationError, match="dbt-spark's condition on id is not given"):
        renderer.render("spark__get_merge_sql", MART, relation("tmp"), "id", [], None)


def test_get_merge_sql_without_news_merges_nothing() -> None:
    sql = level("6", "6").sql("spark__get_merge_sql", STATE, relation("tmp"), None, [], None)
    assert sql == "select 'nothing new' as applied"


def mart(**changes: Any) -> Renderer:
    """A mart that reads a state through its living rows, and a table beside it."""
    nodes = {
        "model.state": {
            "schema": "silver",
            "alias": "slv_shop__orders_state",
            "config": {"materialized": "incremental", "file_format": "delta"},
            "depends_on": {"nodes": ["model.stg"]},
        },
        "model.slv": {
            "schema": "silver",
            "alias": "slv_shop__orders",
            "config": {"materialized": "view", "file_format": "delta"},
            "depends_on": {"nodes": ["model.state"]},
        },
    }
    settings = {"nodes": nodes, "parents": ["model.slv", "model.state"], "strategy": "insert_overwrite", "this": MART}
    return Renderer(**{**settings, **changes})


def described(table: str, **details: str) -> dict[str, list[dict[str, Any]]]:
    """The catalog's answer about a relation, whose columns have names that are in it further down, too."""
    columns = [{"col_name": name, "data_type": "int"} for name in ("Type", "Provider", "View Text")]
    rows = [{"col_name": name, "data_type": value} for name, value in details.items()]
    # Whole, since the one name is the beginning of the other.
    return {f"describe extended silver.{table}": [*columns, *rows]}


BEHIND: dict[str, list[dict[str, Any]]] = {
    "describe history silver.slv_shop__orders_state limit 1": [
        {"version": 3, "timestamp": "2024-05-01", "operation": "MERGE"}
    ],
    **described("slv_shop__orders_state", Type="MANAGED", Provider="delta"),
    **described("slv_shop__orders", Type="VIEW", **{"View Text": "select * from silver.slv_shop__orders_state"}),
}


def inputs(renderer: Renderer) -> Any:
    return renderer.render("_inputs_behind", renderer.context()["model"])


def fingerprint(renderer: Renderer) -> str:
    return str(renderer.render("_inputs_fingerprint", renderer.context()["model"]))


def test_newest_commit() -> None:
    extensions = {"set spark.sql.extensions": [{"value": SESSION_OF_HUDI["set"][0]["value"]}]}
    renderer = mart(answers={**BEHIND, **extensions, "call show_commits": [{"commit_time": "20240501"}]})
    state = "silver.slv_shop__orders_state"
    assert renderer.render("_latest_commit", state, "delta") == f"{state} 3 2024-05-01"
    assert renderer.render("_latest_commit", state, "hudi") == f"{state} 20240501"


def test_mart_is_computed_again_for_other_sql_and_another_view_and_not_for_maintenance() -> None:
    history, view = (
        "describe history silver.slv_shop__orders_state limit ",
        "select * from silver.slv_shop__orders_state",
    )

    def inputs_of(sql: str = "select 1", text: str = view, commits: Sequence[dict[str, Any]] = ()) -> str:
        asked = {f"{history}100": [*commits, *BEHIND[f"{history}1"]], f"{history}1": [*commits, *BEHIND[f"{history}1"]]}
        renderer = mart(
            answers=asked | {**BEHIND, **asked, **described("slv_shop__orders", **{"Type": "VIEW", "View Text": text})}
        )
        return str(renderer.render("_inputs_fingerprint", renderer.context()["model"] | {"compiled_code": sql}))

    optimized = {"version": 4, "timestamp": "2024-05-02", "operation": "OPTIMIZE"}
    assert inputs_of() == inputs_of() == inputs_of(commits=[optimized])
    other = [
        inputs_of(sql="select 2"),
        inputs_of(text=view + " where id > 1"),
        inputs_of(commits=[optimized | {"operation": "MERGE"}]),
    ]
    assert len({inputs_of(), *other}) == 4


def test_note_inputs() -> None:
    renderer = mart(answers=BEHIND)
    renderer.does("note_inputs")
    assert renderer.run_state[f"inputs of {MART}"] == fingerprint(renderer)
    assert mart(strategy="merge").does("note_inputs") == []
    assert mart(materialized="view").does("note_inputs") == []
    assert "incremental_strategy insert_overwrite" in mart(root_macros={}).refusal("note_inputs")
    assert mart(execute=False).does("note_inputs") == []
    assert 'file_format is "parquet"; allowed: delta, hudi' in mart(file_format="parquet").refusal("note_inputs")
    other = mart(kind="incremental_mart").refusal("note_inputs")
    assert other == (
        "note_inputs: model fct_order: +meta.alluvium_model of the folder in dbt_project.yml is "
        '"incremental_mart"; allowed: mart.'
    )


def test_note_inputs_says_that_the_kind_is_not_given() -> None:
    assert mart(kind=None).refusal("note_inputs") == (
        "note_inputs: model fct_order: +meta.alluvium_model of the folder in dbt_project.yml is not given; allowed: "
        "mart."
    )


def noted(inputs: str, stored: str | None) -> Renderer:
    """A mart whose inputs are noted, and what it was computed from before."""
    properties = [] if stored is None else [{"key": "alluvium.inputs", "value": stored}]
    return mart(
        columns=["id", "a b"],
        answers={
            "left: inputs": [{"value": inputs}],
            **NO_PARTITIONS,
            "show tblproperties": [{"key": "other", "value": "x"}, *properties],
            "alter table": [],
        },
    )


@pytest.mark.parametrize(("stored", "same"), [("a", True), ("b", False), (None, False)])
def test_has_same_inputs(stored: str | None, same: bool) -> None:
    renderer = noted("a", stored)
    assert renderer.render("_has_same_inputs") is same
    recorded = any(sql.startswith("alter table") for sql in renderer.does("record_inputs"))
    assert recorded is not same
    renderer.queries.clear()
    sql = renderer.sql("get_insert_overwrite_sql", relation("tmp"), MART, MART)
    if same:
        assert sql == "select 'nothing new' as applied"
    else:
        assert sql == f"insert overwrite {MART} (`id`, `a b`) select `id`, `a b` from silver.tmp"
        # Taken out before the rows change: a run that is killed in between leaves none.
        assert (
            f"alter table {MART} unset tblproperties if exists ('alluvium.inputs', 'alluvium.rebuild_begun')"
            in renderer.queries
        )


def test_overwrite_of_partitions_asks_for_no_mode_of_the_session() -> None:
    """In `DYNAMIC` Spark would keep the partitions that have no row any more."""
    renderer = noted("a", "b")
    renderer.answers["describe detail"] = [{"partitionColumns": '["a b", "id"]'}]
    renderer.partition_by = ["`a b`", "ID"]
    sql = renderer.sql("get_insert_overwrite_sql", relation("tmp"), MART, MART)
    assert sql == renderer.sql("_overwrite_sql", relation("tmp"), MART)
    assert sql == (
        f"insert into {MART} replace where `a b` is null or `a b` is not null select `id`, `a b` from silver.tmp"
    )
    assert_parses(sql)
    assert renderer.render("_partitions_of_table", MART) == ["a b", "id"]
    # A column that the mart has no longer.
    assert renderer.sql("_replace_all_sql", relation("tmp"), MART, ["id"], "id").endswith(
        "select `id`, null as `a b` from silver.tmp"
    )
    assert not any("partitionOverwriteMode" in query for query in renderer.queries)


@pytest.mark.parametrize(
    ("stored", "named", "said"),
    [
        ('["id"]', [], "partition_by is not given; allowed: id, as the table has it"),
        ("[]", ["id"], 'partition_by is ["id"]; allowed: none, as the table has it'),
        ('["id", "a b"]', ["a b", "id"], "allowed: id, a b, as the table has it"),
    ],
)
def test_other_partitions_than_those_of_the_table_are_refused(stored: str, named: list[str], said: str) -> None:
    """What they cannot have would be looked for in other columns than those where it is lost."""
    renderer = noted("a", "b")
    renderer.answers["describe detail"] = [{"partitionColumns": stored}]
    renderer.partition_by = named
    with pytest.raises(CompilationError) as refused:
        renderer.render("get_insert_overwrite_sql", relation("tmp"), MART, MART)
    assert said in str(refused.value.msg)
    renderer.partition_by = [f"`{name}`" for name in json.loads(stored)]
    assert renderer.render("_require_partitions_of_table", "m", MART) == json.loads(stored)


def test_mart_whose_rebuild_was_killed_is_computed_again() -> None:
    """Its rows may be those of the newer SQL, and what they were computed from that of the older one."""
    renderer = noted("a", "a")
    assert renderer.render("_has_same_inputs")
    renderer.answers["show tblproperties"] = [
        *renderer.answers["show tblproperties"],
        {"key": "alluvium.rebuild_begun", "value": "run"},
    ]
    assert not renderer.render("_has_same_inputs")
    assert "overwrite" in renderer.sql("get_insert_overwrite_sql", relation("tmp"), MART, MART)


@pytest.mark.parametrize(
    ("data_type", "formats"),
    [
        ("timestamp", ["delta", "hudi"]),
        ("timestamp_ntz", ["hudi"]),
        ("binary", ["delta", "hudi"]),
        ("date", []),
        ("string", []),
    ],
)
def test_partitions_that_would_have_other_values(data_type: str, formats: list[str]) -> None:
    for file_format in ("delta", "hudi"):
        renderer = state()
        renderer.partition_by, renderer.file_format = "Note", file_format
        of_query = [SimpleNamespace(name="note", dtype=data_type)]
        if file_format in formats:
            for macro, arguments in (
                ("_partitioned_value", (column("note", data_type), "v")),
                ("_require_partition", ("m", "NOTE", data_type)),
                ("_require_partitions", ("m", of_query)),
            ):
                refusal = renderer.refusal(macro, *arguments)
                assert f'which partition_by names, is "{data_type}"; allowed: a type whose values' in refusal
        else:
            renderer.render("_partitioned_value", column("note", data_type), "v")
            renderer.render("_require_partitions", "m", of_query)
        renderer.render("_require_partition", "m", "other", data_type)
    assert renderer.render("_partition_names") == ["Note"]
    for name in ("_valid_from", "_VALID_TO", "_cdc_source_ts", "_deleted_at"):
        own = state()
        own.partition_by = name
        refused = 'which partition_by names, is "timestamp"; allowed: a type'
        assert refused in own.refusal("_require_partitions_of_own_columns", "m")
        assert refused in own.refusal("current_state", LOG)
    Renderer(partition_by=["_is_current", "country"]).render("_require_partitions_of_own_columns", "m")
    assert Renderer(partition_by=["a", "b"]).render("_is_partition", "B") is True
    assert Renderer().render("_is_partition", "a") is False
    for said in ("`at`", "country, at", [" at ", "country"], ["`country`, `at`"]):
        assert Renderer(partition_by=said).render("_is_partition", "AT") is True
    odd = Renderer(partition_by=["`a``b`,` c`", "d e"])
    assert odd.render("_partition_names") == ["a`b", " c", "d e"]


def test_partitions_of_a_new_table_are_looked_at_before_it_is_made() -> None:
    renderer = Renderer(this=MART, partition_by=["at"])
    renderer.answers["describe query"] = [{"col_name": "at", "data_type": "timestamp"}]
    with pytest.raises(CompilationError, match="which partition_by names"):
        renderer.render("spark__create_table_as", False, MART, "select 1")
    assert renderer.made == []
    assert renderer.render("spark__create_table_as", False, MART, "def model", "python") == "dbt-spark's own table"
    renderer.kind = None
    assert renderer.render("spark__create_table_as", False, MART, "select 1") == "dbt-spark's own table"


def test_overwrite_of_a_model_without_inputs_is_dbt_sparks() -> None:
    assert mart().sql("get_insert_overwrite_sql", relation("tmp"), MART, MART) == "dbt-spark's own overwrite"


def test_record_inputs_of_another_strategy_or_a_view_does_nothing() -> None:
    assert mart(strategy="merge").does("record_inputs") == []
    assert mart(materialized="view").does("record_inputs") == []
    kinds = {kind: mart(materialized=kind).render("_is_computed_whole") for kind in ("incremental", "table", "view")}
    assert kinds == {"incremental": True, "table": True, "view": False}


def test_empty_run_asks_nothing_and_applies_nothing() -> None:
    renderer = state()
    renderer.empty = True
    assert renderer.render("_pending_batches", LOG) is None
    assert renderer.render("_next_batch", feed()) == {"number": 0, "after": None, "runs": []}
    assert renderer.does("delete_vanished_keys", STATE, ["id"]) == []
    assert renderer.queries == []


def test_columns_are_found_in_any_case() -> None:
    """A mart that spells one otherwise than its table had NULL there."""

    def spelled(of: object) -> list[SimpleNamespace]:
        names = {"tmp": ["ID", "Note"]}.get(getattr(of, "identifier", ""), ["id", "note", "gone"])
        return [SimpleNamespace(name=name, dtype="string") for name in names]

    renderer = mart()
    renderer.context()["adapter"].get_columns_in_relation = spelled
    assert renderer.called("_same_columns")(relation("tmp"), MART) == ["id", "note"]
    sql = fold(str(renderer.called("_replace_all_sql")(relation("tmp"), MART, ["id", "note"], "id")))
    assert sql.endswith("select `id`, `note`, null as `gone` from silver.tmp")


def test_names_that_dbt_spark_does_not_see_are_refused() -> None:
    renderer = mart()
    with pytest.raises(CompilationError, match=r"name of a column is .`#note`.; allowed: a name that does not begin"):
        renderer.render("spark__create_table_as", True, MART, "select 1 as id, 2 as `#note`")
    assert renderer.made == []
    renderer.render("_require_no_hidden_columns", "select '#1', `a#b` from t")
    assert "leave this one out with except_column_list" in state().refusal(
        "_require_distinct_names", "m", feed(columns=[column("id"), column("#note")])
    )
