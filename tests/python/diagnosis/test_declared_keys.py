"""A key that the project declares is not unknown, whatever the files show; one that is asked about is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from alluvium import AlluviumError, cli
from alluvium.diagnosis import diagnose
from alluvium.inspection import inspect
from alluvium.scaffolding import plan

SOURCES = "models/bronze/shop/_shop__sources.yml"
OTHERS = "version: 2\nsources:\n  - name: other\n    tables: []\n  - name: broken\n    tables: 7\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Bare rows, of which nothing says that their key is the order's number, and a project that has them as a table."""
    folder = tmp_path / "landing" / "shop.public.orders"
    folder.mkdir(parents=True)
    lines = [json.dumps({"order_id": 1, "note": note}) for note in "ab"]
    (folder / "shop.public.orders+0+0.json").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "project" / "models").mkdir(parents=True)
    (tmp_path / "project" / "dbt_project.yml").write_text("name: analytics\n", encoding="utf-8")
    (tmp_path / "project" / "models" / "broken.yml").write_text("sources: {{", encoding="utf-8")
    (tmp_path / "project" / "models" / "others.yaml").write_text(OTHERS, encoding="utf-8")
    plan(inspect(str(tmp_path / "landing")), "shop", tmp_path / "project").write(tmp_path / "project")
    return tmp_path


def declare(root: Path, key: str) -> None:
    file = root / "project" / SOURCES
    text = file.read_text(encoding="utf-8")
    assert "key:" not in text
    file.write_text(
        text.replace("            cdc:\n", f"            cdc:\n              key: {key}\n"), encoding="utf-8"
    )


def is_found(root: Path, project: str | None = "project", folder: str = "landing") -> bool:
    inspection = inspect(str(root / folder))
    return "key-unknown" in {one.code for one in diagnose(inspection, (), root / project if project else None)}


@pytest.mark.parametrize("key", ["[]", "[note]", "[order_id]"])
def test_key_that_is_declared(root: Path, key: str) -> None:
    assert is_found(root)
    declare(root, key)
    assert not is_found(root)
    assert is_found(root, None)
    (root / "landing").rename(root / "moved")
    assert is_found(root, folder="moved"), "these files are no table of it"


def test_folder_that_is_no_project(root: Path) -> None:
    with pytest.raises(AlluviumError, match="is no dbt project"):
        is_found(root, "landing")


@pytest.mark.parametrize("place", ["directory", "option", None])
def test_command(root: Path, place: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    declare(root, "[note]")
    project = str(root / "project")
    monkeypatch.chdir(project if place == "directory" else root)
    more = ["--project-dir", project] if place == "option" else []
    monkeypatch.setattr("sys.argv", ["alluvium", "doctor", str(root / "landing"), *more])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == (3 if place is None else 0)
