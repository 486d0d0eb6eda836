from __future__ import annotations

import json

import pytest

from .harness import Renderer

STRATEGIES = {
    "append": "get_insert_into_sql",
    "insert_overwrite": "get_insert_overwrite_sql",
    "merge": "spark__get_merge_sql",
}


@pytest.mark.parametrize(("strategy", "name"), STRATEGIES.items())
def test_require_strategy(strategy: str, name: str) -> None:
    refresh = {"should_full_refresh": ["should_full_refresh"]}
    passed_on = {name: ["something", name]}
    for asked in (None, refresh | passed_on, refresh | {name.removeprefix("spark__"): [name]}):
        Renderer(root_macros=asked).render("_require_strategy", "m", strategy)
    others: dict[str, tuple[dict[str, list[str]], ...]] = {
        f"incremental_strategy {strategy}": (
            {},
            {name: []},
            {name: ["another"]},
            {"get_merge_sql": [], "spark__get_merge_sql": []},
        ),
        "a full refresh": (passed_on, passed_on | {"should_full_refresh": []}),
    }
    for purpose, other in ((purpose, other) for purpose, several in others.items() for other in several):
        said = Renderer(root_macros=other).refusal("_require_strategy", "m", strategy)
        assert said.startswith(f"m: model stg_shop__orders: macro behind {purpose} is ")
        assert "docs/guide/use-as-package.md" in said
        Renderer(root_macros=other, execute=False).render("_require_strategy", "m", strategy)


def test_require_passed_on() -> None:
    macros = Renderer(root_macros={"get_insert_into_sql": ["get_insert_into_sql"]})
    passed_on = macros.render("_macro_of_strategy", "get_insert_into_sql")
    macros.render("_require_passed_on", "m", "inserts", "get_insert_into_sql", passed_on)
    said = macros.refusal("_require_passed_on", "m", "inserts", "another", passed_on)
    assert said.startswith('m: model stg_shop__orders: macro behind inserts is "macro.theirs.get_insert_into_sql"')


def test_macro_of_strategy() -> None:
    assert Renderer().render("_macro_of_strategy", "spark__get_merge_sql").unique_id == (
        "macro.alluvium.spark__get_merge_sql"
    )
    without = Renderer(root_macros={})
    assert (
        without.render("_macro_of_strategy", "get_insert_into_sql").unique_id == "macro.dbt_spark.get_insert_into_sql"
    )
    plain = Renderer(root_macros={"get_merge_sql": ["x"]}).render("_macro_of_strategy", "spark__get_merge_sql")
    assert (plain.unique_id, plain.depends_on.macros) == ("macro.theirs.get_merge_sql", ["macro.alluvium.x"])


def test_refuse_own_models() -> None:
    nodes = {
        f"model.{package}.m": {"resource_type": "model", "package_name": package, "name": "m"}
        for package in ("alluvium", "theirs")
    }
    Renderer(nodes=nodes).render("_require_no_own_models")
    assert "none: install the folder" in Renderer(nodes=nodes, project_name="theirs").refusal("_require_no_own_models")
    del nodes["model.alluvium.m"]
    Renderer(nodes=nodes, project_name="theirs").render("_require_no_own_models")


def test_require_distinct_names() -> None:
    columns = [{"name": name} for name in ("Order", "id", "order")]
    said = Renderer().refusal("_require_distinct_names", "m: source s.t", {"columns": columns})
    assert said.startswith('m: source s.t: name of a column is "order"; allowed: names that differ in more than case')
    Renderer().render("_require_distinct_names", "m", {"columns": columns[:2]})


@pytest.mark.parametrize("end", "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", ids=ascii)
def test_names_with_the_end_of_a_line_are_refused(end: str) -> None:
    """SQL is indented, which would make another name of it."""
    for name, data_type in ((f"a{end}b", "string"), (f"a{end}", "string"), ("a", f"struct<`b{end}`:string>")):
        columns = [{"name": name, "data_type": data_type}]
        said = Renderer().refusal("_require_distinct_names", "m: source s.t", {"columns": columns})
        assert f"is {json.dumps(name)}; allowed: a name that does not begin with `#` and has no character that" in said


def test_models_that_keep_rows_have_delta() -> None:
    said = Renderer(file_format="parquet").refusal("_require_incremental", "m", "merge")
    assert said == 'm: model stg_shop__orders: file_format is "parquet"; allowed: delta, hudi.'
