"""What the modules of the command line have in common."""

from __future__ import annotations

from typing import Annotated

import typer

Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


def examples(*commands: str) -> str:
    """An epilog with a command a line."""
    return "Examples:\n\n" + "\n\n".join(commands)
