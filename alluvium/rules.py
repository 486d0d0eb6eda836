"""The tables of rules that macros and Python share: ``macros/rules``, one YAML block in a macro of its own."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

# A link to the repository's macros; a wheel has copies.
_FOLDER = Path(__file__).parent / "dbt_package" / "macros" / "rules"
_BEGIN, _END = "{%- set rules -%}", "{%- endset -%}"


@cache
def load(name: str) -> Any:
    """A table, as its macro returns it.

    The macro sets ``rules`` to the block and returns ``fromyaml(rules)``. The block is plain YAML: Jinja in it would
    reach Python as text.

    Args:
        name: of the table, its macro and its file.

    Raises:
        ValueError: the file has no such block, or the block has Jinja in it.
    """
    text = (_FOLDER / f"{name}.sql").read_text(encoding="utf-8")
    _, begin, rest = text.partition(_BEGIN)
    block, end, _ = rest.partition(_END)
    if not begin or not end or "{%" in block or "{{" in block or "{#" in block:
        raise ValueError(f"macros/rules/{name}.sql: expected plain YAML between {_BEGIN} and {_END}")
    return yaml.safe_load(block)
