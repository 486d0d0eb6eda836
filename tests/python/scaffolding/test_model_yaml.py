"""The YAML of an entity's models: one file, or those that a project has had since before; what people wrote stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from alluvium import AlluviumError
from alluvium.scaffolding.model_yaml import text_of_file, with_models
from alluvium.scaffolding.old_models import with_tests_of_columns
from alluvium.scaffolding.yaml_text import EditError, inserted

from .project import MODELS, SOURCES, columns_of, document, kinds, landed, model_of, read, scaffolded

SILVER = Path("models/silver/shop")
NAMES = ("stg_shop__orders", "qrn_shop__orders", "slv_shop__orders_state", "slv_shop__orders")
HISTORY = "slv_shop__orders_history"


def as_before(model: dict[str, Any]) -> str:
    """The YAML that 0.1 wrote of a model."""
    model = with_tests_of_columns(model)
    lines = ["version: 2", "", "models:", f"  - name: {model['name']}", "    description: >"]
    lines += [f"      {model['description']}", "    data_tests:"]
    for test in model["data_tests"]:
        if isinstance(test, str):
            lines.append(f"      - {test}")
            continue
        ((name, said),) = test.items()
        lines += [f"      - {name}:", "          arguments:"]
        lines += [f"            {argument}: [{', '.join(value)}]" for argument, value in said["arguments"].items()]
    lines.append("    columns:")
    for column in model["columns"]:
        lines += [f"      - name: {column['name']}", f'        description: "{column["description"]}"']
        lines += ["        data_tests: [not_null]"] if "data_tests" in column else []
    return "".join(f"{line}\n" for line in lines)


def scaffolded_before(root: Path) -> dict[str, str]:
    """A project with a YAML beside each model; their texts by path."""
    scaffolded(root)
    texts = {f"{SILVER}/{model['name']}.yml": as_before(model) for model in document(root, MODELS)["models"]}
    (root / "project" / MODELS).unlink()
    for path, text in texts.items():
        (root / "project" / path).write_text(text, encoding="utf-8")
    return texts


def edited(root: Path, path: str, old: str, new: str) -> None:
    text = read(root, path)
    assert text.count(old) == 1
    (root / "project" / path).write_text(text.replace(old, new), encoding="utf-8")


def has_lines_of(text: str, before: str) -> bool:
    """Whether all lines of a text are in another one, in their order."""
    lines = iter(text.splitlines())
    return all(line in lines for line in before.splitlines())


def files(root: Path) -> set[str]:
    return {str(path.relative_to(root / "project")) for path in (root / "project" / SILVER).glob("*.yml")}


def test_yaml_beside_each_model_stays(root: Path) -> None:
    texts = scaffolded_before(root)
    assert set(kinds(scaffolded(root)).values()) == {"same"}
    landed(root / "landing", "shop.public.orders", {"order_id": 3, "note": "c", "channel": "web"}, offset=2)
    changed = {path: kind for path, kind in kinds(scaffolded(root)).items() if kind != "same"}
    with_row = [path for path in texts if "qrn" not in path]
    assert changed == dict.fromkeys([SOURCES, "models/_docs/shop.md", *with_row], "added")
    for name in NAMES:
        assert ("channel" in columns_of(root, name)) == ("qrn" not in name), "and nothing describes it twice"
    assert files(root) == {*texts}
    assert all(has_lines_of(read(root, path), text) for path, text in texts.items())


def test_answer_reaches_yaml_beside_each_model(root: Path) -> None:
    scaffolded_before(root)
    edited(root, SOURCES, "key: [order_id]", "key: [note]")
    again = kinds(scaffolded(root, history=True))
    assert {path for path, kind in again.items() if kind == "replaced"} == {
        f"{SILVER}/slv_shop__orders_state.yml",
        f"{SILVER}/slv_shop__orders.yml",
    }
    assert again[MODELS] == "new", "it has the model that no YAML had"
    assert [model["name"] for model in document(root, MODELS)["models"]] == [HISTORY]
    for name in (*NAMES[2:], HISTORY):
        test = model_of(root, name)["data_tests"][-1 if name != HISTORY else 0]
        assert test["alluvium.unique_combination"]["arguments"]["columns"][0] == "note"
    assert set(kinds(scaffolded(root)).values()) == {"same"}


@pytest.mark.parametrize("is_before", [True, False])
def test_text_of_users_is_kept(root: Path, is_before: bool) -> None:
    """A comment, a test, a property and a description, each in another model; then a column, a key and a history."""
    if is_before:
        scaffolded_before(root)
    else:
        scaffolded(root)
    path = dict(zip(NAMES, [f"{SILVER}/{name}.yml" if is_before else MODELS for name in NAMES], strict=True))
    for name, own in zip(
        NAMES, ("    # mine\n", "    config: {tags: [mine]}\n", "    docs: {show: false}\n", ""), strict=True
    ):
        edited(root, path[name], f"  - name: {name}\n", f"  - name: {name}\n{own}")
    edited(root, path["slv_shop__orders"], "One row per living row of shop.orders", "One row per order (mine)")
    before = {one: read(root, one) for one in files(root)}
    landed(root / "landing", "shop.public.orders", {"order_id": 3, "note": "c", "channel": "web"}, offset=2)
    edited(root, SOURCES, "key: [order_id]", "key: [note]")
    assert "replaced" not in kinds(scaffolded(root, history=True)).values()
    for one, text in before.items():
        assert has_lines_of(read(root, one), text)
    for name in NAMES:
        assert ("channel" in columns_of(root, name)) == ("qrn" not in name)
    assert model_of(root, HISTORY)["columns"][1]["name"] == "note"
    assert set(kinds(scaffolded(root)).values()) == {"same"}


def test_column_has_one_description_in_a_file_that_was_edited(root: Path) -> None:
    scaffolded(root)
    edited(root, MODELS, "version: 2\n", "version: 2 # mine\n")
    landed(root / "landing", "shop.public.orders", {"order_id": 3, "note": "c", "channel": "web"}, offset=2)
    assert kinds(scaffolded(root))[MODELS] == "added"
    assert read(root, MODELS).count("doc('shop__orders__channel')") == 1
    assert "*channel," in read(root, MODELS)


def test_key_that_is_gone(root: Path) -> None:
    """The history stays described, though what it shared with the state is not there any more."""
    scaffolded(root, history=True)
    history = model_of(root, HISTORY)
    edited(root, SOURCES, "key: [order_id]", "key: []")
    assert kinds(scaffolded(root))[MODELS] == "replaced"
    assert model_of(root, HISTORY) == history
    assert "_cdc_row_hash" in columns_of(root, "slv_shop__orders_state")


def test_key_that_is_gone_from_a_file_with_comments(root: Path) -> None:
    """It would have to be written anew, without them."""
    scaffolded(root, history=True)
    edited(root, MODELS, "version: 2\n", "version: 2 # mine\n")
    edited(root, SOURCES, "key: [order_id]", "key: []")
    before = read(root, MODELS)
    assert kinds(scaffolded(root))[MODELS] == "kept"
    assert read(root, MODELS) == before


@pytest.mark.parametrize("force", [False, True])
def test_no_model_is_described_twice(root: Path, force: bool) -> None:
    """Where a YAML cannot be read that may describe it, none is written: dbt refuses two of one model."""
    texts = scaffolded_before(root)
    path = f"{SILVER}/{NAMES[0]}.yml"
    (root / "project" / path).write_text(f"{texts[path]}  - [", encoding="utf-8")
    with pytest.raises(AlluviumError, match=rf"{NAMES[0]}\.yml, line"):
        scaffolded(root, force=force)
    assert files(root) == {*texts}
    (root / "project" / path).write_text(texts[path], encoding="utf-8")
    scaffolded(root, force=force)
    assert files(root) == {*texts}


def test_file_is_as_it_would_be_written_anew(root: Path) -> None:
    landed(root / "landing", "shop.public.items", {"id": 1, "order#": 2}, {"id": 2, "order#": 2})
    scaffolded(root, history=True)
    for entity in ("orders", "items"):
        text = read(root, f"{SILVER}/shop__{entity}.yml")
        assert max(map(len, text.splitlines())) <= 120
        assert text_of_file(yaml.safe_load(text)["models"]) == text
    edited(root, SOURCES, "key: [id]", "key: [id, order#]")
    assert kinds(scaffolded(root))[f"{SILVER}/shop__items.yml"] == "replaced", "its name begins no comment"


def test_anchors_of_names_that_look_alike() -> None:
    columns = [{"name": name, "description": name} for name in ("a b", "a-b", "a_b")]
    models = [{"name": name, "description": "x", "columns": columns} for name in ("one", "two")]
    text = text_of_file(models)
    assert yaml.safe_load(text)["models"] == models
    assert "columns: [\n      *a_b, *a_b_2, *a_b_3]\n" in text


def test_item_is_put_into_a_list_in_brackets() -> None:
    text = "x: &x {name: x}\na: [*x, {<<: *x, name: y},\n  {name: z}] # mine\n"
    new = {"name": "n"}
    for before, old, expected in (
        ("x", "[*x", "[{name: n}, *x"),
        ("y", "{<<: *x", "{name: n}, {<<: *x"),
        ("z", "  {name: z}", "  {name: n},\n  {name: z}"),
        (None, "{name: z}", "{name: z}, {name: n}"),
    ):
        assert inserted(text, ["a"], before, "- {name: n}\n", new) == text.replace(old, expected)
    assert inserted(text, ["a"], None, "- *x\n", {"name": "x"}) == text.replace("{name: z}", "{name: z}, *x")
    for item, value in (("- *y\n", new), ("- {name: m}\n", new)):
        with pytest.raises(EditError):
            inserted(text, ["a"], None, item, value)


def test_models_that_share_a_list() -> None:
    text = "models:\n- name: a\n  columns: &all [{name: x}] # mine\n- name: b\n  columns: *all\n"
    columns = [{"name": "x"}, {"name": "y", "description": "d"}]
    models = {name: {"name": name, "description": "", "columns": columns} for name in ("a", "b")}
    added = with_models(text, models, may_be_rewritten=False)
    assert added == text.replace("{name: x}", '{name: x}, &y {name: y, description: "d"}')
