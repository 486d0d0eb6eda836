"""What a connector's chain of transforms does to changes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from alluvium.inspection.positions import added_position, has_position

from .findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .configurations import Configuration

WITHOUT_TRUNCATES = ("mongodb", "sqlserver")
"""Connectors of sources that have no truncates: SQL Server refuses one in a table with change data capture."""

_FLATTENING = ("ExtractNewRecordState", "ExtractNewDocumentState")
# Types of Cast, what becomes of numbers, and the finding.
_CASTS = (
    (("float32", "float64"), "decimals-as-double", ""),
    (("int8", "int16", "int32", "int64", "boolean"), "values-replaced", ": fractions and larger numbers are cut off"),
)
# Transforms that leave out events, each with the option that says which.
_FILTERS = {
    "io.debezium.transforms.Filter": "condition",
    "org.apache.kafka.connect.transforms.Filter": "predicate",
    "io.confluent.connect.transforms.Filter$Value": "filter.condition",
    "io.confluent.connect.transforms.Filter$Key": "filter.condition",
}
# The parts of an envelope, and what is missing without them.
_PARTS = {
    "before": "deletes-not-sent",
    "op": "deletes-not-sent",
    "after": "changes-not-sent",
    "source": "order-by-clock",
}


def flattenings(configuration: Configuration) -> list[str]:
    """The prefixes of the transforms that take rows out of envelopes (``transforms.unwrap``)."""
    return [prefix for prefix, kind in chain(configuration) if kind.endswith(_FLATTENING)]


def drops_tombstones(configuration: Configuration) -> bool:
    """Whether a transform keeps tombstones from what comes after it: they are dropped, or all deletes are rewritten."""
    return any(
        (kind.endswith(".TombstoneHandler") and configuration.chosen(f"{prefix}.behavior") != "fail")
        or (kind.endswith("transforms.Filter") and _is_for_tombstones(configuration, prefix))
        or (kind.endswith(_FLATTENING) and configuration.chosen(_delete_modes(prefix)[0]) in ("drop", "rewrite"))
        for prefix, kind in chain(configuration)
    )


def _is_for_tombstones(configuration: Configuration, prefix: str) -> bool:
    predicate = f"predicates.{configuration.known(f'{prefix}.predicate')}.type"
    is_negated = configuration.chosen(f"{prefix}.negate", "false") != "false"
    return not is_negated and (configuration.known(predicate) or "").endswith(".RecordIsTombstone")


def copying_transforms(configuration: Configuration) -> list[str]:
    """Those of ``flattenings`` that copy each row to add fields to it: where NULL may become the column's default."""
    return [
        prefix
        for prefix in flattenings(configuration)
        if configuration.parts(f"{prefix}.add.fields")
        or any((configuration.chosen(name) or "").startswith("rewrite") for name in _delete_modes(prefix))
    ]


def findings_of_transforms(
    configuration: Configuration, connector: str | None, *, has_envelopes: bool
) -> Iterator[Finding]:
    """What the transforms of a source or sink connector lose.

    Args:
        configuration: of the connector.
        connector: of Debezium, as ``source.connector`` names it; None where it is another, or not known.
        has_envelopes: whether the first transform is known to get envelopes.
    """
    has_envelopes = has_envelopes or bool(flattenings(configuration))
    for prefix, kind in chain(configuration):
        if kind.endswith(_FLATTENING):
            has_envelopes = False
            yield from _flattening(configuration, prefix, "mongodb" if kind.endswith(_FLATTENING[1]) else connector)
        if kind in _FILTERS:
            yield from _filter(configuration, prefix, kind)
        lost = _lost_parts(configuration, prefix, kind, has_envelopes=has_envelopes)
        yield from _without_parts(configuration, f"`{prefix}.type={kind}`", lost)
        has_envelopes = has_envelopes and not lost
        # In an envelope the columns are not where these two look for them.
        if kind.endswith("transforms.Cast$Value") and not has_envelopes:
            yield from _cast(configuration, prefix)
        if kind.endswith("transforms.TimestampConverter$Value") and not has_envelopes:
            yield configuration.finding(
                "times-in-milliseconds",
                f"`{prefix}.field={configuration.known(f'{prefix}.field')}`: TimestampConverter keeps no microseconds",
                "Leave it out, take a new snapshot, and declare `data_type` of the column.",
            )


def chain(configuration: Configuration) -> list[tuple[str, str]]:
    """The prefix (``transforms.unwrap``) and the class of each transform, in their order."""
    prefixes = [f"transforms.{alias}" for alias in configuration.parts("transforms")]
    return [(prefix, configuration.known(f"{prefix}.type") or "") for prefix in prefixes]


def _flattening(configuration: Configuration, prefix: str, connector: str | None) -> Iterator[Finding]:
    yield from _deletes(configuration, prefix)
    if connector not in WITHOUT_TRUNCATES:
        yield truncates_not_sent(configuration.name, f"`{prefix}`")
    yield from _order(configuration, prefix, connector)


def truncates_not_sent(where: str, what: str) -> Finding:
    """The finding for flattened records, which ``what`` shows."""
    return Finding(
        "truncates-not-sent",
        where,
        f"{what}: ExtractNewRecordState drops truncates, whatever `skipped.operations` says",
        "Land the envelope where tables are truncated; else compare with the source (`reconcile`).",
    )


def _delete_modes(prefix: str) -> tuple[str, str]:
    """The option that says what becomes of deletes, and the one of older versions of Debezium."""
    return f"{prefix}.delete.tombstone.handling.mode", f"{prefix}.delete.handling.mode"


def _deletes(configuration: Configuration, prefix: str) -> Iterator[Finding]:
    names = _delete_modes(prefix)
    mode, legacy = (configuration.chosen(name) for name in names)
    if mode in (None, "rewrite", "rewrite-with-tombstone") or legacy in (None, "rewrite"):
        return
    said = [f"`{name}={configuration.options[name]}`" for name in names if configuration.has(name)]
    yield configuration.finding(
        "deletes-not-sent",
        said[0] if said else f"no `{names[0]}`: its default is `tombstone`",
        f"Set `{names[0]}=rewrite`, and take a new snapshot.",
    )


def _order(configuration: Configuration, prefix: str, connector: str | None) -> Iterator[Finding]:
    if configuration.known(f"{prefix}.add.fields") is None:
        return
    added = configuration.parts(f"{prefix}.add.fields")
    # `ts_ms` without its struct is the connector's clock.
    fields = {part.removeprefix("source.") for part in added if part != "ts_ms"}
    position = added_position(connector) if connector else None
    positions = [position] if position else [str(added_position(name)) for name in ("postgresql", "mysql")]
    marked = configuration.known(f"{prefix}.add.fields.prefix", "__")
    if not has_position(fields, connector if position else None):
        of_connector = f" of {connector}" if position else ""
        yield configuration.finding(
            "order-by-clock",
            f"`{prefix}.add.fields={','.join(added)}` has no position{of_connector}"
            if added
            else f"no `{prefix}.add.fields`",
            f"Add the position: {' or '.join(f'`op,{position}`' for position in positions)}.",
        )
    elif marked not in ("__", None):
        yield configuration.finding(
            "order-by-clock",
            f"`{prefix}.add.fields.prefix={marked}`: unless it is declared, a position is looked for behind `__`",
            f"Say `add_fields_prefix: {marked}` in `meta.cdc`, or leave the option out.",
            is_error=False,
        )


def _filter(configuration: Configuration, prefix: str, kind: str) -> Iterator[Finding]:
    option = f"{prefix}.{_FILTERS[kind]}"
    condition = configuration.known(option)
    kind_of_predicate = configuration.known(f"predicates.{condition}.type") or ""
    # Topics are chosen as tables are: what is left out is no change of a table that is here.
    if (
        condition is None
        or kind_of_predicate.endswith(".TopicNameMatches")
        or _is_for_tombstones(configuration, prefix)
    ):
        return
    sign = "==" if configuration.chosen(f"{prefix}.filter.type") == "exclude" else "!==?"
    is_of_deletes = re.search(rf"\bop\b\W*{sign}\s*['\"]d['\"]", condition)
    yield configuration.finding(
        "deletes-not-sent" if is_of_deletes else "changes-not-sent",
        f"`{option}={condition}`: {'deletes' if is_of_deletes else 'events'} are left out"
        if condition
        else f"no `{option}`: all events are left out",
        "Leave the filter out, and take a new snapshot. To leave out tables, use `table.include.list`.",
    )


def _lost_parts(configuration: Configuration, prefix: str, kind: str, *, has_envelopes: bool) -> set[str]:
    """The parts of envelopes that records do not have after a transform."""
    if kind.endswith(".ExtractField$Value"):
        field = configuration.known(f"{prefix}.field")
        return _PARTS.keys() - {field} if has_envelopes or field in ("before", "after") else set()
    if has_envelopes and kind.endswith((".Flatten$Value", ".HoistField$Value")):
        return {"before", "source"}
    if has_envelopes and kind.endswith(".ReplaceField$Value"):
        exclude, include, renames = (
            [part for name in names for part in configuration.parts(f"{prefix}.{name}")]
            for names in (("exclude", "blacklist"), ("include", "whitelist"), ("renames",))
        )
        lost = {*exclude, *(pair.partition(":")[0] for pair in renames)}
        return _PARTS.keys() & lost | (_PARTS.keys() - set(include) if include else set())
    return set()


def _without_parts(configuration: Configuration, said: str, lost: set[str]) -> Iterator[Finding]:
    for code in dict.fromkeys(_PARTS.values()):
        names = [f"`{part}`" for part, its_code in _PARTS.items() if its_code == code and part in lost]
        if names:
            yield configuration.finding(
                code,
                f"{said}: records have no {', no '.join(names)}",
                "Leave it out, or use ExtractNewRecordState for rows, and take a new snapshot.",
            )


def _cast(configuration: Configuration, prefix: str) -> Iterator[Finding]:
    for types, code, effect in _CASTS:
        columns = [part for part in configuration.parts(f"{prefix}.spec") if part.lower().endswith(types)]
        if columns:
            yield configuration.finding(
                code,
                f"`{prefix}.spec` casts {', '.join(columns)}{effect}",
                "Leave columns that have other values out of `spec`, and take a new snapshot.",
                is_error=not effect,
            )
