"""Tables of Hudi's: their rows are those of Delta's, by statements without a condition of Hudi's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError

from .feeds import feed
from .harness import SESSION_OF_HUDI, Renderer, relation

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


def hudi(**settings: Any) -> Renderer:
    """A renderer of a model whose table is Hudi's."""
    return Renderer(file_format="hudi", this=STATE, answers=dict(EXTENSIONS), **settings)


def typed(*columns: tuple[str, str]) -> list[SimpleNamespace]:
    """Columns as a relation has them."""
    return [SimpleNamespace(name=name, dtype=dtype, data_type=dtype) for name, dtype in columns]


def test_what_a_table_of_hudis_cannot_have_is_refused() -> None:
    refusal = hudi().refusal("_require_columns_of_hudi", "m", typed(("größe", "int"), ("a b", "int")))
    assert 'name of a column is "a b"' in refusal
    assert 'name of a column is "a\\u00b2"' in hudi().refusal("_require_columns_of_hudi", "m", typed(("a²", "int")))
    deleted = hudi().refusal("_require_columns_of_hudi", "m", typed(("_HOODIE_is_deleted", "boolean")))
    assert 'name of a column is "_HOODIE_is_deleted"' in deleted
    local = typed(("at", "timestamp_ntz"))
    hudi().render("_require_columns_of_hudi", "m", local)
    assert "type of column at" in hudi().refusal("_require_columns_of_hudi", "m", local, ["at"])
    for data_type in ("array<string>", "struct<a:string,b:string>"):
        parts = typed(("k", data_type), ("id", "int"))
        hudi().render("_require_columns_of_hudi", "m", parts, ["id"])
        assert "without elements or fields in a key" in hudi().refusal("_require_columns_of_hudi", "m", parts, ["k"])
    assert "inside of another type" in hudi().refusal(
        "_require_columns_of_hudi", "m", typed(("at", "array<timestamp_ntz>"))
    )


@pytest.mark.parametrize("table_type", ["cow", "mor"])
def test_hudi_properties(table_type: str) -> None:
    renderer = hudi(variables={"hudi_table_type": table_type}, tblproperties={"delta.a": "1", "hoodie.b": "2"})
    properties = renderer.render("_hudi_properties", True)
    assert (properties["type"], properties["primaryKey"]) == (table_type, "_cdc_record_key")
    assert ("hoodie.compact.inline" in properties) == (table_type == "mor")
    assert properties["hoodie.b"] == "2"
    assert {properties[f"hoodie.datasource.{option}.enable"] for option in ("hive_sync", "meta.sync")} == {"false"}
    assert "delta.a" not in properties
    assert "primaryKey" not in renderer.render("_hudi_properties", False)
    assert 'var hudi_table_type is "row"' in hudi(variables={"hudi_table_type": "row"}).refusal(
        "_hudi_properties", True
    )


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
    refusal = hudi(tblproperties={name: value}).refusal("_hudi_properties", True)
    assert f"tblproperties {name} is " in refusal
    assert f"allowed: {allowed}" in refusal


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
    run = renderer.render("_run_id")
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
    first.render("_replace_hudi_table", STATE, "select 1 as id", {})
    assert len([sql for sql in first.queries if sql.startswith("alter table")]) == 1
    assert str(first.render("_name_of_rebuilt", STATE)) == rebuilt
    assert len(first.does("_drop_tables_beside", STATE, "rebuilt")) == 1
    synced = making()
    names = [f"{NAME}rebuilt_{KILLED}{end}" for end in ("", "_ro", "_rt", "_daily")]
    # Beside another table, whose name begins with this one's.
    names.append(f"{NAME}rebuilt_daily__rebuilt_{KILLED}")
    synced.answers[f"show tables in silver like '{NAME}rebuilt_*'"] = [{"tableName": name} for name in names]
    assert synced.does("_drop_tables_beside", STATE, "rebuilt")[1:] == [
        f"drop table if exists silver.{name}" for name in names[:3]
    ]
    found = synced.render("_tables_of_runs", "silver", STATE.identifier, "rebuilt")
    assert [(table["beside"], table["run_id"]) for table in found] == 3 * [(STATE.identifier, KILLED)]
    assert first.sql("_take_name", STATE, first.render("_name_of_rebuilt", STATE)) == last


def test_table_of_deltas_in_the_place_of_one_of_hudis_is_built_beside_it() -> None:
    renderer = Renderer(this=STATE)
    renderer.answers = {"left: is_replaced": [{"value": True}], "dbt-spark's": [], **making().answers}
    last = renderer.render("spark__create_table_as", False, STATE, "select 1 as id")
    assert renderer.made == ["select 1 as id"]
    assert steps(renderer)[1] == "dbt-spark's own table"
    assert last.startswith(f"drop table if exists silver.{NAME}replaced_")
    # Nothing says that a table of Delta's is to be replaced.
    assert Renderer().render("spark__create_table_as", False, STATE, "select 1") == "dbt-spark's own table"


def test_rows_of_a_mart_come_in_the_types_of_its_table() -> None:
    renderer = hudi(kind="incremental_mart", columns=["id"], types={("fct_order__rows", "id"): "smallint"})
    renderer.answers["create or replace temporary view"] = []
    assert renderer.render("_is_hudi_mart") is True
    assert renderer.render("spark__create_table_as", True, relation("fct_order"), "select 1") == "dbt-spark's own table"
    assert renderer.queries[-1] == "create or replace temporary view fct_order__rows as select 1"
    assert renderer.made == ["select cast(`id` as int) as `id` from fct_order__rows"]
    assert renderer.render("_view_of_rows", relation("fct_order"), "select 1").identifier == "fct_order__rows"


def test_table_that_is_replaced_is_not_dropped_before() -> None:
    """One that an incremental model has from a full refresh, and one that is built anew in every run."""

    def notes(renderer: Renderer, macro: str = "_note_replaced") -> bool:
        renderer.does(macro)
        return any(name.startswith("is_replaced of ") for name in renderer.run_state)

    for materialized in ("incremental", "table"):
        assert notes(hudi(materialized=materialized))
        assert notes(Renderer(this=STATE, materialized=materialized, tables_of_hudi=["slv_shop__orders_state"]))
        assert not notes(Renderer(this=STATE, materialized=materialized, tables_of_hudi=[]))
    assert not notes(hudi(materialized="view"))
    assert not notes(hudi(views=["slv_shop__orders_state"]))
    assert notes(hudi(absent=["slv_shop__orders_state"]))
    mart: dict[str, Any] = {"strategy": "insert_overwrite", "kind": "mart"}
    assert notes(hudi(materialized="table", **mart), "note_inputs")
    assert not notes(hudi(**mart), "note_inputs")
    mart["strategy"] = "merge"
    assert notes(hudi(materialized="table", **mart), "note_inputs")


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
        renderer.does("_note_replaced")
        return len([name for name in renderer.run_state if name.startswith(("is_replaced of ", "changes_format of "))])

    assert remembered(moved()) == 2
    found = moved().render("_views_over", graph[0])
    assert [view["relation"].render() for view in found] == ["silver.living", "silver.report"]
    for selected, missing in ((["model.report"], "living"), (["model.living"], "report")):
        refused = moved(selected=selected).refusal("_require_views_over", graph[0], "file_format", "hudi")
        assert refused.startswith(f'full refresh of model {name}: file_format is "hudi"; allowed: another one')
        assert f"where the views over it are built, too, as silver.{missing}" in refused
        assert f"`dbt build --full-refresh --select {name}+`" in refused
        with pytest.raises(CompilationError, match="the views over it"):
            moved(selected=selected).render("_note_replaced")
        # Not there yet, a table, or in the format that the table has.
        assert remembered(moved(selected=selected, absent=[missing])) == 2
        assert remembered(moved(selected=selected, views=[view for view in views if view != missing])) == 2
        assert remembered(moved([name], selected=selected)) == 1
        to_delta: dict[str, Any] = {"this": STATE, "nodes": nodes, "views": views, "selected": selected}
        with pytest.raises(CompilationError, match='file_format is "delta"'):
            Renderer(**to_delta, tables_of_hudi=[name]).render("_note_replaced")
        assert Renderer(**to_delta, tables_of_hudi=[]).does("_note_replaced") == []
    assert moved().render("_has_another_format", relation("any").replace(is_hudi=False)) is True
    assert moved().render("_has_another_format", relation("any").replace(is_hudi=None)) is False
    assert not moved().render("_has_another_format", None)
    # Until it is built, no view shows rows of the other format.
    for answer, drops in (
        (True, ["drop view if exists silver.living", "drop view if exists silver.report"]),
        (None, []),
    ):
        renderer = making(nodes=nodes, views=views)
        renderer.answers |= {"left: changes_format": [{"value": answer}], "drop view": []}
        renderer.sql("_take_name", STATE, relation(f"{NAME}rebuilt_{KILLED}"))
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

    rebuilt = {of: renderer.render("_name_of_rebuilt", relation(of, "gold")) for of in ("a", "c", "new")}
    drops = [f"drop table if exists {rebuilt[of]}" for of in ("a", "c", "new")]
    assert steps_of("_clean_up_failed_tables") == [drops[0], "refresh table gold.a", *drops[1:]]
    # After the session is free, since it may fail.
    shared = renderer.does("release_session", results)
    assert shared[0] == "set alluvium.is_shared"
    assert shared[1:] == renderer.does("_clean_up_failed_tables", results)
    answers["HoodieTableVersion"] = [{"version": "NINE"}]
    assert renderer.render("_is_session_of_hudi_1_0") is False
    assert steps_of("_clean_up_failed_tables") == drops
    # No Hudi that could be asked.
    answers["set spark.sql.extensions"] = [{"value": "io.delta.sql.DeltaSparkSessionExtension"}]
    del answers["HoodieTableVersion"]
    assert steps_of("_clean_up_failed_tables") == drops


def test_dbts_own_makes_and_drops_all_other_tables() -> None:
    assert Renderer().render("spark__create_table_as", False, STATE, "select 1") == "dbt-spark's own table"
    assert hudi().render("spark__create_table_as", True, STATE, "select 1") == "dbt-spark's own table"
    assert hudi(kind=None).render("_is_own_hudi_table") is False
    assert hudi().render("_is_own_hudi_table") is True
    own = {kind: Renderer(kind=kind).render("_is_own_table") for kind in (None, "change_log", "state", "mart")}
    assert own == {None: False, "change_log": False, "state": True, "mart": True}
    assert Renderer().render("spark__drop_relation", STATE) == "dbt-spark's own drop"
    renderer = Renderer(answers={"left: is_replaced": [{"value": True}]})
    assert renderer.render("spark__drop_relation", STATE) == ""


def test_a_mart_of_changed_keys_is_computed_whole() -> None:
    renderer = hudi(kind="incremental_mart", columns=["id"], incremental=True)
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
    assert renderer.sql("_overwrite_sql", TMP, STATE) == sql
    renderer.empty = True
    assert renderer.sql("spark__get_merge_sql", STATE, TMP, ["id"], [], None) == renderer.sql("_nothing_to_apply_sql")


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
    mart = hudi(kind="incremental_mart", raw_code=f"select 1 {call}")
    direct = mart.refusal("spark__create_table_as", True, STATE, "select 1")
    assert direct.startswith(
        "create_table_as: model slv_shop__orders_state: what calls is_incremental() "
        'is "slv_shop__orders_state"; allowed: nothing: with incremental_strategy merge and file_format hudi'
    )
    through = hudi(raw_code="{{ outer() }}", own_macros={"outer": "{{ inner() }}", "inner": f"{call} where 1"})
    assert '"inner"' in through.refusal("_require_no_own_filter", "m")
    overwritten = Renderer(kind="mart", strategy="insert_overwrite", raw_code=call).refusal("note_inputs")
    assert "with incremental_strategy insert_overwrite and file_format delta the table is computed whole" in overwritten
    # States and histories say themselves what is new.
    assert hudi(raw_code=call).render("spark__create_table_as", True, STATE, "select 1") == "dbt-spark's own table"


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
        assert harmless.does("_require_no_own_filter", "m") == []
        assert harmless.render("_asks_for_the_run", raw_code) is (hook in raw_code)
    # A macro that a hook calls, and the model does not.
    call = "{{ outer() }}"
    of_hook = hudi(raw_code=f"{{{{ config(post_hook='{call}') }}}}", own_macros={"outer": hook}, post_hooks=[call])
    assert of_hook.does("_require_no_own_filter", "m") == []
    appended = hudi(kind="incremental_mart", raw_code=hook, strategy="append")
    appended.answers["create or replace temporary view"] = []
    assert appended.render("spark__create_table_as", True, STATE, "select 1") == "dbt-spark's own table"
    assert hudi().render("_macro_of_id", "macro.dbt.is_incremental") is None
    assert hudi().render("_macro_of_id", "macro.gone.x") is None
    assert hudi(own_macros={"outer": "x"}).render("_macro_of_id", "macro.theirs.outer").macro_sql == "x"


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
    assert renderer.render("_is_type_of_hudi", data_type) is fits
    if fits:
        renderer.render("_require_columns_of_hudi", "m", typed(("id", data_type)))
    else:
        assert "m: type of column id is" in renderer.refusal("_require_columns_of_hudi", "m", typed(("id", data_type)))


def test_rows_of_vanished_keys_do_not_stay_where_dbt_spark_would_merge() -> None:
    assert hudi(materialized="table", incremental=False).does("delete_vanished_keys", STATE, ["id"]) == []
    appended = hudi(strategy="append").refusal("delete_vanished_keys", STATE, ["id"])
    assert 'incremental_strategy is "append"; allowed: merge' in appended
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
    behind = renderer.render("_hudi_tables_behind", mart)
    assert [table.render() for table in behind] == [f"silver.{name}", "silver.other"]
    renderer.answers["refresh table"] = []
    refreshed = [f"refresh table {table}" for table in ("gold.fct_order", f"silver.{name}", "silver.other")]
    assert renderer.does("_refresh_hudi_tables", relation("fct_order", "gold"), mart) == refreshed
    assert renderer.does("_refresh_hudi_tables", relation("new", "gold"), {"depends_on": {"nodes": []}}) == []
    # Before any row is read.
    written = making(kind="incremental_mart", nodes=graph, tables_of_hudi=hudis)
    written.answers["refresh table"] = []
    written.render("spark__create_table_as", True, STATE, "select 1 as id")
    assert written.queries.index(refreshed[1]) < written.queries.index(ROWS)
    # One that is built anew is not read, and may be one that cannot be.
    anew = making(nodes=graph, tables_of_hudi=hudis, parents=["model.other"])
    anew.answers["refresh table"] = []
    anew.render("spark__create_table_as", False, STATE, "select 1 as id")
    assert [sql for sql in anew.queries if sql.startswith("refresh table")] == [refreshed[2]]


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
    for renderer in (Renderer(this=STATE, kind="mart"), hudi(kind=None)):
        renderer.render("spark__alter_relation_add_remove_columns", STATE, ADDED, None)
        assert renderer.queries == [f"alter table {STATE} add columns (`note` string)"]
    renderer = hudi(kind="mart")
    renderer.render("spark__alter_relation_add_remove_columns", STATE, [], ADDED)
    assert len(renderer.queries) == 1


def test_require_hudi() -> None:
    hudi().render("_require_hudi", "m")
    hudi().render("_require_session_of_hudi", "m")
    renderer = hudi()
    renderer.answers = {"set": [{"key": "spark.sql.extensions", "value": "io.delta.sql.DeltaSparkSessionExtension"}]}
    for macro in ("_require_hudi", "_require_session_of_hudi"):
        with pytest.raises(Exception, match="ALLUVIUM_FILE_FORMAT=hudi"):
            renderer.render(macro, "m")
    assert renderer.render("_knows_hudi", renderer.answers["set"][0]["value"]) is False
    # A model of Delta's whose table, or a table behind it, is Hudi's.
    unaware = Renderer(this=STATE)
    unaware.answers = {"set spark.sql.extensions": [{"value": "io.delta.sql.DeltaSparkSessionExtension"}]}
    unaware.answers["show tblproperties"] = [{"key": "alluvium.written_until", "value": "20261125082730000"}]
    for macro, arguments in (
        ("_latest_commit", (STATE, "hudi")),
        ("_reason_to_rebuild", (STATE,)),
    ):
        with pytest.raises(CompilationError) as caught:
            unaware.render(macro, *arguments)
        said = str(caught.value.msg)
        assert said.startswith(
            f'table {STATE}: format is "hudi"; allowed: delta, or {hudi().render("_session_with_hudi")}'
        )
    assert "ALLUVIUM_FILE_FORMAT=hudi" in str(hudi().render("_session_with_hudi"))
    renderer = hudi(which="test")
    renderer.answers = {"call show_commits": [{"commit_time": "1"}]}
    assert renderer.render("_commits_of_hudi", STATE, 7) == [{"commit_time": "1"}]
    assert renderer.queries == [f"call show_commits(table => '{STATE}', limit => 7)"]
    with_comments = hudi(persist_docs={"relation": True, "columns": True})
    assert "persist_docs.columns is true; allowed: false" in with_comments.refusal("_require_hudi", "m")
    hudi(persist_docs={"relation": True, "columns": False}).render("_require_hudi", "m")
    elsewhere = hudi(location_root="s3a://bucket/silver")
    assert 'location_root is "s3a://bucket/silver"' in elsewhere.refusal("_require_hudi", "m")
    assert "macro behind a table of Hudi's" in hudi(root_macros={}).refusal("_require_hudi", "m")


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
            renderer.render("_require_session_of_hudi", "m")
        assert f"m: {place} " in str(refused.value)
        assert f'{name.removeprefix("spark.")} is "{value}"; allowed: {allowed}' in str(refused.value)


def test_other_settings_are_let_through() -> None:
    renderer = hudi()
    fixed = renderer.render("_fixed_properties_of_hudi", True)
    others = {"spark.app.name": "a", "hoodie.parquet.max.file.size": "1", "hoodie.datasource.hive_sync.enable": "true"}
    pairs = {**fixed, **others}.items()
    renderer.answers["set"] = [*EXTENSIONS["set"], *({"key": name, "value": value} for name, value in pairs)]
    renderer.answers["DFSPropertiesConfiguration"] = [{"defaults": "{hoodie.a=1,2, hoodie.b=}"}]
    renderer.render("_require_session_of_hudi", "m")
    assert renderer.render("_defaults_of_hudi") == {"hoodie.a": "1", "hoodie.b": ""}
    renderer.render("_require_setting_of_hudi", "m", "setting", "spark.app.name", "hoodie.index.type", fixed)


def test_format_of_the_table_and_of_the_model() -> None:
    hudi(tables_of_hudi={STATE.identifier}).render("_require_format_of_table", "m")
    hudi(tables_of_hudi=None).render("_require_format_of_table", "m")
    hudi(absent=[STATE.identifier]).render("_require_format_of_table", "m")
    refusal = hudi(tables_of_hudi=()).refusal("_require_format_of_table", "m")
    assert 'file_format is "hudi"; allowed: delta, as the table has it' in refusal
    # Before its columns, of which some have other types in the other format.
    assert "apply_schema_change: model" in hudi(tables_of_hudi=()).refusal("_apply_schema_change", feed())
