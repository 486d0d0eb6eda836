"""Sources, models and their YAML for a folder of change files, in the style of the repository's own."""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from alluvium import AlluviumError, templates

from .feeds import Feed, feeds_of, slug
from .models import MODELS, Model, column_name
from .yaml_text import EditError, inserted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from alluvium.inspection import Inspection

__all__ = ["Change", "Scaffold", "feeds_of", "plan"]

OWN_NAME = "alluvium"
# Of Spark's words those that cannot begin a condition.
RESERVED = frozenset(
    {"and", "case", "cast", "exists", "from", "group", "interval", "not", "or", "order", "select", "where"}
)


@dataclass(frozen=True)
class Change:
    """What a scaffold does to one file.

    Attributes:
        path: of the file, below the project.
        kind: ``new``; ``same`` (nothing is missing); ``added`` (entities or columns put into what is there);
            ``replaced`` (with force); ``kept`` (edited by hand, and left).
        text: what the file shall hold.
        difference: unified diff from what it holds, to what it would hold if it were written anew.
    """

    path: str
    kind: str
    text: str
    difference: str


@dataclass(frozen=True)
class Scaffold:
    """All changes of one scaffold.

    Attributes:
        changes: by path.
        feeds: the feeds that they are for.
    """

    changes: tuple[Change, ...]
    feeds: tuple[Feed, ...]

    def write(self, project: Path) -> None:
        """Write every file that is new, added to or replaced."""
        for change in self.changes:
            if change.kind in ("new", "added", "replaced"):
                path = project / change.path
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(change.text, encoding="utf-8")


def plan(
    inspection: Inspection,
    source: str,
    project: Path,
    *,
    entities: Sequence[str] = (),
    history: bool = False,
    deletes: str = "soft",
    force: bool = False,
) -> Scaffold:
    """What a scaffold would do; nothing is written.

    Args:
        inspection: of the files.
        source: name of the dbt source.
        project: directory of dbt_project.yml.
        entities: names of those that are wanted; all by default.
        history: whether each has a history.
        deletes: ``soft`` keeps the last values of a deleted row, ``hard`` its key alone.
        force: whether files that were edited by hand are replaced.

    Raises:
        AlluviumError: the project is none, the source's name does not fit, or an entity is not there.
    """
    name = _project_name(project)
    if not re.fullmatch(r"[a-z][a-z0-9_]*", source):
        raise AlluviumError(
            f"source {source!r}: a source is named in lower case, with digits and _; say {slug(source)!r}."
        )
    inspection.require_changes()
    known = [entity.name for entity in inspection.entities if entity.shape]
    for entity in entities:
        if entity not in known:
            raise AlluviumError(f"entity {entity!r} is not in {inspection.location}; there are: {', '.join(known)}.")
    feeds = feeds_of(inspection, entities, _declared(project / _sources_path(source), source))
    prefix = "" if name == OWN_NAME else f"{OWN_NAME}."
    writer = _Writer(source, prefix, deletes, inspection.location)
    chosen = [model for model in MODELS if history or model.suffix != "_history"]
    changes = list(writer.changes(project, feeds, chosen, force))
    return Scaffold(tuple(changes), tuple(feeds))


def _project_name(project: Path) -> str:
    try:
        document = yaml.safe_load((project / "dbt_project.yml").read_text(encoding="utf-8"))
        return str(document["name"])
    except (OSError, yaml.YAMLError, KeyError, TypeError) as error:
        raise AlluviumError(
            f"{project} is no dbt project: it has no dbt_project.yml with a name; say --project-dir."
        ) from error


def _sources_path(source: str) -> str:
    return f"models/bronze/{source}/_{source}__sources.yml"


def _declared(file: Path, source: str) -> dict[tuple[str, str | None], str]:
    """Names of a source's tables by location and filter; empty where the file cannot be read."""
    try:
        document = yaml.safe_load(file.read_text(encoding="utf-8"))
        (declared,) = [entry for entry in document["sources"] if entry["name"] == source]
        found = {}
        for table in declared["tables"]:
            external = table.get("external") or {}
            filtered = (external.get("options") or {}).get("pathGlobFilter")
            found[str(external.get("location")), filtered] = str(table["name"])
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError):
        return {}
    return found


class _Writer:
    def __init__(self, source: str, prefix: str, deletes: str, location: str) -> None:
        self._source = source
        self._prefix = prefix
        self._deletes = deletes
        self._location = location
        self._templates = templates.environment(Path(__file__).parent / "templates")

    def changes(self, project: Path, feeds: Sequence[Feed], models: Sequence[Model], force: bool) -> Iterator[Change]:
        yield self._sources(project, feeds, force)
        yield self._descriptions(project, feeds, force)
        for feed in feeds:
            for model in models:
                if not feed.columns or (model.needs_key and not feed.options.get("key")):
                    continue
                folder = f"models/silver/{self._source}/{model.name(self._source, feed.name)}"
                sql = self._render(model.template, feed=feed, deletes=self._deletes)
                yield _change(project, f"{folder}.sql", sql, None, force)
                path = f"{folder}.yml"
                text = self._model_yaml(model, feed)
                yield _change(project, path, text, self._with_new_columns(project / path, model, feed), force)

    def _render(self, template: str, **values: Any) -> str:
        return self._templates.get_template(template).render(source=self._source, prefix=self._prefix, **values)

    def _sources(self, project: Path, feeds: Sequence[Feed], force: bool) -> Change:
        path = _sources_path(self._source)
        common = _common_options(feeds)
        text = self._render(
            "sources.yml.jinja",
            location=self._location,
            feeds=feeds,
            common=common,
            table=lambda feed: self._table(feed, common),
        )
        return _change(project, path, text, self._with_new_tables(project / path, feeds), force)

    def _table(self, feed: Feed, common: dict[str, Any]) -> str:
        return self._render(
            "table.yml.jinja",
            feed=feed,
            options={option: value for option, value in feed.options.items() if option not in common},
            column=lambda name: self._column(feed, name),
        )

    def _column(self, feed: Feed, name: str) -> str:
        return self._render("column.yml.jinja", name=name, doc=self._doc(feed, name), said=feed.columns[name])

    def _doc(self, feed: Feed, name: str) -> str:
        return f"{self._source}__{feed.name}__{column_name(feed.columns, name)}"

    def _with_new_tables(self, file: Path, feeds: Sequence[Feed]) -> str | None:
        """The file with the tables and columns that it lacks; None where it cannot be added to."""
        try:
            return self._text_with_new_tables(file, feeds) if file.exists() else None
        except EditError:
            return None

    def _text_with_new_tables(self, file: Path, feeds: Sequence[Feed]) -> str | None:
        text = file.read_text(encoding="utf-8")
        document = yaml.safe_load(text)
        declared = next((entry for entry in document.get("sources", []) if entry.get("name") == self._source), None)
        if declared is None:
            return None
        said = ((declared.get("config") or {}).get("meta") or {}).get("cdc") or {}
        tables = {table["name"]: table for table in declared.get("tables", [])}
        path: list[str | tuple[str, str]] = ["sources", ("name", self._source), "tables"]
        for feed in feeds:
            if feed.name not in tables:
                common = {option: value for option, value in said.items() if feed.options.get(option) == value}
                text = inserted(text, path, None, "\n" + self._table(feed, common))
                continue
            columns = [column["name"] for column in tables[feed.name].get("columns", [])]
            for name in feed.columns:
                if name not in columns:
                    text = inserted(text, [*path, ("name", feed.name), "columns"], None, self._column(feed, name))
        return text

    def _descriptions(self, project: Path, feeds: Sequence[Feed], force: bool) -> Change:
        path = f"models/_docs/{self._source}.md"
        blocks = {
            self._doc(feed, name): f"Column {name} of {feed.entity.name}: {column.type.why}."
            for feed in feeds
            for name, column in zip(feed.columns, feed.entity.columns, strict=True)
        }
        texts = {doc: f"{{% docs {doc} %}}{text}{{% enddocs %}}\n" for doc, text in blocks.items()}
        file = project / path
        added = None
        if file.exists():
            there = file.read_text(encoding="utf-8")
            new = [text for doc, text in texts.items() if f"{{% docs {doc} %}}" not in there]
            added = there + "".join(f"\n{text}" for text in new)
        return _change(project, path, "\n".join(texts.values()), added, force)

    def _model_yaml(self, model: Model, feed: Feed) -> str:
        key = feed.options.get("key") or []
        columns = [self._model_column(feed, name, model.has_keys_filled and name in key) for name in feed.columns]
        own = model.columns(bool(key))
        return self._render(
            "model.yml.jinja",
            model=model.name(self._source, feed.name),
            description=model.description.format(
                source=self._source, entity=feed.entity.name, key=", ".join(key) or "none"
            ),
            tests=model.tests(key),
            columns=[
                *(columns if model.has_row else []),
                *(
                    self._render(
                        "model_column.yml.jinja",
                        name=name,
                        doc=model.docs.get(name, name),
                        not_null=name in model.filled,
                        is_plain=True,
                    )
                    for name in own
                ),
            ],
        )

    def _model_column(self, feed: Feed, name: str, not_null: bool) -> str:
        is_nullable = "nullable" in json.dumps(feed.columns[name])
        return self._render(
            "model_column.yml.jinja",
            name=name,
            doc=self._doc(feed, name),
            not_null=not_null and not is_nullable,
            # dbt's own tests write the name as it is, unless told to quote it.
            is_plain=slug(name) == name.lower().strip("_") and name.lower() not in RESERVED,
        )

    def _with_new_columns(self, file: Path, model: Model, feed: Feed) -> str | None:
        try:
            return self._text_with_new_columns(file, model, feed) if file.exists() and model.has_row else None
        except EditError:
            return None

    def _text_with_new_columns(self, file: Path, model: Model, feed: Feed) -> str | None:
        text = file.read_text(encoding="utf-8")
        name = model.name(self._source, feed.name)
        declared = next((entry for entry in yaml.safe_load(text).get("models", []) if entry.get("name") == name), None)
        if declared is None:
            return None
        columns = [column["name"] for column in declared.get("columns", [])]
        before = next((column for column in columns if column not in feed.columns), None)
        for column in feed.columns:
            if column not in columns:
                item = self._model_column(feed, column, not_null=False)
                text = inserted(text, ["models", ("name", name), "columns"], before, item)
        return text


def _common_options(feeds: Sequence[Feed]) -> dict[str, Any]:
    """What all feeds have in common and is the source's, not the tables'."""
    common = {}
    for option in ("connector", "shape", "layout", "store_envelope"):
        values = [feed.options.get(option) for feed in feeds]
        if values[0] is not None and all(value == values[0] for value in values):
            common[option] = values[0]
    return common


def _change(project: Path, path: str, text: str, added: str | None, force: bool) -> Change:
    file = project / path
    if not file.exists():
        return Change(path, "new", text, _difference(path, "", text))
    there = file.read_text(encoding="utf-8")
    if there == text or (added == there and not force):
        return Change(path, "same", there, _difference(path, there, text))
    if force:
        return Change(path, "replaced", text, _difference(path, there, text))
    if added is not None:
        return Change(path, "added", added, _difference(path, there, added))
    return Change(path, "kept", there, _difference(path, there, text))


def _difference(path: str, before: str, after: str) -> str:
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{path}", f"b/{path}"
    )
    return "".join(lines)
