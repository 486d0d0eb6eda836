"""Models as version 0.1 wrote them, in today's form. May go in 0.3, with macros/deprecated."""

from __future__ import annotations

import re
from typing import Any

_NAMES = {
    "decode_debezium": "change_log",
    "decode_rows": "change_log",
    "living_rows": "current_rows",
    "scd2_from_changes": "history",
}
_CONFIG = re.compile(
    r'\{\{ config\(\n    materialized="incremental",\n    incremental_strategy="(?:append|merge)",\n'
    r'(?:    file_format="(?P<file_format>\w+)",\n)?'
    r'    post_hook="\{\{ alluvium\.record_applied_\w+\(\) \}\}",\n'
    r'(?:    meta=\{"cdc": \{"(?:stored_as_scd_type": 2|merge_guard": "_cdc_position", '
    r'"delete_policy": "(?P<deletes>\w+)")\}\},\n)?\) \}\}\n\n'
)


def in_todays_form(sql: str, *, says_soft: bool) -> str:
    """The text of a model without settings that its macro makes now, and with today's names.

    Args:
        sql: of a model's file, with line feeds between its lines.
        says_soft: whether ``delete_policy: soft`` means something, because a folder may say otherwise.
    """
    if says_soft and '"delete_policy": "soft"' in sql:
        return sql
    for old, new in _NAMES.items():
        sql = re.sub(rf"\b{old}\(", f"{new}(", sql)
    return _CONFIG.sub(_settings, sql)


def _settings(found: re.Match[str]) -> str:
    settings = [f'file_format="{found["file_format"]}"'] if found["file_format"] else []
    if found["deletes"] not in (None, "soft"):
        settings.append(f'meta={{"cdc": {{"delete_policy": "{found["deletes"]}"}}}}')
    return f"{{{{ config({', '.join(settings)}) }}}}\n\n" if settings else ""


def with_tests_of_columns(model: dict[str, Any]) -> dict[str, Any]:
    """What a model's YAML says, with dbt's ``not_null`` beside each column for the argument of the grain's test.

    Args:
        model: as today's writer makes it.
    """
    filled = ["_cdc_kind"] if model["name"].startswith("stg_") else []
    tests: list[Any] = []
    for test in model.get("data_tests", ()):
        if isinstance(test, dict):
            ((name, said),) = test.items()
            filled += said["arguments"].get("not_null", ())
            arguments = {argument: value for argument, value in said["arguments"].items() if argument != "not_null"}
            tests.append({name: {"arguments": arguments}})
        else:
            tests.append(test)
    columns = [
        {**column, **({"data_tests": ["not_null"]} if column["name"] in filled else {})} for column in model["columns"]
    ]
    return {**model, **({"data_tests": tests} if tests else {}), "columns": columns}
