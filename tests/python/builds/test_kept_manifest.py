"""What dbt parses again, and what one build leaves to the next. `dbt compile` needs no Spark here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dbt.cli import requires
from dbt.cli.main import dbtRunner
from dbt.plugins.manager import PluginManager

from alluvium.builds.kept_manifest import KeptManifest

FILES = {
    "dbt_project.yml": "name: theirs\nprofile: p\nflags: {send_anonymous_usage_stats: false}\n",
    "profiles.yml": "p: {target: t, outputs: {t: {type: spark, method: session, schema: s, host: NA}}}\n",
    "models/base.sql": "{{ config(materialized='ephemeral') }} select '{{ invocation_id }}' as id",
    "models/target.sql": "select 1 as id",
    "models/top.sql": "{{ config(materialized='table') }} select id from {{ ref('base') }}",
    "models/top.yml": """
models:
  - name: top
    config: {contract: {enforced: true}}
    constraints: [{type: foreign_key, columns: [id], to: ref('target'), to_columns: [id]}]
    columns: [{name: id, data_type: string}]
""",
    "macros/m.sql": "{% macro m() %}1{% endmacro %}",
}


class Compiled:
    """A project that is compiled again and again with one kept manifest."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.parsed = 0
        parse = requires.parse_manifest  # type: ignore[attr-defined]  # dbt imports the name from its parser

        def counted(*arguments: Any, **named: Any) -> Any:
            self.parsed += 1
            return parse(*arguments, **named)

        monkeypatch.setattr(requires, "parse_manifest", counted)
        for name, text in FILES.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        """A file of the project."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def compile(self) -> str:
        """Compiles the model over the ephemeral one; returns its SQL."""
        place = ["--project-dir", str(self.folder), "--profiles-dir", str(self.folder)]
        done = dbtRunner().invoke(
            ["compile", *place, "--quiet", "--no-populate-cache", "--no-introspect", "--select", "top"]
        )
        assert done.success, done.exception or [result.message for result in done.result.results]  # type: ignore[union-attr]
        return (self.folder / "target/compiled/theirs/models/top.sql").read_text(encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Compiled]:
    before = requires.setup_manifest
    with KeptManifest().used():
        yield Compiled(tmp_path, monkeypatch)
    assert requires.setup_manifest is before


def test_second_build_parses_nothing_and_compiles_all(project: Compiled) -> None:
    """In the manifest of the first build dbt would find the ephemeral model compiled, and no `ref()` to resolve."""
    first, second = project.compile(), project.compile()
    assert project.parsed == 1
    assert "__dbt__cte__base as" in first
    assert "__dbt__cte__base as" in second
    assert first != second, "the SQL of the first build's ephemeral model"


def test_changed_files_are_parsed(project: Compiled) -> None:
    project.compile()
    changes = {
        "models/target.sql": "select 2 as id",  # as long as before
        "models/new.sql": "select 3 as id",
        "models/top.yml": FILES["models/top.yml"] + "    description: new\n",
        "macros/m.sql": "{% macro m() %}2{% endmacro %}",
        "seeds/s.csv": "id\n1\n",
        "snapshots/s.yml": "snapshots: []\n",
        "tests/t.sql": "select 1 as id limit 0",
        "packages.yml": "packages: []\n",
        "dbt_project.yml": FILES["dbt_project.yml"] + "vars: {v: 1}\n",
        "profiles.yml": FILES["profiles.yml"].replace("schema: s", "schema: r"),
    }
    for number, (name, text) in enumerate(changes.items(), 2):
        project.write(name, text)
        project.compile()
        assert project.parsed == number, name
    (project.folder / "macros/m.sql").unlink()
    for _ in range(2):
        project.compile()
        assert project.parsed == len(changes) + 2


def test_project_that_could_not_be_parsed_is_parsed_again(project: Compiled) -> None:
    project.compile()
    project.write("macros/m.sql", "{% macro m() %}")
    for _ in range(2):
        with pytest.raises(AssertionError, match="MissingCloseTag"):
            project.compile()
    project.write("macros/m.sql", FILES["macros/m.sql"])
    project.compile()
    assert project.parsed == 4


def test_plugins_see_the_manifest_of_every_build(project: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alluvium's ends a run that would skip files whose names Java cannot spell; dbt asks it only when it parses."""
    seen: list[Any] = []

    def see(_manager: PluginManager, manifest: Any) -> dict[str, Any]:
        seen.append(manifest)
        return {}

    monkeypatch.setattr(PluginManager, "get_manifest_artifacts", see)
    project.compile()
    project.compile()
    assert len(seen) == 2


def test_manifest_is_written_when_it_was_parsed_or_is_gone(project: Compiled) -> None:
    project.compile()
    written = project.folder / "target/manifest.json"
    first = written.stat().st_mtime_ns
    project.compile()
    assert written.stat().st_mtime_ns == first
    written.unlink()
    project.compile()
    assert written.is_file()
    project.write("models/target.sql", "select 2 as id")
    before = written.stat().st_mtime_ns
    project.compile()
    assert written.stat().st_mtime_ns > before
