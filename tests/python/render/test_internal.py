from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError

from .feeds import feed, model, shop, source
from .harness import Renderer, relation


def test_raise_invalid(macros: Renderer) -> None:
    said = macros.refusal("_raise_invalid", "latest_by_key", "key", ["x"], ["a", "b"])
    assert said == 'latest_by_key: key is ["x"]; allowed: a, b.'


def test_raise_invalid_takes_a_phrase_and_says_what_is_missing(macros: Renderer) -> None:
    said = macros.refusal("_raise_invalid", "current_state", "meta.cdc.key", None, "at least one column")
    assert said == "current_state: meta.cdc.key is not given; allowed: at least one column."


def test_raise_invalid_shows_the_value_as_it_was_written(macros: Renderer) -> None:
    said = macros.refusal("_raise_invalid", "m", "a", "array<'x'> & more", ["b"])
    assert said == """m: a is "array<'x'> & more"; allowed: b."""


def test_require_one_of(macros: Renderer) -> None:
    assert macros.render("_require_one_of", "m", "a", "soft", ["soft", "hard"]) == "soft"
    assert (
        macros.refusal("_require_one_of", "m", "a", "Soft", ["soft", "hard"]) == 'm: a is "Soft"; allowed: soft, hard.'
    )


@pytest.mark.parametrize(
    ("cdc", "said"),
    [
        ({"connector": "db3"}, 'meta.cdc.connector is "db3"; allowed: postgresql, mysql, mariadb, sqlserver, '),
        (
            {"connector": "db2"},
            "meta.cdc.order_by of connector db2 is not given; allowed: offset or timestamp. Only the ",
        ),
        (
            {"order_by": None},
            "meta.cdc.order_by is not given; allowed: offset, timestamp or position; of rows offset or ",
        ),
        ({"shape": None}, "meta.cdc.shape is not given; allowed: envelope, flattened, row."),
        # As `alluvium scaffold` writes it before it is answered.
        ({"snapshots": None}, "meta.cdc.snapshots is not given; allowed: complete, partial."),
        ({"reads_envelopes": True}, "meta.cdc.reads_envelopes of shape envelope is true; allowed: False."),
        (
            {"shape": "flattened", "connector": "mongodb", "reads_envelopes": True},
            "meta.cdc.reads_envelopes of connector mongodb is true; allowed: False.",
        ),
        (
            {"layout": "flat"},
            'meta.cdc.layout is "flat"; allowed: event_hubs, ',
        ),
        ({"layout": "(?P<day>.*)"}, 'meta.cdc.layout is "(?P<day>.*)"; allowed: event_hubs, '),
        ({"layout": "(?P<offset>.*)(?P<last_offset>.*)"}, "meta.cdc.layout is "),
        (
            {"layout": "firehose", "order_by": "offset"},
            'meta.cdc.layout of a feed with order_by: offset is "firehose"; allowed: one ',
        ),
        ({"time_precision_mode": "exact"}, 'meta.cdc.time_precision_mode is "exact"; allowed: adaptive, '),
        ({"unknown_columns": "drop"}, 'meta.cdc.unknown_columns is "drop"; allowed: quarantine, ignore.'),
        ({"pk": ["id"]}, 'meta.cdc option is "pk"; allowed: connector, shape, '),
        ({"key": None}, "meta.cdc.key is not given; allowed: a list of columns ([] for a table without a key)."),
        ({"key": ["uid"]}, 'meta.cdc.key is "uid"; allowed: id, note.'),
    ],
)
def test_feed_of_source_refuses(macros: Renderer, cdc: dict[str, Any], said: str) -> None:
    message = macros.refusal("_feed_of_source", "change_log", source(cdc=cdc))
    assert message.startswith(f"change_log: source shop.orders: {said}")


def test_option_without_effect_warns_once(macros: Renderer) -> None:
    node = source(cdc={"stored_as_scd_type": 2})
    assert macros.render("_feed_of_source", "m", node) == macros.render("_feed_of_source", "m", source())
    macros.render("_feed_of_source", "m", node)
    assert macros.warnings == [
        "shop.orders: meta.cdc.stored_as_scd_type has no effect. Delete it; a history model gives the table its history"
    ]


def test_feed_of_source_refuses_an_unknown_format(macros: Renderer) -> None:
    message = macros.refusal("_feed_of_source", "decode_debezium", source(using="csv"))
    assert message == 'decode_debezium: source shop.orders: external.using is "csv"; allowed: json, avro, parquet.'


def test_feed_columns_refuses(macros: Renderer) -> None:
    untyped = source(columns={"id": {"name": "id"}})
    assert (
        macros.refusal("_feed_columns", "m", untyped)
        == "m: data_type of column id is not given; allowed: a Spark SQL type."
    )
    in_file = untyped | {"original_file_path": "models/bronze/shop/_shop__sources.yml"}
    place = ", in models/bronze/shop/_shop__sources.yml, where a comment `# Answer before the first build` says"
    assert f"a Spark SQL type{place}" in macros.refusal("_feed_columns", "m", in_file)
    without_key = source(cdc={"key": None}) | {"original_file_path": in_file["original_file_path"]}
    assert f"without a key){place}" in macros.refusal("_feed_of_source", "m", without_key)
    assert macros.render("_place_of_answer", untyped) == ""
    assert macros.refusal("_require_key", "m", {"key": "id", "columns": []}, ", there").endswith(
        "without a key), there."
    )
    none = source(columns={})
    assert macros.refusal("_feed_columns", "m", none).startswith("m: columns is not given; allowed: ")
    misspelt = source(columns={"id": {"name": "id", "data_type": "int", "meta": {"cdc": {"semantics": "x"}}}})
    assert macros.refusal("_feed_columns", "m", misspelt) == (
        'm: meta.cdc option of column id is "semantics"; allowed: semantic_type, nullable, default, unsigned.'
    )
    unknown = source(columns={"at": {"name": "at", "data_type": "date", "meta": {"cdc": {"semantic_type": "Date"}}}})
    assert macros.refusal("_feed_columns", "m", unknown).startswith(
        'm: semantic_type of column at (date) is "Date"; allowed: io.debezium.time.Date, '
    )


@pytest.mark.parametrize(
    ("data_type", "semantic_type"),
    [
        ("date", "io.debezium.time.Timestamp"),
        ("timestamp", "io.debezium.time.Date"),
        ("timestamp_ntz", "io.debezium.time.MicroTime"),
        ("decimal(10,2)", "io.debezium.time.Date"),
    ],
)
def test_semantic_type_that_no_value_of_the_column_can_have_is_refused(
    macros: Renderer, data_type: str, semantic_type: str
) -> None:
    declared = {"name": "x", "data_type": data_type, "meta": {"cdc": {"semantic_type": semantic_type}}}
    refusal = macros.refusal("_feed_columns", "m", source(columns={"x": declared}))
    assert refusal.startswith(f'm: semantic_type of column x ({data_type}) is "{semantic_type}"; allowed: ')
    assert semantic_type not in macros.render("_semantic_types_for", data_type)
    assert semantic_type in macros.render("_semantic_types_for", "string")
    kinds = macros.render("_semantic_types_by_kind")
    assert macros.render("_semantic_types") == [name for names in kinds.values() for name in names]


def test_source_without_a_location_is_refused(macros: Renderer) -> None:
    misspelt = source()
    misspelt["external"]["locaton"] = misspelt["external"].pop("location")
    assert macros.refusal("_feed_of_source", "m", misspelt) == (
        "m: source shop.orders: external.location is not given; allowed: the folder of the files."
    )


def test_struct_fields(macros: Renderer) -> None:
    fields = (
        "firstName: STRING, `a, ``b`` >`: Decimal(10, 2) NOT NULL,c map<string, array<int>>, d:struct<e: int, f:int>"
    )
    assert macros.render("_struct_fields", f"struct<{fields}>") == [
        {"name": "firstName", "data_type": "string"},
        {"name": "a, `b` >", "data_type": "decimal(10,2)"},
        {"name": "c", "data_type": "map<string,array<int>>"},
        {"name": "d", "data_type": "struct<e: int, f:int>"},
    ]
    refusal = macros.refusal("_struct_fields", "struct<a int comment 'x'>")
    assert refusal.startswith("struct_fields: data_type is \"int comment 'x'\"; allowed: string, ")
    assert macros.refusal("_struct_fields", "struct<a>") == (
        'struct_fields: data_type is "struct<a>"; allowed: struct<name: type, ...> without comments.'
    )


@pytest.mark.parametrize("declared", ["varchar(10)", "time", "array<interval>", "decimal(10,2) unsigned"])
def test_a_type_that_nothing_is_decoded_to_is_refused(macros: Renderer, declared: str) -> None:
    assert macros.refusal("_normal_type", "m", declared).startswith(f'm: data_type is "{declared}"; allowed: string, ')


@pytest.mark.parametrize(
    ("data_type", "defaults", "said"),
    [
        ("string", [None, True, 1.10], "a text, quoted"),
        ("boolean", ["yes", 1], "true or false"),
        ("int", ["AQ==", "1.5", ""], "a whole number"),
        ("tinyint", [128], "a number that tinyint holds"),
        ("bigint", [2**63], "a number that bigint holds"),
        ("decimal(10,2)", ["AJY=", "1.234", "123456789", "", "."], "a number that decimal(10,2) holds"),
        ("double", ["AAA", "1,5"], "a number"),
        ("date", [19844, "2024-13-01"], "a day such as 2024-05-31"),
        ("timestamp", [1714564800000000, "2024-05-31 08:00:00"], "a time with its zone"),
        ("timestamp_ntz", ["CURRENT_TIMESTAMP", "2024-05-31 08:00:00Z"], "a time without a zone"),
        ("binary", ["AQI="], "none, for a column of type binary"),
        ("array<int>", ["[]"], "none, for a column of type array<int>"),
    ],
)
def test_a_default_that_spark_would_not_cast_is_refused(
    macros: Renderer, data_type: str, defaults: list[Any], said: str
) -> None:
    assert macros.render("_default_rule", data_type)["pattern"]
    for default in defaults:
        declared = source(columns={"a": {"name": "a", "data_type": data_type, "meta": {"cdc": {"default": default}}}})
        message = macros.refusal("_feed_columns", "m", declared)
        assert message.startswith("m, column a: meta.cdc.default is "), message
        assert f"allowed: {said}" in message


@pytest.mark.parametrize("name", ["_cdc_position", "_is_deleted"])
def test_a_column_with_a_name_of_this_project_is_refused(macros: Renderer, name: str) -> None:
    taken = source(columns={name: {"name": name, "data_type": "int", "meta": {}}})
    assert macros.refusal("_feed_columns", "m", taken).startswith(
        f'm: name of a column is "{name}"; allowed: a name that'
    )


def test_unsigned_is_for_decimals(macros: Renderer) -> None:
    unsigned = source(columns={"id": {"name": "id", "data_type": "bigint", "meta": {"cdc": {"unsigned": True}}}})
    assert macros.refusal("_feed_columns", "m", unsigned) == (
        'm: data_type of the unsigned column id is "bigint"; allowed: decimal(20,0).'
    )


def test_require_incremental(macros: Renderer) -> None:
    assert macros.does("_require_incremental", "m", "merge") == []
    macros.strategy = "append"
    assert macros.refusal("_require_incremental", "m", "merge") == (
        'm: model stg_shop__orders: incremental_strategy is "append"; allowed: merge, which m sets itself: delete '
        "`incremental_strategy` from the model and from its folder in dbt_project.yml."
    )
    macros.materialized = "table"
    assert 'materialized is "table"; allowed: incremental, which m sets itself: delete `materialized` from ' in (
        macros.refusal("_require_incremental", "m", "merge")
    )


def test_a_threshold_that_nothing_reads_is_refused() -> None:
    refused = shop(cdc={"quarantine": {"warn_above": 1}})
    assert refused.refusal("_feed_of_relation", "m", relation("shop__orders", "bronze")).endswith(
        'meta.cdc.quarantine option is "warn_above"; allowed: fail_above.'
    )


@pytest.mark.parametrize("placeholder", ["", 7, "hex:", "hex:0", "hex:zz", "hex:00 ff", "hex:00ff"])
def test_placeholder_that_is_no_text_is_refused(macros: Renderer, placeholder: object) -> None:
    refused = shop(cdc={"unavailable_value_placeholder": placeholder})
    assert "meta.cdc.unavailable_value_placeholder is " in refused.refusal(
        "_feed_of_relation", "m", relation("shop__orders", "bronze")
    )
    for text in ("hexagon", "hex:5f5fc3bc"):
        macros.render("_require_placeholder", "m", text)


def test_a_flattened_feed_needs_a_prefix() -> None:
    refused = shop(cdc={"shape": "flattened", "add_fields_prefix": ""})
    assert refused.refusal("_feed_of_relation", "m", relation("shop__orders", "bronze")).endswith(
        'meta.cdc.add_fields_prefix is ""; allowed: a text such as `__`.'
    )


def test_require_key(macros: Renderer) -> None:
    assert macros.does("_require_key", "m", feed(key=[])) == []
    assert macros.does("_require_key", "m", feed(key=["id", "note"])) == []
    assert macros.refusal("_require_key", "m", feed(key="id")).startswith('m: meta.cdc.key is "id"; allowed: a list')


def test_feed_of_relation_refuses_what_it_does_not_know() -> None:
    message = shop().refusal("_feed_of_relation", "current_rows", relation("other"))
    assert (
        message
        == 'current_rows: relation is "silver.other"; allowed: a source with meta.cdc, or a model built from one.'
    )


def test_feed_of_node() -> None:
    renderer = shop()
    assert renderer.render("_feed_of_node", "m", renderer.nodes["model.slv"])["name"] == "shop.orders"
    message = renderer.refusal("_feed_of_node", "current_rows", model("dim_day"))
    assert message.startswith('current_rows: model dim_day is "not built from a source"; allowed: ')


def test_generate_schema_name(macros: Renderer) -> None:
    assert macros.render("generate_schema_name", " gold ", None) == "gold"
    assert macros.render("generate_schema_name", None, None) == "silver"


def test_require_threshold(macros: Renderer) -> None:
    for allowed in (0, 3, "5 %", "0.1%", "100 %"):
        assert not macros.sql("_require_threshold", "s", "meta.cdc.quarantine", {"fail_above": allowed})
    rows = "allowed: a number of rows, such as 0"
    for limit in ("many", -1, 1.5, None, "101 %", "%", "-1 %", True):
        message = macros.refusal("_require_threshold", "s", "meta.cdc.quarantine", {"fail_above": limit})
        assert message.startswith("s: meta.cdc.quarantine.fail_above is ")
        assert message.endswith(rows + ', or a share of the latest batch, such as "5 %".')
    assert macros.refusal("_require_threshold", "s", "meta.cdc.unresolved", {"fail_above": "5 %"}).endswith(rows + ".")
    assert [macros.render("_share_of_threshold", limit) for limit in ("2.5 %", 3)] == [2.5, None]
    assert "option is" in macros.refusal("_require_threshold", "s", "meta.cdc.quarantine", {"above": 1})


SHARED: dict[str, Sequence[Mapping[str, Any]]] = {"set alluvium.is_shared": [{"value": "true"}]}


def test_claim_session() -> None:
    """A build takes the session of a server that many share; the next one is refused until it has ended."""
    own = Renderer()
    own.render("claim_session")
    assert own.queries == ["set alluvium.is_shared"]
    free = Renderer(answers=dict(SHARED))
    free.render("claim_session")
    assert free.queries[-1] == f"set alluvium.build = {free.render('_run_id')}"
    taken = Renderer(answers=SHARED | {"set alluvium.build": [{"value": "b1"}]})
    with pytest.raises(
        CompilationError, match=r"another build \(b1\) has the session .*release_session --target local"
    ):
        taken.render("claim_session")
    assert "= " not in taken.queries[-1]
    assert Renderer(which="test", answers=dict(SHARED)).does("claim_session") == []
    # A table that a killed build has left, where no other build may be about to rename it.
    model = SimpleNamespace(resource_type="model", schema="silver", config=SimpleNamespace(materialized="table"))
    mending = Renderer(nodes={"m": model}, selected=["m"], answers=SHARED | {"show tables": []})
    looked = [f"show tables in silver like '*__{word}_*'" for word in ("rebuilt", "replaced")]
    assert mending.does("claim_session")[-3:] == [f"set alluvium.build = {mending.render('_run_id')}", *looked]


def test_release_session() -> None:
    renderer = Renderer(answers=SHARED | {"set alluvium.build": [{"value": "b1"}], "reset": [], "show views": []})
    renderer.render("release_session")
    assert not any(query.startswith("reset") for query in renderer.queries)
    renderer.which = "run-operation"
    renderer.render("release_session")
    assert renderer.queries[-2:] == ["show views", "reset alluvium.build"]
    free = Renderer(answers=SHARED | {"set alluvium.build": [{"value": "<undefined>"}]}, which="run-operation")
    free.render("release_session")
    assert Renderer().does("release_session") == ["set alluvium.is_shared"]


@pytest.mark.parametrize("claim", ["mine", "b1", "<undefined>"])
def test_build_ends_its_own_claim_alone(claim: str) -> None:
    mine = Renderer(answers=SHARED | {"reset": [], "show views": []})
    mine.answers["set alluvium.build"] = [{"value": mine.render("_run_id") if claim == "mine" else claim}]
    mine.render("release_session")
    assert mine.queries[2:] == (["show views", "reset alluvium.build"] if claim == "mine" else [])


def test_hidden_text_is_refused() -> None:
    hidden = "*********(redacted)"
    answers = {
        "set spark.x": [{"value": hidden}],
        "show tblproperties": [{"key": "alluvium.cut_batch", "value": hidden}],
    }
    renderer = Renderer(answers=dict(answers))
    with pytest.raises(CompilationError, match="m: Spark hides the value of n: "):
        renderer.render("_require_shown", "m", "n", hidden)
    with pytest.raises(CompilationError, match="m: Spark hides the value of n: "):
        renderer.render("_text_of_shown", "m", "n", hidden)
    with pytest.raises(CompilationError, match=r"session_setting: Spark hides the value of spark\.x: "):
        renderer.render("_session_setting", "spark.x")
    with pytest.raises(CompilationError, match=r"table_properties: Spark hides the value of \S+orders: cut_batch: "):
        renderer.render("_table_properties", relation("orders"))
    assert [renderer.render("_is_hidden", shown) for shown in (hidden, "a")] == [True, False]
    assert renderer.render("_text_of_shown", "m", "n", 7) == 7  # dbt makes texts of digits numbers


def test_require_name_of_its_own() -> None:
    """dbt's view of the rows that a model writes has no schema."""
    other = model("orders") | {"schema": "gold", "config": {"materialized": "incremental"}}
    nodes = {"model.alluvium.orders": other}
    mine = Renderer(this=relation("Orders"), nodes=nodes)
    refused = mine.refusal("_require_name_of_its_own", "m")
    allowed = "one that no incremental model, or table of Hudi's, has in another schema"
    assert refused.startswith(f'm: model Orders: name of its table is "Orders"; allowed: {allowed}')
    assert "as orders has in gold: dbt would take the rows of the one for the other's" in refused
    with pytest.raises(CompilationError, match="create_table_as: model Orders: name of its table"):
        mine.render("spark__create_table_as", True, relation("Orders"), "select 1")
    assert mine.made == []
    mine.queries.clear()
    assert Renderer(this=relation("items"), nodes=nodes).does("_require_name_of_its_own", "m") == []
    other["config"] = {"materialized": "table", "file_format": "delta"}
    assert mine.does("_require_name_of_its_own", "m") == []
    assert (
        mine.render("_has_view_of_rows", other | {"config": {"materialized": "table", "file_format": "hudi"}}) is True
    )
    unasked = Renderer(this=relation("Orders"), nodes={"model.alluvium.orders": model("orders")}, materialized="table")
    assert unasked.render("spark__create_table_as", False, relation("Orders"), "select 1") == "dbt-spark's own table"
    other |= {"schema": "silver", "config": {"materialized": "incremental"}}
    assert mine.does("_require_name_of_its_own", "m") == []


def test_rows_of_another_build_are_not_replaced() -> None:
    """It has the session; whoever could not claim it stops before the view of its rows is made."""
    lost = Renderer(kind="state", answers=SHARED | {"set alluvium.build": [{"value": "b1"}]})
    for temporary in (True, False):
        with pytest.raises(CompilationError, match="create_table_as: another build has taken the session"):
            lost.render("spark__create_table_as", temporary, relation("orders"), "select 1")
    assert lost.made == []
