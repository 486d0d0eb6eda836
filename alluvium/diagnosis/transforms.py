"""What a connector's chain of transforms does to changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alluvium.inspection.positions import added_position, has_position

from .findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .configurations import Configuration

WITHOUT_TRUNCATES = ("mongodb", "sqlserver")
"""Connectors of sources that have no truncates: SQL Server refuses one in a table with change data capture."""

_FLATTENING = ("ExtractNewRecordState", "ExtractNewDocumentState")
_FLOATS = ("float32", "float64")


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
        # In an envelope the columns are not where Cast looks for them: nothing is cast there.
        if kind.endswith("transforms.Cast$Value") and not has_envelopes:
            yield from _cast(configuration, prefix)


def chain(configuration: Configuration) -> list[tuple[str, str]]:
    """The prefix (``transforms.unwrap``) and the class of each transform, in their order."""
    prefixes = [f"transforms.{alias}" for alias in configuration.parts("transforms")]
    return [(prefix, configuration.known(f"{prefix}.type") or "") for prefix in prefixes]


def _flattening(configuration: Configuration, prefix: str, connector: str | None) -> Iterator[Finding]:
    yield from _deletes(configuration, prefix)
    if connector not in WITHOUT_TRUNCATES:
        yield Finding(
            "truncates-not-sent",
            configuration.name,
            f"`{prefix}`: ExtractNewRecordState drops truncates, whatever `skipped.operations` says",
            "Land the envelope where tables are truncated; else compare with the source (`reconcile`).",
        )
    yield from _order(configuration, prefix, connector)


def _delete_modes(prefix: str) -> tuple[str, str]:
    """The option that says what becomes of deletes, and the one of older versions of Debezium."""
    return f"{prefix}.delete.tombstone.handling.mode", f"{prefix}.delete.handling.mode"


def _deletes(configuration: Configuration, prefix: str) -> Iterator[Finding]:
    names = _delete_modes(prefix)
    mode, legacy = (configuration.chosen(name) for name in names)
    if mode in (None, "rewrite", "rewrite-with-tombstone") or legacy in (None, "rewrite"):
        return
    said = [f"`{name}={configuration.options[name]}`" for name in names if configuration.has(name)]
    yield Finding(
        "deletes-not-sent",
        configuration.name,
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
        yield Finding(
            "order-by-clock",
            configuration.name,
            f"`{prefix}.add.fields={','.join(added)}` has no position{of_connector}"
            if added
            else f"no `{prefix}.add.fields`",
            f"Add the position: {' or '.join(f'`op,{position}`' for position in positions)}.",
        )
    elif marked not in ("__", None):
        yield Finding(
            "order-by-clock",
            configuration.name,
            f"`{prefix}.add.fields.prefix={marked}`: unless it is declared, a position is looked for behind `__`",
            f"Say `add_fields_prefix: {marked}` in `meta.cdc`, or leave the option out.",
            is_error=False,
        )


def _cast(configuration: Configuration, prefix: str) -> Iterator[Finding]:
    columns = [part for part in configuration.parts(f"{prefix}.spec") if part.lower().endswith(_FLOATS)]
    if columns:
        yield Finding(
            "decimals-as-double",
            configuration.name,
            f"`{prefix}.spec` casts {', '.join(columns)}",
            "Leave decimals out of `spec`, and take a new snapshot.",
        )
