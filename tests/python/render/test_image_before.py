"""Both images of an update of a table without a key, without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from .feeds import ODD_NAMES, column, feed
from .harness import Renderer, assert_expression_parses, assert_parses, fold

ODD = feed(key=[], columns=[column(name) for name in ODD_NAMES], replica_identity="full")
FLATTENED = {**ODD, "shape": "flattened"}
WITH_KEY = feed(replica_identity="full")


def test_keeps_images_before(macros: Renderer) -> None:
    assert macros.render("keeps_images_before", ODD)
    assert not macros.render("keeps_images_before", WITH_KEY)
    assert not macros.render("keeps_images_before", FLATTENED)


def test_image_before(macros: Renderer) -> None:
    sql = macros.sql("image_before", ODD)
    assert "order by file_block_start, record_order, is_image_before) as values_before from numbered" in sql
    assert sql.endswith("where not is_image_before)")
    assert_parses(f"with numbered as (select 1), {macros.render('image_before', ODD)} select * from joined")


def test_takes_image_before(macros: Renderer) -> None:
    assert macros.render("takes_image_before", ODD) == "is_image_before or record_op = 'd'"
    assert macros.render("takes_image_before", WITH_KEY) == "record_op = 'd'"


def test_values_before(macros: Renderer) -> None:
    sql = macros.sql("values_before", ODD)
    assert "`value__it's` as `it's`" in sql
    assert_expression_parses(sql)


def test_columns_before(macros: Renderer) -> None:
    assert macros.render("before_of", "sel`ect") == "`_cdc_before__sel``ect`"
    sql = macros.sql("columns_before", ODD)
    assert r"values_before.image.`it's` as `_cdc_before__it's`" in sql
    assert_expression_parses(sql)


@pytest.mark.parametrize(("options", "path"), [({}, "$.ts_ns"), ({"store_envelope": True}, "$.value.ts_ns")])
def test_record_of_image(macros: Renderer, options: dict[str, Any], path: str) -> None:
    sql = macros.sql("record_of_image", {**ODD, **options})
    assert "if(is_image_before, 'd', record_op) as op" in sql
    assert f"get_json_object(value, '{path}')" in sql
    assert_expression_parses(sql)


def test_images_of_record_are_read_side_by_side(macros: Renderer) -> None:
    view = macros.sql("images_of_record")
    assert view in macros.sql("recognise_envelope", ODD)
    assert view not in macros.sql("recognise_envelope", WITH_KEY)
    assert_parses(f"select 1 from t {view}")
    assert "dense_rank() over" in macros.sql("line_number", ODD)
    assert "row_number() over" in macros.sql("line_number", WITH_KEY)


def test_log_has_the_image_before_where_there_is_no_key(macros: Renderer) -> None:
    batch = {"number": 1, "after": None, "runs": None}
    for options, is_kept in ((ODD, True), (WITH_KEY, False), (FLATTENED, False)):
        sql = macros.render("decode_records_sql", options, batch)
        assert ("as _cdc_has_image_before" in sql) == is_kept
        assert fold(sql).endswith("from joined" if is_kept else "from numbered")
        assert (") as reject_reason" in fold(sql)) == is_kept
        assert_parses(sql)


@pytest.mark.parametrize(
    ("options", "condition", "reason"),
    [
        ({}, "op = 'u' and image_before is null", "no image before"),
        ({"replica_identity": "undeclared"}, "op = 'u' and image_before is null", "no image before"),
        ({"connector": "mysql", "replica_identity": "default"}, "op = 'u' and image_before is null", "no image before"),
        ({"replica_identity": "index"}, "op in ('u', 'd')", "replica identity index"),
        ({"shape": "flattened"}, "op = 'u'", "flattened"),
    ],
)
def test_misses_image_before(macros: Renderer, options: dict[str, Any], condition: str, reason: str) -> None:
    made = {**ODD, **options}
    assert macros.render("misses_image_before", made) == condition
    assert macros.render("missing_image_before", made) == f"'{reason}'"
    assert f"{condition} then concat('missing_before: ', '{reason}')" in macros.sql("reject_reason", made)
    assert f"{condition} then concat" not in macros.sql("reject_reason", WITH_KEY)
    assert "incremental_snapshot" not in macros.sql("reject_reason", WITH_KEY)
    assert macros.render("has_no_whole_image_before", made) == reason.startswith("replica identity")
