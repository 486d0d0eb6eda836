"""The archive of a project."""

from __future__ import annotations

import os
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from alluvium import AlluviumError
from alluvium.emr import project as projects
from alluvium.emr.project import archive, check_locations, check_profile, check_wheel, files

from .test_template import REPOSITORY


def project(directory: Path) -> Path:
    for name, text in {
        "dbt_project.yml": "name: shop\nprofile: shop\n",
        "profiles.yml": "shop: {outputs: {emr: {type: spark}}}\n",
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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: [shop\n", "dbt_project.yml is no YAML \\(while parsing"),
        ("- shop\n", "dbt_project.yml has no names with values"),
        ("", "dbt_project.yml has no names with values"),
        ("model-paths: models\n", "dbt_project.yml has model-paths: models; allowed is a list of folders inside"),
        ("model-paths: [1]\n", "has model-paths: \\[1\\]; allowed is a list"),
        ("seed-paths: [../other]\n", "has seed-paths: \\['../other'\\]; allowed is a list of folders inside"),
        ("test-paths: [tests/../../other]\n", "has test-paths: .*; allowed is a list of folders inside"),
        ("macro-paths: [/macros]\n", "has macro-paths: .*; allowed is a list of folders inside"),
        ("macro-paths: [\"{{ var('x') }}\"]\n", "has macro-paths: .*; allowed is .* written out"),
    ],
)
def test_project_that_cannot_be_read(tmp_path: Path, text: str, said: str) -> None:
    (project(tmp_path) / "dbt_project.yml").write_text(text, encoding="utf-8")
    with pytest.raises(AlluviumError, match=said):
        files(tmp_path)


def test_folders_without_a_value_are_dbt_s(tmp_path: Path) -> None:
    (project(tmp_path) / "dbt_project.yml").write_text(
        "model-paths:\nmacro-paths: [models/../macros]\n", encoding="utf-8"
    )
    assert {"models/silver/orders.sql", "macros/one.sql"} <= files(tmp_path).keys()


@pytest.mark.parametrize(
    ("profile", "profiles", "said"),
    [
        ("shop", None, "has no profiles.yml, and a step has no other; copy the target emr"),
        ("shop", "shop: {outputs: {local: {}, prod: {}}}", "no target emr in .* \\(shop has local, prod\\); copy the"),
        ("shop", "shop: {}\nother: {outputs: {emr: {}}}", "no target emr in the project's profile \\(shop has none\\)"),
        ("shop", "other: {outputs: {emr: {}}}", "has the profile shop; allowed are those of .*profiles.yml: other"),
        ("shop", "shop: [", "profiles.yml is no YAML"),
        ("\"{{ env_var('X') }}\"", "shop: {outputs: {local: {}}}", "has no target emr"),
    ],
)
def test_profile_without_the_target_is_refused(tmp_path: Path, profile: str, profiles: str | None, said: str) -> None:
    directory = project(tmp_path)
    check_profile(directory)
    (directory / "dbt_project.yml").write_text(f"name: shop\nprofile: {profile}\n", encoding="utf-8")
    (directory / "profiles.yml").unlink()
    if profiles is not None:
        (directory / "profiles.yml").write_text(profiles, encoding="utf-8")
    with pytest.raises(AlluviumError, match=said):
        check_profile(directory)


@pytest.mark.parametrize(
    ("location", "is_taken"),
    [
        ("s3://my-topics/shop", True),
        ("s3a://my-topics/shop", True),
        ("hdfs:///shop", True),
        ("\"{{ env_var('LANDING') }}/shop\"", True),
        ("landing/shop", False),
        ("/data/shop", False),
        ("file:/data/shop", False),
    ],
)
def test_sources_on_this_machine_are_refused(tmp_path: Path, location: str, is_taken: bool) -> None:
    directory = project(tmp_path)
    check_locations(directory)
    sources = (
        f"sources: [{{name: shop, tables: [{{name: none}}, {{name: orders, external: {{location: {location}}}}}]}}]"
    )
    (directory / "models" / "shop.yaml").write_text(sources, encoding="utf-8")
    if is_taken:
        check_locations(directory)
    else:
        with pytest.raises(AlluviumError, match=f"shop.orders has {location}; allowed are addresses that a cluster"):
            check_locations(directory)


def test_sources_of_the_repository_are_where_the_environment_says() -> None:
    check_locations(REPOSITORY)


def test_target_is_that_of_the_step() -> None:
    assert f'"DBT_TARGET={projects.TARGET}"' in projects.script().decode()
    check_profile(REPOSITORY)


def test_wheel_has_the_lock_files(tmp_path: Path) -> None:
    check_wheel(wheel(tmp_path / "dbt_alluvium-0.1.0-py3-none-any.whl"))
    with pytest.raises(AlluviumError, match=r"gone\.whl: there is no such file; 'pip wheel"):
        check_wheel(tmp_path / "gone.whl")
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
