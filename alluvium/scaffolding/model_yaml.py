"""The YAML of an entity's models: each column is written once, and named by an alias where other models have it."""

from __future__ import annotations

import json
import re
import textwrap
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import yaml

from alluvium.templates import scalar

from .names import numbered
from .project import newline_of, same_lines
from .yaml_text import EditError, inserted, with_items

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

_WIDTH = 120
_COMMENT = re.compile(r"(?m)(?:^|\s)#")
_OWN = ("name", "description")


def text_of_file(models: Iterable[Mapping[str, Any]]) -> str:
    """A file that has models, and nothing else.

    Args:
        models: as dbt reads them, descriptions on one line; the one that the others share their columns with first.
    """
    return "version: 2\n\nmodels:\n" + "\n".join(_texts([*models]))


def with_models(text: str, models: Mapping[str, Mapping[str, Any]], *, may_be_rewritten: bool) -> str:
    """A file whose models say what is wanted of them, all lines of others left as they are.

    Args:
        text: of the file.
        models: by name, as of :func:`text_of_file`.
        may_be_rewritten: whether the file has nothing else, and no line of anybody else.

    Raises:
        EditError: its models are no list, or are not written as this command writes them.
    """
    said = {entry["name"]: normal(entry) for entry in _entries(text)}
    changed = {name: model for name, model in models.items() if said.get(name) != model}
    longer = [name for name in changed if has_columns(said.get(name, {})) and only_adds(changed[name], said[name])]
    replaced = {name: model for name, model in changed.items() if name not in longer}
    is_in_this_form = all(map(has_columns, said.values())) and same_lines(text) == text_of_file(said.values())
    if changed and said and may_be_rewritten and (replaced or is_in_this_form):
        return text_of_file(models.values()).replace("\n", newline_of(text))
    if replaced:
        text = _with_replaced(text, replaced, models)
    for name in longer:
        text = _with_columns(text, changed[name])
    return text


def has_columns(model: Mapping[str, Any]) -> bool:
    """Whether a model has a list of columns, each with its name."""
    columns = model.get("columns")
    return isinstance(columns, list) and all(isinstance(column, dict) and "name" in column for column in columns)


def normal(model: Mapping[str, Any]) -> dict[str, Any]:
    """A model with its description on one line."""
    return {**model, "description": " ".join(str(model.get("description") or "").split())}


def has_comments(text: str) -> bool:
    """Whether a YAML may have comments."""
    return bool(_COMMENT.search(text))


def only_adds(model: Mapping[str, Any], said: Mapping[str, Any]) -> bool:
    """Whether a model has all that is said of it, and columns more."""
    names = {column["name"] for column in said["columns"]}
    return {**model, "columns": [column for column in model["columns"] if column["name"] in names]} == said


def _entries(text: str) -> list[dict[str, Any]]:
    document = yaml.safe_load(text)
    entries = document.get("models") if isinstance(document, dict) else None
    return [one for one in entries if isinstance(one, dict) and "name" in one] if isinstance(entries, list) else []


def _with_replaced(
    text: str, replaced: Mapping[str, Mapping[str, Any]], models: Mapping[str, Mapping[str, Any]]
) -> str:
    """A file with some of its models in other words, and with those that it has not at its end."""
    in_one_file = dict(zip(models, _texts([*models.values()]), strict=True))
    each_alone = {name: _texts([model])[0] for name, model in replaced.items()}
    for texts in (in_one_file, each_alone):
        with suppress(EditError):
            return _with_texts(text, replaced, texts)
    # Others have aliases of what is no longer there. With nothing but what this module writes, it can be rewritten.
    said = {entry["name"]: normal(entry) for entry in _entries(text)}
    entries = {**said, **replaced}
    is_alone = said and yaml.safe_load(text).keys() <= {"version", "models"}
    if is_alone and not has_comments(text) and all(map(has_columns, entries.values())):
        rewritten = text_of_file(entries.values())
        if [*map(normal, _entries(rewritten))] == [*entries.values()]:
            return rewritten.replace("\n", newline_of(text))
    raise EditError("models are not written as this command writes them")


def _with_texts(text: str, models: Mapping[str, Mapping[str, Any]], texts: Mapping[str, str]) -> str:
    there = {entry["name"] for entry in _entries(text)}
    in_place = {name: (texts[name], model) for name, model in models.items() if name in there}
    text = with_items(text, ["models"], in_place)
    for name, model in models.items():
        if name not in there:
            text = inserted(text, ["models"], None, f"\n{texts[name]}", model)
    return text


def _with_columns(text: str, model: Mapping[str, Any]) -> str:
    """A file with the columns that it lacks of a model: by an alias where another model has them."""
    path: list[str | tuple[str, str]] = ["models", ("name", model["name"]), "columns"]
    (said,) = (entry["columns"] for entry in _entries(text) if entry["name"] == model["name"])
    names = {column["name"] for column in said}
    before = None
    for column in reversed(model["columns"]):
        if column["name"] in names:
            before = column["name"]
            continue
        anchor = _anchor_of(column)
        forms = [f"*{anchor}", *([_definition(column, f"&{anchor} ")] if "*" in text else []), _definition(column)]
        for form in forms[:-1]:
            with suppress(EditError):
                text = inserted(text, path, before, f"- {form}\n", column)
                break
        else:
            text = inserted(text, path, before, f"- {forms[-1]}\n", column)
        before = column["name"]
    return text


def _texts(models: Sequence[Mapping[str, Any]]) -> list[str]:
    """Each model as an item of a list; the aliases of the later ones need the earlier ones in the same file."""
    counts = Counter(_told(column) for model in models for column in model["columns"])
    anchors: dict[str, str] = {}
    return [_text(model, {told for told in counts if counts[told] > 1}, anchors) for model in models]


def _anchor_of(column: Mapping[str, Any]) -> str:
    """How the anchor of a column is called, where no other one is called so."""
    return re.sub(r"[^A-Za-z0-9_]+", "_", str(column["name"]))


def _definition(column: Mapping[str, Any], anchor: str = "", indent: str = "") -> str:
    """A column in braces, on two lines where one would be too long."""
    entries = [
        # In double quotes: dbt's expressions have single ones.
        f"{name}: {json.dumps(value, ensure_ascii=False)}"
        if name == "description" and isinstance(value, str)
        else scalar({name: value})[1:-1]
        for name, value in column.items()
    ]
    line = f"{anchor}{{{', '.join(entries)}}}"
    if len(indent) + len("- ,") + len(line) <= _WIDTH:
        return line
    return f"{anchor}{{{entries[0]},\n{indent}  {', '.join(entries[1:])}}}"


def _told(column: Mapping[str, Any]) -> str:
    """What a column is in every model."""
    return repr([column.get(name) for name in _OWN])


def _text(model: Mapping[str, Any], shared: Collection[str], anchors: dict[str, str]) -> str:
    is_first = not anchors
    columns = [_column(column, shared, anchors) for column in model["columns"]]
    tests = [_test(test) for test in model.get("data_tests") or ()]
    return "".join(
        (
            f"  - name: {model['name']}\n",
            f"    description: {_description(model['description'])}\n" if model["description"] else "",
            "    data_tests:\n" if tests else "",
            *(f"      - {test}\n" for test in tests),
            "    columns:\n" if is_first else "    columns: [\n",
            *(f"      - {column}\n" for column in columns if is_first),
            "" if is_first else f"{_filled(columns)}]\n",
        )
    )


def _test(test: Any) -> str:
    """An item of the list, on more lines where one would be too long."""
    line = test if isinstance(test, str) else scalar(test)[1:-1]
    if isinstance(test, str) or len(f"      - {line}") <= _WIDTH:
        return line
    text = yaml.safe_dump(
        test, allow_unicode=True, width=_WIDTH - len("      - "), default_flow_style=None, sort_keys=False
    )
    return textwrap.indent(text, " " * len("      - ")).strip()


def _column(column: Mapping[str, Any], shared: Collection[str], anchors: dict[str, str]) -> str:
    told = _told(column)
    more = {name: value for name, value in column.items() if name not in _OWN}
    if told in anchors:
        return f"{{<<: *{anchors[told]}, {scalar(more)[1:]}" if more else f"*{anchors[told]}"
    if more or told not in shared:
        return _definition(column, indent="      ")
    taken = {*anchors.values()}
    anchors[told] = next(name for name in numbered(_anchor_of(column)) if name not in taken)
    return _definition(column, f"&{anchors[told]} ", "      ")


def _description(text: str) -> str:
    if scalar(text) == text and len(f"    description: {text}") <= _WIDTH:
        return text
    lines = textwrap.wrap(text, _WIDTH - len("      "), break_long_words=False, break_on_hyphens=False)
    return ">-\n" + "\n".join(f"      {line}" for line in lines)


def _filled(columns: Sequence[str]) -> str:
    """Items of a list in brackets: aliases side by side, what is written out on lines of its own."""
    return ",\n".join(f"      {line}" for line in _lines(columns))


def _lines(columns: Sequence[str]) -> Iterator[str]:
    line, before = "", ""
    for column in columns:
        joined = f"{line}, {column}"
        # Where a source gets a column, the line of those that come after it stays as it is.
        is_alike = before[:1] == column[0] == "*" and before.startswith("*_cdc_") == column.startswith("*_cdc_")
        if line and not (is_alike and len("      ,") + len(joined) <= _WIDTH):
            yield line
            line = ""
        line = f"{line}, {column}" if line else column
        before = column
    yield line
