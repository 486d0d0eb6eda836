"""What will go wrong with a folder of change files, by the files and by the configurations of their connectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .configurations import ConfigurationError, read_configurations
from .connectors import findings_of_connector
from .declared_keys import entities_with_declared_key
from .files import findings_of_files
from .findings import CODES, Finding
from .known_losses import findings_of_versions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from alluvium.inspection import Inspection

__all__ = ["CODES", "ConfigurationError", "Finding", "diagnose"]


def diagnose(inspection: Inspection, configurations: Sequence[Path] = (), project: Path | None = None) -> list[Finding]:
    """What will go wrong, errors first.

    Args:
        inspection: of the files.
        configurations: files of source and sink connectors, as ``read_configurations`` takes them.
        project: directory of the dbt project whose sources may declare keys, or None.

    Raises:
        ConfigurationError: one of them is no connector's configuration.
        AlluviumError: there is nothing to look at, or the project is none.
    """
    if not inspection.entities and not configurations:
        inspection.require_changes()
    keyed = entities_with_declared_key(inspection, project) if project else ()
    found = [*findings_of_files(inspection, keyed), *findings_of_versions(inspection)]
    for path in configurations:
        for configuration in read_configurations(path):
            found += findings_of_connector(configuration, inspection)
    order = list(CODES)
    return sorted(
        found, key=lambda finding: (not finding.is_error, order.index(finding.code), finding.remedy, finding.evidence)
    )
