"""The archive of a project."""

from __future__ import annotations

import os
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from alluvium import AlluviumError
from alluvium.emr import project as projects
from alluvium.emr.project import archive, check_wheel, files

from .test_template import REPOSITORY


def project(directory: Path) -> Path:
    for name, text in {
        "dbt_project.yml": "name: shop\n",
        "profiles.yml": "shop: {}\n",
        "models/silver/orders.sql": "select 1\n",
        "macros/one.sql": "",
        "tests/generic/whole.sql": "",
        "tests/none_lost.sql": "",
        "tests/python/test_orders.py": "",
        "target/manifest.json": "{}",
        "models/__pycache__/x.pyc": "",
    }.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text, encoding="utf-8")
    return directory


def wheel(path: Path, text: str = "") -> Path:
    """A wheel with the repository's lock files, as its own has."""
    with zipfile.ZipFile(path, "w") as written:
        written.writestr("alluvium/__init__.py", text)
        for name in projects.LOCKS:
            written.writestr(name, (REPOSITORY / name).read_bytes())
    return path


def test_archive_has_what_a_build_needs(tmp_path: Path) -> None:
    found = files(project(tmp_path))
    with zipfile.ZipFile(BytesIO(archive(found))) as read:
        assert read.namelist() == [
            "dbt_project.yml",
            "macros/one.sql",
            "models/silver/orders.sql",
            "profiles.yml",
            "tests/generic/whole.sql",
            "tests/none_lost.sql",
        ]
        assert read.read("models/silver/orders.sql") == b"select 1\n"


def test_equal_files_make_equal_archives(tmp_path: Path) -> None:
    first, second = project(tmp_path / "first"), project(tmp_path / "second")
    for path in second.rglob("*"):
        os.utime(path, (1, 1))
        path.chmod(0o700)
    assert archive(files(first)) == archive(files(second))
    (second / "models" / "silver" / "orders.sql").write_text("select 2\n", encoding="utf-8")
    assert archive(files(first)) != archive(files(second))


def test_directories_are_those_of_the_project(tmp_path: Path) -> None:
    project(tmp_path)
    (tmp_path / "dbt_project.yml").write_text("model-paths: [sql]\ntest-paths: []\n", encoding="utf-8")
    (tmp_path / "sql").mkdir()
    (tmp_path / "sql" / "customers.sql").write_text("", encoding="utf-8")
    assert list(files(tmp_path)) == ["dbt_project.yml", "macros/one.sql", "profiles.yml", "sql/customers.sql"]


def test_wheel_has_the_lock_files(tmp_path: Path) -> None:
    check_wheel(wheel(tmp_path / "alluvium-0.1.0-py3-none-any.whl"))
    for name, text in {
        "other.zip": "is no wheel",
        "empty.whl": "cannot be read",
        "theirs.whl": "has no alluvium/emr",
    }.items():
        (tmp_path / name).write_bytes(b"")
        if name == "theirs.whl":
            (tmp_path / name).write_bytes(archive({"shop.py": Path(__file__)}))
        with pytest.raises(AlluviumError, match=text):
            check_wheel(tmp_path / name)


def test_package_ships_what_steps_need() -> None:
    shipped = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    assert '"alluvium.emr" = ["cluster.yaml", "step.sh", "*.lock"]' in shipped
    for name in projects.LOCKS:
        assert (REPOSITORY / name).is_symlink()
        assert "--hash=sha256:" in (REPOSITORY / name).read_text(encoding="utf-8")
