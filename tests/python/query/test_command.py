"""What `alluvium sql` refuses before Spark starts, and the profile that it runs on."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from alluvium import cli
from alluvium.query import command
from alluvium.runtime import profile
from alluvium.server import hosting

PROFILES = """
theirs:
  target: "{{ env_var('THEIR_TARGET', 'session') }}"
  outputs:
    session: {type: spark, method: session, schema: gold, host: NA, server_side_parameters: {spark.a: b}}
    other: {type: spark, method: session, schema: silver, host: NA}
    thrift: {type: spark, method: thrift, schema: s, host: h, port: 10001, user: u, password: p, auth: LDAP}
    http: {type: spark, method: http, schema: s, host: h, token: t, cluster: c}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that is not Alluvium, with its profile beside it; the working directory is another one."""
    directory = tmp_path / "project"
    directory.mkdir()
    (directory / "dbt_project.yml").write_text("name: theirs\nprofile: theirs\n", encoding="utf-8")
    (directory / "profiles.yml").write_text(PROFILES, encoding="utf-8")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("DBT_PROJECT_DIR", "DBT_PROFILES_DIR", "DBT_TARGET", "DBT_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    return directory


def fail(*_: Any, **__: Any) -> None:
    raise AssertionError("no session is made")


def run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str, typed: str | None = ""
) -> tuple[int, str, str]:
    """Exit code, output and errors; `typed` is piped in, None is a terminal."""
    monkeypatch.setattr("sys.argv", ["alluvium", "sql", *arguments])
    monkeypatch.setattr("sys.stdin", io.StringIO(typed or ""))
    if typed is None:
        monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    output = capsys.readouterr()
    return int(ended.value.code or 0), output.out, output.err


def test_target_of_a_project_with_another_profile(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = profile.session_target(project)
    assert found == profile.SessionTarget(project, "session", "gold", found.parameters)
    assert found.parameters["spark.a"] == "b"
    assert profile.session_target(project, project, "other").schema == "silver"
    monkeypatch.setenv("DBT_TARGET", "other")
    assert profile.session_target(project).schema == "silver"
    monkeypatch.delenv("DBT_TARGET")
    monkeypatch.setenv("THEIR_TARGET", "other")
    assert profile.session_target(project).schema == "silver"


def test_target_that_reaches_a_server(project: Path) -> None:
    found = profile.read_target(project, target="thrift")
    assert found == profile.ThriftTarget(project, "thrift", "s", "h", 10001, "u", "p", "LDAP")
    assert "'p'" not in repr(found)
    with pytest.raises(profile.ProfileError, match="The target thrift reaches a server"):
        profile.session_target(project, target="thrift")


def test_server_that_is_not_there(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    port = hosting.free_port()
    there = f"{{type: spark, method: thrift, schema: s, host: 127.0.0.1, port: {port}}}"
    (project / "profiles.yml").write_text(f"theirs: {{target: t, outputs: {{t: {there}}}}}", encoding="utf-8")
    code, output, errors = run(capsys, monkeypatch, "--project-dir", str(project), "-e", "select 1")
    assert (code, output) == (1, "")
    assert errors == f"alluvium: No server listens at 127.0.0.1:{port}: alluvium serve start.\n"


def test_project_is_found_from_a_folder_below(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "models").mkdir()
    monkeypatch.chdir(project / "models")
    assert profile.session_target().project_directory == project.resolve()


def test_flags_of_dbt_are_left_as_they_were(project: Path) -> None:
    from dbt import flags

    before = flags.get_flags()  # type: ignore[no-untyped-call]
    profile.session_target(project)
    assert flags.get_flags() is before  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "prod"], "does not have a target named 'prod'. The valid target names for this profile are: - s"),
        (["--target", "http"], "The target http has the method http, and only targets with the method session or"),
        (["--project-dir", "."], "There is no dbt_project.yml in"),
        (["--profiles-dir", "."], "There is no profiles.yml in ."),
        (["-e", "--"], "There is no statement to run"),
        (["-e", "select 1", "-f", "x.sql"], "Statements come from -e or from -f, not from both."),
        (["-f", "x.sql"], "x.sql cannot be read: No such file or directory"),
    ],
)
def test_error_is_one_sentence_and_starts_no_spark(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.setattr(command, "engine_of", fail)
    directory = [] if "--project-dir" in arguments else ["--project-dir", str(project)]
    code, output, errors = run(capsys, monkeypatch, *directory, *arguments, typed="select 1")
    assert (code, output) == (1, "")
    assert message in errors
    assert errors.count("\n") == 1


def test_profile_that_is_not_there(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "dbt_project.yml").write_text("name: theirs\nprofile: ours\n", encoding="utf-8")
    code, _, errors = run(capsys, monkeypatch, "--project-dir", str(project), typed="select 1")
    assert code == 1
    assert f"Could not find profile named 'ours': look into {project / 'profiles.yml'}" in errors


@pytest.mark.parametrize("option", [["--output", "x.csv"], ["--format", "parquet"]])
def test_prompt_writes_no_file(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, option: list[str]
) -> None:
    monkeypatch.setattr(command, "engine_of", fail)
    code, _, errors = run(capsys, monkeypatch, "--project-dir", str(project), *option, typed=None)
    assert code == 1
    assert "A prompt shows its results" in errors


def test_unknown_format_is_not_understood(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    code, _, errors = run(capsys, monkeypatch, "--format", "xml")
    assert code == 2
    assert "jsonl" in errors
