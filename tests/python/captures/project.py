"""Writes a dbt project for the recorded corpora: their sources, and the silver models of every table.

The macros are the repository's own, its ``dbt_project.yml`` is the template for everything but the paths and the
schemas, and a model is what a user of the project writes: a configuration and one macro call.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from .corpora import Column, Corpus, Layout, Table
from .landing import location, tables_of

REPOSITORY = Path(__file__).resolve().parents[3]
# The models of this table, with its names replaced, are the models of every recorded table.
TEMPLATE_SOURCE, TEMPLATE_ENTITY = "shop", "orders"
BRONZE_SCHEMA = "captures_bronze"
SILVER_SCHEMA = "captures_silver"


@dataclass(frozen=True)
class Feed:
    """One layout of one corpus, as a dbt source.

    Attributes:
        corpus: the corpus.
        layout: the layout.
        landing: folder that its files are landed in.
    """

    corpus: Corpus
    layout: Layout
    landing: Path

    @property
    def source(self) -> str:
        """Name of the dbt source, unique over all corpora."""
        return self.corpus.source_name(self.layout)

    def change_log(self, table: Table) -> str:
        """Name of a table's change log model."""
        return f"stg_{self.source}__{table.entity}"

    def state(self, table: Table) -> str:
        """Name of a table's state model, tombstones included."""
        return f"slv_{self.source}__{table.entity}_state"

    def living(self, table: Table) -> str:
        """Name of a table's model of living rows."""
        return f"slv_{self.source}__{table.entity}"

    def models(self, table: Table) -> dict[str, str]:
        """SQL of a table's models by name."""
        others = [self.change_log(other) for other in self._snapshotted_with(table)]
        state = _model_sql(self.source, table.entity, self.state(table))
        if others:
            references = ", ".join(f'ref("{name}")' for name in others)
            state = _replaced(state, '"))', f'"), snapshotted_with=[{references}])')
        return {
            self.change_log(table): _model_sql(self.source, table.entity, self.change_log(table)),
            **{
                self.change_log(other): _model_sql(self.source, other.entity, self.change_log(other))
                for other in self._snapshotted_with(table)
            },
            self.state(table): state,
            self.living(table): _model_sql(self.source, table.entity, self.living(table)),
        }

    def _snapshotted_with(self, table: Table) -> list[Table]:
        """A table that is empty when it is snapshotted anew has no event of it, the others have."""
        if not self.corpus.is_snapshotted_anew:
            return []
        return [other for other in tables_of(self.corpus, self.layout) if other != table]


def _model_sql(source: str, entity: str, name: str) -> str:
    """The repository's own model of that role, with the names of another table."""
    template = name.replace(f"{source}__{entity}", f"{TEMPLATE_SOURCE}__{TEMPLATE_ENTITY}")
    path = REPOSITORY / "models" / "silver" / TEMPLATE_SOURCE / f"{template}.sql"
    sql = path.read_text(encoding="utf-8")
    quoted = f'source("{TEMPLATE_SOURCE}", "{TEMPLATE_ENTITY}")'
    renamed = sql.replace(quoted, f'source("{source}", "{entity}")')
    renamed = renamed.replace(f"{TEMPLATE_SOURCE}__{TEMPLATE_ENTITY}", f"{source}__{entity}")
    if renamed == sql:
        raise ValueError(f"{path} does not name {TEMPLATE_SOURCE} and {TEMPLATE_ENTITY} as expected")
    return renamed


def _replaced(text: str, old: str, new: str) -> str:
    if old not in text:
        raise ValueError(f"{text!r} has no {old!r}")
    return text.replace(old, new)


def write_project(root: Path, feeds: Iterable[Feed]) -> None:
    """Writes the project into an empty folder.

    Args:
        root: folder, which exists.
        feeds: what to declare; their landing folders need not exist yet.
    """
    # A copy, so that all checkpoints are built by the same macros while somebody edits them.
    shutil.copytree(REPOSITORY / "macros", root / "macros")
    _write_yaml(root / "dbt_project.yml", _project())
    for feed in feeds:
        bronze = root / "models" / "bronze" / feed.source
        silver = root / "models" / "silver" / feed.source
        bronze.mkdir(parents=True)
        silver.mkdir(parents=True)
        _write_yaml(bronze / f"_{feed.source}__sources.yml", {"version": 2, "sources": [_source(feed)]})
        for table in tables_of(feed.corpus, feed.layout):
            for name, sql in feed.models(table).items():
                (silver / f"{name}.sql").write_text(sql, encoding="utf-8")


def _project() -> dict[str, Any]:
    project: dict[str, Any] = yaml.safe_load((REPOSITORY / "dbt_project.yml").read_text(encoding="utf-8"))
    for paths in [key for key in project if key.endswith("-paths")]:
        del project[paths]
    project |= {"model-paths": ["models"], "macro-paths": ["macros"], "clean-targets": ["target"]}
    # Schemas of their own, since the Spark session of the tests is shared.
    # What the runs did is not compared, so it is not recorded.
    project["on-run-end"] = ["{{ alluvium.release_session(results) }}"]
    project["models"]["alluvium"]["silver"]["+schema"] = SILVER_SCHEMA
    project["vars"] = {"alluvium_ledger_schema": SILVER_SCHEMA}
    return project


def _source(feed: Feed) -> dict[str, Any]:
    corpus, layout = feed.corpus, feed.layout
    cdc = {
        "connector": corpus.engine,
        "shape": corpus.shape,
        "layout": layout.sink,
        "store_envelope": layout.store_envelope,
        "time_precision_mode": corpus.time_precision_mode,
        "decimal_handling_mode": corpus.decimal_handling_mode,
        # No recorded event contradicts the key of its table.
        "on_key_conflict": "fail",
    }
    return {
        "name": feed.source,
        "schema": BRONZE_SCHEMA,
        "config": {"meta": {"cdc": cdc}},
        "tables": [_table(feed, table) for table in tables_of(corpus, layout)],
    }


def _table(feed: Feed, table: Table) -> dict[str, Any]:
    folder, glob = location(feed.corpus, feed.layout, table.topic)
    external: dict[str, Any] = {"location": str(feed.landing / folder), "using": feed.layout.using}
    if glob is not None:
        external["options"] = {"pathGlobFilter": glob}
    return {
        "name": table.entity,
        "identifier": f"{feed.source}__{table.entity}",
        "config": {"meta": {"cdc": {"key": list(table.key)} | _identity(table)}},
        "external": external,
        "columns": [_column(column) for column in table.columns],
    }


def _identity(table: Table) -> dict[str, str]:
    return {} if table.replica_identity is None else {"replica_identity": table.replica_identity}


def _column(column: Column) -> dict[str, Any]:
    declared: dict[str, Any] = {"name": column.name, "data_type": column.spark_type}
    if column.meta:
        declared["config"] = {"meta": {"cdc": column.meta}}
    return declared


def _write_yaml(path: Path, document: dict[str, Any]) -> None:
    path.write_text(yaml.safe_dump(document, sort_keys=False, allow_unicode=True), encoding="utf-8")
