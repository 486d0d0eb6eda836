"""Tables that are overwritten: in any mode of the session, with all rows, in partitions that keep their values."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from .events import lines, postgresql
from .project import GOLD, SILVER, Feed, MakeProject, Project, folder_of_table

MODE = "spark.sql.sources.partitionOverwriteMode"
COLUMNS = {
    "id": "int",
    "country": "string",
    "at": "timestamp",
    "local": "timestamp_ntz",
    "raw": "binary",
    "amount": "double",
}
FEED = Feed("whole", COLUMNS, models=("log", "state", "living"))
STATE = FEED.nodes["state"]


def mart(columns: str, rest: str = "", reads: str = STATE, call: str = "", **config: str) -> str:
    """The SQL of a mart over the state, or over another model; `config` has Jinja expressions, `call` a macro."""
    settings = {"contract": '{"enforced": false}', "on_schema_change": '"ignore"'} | config
    said = ", ".join(f"{name}={value}" for name, value in settings.items())
    return f'{{{{ config({said}) }}}}\n{call}\nselect {columns}\nfrom {{{{ ref("{reads}") }}}}\n{rest}\n'


MERGED = {"call": '{{ incremental_mart("id") }}', "partition_by": '"country"'}
DELETED = {"call": f'{{{{ incremental_mart("id", deleted_with="{STATE}") }}}}', "partition_by": '"country"'}
CHANGED = f'where not _is_deleted and id in ({{{{ changed_keys(ref("{STATE}"), ["id"]) }}}})'
FILTER = "{% if is_incremental() %}\nwhere _cdc_batch > (select max(batch) from {{ this }})\n{% endif %}"
INDIRECT = f"{{% macro only_new() %}}{{{{ newer() }}}}{{% endmacro %}}\n{{% macro newer() %}}{FILTER}{{% endmacro %}}\n"
WHOLE = {
    "fct_overwritten": mart("id, country", "where not _is_deleted", partition_by='["Country"]'),
    "fct_flat": mart("id, country", "where not _is_deleted"),
    # NaN is more than any number.
    "fct_large": mart("id, country", "where not _is_deleted and amount > 1"),
    "fct_changed": mart("id, country", CHANGED, **DELETED),
}
KINDS = {
    "fct_view": mart("id, country", "where not _is_deleted and amount > 1", materialized='"view"'),
    "fct_table": mart("id, country", "where not _is_deleted and amount > 1", materialized='"table"'),
    "fct_of_kinds": """
{{ config(contract={"enforced": false}, on_schema_change="ignore") }}
select id, country from {{ ref("fct_view") }} union all select id, country from {{ ref("fct_table") }}
""",
}
FILTERED = {
    "fct_filtered": mart("id, country, _cdc_batch as batch", FILTER, **MERGED),
    "fct_filtered_elsewhere": mart("id, country, _cdc_batch as batch", "{{ only_new() }}", **MERGED),
    "fct_overwritten_filtered": mart("id, _cdc_batch as batch", FILTER),
}


def customers(op: str, lsn: int, *rows: tuple[int, str | None]) -> bytes:
    """Lines of one file. One of the amounts is no number."""
    return lines(
        *(
            postgresql(op, lsn + n, {"id": key, "country": country, "amount": "NaN" if key == 1 else 5.0})
            for n, (key, country) in enumerate(rows)
        )
    )


FIRST = {"t+0+0.json": customers("c", 10, (0, "NL"), (1, "NL"), (2, "FR"))}
# No row is left in one of the partitions.
SECOND = {"t+0+3.json": customers("d", 20, (2, None)) + customers("u", 21, (0, "DE"))}
ROWS = [[(0, "NL"), (1, "NL"), (2, "FR")], [(0, "DE"), (1, "NL")]]


@pytest.fixture
def is_hudi(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--file-format") != "delta")


@pytest.fixture
def mode(project_of_marts: Project) -> Iterator[Project]:
    """The mode that another thread of dbt sets, in a session that all share."""
    project_of_marts.spark.conf.set(MODE, "DYNAMIC")
    yield project_of_marts
    project_of_marts.spark.conf.unset(MODE)


@pytest.fixture(scope="module")
def project_of_marts(make_project: MakeProject) -> Project:
    project = make_project("computed_whole", [FEED])
    folder = project.folder / "models" / "gold"
    folder.mkdir()
    for name, sql in (WHOLE | KINDS | FILTERED).items():
        (folder / f"{name}.sql").write_text(sql, encoding="utf-8")
    (project.folder / "macros" / "only_new.sql").write_text(INDIRECT, encoding="utf-8")
    project.land(FEED, FIRST)
    return project


def rows_of(project: Project, mart: str) -> list[tuple[int, str]]:
    return sorted((row["id"], row["country"]) for row in project.rows(f"{GOLD}.{mart}"))


@pytest.mark.slow
def test_overwritten_in_the_mode_of_another_thread(mode: Project) -> None:
    for number, files in enumerate((FIRST, SECOND)):
        mode.land(FEED, files)
        outcome = mode.dbt("run", "--select", f"+{STATE}", *WHOLE)
        assert not outcome.failed, outcome.messages
        assert {mart: rows_of(mode, mart) for mart in WHOLE} == dict.fromkeys(WHOLE, ROWS[number])
    assert next(folder_of_table(mode.spark, GOLD, "fct_overwritten").glob("[Cc]ountry=*"))
    mode.land(FEED, {"t+0+5.json": customers("d", 30, (1, None))})
    outcome = mode.dbt("run", "--full-refresh", "--select", f"+{STATE}", *WHOLE)
    assert not outcome.failed, outcome.messages
    assert {mart: rows_of(mode, mart) for mart in WHOLE} == {mart: [(0, "DE")] for mart in WHOLE}
    # Spelled otherwise than in the table.
    mode.edit("fct_overwritten", ("id, country", "id as ID, country"))
    assert not mode.dbt("run", "--select", "fct_overwritten").failed
    assert rows_of(mode, "fct_overwritten") == [(0, "DE")]


@pytest.mark.slow
def test_marts_that_are_views_and_tables(mode: Project) -> None:
    """And those that become another kind. A table, too, has its old rows until the new ones are there."""
    rows = sorted((row["id"], row["country"]) for row in mode.rows(f"{SILVER}.{STATE}") if not row["_is_deleted"])

    def built(*arguments: str) -> None:
        outcome = mode.dbt("run", *arguments, "--select", *KINDS)
        assert not outcome.failed, outcome.messages
        found = {name: rows_of(mode, name) for name in KINDS}
        assert found == {"fct_view": rows, "fct_table": rows, "fct_of_kinds": sorted(rows * 2)}

    built()
    mode.land(FEED, {"t+0+6.json": customers("c", 40, (40, "SE"))})
    assert not mode.dbt("run", "--select", f"+{STATE}").failed
    rows = [*rows, (40, "SE")]
    built()
    filters = ("amount > 1", "if(id = 40, raise_error('boom'), true)")
    mode.edit("fct_table", filters)
    assert mode.dbt("run", "--select", "fct_table").failed == {"fct_table"}
    assert rows_of(mode, "fct_table") == rows
    mode.edit("fct_table", filters[::-1])
    built()
    mode.edit("fct_view", ('"view"', '"table"'))
    mode.edit("fct_table", ('"table"', '"incremental"'))
    built()
    mode.edit("fct_view", ('"table"', '"incremental"'))
    mode.edit("fct_table", ('"incremental"', '"view"'))
    built("--full-refresh")


@pytest.mark.slow
def test_what_is_behind_a_mart_is_what_the_catalog_has(project_of_marts: Project) -> None:
    """A model may have been edited since its view or its table was built, and a run may select the mart alone."""
    gold = project_of_marts.folder / "models" / "gold"
    (gold / "fct_reading.sql").write_text(mart("id, country", reads="fct_read"), encoding="utf-8")

    def edited(reads: str, materialized: str) -> None:
        comment = "-- neither pipe_gold.fct_reading nor pipe_gold.fct_of_kinds"
        sql = mart("id, country", comment, reads, materialized=f'"{materialized}"')
        (gold / "fct_read.sql").write_text(sql, encoding="utf-8")

    def commits(*models: str) -> int | None:
        outcome = project_of_marts.dbt("run", "--select", *models)
        assert not outcome.failed, outcome.messages
        assert rows_of(project_of_marts, "fct_reading") == rows_of(project_of_marts, "fct_read")
        return project_of_marts.version("fct_reading")

    edited("fct_flat", "view")
    newest = commits(f"+{STATE}", "fct_flat", "fct_read", "fct_reading")
    for number, (reads, materialized) in enumerate([(STATE, "view"), ("fct_flat", "incremental")]):
        edited(reads, materialized)
        assert commits("fct_reading") == newest
        project_of_marts.spark.sql(f"insert into {GOLD}.fct_flat values ({80 + number}, 'NL')")
        before, newest = newest, commits("fct_reading")
        assert newest != before
    before, newest = newest, commits("fct_read", "fct_reading")
    assert newest != before
    edited("fct_flat", "view")
    assert commits("fct_reading") == newest


@pytest.mark.slow
def test_comment_of_an_earlier_view_hides_no_change(project_of_marts: Project) -> None:
    """The view names a table that it does not wait for, and a mart over it asks about that before it is built."""
    folder = project_of_marts.folder / "models"
    early = f'{{{{ config(materialized="view") }}}}\nselect /* not {SILVER}.{STATE} */ 1 as id\n'
    (folder / "silver" / "early.sql").write_text(early, encoding="utf-8")
    (folder / "gold" / "fct_early.sql").write_text(mart("id", reads="early"), encoding="utf-8")
    project_of_marts.edit(FEED.nodes["log"], ("{{ change_log", '{% do ref("fct_early") %}{{ change_log'))
    selected = ("--select", f"+{STATE}", "fct_flat")
    assert not project_of_marts.dbt("run", *selected).failed
    project_of_marts.land(FEED, {"t+0+7.json": customers("c", 50, (50, "DK"))})
    assert not project_of_marts.dbt("run", *selected).failed
    assert (50, "DK") in rows_of(project_of_marts, "fct_flat")


@pytest.mark.slow
def test_own_filter_of_what_is_computed_whole_is_refused(project_of_marts: Project, is_hudi: bool) -> None:
    refused = set(FILTERED) if is_hudi else {"fct_overwritten_filtered"}
    for attempt in range(2):
        project_of_marts.land(FEED, {f"t+0+2{attempt}.json": customers("c", 50, (50 + attempt, "NL"))})
        outcome = project_of_marts.dbt("run", "--select", f"+{STATE}", *FILTERED)
        assert outcome.failed == refused
        said = [outcome.messages[name] for name in refused]
        assert all("what calls is_incremental()" in message and "computed whole" in message for message in said), said
        for name in set(FILTERED) - refused:
            assert rows_of(project_of_marts, name)[-1] == (50 + attempt, "NL")


@pytest.mark.slow
def test_partitions_that_would_change_their_values_are_refused(project_of_marts: Project, is_hudi: bool) -> None:
    assert not project_of_marts.dbt("run", "--select", f"+{STATE}").failed
    (of_state,) = project_of_marts.folder.glob(f"models/**/{STATE}.sql")
    of_mart = project_of_marts.folder / "models" / "gold" / "fct_flat.sql"
    before = of_state.read_text(encoding="utf-8")
    for column in ["at", "LOCAL", "raw"] if is_hudi else ["AT", "`raw`"]:
        of_state.write_text(before.replace("config(", f'config(partition_by="{column}", ', 1), encoding="utf-8")
        of_mart.write_text(mart(f"id, {column.lower()}", partition_by=f'"{column}"'), encoding="utf-8")
        for model in (STATE, "fct_flat"):
            outcome = project_of_marts.dbt("run", "--full-refresh", "--select", model)
            assert outcome.failed == {model}
            assert "which partition_by names" in outcome.messages[model]
    assert project_of_marts.rows(f"{SILVER}.{STATE}")
    of_state.write_text(before, encoding="utf-8")


@pytest.mark.slow
def test_empty_text_stops_a_mart_in_partitions(project_of_marts: Project) -> None:
    """A partition cannot have one: it would be NULL, without a word. As the mart is changed, and as it is made."""
    marts = ["fct_overwritten", "fct_changed"]
    empty = 'if(id = 1, "", country) as country'
    files = {name: next(project_of_marts.folder.glob(f"models/**/{name}.sql")) for name in marts}
    for file in files.values():
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace("country\n", f"{empty}\n", 1), encoding="utf-8")
    project_of_marts.land(FEED, {"t+0+40.json": customers("c", 70, (1, "NL"), (7, "FR"))})
    before = {name: project_of_marts.rows(f"{GOLD}.{name}") for name in marts}
    assert not project_of_marts.dbt("run", "--select", f"+{STATE}").failed
    # Without the name of the column nothing would look for it, and the table has its partitions still.
    with_names = {name: file.read_text(encoding="utf-8") for name, file in files.items()}
    for name, file in files.items():
        file.write_text(re.sub(r', partition_by=(\[.*?\]|".*?")', "", with_names[name]), encoding="utf-8")
    outcome = project_of_marts.dbt("run", "--select", *marts)
    assert outcome.failed == set(marts)
    said = "partition_by is not given; allowed: country, as the table has it"
    assert all(said in outcome.messages[name] for name in marts), outcome.messages
    for name, file in files.items():
        file.write_text(with_names[name], encoding="utf-8")
    for arguments in ([], ["--full-refresh"]):
        outcome = project_of_marts.dbt("run", "--select", *marts, *arguments)
        assert outcome.failed == set(marts)
        assert all("partition_by names country, which is an empty text" in outcome.messages[name] for name in marts)
    assert {name: project_of_marts.rows(f"{GOLD}.{name}") for name in marts} == before
    for name, file in files.items():
        settings = 'config(meta={"cdc": {"empty_partition_value": "null"}}, '
        file.write_text(with_names[name].replace("config(", settings, 1), encoding="utf-8")
    assert not project_of_marts.dbt("run", "--select", *marts).failed
    for name in marts:
        rows = {(row["id"], row["country"]) for row in project_of_marts.rows(f"{GOLD}.{name}")}
        assert {(1, None), (7, "FR")} <= rows
