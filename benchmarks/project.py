"""The dbt project of the tables that are built: this repository's macros, and its models under other names."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from benchmarks.generator import COLUMNS

REPOSITORY = Path(__file__).resolve().parents[1]
# The models of this table, with its names replaced, are the models of the benchmark.
TEMPLATE_SOURCE, TEMPLATE_ENTITY = "shop", "orders"
SOURCE, ENTITY = "bench", "accounts"
CHANGE_LOG = f"stg_{SOURCE}__{ENTITY}"
STATE = f"slv_{SOURCE}__{ENTITY}_state"
LIVING = f"slv_{SOURCE}__{ENTITY}"


@contextmanager
def working_folder(name: str, directory: Path | None = None, *, keep: bool = False) -> Iterator[Path]:
    """A new folder, which goes when the benchmark has ended.

    Args:
        name: of the benchmark.
        directory: for the folder; the system's temporary directory by default.
        keep: whether the folder stays, and where is told.
    """
    if directory:
        directory.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"alluvium-{name}-", dir=directory))
    try:
        yield folder
    finally:
        if keep:
            print(f"Kept in {folder}.")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def write_project(
    folder: Path,
    location: Path,
    entities: Sequence[str] = (ENTITY,),
    models: Sequence[str] = (CHANGE_LOG, STATE, LIVING),
    *,
    columns: Mapping[str, str] = COLUMNS,
    using: str = "json",
    cdc: Mapping[str, Any] | None = None,
) -> None:
    """Writes the project.

    Args:
        folder: for the project, made here.
        location: folder that the files land in; of several entities, below it in a folder each.
        entities: names of the tables, which have the same columns.
        models: names of the models that each has, as those of `ENTITY`.
        columns: Spark types by column.
        using: format of the files: json, avro or parquet.
        cdc: further options of `meta.cdc`.
    """
    folder.mkdir(parents=True)
    shutil.copytree(REPOSITORY / "macros", folder / "macros")
    copy_profile(folder)
    project: dict[str, Any] = yaml.safe_load((REPOSITORY / "dbt_project.yml").read_text(encoding="utf-8"))
    for paths in [key for key in project if key.endswith("-paths")]:
        del project[paths]
    del project["models"]["alluvium"]["gold"]  # else dbt warns of a configuration that nothing uses
    write_yaml(folder / "dbt_project.yml", project | {"model-paths": ["models"], "macro-paths": ["macros"]})
    write_yaml(
        folder / "models" / "bronze" / "_bench__sources.yml", _sources(location, entities, columns, using, cdc or {})
    )
    (folder / "models" / "silver").mkdir()
    for model in models:
        sql = _model_sql(model)
        for entity in entities:
            path = folder / "models" / "silver" / f"{model.replace(ENTITY, entity)}.sql"
            path.write_text(
                sql.replace(f"{SOURCE}__{ENTITY}", f"{SOURCE}__{entity}").replace(f'"{ENTITY}"', f'"{entity}"'),
                encoding="utf-8",
            )


def _model_sql(model: str) -> str:
    template = model.replace(f"{SOURCE}__{ENTITY}", f"{TEMPLATE_SOURCE}__{TEMPLATE_ENTITY}")
    path = REPOSITORY / "models" / "silver" / TEMPLATE_SOURCE / f"{template}.sql"
    sql = path.read_text(encoding="utf-8")
    renamed = sql.replace(f'source("{TEMPLATE_SOURCE}", "{TEMPLATE_ENTITY}")', f'source("{SOURCE}", "{ENTITY}")')
    renamed = renamed.replace(f"{TEMPLATE_SOURCE}__{TEMPLATE_ENTITY}", f"{SOURCE}__{ENTITY}")
    if renamed == sql:
        raise ValueError(f"{path} does not name {TEMPLATE_SOURCE} and {TEMPLATE_ENTITY} as expected")
    return renamed


def _sources(
    location: Path, entities: Sequence[str], columns: Mapping[str, str], using: str, cdc: Mapping[str, Any]
) -> dict[str, Any]:
    options = {
        "connector": "postgresql",
        "shape": "envelope",
        "key": ["id"],
        # The plain script would need a decoder of its own for Debezium's default, base64.
        "decimal_handling_mode": "string",
    }
    tables = [
        {
            "name": entity,
            "identifier": f"{SOURCE}__{entity}",
            "external": {"location": str(location if len(entities) == 1 else location / entity), "using": using},
            "config": {"meta": {"cdc": options | dict(cdc)}},
            "columns": [{"name": name, "data_type": data_type} for name, data_type in columns.items()],
        }
        for entity in entities
    ]
    return {"version": 2, "sources": [{"name": SOURCE, "schema": "bronze", "tables": tables}]}


def copy_profile(folder: Path) -> None:
    """Puts the repository's profile into a project; makes the folder if it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(REPOSITORY / "profiles.yml", folder / "profiles.yml")


def write_yaml(path: Path, document: Mapping[str, Any]) -> None:
    """Writes a document; makes the folder if it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(dict(document), sort_keys=False), encoding="utf-8")
