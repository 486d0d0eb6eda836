"""Alluvium: change files in, exact Delta or Hudi tables out. Set-up, session and command line of the dbt project."""

from __future__ import annotations

__version__ = "0.1.0"


class AlluviumError(Exception):
    """A condition that the user can mend. The message is one sentence that says what to do."""
