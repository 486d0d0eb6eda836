"""The files of a source: its YAML, its models, their YAML and the columns' descriptions."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from alluvium import AlluviumError, templates

from .changes import WRITTEN, Change, change
from .comments import MARK, with_comments
from .declared import cdc_options, path_of_table
from .model_yaml import has_columns, has_comments, normal, only_adds, text_of_file, with_models
from .models import MODELS, Model, beginning_of_description, names_of_descriptions
from .names import for_dbt
from .old_models import in_todays_form, with_tests_of_columns
from .places import Places, names_in
from .project import newline_of, read_text, same_lines
from .questions import comment_now
from .yaml_text import EditError, inserted, lines_of, with_entry, with_items

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from .choices import Choices
    from .feeds import Feed
    from .project import Project
    from .questions import Question

DELETE_POLICIES = ("soft", "hard")
FILE_FORMATS = (None, "delta", "hudi")


class Writer:
    """What a scaffold does to the files of one source.

    Args:
        project: that they belong to.
        source: name of the dbt source.
        prefix: of macros and tests, with its dot; empty in Alluvium's own project.
        location: that was inspected.
        choices: of the user.
    """

    def __init__(self, project: Project, source: str, prefix: str, location: str, choices: Choices) -> None:
        self._project = project
        self._source = source
        self._prefix = prefix
        self._location = location
        self._choices = choices
        self._templates = templates.environment(Path(__file__).parent / "templates")
        self._templates.filters["for_dbt"] = for_dbt
        self._places = Places(project, source, force=choices.force)
        self._planned: dict[str, str] = {}

    def models(self, feeds: Sequence[Feed], *, history: bool) -> Iterator[Change]:
        """What happens to the descriptions, the models and their YAML.

        Args:
            feeds: that are written.
            history: whether those get a history that have none.

        Raises:
            AlluviumError: a file that is there cannot be read.
        """
        if feeds:
            yield self._descriptions(feeds)
        for feed in feeds:
            described: dict[str, dict[str, Model]] = {}
            for model in MODELS:
                name = model.name(self._source, feed.name)
                path = self._places.model(name)
                is_wanted = history or (self._project.directory / path).exists()
                if not model.needs_key or (feed.key and is_wanted):
                    yield self._model_sql(path, model, feed)
                    described.setdefault(self._places.yaml_of_model(name, feed.name), {})[name] = model
            for path, models in described.items():
                yield self._models_yaml(path, models, feed)

    def sources_path(self) -> str:
        """Of the source's YAML, below the project.

        Raises:
            AlluviumError: there are two, or one that may be it cannot be read.
        """
        return self._places.sources()

    def _render(self, template: str, **values: Any) -> str:
        common = {"source": self._source, "prefix": self._prefix, "mark": MARK}
        return self._templates.get_template(template).render(**common, **values)

    def _change(
        self, path: str, text: str, added: str | None, *, is_own: bool = False, can_replace: bool = True
    ) -> Change:
        force = self._choices.force and can_replace
        planned = change(self._project.directory, path, text, added=added, is_own=is_own, force=force)
        if planned.kind in WRITTEN:
            self._planned[path] = planned.text
        return planned

    def _text_there(self, path: str) -> str | None:
        """What a file holds, with what is planned for it; None where there is none."""
        if path in self._planned:
            return self._planned[path]
        file = self._project.directory / path
        return read_text(file) if file.exists() else None

    def _document(self, path: str) -> Any:
        return yaml.safe_load(self._planned[path]) if path in self._planned else self._places.document(path)

    def _has_others(self, path: str, kind: str, names: Collection[str]) -> bool:
        """Whether a YAML has more than some entries of a kind."""
        try:
            document = self._document(path)
        except AlluviumError:
            return False
        is_more = isinstance(document, dict) and not document.keys() <= {"version", kind}
        return is_more or not {*names_in(document, kind)} <= {*names}

    def _model_sql(self, path: str, model: Model, feed: Feed) -> Change:
        file = self._project.directory / path
        says_soft = "delete_policy" in read_text(self._project.directory / "dbt_project.yml")
        there = in_todays_form(same_lines(read_text(file)), says_soft=says_soft) if file.exists() else None
        texts = {
            (deletes, file_format, others): self._render(
                model.template, feed=feed, deletes=deletes, file_format=file_format, snapshotted_with=others
            )
            for deletes in DELETE_POLICIES
            for file_format in FILE_FORMATS
            for others in ((), feed.snapshotted_with)
        }
        written = next((choices for choices, text in texts.items() if text == there), None)
        deletes, file_format, others = written or (DELETE_POLICIES[0], FILE_FORMATS[0], ())
        if feed.takes_part_in_snapshots:
            others = feed.snapshotted_with
        wanted = texts[self._choices.deletes or deletes, self._choices.file_format or file_format, others]
        return self._change(path, wanted, None, is_own=written is not None)

    def sources(self, feeds: Sequence[Feed]) -> Change:
        """What happens to the source's YAML.

        Args:
            feeds: that it shall have.

        Raises:
            AlluviumError: the file is there and cannot be read.
        """
        path = self.sources_path()
        common = _common_options(feeds)
        entry = self._render(
            "sources.yml.jinja",
            location=for_dbt(self._location),
            feeds=feeds,
            common=common,
            table=lambda feed: self._table(feed, common),
        )
        there = self._text_there(path)
        text, can_replace = f"version: 2\n\nsources:\n{entry}", True
        if there is not None and self._has_others(path, "sources", [self._source]):
            try:
                text = with_items(there, ["sources"], {self._source: (entry, yaml.safe_load(entry)[0])})
            except EditError:
                can_replace = False
        replaces = self._choices.force and can_replace
        added = None if there is None or replaces else self._with_new_tables(there, feeds)
        return self._change(path, text, added, can_replace=can_replace)

    def _table(self, feed: Feed, common: dict[str, Any]) -> str:
        return self._render(
            "table.yml.jinja",
            feed=feed,
            options={option: value for option, value in feed.options.items() if option not in common},
            column=lambda name: self._column(feed, name),
        )

    def _column(self, feed: Feed, name: str, questions: Sequence[Question] = ()) -> str:
        return self._render(
            "column.yml.jinja",
            name=name,
            doc=self._doc(feed, name),
            said=feed.columns[name],
            questions=questions,
        )

    def _doc(self, feed: Feed, name: str) -> str:
        written = feed.declared.descriptions if feed.declared else {}
        # A model's YAML may have columns that the source has no more.
        columns = [*feed.columns, name]
        return names_of_descriptions(columns, f"{self._source}__{feed.name}__", written, self._places.texts)[name]

    def _with_new_tables(self, text: str, feeds: Sequence[Feed]) -> str | None:
        """The file with what it lacks, and without comments of what is answered; None where it cannot be added to."""
        try:
            for feed in feeds:
                if feed.declared is None:
                    table = "\n" + self._table(feed, self._said_of_source(text, feed))
                    text = inserted(text, ["sources", ("name", self._source), "tables"], None, table)
                    continue
                path = path_of_table(self._source, feed.name)
                if feed.lacks_filter:
                    options = templates.scalar({"pathGlobFilter": feed.name_filter})
                    text = with_entry(text, [*path, "external"], "options", options)
                text = self._with_new_columns(text, [*path, "columns"], feed)
                text = with_comments(text, path, partial(comment_now, questions=feed.asked, columns=feed.columns))
        except EditError:
            return None
        return text

    def _said_of_source(self, text: str, feed: Feed) -> dict[str, Any]:
        """Options of a table that its source says already."""
        source = next(entry for entry in yaml.safe_load(text)["sources"] if entry.get("name") == self._source)
        said = ((source.get("config") or {}).get("meta") or {}).get("cdc") or {}
        return {option: value for option, value in said.items() if feed.options.get(option) == value}

    def _with_new_columns(self, text: str, path: list[str | tuple[str, str]], feed: Feed) -> str:
        assert feed.declared is not None
        new = [name for name in feed.columns if name not in feed.declared.columns]
        for name in new:
            text = inserted(text, path, None, self._column(feed, name, feed.questions_about(name)))
        return text

    def _descriptions(self, feeds: Sequence[Feed]) -> Change:
        path = self._places.descriptions()
        blocks = {self._doc(feed, name): _description(feed, name) for feed in feeds for name in feed.columns}
        texts = {doc: f"{{% docs {doc} %}}{text}{{% enddocs %}}\n" for doc, text in blocks.items()}
        there = self._text_there(path)
        if there is None:
            return self._change(path, "\n".join(texts.values()), None)
        new = [f"\n{text}" for doc, text in texts.items() if doc not in self._places.texts]
        added = there + "".join(new).replace("\n", newline_of(there))
        own = [text for doc, text in texts.items() if doc not in self._places.texts_outside(path)]
        return self._change(path, "\n".join(own), added, can_replace=not self._places.is_of_others(path))

    def _models_yaml(self, path: str, models: Mapping[str, Model], feed: Feed) -> Change:
        fresh = {name: self._entry(model, feed, feed.key, feed.model_columns) for name, model in models.items()}
        text = text_of_file(fresh.values())
        there = self._text_there(path)
        is_alone = not self._has_others(path, "models", models)
        if there is None or (self._choices.force and is_alone):
            return self._change(path, text, None)
        wanted, is_own, replaces = fresh, not has_comments(there), self._choices.force
        try:
            for name in () if self._choices.force else fresh:
                declared = _model_of(self._document(path), name)
                if declared is not None:
                    own = self._own_entry(there, models[name], feed, declared)
                    is_own = is_own and own is not None
                    wanted[name] = own or self._with_new_columns_of_row(models[name], feed, declared)
                    replaces = replaces or not only_adds(wanted[name], declared)
            added = with_models(there, wanted, may_be_rewritten=is_alone and is_own)
        except EditError:
            return self._change(path, text, None, can_replace=False)
        if added == there:
            return Change(path, "same", there, "")
        return self._change(path, added, None if replaces else added, is_own=True)

    def _own_entry(self, text: str, model: Model, feed: Feed, declared: dict[str, Any]) -> dict[str, Any] | None:
        """What a model's YAML shall say; None where somebody has edited it."""
        names = [column["name"] for column in declared["columns"]]
        rows = [name for name in names if name not in model.all_columns()]
        path: list[str | tuple[str, str]] = ["models", ("name", declared["name"])]
        where = lines_of(text, path)
        has_comment = has_comments("\n".join(text.splitlines()[where.start : where.stop]))
        as_written = self._entry(model, feed, model.key_of(declared), rows)
        is_old = declared == with_tests_of_columns(as_written)
        if has_comment or (not is_old and declared != as_written):
            return None
        # In their order of before: nothing is written because the files have shown them in another one.
        left = [name for name in rows if not feed.leaves_out(name)]
        new = [name for name in feed.seen_columns if name not in left]
        entry = self._entry(model, feed, feed.key, [*left, *new])
        return entry if declared == as_written else with_tests_of_columns(entry)

    def _entry(self, model: Model, feed: Feed, key: list[str] | None, names: Sequence[str]) -> dict[str, Any]:
        """What a model's YAML says of it."""
        nullable = [name for name in key or () if cdc_options(feed.columns.get(name, {})).get("nullable")]
        description = model.description.format(
            source=self._source,
            entity=for_dbt(feed.entity.name),
            key="not known yet" if key is None else ", ".join(key) or "none",
        )
        tests = [
            {f"{self._prefix}{test}": {"arguments": arguments}} if arguments else f"{self._prefix}{test}"
            for test, arguments in model.tests(key, nullable).items()
        ]
        row = [_column(name, self._doc(feed, name)) for name in names]
        return {
            "name": model.name(self._source, feed.name),
            "description": " ".join(description.split()),
            **({"data_tests": tests} if tests else {}),
            "columns": [
                *(row if model.has_row else ()),
                *(_column(name, model.docs.get(name, name)) for name in model.columns(key)),
            ],
        }

    def _with_new_columns_of_row(self, model: Model, feed: Feed, declared: dict[str, Any]) -> dict[str, Any]:
        columns = declared["columns"]
        names = [column["name"] for column in columns]
        place = next((number for number, name in enumerate(names) if name not in feed.columns), len(names))
        new = [name for name in feed.seen_columns if name not in names] if model.has_row else []
        more = [_column(name, self._doc(feed, name)) for name in new]
        return {**declared, "columns": [*columns[:place], *more, *columns[place:]]}


def _description(feed: Feed, name: str) -> str:
    why = next((column.type.why for column in feed.entity.columns if column.name == name), "not in the newest files")
    return f"{beginning_of_description(name)}{for_dbt(feed.entity.name)}: {for_dbt(why)}."


def _column(name: str, doc: str) -> dict[str, str]:
    return {"name": name, "description": f"{{{{ doc('{doc}') }}}}"}


def _model_of(document: Any, name: str) -> dict[str, Any] | None:
    """What a YAML says of a model; None where it says nothing of it.

    Raises:
        EditError: that is not written as this command writes it.
    """
    if name not in names_in(document, "models"):
        return None
    entry = next(entry for entry in document["models"] if isinstance(entry, dict) and entry.get("name") == name)
    if not has_columns(entry):
        raise EditError(f"{name} has no list of columns")
    return normal(entry)


def _common_options(feeds: Sequence[Feed]) -> dict[str, Any]:
    """What all feeds have in common and is the source's, not the tables'."""
    common = {}
    for option in ("connector", "shape", "reads_envelopes", "layout", "store_envelope"):
        values = [feed.options.get(option) for feed in feeds]
        if values[0] is not None and all(value == values[0] for value in values):
            common[option] = values[0]
    return common
