"""Renders one macro of this project as dbt would, with stubs for whatever would talk to a database.

The Jinja environment, the extraction of macros and ``return`` are dbt's own, so that a macro means here what it means
in a run. A query that a test has not announced fails it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from dbt.adapters.contracts.relation import RelationType
from dbt.adapters.spark.relation import SparkRelation
from dbt.context.base import generate_base_context
from dbt.context.exceptions_jinja import wrapped_exports
from dbt_common.clients._jinja_blocks import BlockTag
from dbt_common.clients.jinja import CallableMacroGenerator, extract_toplevel_blocks
from dbt_common.exceptions import CompilationError
from sqlfluff.core import FluffConfig, Linter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REPOSITORY = Path(__file__).resolve().parents[3]
MACROS = REPOSITORY / "macros"
PACKAGE = "alluvium"
INVOCATION = "ab12-cd34"

# What a model is, by a pattern of its name; the first that fits.
KINDS = {
    r"stg_": "change_log",
    r".*_state$": "state",
    r".*_history$": "history",
    r"slv_": "current_rows",
    r"qrn_": "rejected_rows",
}
KINDS_OF_MARTS = {"merge": "incremental_mart", "insert_overwrite": "mart"}

# Macros of dbt's that a strategy of this project stands for, and their packages.
DBTS_OWN = {
    "get_insert_into_sql": "dbt_spark",
    "get_insert_overwrite_sql": "dbt_spark",
    "get_merge_sql": "dbt",
    "should_full_refresh": "dbt",
    "spark__alter_relation_add_remove_columns": "dbt_spark",
    "spark__create_table_as": "dbt_spark",
    "spark__drop_relation": "dbt_spark",
    "spark__get_merge_sql": "dbt_spark",
}


@dataclass
class Macro:
    """One macro.

    Attributes:
        name: its name.
        path: its file.
        macro_sql: its text from ``{% macro`` to ``endmacro %}``; the name is dbt's.
    """

    name: str
    path: Path
    macro_sql: str

    @property
    def body(self) -> str:
        """What is between the two tags."""
        match = re.fullmatch(r"{%.*?%}(.*){%.*?%}", self.macro_sql, re.DOTALL)
        assert match is not None
        return match[1]


@cache
def all_macros() -> Mapping[str, Macro]:
    """Every macro below ``macros/`` by name."""
    macros: dict[str, Macro] = {}
    for path in sorted(MACROS.rglob("*.sql")):
        for block in extract_toplevel_blocks(path.read_text("utf-8"), allowed_blocks={"macro"}, collect_raw_data=False):
            assert isinstance(block, BlockTag)
            assert block.block_name not in macros, f"two macros are called {block.block_name}"
            macros[block.block_name] = Macro(block.block_name, path, block.full_block or "")
    return macros


def relation(identifier: str, schema: str = "silver") -> SparkRelation:
    """What ``ref()`` or ``source()`` returns."""
    created: SparkRelation = SparkRelation.create(schema=schema, identifier=identifier)
    return created


def kind_of(name: str, strategy: str | None = None) -> str | None:
    """What a model is, by its name, or that of a mart by its strategy."""
    found = (kind for pattern, kind in KINDS.items() if re.match(pattern, name))
    return next(found, KINDS_OF_MARTS.get(strategy or ""))


def fold(text: str) -> str:
    """The text on one line, every run of blanks as one; the blanks inside brackets go."""
    folded = re.sub(r"\s+", " ", text).strip()
    return re.sub(r"(?<=\() | (?=\))", "", folded)


@dataclass(frozen=True)
class _Row:
    """A row of a query's result, as agate's rows are read."""

    values: Mapping[str, Any]

    def dict(self) -> dict[str, Any]:
        return dict(self.values)


class _Config(dict[str, Any]):
    """A model's configuration. While dbt parses it has what the model and its folder give, and macros may add to it."""

    def __init__(self, given: Mapping[str, Any], added: list[dict[str, Any]], **settings: Any) -> None:
        super().__init__({**given, **settings})
        self.context_config = SimpleNamespace(build_config_dict=lambda rendered=True: dict(given))
        self._added = added

    def __call__(self, *settings: Mapping[str, Any], **named: Any) -> str:
        self._added.append(dict(*settings, **named))
        return ""

    def persist_relation_docs(self) -> bool:
        """As dbt's."""
        return bool(self["persist_docs"].get("relation"))


class _Graph(dict[str, Any]):
    """dbt's graph: one dictionary, whose keys Jinja also takes as attributes."""

    __getattr__ = dict.__getitem__


class _RunState(dict[str, Any]):
    """What the parts of a run leave for each other, by `kind of schema.table`."""

    answers: Mapping[str, Sequence[Mapping[str, Any]]] = {}

    def get(self, name: str, default: Any = None) -> Any:
        """What macros have left, else what a test says that they have."""
        kind = name.partition(" of ")[0].partition(".")[0]
        return super().get(name, next((row["value"] for row in self.answers.get(f"left: {kind}", ())), default))


class _Package:
    """A package's namespace in Jinja: ``alluvium.decode_value``."""

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer

    def __getitem__(self, name: str) -> CallableMacroGenerator:
        if name not in all_macros():
            raise KeyError(name)
        return self._renderer.called(name)


@dataclass
class Renderer:
    """The context that a macro is rendered in. Set what a test needs before it renders.

    Attributes:
        which: dbt's command.
        execute: False while dbt parses.
        empty: True for ``--empty``.
        incremental: what ``is_incremental()`` says.
        this: the model's relation.
        kind: what the model is, none of a model of another kind; "" goes by its name and its strategy.
        given: what the model and its folder set, as dbt has it while it parses.
        settings: what macros have set by ``config()``, call by call.
        refs: the models that macros have named by ``ref()``.
        meta: the model's ``meta``, with its kind where it is another one than `kind`.
        strategy: the model's ``incremental_strategy``.
        materialized: the model's materialization.
        tblproperties: those of the model's config.
        on_schema_change: the model's ``on_schema_change``.
        file_format: the model's ``file_format``.
        location_root: the model's ``location_root``.
        persist_docs: the model's ``persist_docs``.
        description: the model's.
        contract: the model's ``contract``.
        asserted: queries whose columns were held against a contract.
        made: queries that dbt-spark was to make a table or a view of.
        views: identifiers of the relations that are views.
        tables_of_hudi: those that dbt knows to be Hudi's; none where it knows the format of no table.
        unique_key: the model's ``unique_key``.
        partition_by: the model's ``partition_by``.
        full_refresh: the model's ``full_refresh``.
        flag_full_refresh: True for ``--full-refresh``.
        project_name: name of the root project.
        post_hooks: SQL of the model's post-hooks, as its own SQL may have it.
        variables: the project's ``vars``.
        sources: dbt's graph of sources by unique id.
        nodes: dbt's graph of models by unique id.
        parents: unique ids that the model depends on.
        tested: unique id of the model whose unit test is rendered; none outside of unit tests.
        raw_code: the model's SQL as it was written.
        own_macros: SQL of macros of the package `theirs`, which the model calls, by name.
        selected: unique ids of the selected resources.
        root_macros: macros of the root project, where that is another one, with the macros that they call.
        columns: names of the columns that a relation has in the database, each a string.
        types: other types by relation and column.
        absent: identifiers of the relations that the database does not have.
        run_state: what the macros have left, by the name that they give it.
        answers: rows of a query, by a text that the query (whitespace folded) contains; by `set`, of that query alone;
            by `left: <kind>`, what an earlier step of the run has left, as its `value`.
        queries: the queries that ran, whitespace folded.
        spark: what runs the queries, in place of `answers`.
        messages: what was logged.
        warnings: what dbt would warn of.
    """

    which: str = "run"
    execute: bool = True
    empty: bool = False
    incremental: bool = True
    this: SparkRelation = field(default_factory=lambda: relation("stg_shop__orders"))
    kind: str | None = ""
    resource_type: str = "model"
    given: Mapping[str, Any] = field(default_factory=dict)
    settings: list[dict[str, Any]] = field(default_factory=list)
    refs: list[str] = field(default_factory=list)
    meta: Mapping[str, Any] = field(default_factory=dict)
    strategy: str = "merge"
    materialized: str = "incremental"
    tblproperties: dict[str, str] = field(default_factory=dict)
    on_schema_change: str = "append_new_columns"
    file_format: str = "delta"
    location_root: str | None = None
    persist_docs: Mapping[str, bool] = field(default_factory=dict)
    description: str = ""
    contract: Mapping[str, Any] = field(default_factory=dict)
    asserted: list[str] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    views: Collection[str] = ()
    tables_of_hudi: Collection[str] | None = None
    unique_key: str | Sequence[str] | None = None
    partition_by: Sequence[str] = ()
    full_refresh: bool | None = None
    flag_full_refresh: bool = False
    project_name: str = PACKAGE
    post_hooks: Sequence[str] = ()
    variables: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, Any] = field(default_factory=dict)
    nodes: Mapping[str, Any] = field(default_factory=dict)
    parents: Sequence[str] = ()
    tested: str | None = None
    raw_code: str = "select 1"
    own_macros: Mapping[str, str] = field(default_factory=dict)
    selected: Sequence[str] = ()
    root_macros: Mapping[str, Sequence[str]] | None = None
    columns: Sequence[str] = ()
    types: Mapping[tuple[str, str], str] = field(default_factory=dict)
    absent: Sequence[str] = ("cdc_purge_ledger",)
    run_state: _RunState = field(default_factory=lambda: _RunState())
    answers: dict[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    queries: list[str] = field(default_factory=list)
    spark: SparkSession | None = None
    messages: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    # One for all macros, brought up to date when a test renders: to make it takes longer than most macros do.
    _context: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def called(self, name: str) -> CallableMacroGenerator:
        """A macro, callable, in the context of the macro that calls it."""
        return CallableMacroGenerator(all_macros()[name], self._context)

    def render(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """What a macro returns, or the text it renders to."""
        return CallableMacroGenerator(all_macros()[name], self.context())(*args, **kwargs)

    def sql(self, name: str, /, *args: Any, **kwargs: Any) -> str:
        """The text that a macro gives, whitespace folded."""
        return fold(str(self.render(name, *args, **kwargs)))

    def does(self, name: str, /, *args: Any, **kwargs: Any) -> list[str]:
        """The queries that a macro runs, which leaves no text behind."""
        before = len(self.queries)
        assert not str(self.render(name, *args, **kwargs) or "").strip(), f"{name} leaves text behind"
        return self.queries[before:]

    def refusal(self, name: str, /, *args: Any, **kwargs: Any) -> str:
        """The error that a macro stops with, before it ran any query."""
        with pytest.raises(CompilationError) as caught:
            self.render(name, *args, **kwargs)
        assert self.queries == [], "a query ran before the refusal"
        return str(caught.value.msg)

    def _is_incremental(self) -> bool:
        assert not self.tested, "dbt's is_incremental() (1.11) fails in a unit test, which has no `this`"
        return self.incremental

    def _load_relation(self, of: SparkRelation) -> SparkRelation | None:
        assert of.schema, "dbt fails where a relation has no schema, as what is given to a unit test"
        if of.identifier in self.absent:
            return None
        is_hudi = None if self.tables_of_hudi is None else of.identifier in self.tables_of_hudi
        is_delta = None if is_hudi is None else not is_hudi
        kind = RelationType.View if of.identifier in self.views else RelationType.Table
        return of.replace(is_hudi=is_hudi, is_delta=is_delta, type=kind)

    def context(self) -> dict[str, Any]:
        """The names that a macro can use."""
        exceptions: dict[str, Any] = wrapped_exports(None)  # type: ignore[no-untyped-call] # dbt's own, without annotations
        kind = kind_of(self.this.identifier or "", self.strategy) if self.kind == "" else self.kind
        meta = {"alluvium_model": kind, **self.meta} if kind else self.meta
        context = self._context
        context |= {
            **generate_base_context({}),
            "adapter": SimpleNamespace(
                dispatch=self._dispatch,
                get_columns_in_relation=self._columns_in_relation,
                cache_added=lambda of: self.added.append(of.render()),
                drop_relation=lambda of: self._run_query(f"drop table if exists {of}"),
            ),
            "api": SimpleNamespace(Relation=SparkRelation),
            "config": _Config(
                self.given,
                self.settings,
                meta=meta,
                incremental_strategy=self.strategy,
                materialized=self.materialized,
                tblproperties=self.tblproperties,
                on_schema_change=self.on_schema_change,
                file_format=self.file_format,
                unique_key=self.unique_key,
                full_refresh=self.full_refresh,
                partition_by=self.partition_by,
                location_root=self.location_root,
                persist_docs=self.persist_docs,
                contract=SimpleNamespace(**self.contract) if self.contract else None,
            ),
            "context": {name: self._seen(name) for name in DBTS_OWN}
            | {"theirs": {name: SimpleNamespace(macro=self._own_macro(name)) for name in self.own_macros}},
            "dbt": SimpleNamespace(
                spark__get_merge_sql=lambda *_: "dbt-spark's own merge",
                spark__create_table_as=self._made_by_dbt_spark,
                spark__drop_relation=lambda *_: "dbt-spark's own drop",
                spark__alter_relation_add_remove_columns=self._altered_by_dbt_spark,
                get_insert_into_sql=lambda *_: "dbt-spark's own insert",
                get_insert_overwrite_sql=lambda *_: "dbt-spark's own overwrite",
                should_full_refresh=lambda: self.flag_full_refresh if self.full_refresh is None else self.full_refresh,
            ),
            "exceptions": SimpleNamespace(**exceptions | {"warn": self.warnings.append}),
            "execute": self.execute,
            "flags": SimpleNamespace(WHICH=self.which, EMPTY=self.empty),
            "get_assert_columns_equivalent": self.asserted.append,
            "get_select_subquery": lambda sql: sql,
            "graph": self._graph(),
            "invocation_id": INVOCATION,
            "is_incremental": self._is_incremental,
            "load_relation": self._load_relation,
            "location_clause": lambda: "",
            "log": self._log,
            "model": {
                "resource_type": self.resource_type,
                "name": self.this.identifier,
                "description": self.description,
                "alias": self.this.identifier,
                "unique_id": f"model.{self.this.identifier}",
                "depends_on": {
                    "nodes": list(self.parents),
                    "macros": [
                        "macro.dbt.is_incremental",
                        *(f"macro.theirs.{name}" for name in list(self.own_macros)[:1]),
                    ],
                },
                "raw_code": self.raw_code,
                "compiled_code": "select 1",
                "config": {
                    "materialized": self.materialized,
                    "file_format": self.file_format,
                    "meta": meta,
                    "post-hook": [{"sql": sql} for sql in self.post_hooks],
                },
            },
            "partition_cols": lambda label: f"{label} ({', '.join(self.partition_by)})" if self.partition_by else "",
            "project_name": self.project_name,
            "ref": self._ref,
            "run_query": self._run_query,
            "selected_resources": list(self.selected),
            "target": SimpleNamespace(schema="silver", name="local"),
            # dbt (1.11) has none in a unit test.
            "this": None if self.tested else self.this,
            "var": lambda name, default=None: self.variables.get(name, default),
        }
        if self.tested:
            # As dbt (1.11) has it: a name, parents and settings of its own, and no table.
            unit_test = {"resource_type": "unit_test", "tested_node_unique_id": self.tested, "name": "sums_by_name"}
            context |= {"model": unit_test, "config": _Config({}, [], materialized="unit"), "this": None}
            context["graph"] = {"sources": self.sources, "nodes": self.nodes} if self.nodes else {}
        if PACKAGE not in context:
            context[PACKAGE] = _Package(self)
            # A macro of the same package can also be called by its bare name.
            context |= {name: CallableMacroGenerator(macro, context) for name, macro in all_macros().items()}
        return context

    def _graph(self) -> _Graph:
        # What a test answers is what tables and the session have when it renders.
        asked = ("properties of ", "alluvium.", "spark.")
        self.run_state = _RunState({name: left for name, left in self.run_state.items() if not name.startswith(asked)})
        self.run_state.answers = self.answers
        return _Graph(sources=self.sources, nodes=self.nodes, alluvium={INVOCATION: self.run_state})

    def _own_macro(self, name: str) -> SimpleNamespace:
        """A macro of `own_macros`, which calls the next one."""
        names = [*self.own_macros]
        called = names[names.index(name) + 1 :][:1]
        return SimpleNamespace(
            name=name,
            macro_sql=self.own_macros[name],
            original_file_path="macros/own.sql",
            depends_on=SimpleNamespace(macros=[f"macro.theirs.{name}" for name in called]),
        )

    def _made_by_dbt_spark(self, _temporary: bool, _relation: SparkRelation, sql: str, _language: str) -> str:
        self.made.append(fold(sql))
        return "dbt-spark's own table"

    def _altered_by_dbt_spark(self, of: SparkRelation, add: Sequence[SimpleNamespace] | None, remove: object) -> str:
        columns = ", ".join(f"`{column.name}` {column.data_type}" for column in add or ())
        self.queries.append(f"alter table {of} add columns ({columns})" + (f" without {remove}" if remove else ""))
        return ""

    def _seen(self, name: str) -> SimpleNamespace:
        """What dbt's own macros find under a name: the root project's macro, else dbt's. No package's."""
        called = [f"macro.{PACKAGE}.{called}" for called in (self.root_macros or {}).get(name, ())]
        is_ours = self.root_macros is None and name in all_macros()
        package = PACKAGE if is_ours else "theirs" if name in (self.root_macros or {}) else DBTS_OWN[name]
        macro = SimpleNamespace(unique_id=f"macro.{package}.{name}", depends_on=SimpleNamespace(macros=called))
        return SimpleNamespace(macro=macro)

    def _ref(self, name: str) -> SparkRelation:
        self.refs.append(name)
        return relation(name)

    def _dispatch(self, name: str, package: str) -> SimpleNamespace:
        assert package == "dbt", f"{name} is dispatched in {package}"
        return self._seen(f"spark__{name}")

    def _columns_in_relation(self, of: SparkRelation) -> list[SimpleNamespace]:
        types = {name: self.types.get((of.identifier or "", name), "string") for name in self.columns}
        return [SimpleNamespace(name=name, dtype=dtype, data_type=dtype) for name, dtype in types.items()]

    def _log(self, message: str, info: bool = False) -> str:
        self.messages.append(message)
        return ""

    def _run_query(self, sql: str) -> list[_Row]:
        folded = fold(sql)
        self.queries.append(folded)
        if self.spark is not None:
            return [_Row(row.asDict()) for row in self.spark.sql(sql).collect()]
        for text, rows in self.answers.items():
            if folded == text or (text in folded and text != "set"):
                return [_Row(row) for row in rows]
        if re.fullmatch(r"set alluvium\.(is_shared|build|made_for)( = .*)?", folded):
            return []
        if folded.endswith(" where _cdc_position is null limit 1"):
            return []  # a table whose properties the test leaves out
        if folded.startswith("select file_path from (select _metadata.file_path as file_path, value,"):
            return []  # what is called plain JSON is that (_files_of_other_forms)
        raise AssertionError(f"this query was not expected: {folded}")


# What Delta says of a table without partitions; for `Renderer.answers`.
NO_PARTITIONS: dict[str, Sequence[Mapping[str, Any]]] = {"describe detail": [{"partitionColumns": "[]"}]}
# What a session with Hudi answers.
SESSION_OF_HUDI: dict[str, Sequence[Mapping[str, Any]]] = {
    "set": [{"key": "spark.sql.extensions", "value": "delta,org.apache.spark.sql.hudi.HoodieSparkSessionExtension"}],
    "DFSPropertiesConfiguration": [{"defaults": "{}"}],
    "HoodieTableVersion": [{"version": "NINE"}],
}


@cache
def _linter() -> Linter:
    return Linter(config=FluffConfig(overrides={"dialect": "sparksql"}))


def unparsable(sql: str) -> Iterator[str]:
    """The parts of a statement that SQLFluff's Spark grammar does not know."""
    parsed = _linter().parse_string(sql)
    yield from (str(violation) for violation in parsed.violations)
    if parsed.tree is not None:
        yield from (segment.raw for segment in parsed.tree.recursive_crawl("unparsable"))


def assert_parses(sql: str) -> None:
    """Fails unless the text is Spark SQL."""
    assert list(unparsable(sql)) == [], sql


def assert_expression_parses(expression: str) -> None:
    """Fails unless the text is an expression, or a list of them, of Spark SQL."""
    assert_parses(f"select {expression} from t")
