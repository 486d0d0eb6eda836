"""The pages on Debezium, JDBC, outboxes, marts and moving here, followed in a new project. A slow suite."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from alluvium import cli

from .guide import FENCE, FOLLOWED, GUIDE, blocks, table_after, text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def followed(
    tmp_path_factory: pytest.TempPathFactory, spark: SparkSession
) -> dict[str, list[tuple[list[list[str]], list[list[str]]]]]:
    """What each query of each page gave, and what the page shows."""
    project = tmp_path_factory.mktemp("adoption") / "warehouse"
    run("alluvium", "new", str(project))
    patch = pytest.MonkeyPatch()
    patch.chdir(project)
    try:
        return {page: follow(GUIDE / f"{page}.md", spark) for page in FOLLOWED}
    finally:
        patch.undo()


def follow(page: Path, spark: SparkSession) -> list[tuple[list[list[str]], list[list[str]]]]:
    """Do what a page says, in the working directory."""
    results = []
    for block in sorted((block for name in LANGUAGES for block in blocks(page, name)), key=lambda block: block.end):
        if "file" in block.attributes:
            path = Path(block.attributes["file"])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.body, encoding="utf-8")
        elif "below" in block.attributes:
            answer(block.attributes["below"], block.body)
        elif block.language == "sh":
            for line in block.body.splitlines():
                run(*shlex.split(line), status=int(block.attributes.get("status", 0)))
        elif block.language == "sql":
            shown = table_after(block)
            assert shown is not None, block
            frame = spark.sql(block.body)
            rows = frame.selectExpr(*(f"cast(`{name}` as string) as `{name}`" for name in frame.columns)).collect()
            found = [["NULL" if value is None else value for value in row] for row in rows]
            results.append(([frame.columns, *found], shown))
    return results


LANGUAGES = ("json", "sh", "sql", "yaml")


def answer(column: str, line: str) -> None:
    """Give the one column of that name in the sources a type, in the place of one that it has."""
    name = f"- name: {column}\n"
    found = [
        (path, source)
        for path in sorted(Path("models/bronze").rglob("*__sources.yml"))
        if (source := path.read_text(encoding="utf-8")).count(name) == 1
    ]
    ((path, source),) = found
    before, _, after = source.partition(name)
    own, next_column, rest = after.partition("- name: ")
    kept = "".join(f"{text}\n" for text in own.splitlines() if not text.strip().startswith("data_type:"))
    indented = f"            {line.strip()}\n"
    # What stands before the next column's dash stays with it.
    path.write_text(
        f"{before}{name}{indented}{kept.rstrip()}\n{own[len(own.rstrip()) + 1 :]}{next_column}{rest}", encoding="utf-8"
    )


def run(program: str, *arguments: str, status: int = 0) -> None:
    """A command of a page, in this process, which has the session."""
    if program == "dbt":
        from dbt.cli.main import dbtRunner

        outcome: Any = dbtRunner().invoke(["--quiet", *arguments])
        assert outcome.exception is None, outcome.exception
        failed = [result.message for result in outcome.result if result.status in ("error", "fail")]
        assert outcome.success is (status == 0), failed
        return
    assert program == "alluvium", program
    assert cli.app(list(arguments), standalone_mode=False) in (None, status)


@pytest.mark.parametrize("page", FOLLOWED)
def test_page_gives_what_it_shows(
    page: str, followed: dict[str, list[tuple[list[list[str]], list[list[str]]]]]
) -> None:
    assert followed[page]
    for found, shown in followed[page]:
        assert found == shown


@pytest.mark.parametrize("page", FOLLOWED)
def test_every_block_of_a_page_is_followed(page: str) -> None:
    languages = {match["language"] for match in FENCE.finditer(text(GUIDE / f"{page}.md"))}
    assert languages <= set(LANGUAGES)
