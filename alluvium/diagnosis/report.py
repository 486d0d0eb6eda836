"""Findings on a terminal."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from alluvium.wording import counted

from .findings import CODES, Finding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console, RenderableType


def print_findings(console: Console, findings: Sequence[Finding]) -> None:
    """Print the findings by code, errors first: what shows each, what to do, and what explains it."""
    for (is_error, code), group in groupby(findings, key=lambda finding: (finding.is_error, finding.code)):
        heading = Text("error    " if is_error else "warning  ", style="red" if is_error else "yellow")
        console.print(heading.append(f"{CODES[code]} [{code}]", style="bold"))
        for remedy, alike in groupby(group, key=lambda finding: finding.remedy):
            for evidence, same in groupby(alike, key=lambda finding: finding.evidence):
                console.print(_indented(Text(f"{', '.join(finding.where for finding in same)}: {evidence}")))
            console.print(_indented(Text(remedy, style="green")))
        console.print(_indented(Text(f"alluvium explain {code}", style="dim")))
    errors = sum(finding.is_error for finding in findings)
    console.print(
        f"{counted(errors, 'error')}, {counted(len(findings) - errors, 'warning')}." if findings else "Nothing found."
    )


def _indented(text: RenderableType) -> Padding:
    # Else each line is filled with blanks, and that of a pipe has thousands.
    return Padding(text, (0, 0, 0, 6), expand=False)
