"""Templates of files that hold Jinja of dbt's own, and scalars of YAML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jinja2
import yaml

if TYPE_CHECKING:
    from pathlib import Path


def environment(folder: Path) -> jinja2.Environment:
    """What renders the templates of a folder: ``[[ value ]]``, ``[% block %]``, and the filter `scalar`."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        # Delimiters of its own: what is written has those of dbt.
        variable_start_string="[[",
        variable_end_string="]]",
        block_start_string="[%",
        block_end_string="%]",
        comment_start_string="[#",
        comment_end_string="#]",
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        autoescape=False,
    )
    made.filters["scalar"] = scalar
    return made


def scalar(value: Any) -> str:
    """A value as YAML writes it on one line, quoted where a reader would take it for something else."""
    text = _dumped(value, None)
    # One with a line end takes more lines, unless it is in double quotes; YAML reads other ends than \n as blanks.
    return _dumped(value, '"') if len(text.splitlines()) > 1 else text


def _dumped(value: Any, style: str | None) -> str:
    text: str = yaml.safe_dump(
        value, default_style=style, default_flow_style=True, allow_unicode=True, width=10_000, sort_keys=False
    )
    return text.removesuffix("\n").removesuffix("\n...")
