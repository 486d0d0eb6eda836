"""The models of an entity, and what their YAML says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .names import numbered, slug

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

_PLACE = ("_cdc_file_path", "_cdc_file_length", "_cdc_file_modified_at", "_cdc_line")
_EVENT = ("_cdc_kafka_partition", "_cdc_kafka_offset", "_cdc_file_path", "_cdc_line")
_NEWEST = ("_cdc_op", "_cdc_position", "_cdc_source_ts", "_cdc_transaction_id", *_EVENT, "_cdc_batch")
_LOG = (
    "_cdc_op", "_cdc_kind", "_cdc_position", "_cdc_source_ts", "_cdc_snapshot", "_cdc_transaction_id",
    "_cdc_transaction_order", "_cdc_unavailable_columns", "_cdc_unknown_columns", "_cdc_absent_columns",
    "_cdc_reject_reason", "_cdc_reject_detail", "_cdc_raw", "_cdc_kafka_partition", "_cdc_kafka_offset",
    "_cdc_file_offset", *_PLACE, "_cdc_batch",
)  # fmt: skip
_IMAGE = ("_cdc_image_position", "_cdc_value_positions", "_cdc_moved_columns", "_cdc_unresolved_columns")
_REJECTED = (
    "_cdc_reject_reason", "_cdc_reject_detail", "_cdc_raw", *_PLACE, "_cdc_kafka_partition", "_cdc_kafka_offset",
    "_cdc_file_offset", "_cdc_batch",
)  # fmt: skip
_VERSION = (
    "_valid_from", "_valid_to", "_is_current", "_cdc_ended_position", "_cdc_ended_op", *_IMAGE, "_cdc_op",
    "_cdc_position", "_cdc_transaction_id", *_EVENT, "_cdc_batch",
)  # fmt: skip
_GRAIN = "unique_combination"
_COUNTS = ("_cdc_row_hash", "_cdc_row_count", "_cdc_ambiguous_events")


@dataclass(frozen=True)
class Model:
    """One model of an entity.

    Attributes:
        layer: prefix of its name.
        suffix: of its name.
        template: of its SQL.
        description: with ``{source}``, ``{entity}`` and ``{key}``; the grain first.
        own: columns after those of the source, of a table with a key.
        own_without_key: the same of a table without one.
        filled: own columns that are never NULL.
        docs: own columns whose text is another one's.
        has_row: whether it has the source's columns.
        has_keys_filled: whether the key's columns are never NULL in it.
        needs_key: whether a table without a key has no such model.
        grain_without_key: columns that tell its rows apart where there is no key.
        grain_after_key: columns that do so together with the key.
    """

    layer: str
    suffix: str
    template: str
    description: str
    own: Sequence[str]
    own_without_key: Sequence[str] = ()
    filled: Sequence[str] = ()
    docs: Mapping[str, str] = field(default_factory=dict)
    has_row: bool = True
    has_keys_filled: bool = False
    needs_key: bool = False
    grain_without_key: Sequence[str] = ()
    grain_after_key: Sequence[str] = ()

    def name(self, source: str, entity: str) -> str:
        """Name of the model of an entity."""
        return f"{self.layer}_{source}__{entity}{self.suffix}"

    def columns(self, key: Sequence[str] | None) -> Sequence[str]:
        """Columns after those of the source; of a key that is not known yet, those with either answer."""
        if key is None and self.own_without_key:
            return [name for name in self.own if name in self.own_without_key]
        return self.own if key or not self.own_without_key else self.own_without_key

    def all_columns(self) -> set[str]:
        """Columns after those of the source, with any key."""
        return {*self.own, *self.own_without_key}

    def tests(self, key: Sequence[str] | None, nullable: Collection[str]) -> dict[str, dict[str, Any]]:
        """Tests of the model and their arguments.

        Args:
            key: columns of the key; None where it is not known yet.
            nullable: those of them that may be NULL.
        """
        if self.layer == "stg":
            return {"every_line_accounted_for": {}, "rejected_within_threshold": {}}
        if self.layer == "qrn":
            return {_GRAIN: {"columns": ["_cdc_file_path", "_cdc_file_length", "_cdc_line"]}}
        found: dict[str, dict[str, Any]] = {"unresolved_within_threshold": {}} if self.suffix == "_state" else {}
        if self.suffix == "_state" and key:
            found["key_holds"] = {}
        if key is not None:
            found[_GRAIN] = {"columns": [*(key or self.grain_without_key), *self.grain_after_key]}
            filled = [name for name in key if name not in nullable] if self.has_keys_filled else self.filled
            if filled:
                found[_GRAIN]["not_null"] = [*filled]
        if self.suffix == "_history":
            found["versions_do_not_overlap"] = {"key": list(key or ())}
        return found

    def key_of(self, declared: Mapping[str, Any]) -> list[str] | None:
        """The key that the tests of a model's YAML were written for; None where none was known.

        Args:
            declared: what the YAML says of the model.
        """
        tests = declared.get("data_tests")
        for test in tests if isinstance(tests, list) else ():
            for name, said in test.items() if isinstance(test, dict) else ():
                if str(name).rpartition(".")[2] == _GRAIN and isinstance(said, dict):
                    columns = (said.get("arguments") or {}).get("columns") or []
                    return [str(one) for one in columns if one not in {*self.grain_without_key, *self.grain_after_key}]
        return None


MODELS = (
    Model(
        "stg",
        "",
        "stg.sql.jinja",
        "One row per line or record of the files of {source}.{entity}: its change log. Append-only; row changes with "
        "their typed row image, rejected lines with their reason, control records by kind.",
        _LOG,
    ),
    Model(
        "qrn",
        "",
        "qrn.sql.jinja",
        "One row per rejected line of the files of {source}.{entity}, with the reason, its text and its place.",
        _REJECTED,
        has_row=False,
    ),
    Model(
        "slv",
        "_state",
        "state.sql.jinja",
        "One row per row that the change log of {source}.{entity} ever named (key: {key}), deleted ones included.",
        ("_is_deleted", "_deleted_at", *_IMAGE, *_NEWEST),
        own_without_key=(*_COUNTS, "_is_deleted", "_deleted_at", *_NEWEST),
        filled=("_is_deleted", "_cdc_position"),
        grain_without_key=("_cdc_row_hash",),
    ),
    Model(
        "slv",
        "",
        "slv.sql.jinja",
        "One row per living row of {source}.{entity} (key: {key}), as the source had it after the newest event read.",
        ("_cdc_unresolved_columns", *_NEWEST),
        own_without_key=("_cdc_row_hash", "_cdc_row_number", *_NEWEST),
        has_keys_filled=True,
        grain_without_key=("_cdc_row_hash", "_cdc_row_number"),
    ),
    Model(
        "slv",
        "_history",
        "history.sql.jinja",
        "One row per version of a row of {source}.{entity} ({key}, _cdc_position), with the half-open interval in "
        "which the source had it.",
        _VERSION,
        filled=("_is_current", "_cdc_position"),
        docs={"_cdc_image_position": "_cdc_version_image_position", "_cdc_position": "_cdc_version_position"},
        needs_key=True,
        grain_after_key=("_cdc_position",),
    ),
)


def beginning_of_description(column: str) -> str:
    """What the description of a column begins with, as long as nobody has written another one."""
    return f"Column {column} of "


def _is_of_another(text: str, column: str) -> bool:
    return text.startswith("Column ") and not text.startswith(beginning_of_description(column))


def names_of_descriptions(
    columns: Iterable[str], prefix: str, written: Mapping[str, str], texts: Mapping[str, str]
) -> dict[str, str]:
    """The names of the columns' descriptions; of columns that look alike there the later ones are numbered.

    Args:
        columns: of a table, in their order.
        prefix: of each name.
        written: by column, the name that stands in the YAML; it stays, whichever columns come and go before it.
        texts: descriptions that are there, by name; that of a column which is gone is no other one's.
    """
    names = {column: name for column, name in written.items() if name.startswith(prefix)}
    taken = set(names.values())
    for column in columns:
        if column not in names:
            free = (name for name in numbered(f"{prefix}{slug(column)}") if name not in taken)
            names[column] = next(name for name in free if not _is_of_another(texts.get(name, ""), column))
            taken.add(names[column])
    return names
