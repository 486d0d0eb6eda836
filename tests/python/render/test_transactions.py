from __future__ import annotations

from typing import Any

import pytest

from .feeds import model, shop, source
from .harness import Renderer, assert_parses, fold, relation

LOG = relation("stg_shop__orders")
MARKERS = relation("stg_shop__transaction")
STATUS = relation("stg_shop__transaction_status")


def transactions(connector: str = "postgresql", **cdc: Any) -> Renderer:
    """A renderer for a model over the log of `shop.orders` and the transaction topic."""
    renderer = shop(cdc={"data_collection": "public.orders", "connector": connector, **cdc})
    topic: dict[str, Any] = source(cdc={"connector": "table", "shape": "row", "order_by": "offset"})
    names = {"id": "string", "status": "string", "data_collections": "array<string>"}
    topic |= {
        "unique_id": "source.alluvium.shop.transaction",
        "name": "transaction",
        "identifier": "shop__transaction",
        "columns": {name: {"name": name, "data_type": type_, "meta": {}} for name, type_ in names.items()},
    }
    renderer.sources = {**renderer.sources, "source.alluvium.shop.transaction": topic}
    renderer.nodes = {
        **renderer.nodes,
        "model.marks": model("stg_shop__transaction", "source.alluvium.shop.transaction"),
    }
    renderer.this, renderer.kind = STATUS, "transaction_status"
    renderer.unique_key = "transaction_id"
    renderer.answers = {
        "show tblproperties": [{"key": "alluvium.applied_batch.stg_shop__orders", "value": "3"}],
        "select max(_cdc_batch)": [{"batch": 5}],
        "select min(first_position)": [{"position": "0007"}],
        "select max(arrived['stg_shop__orders'])": [{"batch": 3, "position": "0007"}],
    }
    return renderer


def complete() -> Renderer:
    renderer = transactions()
    renderer.this = relation("stg_shop__orders_complete")
    renderer.strategy, renderer.kind = "append", "complete_change_log"
    renderer.parents = ["model.stg"]
    renderer.columns = ["id", "note", "_cdc_position", "_cdc_batch"]
    renderer.types = {(name, "id"): "int" for name in ("stg_shop__orders", "stg_shop__orders_complete")}
    return renderer


def test_transaction_status() -> None:
    renderer = transactions()
    renderer.answers["show tblproperties silver.stg_shop__orders"] = []
    renderer.answers = {
        "show tblproperties silver.stg_shop__orders": [],
        "show tblproperties silver.stg_shop__transaction_status": [
            {"key": "alluvium.applied_batch.stg_shop__orders", "value": "3"},
            {"key": "alluvium.applied_generation.stg_shop__orders", "value": "none"},
        ],
        **renderer.answers,
    }
    renderer.answers["show tblproperties"] = []
    sql = renderer.render("transaction_status", MARKERS, [LOG])
    assert_parses(sql)
    folded = fold(sql)
    assert "and _cdc_batch <= 5 and (_cdc_batch > 3 or _cdc_position >= '0007')" in folded
    assert "from silver.stg_shop__transaction where _cdc_kind = 'change' and _cdc_batch <= 5" in folded
    # Up to where it counts, in the same commit.
    assert folded.endswith(f"union all {renderer.sql('_applied_logs', [{'relation': LOG, 'batches': {'until': 5}}])}")
    assert "map('stg_shop__orders', cast(5 as bigint)) as arrived" in folded


def test_transaction_status_reads_everything_outside_of_a_run() -> None:
    renderer = transactions("mariadb")
    renderer.which = "compile"
    sql = renderer.render("transaction_status", MARKERS, [LOG])
    assert "_cdc_batch" not in sql
    assert_parses(sql)


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"unique_key": "id"}, {}, 'unique_key is "id"; allowed: transaction_id.'),
    ({"strategy": "append"}, {}, 'incremental_strategy is "append"; allowed: merge, which transaction_status sets'),
    ({"materialized": "table"}, {}, 'materialized is "table"; allowed: incremental, which transaction_status sets'),
    (
        {},
        {"data_collection": None},
        "meta.cdc.data_collection is not given; allowed: the table's name in Debezium's END",
    ),
    ({}, {"order_by": "offset"}, 'meta.cdc.order_by is "offset"; allowed: the connector\'s own position'),
]


@pytest.mark.parametrize(("changes", "cdc", "message"), REFUSED)
def test_transaction_status_refuses(changes: dict[str, Any], cdc: dict[str, Any], message: str) -> None:
    renderer = transactions(**cdc)
    for name, value in changes.items():
        setattr(renderer, name, value)
    assert message in renderer.refusal("transaction_status", MARKERS, [LOG])


def test_transaction_status_takes_the_key_that_it_sets() -> None:
    renderer = transactions()
    renderer.which = "compile"
    renderer.unique_key = renderer.render("_kinds_of_models")["transaction_status"]["unique_key"]
    assert "transaction_id" in renderer.sql("transaction_status", MARKERS, [LOG])


def test_transaction_status_refuses_logs_of_two_connectors() -> None:
    renderer = transactions()
    other = source(cdc={"data_collection": "shop.items", "connector": "mysql"})
    other |= {"unique_id": "source.alluvium.erp.items", "name": "items", "identifier": "erp__items"}
    renderer.sources = {**renderer.sources, "source.alluvium.erp.items": other}
    renderer.nodes = {**renderer.nodes, "model.items": model("stg_erp__items", "source.alluvium.erp.items")}
    renderer.which = "compile"
    message = renderer.refusal("transaction_status", MARKERS, [LOG, relation("stg_erp__items")])
    assert 'connectors of the change logs is ["postgresql", "mysql"]; allowed: one' in message


def test_require_marker_columns_and_feed_of_transactions() -> None:
    renderer = transactions()
    assert renderer.does("_require_marker_columns", "me", MARKERS) == []
    assert 'a column of the transaction topic is "status"' in renderer.refusal("_require_marker_columns", "me", LOG)
    assert renderer.render("_feed_of_transactions", LOG)["data_collection"] == "public.orders"


def test_complete_transactions() -> None:
    renderer = complete()
    renderer.answers = {
        "show tblproperties silver.stg_shop__orders_complete": [
            {"key": "alluvium.cut_batch", "value": "2"},
            {"key": "alluvium.cut_position", "value": ""},
            {"key": "alluvium.cut_number", "value": "4"},
        ],
        **renderer.answers,
    }
    sql = renderer.render("complete_transactions", LOG, STATUS)
    assert_parses(sql)
    folded = fold(sql)
    assert folded.startswith(
        "select _cdc_logged.`id`, _cdc_logged.`note`, _cdc_logged.`_cdc_position`, cast(6 as bigint) as _cdc_batch"
    )
    assert (
        "_cdc_logged._cdc_batch <= 3 and (_cdc_logged._cdc_position is null or _cdc_logged._cdc_position < '0007')"
        in folded
    )
    assert "and (_cdc_logged._cdc_batch > 2) and not exists (select 1 from silver.stg_shop__orders_complete" in folded
    assert renderer.run_state[f"new_files of {renderer.this}"] == 1


def test_record_cut() -> None:
    renderer = complete()
    left: dict[str, Any] = {
        "left: cut": [
            {
                "value": {
                    "change_log": "silver.stg_shop__orders",
                    "cut_batch": 9,
                    "cut_position": "",
                    "generation": "a",
                    "is_built_anew": True,
                }
            }
        ],
        "select count(*) as row_count": [{"row_count": 0}],
        "alter table": [],
    }
    renderer.answers = left | {"left: new_files": [{"value": 1}], **renderer.answers}
    ran = renderer.does("record_cut")
    assert ran[-1] == (
        "alter table silver.stg_shop__orders_complete set tblproperties "
        "('alluvium.cut_batch' = '9', 'alluvium.cut_position' = '', 'alluvium.cut_number' = '5', "
        f"'alluvium.applied_generation.stg_shop__orders' = 'a', 'alluvium.generation' = '{renderer.render('_run_id')}')"
    )
    assert not any("reorg table" in sql for sql in ran)
    renderer.answers["left: new_files"] = [{"value": 0}]
    assert renderer.does("record_cut") == []
    assert Renderer(execute=False).does("record_cut") == []
