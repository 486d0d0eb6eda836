"""`dbt compile` in a new project: nothing is asked of the tables, whether they are there or not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from alluvium.new_project import create

from .compiled import compiled

# One for each macro that stands for a model, and for each that a mart calls.
MODELS = {
    "stg_a__orders": "{{ alluvium.change_log(source('a', 'orders')) }}",
    "stg_a__keyless": "{{ alluvium.change_log(source('a', 'keyless')) }}",
    "stg_a__marks": "{{ alluvium.change_log(source('a', 'marks')) }}",
    "stg_a__dumps": "{{ alluvium.change_log(source('a', 'dumps')) }}",
    "stg_a__whole": "{{ alluvium.complete_transactions(ref('stg_a__orders'), ref('stg_a__status')) }}",
    "stg_a__status": "{{ alluvium.transaction_status(ref('stg_a__marks'), [ref('stg_a__orders')]) }}",
    "qrn_a__orders": "{{ alluvium.rejected_rows(ref('stg_a__orders')) }}",
    "slv_a__orders_state": "{{ alluvium.current_state(ref('stg_a__orders'), [ref('stg_a__marks')]) }}",
    "slv_a__hudi_state": "{{ config(file_format='hudi') }} {{ alluvium.current_state(ref('stg_a__whole')) }}",
    "slv_a__keyless_state": "{{ alluvium.current_state(ref('stg_a__keyless')) }}",
    "slv_a__dumps_state": "{{ alluvium.current_state(ref('stg_a__dumps')) }}",
    "slv_a__orders_history": "{{ alluvium.history(ref('stg_a__orders')) }}",
    "slv_a__orders": "{{ config(on_schema_change='ignore') }} {{ alluvium.current_rows(ref('slv_a__orders_state')) }}",
    "slv_a__hudi": "{{ alluvium.current_rows(ref('slv_a__hudi_state')) }}",
    "slv_a__keyless": "{{ alluvium.current_rows(ref('slv_a__keyless_state')) }}",
    "slv_a__gaps": "{{ alluvium.offset_findings(ref('stg_a__orders')) }}",
    "fct_orders": "{{ config(contract={'enforced': false}) }}"
    "{{ alluvium.incremental_mart(['id'], deleted_with='slv_a__orders_state', delete_where='id is null') }}"
    "{{ alluvium.changed_keys(ref('slv_a__orders_state'), ['id']) }}",
    "agg_orders": "{{ config(contract={'enforced': false}) }}select count(*) as orders from {{ ref('slv_a__orders') }}",
}
# As models of 0.1 are written, each in the place of one of those.
INCREMENTAL = "materialized='incremental', incremental_strategy="
APPLIED = 'post_hook="{{ alluvium.record_applied_batches() }}"'
LOG = f"config({INCREMENTAL}'append', post_hook=\"{{{{ alluvium.record_applied_files() }}}}\")"
OF_0_1 = {
    "stg_a__orders": f"{{{{ {LOG} }}}} {{{{ alluvium.decode_debezium(source('a', 'orders')) }}}}",
    "stg_a__dumps": f"{{{{ {LOG} }}}} {{{{ alluvium.decode_rows(source('a', 'dumps')) }}}}",
    "slv_a__orders_state": f"{{{{ config({INCREMENTAL}'merge', {APPLIED}, meta={{'cdc': {{'merge_guard': "
    "'_cdc_position', 'delete_policy': 'hard'}}) }} {{ alluvium.current_state(ref('stg_a__orders')) }}",
    "slv_a__orders_history": f"{{{{ config({INCREMENTAL}'merge', {APPLIED}, meta={{'cdc': {{'stored_as_scd_type': 2}}}}"
    ") }} {{ alluvium.scd2_from_changes(ref('stg_a__orders')) }}",
    "slv_a__orders": "{{ alluvium.living_rows(ref('slv_a__orders_state')) }}",
}
# Of each model its kind and its hooks, by the macro that each calls first.
LOGGED, MERGED, OVERWRITTEN = ["record_applied_files"], ["record_applied_batches"], ["record_inputs"]
SET = {
    "stg_a__orders": ("change_log", "append", [], LOGGED),
    "stg_a__dumps": ("change_log", "append", [], LOGGED),
    "stg_a__whole": ("complete_change_log", "append", [], ["record_cut"]),
    "stg_a__status": ("transaction_status", "merge", [], MERGED),
    "qrn_a__orders": ("rejected_rows", None, [], []),
    "slv_a__orders_state": ("state", "merge", [], MERGED),
    "slv_a__hudi_state": ("state", "merge", [], MERGED),
    "slv_a__orders_history": ("history", "merge", [], MERGED),
    "slv_a__orders": ("current_rows", None, [], []),
    "fct_orders": (
        "incremental_mart",
        "merge",
        ["note_inputs", "delete_vanished_keys"],
        [*OVERWRITTEN, "delete from {{ this }} where id is null", *MERGED],
    ),
    "agg_orders": ("mart", "insert_overwrite", ["note_inputs"], OVERWRITTEN),
}
TESTS = {
    "stg_a__orders": ["alluvium.every_line_accounted_for", "alluvium.rejected_within_threshold"],
    "stg_a__dumps": ["alluvium.every_line_accounted_for", "alluvium.no_tied_rows"],
    "slv_a__orders_state": [
        "alluvium.unresolved_within_threshold",
        {"alluvium.unique_combination": {"arguments": {"columns": ["id"]}}},
    ],
    "slv_a__keyless_state": ["alluvium.unresolved_within_threshold"],
    "slv_a__orders_history": [{"alluvium.versions_do_not_overlap": {"arguments": {"key": ["id"]}}}],
}


def table(name: str, key: list[str], columns: list[str], **cdc: object) -> dict[str, object]:
    """A table of the source."""
    return {
        "name": name,
        "external": {"location": f"/landing/{name}", "using": "json"},
        "config": {"meta": {"cdc": {"key": key, **cdc}}},
        "columns": [{"name": column, "data_type": "string"} for column in columns],
    }


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new project with a model for each macro."""
    folder = tmp_path_factory.mktemp("compiled") / "p"
    create(folder, "p")
    silver, gold = folder / "models" / "silver", folder / "models" / "gold"
    silver.mkdir(parents=True)
    gold.mkdir()
    for name, sql in MODELS.items():
        ((silver if "_a__" in name else gold) / f"{name}.sql").write_text(sql, encoding="utf-8")
    quarantine = {"quarantine": {"fail_above": 0}, "unresolved": {"fail_above": 0}}
    source = {
        "name": "a",
        "schema": "bronze",
        "config": {"meta": {"cdc": {"connector": "mysql", "shape": "envelope", **quarantine}}},
        "tables": [
            table("orders", ["id"], ["id", "note"], data_collection="a.orders"),
            table("keyless", [], ["id", "note"]),
            table("marks", ["id"], ["id", "status", "data_collections"]),
            table("dumps", ["id"], ["id", "at"], connector="table", shape="row", sequence_by="at"),
        ],
    }
    models = [{"name": name, "data_tests": tests} for name, tests in TESTS.items()]
    document = {"version": 2, "sources": [source], "models": models}
    (silver / "models.yml").write_text(yaml.safe_dump(document), encoding="utf-8")
    return folder


def nodes_of(out: Path) -> list[dict[str, Any]]:
    """Those of dbt's manifest."""
    return [*json.loads((out / "manifest.json").read_text("utf-8"))["nodes"].values()]


def models_of(out: Path) -> dict[str, tuple[str, str | None, list[str], list[str]]]:
    """What dbt has as each model's kind, strategy and hooks."""
    made = {}
    for node in nodes_of(out):
        if node["resource_type"] == "model":
            config = node["config"]
            hooks = [
                [re.sub(r"\{\{ alluvium\.(\w+)\(.*", r"\1", hook["sql"]) for hook in config[name]]
                for name in ("pre-hook", "post-hook")
            ]
            is_view = config["materialized"] == "view"
            strategy = None if is_view else config["incremental_strategy"]
            made[node["name"]] = (config["meta"].get("alluvium_model"), strategy, *hooks)
    return made


@pytest.mark.parametrize("is_built", [False, True], ids=["fresh", "built"])
def test_compiling_asks_no_table(project: Path, is_built: bool) -> None:
    out = project / "target"
    out.mkdir(exist_ok=True)
    ledgers = ["cdc_file_ledger", "cdc_run_ledger", "cdc_purge_ledger", "cdc_released_lines"]
    done = compiled(project, out, "compile", tables=[*MODELS, *ledgers] if is_built else [])
    assert done.code == 0, done.output
    assert done.queries == []
    assert (
        len([node for node in nodes_of(out) if node["resource_type"] in ("model", "test") and node["compiled_code"]])
        >= 26
    )
    found = models_of(out)
    assert {name: found[name] for name in SET} == SET


def test_models_of_0_1_compile_to_the_same(project: Path) -> None:
    out = project / "target_of_0_1"
    out.mkdir()
    silver = project / "models" / "silver"
    for name, sql in OF_0_1.items():
        (silver / f"{name}.sql").write_text(sql, encoding="utf-8")
    done = compiled(project, out, "compile")
    assert done.code == 0, done.output
    found = models_of(out)
    # No hook twice, and each with its kind.
    assert {name: found[name] for name in SET} == SET
    for name, old, new in (
        ("stg_a__orders", "decode_debezium", "change_log"),
        ("stg_a__dumps", "decode_rows", "change_log"),
        ("slv_a__orders_history", "scd2_from_changes", "history"),
        ("slv_a__orders", "living_rows", "current_rows"),
    ):
        assert f"{name}: {old} is called {new} now" in done.output
    (state,) = [node for node in nodes_of(out) if node["name"] == "slv_a__orders_state"]
    assert state["config"]["meta"]["cdc"]["delete_policy"] == "hard"
