"""Settings with which a connector sends something else in the place of values: a reference, a part, a hash."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from alluvium.inspection.unavailable import unavailable_values

from .findings import Finding
from .transforms import chain, flattenings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .configurations import Configuration

REFERENCES = (
    "The column is NULL there, and named in `_cdc_unresolved_columns`; the reference is in `_cdc_unavailable_columns` "
    "of the change log. Leave the processor out, or exclude columns that your tables need, and take a new snapshot."
)
"""What becomes of references to values that are stored elsewhere, and what to do."""
_WHOLE = "Leave it out for columns that your tables need, and take a new snapshot. Nothing in the files shows it."


@dataclass(frozen=True)
class Replacement:
    """A class or an option that replaces values.

    Attributes:
        name: a regular expression that the name of the class, or of the option, begins and ends with.
        effect: what it does to values.
        columns: the class's option that names the columns, or None: any.
        is_error: whether the value is lost.
        needs_rows: whether it finds no columns in an envelope.
    """

    name: str
    effect: str
    columns: str | None = None
    is_error: bool = True
    needs_rows: bool = False


# Debezium's own options for columns (RelationalDatabaseConnectorConfig); the value is a list of columns. A salt is not
# printed.
_OPTIONS = (
    Replacement(r"column\.truncate\.to\.\d+\.chars", "texts are cut off"),
    Replacement(r"column\.mask\.hash(\.v2)?\.[^.]+\.with\.salt", "texts are hashed"),
    Replacement(r"column\.mask\.with\.\d+\.chars", "texts are replaced by asterisks"),
)
# Of Kafka Connect, Debezium and Aiven, and public ones (kryptonite-for-kafka, claim checks).
_TRANSFORMS = (
    Replacement(r".*\.EnforceRecordSize", "texts and bytes of records over `max.bytes` are cut off"),
    Replacement(r".*\.MaskField\$Value", "values are replaced", "fields", needs_rows=True),
    Replacement(r".*\.Hash\$Value", "the value is hashed", "field.name", needs_rows=True),
    Replacement(r".*\.CipherField\$Value", "values are encrypted", "field_config"),
    Replacement(r".*ClaimCheck\w*", "large values are replaced by references or defaults"),
    Replacement(r".*\.SwapGeometryCoordinates", "coordinates of geometries are swapped", "srids", is_error=False),
    Replacement(r".*\.TimezoneConverter", "times are moved to another time zone", "include.list", is_error=False),
)
_PROCESSORS = (
    Replacement(
        r".*\.ReselectColumnsPostProcessor",
        "values are read again from the table, so an event may show a later one",
        "reselect.columns.include.list",
        is_error=False,
    ),
)
# Debezium's converters of columns. The first one changes no number.
_HARMLESS_CONVERTER = ".NumberToZeroScaleConverter"
_CONVERTERS = (
    Replacement(r".*\.\w+OneToBooleanConverter", "numbers are sent as true or false", "selector", is_error=False),
    Replacement(r".*\.JdbcSinkDataTypesConverter", "numbers are sent as 1 or 0", "selector.boolean", is_error=False),
    Replacement(r".*\.RawToStringConverter", "bytes that are no text are replaced", "selector", is_error=False),
    Replacement(
        r".*\.ZeroDateFallbackConverter", "zero dates are sent as NULL or as another date", "selector", is_error=False
    ),
)
# Packages whose other transforms leave values as they are, or are looked at by rules of their own.
_KNOWN_PACKAGES = ("io.debezium.", "org.apache.kafka.connect.transforms.", "io.confluent.connect.transforms.")


def findings_of_replaced_values(configuration: Configuration, *, has_envelopes: bool) -> Iterator[Finding]:
    """What a connector's options, post processors and transforms put in the place of values.

    Args:
        configuration: of the connector.
        has_envelopes: whether the first transform is known to get envelopes.
    """
    yield from _options(configuration)
    yield from _processors(configuration)
    yield from _converters(configuration)
    yield from _transforms(configuration, has_envelopes=has_envelopes)
    yield from _placeholder(configuration)


def _options(configuration: Configuration) -> Iterator[Finding]:
    for option, value in configuration.options.items():
        for rule in _OPTIONS:
            found = re.match(rule.name, option)
            if found:
                shown = option if option == found[0] else f"{found[0]}..."
                yield _finding(configuration, f"`{shown}={value}`: {rule.effect}", rule)


def _processors(configuration: Configuration) -> Iterator[Finding]:
    references = unavailable_values()["references"]
    for alias in configuration.parts("post.processors"):
        # Debezium takes the options of a processor behind its alias; its documentation has a prefix before it.
        prefix = next(
            (prefix for prefix in (alias, f"post.processors.{alias}") if configuration.has(f"{prefix}.type")), alias
        )
        kind = configuration.known(f"{prefix}.type") or ""
        shown = f"`{prefix}.type={kind}`"
        rule = _rule_of(kind, _PROCESSORS)
        reference = next((reference for reference in references if kind.endswith(f".{reference['processor']}")), None)
        if reference:
            yield configuration.finding(
                "values-replaced",
                f"{shown}: large values{_columns(configuration, prefix, '.columns.include.list')} are replaced by "
                f"references to {reference['place']}",
                REFERENCES,
            )
        elif rule:
            yield _finding(configuration, f"{shown}: {rule.effect}", rule)
        elif kind:
            configuration.unread[f"{prefix}.type"] = "what it does to values is not known here"


def _converters(configuration: Configuration) -> Iterator[Finding]:
    for alias in configuration.parts("converters"):
        kind = configuration.known(f"{alias}.type") or ""
        rule = _rule_of(kind, _CONVERTERS)
        said = f"`{alias}.type={kind}`"
        if rule:
            columns = _columns(configuration, alias, f".{rule.columns}")
            yield _finding(configuration, f"{said}{columns}: {rule.effect}", rule)
        elif kind and not kind.endswith(_HARMLESS_CONVERTER):
            yield configuration.finding(
                "values-replaced",
                f"{said}: the form of the values that it makes is not known here",
                "Declare `data_type` of the columns that it converts, and compare them with the source.",
                is_error=False,
            )


def _transforms(configuration: Configuration, *, has_envelopes: bool) -> Iterator[Finding]:
    unwrapping = flattenings(configuration)
    has_envelopes = has_envelopes or bool(unwrapping)
    for prefix, kind in chain(configuration):
        has_envelopes = has_envelopes and prefix not in unwrapping
        rule = _rule_of(kind, _TRANSFORMS)
        if rule is None:
            if kind and not kind.startswith(_KNOWN_PACKAGES):
                configuration.unread[f"{prefix}.type"] = "what it does to values is not known here"
        elif not (rule.needs_rows and has_envelopes):
            columns = _columns(configuration, prefix, rule.columns) if rule.columns else ""
            yield _finding(configuration, f"`{prefix}.type={kind}`{columns}: {rule.effect}", rule)


def _rule_of(kind: str, rules: tuple[Replacement, ...]) -> Replacement | None:
    return next((rule for rule in rules if re.fullmatch(rule.name, kind)), None)


def _columns(configuration: Configuration, prefix: str, option: str) -> str:
    """The columns that an option behind a prefix names; the option may be the end of a longer one."""
    for name, value in configuration.options.items():
        if name.startswith(f"{prefix}.") and name.endswith(option):
            return f" of {value}"
    return ""


def _finding(configuration: Configuration, evidence: str, rule: Replacement) -> Finding:
    return configuration.finding("values-replaced", evidence, _WHOLE, is_error=rule.is_error)


def _placeholder(configuration: Configuration) -> Iterator[Finding]:
    option = "unavailable.value.placeholder"
    placeholder = configuration.known(option)
    if placeholder and placeholder != "__debezium_unavailable_value":
        yield configuration.finding(
            "values-not-sent",
            f"`{option}={placeholder}`: unless it is declared, it is taken for data",
            f"Set `unavailable_value_placeholder: {placeholder}` in `meta.cdc`.",
            is_error=False,
        )
