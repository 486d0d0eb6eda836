from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from dbt.clients.jinja import get_rendered
from dbt_common.clients._jinja_blocks import BlockTag
from dbt_common.clients.jinja import extract_toplevel_blocks
from sqlfluff.core import FluffConfig, Linter

from alluvium import AlluviumError, cli
from alluvium.inspection import inspect
from alluvium.scaffolding import Choices, plan
from alluvium.scaffolding.yaml_text import EditError, inserted, with_items
from alluvium.templates import scalar

from .project import MODELS, SOURCES, columns_of, document, kinds, landed, model_of, read, scaffolded, table_of

REPOSITORY = Path(__file__).parents[3]


def test_files_of_an_entity(root: Path) -> None:
    scaffold = scaffolded(root, history=True)
    assert set(kinds(scaffold).values()) == {"new"}
    models = {path.removeprefix("models/silver/shop/") for path in kinds(scaffold) if "silver" in path}
    names = ("stg_shop__orders", "qrn_shop__orders", "slv_shop__orders_state", "slv_shop__orders")
    assert models == {*(f"{name}.sql" for name in (*names, "slv_shop__orders_history")), "shop__orders.yml"}
    assert [model["name"] for model in document(root, MODELS)["models"]] == [*names, "slv_shop__orders_history"]
    assert read(root, MODELS).count("doc('shop__orders__note')") == 1, "a column is described once"
    table = table_of(root)
    assert table["external"] == {
        "location": str(root / "landing" / "shop.public.orders"),
        "using": "json",
        "options": {"pathGlobFilter": "shop.public.orders+*"},
    }
    assert table["config"]["meta"]["cdc"] == {"key": ["order_id"]}
    assert [(column["name"], column["data_type"]) for column in table["columns"]] == [
        ("order_id", "bigint"),
        ("note", "string"),
    ]
    (source,) = document(root, SOURCES)["sources"]
    assert source["config"]["meta"]["cdc"] == {"connector": "mysql", "shape": "envelope"}


def test_keys_beside_the_values_are_no_entity(root: Path) -> None:
    """The Confluent sink writes them with store.kafka.keys=true; the listing of a change log passes them over."""
    values = root / "landing" / "shop.public.orders"
    (values / "shop.public.orders+0+0.keys.json").write_text('{"order_id": 1}\n', encoding="utf-8")
    scaffold = scaffolded(root)
    assert table_of(root)["external"]["options"] == {"pathGlobFilter": "shop.public.orders+*"}
    assert len(scaffold.feeds) == 1
    assert set(kinds(scaffolded(root)).values()) == {"same"}


def test_folders_of_the_lenses_sink(root: Path) -> None:
    """Without PARTITIONBY the topic is a folder, the partition one below it, and a file named after its last offset."""
    values = root / "landing" / "shop.public.orders"
    (file,) = values.rglob("*.json")
    (values / "0").mkdir()
    file.rename(values / "0" / "000000000001.json")
    scaffolded(root)
    table = table_of(root)
    assert table["name"] == "orders"
    assert table["external"] == {"location": str(values), "using": "json"}
    (source,) = document(root, SOURCES)["sources"]
    assert (source["config"]["meta"]["cdc"] | table["config"]["meta"]["cdc"])["layout"] == "lenses"


def test_second_time_nothing_is_written(root: Path) -> None:
    scaffolded(root)
    assert set(kinds(scaffolded(root)).values()) == {"same"}


def test_new_entities_and_columns_are_added(root: Path) -> None:
    scaffolded(root)
    own = read(root, SOURCES).replace("            data_type: string\n", "            data_type: string # checked\n")
    (root / "project" / SOURCES).write_text(own, encoding="utf-8")
    landed(root / "landing", "shop.public.items", {"item_id": 1})
    landed(root / "landing", "shop.public.orders", {"order_id": 3, "note": "c", "channel": "web"}, offset=2)
    scaffold = scaffolded(root)
    changed = {path: kind for path, kind in kinds(scaffold).items() if kind not in ("same", "new")}
    assert changed == {
        SOURCES: "added",
        "models/_docs/shop.md": "added",
        MODELS: "added",
    }
    assert "data_type: string # checked" in read(root, SOURCES), "what was edited stays"
    assert [column["name"] for column in table_of(root)["columns"]] == ["order_id", "note", "channel"]
    assert table_of(root, "items")["config"]["meta"]["cdc"]["key"] == ["item_id"]
    assert columns_of(root, "slv_shop__orders")[:4] == ["order_id", "note", "channel", "_cdc_unresolved_columns"]
    assert "{% docs shop__items__item_id %}" in read(root, "models/_docs/shop.md")
    assert set(kinds(scaffolded(root)).values()) == {"same"}


def test_edited_file_is_kept_unless_forced(root: Path) -> None:
    scaffolded(root)
    path = "models/silver/shop/slv_shop__orders_state.sql"
    (root / "project" / path).write_text("-- mine\n", encoding="utf-8")
    (change,) = [change for change in scaffolded(root).changes if change.path == path]
    assert (change.kind, read(root, path)) == ("kept", "-- mine\n")
    assert "--- a/" in change.difference
    assert kinds(scaffolded(root, force=True))[path] == "replaced"
    assert "current_state" in read(root, path)


def test_deletes_and_prefix(root: Path) -> None:
    scaffolded(root, deletes="hard")
    sql = read(root, "models/silver/shop/slv_shop__orders_state.sql")
    assert '"delete_policy": "hard"' in sql
    assert '{{ alluvium.current_state(ref("stg_shop__orders")) }}' in sql
    model = model_of(root, "slv_shop__orders")
    assert list(model["data_tests"][0]) == ["alluvium.unique_combination"]
    (root / "project" / "dbt_project.yml").write_text("name: alluvium\n", encoding="utf-8")
    scaffolded(root, force=True)
    assert "{{ current_state(" in read(root, "models/silver/shop/slv_shop__orders_state.sql")


def test_odd_names(root: Path) -> None:
    columns = {"Order": 1, "order": 2, "a b": "x", "größe: 1": "y", "null": "z", "`q`": "w", "id": 7}
    landed(root / "landing", "shop.public.Größe 2", columns, {**columns, "id": 8})
    scaffolded(root)
    table = table_of(root, "gr_e_2")
    assert [column["name"] for column in table["columns"]] == list(columns)
    docs = read(root, "models/_docs/shop.md")
    named = [column["description"].split("'")[1] for column in table["columns"]]
    assert len(set(named)) == len(columns)
    assert all(f"{{% docs {name} %}}" in docs for name in named)
    assert columns_of(root, "slv_shop__gr_e_2")[: len(columns)] == list(columns)


def test_names_that_look_like_jinja(root: Path) -> None:
    """dbt renders names, and takes descriptions apart: it finds each as the source has it."""
    names = ["{{id}}", "{% enddocs %}", "{# c #}", "it's \\ {{ 'x' }} \"", "{%", "{{", "}}"]
    row = dict.fromkeys(names, "a")
    landed(root / "landing", "shop.public.{{x}}", row | {"{{id}}": 1, "{{": "BNI="}, row | {"{{id}}": 2, "{{": "BNI="})
    scaffolded(root, entities=["{{x}}"])
    table = table_of(root, "x")
    found = [get_rendered(column["name"], {}, native=True) for column in table["columns"]]
    assert found == names
    assert [get_rendered(name, {}, native=True) for name in table["config"]["meta"]["cdc"]["key"]] == ["{{id}}"]
    assert get_rendered(table["external"]["location"], {}, native=True) == str(root / "landing" / "shop.public.{{x}}")
    assert get_rendered(table["description"], {}) == "One row per line of the topic shop.public.{{x}}."
    blocks = extract_toplevel_blocks(read(root, "models/_docs/shop.md"), {"docs"}, collect_raw_data=False)
    described = {
        block.block_name: get_rendered(block.contents or "", {}) for block in blocks if isinstance(block, BlockTag)
    }
    for name, column in zip(names, table["columns"], strict=True):
        assert described[column["description"].split("'")[1]].startswith(f"Column {name} of {{{{x}}}}: ")
    model = model_of(root, "slv_shop__x")
    assert [column["name"] for column in model["columns"]][: len(names)] == [one["name"] for one in table["columns"]]
    assert "key: {{id}}" in get_rendered(model["description"], {})
    again = scaffolded(root, entities=["{{x}}"])
    assert set(kinds(again).values()) == {"same"}
    (question,) = again.feeds[0].open_questions
    assert [get_rendered(name, {}) for name in question.columns] == ["{{"]


def test_name_with_a_line_end_in_a_question(root: Path) -> None:
    landed(root / "landing", "shop.public.odd", {"id": 1, "a\nb": "BNI="}, {"id": 2, "a\nb": "BNI="})
    scaffolded(root, entities=["odd"])
    assert "# Answer before the first build: a b looks like base64" in read(root, SOURCES)
    assert [column["name"] for column in table_of(root, "odd")["columns"]] == ["id", "a\nb"]


def test_names_that_would_meet(root: Path) -> None:
    """A table called like another one's state; three that look alike; and names stay when another one appears."""
    for topic in ("orders_state", "a b", "a.b 2"):
        landed(root / "landing", f"shop.public.{topic}", {"id": 1}, {"id": 2})
    names = {feed.entity.files.topic: feed.name for feed in scaffolded(root).feeds}
    assert names["shop.public.orders"] == "orders"
    assert names["shop.public.orders_state"] == "orders_state_2"
    landed(root / "landing", "shop.public.A B", {"id": 1}, {"id": 2})
    landed(root / "landing", "shop.public.ORDERS", {"id": 1}, {"id": 2})
    again = {feed.entity.files.topic: feed.name for feed in scaffolded(root).feeds}
    assert names.items() <= again.items()
    models = [f"{name}{suffix}" for name in again.values() for suffix in ("", "_state", "_history")]
    assert len(again) == 6
    assert len(set(models)) == len(models)


@pytest.mark.parametrize("name", ["id", "order", "a b"])
def test_key_is_tested_for_nulls_once(root: Path, name: str) -> None:
    landed(root / "landing", "shop.public.keyed", {name: 1, "x": "a"}, {name: 2, "x": "a"})
    scaffolded(root, entities=["keyed"])
    sources = root / "project" / SOURCES
    text = sources.read_text("utf-8")
    if "key:" not in text:
        said = f"        config: {{meta: {{cdc: {{key: [{name}]}}}}}}\n        columns:\n"
        sources.write_text(text.replace("        columns:\n", said), "utf-8")
        scaffolded(root, entities=["keyed"])
    model = model_of(root, "slv_shop__keyed")
    assert model["data_tests"] == [
        {"alluvium.unique_combination": {"arguments": {"columns": [name], "not_null": [name]}}}
    ]
    assert not any("data_tests" in column for column in model["columns"])


def test_what_is_asked_has_no_type(root: Path) -> None:
    landed(root / "landing", "shop.public.orders", {"order_id": 9, "note": "a", "price": "BNI="}, offset=9)
    feed = scaffolded(root).feeds[0]
    assert any(question.startswith("price looks like base64") for question in feed.questions)
    assert "data_type" not in table_of(root)["columns"][2]
    assert "# Answer before the first build: price looks like base64" in read(root, SOURCES)


def test_table_without_a_key(root: Path) -> None:
    landed(root / "landing", "shop.public.log", {"text": "a"}, {"text": "a"})
    scaffolded(root, entities=["log"], history=True)
    assert "key" not in str(table_of(root, "log").get("config", {}))
    assert "data_tests" not in model_of(root, "slv_shop__log"), "its key is not known yet, and either answer holds"
    assert not (root / "project/models/silver/shop/slv_shop__log_history.sql").exists()


def test_files_are_in_the_house_style(root: Path) -> None:
    (root / "project" / "dbt_project.yml").write_text("name: alluvium\n", encoding="utf-8")
    linter = Linter(config=FluffConfig.from_path(str(REPOSITORY)))
    scaffolded(root, history=True)
    for file in sorted((root / "project" / "models").rglob("*.sql")):
        assert linter.lint_string(file.read_text(encoding="utf-8")).get_violations() == [], file


def test_yaml_of_the_samples_has_the_same_columns(root: Path) -> None:
    """The models of the shop were written by hand: what a scaffold says of its own columns is what they say."""
    (root / "project" / "dbt_project.yml").write_text("name: alluvium\n", encoding="utf-8")
    scaffolded(root, history=True)
    ours, theirs = (
        yaml.safe_load((folder / MODELS).read_text("utf-8"))["models"] for folder in (root / "project", REPOSITORY)
    )
    for own, by_hand in zip(ours, theirs, strict=True):
        assert own["name"] == by_hand["name"]
        columns = ([one for one in model["columns"] if one["name"].startswith("_")] for model in (own, by_hand))
        assert next(columns) == next(columns), own["name"]


@pytest.mark.parametrize(
    ("source", "entities", "message"),
    [("Shop", (), "say 'shop'"), ("shop", ("nothing",), "there are: orders"), ("shop", (), "no dbt project")],
)
def test_refusals(root: Path, source: str, entities: tuple[str, ...], message: str) -> None:
    project = root if "dbt" in message else root / "project"
    with pytest.raises(AlluviumError, match=message):
        plan(inspect(str(root / "landing")), source, project, Choices(entities))


def test_command(root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["scaffold", str(root / "landing"), "--source", "shop", "--project-dir", str(root / "project")]
    for more, expected, is_there in ((["--dry-run"], "7 files to write.", False), ([], "7 files written.", True)):
        monkeypatch.setattr("sys.argv", ["alluvium", *arguments, *more])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert not ended.value.code
        assert expected in capsys.readouterr().out
        assert (root / "project" / SOURCES).exists() == is_there


def test_item_is_put_where_it_belongs() -> None:
    text = "a:\n  - name: x # first\n    b: [1]\n\n# about c\nc: 1\n"
    assert inserted(text, ["a"], None, "  - name: y\n") == text.replace("[1]\n", "[1]\n  - name: y\n")
    assert inserted(text, ["a"], "x", "  - name: y\n") == text.replace("  - name: x", "  - name: y\n  - name: x")
    assert inserted("a:\n- name: x", ["a"], None, "- name: y\n") == "a:\n- name: x\n- name: y\n"
    for flow in ("a: [{name: x}]\n", "a: []\n", "b: 1\n"):
        with pytest.raises(EditError):
            inserted(flow, ["a"], None, "  - name: y\n")
    assert inserted("a:\n    - name: x\n", ["a"], None, "\n  - name: y\n") == "a:\n    - name: x\n\n    - name: y\n"


def test_item_takes_the_place_of_another() -> None:
    text = "a:\n- name: x # first\n  b: [1]\n\n# about y\n- name: y\nc: 1\n"
    z = ("  - name: z\n    d: 1\n", {"name": "z", "d": 1})
    assert with_items(text, ["a"], {"x": z}) == text.replace("- name: x # first\n  b: [1]\n", "- name: z\n  d: 1\n")
    assert with_items(text, ["a"], {"y": z}) == text.replace("- name: y\n", "- name: z\n  d: 1\n")
    for path, name in ((["c"], "y"), (["a"], "z")):
        with pytest.raises(EditError):
            with_items(text, [*path], {name: z})
    for other in ("a: [{name: x}]\n", "a:\n  -\n    name: x\n"):
        with pytest.raises(EditError):
            with_items(other, ["a"], {"x": z})


@pytest.mark.parametrize(
    "value", ["null", "yes", "1", "a: b", "#x", "", "`q`", "größe", "a\nb", ["a", "b c"], ["a\nb"], {"a": "1"}, True, 5]
)
def test_scalar_is_read_as_it_was(value: Any) -> None:
    text = scalar(value)
    assert "\n" not in text
    assert yaml.safe_load(f"x: {text}")["x"] == value


def test_topic_of_another_tools_messages_is_named(root: Path) -> None:
    event = {"database": "shop", "table": "items", "type": "insert", "ts": 1, "data": {"id": 1}}
    path = root / "landing" / "shop.public.items" / "shop.public.items+0+0.json"
    path.parent.mkdir()
    path.write_text(json.dumps(event), encoding="utf-8")
    scaffold = scaffolded(root)
    assert [feed.name for feed in scaffold.feeds] == ["orders"]
    assert [(name, "(Maxwell): nothing is written" in notice) for name, notice in scaffold.notices] == [("items", True)]
