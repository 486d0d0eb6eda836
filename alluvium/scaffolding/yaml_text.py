"""Items and entries put into a YAML file that people edit."""

from __future__ import annotations

import copy
from functools import lru_cache
from textwrap import dedent, indent
from typing import TYPE_CHECKING, Any

import yaml

from .project import newline_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class EditError(Exception):
    """A file cannot be added to without touching what is there."""


def inserted(text: str, path: list[str | tuple[str, str]], before: str | None, item: str, value: Any = None) -> str:
    """Put an item into a list, all other lines left as they are.

    Args:
        text: of the file.
        path: keys that lead to the list, and ``(key, value)`` for the item of a list that has it: ``["models",
            ("name", "stg_shop__orders"), "columns"]``.
        before: name of the item that it shall stand before; None for the end of the list.
        item: lines, which get the indentation of the list's own items.
        value: what the item says, where it may have aliases and may stand in brackets.

    Raises:
        EditError: there is no such list, or it is in brackets and the item may not.
    """
    sequence = _find(_composed(text), path)
    nodes = sequence.value if isinstance(sequence, yaml.SequenceNode) else []
    if not isinstance(sequence, yaml.SequenceNode) or not nodes or (sequence.flow_style and value is None):
        raise EditError(f"{' / '.join(map(str, path))} is no list with an item a line")
    nodes = sequence.value
    number = next(
        (number for number, node in enumerate(nodes) if before and _value(node, "name") == before), len(nodes)
    )
    expected = yaml.safe_load(text)
    _at(expected, path).insert(number, yaml.safe_load(item)[0] if value is None else value)
    if sequence.flow_style:
        return _checked(_in_brackets(text, nodes, number, item.removeprefix("- ").strip()), expected, path)
    lines = text.splitlines(keepends=True)
    line = nodes[number].start_mark.line if number < len(nodes) else _last_line(nodes[-1], lines) + 1
    return _edited(lines, range(line, line), _in_list(item, sequence, text), expected, path)


def _in_brackets(text: str, nodes: Sequence[yaml.Node], number: int, item: str) -> str:
    if number == len(nodes):
        place = nodes[-1].end_mark.index
        return f"{text[:place]}, {item}{text[place:]}"
    place = nodes[number].start_mark.index
    margin = text[text.rfind("\n", 0, place) + 1 : place]
    return f"{text[:place]}{item},{' ' if margin.strip() else newline_of(text) + margin}{text[place:]}"


def with_items(text: str, path: list[str | tuple[str, str]], items: Mapping[str, tuple[str, Any]]) -> str:
    """Put items in the places of those of a list that are called so, all lines of others left as they are.

    Args:
        text: of the file.
        path: that leads to the list, as of :func:`inserted`.
        items: by name, the lines of each, as of :func:`inserted`, and what they say.

    Raises:
        EditError: there is no such list, an item is not in it, or it is in brackets.
    """
    sequence = _find(_composed(text), path)
    nodes = sequence.value if isinstance(sequence, yaml.SequenceNode) and not sequence.flow_style else []
    places = {_value(node, "name"): number for number, node in enumerate(nodes)}
    if not isinstance(sequence, yaml.SequenceNode) or not items.keys() <= places.keys():
        raise EditError(f"{' / '.join(map(str, path))} has no such item with lines of its own")
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += newline_of(text)
    expected = yaml.safe_load(text)
    for name in sorted(items, key=lambda name: -places[name]):
        item, value = items[name]
        node = nodes[places[name]]
        _at(expected, path)[places[name]] = value
        lines[node.start_mark.line : _last_line(node, lines) + 1] = [_in_list(item, sequence, text)]
    return _checked("".join(lines), expected, path)


def _in_list(item: str, sequence: yaml.SequenceNode, text: str) -> str:
    """An item with the indentation and the line ends of a list."""
    return indent(dedent(item), " " * sequence.start_mark.column).replace("\n", newline_of(text))


def with_entry(text: str, path: list[str | tuple[str, str]], key: str, value: str) -> str:
    """Put an entry to the end of a mapping, all other lines left as they are.

    Args:
        text: of the file.
        path: keys that lead to the mapping, as of :func:`inserted`.
        key: of the entry.
        value: as YAML writes it on one line.

    Raises:
        EditError: there is no such mapping, it is written on one line, or it has the key.
    """
    mapping = _find(_composed(text), path)
    if not isinstance(mapping, yaml.MappingNode) or mapping.flow_style or not mapping.value:
        raise EditError(f"{' / '.join(map(str, path))} is no mapping with an entry a line")
    expected = yaml.safe_load(text)
    if key in _at(expected, path):
        raise EditError(f"{' / '.join(map(str, path))} has {key} already")
    _at(expected, path)[key] = yaml.safe_load(value)
    first, last = mapping.value[0][0], mapping.value[-1]
    lines = text.splitlines(keepends=True)
    is_block = isinstance(last[1], yaml.CollectionNode) and not last[1].flow_style
    end = last[1].end_mark
    number = _last_line(last[1], lines) + 1 if is_block else end.line + (end.column > 0)
    line = f"{' ' * first.start_mark.column}{key}: {value}{newline_of(text)}"
    return _edited(lines, range(number, number), line, expected, path)


def lines_of(text: str, path: Sequence[str | tuple[str, str]]) -> range:
    """The lines, from 0 on, of what a path leads to, and of the comments behind it; none where nothing is there.

    Args:
        text: of the file.
        path: as of :func:`inserted`.
    """
    node = _find(_composed(text), path)
    return range(node.start_mark.line, node.end_mark.line + 1) if node else range(0)


@lru_cache(maxsize=2)
def _composed(text: str) -> yaml.Node | None:
    """The nodes of a text, which nobody changes: each table of a source asks for those of the same long file."""
    return yaml.compose(text, _Loader)


class _Loader(yaml.SafeLoader):
    """Gives the node of an alias the place of the alias, not that of what it stands for."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        # The stubs of PyYAML have no annotations of one of these.
        is_alias = self.check_event(yaml.AliasEvent)
        alias: yaml.Event | None = self.peek_event() if is_alias else None  # type: ignore[no-untyped-call]
        node = super().compose_node(parent, index)
        if alias is None or node is None:
            return node
        placed = copy.copy(node)
        placed.start_mark, placed.end_mark = alias.start_mark, alias.end_mark
        return placed


def _edited(lines: list[str], where: range, item: str, expected: Any, path: list[str | tuple[str, str]]) -> str:
    """Lines with an item at a place, in that of those that are there, if they say then what is expected."""
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += newline_of("".join(lines))
    return _checked("".join([*lines[: where.start], item, *lines[where.stop :]]), expected, path)


def _checked(edited: str, expected: Any, path: list[str | tuple[str, str]]) -> str:
    """An edited text, if it says what is expected."""
    try:
        fits = yaml.safe_load(edited) == expected
    except yaml.YAMLError:
        fits = False
    if not fits:
        raise EditError(f"{' / '.join(map(str, path))} is not written as this command writes it")
    return edited


def _last_line(node: yaml.Node, lines: list[str]) -> int:
    """Of a block, whose end mark is where the next one begins."""
    number = node.end_mark.line - (1 if node.end_mark.column == 0 or node.end_mark.line >= len(lines) else 0)
    while number > node.start_mark.line and (not lines[number].strip() or lines[number].lstrip().startswith("#")):
        number -= 1
    indent = node.start_mark.column
    while number > node.start_mark.line and len(lines[number]) - len(lines[number].lstrip()) < indent:
        number -= 1
    return number


def _find(node: yaml.Node | None, path: Sequence[str | tuple[str, str]]) -> yaml.Node | None:
    for step in path:
        if isinstance(step, str) and isinstance(node, yaml.MappingNode):
            node = next((value for key, value in node.value if key.value == step), None)
        elif isinstance(step, tuple) and isinstance(node, yaml.SequenceNode):
            node = next((item for item in node.value if _value(item, step[0]) == step[1]), None)
        else:
            return None
    return node


def _value(node: yaml.Node, name: str) -> Any:
    if not isinstance(node, yaml.MappingNode):
        return None
    own = (value.value for key, value in node.value if key.value == name)
    merged = (_value(value, name) for key, value in node.value if key.value == "<<")
    return next(own, None) or next(merged, None)


def _at(document: Any, path: list[str | tuple[str, str]]) -> Any:
    for step in path:
        if isinstance(step, str):
            document = document[step]
        else:
            document = next(item for item in document if item.get(step[0]) == step[1])
    return document
