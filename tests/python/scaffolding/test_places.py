"""Files that people have moved, renamed, put together or indented anew: they are found by names, as dbt does."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from alluvium import AlluviumError
from alluvium.scaffolding import Scaffold
from alluvium.scaffolding.report import print_scaffold

from .project import SOURCES, columns_of, document, kinds, landed, read, scaffolded, table_of

SILVER = "models/silver/shop"


def written(root: Path, path: str, content: Any) -> None:
    text = content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False)
    (root / "project" / path).write_text(text, encoding="utf-8")


def more_landed(root: Path) -> None:
    landed(root / "landing", "shop.public.orders", {"order_id": 3, "note": "c", "channel": "web"}, offset=2)
    landed(root / "landing", "shop.public.items", {"item_id": 1})


def changed(scaffold: Scaffold) -> dict[str, str]:
    return {path: kind for path, kind in kinds(scaffold).items() if kind != "same"}


def put_together(root: Path) -> str:
    """The YAML of all models in one file; its path."""
    files = sorted((root / "project" / SILVER).glob("*.yml"))
    models = [model for file in files for model in yaml.safe_load(file.read_text(encoding="utf-8"))["models"]]
    for file in files:
        file.unlink()
    written(root, f"{SILVER}/_models.yml", {"models": models})
    return f"{SILVER}/_models.yml"


def printed(scaffold: Scaffold) -> str:
    console = Console(width=1000, file=io.StringIO(), record=True)
    print_scaffold(console, scaffold, is_dry=True)
    return console.export_text()


def test_yaml_that_was_indented_anew(root: Path) -> None:
    scaffolded(root)
    files = [path for path in kinds(scaffolded(root)) if path.endswith(".yml")]
    for path in files:
        written(root, path, document(root, path))
    assert "\n- name: shop\n" in read(root, SOURCES)
    more_landed(root)
    kept = read(root, SOURCES)
    assert kinds(scaffolded(root))[SOURCES] == "added"
    assert all(line in read(root, SOURCES).splitlines() for line in kept.splitlines())
    assert [column["name"] for column in table_of(root)["columns"]] == ["order_id", "note", "channel"]
    assert table_of(root, "items")["config"]["meta"]["cdc"]["key"] == ["item_id"]
    assert columns_of(root, "slv_shop__orders")[2] == "channel"
    assert set(kinds(scaffolded(root)).values()) == {"same"}


@pytest.mark.parametrize("force", [False, True])
def test_table_that_the_sources_cannot_take(root: Path, force: bool) -> None:
    """Models of a table that no source has would stop dbt."""
    scaffolded(root)
    (source,) = document(root, SOURCES)["sources"]
    written(root, SOURCES, f"sources:\n  - name: shop\n    tables: {source['tables']}\n")
    before = read(root, SOURCES)
    more_landed(root)
    scaffold = scaffolded(root, force=force)
    assert ("items" in str([path for path in kinds(scaffold) if SILVER in path])) == force
    assert ([name for name, _ in scaffold.notices] == ["items"]) != force
    if not force:
        assert read(root, SOURCES) == before
        assert "items" not in read(root, "models/_docs/shop.md")
        assert "nothing is written for it: put the table's lines of the difference there by hand" in printed(scaffold)
        assert "+      - name: items" in scaffold.changes[0].difference


def test_comments_are_named_where_some_stand(root: Path) -> None:
    landed(root / "landing", "shop.public.orders", {"order_id": 9, "note": "a", "price": "BNI="}, offset=9)
    assert "2 questions: answer where the comments stand in models" in printed(scaffolded(root))
    written(root, SOURCES, document(root, SOURCES))
    assert "1 question: answer in models/bronze" in printed(scaffolded(root))


def test_files_that_were_moved(root: Path) -> None:
    scaffolded(root, history=True)
    project = root / "project"
    (project / "models/docs").mkdir()
    (project / SILVER).rename(project / "models/orders")
    (project / "models/_docs/shop.md").rename(project / "models/docs/columns.md")
    (project / SOURCES).rename(project / "models/sources.yaml")
    (project / "models/orders/shop__orders.yml").rename(project / "models/rows.yml")
    assert set(kinds(scaffolded(root)).values()) == {"same"}
    more_landed(root)
    found = changed(scaffolded(root))
    assert {path: kind for path, kind in found.items() if kind != "new"} == {
        "models/sources.yaml": "added",
        "models/docs/columns.md": "added",
        "models/rows.yml": "added",
    }
    assert {path.partition("shop__")[2][:5] for path, kind in found.items() if kind == "new"} == {"items"}


def test_models_in_one_yaml(root: Path) -> None:
    """One file gets what all models add; and of what is replaced there each model has its own lines alone."""
    scaffolded(root)
    path = put_together(root)
    written(root, path, f"{read(root, path)}- name: mine\n  description: x\n")
    assert set(kinds(scaffolded(root)).values()) == {"same"}
    more_landed(root)
    assert changed(scaffolded(root, entities=["orders"])) == {
        SOURCES: "added",
        "models/_docs/shop.md": "added",
        path: "added",
    }
    models = {model["name"]: model for model in document(root, path)["models"]}
    for name in ("stg_shop__orders", "slv_shop__orders_state", "slv_shop__orders"):
        assert [column["name"] for column in models[name]["columns"]][:3] == ["order_id", "note", "channel"]
    written(root, path, read(root, path).replace("description: x", "description: y # mine"))
    written(root, SOURCES, re.sub(r"key: \[order_id\]", "key: [note]", read(root, SOURCES)))
    scaffolded(root, entities=["orders"], force=True)
    again = {model["name"]: model for model in document(root, path)["models"]}
    assert list(again) == list(models)
    assert "description: y # mine\n" in read(root, path)
    assert again["slv_shop__orders"]["data_tests"][0]["alluvium.unique_combination"]["arguments"]["columns"] == ["note"]
    assert set(kinds(scaffolded(root)).values()) == {"same"} | {"new", "added"}, "items are new now"


def test_another_key_in_one_yaml(root: Path) -> None:
    scaffolded(root)
    path = put_together(root)
    written(root, SOURCES, read(root, SOURCES).replace("key: [order_id]", "key: [note]"))
    scaffolded(root, force=True)
    written(root, SOURCES, read(root, SOURCES).replace("key: [note]", "key: [order_id]"))
    assert changed(scaffolded(root)) == {path: "replaced"}, "its lines are as this command wrote them"


def test_other_sources_of_a_file_stay(root: Path) -> None:
    scaffolded(root)
    other = "  - name: other\n    tables:\n      - name: t # mine\nexposures: []\n"
    written(root, SOURCES, read(root, SOURCES) + other)
    assert set(kinds(scaffolded(root)).values()) == {"same"}
    written(root, SOURCES, read(root, SOURCES).replace("using: json", "using: avro"))
    assert kinds(scaffolded(root, force=True))[SOURCES] == "replaced"
    assert read(root, SOURCES).endswith(other)
    assert document(root, SOURCES)["sources"][0]["tables"][0]["external"]["using"] == "json"


def test_descriptions_of_others_stay(root: Path) -> None:
    scaffolded(root)
    path = "models/_docs/shop.md"
    written(root, path, f"{read(root, path)}\n{{% docs other %}}x{{% enddocs %}}\n")
    assert kinds(scaffolded(root, force=True))[path] == "same"


def test_source_in_two_files(root: Path) -> None:
    scaffolded(root)
    written(root, "models/more.yml", {"sources": [{"name": "shop", "tables": [{"name": "x"}]}]})
    with pytest.raises(AlluviumError, match=r"declared in .*_shop__sources.yml and in models/more.yml: put all of its"):
        scaffolded(root)


@pytest.mark.parametrize("content", ["sources: [ # shop\n", "sources:\n  - {name: shop\n"])
def test_yaml_that_may_have_the_source(root: Path, content: str) -> None:
    scaffolded(root)
    (root / "project" / SOURCES).unlink()
    written(root, "models/more.yml", content)
    with pytest.raises(AlluviumError, match=r"more\.yml, line"):
        scaffolded(root)
    written(root, "models/more.yml", "models: [ # of another\n")
    assert kinds(scaffolded(root))[SOURCES] == "new", "it has no source of the name"
