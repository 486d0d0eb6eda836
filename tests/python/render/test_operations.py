from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError

from .feeds import model, shop, staged
from .harness import Renderer, assert_parses, relation

LOG, STATE, LISTING = relation("stg_shop__orders"), relation("slv_shop__orders_state"), relation("listing", "bronze")
NOTHING_MISSING = [{"file_count": 0, "first_path": None, "rewritten_count": 0}]


def operated(**answers: Any) -> Renderer:
    """The shop as a run-operation finds it, with a mart and the log of another source's table."""
    renderer = shop()
    other = dict(renderer.sources["source.alluvium.shop.orders"]) | {"name": "parts", "identifier": "shop__parts"}
    renderer.sources = dict(renderer.sources) | {"source.alluvium.shop.parts": other}
    renderer.nodes = dict(renderer.nodes) | {
        "model.other": model("stg_shop__parts", "source.alluvium.shop.parts"),
        "model.mart": model("fct_order", "model.slv", "model.other"),
        "model.other_state": model("slv_shop__parts_state", "model.other", "model.stg"),
    }
    for name, node in renderer.nodes.items():
        node["unique_id"] = name
        node["config"] |= {
            "materialized": "view" if name == "model.slv" else "incremental",
            "file_format": "delta",
        }
    renderer.which = "run-operation"
    renderer.answers = {
        "refresh table": [],
        "as rewritten_count": NOTHING_MISSING,
        "alter table": [],
        "create ": [],
        "merge into": [],
        **staged(renderer),
        **answers,
    }
    return renderer


def test_change_logs() -> None:
    renderer = operated()
    found = renderer.render("_change_logs", "m", "shop", None)
    assert [log["relation"].render() for log in found] == ["silver.stg_shop__orders", "silver.stg_shop__parts"]
    assert len(renderer.render("_change_logs", "m")) == 2
    (log,) = renderer.render("_change_logs_of_entity", "m", "shop", "orders")
    assert log["feed"]["name"] == "shop.orders"
    assert renderer.refusal("_change_logs", "m", "erp") == 'm: source is "erp"; allowed: shop.'
    assert renderer.refusal("_change_logs", "m", None, "orders") == "m: source is not given; allowed: shop."
    assert renderer.refusal("_change_logs", "m", "shop", "cars") == (
        'm: source shop: entity is "cars"; allowed: orders, parts.'
    )
    renderer.absent = ["cdc_purge_ledger", "stg_shop__orders"]
    assert "allowed: one that has been built; `dbt build --select stg_shop__orders+` builds it" in renderer.refusal(
        "_change_logs_of_entity", "m", "shop", "orders"
    )


def test_reset_entity() -> None:
    renderer = operated()
    assert not any("alter" in query for query in renderer.does("reset_entity", "shop", "orders"))
    assert renderer.messages[-1] == "reset_entity: nothing is changed; `dry_run: false` does it"
    (*_, last) = renderer.does("reset_entity", "shop", "orders", False)
    assert last == (
        "alter table silver.stg_shop__orders set tblproperties "
        f"('alluvium.rebuild_requested' = '{renderer.render('_run_id')}')"
    )
    assert operated().refusal("reset_entity", "shop", "orders", "no") == (
        'reset_entity: dry_run is "no"; allowed: True, False.'
    )
    renderer.execute = False
    assert renderer.does("reset_entity", "no source", "orders") == []
    renderer = operated(**{"as rewritten_count": [{"file_count": 1, "first_path": "file:/a"}]})
    logs = renderer.render("_change_logs_of_entity", "reset_entity", "shop", "orders")
    with pytest.raises(CompilationError, match="file:/a"):
        renderer.render("_reset_logs", logs, False)


MATCH = {"pattern": "a*", "file_count": 2, "listed_count": 2, "line_count": 9, "missing_path": None}


def test_replay_files() -> None:
    renderer = operated(**{"select pattern": [MATCH]})
    assert not any("merge" in query for query in renderer.does("replay_files", "shop", "orders", ["a*"]))
    assert renderer.messages[0] == "replay_files: a*: 2 files, 9 lines are read again"
    assert renderer.messages[-1].startswith("replay_files: nothing is changed")
    (*_, last) = renderer.does("replay_files", "shop", "orders", ["a*"], False)
    assert last == renderer.sql("_request_replay_sql", relation("shop__orders__files", "bronze"), LOG, ["a*"])


@pytest.mark.parametrize("files", [None, [], "a", [""], [1], {"a": 1}])
def test_replay_of_no_list_of_paths_is_refused(files: Any) -> None:
    refusal = operated().refusal("replay_files", "shop", "orders", files)
    assert refusal.startswith("replay_files: files is ")
    assert refusal.endswith("; allowed: a list of paths of the ledger, or of patterns with * and ?.")


def test_replay_of_unknown_or_missing_files_is_refused() -> None:
    renderer = operated()
    (log,) = renderer.render("_change_logs_of_entity", "m", "shop", "orders")
    assert renderer.sql("_require_match_of_files", log, ["a*"], [MATCH]) == ""
    assert 'files is "b"; allowed: files that silver.stg_shop__orders was read from' in renderer.refusal(
        "_require_match_of_files", log, ["a*", "b"], [MATCH]
    )
    assert 'files is "file:/a"; allowed: files that still lie at /landing/orders' in renderer.refusal(
        "_require_match_of_files", log, ["a*"], [MATCH | {"missing_path": "file:/a"}]
    )
    renderer.does("_announce_replay", log, [MATCH])
    assert len(renderer.messages) == 2
    renderer.answers["select pattern"] = [MATCH]
    assert len(renderer.does("_request_replay", [log], ["a*"], True)) == 4


def test_require_texts(macros: Renderer) -> None:
    assert macros.sql("_require_texts", "m", "a", ["b"], "texts") == ""
    assert macros.refusal("_require_texts", "m", "a", "b", "texts") == 'm: a is "b"; allowed: texts.'


def test_dry_runs(macros: Renderer) -> None:
    assert macros.sql("_require_dry_run", "m", True) == ""
    assert macros.refusal("_require_dry_run", "m", 2) == "m: dry_run is 2; allowed: True, False."
    macros.does("_announce_dry_run", "m")
    assert macros.messages == ["m: nothing is changed; `dry_run: false` does it"]


DETAIL = [{"numFiles": 3, "sizeInBytes": 9000}]


def test_compact_tables() -> None:
    renderer = operated(**{"describe detail": DETAIL, "optimize": []})
    renderer.absent = ["cdc_purge_ledger", "cdc_released_lines"]
    assert len(renderer.does("compact_tables")) == len(renderer.nodes) - 1 + 2
    assert renderer.messages[0].split() == ["table", "files", "bytes"]
    assert "optimize silver.stg_shop__orders" in renderer.does("compact_tables", ["stg_shop__orders"], False)
    assert "DELTA_CONCURRENT" in renderer.messages[-3]
    assert renderer.messages[-1].split() == ["silver.stg_shop__orders", "3", "9000", "3"]
    refusal = operated().refusal("compact_tables", ["slv_shop__orders"])
    assert refusal.startswith('compact_tables: models is "slv_shop__orders"; allowed: cdc_file_ledger, cdc_released')
    assert operated().refusal("compact_tables", "stg_shop__orders").endswith("a list of names, or none for all.")
    assert renderer.does("_compact", [], True) == []


def test_vacuum_tables() -> None:
    renderer = operated(**{"vacuum": [{"path": "a"}], "set spark.": [], "reset spark.": []})
    dry = renderer.does("vacuum_tables", ["stg_shop__orders"])
    listing, check = (
        "spark.sql.sources.parallelPartitionDiscovery.parallelism",
        "spark.databricks.delta.retentionDurationCheck.enabled",
    )
    vacuum = "vacuum silver.stg_shop__orders retain 168 hours dry run"
    assert dry == [f"set {listing} = 32", vacuum, f"reset {listing}"]
    assert renderer.messages[1].split() == ["silver.stg_shop__orders", "1"]
    given = {"models": ["stg_shop__orders"], "retention_hours": 0, "allow_short_retention": True, "dry_run": False}
    assert renderer.does("vacuum_tables", **given) == [
        f"set {listing} = 32",
        f"set {check} = false",
        "vacuum silver.stg_shop__orders retain 0 hours",
        f"reset {listing}",
        f"reset {check}",
    ]
    assert renderer.messages[-2:] == ["vacuumed", "silver.stg_shop__orders"]
    for hours in (167, "168", 200.5):
        assert "a number of hours from 168 on" in operated().refusal("vacuum_tables", retention_hours=hours)
    assert "a number of hours." in operated().refusal("vacuum_tables", retention_hours=-1, allow_short_retention=True)
    assert len(renderer.does("_vacuum", [], 168, False, True)) == 2


def test_ledger_report() -> None:
    renderer = operated(**{"from silver.cdc_file_ledger": [], "from silver.cdc_run_ledger": []})
    files, runs = renderer.does("ledger_report", "shop", "orders", 3)
    logs = renderer.render("_change_logs", "m", "shop", "orders")
    assert renderer.render("_tables_of_logs", logs) == [LOG, STATE]
    assert files == renderer.sql("_entries_report_sql", logs)
    assert runs == renderer.sql("_runs_report_sql", [LOG, STATE], 3)
    assert "table_name in ('silver.stg_shop__orders', 'silver.slv_shop__orders_state')" in runs
    assert_parses(files)
    assert_parses(runs)
    assert operated().refusal("ledger_report", runs=0) == "ledger_report: runs is 0; allowed: a number from 1 on."
    assert operated().refusal("_require_number_of_rows", "m", "rows", "1") == (
        'm: rows is "1"; allowed: a number from 1 on.'
    )
    renderer.absent = ["cdc_purge_ledger", "cdc_file_ledger"]
    with pytest.raises(CompilationError, match="allowed: one that a build has made"):
        renderer.render("_show_ledger", logs, 3)


def test_quarantine_report() -> None:
    renderer = operated(**{"with order": [], "select change_log, reject_reason": []})
    (query,) = renderer.does("quarantine_report", "shop", None, 2)
    assert query == renderer.sql("_quarantine_report_sql", [LOG, relation("stg_shop__parts")], 2)
    assert_parses(renderer.render("_quarantine_report_sql", [LOG], 2))
    assert "left join silver.cdc_released_lines as released on released.change_log =" in renderer.sql(
        "_rejected_lines_sql", LOG
    )
    renderer.absent = ["cdc_purge_ledger", "cdc_released_lines", "stg_shop__orders"]
    assert "false as is_released from silver.stg_shop__orders as rejected where" in renderer.sql(
        "_rejected_lines_sql", LOG
    )
    logs = renderer.render("_change_logs", "m", "shop", "orders")
    assert renderer.does("_show_quarantine", logs, 1) == []
    assert renderer.messages[-1] == "quarantine_report: no change log is built yet"


def test_release_rejected_lines() -> None:
    counted = {"select count(*) as row_count": [{"row_count": 4}], "insert into": [], "delete from": []}
    renderer = operated(**counted, **{"describe schema": []})
    given: dict[str, Any] = {"source": "shop", "entity": "orders", "note": "torn", "reasons": ["malformed_json"]}
    assert all(query.startswith("select count(*)") for query in renderer.does("release_rejected_lines", **given))
    assert renderer.messages[-2] == "release_rejected_lines: silver.stg_shop__orders: 4 rejected lines released"
    renderer.absent = ["cdc_released_lines"]
    (*_, create, insert) = renderer.does("release_rejected_lines", **given, dry_run=False)
    assert create == renderer.sql("_create_released_lines_sql", renderer.render("_released_lines"))
    assert insert.startswith("insert into silver.cdc_released_lines select 'silver.stg_shop__orders' as change_log")
    renderer.absent = []
    (*_, insert) = renderer.does("release_rejected_lines", **given, dry_run=False)
    # Rejected for another reason, a released line counts again.
    assert "and released.reject_reason = rejected._cdc_reject_reason" in insert
    given["files"] = ["p=0/a_b%*.json"]
    (*_, delete) = renderer.does("release_rejected_lines", **given, take_back=True, dry_run=False)
    assert delete == (
        "delete from silver.cdc_released_lines where change_log = 'silver.stg_shop__orders' "
        r"and ((file_path like 'p=0/a\\_b\\%%.json' or file_path like '%/p=0/a\\_b\\%%.json')) "
        "and reject_reason in ('malformed_json')"
    )
    assert renderer.messages[-1].endswith("4 releases taken back")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"note": " "}, 'note is " "; allowed: a text that says why.'),
        ({"reasons": None}, "files is not given; allowed: files, reasons or both"),
        ({"reasons": "malformed_json"}, "allowed: a list of reason codes."),
        ({"lines": [1]}, "lines is [1]; allowed: a list of line numbers of one file"),
        ({"files": ["a"], "lines": ["1"]}, "allowed: a list of line numbers of one file"),
        ({"take_back": "yes"}, 'take_back is "yes"; allowed: True, False.'),
        ({"corrected_in": ["a"]}, "allowed: the path of one file of the ledger."),
    ],
)
def test_release_refuses(arguments: dict[str, Any], message: str) -> None:
    given = {"source": "shop", "entity": "orders", "note": "torn", "reasons": ["malformed_json"]} | arguments
    assert message in operated().refusal("release_rejected_lines", **given)


def rebuilt(properties: dict[str, str], generation: str | None, **changes: Any) -> Renderer:
    """The state's model, with some properties of its table, which is whole, and a generation of its log."""
    properties = {"generation": "g1"} | properties
    renderer = shop()
    renderer.this, renderer.parents = STATE, ["model.stg"]
    renderer.answers = {
        "show tblproperties silver.slv": [
            {"key": f"alluvium.{name}", "value": value} for name, value in properties.items() if value
        ],
        "select max(_cdc_batch)": [{"batch": 6}],
        "show tblproperties silver.stg": [{"key": "alluvium.generation", "value": generation}] if generation else [],
    }
    for name, value in changes.items():
        setattr(renderer, name, value)
    return renderer


APPLIED = "applied_generation.stg_shop__orders"


@pytest.mark.parametrize(
    ("properties", "generation", "expected"),
    [
        ({APPLIED: "none"}, None, False),
        ({APPLIED: "a"}, "a", False),
        ({APPLIED: "a"}, "b", True),
        ({APPLIED: "none"}, "b", True),
        ({}, None, False),
        ({}, "b", True),
        # A run was killed between the table and its properties, or somebody has written the table.
        ({"generation": ""}, None, True),
        # The log was restored, and the ledger with it.
        ({APPLIED: "none", "applied_batch.stg_shop__orders": "6"}, None, False),
        ({APPLIED: "none", "applied_batch.stg_shop__orders": "7"}, None, True),
        ({"rebuild_requested": "x", APPLIED: "a"}, "a", True),
        ({"rebuild_begun": "x", APPLIED: "a"}, "a", True),
        ({APPLIED: "a", "declaration": "delete_policy=00000000"}, "a", True),
        ({APPLIED: "a", "declaration": "an_option_of_before=00000000"}, "a", False),
    ],
)
def test_should_full_refresh(properties: dict[str, str], generation: str | None, expected: bool) -> None:
    renderer = rebuilt(properties, generation)
    assert renderer.render("should_full_refresh") is expected
    assert renderer.run_state[f"is_to_be_rebuilt of {STATE}"] is expected
    assert len(renderer.messages) == expected
    assert (renderer.render("_reason_to_rebuild", STATE) is not None) is expected
    assert rebuilt(properties, generation, flag_full_refresh=True).render("should_full_refresh")
    for which in ("compile", "test"):
        assert not rebuilt(properties, generation, which=which).render("_is_to_be_rebuilt")
    unlike: list[dict[str, Any]] = [
        {"empty": True},
        {"absent": ["cdc_purge_ledger", "slv_shop__orders_state"]},
        {"strategy": "insert_overwrite"},
        {"kind": None},
        {"kind": "current_rows"},
    ]
    for changes in unlike:
        assert not rebuilt(properties, generation, **changes).render("_is_to_be_rebuilt")


def test_table_that_must_not_be_built_anew_is_refused() -> None:
    renderer = rebuilt({APPLIED: "a"}, "b", full_refresh=False)
    with pytest.raises(CompilationError, match="full_refresh is false; allowed: none: stg_shop__orders was built anew"):
        renderer.render("should_full_refresh")
    assert not rebuilt({APPLIED: "a"}, "a", full_refresh=False).render("should_full_refresh")


@pytest.mark.parametrize("kind", [None, "mart"])
def test_mart_that_has_the_hook_alone_is_refused_before_it_merges(kind: str | None) -> None:
    renderer = rebuilt({}, None, kind=kind, given={"post-hook": [{"sql": "{{ alluvium.record_applied_batches() }}"}]})
    with pytest.raises(
        CompilationError, match=r"record_applied_batches: model .* does not begin with incremental_mart"
    ):
        renderer.render("should_full_refresh")
    renderer.kind = "incremental_mart"
    assert not renderer.render("should_full_refresh")


def test_table_with_a_comma_in_a_name_is_not_replaced() -> None:
    renderer = rebuilt({APPLIED: "a"}, "a", flag_full_refresh=True, columns=["id", "a,b"])
    with pytest.raises(
        CompilationError, match=r'slv_shop__orders_state: name of a column is "a,b"; .*`drop table silver'
    ):
        renderer.render("should_full_refresh")
    for changes in ({"absent": ["cdc_purge_ledger", "slv_shop__orders_state"]}, {"columns": ["id", "a;b"]}):
        renderer = rebuilt({APPLIED: "a"}, "a", flag_full_refresh=True, **changes)
        assert renderer.render("should_full_refresh")
        assert renderer.render("_require_replaceable").strip() == ""


@pytest.mark.parametrize(
    ("declared", "stored", "asks"),
    [
        ("timestamp", "timestamp_ntz", True),
        ("timestamp_ntz", "timestamp", True),
        ("array<timestamp>", "array<timestamp_ntz>", True),
        ("timestamp", "timestamp", False),
        ("bigint", "double", True),
        ("decimal(20,4)", "float", True),
        # Spark itself stops at a view of another type, or shows the same values.
        ("timestamp", "string", False),
    ],
)
def test_time_of_another_clock_asks_for_the_views(declared: str, stored: str, asks: bool) -> None:
    view = model("slv_shop__orders", "model.slv_shop__orders_state")
    others = {"resource_type": "model", "unique_id": "model.slv", "config": SimpleNamespace(materialized="view")}
    columns = {name: {"name": name, "data_type": of, "meta": {}} for name, of in (("id", "int"), ("at", declared))}
    renderer = rebuilt(
        {APPLIED: "a"},
        "a",
        flag_full_refresh=True,
        sources=shop(columns=columns).sources,
        columns=["id", "at"],
        types={(STATE.identifier, "at"): stored},
        views=["slv_shop__orders"],
    )
    renderer.nodes = {**renderer.nodes, "model.slv": {**view, **others}}
    renderer.selected = ["model.slv"]
    assert renderer.render("should_full_refresh")
    renderer.selected = []
    renderer.run_state.clear()
    table = [SimpleNamespace(name="at", dtype=stored)]
    if asks:
        with pytest.raises(CompilationError, match=r"column at is .*; allowed: .* silver\.slv_shop__orders,"):
            renderer.render("should_full_refresh")
        with pytest.raises(CompilationError, match="the views over it are built, too"):
            renderer.render("_require_views_of_clock", table)
    else:
        assert renderer.render("should_full_refresh")
        assert renderer.render("_require_views_of_clock", table).strip() == ""
