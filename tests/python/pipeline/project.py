"""The dbt project that the scenarios of the test modules are built in."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from dbt.cli.main import dbtRunner

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REPOSITORY = Path(__file__).resolve().parents[3]
SOURCE = "pipe"
BRONZE, SILVER, GOLD = "pipe_bronze", "pipe_silver", "pipe_gold"
# The repository's own models of this table, with its name replaced, are the models of every feed.
TEMPLATE_SOURCE, TEMPLATE_ENTITY = "shop", "orders"
# A hundred models of ten rows each: expressions are interpreted, since compiling takes longer than running them, and
# plans are made once, since making them anew after each shuffle takes a tenth of the time (3.5.7). Outside UTC Delta
# reads its log anew after each commit, to check a sum (3.3.3). The captures run the same macros with the defaults of
# both.
FOR_FEW_ROWS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.databricks.delta.allFilesInCrc.verificationMode.forceOnNonUTC.enabled": "false",
}
# What a table of Hudi's has besides. Its versions are times, to the millisecond.
HUDI_COLUMNS = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
    "_cdc_record_key",
)
FIRST_INSTANT = 20_000_101_000_000_000
OLD = 946_684_800  # 2000-01-01, an mtime before any other file's

Row = dict[str, Any]
Files = Mapping[str, bytes]


@dataclass(frozen=True)
class Feed:
    """One scenario: a source, its files, and the models over it.

    Attributes:
        name: of the entity, unique over all modules.
        columns: name -> Spark type, or (Spark type, `meta.cdc` of the column).
        rounds: path below the location -> content of the files that land before each round.
        key: columns of the key.
        cdc: more of `meta.cdc`.
        using: format.
        options: of the external table.
        models: which of the repository's silver models the feed has: log, state, living, quarantine, history; `hard`
            is a second state, with hard deletes, `tracked` a second history, with other arguments.
        tracked: arguments of the second history.
        location: folder below the landing root, the feed's name by default.
        fails: nodes that are expected to fail, and those that are skipped for it.
        tests: True runs the generic tests of a change log after the first round.
        built: False keeps the feed out of the rounds: the tests of its module build it themselves.
        partition_by: column that the state or the history is partitioned by, or several.
        properties: `tblproperties` of the state.
        before: what is done to the tables before a round, by its index.
        slow: True builds the feed only where tests of its module that are marked slow are run.
        recorded: True has the ledger of runs count the feed's tables; of all it would take longer than the builds.
    """

    name: str
    columns: Mapping[str, Any]
    rounds: Sequence[Files] = ()
    key: Sequence[str] = ("id",)
    cdc: Mapping[str, Any] = field(default_factory=dict)
    using: str = "json"
    options: Mapping[str, str] = field(default_factory=dict)
    models: Sequence[str] = ("log",)
    tracked: str = ""
    location: str | None = None
    fails: Sequence[str] = ()
    tests: bool = False
    built: bool = True
    before: Mapping[int, Callable[[Project], None]] = field(default_factory=dict)
    slow: bool = False
    recorded: bool = False
    on_schema_change: str = ""
    partition_by: str | Sequence[str] = ""
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def nodes(self) -> dict[str, str]:
        """Names of the dbt models by role."""
        names = {
            "log": f"stg_{SOURCE}__{self.name}",
            "state": f"slv_{SOURCE}__{self.name}_state",
            "hard": f"slv_{SOURCE}__{self.name}_hard_state",
            "living": f"slv_{SOURCE}__{self.name}",
            "quarantine": f"qrn_{SOURCE}__{self.name}",
            "history": f"slv_{SOURCE}__{self.name}_history",
            "tracked": f"slv_{SOURCE}__{self.name}_tracked_history",
        }
        return {role: names[role] for role in self.models}

    def declaration(self, landing: Path) -> dict[str, Any]:
        """The table in sources.yml."""
        columns = []
        for name, declared in self.columns.items():
            type_, cdc = declared if isinstance(declared, tuple) else (declared, None)
            columns.append({"name": name, "data_type": type_} | ({"config": {"meta": {"cdc": cdc}}} if cdc else {}))
        external: dict[str, Any] = {"location": str(landing / (self.location or self.name)), "using": self.using}
        if self.options:
            external["options"] = dict(self.options)
        return {
            "name": self.name,
            "identifier": f"{SOURCE}__{self.name}",
            "external": external,
            "config": {"meta": {"cdc": {"key": list(self.key), "quarantine": {"fail_above": "100 %"}, **self.cdc}}},
            "columns": columns,
        }

    def model_sql(self, role: str) -> str:
        """The repository's own model of that role, for this feed."""
        template = self.nodes[role].replace("_hard_state", "_state").replace("_tracked_history", "_history")
        template = template.replace(f"{SOURCE}__{self.name}", f"{TEMPLATE_SOURCE}__{TEMPLATE_ENTITY}")
        path = REPOSITORY / "models" / "silver" / TEMPLATE_SOURCE / f"{template}.sql"
        sql = path.read_text(encoding="utf-8")
        sql = sql.replace(f'source("{TEMPLATE_SOURCE}", "{TEMPLATE_ENTITY}")', f'source("{SOURCE}", "{self.name}")')
        sql = sql.replace(f"{TEMPLATE_SOURCE}__{TEMPLATE_ENTITY}", f"{SOURCE}__{self.name}")
        settings: dict[str, Any] = {"enabled": True}
        if self.on_schema_change:
            settings["on_schema_change"] = self.on_schema_change
        if self.partition_by and role in ("state", "history"):
            settings["partition_by"] = self.partition_by
        if self.properties and role == "state":
            settings["tblproperties"] = dict(self.properties)
        if role in ("state", "hard"):
            settings["meta"] = {"cdc": {"delete_policy": "hard" if role == "hard" else "soft"}}
        if role == "tracked":
            sql = sql.replace(f'__{self.name}"))', f'__{self.name}"), {self.tracked})')
        if role not in ("living", "quarantine"):
            said = ", ".join(f"{name}={json.dumps(value)}" for name, value in settings.items())
            sql = f"{{{{ config({said}) }}}}\n{sql}"
        return sql


@dataclass(frozen=True)
class Outcome:
    """What one dbt command did.

    Attributes:
        status: node name -> status; tests under their own long names.
        messages: node name -> message.
        error: what stopped the command as a whole, empty if nothing did.
        printed: everything that dbt printed.
        statements: node name -> what it sent to Spark, in order.
    """

    status: dict[str, str]
    messages: dict[str, str]
    error: str
    printed: str
    statements: Mapping[str, Sequence[str]]

    @property
    def failed(self) -> set[str]:
        """Names of the nodes that did not pass; the error, where dbt came to none."""
        nodes = {name for name, status in self.status.items() if status not in ("success", "pass", "warn", "no-op")}
        return nodes | ({self.error} - {""})


class Project:
    """A dbt project over some feeds, built round by round; a round lands files and is one `dbt build`."""

    def __init__(
        self,
        folder: Path,
        spark: SparkSession,
        feeds: Sequence[Feed],
        profile: Mapping[str, Any],
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """Writes the project and builds nothing.

        Args:
            folder: empty folder for the project and the landed files.
            spark: the shared session.
            feeds: the scenarios.
            profile: the repository's profiles.yml, environment resolved.
            variables: dbt's, on each command line.
        """
        self.spark = spark
        self.variables = json.dumps(dict(variables or {}))
        self.feeds = {feed.name: feed for feed in feeds}
        assert len(self.feeds) == len(feeds), "two feeds have one name"
        self.folder = folder / "project"
        self.landing = folder / "landing"
        self.more_models: list[str] = []
        self.more_files: list[Files] = []
        self.externals: dict[str, Mapping[str, Any]] = {}
        self.versions: list[dict[str, int]] = []
        self.ledgers: list[list[Row]] = []
        self.outcomes: list[Outcome] = []
        self._read: dict[tuple[str, int | None], list[Row]] = {}
        self._kept: dict[tuple[str, int], list[Row]] = {}
        self.folder.mkdir(parents=True)
        # Copies, so that all rounds are built by the same macros while somebody edits them.
        shutil.copytree(REPOSITORY / "macros", self.folder / "macros")
        shutil.copytree(REPOSITORY / "tests" / "generic", self.folder / "tests" / "generic")
        _write_yaml(self.folder / "profiles.yml", profile)
        recorded = [name for feed in feeds if feed.recorded for name in feed.nodes.values()]
        _write_yaml(self.folder / "dbt_project.yml", _project(recorded))
        self.declare()
        for feed in feeds:
            self._write_models(feed)
            (self.landing / (feed.location or feed.name)).mkdir(parents=True, exist_ok=True)

    def declare(self, **changed: Mapping[str, Any]) -> None:
        """Writes sources.yml; `changed` has other `external` blocks by feed, from now on."""
        self.externals |= changed
        tables = []
        for feed in self.feeds.values():
            table = feed.declaration(self.landing)
            tables.append(table | {"external": table["external"] | dict(self.externals.get(feed.name, {}))})
        # The files of most scenarios have any names; those that are about offsets ask for them.
        cdc = {"connector": "postgresql", "shape": "envelope", "on_gap": "ignore", "on_overlap": "ignore"}
        source = {"name": SOURCE, "schema": BRONZE, "config": {"meta": {"cdc": cdc}}, "tables": tables}
        _write_yaml(self.folder / "models" / "_sources.yml", {"version": 2, "sources": [source]})

    def redeclare(self, name: str, columns: Mapping[str, Any], **cdc: Any) -> None:
        """Gives a feed other columns, and more of `meta.cdc`."""
        feed = self.feeds[name]
        self.feeds[name] = dataclasses.replace(feed, columns=columns, cdc={**feed.cdc, **cdc})
        self.declare()

    def _write_models(self, feed: Feed) -> None:
        folder = self.folder / "models" / "silver" / feed.name
        for role, name in feed.nodes.items():
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.sql").write_text(feed.model_sql(role), encoding="utf-8")
            if role == "log" and feed.tests:
                tests = ["every_line_accounted_for", "rejected_within_threshold"]
                document = {"version": 2, "models": [{"name": name, "data_tests": tests}]}
                _write_yaml(folder / f"{name}.yml", document)

    def edit(self, model: str, *changes: tuple[str, str]) -> None:
        """Replaces texts of a model, each where it is first."""
        (file,) = self.folder.glob(f"models/**/{model}.sql")
        sql = file.read_text(encoding="utf-8")
        for old, new in changes:
            assert old in sql
            sql = sql.replace(old, new, 1)
        file.write_text(sql, encoding="utf-8")

    def land(self, feed: Feed, files: Files) -> None:
        """Writes files below a feed's location. ``name@old`` has an mtime before any other's."""
        _write_files(self.landing / (feed.location or feed.name), files)

    def build_rounds(self) -> None:
        """Every round that a feed, or what a module has added, has files for."""
        for number in range(max(len(rounds) for rounds in [self.more_files, *(f.rounds for f in self.feeds.values())])):
            self.build_round(number)

    def build_round(self, number: int) -> None:
        """Lands the files of one round, and builds the feeds that have one."""
        feeds = [feed for feed in self.feeds.values() if feed.built and number < len(feed.rounds)]
        for feed in feeds:
            if number in feed.before:
                feed.before[number](self)
            self.land(feed, feed.rounds[number])
        models = [name for feed in feeds for name in feed.nodes.values()]
        if number < len(self.more_files):
            _write_files(self.landing, self.more_files[number])
            models += self.more_models
        if number:
            # The tests have run over the first files; here the rows count.
            outcome = self.dbt("build", "--select", *models, "--exclude", "resource_type:test")
        else:
            outcome = self.dbt("build", "--select", *models)
        expected = {name for feed in feeds for name in feed.fails}
        unexpected = {
            name: outcome.messages.get(name, name)
            for name in outcome.failed
            if not any(name.startswith(prefix) for prefix in expected)
        }
        assert not unexpected, unexpected
        assert not outcome.error, outcome.error
        self.outcomes.append(outcome)
        self.versions.append({name: version for name in models if (version := self.version(name)) is not None})
        self._keep_instants(self.versions[-1])
        self.ledgers.append(self.rows(f"{SILVER}.cdc_file_ledger"))

    def dbt(self, command: str, *arguments: str) -> Outcome:
        """Runs dbt on this project, in this process."""
        self._read.clear()
        printed = io.StringIO()
        statements: dict[str, list[str]] = {}

        def note(event: Any) -> None:
            if event.info.name == "SQLQuery":
                statements.setdefault(event.data.node_info.node_name, []).append(event.data.sql)

        with contextlib.redirect_stdout(printed), self._settings_of_a_run():
            result = dbtRunner(callbacks=[note]).invoke(
                [
                    "--no-use-colors",
                    # Nobody reads the manifest, and writing it, twice, is a quarter of a run of one model (dbt 1.11).
                    "--no-write-json",
                    command,
                    *("--project-dir", str(self.folder)),
                    *("--profiles-dir", str(self.folder)),
                    *("--vars", self.variables),
                    *arguments,
                ]
            )
        nodes = getattr(result.result, "results", None) or []
        return Outcome(
            {node.node.name: str(node.status) for node in nodes if getattr(node, "node", None)},
            {node.node.name: str(node.message) for node in nodes if getattr(node, "node", None)},
            str(result.exception or ("" if result.success or any(map(_is_node, nodes)) else "failed")),
            printed.getvalue(),
            statements,
        )

    @contextlib.contextmanager
    def _settings_of_a_run(self) -> Iterator[None]:
        """Those for few rows. What the macros leave ends with the run, as with the process of a plain one.

        Spark looks for secrets in all settings before each execution: a fifth of the time after five rounds.
        """
        for name, value in FOR_FEW_ROWS.items():
            self.spark.conf.set(name, value)
        before = self._own_settings()
        try:
            yield
        finally:
            for name in FOR_FEW_ROWS.keys() | self._own_settings() - before:
                self.spark.conf.unset(name)

    def _own_settings(self) -> set[str]:
        return {row["key"] for row in self.spark.sql("set").collect() if row["key"].startswith("alluvium.")}

    def version(self, model: str) -> int | None:
        """Newest version or instant of a table, None for a view or no table. Reads names only, so it costs nothing."""
        table = folder_of_table(self.spark, _schema(model), model)
        names = [path.stem for path in (table / "_delta_log").glob("*.json")]
        # An instant of Hudi's that is complete: when it began, when it ended.
        names += [path.stem.partition("_")[0] for path in (table / ".hoodie" / "timeline").glob("*_*.*commit")]
        return max((int(name) for name in names if name.isdigit()), default=None)

    def log(self, feed: str, after_round: int | None = None) -> list[Row]:
        """Rows of a change log, in file and line order; as they are, or as they were after a round."""
        rows = self._rows(self.feeds[feed].nodes["log"], after_round)
        return sorted(rows, key=lambda row: (row["_cdc_file_path"], row["_cdc_line"], row["_cdc_batch"]))

    def state(self, feed: str, after_round: int | None = None, role: str = "state") -> list[Row]:
        """Rows of a state, tombstones included."""
        return self._rows(self.feeds[feed].nodes[role], after_round)

    def history(self, feed: str, after_round: int | None = None, role: str = "history") -> list[Row]:
        """Versions of a history, by position."""
        rows = self._rows(self.feeds[feed].nodes[role], after_round)
        return sorted(rows, key=lambda row: str(row["_cdc_position"]))

    def current_rows(self, feed: str, after_round: int | None = None) -> list[Row]:
        """Rows of a state that are not deleted."""
        return [row for row in self.state(feed, after_round) if not row["_is_deleted"]]

    def current_versions(self, feed: str, after_round: int | None = None) -> list[Row]:
        """Versions of a history that nothing has ended, by position."""
        return [row for row in self.history(feed, after_round) if row["_is_current"]]

    def living(self, feed: str) -> list[Row]:
        """Rows of the live view, as it is now."""
        return self._rows(self.feeds[feed].nodes["living"], None)

    def quarantine(self, feed: str) -> list[Row]:
        """Rows of the quarantine, as it is now, in file and line order."""
        rows = self._rows(self.feeds[feed].nodes["quarantine"], None)
        return sorted(rows, key=lambda row: (row["_cdc_file_path"], row["_cdc_line"]))

    def ledger(self, feed: str, after_round: int = 0) -> list[Row]:
        """Rows of the ledger of applied files for one change log as they were after a round, by batch and path."""
        log = f"{SILVER}.{self.feeds[feed].nodes['log']}"
        rows = [row for row in self.ledgers[after_round] if row["change_log"] == log]
        return sorted(rows, key=lambda row: (row["batch"], row["file_path"]))

    def _rows(self, model: str, after_round: int | None) -> list[Row]:
        version = None if after_round is None else self.versions[after_round][model]
        return self.rows(f"{SILVER}.{model}", version)

    def rows(self, relation: str, version: int | None = None) -> list[Row]:
        """All rows of a relation; dates and times as text in UTC, bytes as bytes, the rest as Spark gives it."""
        if version is not None and (relation, version) in self._kept:
            return self._kept[relation, version]
        if (relation, version) not in self._read:
            # A build may have left another time zone in the session, and text of timestamps is in the session's.
            self.spark.conf.set("spark.sql.session.timeZone", "UTC")
            if version is not None and version < FIRST_INSTANT:
                # Through a view, since Hudi's parser would take the query (1.2.0).
                view = "as_of_" + relation.replace(".", "_")
                self.spark.sql(
                    f"create or replace temporary view {view} as select * from {relation} version as of {version}"
                )
                relation_then = view
            else:
                assert version is None, f"{relation} was not read when it was at {version}"
                relation_then = relation
            frame = self.spark.table(relation_then)
            frame = frame.drop(*(name for name in frame.columns if name in HUDI_COLUMNS))
            shown = frame.selectExpr(*(f"{_shown(name, type_)} as `{name}`" for name, type_ in frame.dtypes))
            self._read[relation, version] = [
                {
                    name: bytes(value) if isinstance(value, bytearray) else value
                    for name, value in row.asDict(recursive=True).items()
                }
                for row in shown.collect()
            ]
        return self._read[relation, version]

    def _keep_instants(self, versions: Mapping[str, int]) -> None:
        """Reads what Hudi's tables hold now: one that is built anew forgets its commits."""
        for model, version in versions.items():
            if version > FIRST_INSTANT:
                relation = f"{_schema(model)}.{model}"
                self._kept[relation, version] = self.rows(relation)


MakeProject = Callable[[str, Sequence[Feed]], Project]
"""Makes a project of a name and of feeds, not yet built."""


def folder_of_table(spark: SparkSession, schema: str, table: str) -> Path:
    """Where the files of a table are, or would be."""
    warehouse = Path(str(spark.conf.get("spark.sql.warehouse.dir")).removeprefix("file:"))
    return warehouse / f"{schema}.db" / table.lower()


def _schema(model: str) -> str:
    return GOLD if model.startswith(("dim_", "fct_", "agg_")) else SILVER


def _is_node(result: Any) -> bool:
    """False for the result of a macro that `run-operation` ran."""
    return getattr(result, "node", None) is not None


def _write_files(folder: Path, files: Files) -> None:
    for name, content in files.items():
        path = folder / name.removesuffix("@old")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        if name.endswith("@old"):
            os.utime(path, (OLD, OLD))


def _shown(name: str, type_: str) -> str:
    if type_ in ("date", "timestamp", "timestamp_ntz"):
        return f"cast(`{name}` as string)"
    if type_ in ("array<date>", "array<timestamp>", "array<timestamp_ntz>"):
        return f"cast(`{name}` as array<string>)"
    return f"`{name}`"


def _project(recorded: Sequence[str]) -> dict[str, Any]:
    project: dict[str, Any] = yaml.safe_load((REPOSITORY / "dbt_project.yml").read_text(encoding="utf-8"))
    for paths in [key for key in project if key.endswith("-paths")]:
        del project[paths]
    project |= {"model-paths": ["models"], "macro-paths": ["macros"], "test-paths": ["tests"]}
    # Schemas of their own, since the Spark session of the tests is shared.
    project["models"]["alluvium"]["silver"]["+schema"] = SILVER
    project["models"]["alluvium"]["gold"]["+schema"] = GOLD
    project["vars"] = {"alluvium_ledger_schema": SILVER}
    of_recorded = f"results | selectattr('node.name', 'in', {list(recorded)}) | list"
    project["on-run-end"] = [
        hook.replace("record_run(results)", f"record_run({of_recorded})") for hook in project["on-run-end"]
    ]
    return project


def _write_yaml(path: Path, document: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True), encoding="utf-8")
