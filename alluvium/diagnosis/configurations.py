"""Configurations of Kafka Connect's connectors, as files have them."""

from __future__ import annotations

import json
import re
from configparser import ConfigParser, ParsingError
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from alluvium import AlluviumError
from alluvium.wording import first_of

from .findings import Finding

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_FORMS = (
    'JSON as Kafka Connect\'s REST interface takes or shows it ({"name": ..., "config": {...}}, the options alone, a '
    "list of connectors, /connectors?expand=info), or a .properties file"
)


class ConfigurationError(AlluviumError):
    """A file is no connector's configuration."""


@dataclass
class Configuration:
    """What one connector is told.

    Attributes:
        name: of the connector.
        options: as Kafka Connect takes them, without those that are null.
        unread: options that were asked for and could not be read, each with the reason; filled by asking.
    """

    name: str
    options: Mapping[str, str]
    unread: dict[str, str] = field(default_factory=dict)

    @property
    def class_name(self) -> str:
        """``connector.class``: a full name, or one of its short forms."""
        return self.options["connector.class"]

    def finding(self, code: str, evidence: str, remedy: str, *, is_error: bool = True) -> Finding:
        """A finding about the connector."""
        return Finding(code, self.name, evidence, remedy, is_error)

    def has(self, option: str) -> bool:
        """Whether an option is set, to whatever."""
        return bool(self.options.get(option))

    def known(self, option: str, default: str = "") -> str | None:
        """The value of an option, or of its default; None where only the worker knows it (``${env:FLUSH}``)."""
        value = self.options.get(option) or default
        if "${" in value:
            self.unread[option] = "the worker fills it in"
            return None
        return value

    def chosen(self, option: str, default: str = "") -> str | None:
        """One of the option's values in lower case, as Debezium compares them; None where only the worker knows it."""
        value = self.known(option, default)
        return None if value is None else value.lower()

    def parts(self, option: str) -> list[str]:
        """The parts of a list with commas."""
        return [part.strip() for part in (self.known(option) or "").split(",") if part.strip()]

    def number(self, option: str, default: int = 0) -> int | None:
        """A whole number, or its default; None where the value is none."""
        value = self.known(option, str(default))
        try:
            return None if value is None else int(value)
        except ValueError:
            self.unread[option] = "no whole number"
            return None


def read_configurations(path: Path) -> list[Configuration]:
    """The connectors of a file.

    Args:
        path: JSON as Kafka Connect's REST interface takes or shows it (``{"name", "config"}``, the configuration alone,
            a list of either, ``{name: {"info": {"config"}}}``), or properties (``connector.class=...``).

    Raises:
        ConfigurationError: the file is something else.
    """
    try:
        text = path.read_text(encoding="utf-8-sig").strip()
        document: Any = json.loads(text) if text.startswith(("{", "[")) else _properties(text)
    except (OSError, ValueError, ParsingError) as error:
        raise ConfigurationError(f"{path}: cannot be read ({_reason(error)}); give {_FORMS}.") from error
    found = [_configuration(entry, name) for entry, name in _connectors(document, path.stem)]
    if not found or None in found:
        raise ConfigurationError(f"{path}: has no `connector.class`; give {_FORMS}.")
    return [configuration for configuration in found if configuration]


def _reason(error: OSError | ValueError | ParsingError) -> str:
    """Why a file cannot be read, in words that show nothing of it: it may hold passwords."""
    if isinstance(error, ParsingError):
        # The first line is the section's heading, which the file does not have.
        numbers = [str(number - 1) for number, _ in error.errors]
        return f"no `name=value` in {'line' if len(numbers) == 1 else 'lines'} {first_of(numbers)}"
    said = error.strerror if isinstance(error, OSError) else str(error)
    return " ".join(str(said).split())


def _properties(text: str) -> dict[str, str]:
    """Options of a file of Java properties: of what their format has besides, connectors use the continued line."""
    parser = ConfigParser(delimiters=("=", ":"), comment_prefixes=("#", "!"), interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # as configparser's documentation has it
    whole = re.sub(r"\\\n\s*", "", text)
    parser.read_string("[connector]\n" + "\n".join(line.strip() for line in whole.splitlines()))
    return dict(parser["connector"])


def _connectors(document: Any, name: str) -> list[tuple[Any, str]]:
    """What the parts of a document say of one connector each, and the names that they have by their place."""
    if isinstance(document, list):
        return [(entry, name) for entry in document]
    if isinstance(document, dict) and document and all(_has_info(entry) for entry in document.values()):
        return [(entry["info"], key) for key, entry in document.items()]
    return [(document, name)]


def _has_info(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("info"), dict)


def _configuration(document: Any, name: str) -> Configuration | None:
    """The configuration of one connector, or None where the document has none."""
    options = document.get("config", document) if isinstance(document, dict) else None
    if not isinstance(options, dict) or not options.get("connector.class"):
        return None
    said = document.get("name") or options.get("name") or name
    texts = {str(key): _text(value).strip() for key, value in options.items() if value is not None}
    return Configuration(str(said), texts)


def _text(value: Any) -> str:
    """A JSON value as Kafka Connect's options have it, which are texts; a list as one with commas."""
    if isinstance(value, list):
        return ",".join(map(_text, value))
    return value if isinstance(value, str) else json.dumps(value)
