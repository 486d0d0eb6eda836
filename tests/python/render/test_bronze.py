from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError

from .feeds import column, feed, shop, source, staged
from .harness import Renderer, assert_expression_parses, assert_parses, fold, relation

ODD_PATH = r"/landing/country=Côte d'Ivoire/a\b.json"
STAGED = "show table extended in bronze like '*'"
LEDGER = "silver.cdc_file_ledger"
LOG = relation("stg_shop__orders")


def listed(create: str) -> list[str]:
    """The column definitions of create_ledger_sql on one line."""
    columns = create.partition("struct< ")[2].partition(" >) as declared")[0]
    return re.split(r", (?=[a-z_]+ (?:string|bigint|int|timestamp|map|array))", columns)


def selected(insert: str) -> list[str]:
    """The expressions of the outer select list, one each line that ends with a comma or the list."""
    outer = insert.partition("select")[2].partition("\n    from (")[0]
    return [line.strip().rstrip(",") for line in outer.strip().splitlines()]


def run_of(first: str, last: str, container_count: int = 0) -> dict[str, Any]:
    """A run of files as new_files() gives it."""
    counts = {
        "file_count": 2,
        "container_count": container_count,
        "bytes": 10,
        "outdated_count": 0,
        "superseded_count": 0,
    }
    return {"is_wanted": True, "first_path": first, "last_path": last, "container_count": container_count, **counts}


def test_stage_external_sources_creates_both_tables_of_a_new_source() -> None:
    renderer = shop(options={"pathGlobFilter": "it's*"})
    renderer.selected = ["model.stg"]
    renderer.answers = {STAGED: [], "create": [], "drop table": []}
    ran = renderer.does("stage_external_sources")
    assert ran[0] == "create schema if not exists bronze"
    assert ran[2:4] == ["drop table if exists bronze.shop__orders", "drop table if exists bronze.shop__orders__files"]
    assert [sql.split(" options")[0] for sql in ran[4:]] == [
        "create table bronze.shop__orders__files using binaryFile",
        "create table bronze.shop__orders (value string) using text",
    ]
    assert renderer.messages == ["1 of 1 STAGED external source shop.orders"]
    for sql in ran[4:]:
        assert r"'pathGlobFilter' 'it\'s*'" in sql
        assert_parses(sql)


@pytest.mark.parametrize("which", ["compile", "list", "docs", "show"])
def test_stage_external_sources_is_for_runs(which: str) -> None:
    renderer = shop()
    renderer.which = which
    assert renderer.does("stage_external_sources") == []


def test_stage_external_sources_does_nothing_while_dbt_parses() -> None:
    renderer = shop()
    renderer.execute = False
    assert renderer.does("stage_external_sources", "shop") == []


def test_stage_external_sources_refuses_a_source_that_is_not_there() -> None:
    renderer = shop()
    renderer.which = "run-operation"
    assert renderer.refusal("stage_external_sources", "shop.ordres") == (
        'stage_external_sources: select is "shop.ordres"; allowed: shop, shop.orders.'
    )


@pytest.mark.parametrize(
    ("declared", "absolute"),
    [
        (".alluvium/landing", "/project/.alluvium/landing"),
        ("/landing", "/landing"),
        ("s3://bucket/topics", "s3://bucket/topics"),
        ("file:/landing", "file:/landing"),
    ],
)
def test_absolute_location(macros: Renderer, declared: str, absolute: str) -> None:
    macros.answers = {"set alluvium.project_directory": [{"value": "/project"}]}
    assert macros.render("absolute_location", declared) == absolute


def test_relative_location_needs_a_project_directory(macros: Renderer) -> None:
    macros.answers = {"set alluvium.project_directory": [{"value": "<undefined>"}]}
    with pytest.raises(CompilationError, match="an absolute path or a URI"):
        macros.render("absolute_location", "landing")


def test_refuse_hidden_names(macros: Renderer) -> None:
    named = "stage_external_sources: source shop.orders: external.location or options.pathGlobFilter is "
    for changes, given in (
        ({"external": {"location": "/landing/_orders/", "using": "json"}}, '"_orders"'),
        ({"options": {"pathGlobFilter": ".orders*"}}, '".orders*"'),
    ):
        assert macros.refusal("refuse_hidden_names", source(**changes)).startswith(named + given + "; allowed: ")
    assert macros.does("refuse_hidden_names", source(options={"pathGlobFilter": "shop_orders*"})) == []


def test_default_stage_external_sources_leaves_an_equal_declaration() -> None:
    renderer = shop()
    renderer.which = "run-operation"
    renderer.answers = {**staged(renderer), "create schema": []}
    assert renderer.does("default__stage_external_sources", None) == ["create schema if not exists bronze", STAGED]
    assert renderer.messages == ["1 external sources, all of them staged as they are declared"]


def test_operation_stages_a_source_that_is_declared_otherwise() -> None:
    renderer = shop()
    renderer.answers = {**staged(renderer), "create": [], "drop table": []}
    assert renderer.does("stage_feed", feed()) == ["create schema if not exists bronze", STAGED]
    assert renderer.render("stage_changed_sources", list(renderer.sources.values())) == []
    renderer.answers[STAGED] = []
    assert [query.split(" (")[0].split(" using")[0] for query in renderer.does("stage_feed", feed())[2:]] == [
        "drop table if exists bronze.shop__orders",
        "drop table if exists bronze.shop__orders__files",
        "create table bronze.shop__orders__files",
        "create table bronze.shop__orders",
    ]


def test_external_sources() -> None:
    renderer = shop()
    assert renderer.render("external_sources", None) == []
    renderer.selected = ["model.state", "model.stg"]
    assert [node["name"] for node in renderer.render("external_sources", None)] == ["orders"]
    renderer.selected = []
    for select in ("shop", "shop.orders", "shop shop.orders"):
        assert [node["name"] for node in renderer.render("external_sources", select)] == ["orders"]
    renderer.which = "run-operation"
    assert [node["name"] for node in renderer.render("external_sources", None)] == ["orders"]


def test_staged_declarations(macros: Renderer) -> None:
    mark = "0123456789abcdef" * 2
    macros.answers = {
        "create schema": [],
        STAGED: [
            {"tableName": "Shop__Orders", "information": f"Table Properties: [alluvium.declaration={mark}, a=b]"},
            {"tableName": "other", "information": "Table Properties: []"},
        ],
    }
    assert macros.render("staged_declarations", ["bronze"]) == {"bronze.shop__orders": mark}


def test_external_declaration_changes_with_what_tables_are_made_from(macros: Renderer) -> None:
    same = macros.render("external_declaration", source())
    assert same == macros.render("external_declaration", source(cdc={"layout": "lenses"}, columns={}))
    for changed in (
        source(using="avro"),
        source(options={"pathGlobFilter": "a*"}),
        source(external={"location": "/elsewhere", "using": "json"}),
    ):
        assert macros.render("external_declaration", changed) != same


def test_create_external_relations_declares_the_listing_last(macros: Renderer) -> None:
    macros.answers = {"drop table": [], "create table": []}
    ran = macros.does("create_external_relations", source(using="avro"), "abc")
    assert "declaration" not in ran[2]
    assert ran[3].startswith("create table bronze.shop__orders using binaryFile options (")
    assert ran[3].endswith("tblproperties ('alluvium.declaration' = 'abc')")


def test_create_external_table_sql(macros: Renderer) -> None:
    external = {"location": ODD_PATH, "using": "json"}
    sql = macros.sql("create_external_table_sql", relation("t", "bronze"), "text", "value string", external, None)
    assert sql == (
        "create table bronze.t (value string) using text options ('recursiveFileLookup' 'true',"
        r" '__globPaths__' 'false', 'lineSep' '\n',"
        r" 'path' '/landing/country=Côte d\'Ivoire/a\\b.json')"
    )
    assert_parses(sql)


def test_external_options(macros: Renderer) -> None:
    assert macros.render("external_options", {}) == {"recursiveFileLookup": "true", "__globPaths__": "false"}
    given = {"options": {"recursiveFileLookup": "false", "maxFilesPerTrigger": 5}}
    assert macros.render("external_options", given) == {
        "recursiveFileLookup": "false",
        "__globPaths__": "false",
        "maxFilesPerTrigger": "5",
    }


def test_external_format(macros: Renderer) -> None:
    assert macros.render("external_format", "m", {"using": "JSON"}) == "json"
    assert macros.render("external_format", "m", {"file_format": "parquet"}) == "parquet"
    assert macros.refusal("external_format", "m", {}) == "m: external.using is not given; allowed: json, avro, parquet."


def test_bronze_records(macros: Renderer) -> None:
    everything = macros.sql("bronze_records", feed())
    assert everything.count("union all") == 1
    assert "_metadata.file_path between" not in everything
    for made, runs in (
        (everything, None),
        (macros.sql("bronze_records", feed(), [run_of("/a", ODD_PATH)]), 1),
        (macros.sql("bronze_records", feed(), []), 0),
        (macros.sql("bronze_records", feed(format="avro"), [run_of("/a", "/b")]), 1),
    ):
        assert_parses(made)
        assert made.count("union all") == (runs is None)


def test_reads_containers(macros: Renderer) -> None:
    assert macros.render("reads_containers", feed(format="parquet"), [])
    assert macros.render("reads_containers", feed(), None)
    assert macros.render("reads_containers", feed(), [run_of("/a", "/b", container_count=1)])
    assert not macros.render("reads_containers", feed(), [run_of("/a", "/b")])


def test_text_records(macros: Renderer) -> None:
    sql = macros.sql("text_records", feed(), [run_of("/a", "/b")], [run_of("/aa", "/aa")])
    assert sql.endswith(
        f"from bronze.shop__orders where not {macros.render('is_container', '_metadata.file_path')}"
        f" and {macros.render('holds_values', '_metadata.file_path')} and (_metadata.file_path between '/a' and '/b')"
        " and not (_metadata.file_path = '/aa')"
    )


def test_files_are_containers_by_their_names(macros: Renderer) -> None:
    pattern = macros.render("is_container", "path").removeprefix("lower(path) rlike '").removesuffix("'")
    names = ["a.gz", "a.json.zst", "a.avro", "a.snappy.parquet", "a.json", "a", "a.gzip.txt"]
    assert [bool(re.search(pattern, name)) for name in names] == [True] * 4 + [False] * 3


def test_files_of_other_forms(macros: Renderer) -> None:
    query = "select file_path from (select _metadata.file_path as file_path, value,"
    macros.answers = {query: [{"file_path": "/a"}, {"file_path": "/c"}]}
    made = macros.sql("bronze_records", feed(), [run_of("/a", "/d")])
    assert "and not (_metadata.file_path = '/a' or _metadata.file_path = '/c')" in made
    assert f"({macros.render('is_container', '_metadata.file_path')} or (_metadata.file_path = '/a' or" in made
    assert_parses(made)
    macros.answers = {query: [{"file_path": f"/{number:04}"} for number in range(1001)]}
    assert macros.render("files_of_other_forms", feed(), None) == [{"first_path": "/0000", "last_path": "/1000"}]
    assert_parses(macros.sql("files_of_other_forms_sql", feed(), [run_of("/a", "/d")]))


def test_what_is_not_run_looks_at_no_file() -> None:
    for which in ("compile", "generate", "list", "parse"):
        renderer = Renderer(which=which)
        assert renderer.render("files_of_other_forms", feed(), None) == []
        assert renderer.queries == []


def test_is_other_form(macros: Renderer) -> None:
    assert_expression_parses(macros.render("is_other_form", "value"))


def test_container_records(macros: Renderer) -> None:
    holds_values = macros.render("holds_values", "_metadata.file_path")
    gzip = macros.sql("container_records", feed(), [run_of("/a", "/a", container_count=1)], [])
    assert f"and ({macros.render('is_container', '_metadata.file_path')}) and (_metadata.file_path = '/a')" in gzip
    avro = macros.sql("container_records", feed(format="avro"), None, [])
    assert (
        f"from bronze.shop__orders__files where length > 0 and {holds_values}) as files, lateral read_records(" in avro
    )


def test_new_files_refreshes_the_listing_first(macros: Renderer) -> None:
    macros.answers = {"refresh table": [], "with listed as": [run_of("/a", "/b")]}
    assert macros.render("new_files", feed(), LOG) == [run_of("/a", "/b")]
    assert macros.warnings == []
    assert macros.queries[:2] == ["refresh table bronze.shop__orders__files", "refresh table bronze.shop__orders"]
    assert "(applied.file_path is null or applied.is_outdated) as is_wanted" in macros.queries[2]


def test_new_files_takes_out_what_a_killed_run_has_left(macros: Renderer) -> None:
    left = run_of("/a", "/b") | {"is_wanted": False, "superseded_count": 1}
    macros.answers = {"refresh table": [], "with listed as": [left], "merge into": [], "reorg table": []}
    macros.answers["count(replay_requested_at)"] = [{"file_count": 0}]
    macros.render("new_files", feed(), LOG)
    assert macros.queries[4].startswith("merge into silver.stg_shop__orders as logged")


def test_new_files_warns_of_a_place_without_files(macros: Renderer) -> None:
    applied = run_of("/a", "/b") | {"is_wanted": False}
    macros.answers = {"refresh table": [], "with listed as": [applied]}
    assert macros.render("new_files", feed(), LOG) == []
    assert macros.warnings == []
    macros.answers["with listed as"] = []
    assert macros.render("new_files", feed(), LOG) == []
    (warning,) = macros.warnings
    assert warning.startswith(
        "shop.orders: no file found at /landing/orders. Is it the right place? Spark lists nothing"
    )


@pytest.mark.parametrize(
    ("folder", "is_warned"),
    [
        ("orders/2026-11-22", True),
        ("orders/2026/11/", True),
        ("orders/day=2026-11-22", True),
        ("orders/DT-20261122", True),
        ("orders/country=Peru", True),
        ("orders/table=orders", False),
        ("orders2026", False),
        ("orders_2026", False),
        ("orders/1234", False),
    ],
)
def test_warn_of_partition(macros: Renderer, folder: str, is_warned: bool) -> None:
    macros.render("warn_of_partition", feed(location=f"/landing/{folder}"))
    assert bool(macros.warnings) == is_warned
    assert all("declare the folder above" in warning for warning in macros.warnings)


def test_new_files_warns_of_a_partition_that_has_no_new_ones(macros: Renderer) -> None:
    day = feed(location="/landing/day=1")
    macros.answers = {"refresh table": [], "with listed as": [run_of("/a", "/b")]}
    macros.render("new_files", day, LOG)
    assert macros.warnings == []
    macros.answers["with listed as"] = [run_of("/a", "/b") | {"is_wanted": False}]
    macros.render("new_files", day, LOG)
    assert len(macros.warnings) == 1


def test_files_of_batch(macros: Renderer) -> None:
    macros.answers = {"applied.batch <=> 7 as is_wanted": [run_of("/a", "/b")]}
    assert macros.render("files_of_batch", feed(), LOG, 7) == [run_of("/a", "/b")]


def test_file_runs_sql(macros: Renderer) -> None:
    sql = macros.render("file_runs_sql", relation("shop__orders__files", "bronze"), LOG, "applied.file_path is null")
    assert "from bronze.shop__orders__files where length > 0" in fold(sql)
    assert f"from {LEDGER} where change_log = 'silver.stg_shop__orders'" in fold(sql)
    assert_parses(sql)
    none = macros.sql("file_runs_sql", relation("shop__orders__files", "bronze"), None, "applied.file_path is null")
    assert "where false group by" in none


def test_file_predicate(macros: Renderer) -> None:
    assert macros.sql("file_predicate", []) == "false"
    sql = macros.sql("file_predicate", [run_of("/a", "/b"), run_of(ODD_PATH, ODD_PATH)])
    assert sql == (
        "(_metadata.file_path between '/a' and '/b' or"
        r" _metadata.file_path = '/landing/country=Côte d\'Ivoire/a\\b.json')"
    )
    assert_expression_parses(sql)


def test_file_ledger(macros: Renderer) -> None:
    assert macros.render("file_ledger").render() == LEDGER


def test_create_file_ledger(macros: Renderer) -> None:
    macros.answers = {"create": [], "alter table": []}
    schema, *ran = macros.does("create_file_ledger")
    assert schema == f"set alluvium.ledger_schema.{macros.render('run_id')} = silver"
    assert ran[0] == "create schema if not exists silver"
    assert ran[1].startswith(f"create table if not exists {LEDGER} using delta ")
    # A ledger of before has no columns for offsets.
    assert ran[2].startswith(f"alter table {LEDGER} add columns (kafka_topic string, ")
    assert ran[3].startswith(f"alter table {LEDGER} add columns (unknown_columns map<string,string>")
    assert ran[4].startswith(f"alter table {LEDGER} add columns (replay_requested_at timestamp")
    assert ran[5].startswith(f"alter table {LEDGER} add columns (declaration string")
    assert ran[6].startswith("create view if not exists silver.cdc_schema_drift")
    for statement in ran[2:]:
        assert_parses(statement)
    macros.columns = ["change_log", "missing_inside", "last_position", "replay_requested_at", "declaration"]
    assert macros.does("create_file_ledger") == [schema, *ran[:2], ran[6]]
    for which, execute in (("compile", True), ("docs", True), ("run", False)):
        assert Renderer(which=which, execute=execute).does("create_file_ledger") == []


FOLDER = "s3://bucket/côte d'ivoire/silver.db/cdc_notes"
COMMITS = "silver.cdc_notes__commits"


def lost(commits: int, name: str = "cdc_notes") -> Renderer:
    """A database that does not know a ledger, over a folder with so many commits."""
    location = [
        {"info_name": "Comment", "info_value": ""},
        {"info_name": "Location", "info_value": FOLDER.rpartition("/")[0]},
    ]
    answers: dict[str, Sequence[Mapping[str, Any]]] = {
        "describe schema silver": location,
        "select count(*)": [{"commit_count": commits}],
    }
    for statement in ("create table", "create view", "create schema", "alter table", "refresh", "drop table"):
        answers[statement] = []
    return Renderer(absent=[name], answers=answers)


def test_ledger_that_the_catalog_has_lost_is_entered_as_it_is() -> None:
    macros = lost(commits=1)
    location, create, refresh, count, drop, enter, made = macros.does(
        "create_ledger", relation("cdc_notes"), "create table x"
    )
    assert (location, made) == ("describe schema silver", "create table x")
    assert create == macros.sql("create_commits_sql", relation("cdc_notes__commits"), FOLDER, False)
    assert "'path' 's3://bucket/côte d\\'ivoire/silver.db/cdc_notes/_delta_log'" in create
    assert (refresh, drop) == (f"refresh table {COMMITS}", f"drop table {COMMITS}")
    assert count == f"select count(*) as commit_count from {COMMITS}"
    assert enter.startswith("create table if not exists silver.cdc_notes using delta location 's3://bucket/côte d")
    assert macros.added == ["silver.cdc_notes"]
    assert macros.messages == [f"Found silver.cdc_notes at {FOLDER}, which the catalog does not know; entered again"]
    for statement in (create, enter):
        assert_parses(statement)


def test_ledger_is_not_looked_for_where_the_catalog_has_it_and_not_entered_where_nothing_is() -> None:
    nothing = lost(commits=0)
    (*_, drop, made) = nothing.does("create_ledger", relation("cdc_notes"), "create table x")
    assert (drop, made) == (f"drop table {COMMITS}", "create table x")
    assert nothing.does("register_ledger", relation("cdc_notes"))[-1] == drop
    assert nothing.render("folder_of_lost_ledger", relation("cdc_notes")) is None
    assert nothing.render("folder_of_table", relation("cdc_notes")) == FOLDER
    assert nothing.render("has_commits", relation("cdc_notes"), FOLDER, False) is False
    assert nothing.render("location_of_schema", "silver") == FOLDER.rpartition("/")[0]
    decoding = Renderer(
        answers={
            "describe schema": [{"info_name": "Location", "info_value": "file:/a%20b+c"}],
            "select url_decode('file:/a%20b%2Bc') as path": [{"path": "file:/a b+c"}],
        }
    )
    assert decoding.render("location_of_schema", "silver") == "file:/a b+c"
    known = lost(commits=1, name="another")
    assert known.does("create_ledger", relation("cdc_notes"), "create table x") == ["create table x"]
    unplaced = Renderer(absent=["cdc_notes"], answers={"describe schema": [], "create table x": []})
    assert unplaced.does("create_ledger", relation("cdc_notes"), "create table x")[1:] == ["create table x"]
    assert nothing.added == known.added == unplaced.added == []


def test_ledgers_that_nothing_would_miss_are_looked_for_with_the_ledger_of_files() -> None:
    macros = lost(commits=1, name="cdc_file_ledger")
    macros.absent = ["cdc_file_ledger", "cdc_purge_ledger", "cdc_released_lines"]
    macros.does("create_file_ledger")
    assert macros.added == ["silver.cdc_file_ledger", "silver.cdc_purge_ledger", "silver.cdc_released_lines"]
    macros.absent = ["cdc_purge_ledger", "cdc_released_lines"]
    macros.added.clear()
    macros.does("create_file_ledger")
    assert macros.added == []


def test_create_ledger_sql(macros: Renderer) -> None:
    sql = macros.render(
        "create_ledger_sql", relation("cdc_notes"), "note string comment 'why'", "partitioned by (note)"
    )
    assert_parses(sql)
    assert fold(sql).startswith(
        "create table if not exists silver.cdc_notes using delta partitioned by (note) as select"
    )
    assert fold(macros.render("create_ledger_sql", relation("cdc_notes"), "note string")).endswith("where false")


def test_create_file_ledger_sql(macros: Renderer) -> None:
    sql = macros.sql("create_file_ledger_sql", relation("cdc_file_ledger"))
    assert "using delta partitioned by (change_log)" in sql
    assert_parses(sql)


@pytest.mark.parametrize(
    ("in_ledger", "in_log", "statement"),
    [
        (3, 3, None),
        (2, 3, f"insert into {LEDGER} select"),
        (0, 3, "alter table silver.stg_shop__orders set tblproperties ('alluvium.generation' = "),
        (3, 2, f"update {LEDGER} set file_path = null"),
    ],
)
def test_level_file_ledger(in_ledger: int, in_log: int, statement: str | None) -> None:
    macros = shop()
    macros.answers = {
        "select max(batch)": [{"batch": in_ledger}],
        "select max(_cdc_batch)": [{"batch": in_log}],
        "insert into": [],
        "update": [],
        "alter table": [],
    }
    assert macros.render("level_file_ledger", LOG) == max(in_ledger, in_log)
    assert len(macros.queries) == (4 if statement is None else 5 if in_ledger else 6)
    assert macros.queries[-1] == f"set {macros.render('setting', 'newest_batch', LOG)} = {in_log}"
    assert statement is None or macros.queries[3].startswith(statement)


def test_newest_batches(macros: Renderer) -> None:
    setting = "set " + macros.render("setting", "newest_batch", LOG)
    macros.answers = {
        "select max(batch)": [{"batch": None}],
        "select max(_cdc_batch)": [{"batch": 4}],
        setting: [{"value": "<undefined>"}],
    }
    assert macros.render("newest_ledger_batch", LOG) == 0
    assert macros.render("newest_log_batch", LOG) == 4
    assert macros.render("newest_batch", LOG) == 4
    known = Renderer(answers={setting: [{"value": "7"}]})
    assert known.render("newest_batch", LOG) == 7
    macros.execute = False
    assert macros.render("newest_batch", LOG) == 0


def test_record_files_sql() -> None:
    macros = shop()
    sql = macros.render("record_files_sql", relation("cdc_file_ledger"), LOG, 4)
    assert "from silver.stg_shop__orders where _cdc_batch > 4 group by" in fold(sql)
    assert_parses(sql)
    created = fold(macros.render("create_file_ledger_sql", relation("cdc_file_ledger")))
    # The insert has the columns of the table, in their order.
    assert [name.split()[-1] for name in selected(sql)] == [name.split()[0] for name in listed(created)]


def test_void_entries_sql(macros: Renderer) -> None:
    sql = macros.render("void_entries_sql", LOG, 2)
    assert fold(sql).endswith("where change_log = 'silver.stg_shop__orders' and batch > 2 and file_path is not null")
    assert_parses(sql)


def test_is_entry_of(macros: Renderer) -> None:
    assert macros.render("is_entry_of", relation("it's")) == r"change_log = 'silver.it\'s'"


def test_refuse_shared_relations() -> None:
    def staged(**changes: Any) -> Renderer:
        other = source() | {"unique_id": "source.alluvium.erp.orders", "source_name": "erp"} | changes
        return Renderer(sources={"a": source(), "b": other})

    assert staged(identifier="erp__orders").does("refuse_shared_relations") == []
    assert staged(identifier="SHOP__orders").refusal("refuse_shared_relations") == (
        'stage_external_sources: source erp.orders: relation is "bronze.SHOP__orders"; '
        "allowed: an identifier of its own; this one is that of source shop.orders."
    )
    assert "shop__orders__files" in staged(identifier="shop__orders__files").refusal("refuse_shared_relations")


NOTHING_MISSING: list[dict[str, Any]] = [{"file_count": 0, "first_path": None, "rewritten_count": 0}]


def test_forget_files() -> None:
    macros = shop()
    macros.answers = {
        "select max(batch)": [{"batch": 5}],
        "refresh table": [],
        "as rewritten_count": NOTHING_MISSING,
        "delete from": [],
    }
    assert macros.render("forget_files", feed(), LOG) == 5
    assert macros.queries[-1] == f"delete from {LEDGER} where change_log = 'silver.stg_shop__orders'"
    empty = Renderer(answers={"select max(batch)": [{"batch": None}]})
    assert empty.render("forget_files", feed(), LOG) == 0
    macros.columns = ["_cdc_batch"]
    macros.answers |= {"select max(_cdc_batch)": [{"batch": 6}], "insert into": [], "set alluvium.newest_batch.": []}
    assert macros.render("forget_files", feed(), LOG) == 6


def test_file_listing(macros: Renderer) -> None:
    assert macros.render("file_listing", feed()).render() == "bronze.shop__orders__files"


def test_refuse_missing_files(macros: Renderer) -> None:
    macros.answers = {"refresh table": [], "as rewritten_count": NOTHING_MISSING}
    assert macros.does("refuse_missing_files", feed(), LOG)[0] == "refresh table bronze.shop__orders__files"
    macros.answers["as rewritten_count"] = [{"file_count": 3, "first_path": "file:/a"}]
    expected = 'decode_debezium: source shop.orders: full refresh without 3 of the files .*"file:/a"; allowed: '
    with pytest.raises(CompilationError, match=expected):
        macros.render("refuse_missing_files", feed(), LOG)
    # `--empty` would leave a log of the files that are there.
    emptied = shop()
    emptied.empty, emptied.incremental = True, False
    emptied.answers = {"select max(batch)": [{"batch": 5}], **macros.answers}
    with pytest.raises(CompilationError, match=expected):
        emptied.render("next_batch", feed())
    emptied.answers["as rewritten_count"] = NOTHING_MISSING
    assert emptied.render("next_batch", feed())["runs"] == []
    emptied.incremental = True
    emptied.answers = {}
    assert emptied.render("next_batch", feed())["runs"] == []
    accepted = Renderer(variables={"alluvium_rebuild_without_missing_files": True})
    assert accepted.does("refuse_missing_files", feed(), LOG) == []


def test_refuse_files_that_have_lost_changes(macros: Renderer) -> None:
    rewritten = {"file_count": 0, "first_path": None, "rewritten_count": 2}
    macros.answers = {
        "refresh table": [],
        "as rewritten_count": [rewritten],
        "as change_count": [{"change_count": 0, "first_path": None}],
    }
    assert macros.does("refuse_missing_files", feed(), LOG)[-1].startswith("with logged as (")
    macros.answers["as change_count"] = [{"change_count": 3, "first_path": "file:/a"}]
    with pytest.raises(
        CompilationError, match=r"without 3 changes of silver.stg_shop__orders that files .*\"file:/a\""
    ):
        macros.render("refuse_missing_files", feed(), LOG)
    with pytest.raises(
        CompilationError, match=r"full refresh without x, the first of them is \"file:/a\"; allowed: br"
    ):
        macros.render("raise_lost", feed(), "without x", "file:/a")


def test_missing_files_sql(macros: Renderer) -> None:
    sql = macros.render("missing_files_sql", relation("shop__orders__files", "bronze"), LOG)
    assert f"from {LEDGER} as applied left join" in fold(sql)
    assert "where change_log = 'silver.stg_shop__orders' and applied.file_path is not null" in fold(sql)
    assert_parses(sql)


def test_lost_changes_sql(macros: Renderer) -> None:
    macros.columns = ["id", "name", "_cdc_kind"]
    columns = [column("id", "int"), column("name", "string"), column("added", "int")]
    made = feed(columns=columns, key=["id"])
    listing = relation("shop__orders__files", "bronze")
    sql = macros.render("lost_changes_sql", made, listing, LOG)
    assert_parses(sql)
    place = macros.render("position_before_delivery")
    assert f"struct(_cdc_kind, _cdc_op, {place}, `id`) as identity" in fold(sql)
    assert macros.render("position_before_delivery", "target.").startswith("left(target._cdc_position, ")
    whole = macros.sql("lost_changes_sql", feed(columns=columns, key=[]), listing, LOG)
    assert f"struct(_cdc_kind, _cdc_op, {place}, `id`, `name`) as identity" in whole
    tags = feed(columns=[column("id", "int"), column("name", "map<string,string>")], key=[])
    assert "`id`, sort_array(map_entries(`name`))) as identity" in macros.sql("lost_changes_sql", tags, listing, LOG)


def test_record_applied_files() -> None:
    macros = shop()
    macros.answers = {
        "set alluvium.new_files.": [{"value": "2"}],
        "select max(batch)": [{"batch": 4}],
        "insert into": [],
        "sum(rejected_count)": [
            {"batch": 5, "rejected_count": 0, "line_count": 9, "control_count": 0, "absent_count": 0}
        ],
        "set alluvium.files_read_again.": [{"value": "0"}],
        "'gap' as finding": [],
    }
    _, _, _, insert, _, remember, _, findings = macros.does("record_applied_files")
    assert insert.startswith(f"insert into {LEDGER}")
    assert "where _cdc_batch > 4 " in insert
    assert "count_if(newest_batch > 4)" in findings
    # Not the number that the run had in mind: the append may have found no row.
    assert remember == f"set {macros.render('setting', 'newest_batch', LOG)} = 5"
    again = macros.answers | {"set alluvium.files_read_again.": [{"value": "1"}], "merge into": [], "reorg table": []}
    again["count(replay_requested_at)"] = [{"file_count": 0}]
    ran = Renderer(sources=macros.sources, nodes=macros.nodes, answers=again).does("record_applied_files")
    assert "reorg table silver.stg_shop__orders apply (purge)" in ran
    macros.answers["sum(rejected_count)"] = []
    assert f"set {macros.render('setting', 'newest_batch', LOG)} = 4" in macros.does("record_applied_files")
    unchanged = shop()
    unchanged.answers = {"set alluvium.new_files.": [{"value": "0"}]}
    assert len(unchanged.does("record_applied_files")) == 2
    unchanged.answers |= {"set alluvium.is_built_anew.": [{"value": "true"}], "alter table": []}
    assert "set tblproperties ('alluvium.generation' = " in unchanged.does("record_applied_files")[1]
    assert macros.warnings == []
    assert Renderer(execute=False).does("record_applied_files") == []


def test_compact_entries(macros: Renderer) -> None:
    macros.answers = {"optimize": []}
    assert macros.does("compact_entries", LOG, 51) == []
    (optimize,) = macros.does("compact_entries", LOG, 150)
    assert optimize == f"optimize {LEDGER} where change_log = 'silver.stg_shop__orders'"


def test_announce_batch() -> None:
    macros = shop(cdc={"connector": "mysql"})
    macros.answers = {"as shared_positions": [{"shared_positions": 1}], "limit 3": []}
    counted = {"batch": 5, "rejected_count": 3, "line_count": 9, "control_count": 1, "absent_count": 0}
    macros.does("announce_batch", LOG, counted)
    assert ["rejected" in warning for warning in macros.warnings] == [True, False]


def test_announce_rejected_lines(macros: Renderer) -> None:
    assert_parses(macros.sql("recorded_batches_sql", LOG, 4))
    macros.answers = {"limit 3": [{"reason": "malformed_json", "detail": None, "path": "/a.json", "line": 5}]}
    macros.does("announce_rejected_lines", LOG, {"batch": 5, "rejected_count": 3, "line_count": 9})
    (warning,) = macros.warnings
    said = "stg_shop__orders: 3 of 9 new lines rejected. The first: malformed_json at /a.json line 5. All: `select "
    assert warning.startswith(said)
    assert_parses(warning.split("`")[1])


@pytest.mark.parametrize(
    ("shape", "counted", "found", "warned"),
    [
        ("flattened", 3, {"tombstones": 2, "deletes": 0}, True),
        ("flattened", 3, {"tombstones": 2, "deletes": 1}, False),
        ("flattened", 3, {"tombstones": 0, "deletes": 0}, False),
        ("flattened", 0, None, False),
        ("envelope", 3, None, False),
    ],
)
def test_tombstones_without_deletes_are_warned_of(
    shape: str, counted: int, found: dict[str, int] | None, warned: bool
) -> None:
    macros = Renderer(answers={"as tombstones": [found]} if found else {})
    macros.does("announce_lost_deletes", LOG, feed(shape=shape), {"batch": 5, "control_count": counted})
    assert bool(macros.warnings) is warned
    if warned:
        assert "2 tombstones and no delete" in macros.warnings[0]
        assert_parses(macros.sql("tombstones_and_deletes_sql", LOG, 5))


@pytest.mark.parametrize(
    ("cdc", "found", "warned"),
    [
        ({"connector": "mariadb"}, 2, True),
        ({"connector": "mysql"}, 1, True),
        ({"connector": "mysql"}, 0, False),
        ({"connector": "mysql", "order_by": "offset"}, None, False),
        ({"connector": "postgresql"}, None, False),
    ],
)
def test_positions_of_several_changes_are_warned_of(cdc: dict[str, str], found: int | None, warned: bool) -> None:
    macros = Renderer(answers={} if found is None else {"as shared_positions": [{"shared_positions": found}]})
    macros.does("announce_shared_positions", LOG, feed(**cdc), {"batch": 5})
    assert bool(macros.warnings) is warned
    if warned:
        assert f"{found} binlog positions" in macros.warnings[0]


def test_shared_positions_sql(macros: Renderer) -> None:
    of_envelope = macros.sql("shared_positions_sql", LOG, feed(connector="mysql"), 5)
    assert "group by left(_cdc_position, 42) having" in of_envelope
    assert_parses(of_envelope)
    of_flattened = macros.sql("shared_positions_sql", LOG, feed(connector="mysql", shape="flattened"), 5)
    assert "group by left(_cdc_position, 42), `id` having" in of_flattened
    assert_parses(of_flattened)
