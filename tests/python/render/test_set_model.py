"""What a macro makes of its model while dbt parses it, and what the names of 0.1 still do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from dbt_common.contracts.config.base import merge_config_dicts

from .feeds import shop
from .harness import Renderer, relation

SOURCE = relation("shop__orders", "bronze")
LOG, STATE = relation("stg_shop__orders"), relation("slv_shop__orders_state")
APPENDED = {"materialized": "incremental", "incremental_strategy": "append", "file_format": "delta"}
MERGED = {
    "materialized": "incremental",
    "incremental_strategy": "merge",
    "post-hook": ["{{ alluvium.record_applied_batches() }}"],
}
# Of each macro that is the body of a model: what it is given, what the model is then, and with which settings.
MODELS: dict[str, tuple[list[Any], str, Mapping[str, Any]]] = {
    "change_log": ([SOURCE], "change_log", APPENDED | {"post-hook": ["{{ alluvium.record_applied_files() }}"]}),
    "complete_transactions": (
        [LOG, relation("stg_shop__transaction_status")],
        "complete_change_log",
        APPENDED | {"post-hook": ["{{ alluvium.record_cut() }}"]},
    ),
    "transaction_status": ([LOG, [LOG]], "transaction_status", MERGED | {"unique_key": "transaction_id"}),
    "current_state": ([LOG], "state", MERGED),
    "history": ([LOG], "history", MERGED),
    # Views, as dbt makes any model; what their YAML says wins then.
    "current_rows": ([STATE], "current_rows", {}),
    "rejected_rows": ([LOG], "rejected_rows", {}),
}
OLD = {
    "decode_debezium": ("change_log", SOURCE),
    "decode_rows": ("change_log", SOURCE),
    "living_rows": ("current_rows", STATE),
    "scd2_from_changes": ("history", LOG),
}


def parsing(**given: Any) -> Renderer:
    """A renderer as dbt parses, of a model that has these settings, or whose folder has."""
    return Renderer(execute=False, given=given)


def added(renderer: Renderer) -> dict[str, Any]:
    """What the macros have set, as dbt puts calls of config() together."""
    together: dict[str, Any] = {"pre-hook": [], "post-hook": []}
    for call in renderer.settings:
        merge_config_dicts(together, call)
    return {name: value for name, value in together.items() if value != []}


@pytest.mark.parametrize("name", MODELS)
def test_model_is_one_call(name: str) -> None:
    arguments, kind, settings = MODELS[name]
    renderer = parsing()
    sql = renderer.sql(name, *arguments)
    assert sql == "select 1 as not_compiled" or name == "rejected_rows"
    assert added(renderer) == {**settings, "meta": {"alluvium_model": kind}}


def test_every_kind_has_its_macro(macros: Renderer) -> None:
    assert macros.render("_kinds_of_models").keys() == {kind for _, kind, _ in MODELS.values()} | {"incremental_mart"}


@pytest.mark.parametrize("name", ["current_rows", "rejected_rows"])
@pytest.mark.parametrize(
    ("resource_type", "given"), [("test", {}), ("snapshot", {}), ("model", {"meta": {"alluvium_model": "mart"}})]
)
def test_what_calls_the_macro_of_a_view_stays_what_it_is(name: str, resource_type: str, given: dict[str, Any]) -> None:
    renderer = parsing(**given)
    renderer.resource_type = resource_type
    renderer.render(name, STATE)
    assert added(renderer) == {}


@pytest.mark.parametrize(
    "name", ["change_log", "complete_transactions", "transaction_status", "current_state", "history"]
)
@pytest.mark.parametrize("kind", [None, "mart"])
def test_call_that_dbt_does_not_see_while_it_parses_is_refused(name: str, kind: str | None) -> None:
    """The model's settings make it incremental, as those of 0.1 did: nothing else would tell."""
    renderer = shop()
    renderer.kind = kind
    arguments, _, settings = MODELS[name]
    renderer.strategy = settings["incremental_strategy"]
    refusal = renderer.refusal(name, *arguments)
    assert refusal.startswith(f"{name}: model stg_shop__orders calls it where dbt does not see it while it parses. ")


def test_second_call_that_makes_a_model_is_refused() -> None:
    refusal = parsing(meta={"alluvium_model": "state"}).refusal("history", LOG)
    assert refusal == (
        "model stg_shop__orders calls two macros that each make a model (state, history). Write two models."
    )


@pytest.mark.parametrize(
    ("name", "argument", "given", "said"),
    [
        ("change_log", "source_relation", LOG, '"silver.stg_shop__orders, a change log"; allowed: source(...).'),
        (
            "current_state",
            "change_log",
            SOURCE,
            '"bronze.shop__orders, a source"; allowed: ref(...) of a change log or',
        ),
        ("history", "change_log", STATE, '"silver.slv_shop__orders_state, a state"; allowed: ref(...) of a change log'),
        ("current_rows", "state", LOG, '"silver.stg_shop__orders, a change log"; allowed: ref(...) of a state.'),
        ("rejected_rows", "change_log", "stg_shop__orders", '"stg_shop__orders"; allowed: ref(...) of a change log or'),
        (
            "rejected_rows",
            "change_log",
            STATE,
            '"silver.slv_shop__orders_state, a state"; allowed: ref(...) of a change',
        ),
    ],
)
def test_input_of_another_kind_is_refused(name: str, argument: str, given: object, said: str) -> None:
    renderer = shop()
    renderer.kind = MODELS[name][1]
    renderer.strategy = MODELS[name][2].get("incremental_strategy", "append")
    refusal = renderer.refusal(name, given)
    assert refusal.startswith(f"{name}: model stg_shop__orders: {argument} is {said}")
    assert renderer.queries == []


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    ("option", "more"), [("delete_polcy", ""), ("quarantine", "; this one is said in the source's YAML")]
)
def test_option_that_no_model_has_is_refused(name: str, option: str, more: str) -> None:
    renderer = shop()
    arguments, renderer.kind, settings = MODELS[name]
    renderer.strategy = settings.get("incremental_strategy", "append")
    renderer.meta = {"cdc": {option: "hard"}}
    assert renderer.refusal(name, *arguments) == (
        f'{name}: model stg_shop__orders: an option in meta.cdc of the model or its folder is "{option}"; '
        f"allowed: delete_policy, empty_partition_value{more}."
    )


@pytest.mark.parametrize(
    ("compiled", "is_refused"),
    [
        ("-- mine\n%s;\n/* x\n */", False),
        ("%s\nwhere id = 1", True),
        ("with s as (%s) select * from s", True),
        ("select 1", True),
    ],
)
def test_call_is_the_whole_body(compiled: str, is_refused: bool) -> None:
    renderer = shop()
    renderer.kind = "state"
    body = renderer.render("_whole_body", "select id from log")
    if not is_refused:
        assert renderer.does("_require_whole_body", compiled % body) == []
        return
    refusal = renderer.refusal("_require_whole_body", compiled % body if "%s" in compiled else compiled)
    assert refusal.startswith("model stg_shop__orders: SQL around the call that makes it a state is ")
    # A view is another one's part as well.
    renderer.kind = "current_rows"
    assert renderer.does("_require_whole_body", "select id from log where id = 1") == []


def test_view_that_would_append_itself_in_each_run_is_refused() -> None:
    renderer = shop()
    renderer.kind = "rejected_rows"
    body = renderer.render("_whole_body", "select id from log")
    renderer.materialized = "table"
    assert renderer.does("_require_whole_body", body) == []
    renderer.materialized = "incremental"
    assert 'materialized is "incremental"; allowed: view' in renderer.refusal("_require_whole_body", body)


def test_rejected_rows_sets_nothing_when_it_runs(macros: Renderer) -> None:
    assert f"from {LOG}" in macros.sql("rejected_rows", LOG)
    assert macros.settings == []


@pytest.mark.parametrize("kind", Renderer().render("_kinds_of_models"))
def test_what_is_given_stays(kind: str) -> None:
    given = {
        "materialized": "table",
        "incremental_strategy": "insert_overwrite",
        "unique_key": "id",
        "file_format": "hudi",
        "meta": {"cdc": {"delete_policy": "hard"}, "owner": "me"},
        "post-hook": ["{{ alluvium.record_applied_batches() }}", "{{alluvium.record_cut()}}", "grant all"],
    }
    renderer = parsing(**given)
    renderer.does("_set_model", kind)
    set_now = added(renderer)
    # Beside the user's own: dbt would take a `cdc` from here in place of theirs.
    assert set_now.pop("meta") == {"alluvium_model": kind}
    # A run asks a log for its newest batch, which Delta answers without reading rows.
    assert set_now.pop("file_format", None) == ("delta" if kind.endswith("change_log") else None)
    hooks = {
        "change_log": ["{{ alluvium.record_applied_files() }}"],
        "complete_change_log": ["{{ alluvium.record_cut() }}"],
    }
    assert set_now == ({"post-hook": hooks[kind]} if kind in hooks else {})


@pytest.mark.parametrize(
    ("given", "is_set"),
    [
        (None, True),
        ([], True),
        ("{{ alluvium.record_applied_batches() }}", False),
        (["grant all", "{{ alluvium.record_applied_batches() }}"], False),
        ([{"sql": "{{ alluvium.record_applied_batches() }}", "transaction": True}], False),
        ("{{ alluvium.record_applied_files() }}", True),
        ("grant all", True),
    ],
)
def test_hook_that_is_given_is_not_set_again(given: object, is_set: bool) -> None:
    renderer = parsing(**({} if given is None else {"post-hook": given}))
    renderer.does("_set_model", "state")
    assert ("post-hook" in added(renderer)) is is_set


MARTS = {
    "meta": {"alluvium_model": "mart"},
    "materialized": "incremental",
    "incremental_strategy": "insert_overwrite",
    "pre-hook": ["{{ alluvium.note_inputs() }}"],
    "post-hook": ["{{ alluvium.record_inputs() }}"],
}


@pytest.mark.parametrize("given", [MARTS, {**MARTS, "unique_key": ["other"], "materialized": "table"}, {}])
def test_incremental_mart(given: dict[str, Any]) -> None:
    """It is one in the folder of marts that are computed whole, too."""
    renderer = parsing(**given)
    arguments: dict[str, Any] = {"deleted_with": "slv_shop__orders_state", "delete_where": "note = 'x'"}
    assert renderer.sql("incremental_mart", ["id", "a b"], **arguments) == ""
    # dbt learns what the hook reads.
    assert renderer.refs == ["slv_shop__orders_state"]
    assert added(renderer) == {
        "materialized": "incremental",
        "incremental_strategy": "merge",
        "unique_key": ["id", "a b"],
        "pre-hook": ['{{ alluvium.delete_vanished_keys(ref(\'slv_shop__orders_state\'), ["id", "a b"]) }}'],
        # Noted as applied when all is done.
        "post-hook": ["delete from {{ this }} where note = 'x'", "{{ alluvium.record_applied_batches() }}"],
        "meta": {"alluvium_model": "incremental_mart"},
    }


def test_incremental_mart_by_one_column() -> None:
    renderer = parsing()
    assert renderer.sql("incremental_mart", "id") == ""
    assert renderer.refs == []
    assert added(renderer) == {**MERGED, "unique_key": ["id"], "meta": {"alluvium_model": "incremental_mart"}}
    # Other settings outside of the folder of marts.
    other = parsing(incremental_strategy="append", meta={"alluvium_model": "other"})
    other.render("incremental_mart", "id")
    assert "incremental_strategy" not in added(other)


def test_incremental_mart_does_nothing_when_it_runs(macros: Renderer) -> None:
    assert macros.render("incremental_mart", ["id"], deleted_with="slv_shop__orders_state") == ""
    assert (macros.settings, macros.refs, macros.queries) == ([], [], [])


def test_incremental_mart_refuses_a_relation_for_the_name_of_a_state() -> None:
    assert "deleted_with is " in parsing().refusal("incremental_mart", "id", deleted_with=STATE)


@pytest.mark.parametrize("key", [[], None, "", ["id", ""]])
def test_incremental_mart_refuses_no_key(key: object) -> None:
    refusal = parsing().refusal("incremental_mart", key)
    assert refusal.startswith("incremental_mart: model stg_shop__orders: unique_key is ")
    assert refusal.endswith("; allowed: the columns that tell its rows apart.")


@pytest.mark.parametrize("old", OLD)
def test_old_name_is_the_new_macro(old: str) -> None:
    new, read = OLD[old]
    options = {"track_history_except_column_list": ["note"], "collapse_unchanged": False} if new == "history" else {}

    def compiled(name: str) -> tuple[str, list[str]]:
        renderer = shop()
        renderer.which, renderer.incremental = "compile", False
        renderer.strategy = "append" if new == "change_log" else "merge"
        renderer.parents = ["model.stg"]
        return renderer.sql(name, read, **options), renderer.warnings

    (sql, warnings), (wanted, none) = compiled(old), compiled(new)
    assert sql == wanted != ""
    assert none == []
    assert warnings == [
        f"stg_shop__orders: {old} is called {new} now, and the model needs no config() for it; the old name goes in 0.3"
    ]
    was, now = parsing(), parsing()
    assert was.sql(old, read) == now.sql(new, read)
    assert added(was) == added(now) != {}
    assert was.warnings == []


def test_kind_of_model(macros: Renderer) -> None:
    def node(kind: str | None) -> dict[str, Any]:
        return {"config": {"meta": {"alluvium_model": kind} if kind else None}}

    kinds = [*macros.render("_kinds_of_models"), "mart", None]
    assert [macros.render("_kind_of_model", node(kind)) or None for kind in kinds] == kinds

    def those(name: str) -> set[str | None]:
        return {kind for kind in kinds if macros.render(name, node(kind))}

    logs = {"change_log", "complete_change_log"}
    assert those("_is_change_log") == {"change_log"}
    assert those("_is_log") == logs
    assert those("_is_state") == {"state"}
    assert those("_is_history") == {"history"}
    assert those("_is_kept_by_key") == {"state", "history"}
    assert those("_reads_own_log") == {"state", "history", "complete_change_log"}
    assert those("_is_merged_from_batches") == {"state", "history", "transaction_status", "incremental_mart"}
