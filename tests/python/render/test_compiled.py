"""`dbt compile` in a new project: nothing is asked of the tables, whether they are there or not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from alluvium.new_project import create

from .compiled import compiled

INCREMENTAL = "materialized='incremental', incremental_strategy="
APPLIED = 'post_hook="{{ alluvium.record_applied_batches() }}"'
LOG = f"config({INCREMENTAL}'append', post_hook=\"{{{{ alluvium.record_applied_files() }}}}\")"
STATE = f"config({INCREMENTAL}'merge', {APPLIED}, meta={{'cdc': {{'merge_guard': '_cdc_position'}}}}"
HISTORY = f"config({INCREMENTAL}'merge', {APPLIED}, meta={{'cdc': {{'stored_as_scd_type': 2}}}})"
# One for each macro that stands for a model, and for each that a mart calls.
MODELS = {
    "stg_a__orders": f"{{{{ {LOG} }}}} {{{{ alluvium.decode_debezium(source('a', 'orders')) }}}}",
    "stg_a__keyless": f"{{{{ {LOG} }}}} {{{{ alluvium.decode_debezium(source('a', 'keyless')) }}}}",
    "stg_a__marks": f"{{{{ {LOG} }}}} {{{{ alluvium.decode_debezium(source('a', 'marks')) }}}}",
    "stg_a__dumps": f"{{{{ {LOG} }}}} {{{{ alluvium.decode_rows(source('a', 'dumps')) }}}}",
    "stg_a__whole": f"{{{{ config({INCREMENTAL}'append', post_hook=\"{{{{ alluvium.record_cut() }}}}\") }}}}"
    "{{ alluvium.complete_transactions(ref('stg_a__orders'), ref('stg_a__status')) }}",
    "stg_a__status": f"{{{{ config({INCREMENTAL}'merge', unique_key='transaction_id', {APPLIED}) }}}}"
    "{{ alluvium.transaction_status(ref('stg_a__marks'), [ref('stg_a__orders')]) }}",
    "qrn_a__orders": "{{ alluvium.rejected_rows(ref('stg_a__orders')) }}",
    "slv_a__orders_state": f"{{{{ {STATE}) }}}}"
    "{{ alluvium.current_state(ref('stg_a__orders'), [ref('stg_a__marks')]) }}",
    "slv_a__hudi_state": f"{{{{ {STATE}, file_format='hudi') }}}}{{{{ alluvium.current_state(ref('stg_a__whole')) }}}}",
    "slv_a__keyless_state": f"{{{{ {STATE}) }}}} {{{{ alluvium.current_state(ref('stg_a__keyless')) }}}}",
    "slv_a__dumps_state": f"{{{{ {STATE}) }}}} {{{{ alluvium.current_state(ref('stg_a__dumps')) }}}}",
    "slv_a__orders_history": f"{{{{ {HISTORY} }}}} {{{{ alluvium.scd2_from_changes(ref('stg_a__orders')) }}}}",
    "slv_a__orders": "{{ config(on_schema_change='ignore') }} {{ alluvium.living_rows(ref('slv_a__orders_state')) }}",
    "slv_a__hudi": "{{ alluvium.living_rows(ref('slv_a__hudi_state')) }}",
    "slv_a__keyless": "{{ alluvium.living_rows(ref('slv_a__keyless_state')) }}",
    "slv_a__gaps": "{{ alluvium.offset_findings(ref('stg_a__orders')) }}",
    "fct_orders": f"{{{{ config({INCREMENTAL}'merge', unique_key='id', {APPLIED}, "
    "pre_hook=\"{{ alluvium.delete_vanished_keys(ref('slv_a__orders_state'), ['id']) }}\") }}"
    "{{ alluvium.changed_keys(ref('slv_a__orders_state'), ['id']) }}",
    "agg_orders": f"{{{{ config({INCREMENTAL}'insert_overwrite', pre_hook='{{{{ alluvium.note_inputs() }}}}', "
    "post_hook='{{ alluvium.record_inputs() }}') }} select count(*) as orders from {{ ref('slv_a__orders') }}",
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
    silver = folder / "models" / "silver"
    silver.mkdir(parents=True)
    for name, sql in MODELS.items():
        (silver / f"{name}.sql").write_text(sql, encoding="utf-8")
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


@pytest.mark.parametrize("is_built", [False, True], ids=["fresh", "built"])
def test_compiling_asks_no_table(project: Path, is_built: bool) -> None:
    out = project / "target"
    out.mkdir(exist_ok=True)
    ledgers = ["cdc_file_ledger", "cdc_run_ledger", "cdc_purge_ledger", "cdc_released_lines"]
    done = compiled(project, out, "compile", tables=[*MODELS, *ledgers] if is_built else [])
    assert done.code == 0, done.output
    assert done.queries == []
    nodes = json.loads((out / "manifest.json").read_text("utf-8"))["nodes"].values()
    assert len([node for node in nodes if node["resource_type"] in ("model", "test") and node["compiled_code"]]) >= 26
