"""When the dbt plugin makes a session, and when it keeps out of the way."""

from __future__ import annotations

import json
import os
import pkgutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

import dbt_alluvium
from alluvium.runtime import session

REPOSITORY = Path(__file__).resolve().parents[3]
PROFILES = """
p:
  target: session
  outputs:
    session: {type: spark, method: session, schema: s, host: NA, server_side_parameters: {spark.a: b}}
    thrift: {type: spark, method: thrift, schema: s, host: h}
"""


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[dict[str, str], Path]]:
    """A dbt project in `tmp_path`, and the calls that the plugin makes."""
    (tmp_path / "dbt_project.yml").write_text("name: theirs\nprofile: p\n", encoding="utf-8")
    (tmp_path / "profiles.yml").write_text(PROFILES, encoding="utf-8")
    calls: list[tuple[dict[str, str], Path]] = []

    def get_or_create(parameters: Mapping[str, str], directory: Path, run_id: str) -> None:
        assert run_id
        calls.append((dict(parameters), directory))

    monkeypatch.setattr(session, "get_or_create", get_or_create)
    return calls


def start(
    directory: Path, monkeypatch: pytest.MonkeyPatch, which: str, project: str, target: str | None = None
) -> dbt_alluvium.AlluviumPlugin:
    """What dbt does with the plugin at the begin of a command."""
    from dbt import flags

    monkeypatch.setattr(flags, "GLOBAL_FLAGS", None)  # restored afterwards: dbt keeps them per process
    flags.set_from_args(
        Namespace(
            which=which,
            PROJECT_DIR=directory,
            PROFILES_DIR=str(directory),
            PROFILE=None,
            TARGET=target,
            VARS={},
            LOG_CACHE_EVENTS=False,
            **({"STATE": None, "TARGET_PATH": None} if which == "retry" else {}),
        ),
        None,
    )
    return dbt_alluvium.AlluviumPlugin(project)


def test_dbt_finds_the_plugin() -> None:
    """pkgutil is what dbt looks with, and it sees no package that an import hook provides."""
    assert "dbt_alluvium" in {module.name for module in pkgutil.iter_modules()}


@pytest.mark.parametrize("which", sorted(dbt_alluvium.COMMANDS))
def test_session_for_commands_that_use_the_database(
    sessions: list[tuple[dict[str, str], Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    start(tmp_path, monkeypatch, which, "alluvium")
    ((parameters, directory),) = sessions
    assert parameters["spark.a"] == "b"
    assert directory == tmp_path.resolve()


IMPORTS = """
import sys
from types import SimpleNamespace
import dbt.cli.requires, dbt.flags, dbt.task.build
from alluvium.runtime import session
before = set(sys.modules)
import dbt_alluvium
session.get_or_create = lambda *_: None
named = dict(
    PROJECT_DIR=".", PROFILES_DIR=".", PROFILE=None, TARGET="session", VARS={}, WHICH=sys.argv[1],
    LOG_CACHE_EVENTS=False,
)
dbt.flags.set_flags(SimpleNamespace(**named))
plugin = dbt_alluvium.AlluviumPlugin("alluvium")
external = SimpleNamespace(location="landing")
plugin.get_manifest_artifacts(SimpleNamespace(sources={"a": SimpleNamespace(external=external)}))
print(*sorted(set(sys.modules) - before))
"""


@pytest.mark.parametrize("which", ["build", "run"])
def test_build_imports_no_more_than_it_needs(sessions: object, tmp_path: Path, which: str) -> None:
    """A second of each build went into the inspection of files, the server and unit tests."""
    (tmp_path / "landing").mkdir()
    command = [sys.executable, "-c", IMPORTS, which]
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    own = {name for name in done.stdout.split() if name.partition(".")[0] in ("alluvium", "dbt_alluvium")}
    assert own == {
        "dbt_alluvium",
        "dbt_alluvium.private_macros",
        "dbt_alluvium.seed_values",
        "alluvium.runtime.objects",
        "alluvium.runtime.profile",
        *(["dbt_alluvium.unit_tests"] if which == "build" else []),
    }


@pytest.mark.parametrize("location", ["landing", "file:{}/landing", "{}/landing"])
def test_run_ends_at_a_file_that_java_cannot_open(
    sessions: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, location: str
) -> None:
    """Hadoop skips it: the run would be green without its rows."""
    here = location.format(tmp_path)
    external = (
        SimpleNamespace(location=here),
        SimpleNamespace(location="s3a://bucket/x"),
        SimpleNamespace(location="/no"),
    )
    manifest = SimpleNamespace(sources={str(one): SimpleNamespace(external=one) for one in (*external, None)})
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/landing/city=Z\xfcrich"))
    folder.mkdir(parents=True)
    (folder / "a.json").touch()
    plugin = start(tmp_path, monkeypatch, "build", "alluvium")
    with pytest.raises(
        DbtRuntimeError, match=r"landing/city=Z\\xfcrich/a\.json: the name is not utf-8, so Spark would skip"
    ):
        plugin.get_manifest_artifacts(manifest)
    assert start(tmp_path, monkeypatch, "compile", "alluvium").get_manifest_artifacts(manifest) == {}
    folder.rename(tmp_path / "landing" / "city=Zürich")
    assert start(tmp_path, monkeypatch, "build", "alluvium").get_manifest_artifacts(manifest) == {}


@pytest.mark.parametrize("which", ["parse", "list", "deps", "clean", "debug", "init", "serve"])
def test_no_session_for_other_commands(
    sessions: list[tuple[dict[str, str], Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    start(tmp_path, monkeypatch, which, "alluvium")
    assert sessions == []


def test_no_session_for_other_methods(
    sessions: list[tuple[dict[str, str], Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(tmp_path, monkeypatch, "build", "alluvium", target="thrift")
    assert sessions == []


@pytest.mark.parametrize(("retried", "makes_one"), [("thrift", False), ("session", True), (None, True)])
def test_retry_has_the_target_of_what_it_retries(
    sessions: list[tuple[dict[str, str], Path]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    retried: str | None,
    makes_one: bool,
) -> None:
    results = tmp_path / "target" / "run_results.json"
    results.parent.mkdir()
    results.write_text(json.dumps({"args": {"target": retried}}), encoding="utf-8")
    start(tmp_path, monkeypatch, "retry", "alluvium", target="session" if retried == "thrift" else "thrift")
    assert bool(sessions) is makes_one


def test_no_session_in_a_project_without_alluvium(
    sessions: list[tuple[dict[str, str], Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(tmp_path, monkeypatch, "build", "theirs")
    assert sessions == []


@pytest.mark.parametrize("folder", ["dbt_packages", "packages"])
def test_session_in_a_project_that_has_the_package(
    sessions: list[tuple[dict[str, str], Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    with (tmp_path / "dbt_project.yml").open("a", encoding="utf-8") as project:
        project.write(f"packages-install-path: {folder}\n")
    package = tmp_path / folder / "alluvium"
    package.mkdir(parents=True)
    (package / "dbt_project.yml").touch()
    start(tmp_path, monkeypatch, "build", "theirs")
    assert len(sessions) == 1


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("Côte D'Ivoire", r"'Côte D\'Ivoire'"),
        ("a\\'b %s", r"'a\\\'b %s'"),
        (Decimal("9007199254740993"), "'9007199254740993'"),
        (Decimal("1E+3"), "'1000'"),
        (True, "'True'"),
        (datetime(2024, 5, 1, 12, 0, 0, 123456), "'2024-05-01 12:00:00.123456'"),
        (date(2024, 5, 1), "'2024-05-01'"),
        (None, "null"),
    ],
)
def test_values_of_seeds_are_exact(
    sessions: list[tuple[dict[str, str], Path]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    value: Any,
    written: str,
) -> None:
    """The session method passes its statement to Python's `%` with them."""
    from dbt.adapters.spark.session import SessionConnectionWrapper

    monkeypatch.setattr(SessionConnectionWrapper, "_fix_binding", SessionConnectionWrapper._fix_binding)
    start(tmp_path, monkeypatch, "seed", "alluvium")
    assert SessionConnectionWrapper._fix_binding(value) == written
