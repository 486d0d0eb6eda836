"""Which rules are those of which connector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alluvium.inspection.messages import advice_of

from .findings import Finding
from .replaced_values import findings_of_replaced_values
from .sinks import findings_of_sink, findings_of_storage_sink
from .sources import findings_of_debezium, findings_of_query, is_of_cloud_events

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alluvium.inspection import Inspection

    from .configurations import Configuration

# By the short names of the classes: what `source.connector` is.
_DEBEZIUM = {
    "postgres": "postgresql",
    "mysql": "mysql",
    "mariadb": "mariadb",
    "sqlserver": "sqlserver",
    "oracle": "oracle",
    "mongodb": "mongodb",
}
_STORAGE_SINKS = ("s3sink", "gcssink", "azureblobstoragesink", "hdfssink", "hdfs3sink")
_OTHER_SINKS = ("io.lenses.streamreactor.connect.", "io.aiven.kafka.connect.")


def findings_of_connector(configuration: Configuration, inspection: Inspection | None) -> Iterator[Finding]:
    """What a connector's configuration shows, and what of it is not looked at.

    Args:
        configuration: of the connector.
        inspection: of the files that it has landed, for keys; or None.
    """
    yield from _findings_by_class(configuration, inspection)
    for option, why in configuration.unread.items():
        yield configuration.finding(
            "configuration-unread",
            f"`{option}={configuration.options[option]}`: {why}",
            "Put the value that the connector gets in its place, and ask again.",
            is_error=False,
        )


def _findings_by_class(configuration: Configuration, inspection: Inspection | None) -> Iterator[Finding]:
    if configuration.chosen("errors.tolerance") == "all":
        yield configuration.finding(
            "changes-not-sent",
            "`errors.tolerance=all`: a record that a converter or transform fails at is left out",
            "Leave it out: the connector then stops at such a record, and loses none.",
        )
    if is_of_cloud_events(configuration):
        yield configuration.finding(
            "messages-of-other-tools",
            f"`value.converter={configuration.options['value.converter']}`: no model reads CloudEvents",
            advice_of("CloudEvents"),
        )
    package, _, simple = configuration.class_name.lower().rpartition(".")
    short = simple.removesuffix("connector")
    is_source = (package.startswith("io.debezium.connector") or not package) and short in _DEBEZIUM
    yield from findings_of_replaced_values(configuration, has_envelopes=is_source)
    # Kafka Connect takes a class by its full name, or by the last part of it with or without `Connector`.
    if short.endswith("jdbcsource"):
        yield from findings_of_query(configuration)
    elif package.startswith("io.debezium.connector") and not short.endswith("sink"):
        if short not in _DEBEZIUM:
            yield _unknown_class(configuration, "none of the connectors of Debezium that are known here")
        yield from findings_of_debezium(configuration, _DEBEZIUM.get(short))
    elif not package and short in _DEBEZIUM:
        yield from findings_of_debezium(configuration, _DEBEZIUM[short])
    elif short in _STORAGE_SINKS and (not package or package.startswith("io.confluent.connect.")):
        yield from findings_of_storage_sink(configuration, inspection)
    elif short.endswith("sink") and package.startswith(_OTHER_SINKS):
        yield from findings_of_sink(configuration, inspection)
    else:
        yield _unknown_class(configuration, "no connector whose options are known here")


def _unknown_class(configuration: Configuration, why: str) -> Finding:
    return configuration.finding(
        "configuration-unread",
        f"`connector.class={configuration.class_name}`: {why}",
        "Known are Debezium's for PostgreSQL, MySQL, MariaDB, SQL Server, Oracle and MongoDB, the JDBC source, and the "
        "storage sinks of Confluent, Lenses and Aiven. Is the name right?",
        is_error=False,
    )
