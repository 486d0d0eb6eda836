"""What `alluvium new` writes, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml

from alluvium import AlluviumError, cli, new_project
from alluvium.new_project import create, files, package_directory

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Where `dbt deps` would have been run."""
    directories: list[Path] = []
    monkeypatch.setattr(new_project, "_install_package", directories.append)
    return directories


@pytest.fixture(scope="module")
def written() -> dict[str, str]:
    return files("shop_tables", REPOSITORY)


def document(written: dict[str, str], path: str) -> Any:
    return yaml.safe_load(written[path])


def test_package_has_macros_and_tests_and_no_models() -> None:
    package = package_directory()
    assert {path.name for path in package.iterdir()} == {"dbt_project.yml", "profiles.yml", "macros", "models", "tests"}
    assert (package / "macros").resolve() == REPOSITORY / "macros"
    assert sorted(path.name for path in package.glob("models/**/*.*")) == ["cdc_columns.md", "history_columns.md"]


def test_package_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_project, "__file__", str(tmp_path / "alluvium" / "new_project" / "__init__.py"))
    with pytest.raises(AlluviumError, match="has no dbt package: install Alluvium from a checkout"):
        package_directory()


def test_settings_are_the_repositorys(written: dict[str, str]) -> None:
    theirs = document(written, "dbt_project.yml")
    ours = yaml.safe_load((REPOSITORY / "dbt_project.yml").read_text(encoding="utf-8"))
    settings = theirs["models"]["shop_tables"]
    assert settings["silver"]["+tblproperties"].pop("delta.columnMapping.mode") == "name"
    assert settings == ours["models"]["alluvium"]
    assert theirs["seeds"]["shop_tables"] == ours["seeds"]["alluvium"] != {}
    assert theirs["require-dbt-version"] == ours["require-dbt-version"]
    assert theirs["profile"] == theirs["name"] == "shop_tables"
    assert not {"on-run-start", "on-run-end", "vars"} & set(theirs), "the package's own hooks run"


def test_profile_is_the_repositorys(written: dict[str, str]) -> None:
    ours = (REPOSITORY / "profiles.yml").read_text(encoding="utf-8")
    assert written["profiles.yml"].replace("\nshop_tables:\n", "\nalluvium:\n") == ours
    assert written["profiles.yml"] != ours


def test_macros_are_those_of_the_page_on_packages(written: dict[str, str]) -> None:
    page = (REPOSITORY / "docs/guide/use-as-package.md").read_text(encoding="utf-8")
    for path in ("macros/alluvium.sql", "macros/generate_schema_name.sql"):
        macros = written[path][written[path].index("{% macro") :]
        assert macros in page, path


def test_every_strategy_is_passed_on(written: dict[str, str]) -> None:
    """The macros that the repository has in place of dbt's; without one a model is refused."""
    own = ("spark__get_merge_sql", "get_insert_into_sql", "get_insert_overwrite_sql", "should_full_refresh")
    of_hudi = ("spark__create_table_as", "spark__drop_relation", "spark__alter_relation_add_remove_columns")
    of_comments = ("spark__alter_column_comment", "get_column_comment_sql", "spark__comment_clause")
    for name in own + of_hudi + of_comments:
        assert f"{{% macro {name}(" in written["macros/alluvium.sql"]
        assert f"return(alluvium.{name}(" in written["macros/alluvium.sql"]


@pytest.mark.parametrize("name", ["alluvium", "odd 'quoted' \"folder\" größe\\x"])
def test_package_can_be_named_by_the_environment(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    folder.mkdir()
    for file in ("dbt_project.yml", "profiles.yml"):
        shutil.copy(REPOSITORY / file, folder)
    (package,) = document(files("x", folder), "packages.yml")["packages"]
    rendered = jinja2.Template(package["local"])
    assert rendered.render(env_var=lambda _, default: default) == str(folder)
    assert rendered.render(env_var=lambda name, _: name) == "ALLUVIUM_PACKAGE"


def test_ci_builds_with_the_command_of_the_readme(written: dict[str, str]) -> None:
    steps = document(written, ".github/workflows/build.yml")["jobs"]["build"]["steps"]
    commands = [line for step in steps for line in step.get("run", "").splitlines()]
    assert commands[-3:] == ['export ALLUVIUM_PACKAGE="$(alluvium package)"', "dbt deps", "dbt build"]
    assert "```sh\ndbt build\n```" in written["README.md"]


GIT = {"vcs": "git", "commit_id": "abc"}


@pytest.mark.parametrize(
    ("origin", "line"),
    [
        ({"url": "https://host/a.whl", "archive_info": {}}, "dbt-alluvium @ https://host/a.whl"),
        (
            {"url": "https://host/a.whl", "archive_info": {"hashes": {"sha256": "12"}}},
            "dbt-alluvium @ https://host/a.whl#sha256=12",
        ),
        ({"url": "https://host/a.git", "vcs_info": GIT}, "dbt-alluvium @ git+https://host/a.git@abc"),
        ({"url": "ssh://git@host/a.git", "vcs_info": GIT}, "dbt-alluvium @ git+ssh://git@host/a.git@abc"),
    ],
)
def test_ci_installs_from_the_address_that_alluvium_came_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: dict[str, Any], line: str
) -> None:
    requirements = requirements_of(monkeypatch, origin)
    assert requirements.splitlines()[1:] == [line]
    assert asked_of_pip(tmp_path, requirements) == ("install -r requirements.txt", "")


@pytest.mark.parametrize(
    ("origin", "named"),
    [
        (None, str(REPOSITORY)),
        ({}, "a package index"),
        ({"url": "file:///my%20src", "dir_info": {"editable": True}}, "/my src"),
        ({"url": "file:///a/dbt_alluvium-0.1.0-py3-none-any.whl", "archive_info": {}}, "/a/dbt_alluvium-0.1.0-py3"),
        ({"url": "file:///a", "vcs_info": GIT}, "/a"),
        ({"url": "http://host/a.whl", "archive_info": {}}, "http://host/a.whl"),
    ],
)
def test_ci_without_an_address_ends_before_pip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: dict[str, Any] | None, named: str
) -> None:
    requirements = requirements_of(monkeypatch, origin)
    assert f"Alluvium was installed from {named}" in requirements
    asked, said = asked_of_pip(tmp_path, requirements)
    assert not asked
    assert said.startswith("::error file=requirements.txt::Set the address of dbt-alluvium that CI installs")
    assert len(said.splitlines()) == 1
    assert all(line.startswith("#") for line in requirements.splitlines())
    for proposal in re.findall(r"#   (\S.*)", requirements):
        assert asked_of_pip(tmp_path, requirements + proposal + "\n")[0]


@pytest.mark.parametrize("line", ["dbt-alluvium==0.1.0", "dbt_alluvium", "alluvium==0.1.0", "dbt-alluvium @ ADDRESS"])
def test_ci_never_asks_an_index_for_alluvium(tmp_path: Path, line: str) -> None:
    assert not asked_of_pip(tmp_path, f"dbt-spark\n{line}\n")[0]


def requirements_of(monkeypatch: pytest.MonkeyPatch, origin: dict[str, Any] | None) -> str:
    """requirements.txt, where pip has recorded `origin` for the installed distribution; None: it knows no such one."""

    class Distribution:
        def read_text(self, name: str) -> str | None:
            return json.dumps(origin) if origin else None

    def distribution(name: str) -> Distribution:
        if origin is None or name != "dbt-alluvium":
            raise metadata.PackageNotFoundError(name)
        return Distribution()

    monkeypatch.setattr(metadata, "distribution", distribution)
    return files("x", REPOSITORY)["requirements.txt"]


def asked_of_pip(directory: Path, requirements: str) -> tuple[str, str]:
    """What the generated step asks a pip that installs nothing, and what it prints."""
    steps = document(files("x", REPOSITORY), ".github/workflows/build.yml")["jobs"]["build"]["steps"]
    (command,) = (step["run"] for step in steps if "pip" in step.get("run", ""))
    pip = directory / ".venv" / "bin" / "pip"
    pip.parent.mkdir(parents=True, exist_ok=True)
    pip.write_text('#!/bin/sh\necho "$*" > asked\n', encoding="utf-8")
    (directory / "python3").write_text("#!/bin/sh\n", encoding="utf-8")
    for program in (pip, directory / "python3"):
        program.chmod(0o755)
    (directory / "requirements.txt").write_text(requirements, encoding="utf-8")
    environment = {"PATH": f"{directory}:{os.environ['PATH']}", "GITHUB_PATH": str(directory / "path")}
    done = subprocess.run(["bash", "-e", "-c", command], cwd=directory, env=environment, capture_output=True, text=True)
    asked = directory / "asked"
    text = asked.read_text(encoding="utf-8").strip() if asked.exists() else ""
    asked.unlink(missing_ok=True)
    assert bool(text) == (done.returncode == 0), done.stderr
    return text, done.stdout


def test_name_is_the_directorys(tmp_path: Path, installed: list[Path]) -> None:
    (tmp_path / "My Shop-2" / ".git").mkdir(parents=True)
    paths = create(tmp_path / "My Shop-2")
    there = {path.relative_to(tmp_path / "My Shop-2").as_posix() for path in (tmp_path / "My Shop-2").rglob("*.*")}
    assert set(paths) <= there
    assert installed == [tmp_path / "My Shop-2"]
    assert "name: my_shop_2\n" in (tmp_path / "My Shop-2" / "dbt_project.yml").read_text(encoding="utf-8")


def test_name_can_be_given(tmp_path: Path, installed: list[Path]) -> None:
    create(tmp_path / "a" / "b", "other")
    assert "\nother:\n" in (tmp_path / "a" / "b" / "profiles.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "proposed"), [("Shop", "shop"), ("2nd", "t_2nd"), ("alluvium", "alluvium_project"), ("a b", "a_b")]
)
def test_refused_names(tmp_path: Path, installed: list[Path], name: str, proposed: str) -> None:
    with pytest.raises(AlluviumError, match=f"say --name {proposed}"):
        create(tmp_path / "new", name)
    assert not (tmp_path / "new").exists()
    assert not installed


def test_directory_that_is_not_empty_is_refused(tmp_path: Path, installed: list[Path]) -> None:
    (tmp_path / "there.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(AlluviumError, match=r"is not empty \(there\.txt\): give another directory"):
        create(tmp_path)
    with pytest.raises(AlluviumError, match="is a file"):
        create(tmp_path / "there.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["there.txt"]


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """With dbt's own deps; a second time it is refused."""
    monkeypatch.setattr("sys.argv", ["alluvium", "new", str(tmp_path / "my tables")])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert not ended.value.code
    said = capsys.readouterr().out
    steps = ("inspect PATH", "doctor PATH", "scaffold PATH --source shop")
    commands = "".join(f"  alluvium {step}\n" for step in steps)
    assert said.endswith(f"  cd '{tmp_path / 'my tables'}'\n{commands}  dbt build\n")
    package = tmp_path / "my tables" / "dbt_packages" / "alluvium"
    assert package.resolve() == package_directory()
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    assert "is not empty" in capsys.readouterr().err


def test_package_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["alluvium", "package"])
    with pytest.raises(SystemExit):
        cli.main()
    assert capsys.readouterr().out == f"{package_directory()}\n"


def run(directory: Path, *command: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=directory,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("source", ["shop", "moma"])
def test_parses_without_a_warning_and_has_no_model_of_the_package(tmp_path: Path, source: str) -> None:
    """Also with a source that the package has, too, and after `dbt deps` with the package's place in a variable."""
    project = tmp_path / "tables"
    run(tmp_path, "alluvium.cli", "new", "tables")
    location = {"shop": "pg-envelope-json-schemas/bronze/confluent-json-gz", "moma": "moma/1-snapshot"}[source]
    run(project, "alluvium.cli", "scaffold", str(REPOSITORY / "samples" / location), "--source", source, "--history")
    other = tmp_path / "elsewhere"
    other.symlink_to(package_directory())
    run(project, "dbt.cli.main", "deps", ALLUVIUM_PACKAGE=str(other))
    assert (project / "dbt_packages" / "alluvium").readlink() == other
    said = run(project, "dbt.cli.main", "parse", "--no-partial-parse")
    assert "[WARNING]" not in re.sub("\x1b.*?m", "", said), said
    manifest = yaml.safe_load((project / "target" / "manifest.json").read_text(encoding="utf-8"))
    nodes = [*manifest["nodes"].values(), *manifest["sources"].values()]
    enabled = [node for node in nodes if node["config"]["enabled"]]
    assert {node["package_name"] for node in enabled if node["resource_type"] != "operation"} == {"tables"}
    assert {node["schema"] for node in enabled if node["resource_type"] == "model"} == {"silver"}
    operations = [node["package_name"] for node in enabled if node["resource_type"] == "operation"]
    assert operations == ["alluvium"] * 6
