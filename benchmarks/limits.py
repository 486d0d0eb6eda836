"""The gate of `make bench-smoke`: ratios of one run against the limits of `limits.yml`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from benchmarks.summary import Results

FILE = Path(__file__).with_name("limits.yml")
OURS, SCRIPT = "alluvium", "merge_guarded"


def read(file: Path = FILE) -> dict[str, Any]:
    """The limits.

    Args:
        file: in the form of `limits.yml`.
    """
    document: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return document


def findings(results: Results, allowed: dict[str, Any]) -> list[str]:
    """A message for each system that has failed or is wrong, and for each ratio that is above its limit.

    Args:
        results: of a run of the limits' scenario.
        allowed: as `read` gives it.

    Raises:
        ValueError: a limit is for a phase that has not been run.
    """
    name = allowed["scenario"]
    phases = results.phases(name)
    found = [f"{system}: {message}" for _, system, message in results.failures(name)]
    found += [
        f"{phase}: {system}: {wrong:,} wrong rows"
        for phase in phases
        for system in (OURS, SCRIPT)
        if (wrong := results.wrong(name, system, phase))
    ]
    # Their phases have no ratio.
    is_explained = bool(found)
    for limit in allowed["limits"]:
        if limit["phase"] not in phases:
            raise ValueError(f"limits.yml: phase is {limit['phase']!r}; allowed: {', '.join(phases)}")
        ratio = results.ratio(name, OURS, SCRIPT, limit["phase"], limit["figure"])
        if ratio is None and not is_explained:
            found.append(f"{limit['phase']}: {limit['figure']} have no ratio: the script's are zero or missing")
        elif ratio and ratio.median > limit["at_most"]:
            found.append(
                f"{limit['phase']}: {limit['figure']} are {ratio.median:.2f} times those of the script, "
                f"limit {limit['at_most']:.2f}"
            )
    return found
