"""Names that dbt and Spark take."""

from __future__ import annotations

import json
import re
from dataclasses import fields, is_dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from alluvium.inspection import Entity


def numbered(name: str) -> Iterator[str]:
    """The name, then the name with 2, 3, ..."""
    yield name
    yield from (f"{name}_{number}" for number in count(2))


def models_of(name: str) -> set[str]:
    """Of two entities ``orders`` and ``orders_state`` one would be called like the other's state."""
    return {f"{name}{suffix}" for suffix in ("", "_state", "_history")}


def slug(name: str) -> str:
    """A name that dbt and Spark take without quotes: ``Größe/2`` becomes ``gr_e_2``."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    return f"t_{plain}" if not plain or plain[0].isdigit() else plain


def for_dbt(text: str) -> str:
    """A text as it stands where dbt renders: one with Jinja's signs becomes a literal of Jinja's, without them."""
    if not re.search("{[{%#]", text):
        return text
    literal = json.dumps(text, ensure_ascii=False).replace("{", r"\u007b")
    return f"{{{{ {literal} }}}}"


def with_names_for_dbt(entity: Entity) -> Entity:
    """An entity with its columns' names as they stand where dbt renders, wherever it names them."""
    names = {column.name: for_dbt(column.name) for column in entity.columns}
    changed = sorted((name for name in names if names[name] != name), key=len, reverse=True)
    if not changed:
        return entity
    pattern = re.compile("|".join(map(re.escape, changed)))
    renamed: Entity = _mapped(entity, lambda text: pattern.sub(lambda match: names[match[0]], text))
    return replace(renamed, name=entity.name, files=entity.files, source=entity.source)


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """A value with all texts inside of it changed."""
    if isinstance(value, str):
        return change(value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: _mapped(getattr(value, field.name), change) for field in fields(value)})
    if isinstance(value, tuple | list):
        return type(value)(_mapped(one, change) for one in value)
    if isinstance(value, dict):
        return type(value)({_mapped(key, change): _mapped(one, change) for key, one in value.items()})
    return value
