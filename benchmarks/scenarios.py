"""The scenarios of `scenarios.yml`."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import yaml

from benchmarks import systems
from benchmarks.generator import FORMATS, Shape

FILE = Path(__file__).with_name("scenarios.yml")
FIRST_LOAD = "first load"
_OF_SHAPE = {one.name for one in fields(Shape)}


@dataclass(frozen=True)
class Phase:
    """Batches of one kind.

    Attributes:
        name: as the report names it.
        batches: their number.
        shape: of their data.
    """

    name: str
    batches: int
    shape: Shape


@dataclass(frozen=True)
class Scenario:
    """What is measured; the attributes are those of `scenarios.yml`.

    Attributes:
        shape: of the first load, in the first of `formats`.
    """

    name: str
    shows: str
    shape: Shape
    systems: tuple[str, ...]
    formats: tuple[str, ...]
    phases: tuple[Phase, ...]
    rounds: int
    session: str
    memory: str
    read_every: int
    maintain_every: int
    timeout: float

    def case(self, name: str) -> Shape:
        """The shape of the first load in a format."""
        return replace(self.shape, format=name)

    def batches(self, name: str) -> list[Phase]:
        """The phase of each batch after the first load, with the data in a format."""
        return [
            replace(phase, shape=replace(phase.shape, format=name))
            for phase in self.phases
            for _ in range(phase.batches)
        ]


def read(file: Path = FILE) -> dict[str, Scenario]:
    """The scenarios by name.

    Args:
        file: in the form of `scenarios.yml`.

    Raises:
        ValueError: an option or a value is not known.
    """
    document = yaml.safe_load(file.read_text(encoding="utf-8"))
    return {name: scenario(name, document["defaults"] | options) for name, options in document["scenarios"].items()}


def scenario(name: str, options: dict[str, Any]) -> Scenario:
    """A scenario.

    Args:
        name: of it.
        options: as in `scenarios.yml`, with the defaults.

    Raises:
        ValueError: an option or a value is not known.
    """
    of_shape = {key: value for key, value in options.items() if key in _OF_SHAPE}
    rest = {key: value for key, value in options.items() if key not in _OF_SHAPE}
    for key, allowed in (("systems", systems.NAMES), ("formats", tuple(FORMATS))):
        if unknown := sorted(set(rest[key]) - set(allowed)):
            raise ValueError(f"{name}: {key} has {', '.join(unknown)}; allowed: {', '.join(allowed)}")
        rest[key] = tuple(rest[key])
    if rest["session"] not in ("warm", "cold"):
        raise ValueError(f"{name}: session is {rest['session']!r}; allowed: warm, cold")
    shape = Shape(**of_shape)
    rest["phases"] = tuple(_phase(name, dict(phase), shape) for phase in rest["phases"])
    if unknown := sorted(rest.keys() - {one.name for one in fields(Scenario)}):
        raise ValueError(f"{name}: unknown option {', '.join(unknown)}")
    return Scenario(name=name, shape=shape, **rest)


def _phase(scenario_name: str, options: dict[str, Any], shape: Shape) -> Phase:
    title, batches = options.pop("name"), options.pop("batches")
    if "changed" in options:
        options["churn"] = options.pop("changed") / shape.rows
    if unknown := sorted(options.keys() - _OF_SHAPE):
        raise ValueError(f"{scenario_name}: unknown option {', '.join(unknown)} of the phase {title}")
    return Phase(title, batches, replace(shape, **options))
