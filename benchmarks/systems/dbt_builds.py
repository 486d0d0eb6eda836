"""The systems that dbt builds: Alluvium, and dbt-spark's own incremental merge."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from alluvium.builds.kept_manifest import KeptManifest
from benchmarks import alluvium_build
from benchmarks.generator import FORMATS
from benchmarks.project import CHANGE_LOG, ENTITY, LIVING, STATE, copy_profile, write_project, write_yaml
from benchmarks.systems.on_spark import SparkSystem
from benchmarks.systems.records import events_sql, latest_sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from benchmarks.systems.base import Place


class DbtSystem(SparkSystem):
    """A dbt project of its own for the table.

    Attributes:
        arguments: further ones of `dbt build`.
    """

    schema = "silver"
    arguments: ClassVar[tuple[str, ...]] = ()

    def __init__(self, place: Place, session: SparkSession) -> None:
        super().__init__(place, session)
        self.project = place.home / f"{place.entity}_project"

    def apply(self) -> dict[str, Any]:
        """Runs `dbt build`; returns seconds by model."""
        return {"models": alluvium_build.build(self.project, *self.arguments)["models"]}


class Alluvium(DbtSystem):
    """Change log, state and current rows, as `models/` has them; built as `alluvium run` builds."""

    title = "Alluvium"
    models: ClassVar[tuple[str, ...]] = (CHANGE_LOG, STATE, LIVING)

    def __init__(self, place: Place, session: SparkSession) -> None:
        super().__init__(place, session)
        self.table = f"silver.{LIVING.replace(ENTITY, place.entity)}"
        self._manifest = KeptManifest()

    def apply(self) -> dict[str, Any]:
        """As `DbtSystem.apply`; dbt parses the project in the first build alone."""
        with self._manifest.used():
            return super().apply()

    def prepare(self) -> None:
        """Writes the project, unless an earlier process has."""
        if not self.project.exists():
            kind = FORMATS[self.place.shape.format]
            shape = "flattened" if kind.is_flattened else "envelope"
            write_project(
                self.project,
                self.place.location,
                (self.place.entity,),
                self.models,
                columns=self.place.shape.types,
                using=kind.reader,
                cdc={"shape": shape},
            )

    def maintain(self) -> None:
        """Compacts all tables, ledgers included."""
        arguments = json.dumps({"dry_run": False})
        alluvium_build.invoke(self.project, "run-operation", "compact_tables", "--args", arguments, *self.arguments)


class AlluviumOnHudi(Alluvium):
    """As `Alluvium`, its state a Hudi table (Merge on Read)."""

    title = "Alluvium on Hudi, Merge on Read"
    environment: ClassVar[Mapping[str, str]] = {"ALLUVIUM_FILE_FORMAT": "hudi"}
    arguments = ("--vars", '{"hudi_table_type": "mor"}')


class StockDbt(DbtSystem):
    """dbt's incremental model with `unique_key`, as its documentation shows it; deleted rows are flagged."""

    title = "dbt's incremental merge"

    @property
    def current_rows(self) -> str:
        """The rows that are not deleted."""
        return f"(select * from {self.table} where not deleted)"

    def prepare(self) -> None:
        """Writes the project, unless an earlier process has."""
        if self.project.exists():
            return
        write_yaml(
            self.project / "dbt_project.yml",
            {
                "name": "stock",
                "version": "1.0.0",
                "profile": "alluvium",
                "flags": {"send_anonymous_usage_stats": False},
            },
        )
        copy_profile(self.project)
        (self.project / "models").mkdir()
        (self.project / "models" / f"{self.place.entity}.sql").write_text(self._model(), encoding="utf-8")

    def maintain(self) -> None:
        """OPTIMIZE of the table."""
        self.session.sql(f"optimize {self.table}")

    def _model(self) -> str:
        shape, location = self.place.shape, self.place.location
        reader = FORMATS[shape.format].reader
        files = f"{'text' if reader == 'json' else reader}.`{location}`"
        extra = ", file_time"
        latest = latest_sql(shape, "events", f"{extra}, op = 'd' as deleted")
        return f"""{{{{ config(
    materialized="incremental",
    incremental_strategy="merge",
    unique_key="id",
    file_format="delta",
    tblproperties={{"delta.enableDeletionVectors": "true"}},
) }}}}

with records as (
    select *, _metadata.file_modification_time as file_time
    from {files}
    {{% if is_incremental() %}}
    where _metadata.file_modification_time > (select max(file_time) from {{{{ this }}}})
    {{% endif %}}
),

events as (
    {events_sql(shape, "records", extra)}
)

{latest}
"""
