from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import CompilationError

from .feeds import feed, model, shop, source
from .harness import Renderer, assert_parses, fold, relation

LOG = relation("stg_shop__orders")
MARKERS = relation("stg_shop__transaction")
STATUS = relation("stg_shop__transaction_status")
HOOK = "{{ alluvium.record_applied_batches() }}"
NAMES = ["id", "_cdc_position"]
CUT: dict[str, Any] = {"number": 5, "until": 9, "below": "B", "after": 7, "from": "A", "written": 4, "is_level": False}


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
    renderer.this = STATUS
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
    renderer.strategy = "append"
    renderer.post_hooks = ("{{ alluvium.record_cut() }}",)
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
    assert folded.endswith(f"union all {renderer.sql('applied_logs', [{'relation': LOG, 'batches': {'until': 5}}])}")
    assert "map('stg_shop__orders', cast(5 as bigint)) as arrived" in folded
    assert Renderer(execute=False).render("transaction_status", MARKERS, [LOG]) == "select 1 as not_compiled"


def test_transaction_status_reads_everything_outside_of_a_run() -> None:
    renderer = transactions("mariadb")
    renderer.which = "compile"
    sql = renderer.render("transaction_status", MARKERS, [LOG])
    assert "_cdc_batch" not in sql
    assert_parses(sql)


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"unique_key": "id"}, {}, 'unique_key is "id"; allowed: transaction_id.'),
    ({"strategy": "append"}, {}, 'incremental_strategy is "append"; allowed: merge.'),
    ({"post_hooks": ()}, {}, "post_hook is not given"),
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
    assert renderer.does("require_marker_columns", "me", MARKERS) == []
    assert 'a column of the transaction topic is "status"' in renderer.refusal("require_marker_columns", "me", LOG)
    assert renderer.render("feed_of_transactions", LOG)["data_collection"] == "public.orders"


def test_oldest_incomplete_position() -> None:
    macros = Renderer(answers={"from silver.stg_shop__transaction_status where not is_complete": [{"position": "1"}]})
    assert macros.render("oldest_incomplete_position", STATUS) == "1"


def test_parts_of_the_status() -> None:
    macros = transactions()
    made = {"relation": LOG, "feed": feed(data_collection="it's"), "batches": {"after": 0, "until": 4}}
    markers = {"relation": MARKERS, "batches": None}
    assert_parses(macros.render("default__transaction_status", markers, [made], None))
    marked = macros.render("marked_transactions", markers, [made], "mysql")
    assert r"array_contains(array('it\'s'), counted.data_collection)" in marked
    assert "id as transaction_id" in marked
    assert_parses(marked)
    events = macros.sql("events_of_transactions", made, "postgresql", "A")
    assert "split_part(_cdc_transaction_id, ':', 1) as transaction_id" in events
    assert events.endswith("and _cdc_batch <= 4")
    assert "from silver.stg_shop__transaction_status" in macros.sql("known_transactions")
    macros.incremental = False
    assert macros.sql("known_transactions").endswith("as no_transaction where false")
    # Events of a table that no END counts are of one that is declared under another name.
    assert "array_union(map_keys(expected), coalesce(map_keys(arrived), array()))" in macros.sql(
        "judged_transactions", "postgresql"
    )
    # Only a binlog has transactions without an END.
    assert macros.sql("judged_transactions", "mysql").startswith(
        "select transaction_id, (expected is not null or coalesce(marker_position <"
    )
    assert macros.sql("judged_transactions", "postgresql").startswith(
        "select transaction_id, expected is not null and size(missing_from) = 0 as is_complete"
    )


def test_require_commit_order() -> None:
    renderer = transactions(shape="flattened")
    assert_parses(renderer.render("commit_order_sql", LOG))
    for has_sequence, events in ((True, 3), (None, 0)):
        renderer.answers = {"as has_sequence": [{"has_sequence": has_sequence, "event_count": events}]}
        assert renderer.render("feed_of_transactions", LOG)["shape"] == "flattened"
        assert renderer.does("require_commit_order", "me", LOG)
    renderer.answers = {"as has_sequence": [{"has_sequence": False, "event_count": 3}]}
    with pytest.raises(CompilationError, match=r"source\.sequence, too"):
        renderer.render("feed_of_transactions", LOG)


def test_status_is_of_the_logs_that_it_was_built_for() -> None:
    renderer = transactions()
    options = ["a", ["b", "public.b"]]
    renderer.answers = {"show tblproperties": []}
    key = renderer.does("require_same_options", "me", "x", options, options)[-1].rpartition(" = ")[2]
    renderer.answers = {"show tblproperties": [{"key": "alluvium.key", "value": key}]}
    renderer.does("require_same_options", "me", "x", options, options)
    with pytest.raises(CompilationError, match="was built with; others need"):
        renderer.render("require_same_options", "me", "x", ["a"], ["a"])


def test_is_of_batches(macros: Renderer) -> None:
    assert macros.sql("is_of_batches", None, "A") == ""
    assert macros.sql("is_of_batches", {"after": 2, "until": 3}, None) == "and _cdc_batch <= 3 and (_cdc_batch > 2)"
    assert macros.sql("is_of_batches", {"after": 2, "until": 3}, "A").endswith("or _cdc_position >= 'A')")


@pytest.fixture
def macros() -> Renderer:
    return Renderer()


def test_transaction_key(macros: Renderer) -> None:
    assert macros.render("transaction_key", "id", "postgresql") == "split_part(id, ':', 1)"
    assert macros.render("transaction_key", "id", "mysql") == "id"


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
    assert f"set {renderer.render('setting', 'new_files', renderer.this)} = 1" in renderer.queries


def test_complete_transactions_without_news_reads_nothing() -> None:
    sql = complete().sql("default__complete_transactions", LOG, NAMES, CUT | {"is_level": True})
    assert sql.endswith("select * from silver.stg_shop__orders_complete where false")
    assert complete().sql("default__complete_transactions", LOG, NAMES, None) == "select * from silver.stg_shop__orders"


def test_rows_of_cut() -> None:
    sql = complete().sql("rows_of_cut", LOG, NAMES, CUT)
    assert "_cdc_logged._cdc_batch > 7 or _cdc_logged._cdc_position >= 'A')" in sql
    assert "(appended._cdc_batch > 4 or appended._cdc_position >= 'A')" in sql
    # A line that was rejected when a killed run appended it, and has been read again since.
    assert "and (appended._cdc_reject_reason is null) = (_cdc_logged._cdc_reject_reason is null))" in sql
    anew = complete().sql("rows_of_cut", LOG, NAMES, CUT | {"written": None, "below": None})
    assert anew.endswith("from silver.stg_shop__orders as _cdc_logged where _cdc_logged._cdc_batch <= 9")


def test_next_cut_outside_of_a_run_and_of_a_table_that_is_made_anew() -> None:
    renderer = complete()
    renderer.which = "compile"
    assert renderer.render("next_cut", LOG, STATUS) is None
    renderer.which, renderer.incremental = "run", False
    cut = renderer.render("next_cut", LOG, STATUS)
    # Its batches go on counting.
    assert (cut["number"], cut["after"], cut["from"], cut["written"], cut["is_level"]) == (6, 0, None, None, False)


def test_restored_log_goes_on_counting_above_what_was_read_of_it() -> None:
    renderer = complete()
    log = {"unique_id": "model.stg_shop__orders_complete", "alias": "stg_shop__orders_complete"}
    config = {"meta": {"cdc": {"merge_guard": "_cdc_position"}}}
    reader = model("slv_shop__orders_state", log["unique_id"]) | {"config": config, "post_hooks": []}
    renderer.nodes = {**renderer.nodes, "model.reader": reader}
    applied = {"key": "alluvium.applied_batch.stg_shop__orders_complete", "value": "8"}
    renderer.answers = {"show tblproperties silver.slv_shop__orders_state": [applied], **renderer.answers}
    assert renderer.render("newest_batch_of_readers", log) == 8
    assert renderer.render("next_cut", LOG, STATUS)["number"] == 9
    renderer.absent = ["slv_shop__orders_state"]
    assert renderer.render("newest_batch_of_readers", log) == 0


def test_log_that_the_status_does_not_count_is_refused() -> None:
    renderer = complete()
    assert_parses(renderer.render("counted_until_sql", LOG, STATUS))
    renderer.answers["select max(arrived['stg_shop__orders'])"] = [{"batch": None, "position": None}]
    with pytest.raises(CompilationError, match=r"one of those that silver\.stg_shop__transaction_status counts"):
        renderer.render("next_cut", LOG, STATUS)


def test_cut_properties(macros: Renderer) -> None:
    rows = [{"key": "alluvium.cut_batch", "value": "2"}, {"key": "alluvium.cut_position", "value": ""}]
    macros.answers = {"show tblproperties": [*rows, {"key": "alluvium.key", "value": "x"}]}
    assert macros.render("cut_properties", LOG) == {"cut_batch": "2"}


def test_record_cut() -> None:
    renderer = complete()
    left: dict[str, Any] = {
        "set alluvium.cut.": [
            {
                "value": '{"change_log": "silver.stg_shop__orders", "cut_batch": 9, "cut_position": "",'
                ' "generation": "a", "is_built_anew": true}'
            }
        ],
        "select count(*) as row_count": [{"row_count": 0}],
        "alter table": [],
    }
    renderer.answers = left | {"set alluvium.new_files.": [{"value": "1"}], **renderer.answers}
    ran = renderer.does("record_cut")
    assert ran[-1] == (
        "alter table silver.stg_shop__orders_complete set tblproperties "
        "('alluvium.cut_batch' = '9', 'alluvium.cut_position' = '', 'alluvium.cut_number' = '5', "
        f"'alluvium.applied_generation.stg_shop__orders' = 'a', 'alluvium.generation' = '{renderer.render('run_id')}')"
    )
    assert not any("reorg table" in sql for sql in ran)
    renderer.answers["set alluvium.new_files."] = [{"value": "0"}]
    assert len(renderer.does("record_cut")) == 2
    assert Renderer(execute=False).does("record_cut") == []


def test_rejected_lines_that_have_been_read_again_are_taken_out() -> None:
    renderer = complete()
    renderer.answers |= {"select count(*) as row_count": [{"row_count": 1}], "merge into": [], "reorg table": []}
    ran = renderer.does("drop_mended_rows", renderer.this, str(LOG))
    assert [sql.split()[0] for sql in ran] == ["select", "merge", "reorg"]
    merge = renderer.render("drop_mended_rows_sql", renderer.this, LOG)
    assert fold(renderer.render("mended_rows_sql", renderer.this, LOG)) in fold(merge)
    assert "held._cdc_reject_reason is not null" in merge
    assert "inner join silver.stg_shop__orders_complete as mended on mended._cdc_reject_reason is null" in fold(merge)
    assert_parses(renderer.render("mended_rows_sql", renderer.this, LOG))
