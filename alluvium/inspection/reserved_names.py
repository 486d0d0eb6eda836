"""Columns of a source whose names a table cannot have here."""

from __future__ import annotations


def is_reserved_name(name: str) -> bool:
    """As the macros' is_own_column: in any case, as Spark compares names."""
    name = name.lower()
    return name.startswith("_cdc_") or name in (
        "_is_deleted",
        "_deleted_at",
        "_valid_from",
        "_valid_to",
        "_is_current",
        "_metadata",
        "_hoodie_commit_time",
        "_hoodie_commit_seqno",
        "_hoodie_record_key",
        "_hoodie_partition_path",
        "_hoodie_file_name",
    )


def is_invalid_name(name: str) -> bool:
    """Whether the macros reject a column: its name is taken, begins with ``#``, or has a character that ends a line."""
    return is_reserved_name(name) or name.startswith("#") or len(f"{name}.".splitlines()) > 1


def question_of_invalid_name(name: str) -> str:
    """What to ask of such a column."""
    if is_reserved_name(name):
        return (
            f"{name} is a name that this project, Spark or Hudi has: which other one shall it have? Rename it in the "
            "connector (ReplaceField), or take it out of the source's YAML and say unknown_columns: ignore."
        )
    return (
        f"column {name!r} cannot be built: its name begins with # or has a character that ends a line. Rename it in "
        "the connector (ReplaceField), or leave it out with except_column_list."
    )
