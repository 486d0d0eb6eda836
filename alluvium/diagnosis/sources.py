"""What the configurations of source connectors lose: Debezium's, and the JDBC source."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .findings import Finding
from .transforms import WITHOUT_TRUNCATES, copying_transforms, findings_of_transforms, flattenings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .configurations import Configuration

MICROSECONDS_OF_DEBEZIUM = (
    "Set `time.precision.mode=adaptive_time_microseconds` (or `isostring`), and take a new snapshot."
)
"""What to do about milliseconds from Debezium."""
MICROSECONDS_OF_QUERY = "Set `timestamp.granularity=nanos_long` (nanoseconds since 1970), and load the tables anew."
"""What to do about milliseconds from the JDBC source."""
FULL_DOCUMENTS = (
    "Set `capture.mode=change_streams_update_full` (or `change_streams_update_full_with_pre_image`), and take a new "
    "snapshot."
)
"""What to do about updates without the document after them."""

_OPERATIONS = {"c": "inserts", "u": "updates", "d": "deletes", "t": "truncates", "r": "reads of snapshots"}
_WITHOUT_ROWS = (
    "rows that no later change names are not sent",
    "Run an incremental snapshot of the tables, or start a new connector with `snapshot.mode=initial`.",
    True,
)
_WITHOUT_STREAM = ("changes after the snapshot are not sent", "Set `snapshot.mode=initial`.", True)
_RECOVERY = (
    "for one restart only: rows of new tables are not sent, and columns may be wrong if a table was altered before it",
    "Set the former mode again. If a table was altered or added, take a new snapshot.",
    False,
)
# Values of `snapshot.mode` since Debezium 1.9: what is lost, what to do, and whether it is an error.
_SNAPSHOT_MODES = {
    **dict.fromkeys(("no_data", "schema_only", "never", "when_needed_no_data"), _WITHOUT_ROWS),
    **dict.fromkeys(("recovery", "schema_only_recovery"), _RECOVERY),
    "initial_only": _WITHOUT_STREAM,
}
# What `configuration_based` does not do by default.
_SNAPSHOT_OPTIONS = {
    "snapshot.mode.configuration.based.snapshot.data": _WITHOUT_ROWS,
    "snapshot.mode.configuration.based.start.stream": _WITHOUT_STREAM,
}
# Options that leave out rows or changes, as regular expressions. Which ones, nothing here shows.
_LIMITS = {
    r"snapshot\.include\.collection\.list": "existing rows of other tables are not sent",
    r"snapshot\.(select\.statement|collection\.filter)\.overrides": "existing rows that its queries leave out are not "
    "sent, and a new snapshot deletes them (unless `snapshots: partial` is set)",
    r"cursor\.pipeline": "changes that its stages leave out are not sent",
    r"log\.mining\.(username|clientid)\.(include|exclude)\.list": "changes of some users or clients are not sent",
    r"gtid\.source\.(includes|excludes)": "changes that some servers wrote are not sent (unless "
    "`gtid.source.filter.dml.events=false`)",
}
_FULL_DUMPS = "Land a dump of the whole table from time to time (`full_dumps`), or capture the log with Debezium."


def findings_of_debezium(configuration: Configuration, connector: str | None) -> Iterator[Finding]:
    """What a connector of Debezium is told to leave out, or to send with less than the source has.

    Args:
        configuration: of the connector.
        connector: as ``source.connector`` names it; None for those whose position is not read here.
    """
    yield from findings_of_transforms(configuration, connector, has_envelopes=True)
    yield from _skipped(configuration, connector)
    yield from _snapshots(configuration)
    yield from _limits(configuration)
    yield from _failures(configuration)
    yield from _keys(configuration)
    if connector == "mongodb":
        yield from _documents(configuration)
    else:
        yield from _values(configuration)
        yield from _bytes(configuration, connector)
        yield from _nulls(configuration)


def _skipped(configuration: Configuration, connector: str | None) -> Iterator[Finding]:
    option = "skipped.operations"
    skipped = (configuration.known(option, "t") or "none").split(",")
    operations = {operation.strip() for operation in skipped} - {"none"}
    if not operations <= set(_OPERATIONS):
        configuration.unread[option] = f"Debezium takes `none`, or of {', '.join(_OPERATIONS)}"
        return
    said = f"`{option}={configuration.options[option]}`" if configuration.has(option) else ""
    remedy = f"Set `{option}=none`{', and take a new snapshot' if operations - {'t'} else ''}."
    if "t" in operations and connector not in WITHOUT_TRUNCATES and not flattenings(configuration):
        evidence = said or f"no `{option}`: its default is `t`"
        yield configuration.finding("truncates-not-sent", evidence, remedy)
    if "d" in operations:
        yield configuration.finding("deletes-not-sent", said, remedy)
    left_out = [name for operation, name in _OPERATIONS.items() if operation in operations - {"d", "t"}]
    if left_out:
        yield configuration.finding("changes-not-sent", f"{said}: no {', no '.join(left_out)}", remedy)


def _snapshots(configuration: Configuration) -> Iterator[Finding]:
    option = "snapshot.mode"
    mode = configuration.chosen(option) or "initial"
    found = {f"`{option}={mode}`": _SNAPSHOT_MODES[mode]} if mode in _SNAPSHOT_MODES else {}
    if mode == "configuration_based":
        found = {
            f"no `{name}=true`": rule
            for name, rule in _SNAPSHOT_OPTIONS.items()
            if configuration.chosen(name, "false") == "false"
        }
    elif mode == "custom":
        configuration.unread[option] = "which rows it sends is not known here"
    for said, (effect, remedy, is_error) in found.items():
        yield configuration.finding("changes-not-sent", f"{said}: {effect}", remedy, is_error=is_error)


def _limits(configuration: Configuration) -> Iterator[Finding]:
    for option, value in configuration.options.items():
        for name, effect in _LIMITS.items():
            if value and re.fullmatch(name, option):
                yield configuration.finding(
                    "changes-not-sent",
                    f"`{option}={value}`: {effect}",
                    "If your tables need them, leave it out and take a new snapshot.",
                    is_error=False,
                )


def _failures(configuration: Configuration) -> Iterator[Finding]:
    option = "event.processing.failure.handling.mode"
    if configuration.chosen(option) in ("warn", "skip", "ignore"):
        yield configuration.finding(
            "changes-not-sent",
            f"`{option}={configuration.options[option]}`: a change that cannot be processed is left out",
            f"Set `{option}=fail`, and take a new snapshot.",
        )


def _keys(configuration: Configuration) -> Iterator[Finding]:
    option = "message.key.columns"
    if configuration.has(option):
        yield configuration.finding(
            "key-unknown",
            f"`{option}={configuration.options[option]}`: the messages of these tables have another key than the table",
            "Say in `key` the columns that tell the rows apart: these only where they do.",
            is_error=False,
        )


def _documents(configuration: Configuration) -> Iterator[Finding]:
    option = "capture.mode"
    mode = configuration.chosen(option)
    if mode in ("change_streams", "change_streams_with_pre_image"):
        yield configuration.finding(
            "changes-not-sent",
            f"`{option}={configuration.options[option]}`: an update has what was changed, and not the document",
            FULL_DOCUMENTS,
        )


def _values(configuration: Configuration) -> Iterator[Finding]:
    if configuration.chosen("decimal.handling.mode") == "double":
        yield configuration.finding(
            "decimals-as-double",
            "`decimal.handling.mode=double`",
            "Set `decimal.handling.mode=precise` (or `string`), and take a new snapshot.",
        )
    if configuration.chosen("time.precision.mode") == "connect":
        yield configuration.finding(
            "times-in-milliseconds", "`time.precision.mode=connect`: microseconds are cut off", MICROSECONDS_OF_DEBEZIUM
        )


def _bytes(configuration: Configuration, connector: str | None) -> Iterator[Finding]:
    """PostgresValueConverter has a placeholder in the other two modes only (3.7)."""
    option = "binary.handling.mode"
    if connector == "postgresql" and configuration.chosen(option) in ("base64", "base64-url-safe"):
        yield configuration.finding(
            "values-not-sent",
            f"`{option}={configuration.options[option]}`: an out-of-line (TOAST) `bytea` that an update did not change "
            "is sent as NULL",
            f"Set `{option}=bytes` (or `hex`), or `REPLICA IDENTITY FULL` for such tables, and take a new snapshot.",
        )


def is_of_cloud_events(configuration: Configuration) -> bool:
    """Whether a connector's converter makes CloudEvents of changes."""
    return configuration.options.get("value.converter", "").endswith(".CloudEventsConverter")


def _nulls(configuration: Configuration) -> Iterator[Finding]:
    converter = configuration.options.get("value.converter", "")
    of_converter = _option_of_nulls(converter)
    of_transforms = [(f"{prefix}.replace.null.with.default", "false") for prefix in copying_transforms(configuration)]
    for option, value in [*of_converter, *of_transforms]:
        if configuration.chosen(option) not in (value, None):
            yield configuration.finding(
                "nulls-as-defaults",
                f"no `{option}={value}`",
                f"Set it to `{value}`, where a nullable column has a default.",
            )
    if not of_converter and not is_of_cloud_events(configuration):
        yield configuration.finding(
            "nulls-as-defaults",
            f"`value.converter={converter}`: whether it sends NULL or a column's default is not known here",
            "Compare a nullable column that has a default with the source.",
            is_error=False,
        )


def _option_of_nulls(converter: str) -> list[tuple[str, str]]:
    """What keeps a NULL of a column with a default, and its value; nothing for a converter that is not known."""
    if converter.startswith("io.confluent."):
        return [("value.converter.ignore.default.for.nullables", "true")]
    # Where the connector names none, it is the worker's: Kafka Connect's own, in most cases.
    if not converter or converter.endswith(".JsonConverter"):
        return [("value.converter.replace.null.with.default", "false")]
    return []


def findings_of_query(configuration: Configuration) -> Iterator[Finding]:
    """What a JDBC source does not see, or sends with less than the source has."""
    yield from findings_of_transforms(configuration, None, has_envelopes=False)
    mode = configuration.chosen("mode")
    said = f"`mode={mode}`" if mode else "no `mode`" if mode == "" else "whatever `mode` is"
    delay = configuration.number("timestamp.delay.interval.ms")
    if mode and "timestamp" in mode and delay is not None and delay <= 0:
        yield configuration.finding(
            "query-without-delay",
            f"{said} without `timestamp.delay.interval.ms`",
            "Set it above the longest transaction, and compare with full dumps (`full_dumps`).",
        )
    yield configuration.finding(
        "deletes-not-sent", f"{said}: a query sees the rows that are there, not those that are gone", _FULL_DUMPS
    )
    if mode == "incrementing":
        yield configuration.finding("changes-not-sent", f"{said}: no updates, only new rows", _FULL_DUMPS)
    yield from _values_of_query(configuration)


def _values_of_query(configuration: Configuration) -> Iterator[Finding]:
    mapping = configuration.chosen("numeric.mapping")
    if mapping in ("best_fit", "best_fit_eager_double"):
        yield configuration.finding(
            "decimals-as-double",
            f"`numeric.mapping={mapping}`: what has a fraction is sent as a double",
            "Leave `numeric.mapping` out, and load the tables anew.",
        )
    option = "timestamp.granularity"
    if configuration.chosen(option, "connect_logical") == "connect_logical":
        yield configuration.finding(
            "times-in-milliseconds",
            f"`{option}=connect_logical`: microseconds are cut off"
            if configuration.has(option)
            else f"no `{option}`: its default is `connect_logical`, which has milliseconds",
            MICROSECONDS_OF_QUERY,
        )
