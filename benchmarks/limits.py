"""The gate of `make bench-smoke`: ratios within one run against the limits of `limits.yml`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).with_name("limits.yml")


def read(file: Path = FILE) -> dict[str, Any]:
    """The limits.

    Args:
        file: in the form of `limits.yml`.
    """
    document: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return document


def exceeded(report: dict[str, Any], limits: dict[str, Any]) -> list[str]:
    """A message for each ratio that is above its limit.

    Args:
        report: of `benchmarks.smoke`.
        limits: as `read` gives them.

    Raises:
        ValueError: a limit is for a step that has not been run.
    """
    steps = {step["step"]: step for step in report["steps"]}
    found = []
    for limit in limits["limits"]:
        if unknown := {limit["step"], limit["against"]} - steps.keys():
            raise ValueError(f"limits.yml: no step {', '.join(sorted(unknown))}; allowed: {', '.join(steps)}")
        ours = steps[limit["step"]]["alluvium"][limit["figure"]]
        script = steps[limit["against"]]["plain"][limit["figure"]]
        if ours > limit["at_most"] * script:
            of = "" if limit["against"] == limit["step"] else f" of {limit['against']}"
            found.append(
                f"{limit['step']}: {limit['figure']} {ours:.1f}, the script's{of} {script:.1f}: ratio "
                f"{ours / script if script else float('inf'):.2f}, limit {limit['at_most']:.2f}"
            )
    return found
