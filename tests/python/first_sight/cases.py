"""The cases of tests/fixtures/first_sight: what the commands say of them, and what is built of them."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from typer.testing import CliRunner

from alluvium import cli

FOLDER = Path(__file__).parents[2] / "fixtures" / "first_sight"


@dataclass(frozen=True)
class Build:
    """One source of a case, declared as a user would after the scaffold's questions, and its rows.

    Attributes:
        case: name of the case's folder.
        source: of dbt, unique over all cases.
        landing: folder below ``landing`` (and below ``later``) that the source is scaffolded from.
        of: the entry of ``expected`` in case.yml whose rows have to come out; None where ``rows`` are given.
        table: the entity whose current rows are compared.
        rows: the rows, where case.yml has none.
        options: answers, ``meta.cdc`` of each table.
        columns: answers, what else is declared of columns, by name.
        rejected: number of lines in quarantine.
        fails: nodes of dbt that have to fail, with a part of their message.
    """

    case: str
    source: str
    landing: str = ""
    of: str | None = None
    table: str = "items"
    rows: list[dict[str, Any]] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    columns: dict[str, dict[str, Any]] = field(default_factory=dict)
    rejected: int = 0
    fails: dict[str, str] = field(default_factory=dict)

    @property
    def expected(self) -> list[dict[str, Any]]:
        """The rows that have to come out."""
        if self.of is None:
            return self.rows
        entries = yaml.safe_load((FOLDER / self.case / "case.yml").read_text("utf-8"))["expected"]
        (rows,) = [entry["rows"] for entry in entries if entry["of"] == self.of]
        return list(rows)


def builds() -> list[Build]:
    """Each entry of each ``build.yml``, a file beside case.yml: what this project's tests build of the case."""
    return [
        Build(case=path.parent.name, **entry)
        for path in sorted(FOLDER.glob("*/build.yml"))
        for entry in yaml.safe_load(path.read_text("utf-8"))
    ]


def landing(case: str, folder: str = "", part: str = "landing") -> Path:
    """Where the files of a case are; the number finds it (``landing("03", "qlik")``)."""
    (path,) = FOLDER.glob(f"{case}*")
    return path / part / folder


@dataclass(frozen=True)
class Said:
    """What a command printed, and its exit code."""

    text: str
    code: int


def run(*arguments: str | Path) -> Said:
    """Run a command of ``alluvium`` in this process; standard error comes after standard output."""
    done = CliRunner().invoke(cli.app, list(map(str, arguments)), env={"COLUMNS": "10000"})
    error = "" if done.exception is None or isinstance(done.exception, SystemExit) else f"\n{done.exception}"
    return Said(done.output + error, done.exit_code)


def inspect(case: str, folder: str = "") -> Said:
    """What ``alluvium inspect`` says of a case."""
    return run("inspect", landing(case, folder))


def doctor(case: str, folder: str = "", *arguments: str | Path) -> Said:
    """What ``alluvium doctor`` says of a case."""
    return run("doctor", landing(case, folder), *arguments)


def scaffold(project: Path, case: str, folder: str = "", source: str = "shop") -> Said:
    """What ``alluvium scaffold`` says of a case, in an empty project (any directory)."""
    project.mkdir(parents=True, exist_ok=True)
    (project / "dbt_project.yml").write_text("name: p\n", encoding="utf-8")
    return run("scaffold", landing(case, folder), "--source", source, "--project-dir", project)


def sources(project: Path, source: str = "shop") -> dict[str, dict[str, Any]]:
    """What was scaffolded of each table of a source: name -> its entry in sources.yml; empty where nothing was."""
    path = project / f"models/bronze/{source}/_{source}__sources.yml"
    if not path.exists():
        return {}
    (declared,) = yaml.safe_load(path.read_text("utf-8"))["sources"]
    return {table["name"]: table for table in declared["tables"]}


def answer(project: Path, build: Build) -> None:
    """Write a build's answers into the source's YAML."""
    path = project / f"models/bronze/{build.source}/_{build.source}__sources.yml"
    document = yaml.safe_load(path.read_text("utf-8"))
    (declared,) = document["sources"]
    for table in declared["tables"]:
        cdc = table.setdefault("config", {}).setdefault("meta", {}).setdefault("cdc", {})
        cdc.update(build.options)
        for name, more in build.columns.items():
            column = next((column for column in table["columns"] if column["name"] == name), None)
            if column is None:
                table["columns"].append({"name": name, **more})
            else:
                column.update(more)
    path.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")


def copy(build: Build, bucket: Path, part: str) -> Path:
    """Land a part of a case (``landing``, ``later``) in a folder of the build's own."""
    target = bucket / build.source
    here = landing(build.case, build.landing, part)
    if here.exists():
        shutil.copytree(here, target, dirs_exist_ok=True)
    return target
